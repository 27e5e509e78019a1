"""Bodies that rest on each other and on walls that meet in corners."""

import math

import numpy as np
import pytest

import kickdrift as kd

G = 9.81
GRAVITY = kd.Gravity((0, -G))
FLOOR = kd.Plane((0, 1), 0.0)


def valley(degrees, radius=0.0, restitution=0.0, friction=0.0):
    """Create two planes that rise from the origin at an angle of `degrees`."""
    a = math.radians(degrees)
    return [kd.Plane((side * math.sin(a), math.cos(a)), 0, restitution, friction, radius) for side in (1, -1)]


def pile(count, degrees, floor=None, **how):
    """Place balls of radius 10 in rows above a valley, or above a floor if degrees is 0; g = 900."""
    rng = np.random.default_rng(1)
    slope = math.tan(math.radians(90 - degrees)) if degrees else math.inf
    places, y = [], 80.0
    while len(places) < count:
        half = y * slope if degrees else 100.0
        places += [(x, y) for x in np.arange(-half + 16, half - 15, 22)]
        y += 22
    position = np.array(places[:count]) + rng.uniform(-0.5, 0.5, (count, 2))
    walls = valley(degrees) if degrees else [kd.Plane((0, 1), 0.0), kd.Plane((1, 0), -100.0), kd.Plane((-1, 0), -100.0)]
    if floor is not None:
        walls.append(kd.Plane((0, 1), floor))
    return kd.Stepper(
        position, hz=60, forces=[kd.Gravity((0, -900))], constraints=[kd.Contacts(10, walls=walls, **how)]
    )


def overlap(world):
    """Return the deepest overlap of two balls of radius 10, or of a ball and a wall."""
    x = world.position
    apart = np.linalg.norm(x[:, None] - x[None], axis=2) + 100 * np.eye(len(x))
    deep = 20 - apart.min()
    for wall in world.constraints[0].walls:
        normal = np.asarray(wall.normal)
        deep = max(deep, (wall.offset + 10 - x @ normal).max())
    return deep


PILES = {"box": (0, None), "valley": (45, None), "narrow valley": (75, 60.0)}


# Corners without contacts.


@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("restitution", [0, 0.5])
@pytest.mark.parametrize("degrees", [30, 45, 60])
def test_a_ball_in_a_valley_rests(integrator, degrees, restitution):
    ball = kd.Stepper(
        [[0.3, 2.0]], integrator=integrator, forces=[GRAVITY], constraints=valley(degrees, 0.2, restitution)
    )
    ball.step(1200)
    way = ball.record(60).position
    assert np.abs(np.diff(way, axis=0)).max() < 1e-6
    assert way[0, 0] == pytest.approx([0, 0.2 / math.cos(math.radians(degrees))], abs=1e-6)


def test_an_elastic_ball_leaves_a_corner_without_energy_loss(Stepper):
    """Elastic bounces are resolved one wall after the other."""
    ball = Stepper([[0.1, 0.2]], [[-2.0, -8.0]], dt=0.125, constraints=valley(45, 0.0, 1.0))
    ball.step()
    assert np.linalg.norm(ball.velocity) == pytest.approx(math.sqrt(68))


def test_friction_in_a_groove(Stepper):
    groove = [kd.Plane((0, side, 1), 0, 0.0, 0.5) for side in (1, -1)]
    ball = Stepper([[0.0, 0.0, 0.0]], [[3.0, 0.0, 0.0]], forces=[kd.Gravity((0, 0, -G))], constraints=groove)
    ball.step(20)
    # Each of the two walls carries the weight times sqrt(1/2).
    assert ball.velocity[0, 0] == pytest.approx(3 - 0.5 * math.sqrt(2) * G / 3, rel=0.05)
    ball.step(60)
    assert np.abs(ball.velocity).max() < 1e-12


# Piles.


@pytest.mark.parametrize("scene", PILES)
def test_piles_come_to_rest_without_sinking(scene):
    world = pile(60, *PILES[scene])
    world.step(600)
    assert overlap(world) < 0.6
    assert np.abs(world.velocity).max() < 0.1
    finer = pile(60, *PILES[scene], substeps=8)
    finer.step(600)
    assert overlap(finer) < 0.2
    assert np.abs(finer.velocity).max() < 0.1


def test_oscillations_in_a_high_pile_decay():
    """In 40 layers, waves travel up and down the pile."""
    world = pile(400, 0)
    world.step(600)
    assert np.abs(world.velocity[:, 1]).max() < 0.1
    assert overlap(world) < 0.6


@pytest.mark.parametrize("substeps", [8, 12])
def test_high_columns_rest_with_fine_substeps(substeps):
    """In 125 layers the load correction would amplify the longest waves."""
    rng = np.random.default_rng(1)
    places = np.array([(x, 80 + 22 * row) for row in range(125) for x in (-33, -11, 11, 33)])
    walls = [FLOOR, kd.Plane((1, 0), -49.0), kd.Plane((-1, 0), -49.0)]
    columns = kd.Stepper(
        places + rng.uniform(-0.5, 0.5, places.shape), hz=60, forces=[kd.Gravity((0, -900))],
        constraints=[kd.Contacts(10.0, walls=walls, substeps=substeps)],
    )  # fmt: skip
    columns.step(1200)
    assert np.abs(columns.velocity).max() < 0.3
    assert overlap(columns) < 0.2


def test_balls_that_jam_in_a_narrow_valley_do_not_sink():
    """The balls jam in positions compressed by the fall; only hard contacts push them apart."""
    rng = np.random.default_rng(1)
    places, y = [], 80.0
    while len(places) < 600:
        half = y * math.tan(math.radians(15))
        places += [(x, y) for x in np.arange(-half + 16, half - 15, 22)]
        y += 22
    walls = [*valley(75), kd.Plane((0, 1), 60.0)]
    for substeps, deepest in ((4, 0.4), (8, 0.2)):
        world = kd.Stepper(
            np.array(places[:600]) + rng.uniform(-0.5, 0.5, (600, 2)), hz=60, forces=[kd.Gravity((0, -900))],
            constraints=[kd.Contacts(10.0, walls=walls, substeps=substeps)],
        )  # fmt: skip
        world.step(600)
        assert overlap(world) < deepest
        assert np.abs(world.velocity).max() < 0.1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fine_substeps_support_heavy_loads(Stepper, dtype):
    """With 12 substeps, 1000 kg at 45 m/s² would overlap by more than 0.009 m without the load correction."""
    worlds = [
        kind(
            np.array([[0, 0.5], [0, 1.5]], dtype), mass=[1, 1000], forces=[kd.Gravity((0, -45))],
            constraints=[kd.Contacts(0.5, walls=[FLOOR], substeps=12)],
        )
        for kind in (Stepper, kd.reference.Stepper)
    ]  # fmt: skip
    for world in worlds:
        world.step(200)
    assert worlds[0].position.tobytes() == worlds[1].position.tobytes()
    assert 0.005 < 1 - (worlds[0].position[1, 1] - worlds[0].position[0, 1]) < 0.008


@pytest.mark.parametrize("heavy", [0, 10, 50])
def test_a_column_supports_a_heavy_ball(heavy):
    count = 10 + (heavy > 0)
    position = np.stack([np.zeros(count), 0.5 + np.arange(count)], axis=1)
    mass = np.ones(count)
    mass[-1] = heavy or 1
    column = kd.Stepper(position.copy(), mass=mass, forces=[GRAVITY], constraints=[kd.Contacts(0.5, walls=[FLOOR])])
    column.step(600)
    assert column.position[-1, 1] == pytest.approx(position[-1, 1], rel=0.01)
    assert np.abs(column.velocity).max() < G / 600


def test_a_pyramid_stands():
    rows = [(column + row / 2, 0.5 + row * math.sqrt(0.75)) for row in range(10) for column in range(10 - row)]
    position = np.array(rows)
    pyramid = kd.Stepper(position.copy(), forces=[GRAVITY], constraints=[kd.Contacts(0.5, friction=0.6, walls=[FLOOR])])
    pyramid.step(600)
    assert len(position) == 55
    assert np.abs(pyramid.position - position).max() < 0.05
    assert np.abs(pyramid.velocity).max() < G / 600


@pytest.mark.parametrize("heavy", [5, 50])
def test_a_rope_bridge_supports_a_heavy_ball(heavy):
    nodes = 21
    position = np.zeros((nodes + 1, 2))
    position[:nodes, 0] = np.arange(nodes)
    position[nodes] = [10, 1]
    mass, radius = np.full(nodes + 1, 0.5), np.full(nodes + 1, 0.2)
    mass[nodes], radius[nodes] = heavy, 0.5
    links = np.stack([np.arange(nodes - 1), np.arange(1, nodes)], axis=1)
    bridge = kd.Stepper(
        position, mass=mass, forces=[GRAVITY],
        constraints=[kd.Pin([0, nodes - 1]), kd.Contacts(radius, joints=[kd.Distance(links)])],
    )  # fmt: skip
    bridge.step(600)
    lengths = np.linalg.norm(np.diff(bridge.position[:nodes], axis=0), axis=1)
    assert lengths.max() < 1.017  # like pymunk's under 50 kg
    assert bridge.position[nodes, 1] > bridge.position[10, 1]


# A single contact.


def test_friction_prevents_sliding_up_to_its_angle():
    slope = kd.Plane((-1.0, 2.0), 0.0)  # of tangent 1/2
    for friction, slides in ((0.6, False), (0.4, True)):
        crate = kd.Stepper(
            [[2.0, 1.0 + 0.25 * math.sqrt(5) / 2]], forces=[GRAVITY],
            constraints=[kd.Contacts(0.25, friction=friction, walls=[slope])],
        )  # fmt: skip
        start = crate.position.copy()
        crate.step(120)
        way = np.linalg.norm(crate.position - start)
        assert way == pytest.approx(G * (1 - 0.4 * 2) / math.sqrt(5) * 2 if slides else 0, abs=0.05)


def test_a_wall_may_have_its_own_friction(Stepper):
    ice, rubber = (
        Stepper(
            [[0.0, 0.1]], [[1.0, 0.0]], forces=[GRAVITY],
            constraints=[kd.Contacts(0.1, friction=mu, walls=[kd.Plane((0, 1), 0, friction=own)])],
        )
        for mu, own in ((0.0, 0.0), (0.0, 0.9))
    )  # fmt: skip
    ice.step(30)
    rubber.step(30)
    assert ice.velocity[0, 0] == 1
    assert abs(rubber.velocity[0, 0]) < 1e-12


@pytest.mark.parametrize("restitution", [0, 0.5, 1])
def test_velocities_after_an_impact_depend_on_restitution(Stepper, restitution):
    balls = Stepper([[0.0], [3.0]], [[4.0], [0.0]], constraints=[kd.Contacts(1.0, restitution)])
    balls.step(60)
    assert balls.velocity.ravel() == pytest.approx([2 - 2 * restitution, 2 + 2 * restitution])


def test_overlapping_bodies_separate_slowly(Stepper):
    balls = Stepper([[0.0, 0.0], [0.5, 0.0], [0.2, 0.1]], constraints=[kd.Contacts(0.5)])
    fastest = 0.0
    for _ in range(40):
        balls.step()
        fastest = max(fastest, np.abs(balls.velocity).max())
    assert fastest < 0.5
    assert np.linalg.norm(balls.position[0] - balls.position[1]) > 0.99


def test_bodies_without_contacts_move_like_unconstrained_ones(Stepper):
    rng = np.random.default_rng(2)
    position, velocity = 9.0 * np.arange(8).reshape(4, 2), rng.normal(size=(4, 2))
    for integrator in ("velocity_verlet", "verlet", "rk4"):
        free = Stepper(position.copy(), velocity.copy(), integrator=integrator, forces=[GRAVITY])
        held = Stepper(
            position.copy(), velocity.copy(), integrator=integrator, forces=[GRAVITY],
            constraints=[kd.Contacts(0.5, walls=[kd.Plane((0, 1), -1000.0)])],
        )  # fmt: skip
        free.step(40)
        held.step(40)
        assert free.position.tolist() == held.position.tolist()
        assert free.velocity.tolist() == held.velocity.tolist()


def test_contacts_and_joints_conserve_momentum(Stepper):
    rng = np.random.default_rng(5)
    mass = rng.uniform(0.5, 3, 9)
    balls = Stepper(
        rng.uniform(-1, 1, (9, 3)), rng.normal(size=(9, 3)), mass,
        constraints=[kd.Contacts(0.4, 0.3, joints=[kd.Distance([(0, 1), (1, 2)], 0.5)])],
    )  # fmt: skip
    before = mass @ balls.velocity
    balls.step(20)
    assert np.abs(mass @ balls.velocity - before).max() < 1e-12


def test_pinned_and_infinitely_heavy_bodies_support_others(Stepper):
    world = Stepper(
        [[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]],
        [1.0, 1.0, np.inf, 1.0], forces=[GRAVITY], constraints=[kd.Pin(0), kd.Contacts(0.5)],
    )  # fmt: skip
    world.step(60)
    assert world.position[0].tolist() == [0, 0]
    assert world.position[1, 1] == pytest.approx(1, abs=0.01)
    assert world.position[2].tolist() == pytest.approx([5, 1])
    assert world.position[3, 1] == pytest.approx(2, abs=0.05)


# State.


def test_a_restored_pile_continues_bitwise_equal(Stepper):
    def heap():
        rng = np.random.default_rng(7)
        return Stepper(
            rng.uniform(-1, 1, (12, 2)) + np.array([0, 3]), forces=[GRAVITY],
            constraints=[kd.Contacts(0.3, walls=valley(40), joints=[kd.Distance([(0, 1), (1, 2)])])],
        )  # fmt: skip

    world, other = heap(), heap()
    world.step(40)
    saved = world.snapshot()
    world.step(20)
    other.restore(saved)
    other.step(20)
    assert other.checksum() == world.checksum()
    assert other.position.tolist() == world.position.tolist()
    # Snapshots contain the impulses.
    assert saved != heap().snapshot()
    forgotten, kept = heap(), heap()
    forgotten.restore(saved)
    kept.restore(saved)
    forgotten._impulses.state[1:] = 0
    assert forgotten.checksum() != kept.checksum()


def test_piles_are_deterministic():
    kd.sync_test(pile(30, 45), 60, distance=5)


def test_threads_and_layout_do_not_change_results():
    sums = set()
    for threads, order in ((1, "C"), (2, "F"), (8, "C")):
        drawn = pile(100, 0)
        world = kd.Stepper(
            np.array(drawn.position, order=order), hz=60, threads=threads, forces=drawn.forces,
            constraints=drawn.constraints,
        )  # fmt: skip
        world.step(90)
        sums.add(world.checksum())
    assert len(sums) == 1


# Bad input.


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: kd.Contacts(-1), ValueError, r"Contacts\(radius\): expected numbers of at least 0"),
        (lambda: kd.Contacts(1, 2), ValueError, r"Contacts\(restitution\): expected numbers of at most 1"),
        (lambda: kd.Contacts(1, friction=-1), ValueError, r"Contacts\(friction\): expected numbers of at least 0"),
        (lambda: kd.Contacts(1, hertz=0), ValueError, r"Contacts\(hertz\): expected a finite number greater than 0"),
        (lambda: kd.Contacts(1, substeps=0), ValueError, r"Contacts\(substeps\): expected an int of at least 1"),
        (lambda: kd.Contacts(1, mask=-1), ValueError, r"Contacts\(mask\): expected ints from 0"),
        (lambda: kd.Contacts(1, sensor=2), TypeError, r"Contacts\(sensor\): expected True or False"),
        (lambda: kd.Contacts(1, walls=FLOOR), TypeError, r"Contacts\(walls\): expected a sequence \(Box or Plane\)"),
        (lambda: kd.Contacts(1, walls=[kd.Pin(0)]), TypeError, r"Contacts\(walls\): expected Box or Plane, got Pin"),
        (lambda: kd.Contacts(1, joints=[FLOOR]), TypeError, r"Contacts\(joints\): expected Distance, got Plane"),
        (
            lambda: kd.Contacts(1, joints=[kd.Distance([(0, 1)], stiffness=0.5)]),
            ValueError,
            r"Contacts\(joints\): expected rods or compliance, got stiffness",
        ),
        (lambda: kd.Contacts([1, 2]), ValueError, r"Contacts\(radius\): expected a scalar or shape \(4,\)"),
    ],
)
def test_invalid_values_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        kd.Stepper(np.zeros((4, 2)), constraints=[make()])


def test_only_one_contacts_is_allowed():
    with pytest.raises(ValueError, match="expected one Contacts at most, got two"):
        kd.Stepper(np.zeros((2, 2)), constraints=[kd.Contacts(1), kd.Contacts(1)])


@pytest.mark.parametrize("turning", [{}, {"angular_velocity": 0.0, "inertia": np.inf}], ids=["points", "spinless"])
@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
@pytest.mark.parametrize("level", ["wall", "boxes", "heavy"])
def test_the_impulse_of_a_bounce_has_friction(Stepper, level, turning):
    """Sliding friction takes mu (1 + e) v_n off the tangential speed (Routh 1860): 9 m/s along, 5 m/s down, e = 0.8."""
    heavy = level == "heavy"
    held = {"wall": {"walls": [kd.Plane((0, 1), 0.0)]}, "boxes": {"shapes": [kd.Boxes([(-99, -9)], [(99, 0)])]}}
    contacts = kd.Contacts([0.5, 1e6 if heavy else 0.1], restitution=0.8, friction=0.2, **held.get(level, {}))
    position, velocity = np.array([[0.0, 1.0], [0.0, -1e6 if heavy else 50.0]]), np.array([[9.0, -5.0], [0.0, 0.0]])
    mass = [1.0, np.inf]
    world = Stepper(position, velocity, mass, hz=240, constraints=[contacts], **turning)
    world.step(60)
    np.testing.assert_allclose(velocity[0], [9 - 0.2 * 1.8 * 5, 4.0], rtol=1e-4)


@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
def test_what_pulls_a_pinned_body_has_no_part_in_a_bounce(Stepper):
    rebounds = []
    for force in (0.0, -1000.0, 1000.0):
        position, velocity = np.array([[0.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 0.0], [0.0, -2.8]])
        world = Stepper(
            position, velocity, hz=60, forces=[kd.AppliedForce(np.array([[0.0, force], [0.0, 0.0]]))],
            constraints=[kd.Pin(0), kd.Contacts(0.5, restitution=0.8)],
        )  # fmt: skip
        world.step(40)
        rebounds.append(velocity[1, 1])
    np.testing.assert_allclose(rebounds, 0.8 * 2.8, rtol=1e-9)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "verlet", "velocity_verlet", "rk4"])
@pytest.mark.parametrize("substeps", [1, 2, 4, 8])
@pytest.mark.parametrize("level", ["wall", "boxes", "body"])
def test_a_spring_keeps_its_energy_on_a_smooth_floor(integrator, substeps, level):
    """Regression: substeps moved bodies farther than the integrator does, and the amplitude of the spring grew."""
    boxes = kd.Boxes([(-9, -1)], [(-1, 0)]), kd.Boxes([(-1, -1)], [(9, 0)])
    floor = {"wall": {"walls": [FLOOR]}, "boxes": {"shapes": boxes}}
    contacts = kd.Contacts([0.5, 0.5], friction=0.0, substeps=substeps, **floor.get(level, {}))
    below = -0.5 if level == "body" else 50.0
    position = np.array([[1.0, 0.5], [0.0, below]])
    if level == "body":  # on a very large one
        contacts = kd.Contacts([0.5, 1e6], friction=0.0, substeps=substeps)
        position[1, 1] = -1e6
    forces = [GRAVITY, kd.AnchorSpring(36.0, anchor=(0.0, 0.5))]
    world = kd.Stepper(
        position, mass=[1.0, np.inf], hz=60, integrator=integrator, forces=forces, constraints=[contacts]
    )
    widest = 0.0
    for tick in range(1200):
        world.step()
        widest = max(widest, abs(position[0, 0])) if tick > 1100 else widest
    assert 0.98 < widest < 1.02


@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "velocity_verlet"])
def test_friction_holds_what_a_slope_pulls(Stepper, integrator):
    """A body at rest on a slope stays bitwise in place: static friction cancels all force along the slope."""
    slope = kd.Plane((math.sin(0.3), math.cos(0.3)), 0.0)
    world = Stepper(
        [[0.0, 0.5 / math.cos(0.3)]], hz=60, integrator=integrator, forces=[GRAVITY],
        constraints=[kd.Contacts(0.5, friction=0.5, walls=[slope])],
    )  # fmt: skip
    world.step(120)
    there = world.position.copy()
    world.step(30)
    np.testing.assert_allclose(world.position, there, atol=1e-9)
