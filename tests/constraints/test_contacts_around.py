"""`Contacts` in a periodic box: resting across a side equals resting in the middle."""

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import reference

GRAVITY = kd.Gravity((0.0, -9.81))
TUBE = kd.Periodic((0, -np.inf), (20, np.inf))  # periodic in x only
FLOOR = kd.Plane((0, 1), 0.0)

both = pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["compiled", "reference"])


def heap(Stepper, shift, shapes=(), walls=(FLOOR,), **how):
    """Create three balls and two on top of them, displaced by `shift` along the periodic x axis."""
    position = np.array([[8.0, 0.51], [9.03, 0.5], [10.07, 0.52], [8.45, 1.42], [9.51, 1.43]])
    position[:, 0] = (position[:, 0] + shift) % 20
    contacts = kd.Contacts(0.5, friction=0.5, walls=walls, shapes=shapes)
    return Stepper(position, np.array([[0.75, 0.0]] * 5), hz=60, forces=[GRAVITY], constraints=[TUBE, contacts], **how)


@both
def test_a_heap_across_a_side_equals_one_in_the_middle(Stepper):
    """States and events do not depend on where the heap is, even while it slides across a periodic side."""
    seen = []
    for shift in (0.0, 10.75):
        world = heap(Stepper, shift, events=kd.Events())
        world.step(90)
        seen.append((world.position, world.velocity, world.events.take(), world.touching()))
    (x, v, told, touching), (y, w, told_there, touching_there) = seen
    assert np.abs(x[:, 0].max() - x[:, 0].min()) < 3 < y[:, 0].max() - y[:, 0].min()
    assert np.allclose((x + np.array([10.75, 0])) % (20, 1e9), y, atol=1e-9)
    assert np.allclose(v, w, atol=1e-9)
    for name in ("source", "slot_a", "slot_b"):
        assert touching[name].tolist() == touching_there[name].tolist()
    for name in ("normal", "impulse"):
        assert np.allclose(touching[name], touching_there[name], atol=1e-9)
    assert len(told) > 5
    for name in ("tick", "kind", "a", "b"):
        assert told[name].tolist() == told_there[name].tolist()
    assert np.allclose(told["normal"], told_there["normal"], atol=1e-9)


@both
def test_platforms_and_tiles_may_cross_a_side(Stepper):
    on_plane = heap(Stepper, 9.0)
    wide = heap(Stepper, 9.0, walls=(), shapes=[kd.Boxes([(-5, -1)], [(25, 0)], friction=0)])
    x = np.arange(-1, 21)
    tiles = np.stack([x, np.full(22, -1)], axis=1)
    laid = heap(Stepper, 9.0, walls=(), shapes=[kd.Boxes(tiles, tiles + 1)])
    for world in (on_plane, wide, laid):
        world.step(60)
    assert np.allclose(wide.position, on_plane.position, atol=1e-9)
    assert np.allclose(laid.position, on_plane.position, atol=0.02)


@both
def test_a_closed_ring_of_rods_keeps_its_shape(Stepper):
    """Rods across a periodic side use the minimum image and keep their length."""
    x = np.arange(20) + 0.25
    ring = np.stack([x, np.full(20, 3.0)], axis=1)
    rods = kd.Distance(np.stack([np.arange(20), (np.arange(20) + 1) % 20], axis=1), iterations=20)
    world = Stepper(
        ring.copy(), np.array([[3.0, 0.0]] * 20), hz=60, constraints=[kd.Contacts(0.25, joints=[rods]), TUBE]
    )
    assert np.allclose(world.constraints[0].joints[0].length, 1.0)
    world.step(30)
    assert np.allclose(world.position, (ring + np.array([1.5, 0])) % (20, 1e9), atol=1e-9)
    assert np.allclose(world.velocity, (3.0, 0.0), atol=1e-9)


@both
def test_a_compressed_ring_relaxes_to_equal_gaps(Stepper):
    """21 balls of diameter 1 in a periodic length of 20 end equally spaced, and momentum is conserved."""
    rng = np.random.default_rng(1)
    x = np.arange(21) * 20 / 21 + rng.uniform(-0.01, 0.01, 21)
    world = Stepper(x[:, None], hz=60, constraints=[kd.Contacts(0.5), kd.Periodic(0, 20)])
    world.step(240)
    gaps = np.diff(np.sort(world.position[:, 0]), append=world.position[:, 0].min() + 20)
    assert np.allclose(gaps, 20 / 21, atol=0.03)
    assert abs(world.velocity.sum()) < 1e-9


@both
def test_a_restored_heap_continues_bitwise_equal(Stepper):
    world = heap(Stepper, 10.5, alive=4, events=kd.Events())
    world.step(20)
    world.spawn([0.2, 3.0])
    world.step(5)
    saved, other = world.snapshot(), heap(Stepper, 10.5, alive=4, events=kd.Events())
    world.step(40)
    other.restore(saved)
    other.step(40)
    assert other.snapshot() == world.snapshot()
    assert other.checksum() == world.checksum()


@both
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"walls": [kd.Box(0, 20)]}, r"Contacts\(walls\): expected walls that run along .* wraps along axis 0"),
        ({"walls": [kd.Plane((0.1, 1), 0.0)]}, r"Contacts\(walls\): .* out of reach, got the normal"),
        ({"walls": [kd.Plane((1, 0), -0.6)]}, r"Contacts\(walls\)"),
        ({"shapes": [kd.Boxes([(0, 0)], [(20, 1)])]}, r"number 0 of shapes\[0\] has none -20 m along axis 0"),
        (
            {"shapes": [kd.Boxes([(5, 0)], [(6, 1)]), kd.Segments([[(3, 3), (4, 4)], [(3, 3), (-0.1, 4)]])]},
            r"and 0.625 m beyond both sides; number 1 of shapes\[1\] has none \+20 m along axis 0",
        ),
        ({"shapes": [kd.Segments([[(-5, 0), (25, 1)]])]}, r"Contacts\(shapes\)"),
    ],
)
def test_walls_and_shapes_that_differ_across_a_side_are_refused(Stepper, how, message):
    with pytest.raises(ValueError, match=message):
        Stepper([[1.0, 1.0]], constraints=[kd.Contacts(0.5, **how), TUBE])


@both
def test_walls_and_shapes_out_of_reach_are_allowed(Stepper):
    walls = [kd.Plane((1, 0), -0.7), kd.Plane((0, 1), 0.0), kd.Box((0, 0), (20, 20), sensor=True)]
    shapes = [
        kd.Segments([[(1, 3), (19, 4)], [(-5, 0), (25, 0)], [(21, 3), (30, 4)]]),
        kd.Boxes([(0, 5), (19, 5)], [(1, 6), (20, 6)], enabled=[False, False]),
        kd.Boxes([(-1, 7), (19, 7)], [(1, 8), (21, 8)]),
        kd.Boxes([(0, 5)], [(1, 6)], mask=0),
    ]
    world = Stepper([[1.0, 1.0]], constraints=[kd.Contacts(0.5, walls=walls, shapes=shapes), TUBE])
    world.step(3)
    with pytest.raises(ValueError, match="Contacts"):
        world.set(world.constraints[1], lower=0.5, upper=19.5)
    assert world.position.tolist() == [[1.0, 1.0]]


def test_normals_of_coincident_images_have_no_negative_zeros():
    """Bodies on two opposite periodic sides coincide, and the contact distance is negative."""
    around = kd.Periodic((-2, -np.inf), (2, np.inf))
    for Stepper in (kd.Stepper, reference.Stepper):
        contacts = kd.Contacts(0.25, restitution=0.5)
        world = Stepper(
            [[2.0, 0.0], [-2.0, 0.0]], [[0.25, 0.0], [-1.0, 0.0]], constraints=[contacts, around], events=kd.Events()
        )
        world.step()
        normals = world.events.take()["normal"]
        assert len(normals) > 0
        assert not np.signbit(normals).any()
