"""Casts of rays and circles, and overlaps: reference and kernels are bitwise equal, and agree with brute force."""

import numpy as np
import pytest

import kickdrift as kd

from .. import samples

NOTHING = (1.0, 0, -1, -1, -1)


def level(rng, dim, n=60, dtype=np.float64, filters=False, apart=True):
    """Draw arguments of a world of bodies, walls and shapes of all kinds, some of them disabled or dead."""
    position = rng.uniform(-10, 10, (n, dim)).astype(dtype)
    radius = rng.uniform(0.1, 0.8, n)
    low = rng.uniform(-9, 9, (30, dim))
    boxes = kd.Boxes(low, low + rng.uniform(0, 2, (30, dim)), enabled=rng.random(30) < 0.8, mask=6 if filters else 7)
    shapes = [boxes]
    if dim == 2:
        ends = rng.uniform(-9, 9, (20, 1, 2))
        lines = np.concatenate([ends, ends + rng.normal(0, 1, (20, 1, 2))], axis=1)
        shapes += [kd.Segments(lines, thickness=0.3), kd.Segments(lines[::-1] + 1)]
    walls = [kd.Plane(np.eye(dim)[0] + 0.25, -11.0), kd.Box(-12, 12.5)]
    how = {"category": 1 << rng.integers(0, 3, n), "sensor": rng.random(n) < 0.2} if filters else {}
    if apart:
        constraints = [*walls, kd.ElasticCollisions(radius, **how), *shapes]
    else:
        constraints = [kd.Contacts(radius, walls=walls, shapes=shapes, **how)]
    return {"position": position, "constraints": constraints, "alive": rng.random(n) < 0.9}


def rays(rng, dim, count):
    return rng.uniform(-11, 11, (count, dim)), rng.normal(0, 4, (count, dim))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("apart", [True, False])
def test_reference_and_kernels_agree(dim, dtype, apart):
    rng = np.random.default_rng(dim)
    world = level(rng, dim, dtype=dtype, filters=True, apart=apart)
    ours, book = kd.Stepper(**world), kd.reference.Stepper(**world)
    origin, motion = rays(rng, dim, 150)
    rows = rng.integers(0, 60, 150)
    rows[~ours.alive[rows]] = np.flatnonzero(ours.alive)[0]
    for radius in (0.0, 0.4):
        for mask in (2**64 - 1, 2):
            casts = [each.cast(origin, motion, radius, mask, ignore=rows) for each in (ours, book)]
            assert casts[0].tobytes() == casts[1].tobytes()
            assert 20 < np.count_nonzero(casts[0]["what"]) < 150
            found = [each.overlap(origin, radius, mask) for each in (ours, book)]
            assert found[0].tobytes() == found[1].tobytes()
            assert len(found[0]) > 5
    assert ours.touching().tobytes() == book.touching().tobytes()


@pytest.mark.parametrize("radius", [0.0, 0.4])
def test_few_rays_and_many_hit_the_same_bodies(Stepper, radius):
    """Up to 40 rays test each of 500 bodies; more rays search a grid."""
    rng = np.random.default_rng(5)
    world = Stepper(**level(rng, 2, n=500, filters=True))
    origin, motion = rays(rng, 2, 41)
    many = world.cast(origin, motion, radius)
    few = world.cast(origin[:40], motion[:40], radius)
    assert few.tobytes() == many[:40].tobytes()
    assert np.count_nonzero(few["slot"] >= 0) > 20


def test_many_rays_that_see_no_body(Stepper):
    """The filter leaves no body to build a grid from."""
    world = Stepper(np.zeros((100, 2)), constraints=[kd.ElasticCollisions(0.5, category=1)])
    hit = world.cast(np.zeros((200, 2)), (1, 0), radius=0.5, mask=2, ignore=np.zeros(200, int))
    assert hit[["share", "what", "slot", "shape", "source"]].tolist() == [NOTHING] * 200


def test_one_body_far_away_does_not_make_all_cells_large(Stepper, monkeypatch):
    """If one distant body made all cells large, a ray among 60,000 bodies would take 400 times as long."""
    widths, grid = [], kd.neighbours.grid
    monkeypatch.setattr(kd.neighbours, "grid", lambda *given: widths.append(given[3]) or grid(*given))
    rng = np.random.default_rng(6)
    position = rng.uniform(0, 30, (500, 2))
    for far in (10.0, 1e9, 1e200, np.inf):
        world = Stepper(position.copy(), constraints=[kd.ElasticCollisions(0.1)])
        world.position[7] = far
        many = world.cast(position[:60], (20.0, 30.0), radius=0.1)
        few = [world.cast(origin, (20.0, 30.0), radius=0.1) for origin in position[:60]]
        assert many["slot"].tolist() == [hit["slot"] for hit in few]
    assert all(1 < width < 2 for width in widths)


@pytest.mark.parametrize("far", [np.inf, -np.inf, np.nan, 1.5e308])
def test_bodies_at_infinity_touch_nothing(Stepper, far):
    shapes = [kd.Boxes([(0, 0)], [(1, 1)]), kd.Segments([[(0, 0), (1, 1)]])]
    world = Stepper([[0.0, 0.0]], constraints=[kd.Contacts(0.5, walls=[kd.Plane((1, -1), 0.0)], shapes=shapes)])
    assert world.touching()["slot_b"].tolist() == [-3, -2, -1]
    world.position[0] = far
    assert len(world.touching()) == 0


def nearest(share, what):
    """Return the first hit of each ray: the least share of its motion, and what it hits there."""
    best = share.argmin(axis=0)
    least = share[best, np.arange(share.shape[1])]
    return np.where(least <= 1, least, 1.0), np.where(least <= 1, what[best], 0)


def first_within(distance, origin, motion, reach):
    """Return the share of the motion at which a distance, convex along a ray, falls to `reach`; infinite if never."""
    low, high = np.zeros(len(origin)), np.ones(len(origin))
    for _ in range(80):  # golden-section search for the least distance
        a, b = low + 0.381966 * (high - low), low + 0.618034 * (high - low)
        closer = distance(origin + a[:, None] * motion) < distance(origin + b[:, None] * motion)
        low, high = np.where(closer, low, a), np.where(closer, b, high)
    end = low
    hit = distance(origin + end[:, None] * motion) < reach - 1e-7
    low, high = np.zeros(len(origin)), end
    for _ in range(60):
        middle = (low + high) / 2
        inside = distance(origin + middle[:, None] * motion) <= reach
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    return np.where(distance(origin) <= reach, 0.0, np.where(hit, high, np.inf))


def brute_force(world, origin, motion, radius):
    """Return (share, what) of each ray, computed from distances alone."""
    shares, what = [], []
    for source, own in enumerate(world.constraints):
        if isinstance(own, kd.ElasticCollisions):
            for row in np.flatnonzero(world.alive):
                away = lambda y, row=row: np.linalg.norm(y - world.position[row], axis=1)  # noqa: E731
                shares.append(first_within(away, origin, motion, own.radius[row] + radius))
                what.append(world.ids[row])
        elif isinstance(own, (kd.Plane, kd.Box)):
            normals, offsets = own.faces(world._plan)
            for number, normal, offset in zip(own.numbers(world._plan), normals, offsets, strict=True):
                away = lambda y, normal=normal, offset=offset: y @ normal - offset  # noqa: E731
                shares.append(first_within(away, origin, motion, radius))
                what.append(-1 - number - 1000 * source)
        else:
            one, other = own.ends()
            for number in np.flatnonzero(np.broadcast_to(own.enabled, len(one))):
                a, b = one[number], other[number]
                if isinstance(own, kd.Boxes):
                    away = lambda y, a=a, b=b: np.linalg.norm(y - np.clip(y, a, b), axis=1)  # noqa: E731
                else:

                    def away(y, a=a, b=b):
                        along = np.clip((y - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
                        return np.linalg.norm(y - a - along[:, None] * (b - a), axis=1)

                shares.append(first_within(away, origin, motion, radius + float(getattr(own, "thickness", 0)) / 2))
                what.append(-1 - number - 1000 * source)
    return nearest(np.array(shares), np.array(what))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_circles_hit_what_brute_force_finds(dim):
    rng = np.random.default_rng(10 + dim)
    world = kd.Stepper(**level(rng, dim))
    origin, motion = rays(rng, dim, 400)
    radius = 0.3
    hit = world.cast(origin, motion, radius)
    share, what = brute_force(world, origin, motion, radius)
    mine = np.where(hit["what"] < 0, hit["what"] - 1000 * hit["source"], hit["what"])
    # Golden section finds the least distance within 1e-8: rays that graze by less are left out.
    clear = (abs(hit["share"] - share) < 1e-9) & ((mine == what) | (share == 0))
    grazing = np.flatnonzero(~clear)
    for ray in grazing:
        later = world.cast(origin[ray], motion[ray], radius - 1e-6)
        assert abs(later["share"] - share[ray]) < 1e-3, (hit[ray], share[ray], what[ray])
    assert len(grazing) <= 2
    assert np.count_nonzero(hit["what"]) > 100
    assert len(np.unique(hit["source"])) > 3


def exact_rays(world, origin, motion):
    """Return (share, what) of rays by closed formulas for all pairs: discs, slabs of boxes, both sides of segments."""
    shares, what = [], []
    collisions, boxes, lines = world.constraints
    x, r = world.position[world.alive], np.asarray(collisions.radius)[world.alive]
    d = origin - x[:, None]
    a, b, c = (motion * motion).sum(-1), (d * motion).sum(-1), (d * d).sum(-1) - (r * r)[:, None]
    with np.errstate(all="ignore"):
        time = (-b - np.sqrt(b * b - a * c)) / a
        shares.append(np.where(c <= 0, 0.0, np.where(time >= 0, time, np.inf)))
        what += world.ids[world.alive].tolist()
        low, high = boxes.lower[:, None], boxes.upper[:, None]
        first, last = (low - origin) / motion, (high - origin) / motion
        enters, leaves = np.minimum(first, last).max(axis=-1), np.maximum(first, last).min(axis=-1)
        shares.append(np.where((enters <= leaves) & (leaves >= 0), np.maximum(enters, 0), np.inf))
        what += [-1 - number for number in range(len(boxes.lower))]
        p, e = lines.points[:, None, 0], lines.points[:, None, 1] - lines.points[:, None, 0]
        across = motion[:, 0] * e[..., 1] - motion[:, 1] * e[..., 0]
        time = ((p - origin)[..., 0] * e[..., 1] - (p - origin)[..., 1] * e[..., 0]) / across
        along = ((p - origin)[..., 0] * motion[:, 1] - (p - origin)[..., 1] * motion[:, 0]) / across
        shares.append(np.where((time >= 0) & (along >= 0) & (along <= 1), time, np.inf))
        what += [-1001 - number for number in range(len(lines.points))]
    shares = np.concatenate([np.where(np.isnan(each), np.inf, each) for each in shares])
    return nearest(shares, np.array(what))


def test_rays_hit_what_brute_force_finds():
    check_rays(5_000)


def check_rays(count):
    """Compare `count` rays with the closed formulas; 100,000 rays take 15 s."""
    rng = np.random.default_rng(3)
    n = 300
    low, ends = rng.uniform(0, 100, (200, 2)), rng.uniform(0, 100, (200, 1, 2))
    constraints = [
        kd.ElasticCollisions(rng.uniform(0.2, 2, n)),
        kd.Boxes(low, low + rng.uniform(0, 4, (200, 2))),
        kd.Segments(np.concatenate([ends, ends + rng.normal(0, 3, (200, 1, 2))], axis=1)),
    ]
    world = kd.Stepper(rng.uniform(0, 100, (n, 2)), constraints=constraints, alive=rng.random(n) < 0.9)
    wrong = 0
    for _ in range(0, count, 5_000):
        origin, motion = rng.uniform(-5, 105, (5_000, 2)), rng.normal(0, 20, (5_000, 2))
        hit = world.cast(origin, motion)
        share, what = exact_rays(world, origin, motion)
        mine = hit["what"] - 1000 * (hit["source"] == 2)
        wrong += np.count_nonzero((abs(hit["share"] - share) > 1e-9) | ((mine != what) & (share > 0)))
        # Points lie on the ray, and normals point against the motion.
        there = (hit["what"] != 0) & (hit["share"] > 0)
        assert np.allclose(hit["point"], origin + hit["share"][:, None] * motion)
        assert ((hit["normal"] * motion).sum(axis=1)[there] <= 1e-9).all()
        assert np.allclose(np.linalg.norm(hit["normal"][there], axis=1), 1)
    assert wrong == 0


def test_what_a_hit_says(Stepper):
    floor = kd.Segments([[(-9, -3), (9, -3)]], thickness=0.5)
    walls = [kd.Box(-20, 20)]
    contacts = kd.Contacts(1.0, walls=walls, shapes=[kd.Boxes([(4, -1), (7, -1)], [(5, 1), (8, 1)]), floor])
    world = Stepper([[0.0, 0.0], [0.0, 5.0]], constraints=[contacts], alive=2)
    hit = world.cast(
        [(-4, 0), (0, 9), (2, 0), (0, -2), (6, 0), (2, 5)], [(9, 0), (0, -9), (9, 0), (0, -9), (9, 0), (0, 1)]
    )
    assert hit["share"].tolist() == [3 / 9, 3 / 9, 2 / 9, 0.75 / 9, 1 / 9, 1.0]
    assert hit["what"].tolist() == [1 << 32, 1 << 32 | 1, -5, -7, -6, 0]
    assert hit["slot"].tolist() == [0, 1, -1, -1, -1, -1]
    assert hit["shape"].tolist() == [-1, -1, 0, 0, 1, -1]
    assert hit["source"].tolist() == [-1, -1, 0, 0, 0, -1]
    assert hit["normal"].tolist() == [[-1, 0], [0, 1], [-1, 0], [0, 1], [-1, 0], [0, 0]]
    assert hit["point"].tolist() == [[-1, 0], [0, 6], [4, 0], [0, -2.75], [7, 0], [2, 6]]
    one = world.cast((0, 0), (9, 0), ignore=world.ids[0])
    assert one["shape"] == 0
    assert one["share"] == 4 / 9
    assert world.cast((0, 0), (9, 0))["share"] == 0
    assert world.cast((10, 9), (0, 90), radius=1)[["share", "what", "shape"]].item() == (10 / 90, -4, 3)
    assert world.overlap([(0, 0.5), (4.5, 0), (30, 0)])[["query", "what"]].tolist() == [(0, 1 << 32), (1, -5), (2, -2)]
    world.set(contacts, radius=[2.0, 1.0])
    assert world.cast((-4, 0), (9, 0))["share"] == 2 / 9
    world.kill([0])
    assert world.cast((-4, 0), (10, 0))["shape"] == 0
    world.enable(contacts, False)
    assert world.cast((-4, 0), (10, 0))["what"] == 0


def test_masks_and_sensors(Stepper):
    hits = kd.ElasticCollisions(1.0, category=[1, 2, 4], sensor=[False, False, True])
    door = kd.Boxes([(9, -1)], [(10, 1)], category=1, mask=4)
    world = Stepper([[0.0, 0.0], [3.0, 0.0], [6.0, 0.0]], constraints=[hits, door])
    for mask, slot, source in ((7, 0, -1), (2, 1, -1), (4, -1, 1), (8, -1, -1)):
        hit = world.cast((-3, 0), (20, 0), mask=mask)
        assert (hit["slot"], hit["source"]) == (slot, source)
    assert world.overlap((6, 0))["slot"].tolist() == [2]
    assert world.overlap((6, 0), mask=3)["slot"].tolist() == []


def test_moved_bodies_are_where_they_are(Stepper):
    world = Stepper([[0.0, 0.0]], [[6.0, 0.0]], dt=1, constraints=[kd.ElasticCollisions(1.0)])
    world.step()
    assert world.cast((0, 0), (10, 0))["share"] == 0.5
    world.position[0] = (9, 9)
    assert world.cast((0, 0), (10, 0))["what"] == 0


def test_across_the_sides(Stepper):
    world = Stepper([[0.5, 5.0]], constraints=[kd.ElasticCollisions(1.0), kd.Periodic(0, 10)])
    assert world.overlap([(9.8, 5), (9.4, 5)])["query"].tolist() == [0]
    with pytest.raises(ValueError, match="cast: expected a world without Periodic"):
        world.cast((0, 0), (1, 1))


def test_wrong_arguments(Stepper):
    world = Stepper([[0.0, 0.0]], constraints=[kd.ElasticCollisions(1.0)])
    for wrong, text in (
        ({"origin": (0, 0, 0)}, r"origin: expected shape \(k, 2\) or \(2,\), got \(3,\)"),
        ({"origin": "here"}, "origin: expected real numbers"),
        ({"origin": (0, np.nan)}, "origin: "),
        ({"motion": (1, 2, 3)}, r"motion: expected shape \(2,\) or \(1, 2\), got \(3,\)"),
        ({"radius": -1}, "radius: expected"),
        ({"mask": -1}, "mask: expected"),
        ({"mask": [1, 2]}, "mask: expected an int, got shape"),
        ({"ignore": [0, 0]}, r"ignore: expected one body or shape \(1,\), got shape \(2,\)"),
        ({"ignore": 7}, "7"),
        ({"ignore": 0.5}, r"ignore: expected ids, which are ints, got 0\.5"),
    ):
        with pytest.raises((TypeError, ValueError, KeyError), match=text):
            world.cast(**{"origin": (3, 0), "motion": (-9, 0)} | wrong)
    with pytest.raises(ValueError, match="point: expected shape"):
        world.overlap((1, 2, 3))


def test_bodies_without_a_radius_are_points(Stepper):
    world = Stepper([[5.0, 0.0], [7.0, 1.0]], constraints=[kd.Box(-20, 20)])
    assert world.cast((0, 0), (10, 0))["what"] == 0
    assert world.cast((0, 0), (10, 0), radius=1.0)[["share", "slot"]].item() == (0.4, 0)
    assert world.overlap((5, 0), radius=3.0)["slot"].tolist() == [0, 1]
    assert len(world.touching()) == 0


def test_no_bodies(Stepper):
    world = Stepper(
        np.zeros((0, 2)), constraints=[kd.ElasticCollisions(1.0), kd.Boxes(np.zeros((0, 2)), np.zeros((0, 2)))]
    )
    assert world.cast((0, 0), (1, 1))["what"] == 0
    assert len(world.cast(np.zeros((0, 2)), (1, 1))) == len(world.overlap((0, 0))) == len(world.touching()) == 0


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in contacts"])
def test_shapes_that_move_are_hit_where_they_are(Stepper, inside):
    lift = kd.Boxes([(-1, -1)], [(1, 0)], 0, 0.5, 0.5, velocity=(0, 2))
    mill = kd.Segments([[(4, 0), (6, 0)]], 0, 0.5, 0.5, angular_velocity=np.pi, center=(5, 0))
    shapes = [lift, mill]
    world = Stepper([[0.0, 0.5]], hz=64, constraints=[kd.Contacts(0.5, shapes=shapes)] if inside else shapes)
    world.step(32)
    assert world.cast((0.75, 5), (0, -10))["point"][1] == pytest.approx(1)
    assert world.cast((8, 0.5), (-6, 0))["point"][0] == pytest.approx(5)  # upright after half a second
    assert world.grounded().tolist() == [True]
    assert world.overlap((0.5, 0.75))["what"].tolist()[-1] < 0
    saved = world.snapshot()
    world.step(32)
    assert world.cast((0.75, 5), (0, -10))["point"][1] == pytest.approx(2)
    world.restore(saved)
    assert world.cast((0.75, 5), (0, -10))["point"][1] == pytest.approx(1)
    world.set(lift, lower=[(-1, -1)], upper=[(1, 0)])
    assert world.cast((0.75, 5), (0, -10))["point"][1] == pytest.approx(0)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_ray_alone_hits_what_it_hits_among_many(dim):
    """Few rays test all bodies, many search a grid."""
    rng = np.random.default_rng(dim)
    world = kd.Stepper(**level(rng, dim, n=400, filters=True))
    origin, motion = rays(rng, dim, 60)
    rows = rng.choice(np.flatnonzero(world.alive), 60)
    many = world.cast(origin, motion, 0.2, 5, ignore=rows)
    assert len({*many["slot"].tolist()}) > 5
    for k in range(60):
        alone = world.cast(origin[k], motion[k], 0.2, 5, ignore=rows[k])
        alone["query"] = k
        assert alone.tobytes() == many[k].tobytes()


@pytest.mark.parametrize("declared", samples.SAMPLES, ids=lambda declared: type(declared).__name__)
def test_queries_work_beside_every_declaration(declared):
    """Regression: `touching` failed beside a FloorFriction, a force that acts after the step."""
    if isinstance(declared, kd.Periodic):
        pytest.skip("casts refuse a periodic box")
    found = []
    for cls in (kd.Stepper, kd.reference.Stepper):
        world = samples.world(cls, declared, events=kd.Events())
        world.step()
        asked = (
            world.touching(),
            world.cast((-5.0, 0.25), (10.0, 0.0)),
            world.overlap((1.0, 0.5), 0.1),
            world.grounded(),
        )
        found.append([answer.tobytes() for answer in (*asked, world.events.take())])
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_a_one_way_shape_touches_what_it_holds(segments, apart, dtype):
    """Regression: a body that flew up through a ledge counted as grounded, and could jump in mid-air."""
    how = {"one_way": True, **({"radius": 0.5, "restitution": 0.0} if apart else {})}
    ledge = kd.Segments([[(-3, 0.3), (3, 0.3)]], **how) if segments else kd.Boxes([(-3, 0)], [(3, 0.3)], **how)
    constraints = [ledge] if apart else [kd.Contacts(0.5, shapes=[ledge])]
    answers = []
    for cls in (kd.Stepper, kd.reference.Stepper):
        position, velocity = np.array([[0, -2.0]], dtype), np.array([[0, 10.0]], dtype)
        world = cls(position, velocity, hz=60, forces=[kd.Gravity((0, -10))], constraints=constraints)
        found = []
        for _ in range(140):
            world.step()
            found.append(world.touching().tobytes())
            inside = position[0, 1] < 0.3 + 0.5 * 15 / 16
            assert not (world.grounded()[0] and inside)
        assert world.grounded()[0]
        assert abs(velocity[0, 1]) < 1e-5
        answers.append(found)
    assert answers[0] == answers[1]


def test_shapes_beside_a_one_way_shape_are_touched():
    """A contact counts before the first step too, when there is no impulse yet."""
    ledge, floor = kd.Boxes([(50, 0)], [(60, 1)], one_way=True), kd.Boxes([(-5, -1)], [(5, 0)])
    for Stepper in (kd.Stepper, kd.reference.Stepper):
        world = Stepper([[0.0, 0.5]], hz=60, constraints=[kd.Contacts(0.5, shapes=[ledge, floor])])
        assert world.touching()["slot_b"].tolist() == [-2]
        assert world.grounded().all()
