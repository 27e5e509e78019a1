"""Conditions by which kernels choose a loop or skip work: equal to the reference on both sides of each boundary.

A condition that is too wide gives wrong results on one side; one that is too narrow only costs time. Random scenes
are seldom at a boundary. Here the condition holds in the first scene of each pair, and not in the second.
"""

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state

import kickdrift as kd


def world(n=5, dim=2, dtype=np.float64, steps=3, layout="C", position=None, velocity=None, dt=1 / 32, **arguments):
    """Return a function of a stepper class; random coordinates are multiples of 1/8 unless given."""

    def play(cls):
        rng = np.random.default_rng(1)
        x = rng.integers(-99, 99, (n, dim)) / 8 if position is None else np.array(position)
        v = rng.integers(-9, 9, x.shape) / 8 if velocity is None else np.array(velocity)
        stepper = cls(np.array(x, dtype, order=layout), np.array(v, dtype, order=layout), dt=dt, **arguments)
        stepper.step(steps)
        stepper.step(1)
        return stepper

    return play


def falling(n, integrator="velocity_verlet", *forces, **arguments):
    dim = arguments.get("dim", 2)
    return world(n, forces=[kd.Gravity([0.0] * (dim - 1) + [-8.0]), *forces], integrator=integrator, **arguments)


def well(n, integrator="velocity_verlet", **arguments):
    dim = arguments.get("dim", 2)
    return world(n, forces=[kd.PointGravity(2.0, [0.5] * dim, 0.5)], integrator=integrator, **arguments)


def drawn_down(level, *forces, **arguments):
    """Return a scene of bodies that a gravity well pulls to a plane, which their initial speeds would not reach."""
    deep = kd.PointGravity(20_000.0, (0.0, -40.0), 1.0)
    floor = kd.Plane((0.0, 1.0), level, 0.5, 0.5)
    return world(200, steps=70, forces=[*forces, deep], constraints=[floor], **arguments)


def stars(n, **arguments):
    return world(n, forces=[kd.NBody(0.5, softening=0.5)], mass=1.5, **arguments)


def chain(pairs, still=None, **arguments):
    """Return a scene of a chain of rods. still: positions of all bodies, which are then at rest."""
    index = np.stack([np.arange(pairs), np.arange(1, pairs + 1)], axis=1)
    links = [kd.Distance(index, 1.0, iterations=2, **arguments)]
    return world(pairs + 1, position=still, velocity=None if still is None else 0 * still, constraints=links)


def at_wall(wall, place, velocity, *more, **arguments):
    forces = arguments.pop("forces", [kd.Gravity((0.0, -8.0))])
    arguments |= {"position": [place], "velocity": [velocity], "constraints": [wall, *more], "events": kd.Events()}
    return world(forces=forces, steps=1, **arguments)


def sliding(shapes, restitution):
    rng = np.random.default_rng(3)
    points = rng.normal(size=(4, 2, 2))
    level = (np.sort(points, axis=1).swapaxes(0, 1)) if shapes is kd.Boxes else (points,)
    level, forces = shapes(*level, restitution=restitution, radius=0.05), [kd.Gravity((1.0, -8.0))]
    return world(
        position=rng.normal(size=(60, 2)), velocity=np.zeros((60, 2)), steps=30, constraints=[level], forces=forces
    )


def two(distance, speed, angular_velocity=None, **arguments):
    """Create two bodies of radius 1 on a line."""
    balls = kd.ElasticCollisions(1.0, 0.5, **arguments)
    spin = {} if angular_velocity is None else {"angular_velocity": angular_velocity}
    return world(
        **spin, position=[[0.0, 0.0], [distance, 0.0]], velocity=[[0.0, 0.0], [-speed, 0.0]], constraints=[balls]
    )


def spinning(*parts, spin=8.0, n=12, dim=2, **arguments):
    """Return a scene of spinning bodies in a row above a floor, which every other one touches."""
    position = np.stack([3.0 * np.arange(n), 1.0 + np.arange(n) % 2] + [np.zeros(n)] * (dim - 2), axis=1)
    velocity = np.tile([1.0, -0.5, 0.25][:dim], (n, 1))
    w = np.full(n if dim == 2 else (n, 3), spin)
    gravity = kd.Gravity([0.0, -8.0, 0.0][:dim])
    # Each stepper gets a new array of angular velocities, because steps change it in place.
    return lambda cls: world(
        position=position,
        velocity=velocity,
        forces=[gravity],
        constraints=parts,
        angular_velocity=w.copy(),
        **arguments,
    )(cls)


def touching_pair(friction, spin, pinned=False, **contacts):
    """Return a scene of two discs, one on top of the other; the lower one is on a floor or pinned."""
    floor = [kd.Pin(0)] if pinned else []
    rest = kd.Contacts(1.0, friction=friction, walls=[kd.Plane((0.0, 1.0), 0.0)], **contacts)
    return lambda cls: world(
        position=[[0.0, 1.0], [0.0, 3.0]], velocity=np.zeros((2, 2)), forces=[kd.Gravity((0.0, -8.0))],
        constraints=[*floor, rest], angular_velocity=np.array([spin, 0.0]),
    )(cls)  # fmt: skip


FLOOR, ROOM = kd.Plane((0.0, 1.0), 0.0, 0.5, 0.5), kd.Box(0.0, 4.0, 0.5, 0.5)
SLIT = kd.Boxes([(0.0, -1.0), (0.0, 0.03125)], [(2.0, 0.0), (2.0, 1.0)], 1.0)
SLOPE = kd.Segments([[(0.0, 0.0), (2.0, 2.0)]], 0.5, 0.5)
THREE, DRIFT_KICK = [(0, 1), (1, 2), (2, 3)], kd.SemiImplicitEuler(form="drift_kick")
BALLS = kd.ElasticCollisions(1.0)
AROUND = kd.Periodic(0.0, 8.0)
MAGNET, SPRUNG = kd.Magnetic(1.0, 5.0), kd.AnchorSpring(2.0)
JITTER, BATH = kd.Expression(x="noise(0)", y="noise(1)"), kd.Langevin(0.5, 2.0, seed=3)


def crowd(n, radius=0.75, *more, kind=kd.ElasticCollisions, wide=3.0, **arguments):
    """Return a scene of close bodies, some inactive and one far out; wide=0: all in one place and active."""
    rng = np.random.default_rng(n)
    radius = rng.choice([0.0, 0.0625, 0.25, 1.0], n) if radius is None else radius
    x, alive = wide * rng.integers(0, 8, (n, 2)) / 8, np.ones(n, bool)
    if wide > 0:
        x[-1], alive = 1e9, np.arange(n) % 5 != 3
    return world(
        position=x, velocity=rng.integers(-9, 9, (n, 2)) / 8, alive=alive,
        constraints=[kind(radius, 0.5, **arguments), *more],
    )  # fmt: skip


#: condition -> (scene that meets the condition, scene that does not).
BORDERS = {
    "one number": (falling(1, dim=1), falling(2, dim=1)),
    **{f"{n} numbers, a vector or less": (falling(n, dim=1), falling(n + 1, dim=1)) for n in (2, 4, 8, 16)},
    "whole bodies in a block of vectors": (falling(200, dim=2), falling(200, dim=3)),
    "that of Verlet": (falling(200, "verlet", dim=2), falling(200, "verlet", dim=3)),
    "few steps of what does not fill a block": (falling(45, steps=2), falling(45, steps=3)),
    **{
        f"{n} numbers, a long row": (falling(n, "leapfrog", dim=1), falling(n + 1, "leapfrog", dim=1)) for n in (48, 96)
    },
    "one row": (falling(384), falling(385)),
    "rows of all components": (falling(200, layout="C"), falling(200, layout="F")),
    "one tile": (well(192), well(193)),
    "a whole vector at the end of a tile": (well(16), well(17)),
    "tiles of one component": (well(40, dim=1), well(40, dim=2)),
    "a history": (well(40, "verlet"), well(40)),
    "a scheme without a loop of its own": (well(40, "groot_warren"), well(40, "rk4")),
    "coefficients that are the same for all": (
        falling(20, "velocity_verlet", kd.LinearDrag(0.5)),
        falling(20, "velocity_verlet", kd.LinearDrag(np.arange(20) / 8)),
    ),
    "wind that is the same for all": (
        falling(20, "velocity_verlet", kd.LinearDrag(0.5, (1.0, 2.0)), kd.PointGravity(1.0, (9.0, 9.0), 1.0)),
        falling(
            20,
            "velocity_verlet",
            kd.LinearDrag(0.5, np.arange(40.0).reshape(20, 2)),
            kd.PointGravity(1.0, (9.0, 9.0), 1.0),
        ),
    ),
    "drag": (falling(20, "velocity_verlet", kd.LinearDrag(0.5)), falling(20, "velocity_verlet", kd.LinearDrag(0.0))),
    "springs": (falling(20, "heun", SPRUNG), falling(20, "heun", kd.AnchorSpring(0.0))),
    "drag and springs": (falling(20, "rk4", SPRUNG, kd.LinearDrag(0.5, (1.0, 0.0))), falling(20, "rk4", SPRUNG)),
    "turning": (falling(20, "leapfrog", MAGNET), falling(20, "leapfrog", kd.Magnetic(1.0, 0.0))),
    "damping": (falling(20, "verlet", kd.Damping(0.5)), falling(20, "verlet", kd.Damping(0.0))),
    "one vector of stars": (stars(2), stars(3)),
    "one vector of floats": (stars(4, dtype=np.float32), stars(5, dtype=np.float32)),
    "pairs of stars once": (stars(32), stars(31)),
    "pairs of stars once, in space": (stars(32, dim=3), stars(31, dim=3)),
    "few pairs": (chain(2), chain(3)),
    "few bodies that pairs hold": (chain(14), chain(15)),
    "pairs that pull before": (chain(20, compliance=0.01), chain(20, compliance=0.01, direction="after")),
    "pairs at one place": (chain(2, np.zeros((3, 2))), chain(20, np.zeros((21, 2)))),
    "all joints pull at velocities, too": (
        world(6, constraints=[kd.Distance(THREE, 1.0)], integrator=DRIFT_KICK),
        world(
            6, constraints=[kd.Distance(THREE, 1.0), kd.Distance([(3, 4)], 1.0, compliance=0.01)], integrator=DRIFT_KICK
        ),
    ),
    # The end of a step and the start of the next have one position, but different times, because 0.1 is rounded.
    "one place, one force": tuple(
        world(steps=20, dt=0.1, forces=[kd.Expression(x=x, y="0"), kd.LinearDrag(0.5)])
        for x in ("sin(1e6*x)", "sin(1e6*t)")
    ),
    "64 bodies of noise": (world(64, forces=[JITTER]), world(65, forces=[JITTER])),
    "192 bodies of noise": (world(192, forces=[JITTER]), world(193, forces=[JITTER])),
    "64 bodies of a bath": (world(64, forces=[BATH]), world(65, forces=[BATH])),
    "exactly at a plane, going out": (
        at_wall(FLOOR, (0.0, 0.0), (2.0, -1.0), forces=[]),
        at_wall(FLOOR, (0.0, 1.0), (2.0, 0.0)),
    ),
    "exactly at a plane after the step": (
        at_wall(FLOOR, (0.0, 0.03125), (1.0, -1.0), forces=[]),
        at_wall(FLOOR, (0.0, 0.0625), (1.0, -1.0), forces=[]),
    ),
    "exactly at a plane, going in": (
        at_wall(FLOOR, (0.0, 0.0), (2.0, 1.0), forces=[]),
        at_wall(FLOOR, (0.0, -1.0), (2.0, 1.0)),
    ),
    "exactly at a ceiling": (
        at_wall(ROOM, (1.0, 3.96875), (1.0, 1.0), forces=[]),
        at_wall(ROOM, (1.0, 3.9375), (1.0, 1.0), forces=[]),
    ),
    "at rest at a wall": (at_wall(FLOOR, (0.0, 0.0), (2.0, 0.0)), at_wall(FLOOR, (0.0, 0.0), (2.0, -9.0))),
    "in a corner": (at_wall(ROOM, (0.0, 0.0), (-1.0, -1.0)), at_wall(ROOM, (1.0, 0.0), (-1.0, -1.0))),
    "in a corner of planes": (
        at_wall(FLOOR, (0.0, 0.0), (-1.0, -1.0), kd.Plane((1.0, 0.0), 0.0)),
        at_wall(FLOOR, (1.0, 0.0), (-1.0, -1.0), kd.Plane((1.0, 0.0), 0.0)),
    ),
    "in a corner of planes, going out": (
        at_wall(FLOOR, (-0.5, -0.5), (1.0, 1.0), kd.Plane((1.0, 0.0), 0.0), forces=[]),
        at_wall(FLOOR, (-0.5, -0.5), (-1.0, -1.0), kd.Plane((1.0, 0.0), 0.0), forces=[]),
    ),
    "in a corner, going out": (
        at_wall(ROOM, (-0.5, -0.5), (1.0, 1.0), forces=[]),
        at_wall(ROOM, (-0.5, -0.5), (-1.0, -1.0), forces=[]),
    ),
    "more bounces than are followed": (
        at_wall(SLIT, (1.0, 0.015625), (0.0, 64.0), forces=[]),
        at_wall(SLIT, (1.0, 0.015625), (0.0, 4.0), forces=[]),
    ),
    "along a segment and off it": (at_wall(SLOPE, (1.0, 1.0), (0.0, -8.0)), at_wall(SLOPE, (1.0, 1.0), (8.0, 8.0))),
    "sliding on segments": (sliding(kd.Segments, 0.0), sliding(kd.Segments, 0.5)),
    "sliding on boxes": (sliding(kd.Boxes, 0.0), sliding(kd.Boxes, 0.5)),
    "in a box that is too narrow": (
        at_wall(kd.Box(0.0, 0.03125), (0.0, 0.0), (-64.0, 8.0)),
        at_wall(ROOM, (0.0, 0.0), (-64.0, 8.0)),
    ),
    "touching": (two(2.0, 1.0), two(2.0625, 1.0)),
    "touching and going apart": (two(1.9375, -1.0), two(2.0, -1.0)),
    "at one place": (two(0.0, 0.0), two(0.0625, 0.0)),
    "at one place, not one after the other": (
        world(position=[[0.5, 0.5], [9.0, 9.0], [0.5, 0.5]], velocity=np.zeros((3, 2)), constraints=[BALLS]),
        world(position=[[0.5, 0.5], [0.5, 0.5], [9.0, 9.0]], velocity=np.zeros((3, 2)), constraints=[BALLS]),
    ),
    "so few bodies that each pair is tested": (crowd(17), crowd(18)),
    "each pair of unlike bodies is tested": (crowd(17, None), crowd(18, None)),
    "each pair across a periodic box is tested": (crowd(17, None, AROUND), crowd(18, None, AROUND)),
    "each pair of alike bodies across a periodic box is tested": (crowd(17, 0.75, AROUND), crowd(18, 0.75, AROUND)),
    "each pair of bullets is tested": (crowd(17, None, swept=True), crowd(18, None, swept=True)),
    "each pair of contacts is tested": (crowd(17, 0.75, kind=kd.Contacts), crowd(18, 0.75, kind=kd.Contacts)),
    "each pair that the filter allows is tested": tuple(
        crowd(n, None, category=1 << np.arange(n) % 3, mask=[(6, 5, 3)[i % 3] for i in range(n)]) for n in (17, 18)
    ),
    "as many sizes of bullets as there are classes": tuple(
        world(
            position=np.arange(96.0).reshape(48, 2) % 7 / 2,
            velocity=np.zeros((48, 2)),
            constraints=[kd.ElasticCollisions(4.0 ** -(np.arange(48) % sizes), 0.5, swept=True)],
        )
        for sizes in (15, 16)
    ),
    "no cell is searched in vain": tuple(
        crowd(n, None, category=1 << (first + np.arange(40) % 3).astype(np.uint64), mask=[1 << last] * 40)
        for n, first, last in ((40, 0, 1), (40, 32, 1))
    ),
    "all bodies at one place, each pair tested": (crowd(17, wide=0.0), crowd(18, wide=0.0)),
    "bullets that touch": (two(2.0, 1.0, swept=True), two(3.0, 99.0, swept=True)),
    "inside of a periodic box": (
        world(position=[[0.0, 7.5]], velocity=[[0.0, 1.0]], constraints=[AROUND]),
        world(position=[[7.90625, 0.0]], velocity=[[1.0, -1e-18]], constraints=[AROUND]),
    ),
    "exactly at the upper side": (
        world(position=[[7.96875, 2.0]], velocity=[[1.0, 0.0]], constraints=[AROUND], steps=0),
        world(position=[[7.9375, 2.0]], velocity=[[1.0, 0.0]], constraints=[AROUND], steps=0),
    ),
    "half a periodic box away": (
        world(position=[[0.0, 0.0], [4.0, 0.0]], forces=[kd.Springs([(0, 1)], 2.0, 1.0)], constraints=[AROUND]),
        world(position=[[0.0, 0.0], [4.5, 0.0]], forces=[kd.Springs([(0, 1)], 2.0, 1.0)], constraints=[AROUND]),
    ),
    "the dead of a first tile": (
        world(200, alive=np.arange(200) % 7 != 4, constraints=[AROUND]),
        world(200, constraints=[AROUND]),
    ),
    "no wall within a leap": (drawn_down(-2000.0), drawn_down(-20.0)),
    "no wall within a leap, in 32 bits": (drawn_down(-2000.0, dtype=np.float32), drawn_down(-20.0, dtype=np.float32)),
    "no wall within a leap with drag": (
        drawn_down(-2000.0, kd.LinearDrag(0.25)),
        drawn_down(-20.0, kd.LinearDrag(0.25)),
    ),
    "no wall within a leap of the living": (
        drawn_down(-2000.0, alive=np.arange(200) % 7 != 4),
        drawn_down(-20.0, alive=np.arange(200) % 7 != 4),
    ),
    "a force of positions alone beside drag": (
        falling(20, "velocity_verlet", kd.LinearDrag(0.5), kd.Expression(x="-2 * x", y="x * y")),
        falling(20, "velocity_verlet", kd.LinearDrag(0.5), kd.Expression(x="-2 * x", y="x * t")),
    ),
    "a force of positions alone beside drag, in a kick": (
        falling(20, "leapfrog", kd.LinearDrag(0.5), kd.Expression(x="-2 * x", y="x * y")),
        falling(20, "leapfrog", kd.LinearDrag(0.5), kd.Expression(x="-2 * x", y="x * vy")),
    ),
    "a field of positions alone beside drag": (
        falling(20, "velocity_verlet", kd.QuadraticDrag(0.5), kd.PointGravity(2.0, (0.5, 0.5), 0.5)),
        falling(20, "velocity_verlet", kd.PointGravity(2.0, (0.5, 0.5), 0.5), kd.QuadraticDrag(0.5)),
    ),
    "positions that stay from one evaluation to the next": (
        falling(20, "leapfrog", kd.LinearDrag(0.5), kd.PointGravity(2.0, (0.5, 0.5), 0.5)),
        falling(20, "rk4", kd.LinearDrag(0.5), kd.PointGravity(2.0, (0.5, 0.5), 0.5)),
    ),
    "all are active": (
        world(200, alive=200, forces=[kd.Expression(x="1 - x")]),
        world(200, alive=np.arange(200) % 7 != 4, forces=[kd.Expression(x="1 - x")]),
    ),
    "friction ends the slip": (
        spinning(kd.Plane((0.0, 1.0), 0.0, 0.5, 4.0, 1.0), spin=0.125),
        spinning(kd.Plane((0.0, 1.0), 0.0, 0.5, 0.0625, 1.0)),
    ),
    "friction ends the slip of some in a vector": (
        spinning(kd.Plane((0.0, 1.0, 0.0), 0.0, 0.5, np.arange(12) % 5 / 8, 1.0), dim=3),
        spinning(kd.Box((-9.0, 0.0, -9.0), 99.0, 0.5, np.arange(12) % 5 / 8, 1.0), dim=3),
    ),
    "rolling resistance of some": (touching_pair(0.5, 8.0, rolling=[0.0, 0.25]), touching_pair(0.5, 8.0)),
    "a pinned wheel rotates": (touching_pair(0.5, 8.0, True), touching_pair(0.0, 8.0, True)),
    "restitution with friction": (
        touching_pair(0.5, 8.0, restitution=0.5),
        spinning(kd.Contacts(1.0, 0.5, walls=[kd.Plane((0.0, 1.0), 0.0)])),
    ),
    "collisions with friction rotate": (
        two(1.9375, 1.0, friction=0.5, angular_velocity=3.0),
        two(1.9375, 1.0, friction=0.0, angular_velocity=3.0),
    ),
    "radii of a second tile": (
        world(200, dim=1, constraints=[kd.Box(-5.0, 5.0, 0.5, radius=np.arange(200) / 400)]),
        world(200, dim=1, constraints=[kd.Box(-5.0, 5.0, 0.5, radius=0.25)]),
    ),
}


@pytest.mark.parametrize("side", [True, False])
@pytest.mark.parametrize("name", BORDERS)
def test_both_sides_of_a_boundary_equal_the_reference(isa, name, side):
    play = BORDERS[name][not side]
    ours, book = play(kd.Stepper), play(kd.reference.Stepper)
    assert_same_state(ours, book)
    if isinstance(ours._events, kd.Events):
        ours, book = ours.events.take(), book.events.take()
        for name in ours.dtype.names:
            assert_same_bits(ours[name], book[name])


@pytest.mark.parametrize("place", [(2.0, 1.0), (1.0, 2.0), (0.0, 1.0)])
@pytest.mark.parametrize("region", [kd.Sensor((0.0, 0.0), (2.0, 2.0)), kd.Sensor((1.0, 1.0), 1.0)], ids=["box", "ball"])
def test_the_boundary_of_a_region_belongs_to_it(Stepper, region, place):
    still = Stepper([place, (2.0625, 1.0)], constraints=[region], events=kd.Events())
    for _ in range(3):
        still.step()
    events = still.events.take()
    assert events["kind"].tolist() == [int(kd.ENTER)]
    assert events["slot_a"].tolist() == [0]
