"""Casts at borders: rays that meet edges, seams and ends, that graze, or run along a surface."""

from itertools import product

import numpy as np
import pytest

import kickdrift as kd

STEPPERS = (kd.Stepper, kd.reference.Stepper)


def world(Stepper, shapes, inside=True, dtype=np.float64, position=None, radius=1.0):
    """Make a world of shapes, inside of `Contacts` or as constraints of their own, with a body far away."""
    dim = shapes[0].ends()[0].shape[1]
    position = np.full((1, dim), 500.0) if position is None else position
    return Stepper(np.array(position, dtype), constraints=[kd.Contacts(radius, shapes=shapes)] if inside else shapes)


def answers(hits):
    return hits[["share", "shape"]].tolist(), hits["normal"].tolist()


everywhere = pytest.mark.parametrize("inside", [True, False], ids=["in contacts", "alone"])
both = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@both
@everywhere
def test_seams_edges_and_ends(Stepper, inside, dtype):
    """The normal opposes the ray."""
    tiles = kd.Boxes([(0, -32), (32, -32)], [(32, 0), (64, 0)])
    lines = kd.Segments([[(100, 0), (132, 0)], [(132, 0), (164, 0)]])
    level = world(Stepper, [tiles, lines], inside, dtype)
    across = [16, 32, 0, 64, 100, 110, 132, 164]
    for radius in (0.0, 4.0):
        for up in (1, -1):
            face = 0 if up > 0 else 1
            origin = [(x, up * (50 + radius) - 32 * (face and x < 99)) for x in across]
            hits = level.cast(origin, (0, -100 * up), radius)
            assert answers(hits) == (
                [(0.5, 0), (0.5, 0), (0.5, 0), (0.5, 1), (0.5, 0), (0.5, 0), (0.5, 0), (0.5, 1)],
                [[0, up]] * 8,
            )


@both
@everywhere
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_boxes_from_every_side(Stepper, dim, inside, dtype):
    """Rays at a face of a block of eight boxes, on all corners, edges and seams of a grid of half their width."""
    cells = np.array(list(product((-2.0, 0.0), repeat=dim)))
    level = world(Stepper, [kd.Boxes(cells, cells + 2)], inside, dtype)
    places = np.array(list(product((-2.0, -1.0, 0.0, 1.0, 2.0), repeat=dim - 1))).reshape(5 ** (dim - 1), dim - 1)
    for axis, side in product(range(dim), (1.0, -1.0)):
        normal = side * np.eye(dim)[axis]
        others = np.delete(np.eye(dim), axis, axis=0)
        # The box of the lowest number that a ray meets: of two that share a seam, the lower one.
        lower = np.where(places <= 0, -2.0, 0.0) @ others + (0 if side > 0 else -2) * np.eye(dim)[axis]
        first = [int(np.flatnonzero((cells == low).all(axis=1))[0]) for low in lower]
        for radius in (0.0, 0.25):
            origin = places @ others + (4.0 + radius) * normal
            hits = level.cast(origin, -8 * normal, radius)
            assert answers(hits) == ([(0.25, number) for number in first], [normal.tolist()] * len(places))
            assert hits["point"].tolist() == (places @ others + 2 * normal).tolist()
        # From the surface: into the box, along it and away from it.
        origin = places @ others + 2 * normal
        assert answers(level.cast(origin, -normal)) == (
            [(0.0, number) for number in first],
            [normal.tolist()] * len(places),
        )
        assert not level.cast(origin, normal)["what"].any()
        # Beside the block.
        out = 2 * np.abs(places).max(axis=1, initial=0) >= 4
        assert not level.cast(1.001 * origin[out] + 2 * normal, -8 * normal)["what"].any()


@both
@everywhere
@pytest.mark.parametrize("dim", [2, 3])
def test_rays_along_a_box(Stepper, dim, inside, dtype):
    """A ray that begins on a face does not hit the box, whether it ends on the face or leaves it."""
    level = world(Stepper, [kd.Boxes([[-2] * dim], [[2] * dim])], inside, dtype)
    for axis, side in product(range(dim), (1.0, -1.0)):
        normal = side * np.eye(dim)[axis]
        for along in np.concatenate([np.eye(dim), -np.eye(dim), np.ones((1, dim)), -np.ones((1, dim))]):
            motion = 9 * along * (np.arange(dim) != axis)
            if motion.any():
                for begin in (0.0, -1.0, 1.0):
                    assert level.cast(2 * normal + begin * motion / 9, motion)["what"] == 0
        # From outside, the ray meets the edge of another face, which opposes it.
        for other, sign in product({*range(dim)} - {axis}, (1.0, -1.0)):
            against = sign * np.eye(dim)[other]
            hit = level.cast(2 * normal + 4 * against, -8 * against)
            assert (hit["share"], hit["normal"].tolist()) == (0.25, against.tolist())


@everywhere
def test_rays_along_a_row_of_tiles(Stepper, inside):
    """The side of a tile is met at its edge, and the tile below the ray is not."""
    level = world(Stepper, [kd.Boxes([(0, -32), (32, -32)], [(32, 0), (64, 0)])], inside)
    for origin, motion, share, shape in (((16, 0), 100, 0.16, 1), ((48, 0), -100, 0.16, 0)):
        assert answers(level.cast([origin], (motion, 0))) == ([(share, shape)], [[-np.sign(motion), 0]])
    assert not level.cast([(40, 0), (16, 1e-9)], (100, 0))["what"].any()


@both
@everywhere
@pytest.mark.parametrize("thickness", [0.0, 0.5])
def test_segments_from_every_side(Stepper, thickness, inside, dtype):
    for along in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
        e = 2 * np.array(along)
        lines = kd.Segments([[-e, 0 * e], [0 * e, e]], thickness=thickness)
        level = world(Stepper, [lines], inside, dtype)
        for side in (np.array([-e[1], e[0]]) / 2, np.array([e[1], -e[0]]) / 2):
            for radius in (0.0, 0.25):
                reach = radius + thickness / 2
                origin = np.array([-e, -e / 2, 0 * e, e / 2, e]) + (2 + reach) * side
                hits = level.cast(origin, -8 * side, radius)
                assert answers(hits) == ([(0.25, number) for number in (0, 0, 0, 1, 1)], [side.tolist()] * 5)
            # Rays along a side, from it and from beyond its end, hit nothing; nor do rays away from it.
            for begin in (-3, -2, -1, 0, 1, 2, 3):
                origin = begin * e / 2 + thickness / 2 * side
                assert not level.cast([origin] * 3, [e, -e, side])["what"].any()


def test_rays_along_slanted_segments():
    """Rounding errors decide on which side of the line such a ray is, and whether it comes closer."""
    rng = np.random.default_rng(9)
    ends, e = rng.uniform(-9, 9, (300, 2)), rng.normal(0, 5, (300, 2))
    origin, motion = ends - rng.uniform(0.1, 3, (300, 1)) * e, rng.uniform(4, 9, (300, 1)) * e
    for number in range(300):
        lines = kd.Segments([[ends[number], ends[number] + e[number]]])
        for Stepper in STEPPERS:
            level = world(Stepper, [lines])
            assert not level.cast([origin[number], ends[number] + 0.3 * e[number]], motion[number])["what"].any()


@pytest.mark.parametrize("thickness", [0.1, 0.2, 0.3, 0.6, 0.7, 1.4])
def test_rays_along_thick_segments(Stepper, thickness):
    """Also where rounding errors put the ray into the round end."""
    for scale in (1.0, 16.1, 132.7):
        lines = kd.Segments([[(0, 0), (scale, 0)], [(scale, 0), (3 * scale, 0)]], thickness=thickness)
        level = world(Stepper, [lines])
        for y in (thickness / 2, -thickness / 2):
            origin = [(x * scale, y) for x in (-5, -0.3, 0, 0.7, 1, 4, 7.1)]
            for motion in (100, -100, 3.3):
                assert not level.cast(origin, (motion * scale, 0))["what"].any()


def test_rays_at_the_ends_of_slanted_segments_do_not_get_through():
    """Rays at the corners of closed lines, beyond which they would come out inside."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        count = int(rng.integers(3, 9))
        angle = np.sort(rng.uniform(0, 2 * np.pi, count - 2) * 0.3 + 0.4)
        angle = np.concatenate([angle, [2.8, 4.9]])  # around the origin
        corners = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform(1, 9) + rng.normal(0, 9, 2)
        lines = kd.Segments(np.stack([corners, np.roll(corners, -1, axis=0)], axis=1))
        middle = corners.mean(axis=0)
        origin = np.repeat(corners + 3 * (corners - middle) + rng.normal(0, 0.1, (count, 2)), 5, axis=0)
        corner = np.repeat(corners, 5, axis=0)
        motion = (corner - origin) * rng.uniform(1.1, 4, (5 * count, 1))
        hits = [world(Stepper, [lines]).cast(origin, motion) for Stepper in STEPPERS]
        assert hits[0].tobytes() == hits[1].tobytes()
        assert (hits[0]["what"] != 0).all()
        assert ((hits[0]["normal"] * motion).sum(axis=1) < 0).all()


@both
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_planes(Stepper, dim, dtype):
    """A ray from a wall hits it only if it moves into it."""
    for axis in range(dim):
        e = np.eye(dim)[axis]
        level = Stepper(np.zeros((1, dim), dtype), constraints=[kd.Contacts(1.0, walls=[kd.Box(-4, 4)])])
        for side in (1.0, -1.0):
            hits = level.cast([4 * side * e], [8 * side * e], ignore=0)
            assert answers(hits) == ([(0.0, 2 * axis + (side > 0))], [(-side * e).tolist()])
            assert level.cast(4 * side * e, -2 * side * e)["what"] == 0
            assert level.cast(4 * side * e, 0 * e)["what"] == 0
            for along in np.delete(np.eye(dim), axis, axis=0):
                assert level.cast(4 * side * e, 3 * along)["what"] == 0
            # A circle that touches the wall begins in contact.
            assert level.cast(3.5 * side * e, -2 * side * e, radius=0.5)["share"] == 0


@both
@pytest.mark.parametrize("count", [1, 3000])
@pytest.mark.parametrize("radius", [1.0, 0.1, 0.3, 0.7, 1e-9])
def test_bodies(radius, count, dtype):
    """A tangent is no hit, whatever rounding errors say; a ray at the middle is, however small the body is."""
    worlds = [Stepper(np.zeros((1, 2), dtype), constraints=[kd.Contacts(radius)]) for Stepper in STEPPERS]
    for e in np.array([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)]):
        across = np.array([-e[1], e[0]])
        far = np.resize([9.0, 0.3, 1.7, 33.1, 0.0, -2.0], count)[:, None]
        tangents = -far * e + radius * across
        middle = -(abs(far) + radius) * e
        for origin, motion, hit in (
            (tangents, 100 * e, False),
            (tangents, 13.7 * e, False),
            (middle, 100 * e, True),
            (middle, -100 * e, False),
            (np.resize(radius * e, (count, 2)), -e, True),
            (np.resize(radius * e, (count, 2)), e, False),
        ):
            hits = [each.cast(origin, motion) for each in worlds]
            assert hits[0].tobytes() == hits[1].tobytes()
            assert ((hits[0]["what"] != 0) == hit).all()
            assert (hits[0]["normal"] @ motion < 0).all() == hit
    # A circle that touches another begins in contact, and is hit where it grazes.
    assert [each.cast((2 * radius, 0), (1, 0), radius=radius)["share"] for each in worlds] == [0, 0]
    assert worlds[0].cast((-9, 2), (20, 0), radius=2 - radius if radius == 1 else 2)["what"] == 1 << 32


@everywhere
@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_of_hits_at_the_same_share_the_most_opposed_counts(Stepper, radius, inside):
    """Where a ray meets the floor and a wall at once."""
    floor, wall = kd.Boxes([(-9, -1)], [(9, 0)]), kd.Boxes([(4, 0)], [(5, 9)])
    for shapes in ([floor, wall], [wall, floor], [kd.Boxes([(-9, -1), (4, 0)], [(9, 0), (5, 9)])]):
        level = world(Stepper, shapes, inside)
        corner = np.array([4 - radius, radius])
        for motion, normal in (((4, -2), (-1, 0)), ((2, -4), (0, 1))):
            hit = level.cast(corner - motion, 2 * np.array(motion), radius)
            assert (hit["share"], hit["normal"].tolist()) == (0.5, list(normal))
    # Of equal ones, the first of the constraints or shapes.
    twice = world(Stepper, [floor, kd.Boxes([(-9, -1), (-9, -1)], [(9, 0), (9, 0)])], inside)
    assert twice.cast((0, 5), (0, -10), radius)[["what", "shape"]].item() == (-1, 0)


def test_a_circle_that_begins_in_contact_hits_what_it_moves_against(Stepper):
    """It lies on the floor, at a wall, and in a body."""
    shapes = [kd.Boxes([(3.5, 0)], [(5, 9)])]
    level = Stepper([[3.0, 0.5]], constraints=[kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0)], shapes=shapes)])
    for motion, normal in (((1, 0), [-1, 0]), ((1, -2), [0, 1]), ((1, 3), [-1, 0]), ((-1, 0), [1, 0])):
        hit = level.cast((3.25, 0.5), motion, radius=0.5)
        assert (hit["share"], hit["normal"].tolist()) == (0, normal)
    assert level.cast((3.25, 0.5), (0, 0), radius=0.5)["slot"] == 0


@both
@everywhere
@pytest.mark.parametrize("dim", [2, 3])
def test_normals_oppose_rays_on_a_grid(dim, inside, dtype):
    """Random levels of whole numbers, in which most rays meet edges, seams and ends."""
    rng = np.random.default_rng(8)
    hit = 0
    for _ in range(12):
        low = rng.integers(-4, 4, (20, dim))
        shapes = [kd.Boxes(low, low + rng.integers(0, 3, (20, dim)))]
        if dim == 2:
            ends = rng.integers(-4, 5, (16, 2, 2))
            shapes += [kd.Segments(ends[:8]), kd.Segments(ends[8:], thickness=0.5)]
        position = rng.integers(-6, 7, (4, dim))
        worlds = [world(Stepper, shapes, inside, dtype, position, 1.0) for Stepper in STEPPERS]
        origin, motion = rng.integers(-8, 9, (400, dim)), rng.integers(-12, 13, (400, dim))
        for radius in (0.5, 0.0):
            hits = worlds[0].cast(origin, motion, radius)
            assert hits[:50].tobytes() == worlds[1].cast(origin[:50], motion[:50], radius).tobytes()
        begins = worlds[0].overlap(origin)["query"]  # in or on a body or shape
        outside = (hits["what"] != 0) & ~np.isin(np.arange(400), begins)
        assert ((hits["normal"] * motion).sum(axis=1)[outside] < 0).all()
        assert np.allclose(np.linalg.norm(hits["normal"][outside], axis=1), 1)
        hit += np.count_nonzero(outside)
    assert hit > {2: 900, 3: 200}[dim]
