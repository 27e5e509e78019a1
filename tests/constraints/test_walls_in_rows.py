"""Rows of the caller's arrays far from all walls are stepped in place; every body must be checked for contact."""

import math
from itertools import product

import numpy as np
import pytest
from plans import DTYPES, assert_same_bits, assert_same_state, outcome, said

import kickdrift as kd

AFFINE = ["semi_implicit_euler", "velocity_verlet", "verlet", "leapfrog", "exact", "heun"]
FAR = -1e6


def arrays(n, dim, dtype, order):
    rng = np.random.default_rng(n)
    return tuple(np.asarray(rng.normal(0, 1, (n, dim)), dtype, order=order) for _ in range(2))


def forces(kind, n, dim, scheme):
    """Return affine forces with coefficients that are uniform, per body, or mixed."""
    rng = np.random.default_rng(1)
    pull = [kd.Gravity(rng.normal(0, 1, dim))]
    if kind == "gravity":
        return pull
    drag = kd.LinearDrag(0.3 if kind == "alike" else rng.uniform(0.1, 1, n), wind=rng.normal(0, 1, dim))
    spring = kd.AnchorSpring(2.0 if kind == "mixed" else rng.uniform(0.1, 3, n), anchor=rng.normal(0, 1, dim))
    return pull + [drag] + ([] if scheme == "exact" else [spring, kd.Damping(0.2)])


@pytest.mark.parametrize("scheme", AFFINE)
@pytest.mark.parametrize("kind", ["gravity", "alike", "mixed", "each"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_single_steps_beside_a_far_wall(isa, scheme, kind, order):
    for dtype, dim, n in product(DTYPES, (1, 2, 3), (7, 193, 385)):
        free, held, told = (
            kd.Stepper(
                *arrays(n, dim, dtype, order), dt=1 / 60, integrator=scheme, forces=forces(kind, n, dim, scheme),
                constraints=walls, events=events,
            )
            for walls, events in (
                ([], None), ([kd.Plane(np.eye(dim)[-1], FAR)], None),
                ([kd.Plane(np.eye(dim)[0], FAR), kd.Box(FAR, -FAR)], kd.Events(8)),
            )
        )  # fmt: skip
        with said(dtype=dtype, dim=dim, n=n, isa=isa):
            for _ in range(3):
                for world in (free, held, told):
                    world.step()
                assert_same_state(held, free)
                assert_same_state(told, free)


@pytest.mark.parametrize("scheme", AFFINE)
@pytest.mark.parametrize("order", ["C", "F"])
def test_bodies_that_come_and_go_beside_a_far_wall(isa, scheme, order):
    """Rows with inactive slots are stepped in place, too; spawned bodies have no history yet."""
    n, rng = 790, np.random.default_rng(2)
    for dtype, dim, living in product(DTYPES, (1, 2, 3), (400, n)):
        free, held = (
            kd.Stepper(
                *arrays(n, dim, dtype, order), dt=1 / 60, integrator=scheme, forces=forces("mixed", n, dim, scheme),
                constraints=walls, alive=living,
            )
            for walls in ([], [kd.Plane(np.eye(dim)[-1], FAR)])
        )  # fmt: skip
        for steps in (1, 1, 3, 1, 64):
            dying = rng.permutation(np.flatnonzero(free.alive))[:60]
            for world in (free, held):
                world.kill(dying)
                world.spawn(np.linspace(1, 2, 40 * dim).reshape(40, dim), np.ones(dim))
                world.step(steps)
            with said(dtype=dtype, dim=dim, living=living, steps=steps, isa=isa):
                assert_same_state(held, free)
                assert not held.position[~held.alive].any()
                assert not held.velocity[~held.alive].any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("substeps", [1, 2])
@pytest.mark.parametrize("n", [100, 790])
def test_frames_draw_the_state_before_their_last_step(isa, order, substeps, n):
    """Kernels save the previous state tile by tile: without walls, with one or several, and with events."""
    wall = kd.Plane((0, 1), FAR)
    for walls, events in (([], None), ([wall], None), ([wall, kd.Box(FAR, -FAR)], None), ([wall], kd.Events(8))):
        x, v = arrays(n, 2, np.float64, order)
        v[:] = 1.0
        began = x.copy()
        world = kd.Stepper(x, v, clock=kd.FixedClock(64, substeps=substeps), constraints=walls, events=events)
        for frame in range(1, 4):
            world.advance(2.5 / 64)
            ticks = 5 * frame // 2
            assert world.tick == ticks * substeps
            np.testing.assert_allclose(world.interpolate(0.0), began + (ticks - 1) / 64, rtol=0, atol=1e-12)
            np.testing.assert_allclose(world.interpolate(), began + (2.5 * frame - 1) / 64, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("side", [-1, 1])  # floor and ceiling
def test_any_body_may_reach_the_wall(isa, order, dim, dtype, axis, side):
    """One body of a row is fast, or starts beyond the wall; all other bodies are far away."""
    n = 401
    wall = np.eye(dim)[axis]
    for body, inside in product((*range(17), 191, 192, 383, 384, *range(385, 401)), (True, False)):
        x, v = np.zeros((n, dim), dtype, order), np.zeros((n, dim), dtype, order)
        if inside:
            v[body, axis] = -3000.0 * side
        else:
            x[body, axis] = -20.0 * side
        world = kd.Stepper(x, v, dt=1 / 64, forces=[kd.Gravity(0 * wall)], constraints=[kd.Plane(side * wall, -10.0)])
        world.step()
        with said(body=body, inside=inside, isa=isa):
            assert x[body, axis] * side > -20.0
            assert v[body, axis] * side >= 0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_wide_body_may_reach_the_wall(isa, order, dim, dtype):
    """Only the radius of this body reaches the wall; all other bodies are points far away."""
    n = 401
    wall = np.eye(dim)[-1]
    for body in (*range(17), 191, 192, 383, 384, *range(385, 401)):
        radius = np.zeros(n)
        radius[body] = 11.0
        x = np.full((n, dim), 100.0, dtype, order)
        x[body] = 0.0
        kd.Stepper(x, dt=1 / 64, constraints=[kd.Plane(wall, -10.0, radius=radius)]).step()
        with said(body=body, isa=isa):
            assert x[body, -1] == 1.0
            assert np.count_nonzero(x == 100.0) == (n - 1) * dim


@pytest.mark.parametrize("scheme", ["semi_implicit_euler", "velocity_verlet"])
@pytest.mark.parametrize("numbers", ["spring", "drag", "gravity"])
def test_forces_may_take_any_body_to_the_wall(isa, scheme, numbers):
    """One body rests far from the wall; only the coefficients of its own force move it there."""
    n = 401
    for body in (0, 5, 191, 192, 384, 397, 400):
        each, wind, anchor, pull = np.zeros(n), np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 2))
        if numbers == "spring":
            each[body], anchor[body] = 4.0, (0.0, -9000.0)
        elif numbers == "drag":
            each[body], wind[body] = 4.0, (0.0, -9000.0)
        else:
            pull[body] = (0.0, -36000.0)
        force = {
            "spring": lambda k=each, to=anchor: kd.AnchorSpring(k, anchor=to),
            "drag": lambda c=each, w=wind: kd.LinearDrag(c, wind=w),
            "gravity": lambda g=pull: kd.Gravity(g),
        }[numbers]
        worlds = [
            make(
                np.zeros((n, 2)), dt=1 / 32, integrator=scheme, forces=[force()], constraints=[kd.Plane((0, 1), -10.0)]
            )
            for make in (kd.Stepper, kd.reference.Stepper)
        ]
        for _ in range(2):
            for world in worlds:
                world.step()
            with said(body=body, isa=isa):
                assert_same_state(*worlds)
        assert worlds[0].position[body, 1] == -10.0


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("of", ["position", "velocity"])
@pytest.mark.parametrize("events", [None, kd.Events(8)])
def test_a_body_that_is_not_finite_is_reported(isa, value, of, events):
    for body in (0, 7, 384, 399):
        world, book = (
            make(np.zeros((400, 2)), np.ones((400, 2)), dt=1.0, constraints=[kd.Plane((0, 1), FAR)], events=events)
            for make in (kd.Stepper, kd.reference.Stepper)
        )
        for one in (world, book):
            one.step()
            getattr(one, of)[body, 1] = value
        expected = outcome(book, 1)
        assert expected
        assert outcome(world, 1) == expected
        assert world.tick == book.tick
        assert_same_bits(world.position, book.position)


def test_a_speed_that_overflows_is_reported(isa):
    """The velocity overflows while the displacement, a hundredth of it, stays finite."""
    world, book = (
        make(
            np.zeros((400, 2)), np.ones((400, 2)), dt=0.01, forces=[kd.Gravity((0.0, 1.7e308))],
            constraints=[kd.Plane((0, 1), FAR)], integrator="semi_implicit_euler",
        )
        for make in (kd.Stepper, kd.reference.Stepper)
    )  # fmt: skip
    for one in (world, book):
        one.velocity[399, 1] = 1.79e308
    expected = outcome(book, 1)
    assert expected
    assert outcome(world, 1) == expected
    assert_same_bits(world.velocity, book.velocity)


def test_a_body_that_has_touched_reports_its_end(isa):
    """The end of a contact is an event, even if the row's bodies are farther from all walls than a step can reach."""
    worlds = [
        make(
            np.full((800, 2), 1000.0), dt=1.0, constraints=[kd.Plane((0, 1), 0.0, restitution=0.0)],
            events=kd.Events(8, begin=True, end=True),
        )
        for make in (kd.Stepper, kd.reference.Stepper)
    ]  # fmt: skip
    for world in worlds:
        world.position[700], world.velocity[700] = (0.0, 0.5), (0.0, -1.0)
        world.step()
        assert world.events.take()["kind"].tolist() == [kd.HIT, kd.BEGIN]
        world.position[700], world.velocity[700] = (0.0, 900.0), (0.0, 0.0)
        world.step()
    events = [world.events.take() for world in worlds]
    assert events[1]["kind"].tolist() == [kd.END]
    np.testing.assert_array_equal(*events)
