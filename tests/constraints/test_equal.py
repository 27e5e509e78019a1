"""Constraints: kernels are bitwise equal to the reference (0 ulp)."""

from itertools import product

import numpy as np
import pytest
from plans import (
    INTEGRATORS,
    KINDS,
    Scene,
    assert_same_bits,
    assert_same_state,
    compare_with_reference,
    each_isa,
    held_scene,
    in_turn,
    outcome,
    resting_around_scene,
    resting_scene,
    said,
)

import kickdrift as kd
from kickdrift import kernels

#: Random scenes, and how many of them.
SCENES = {held_scene: 420, resting_scene: 120, resting_around_scene: 120}


@pytest.mark.parametrize(
    ("draw", "first"), [(draw, first) for draw, many in SCENES.items() for first in range(0, many, 30)]
)
def test_random_constraints_equal_the_reference(monkeypatch, draw, first):
    compare_with_reference(monkeypatch, in_turn(draw), range(first, first + 30))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_layout_splitting_and_threads_do_not_change_results(monkeypatch, integrator):
    """All instruction sets, layouts and thread counts equal a single call on row layout by the best instruction set."""
    compared, most = 0, len(KINDS) * len(kernels.isas)
    for number, (layout, dtype, dim) in enumerate(KINDS):
        n = 400 if number % 7 == 0 else 60  # some cases have enough bodies for threads
        drawn = held_scene(np.random.default_rng(number), integrator, n, dtype, dim)
        whole = drawn.make(kd.Stepper, "row")
        if outcome(whole, 12):
            continue
        for isa in each_isa(monkeypatch):
            with said(scene=drawn, layout=layout, dtype=dtype.__name__, dim=dim, seed=number, isa=isa):
                parts = drawn.make(kd.Stepper, layout, threads=2)
                for steps in (1, 0, 4, 6, 1):
                    parts.step(steps)
                assert_same_state(parts, whole)
                assert parts.checksum() == whole.checksum()
                compared += 1
    print(f"{compared} of {most} compared")
    assert compared > 0.8 * most


def everything(rng, n, dtype, integrator):
    """Create a scene with all interactions and constraints, and with single-body forces."""
    side = (8 * n) ** 0.5
    position = rng.uniform(0, side, (n, 2))
    chain = np.stack([np.arange(0, n - 1, 2), np.arange(1, n, 2)], axis=1)
    several = np.stack([np.arange(n - 3), np.arange(3, n)], axis=1)
    mass = rng.uniform(0.5, 2, n)
    return Scene(
        position=position.astype(dtype),
        velocity=rng.normal(size=(n, 2)).astype(dtype),
        layout="row",
        arguments={
            "mass": mass,
            "dt": 0.01,
            "integrator": integrator,
            "forces": [
                kd.Gravity((0, -9.81)),
                kd.QuadraticDrag(0.1),
                kd.Springs(several, 5.0, rest_length=2.0, damping=0.1),
                kd.NBody(0.2, softening=0.3),
            ],
            "constraints": [
                kd.Pin([0, n - 1]),
                kd.Distance(chain, stiffness=0.5, iterations=3),
                kd.Distance(chain[::3], compliance=0.01),
                kd.ElasticCollisions(rng.uniform(0.2, 0.6, n), restitution=0.9),
                kd.Plane((0.1, 1), 0.5, restitution=0.5, friction=0.2, radius=0.2),
                kd.Box(-1, side + 1, restitution=0.8, radius=0.3),
            ],
        },
    )


def checksums(monkeypatch, drawn, steps):
    """Return the set of checksums of all instruction sets, layouts and numbers of threads."""
    sums = set()
    for isa, layout, threads in product(kernels.isas, ("row", "component"), (1, 2, 8)):
        monkeypatch.setattr(kernels, "isa", isa)
        stepper = drawn.make(kd.Stepper, layout, threads=threads)
        stepper.step(steps)
        sums.add(stepper.checksum())
    return sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "implicit_euler"])
def test_all_constraints_at_once_equal_the_reference(monkeypatch, integrator, dtype):
    drawn = everything(np.random.default_rng(3), 24, dtype, integrator)
    book = drawn.make(kd.reference.Stepper)
    book.step(6)
    assert checksums(monkeypatch, drawn, 6) == {book.checksum()}


def test_all_constraints_at_once_with_threads(monkeypatch):
    """A world with enough bodies that every thread gets work."""
    drawn = everything(np.random.default_rng(4), 2500, np.float64, "velocity_verlet")
    assert len(checksums(monkeypatch, drawn, 3)) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "verlet", "velocity_verlet", "exact"])
def test_walls_in_tiles_equal_the_reference(integrator, dtype):
    rng = np.random.default_rng(5)
    n = 500  # three tiles, with per-body coefficients in each
    radius, mass = rng.uniform(0.01, 0.3, n), rng.uniform(1, 2, n)
    mass[::7] = np.inf
    walls = [
        kd.Box(0.0, 3.0, radius=radius, restitution=rng.uniform(0, 1, n), friction=rng.uniform(0, 1, n)),
        kd.Plane((0.6, 0.8), 0.5, restitution=0.0, friction=0.3, radius=radius),
    ]
    forces = [kd.Gravity((1.0, -9.81)), kd.LinearDrag(0.2)]
    if integrator != "exact":
        forces += [kd.Damping(0.2), kd.QuadraticDrag(rng.uniform(0, 0.1, n))]
    state = rng.uniform(0, 3, (n, 2)).astype(dtype), rng.normal(0, 3, (n, 2)).astype(dtype)
    given = {"dt": 1 / 60, "integrator": integrator, "forces": forces, "constraints": walls}
    ours = kd.Stepper(*(array.copy() for array in state), mass, threads=2, **given)
    theirs = kd.reference.Stepper(*(array.copy() for array in state), mass, **given)
    for steps in (1, 2, 9):
        ours.step(steps)
        theirs.step(steps)
        assert_same_state(ours, theirs)
    assert ours.force_evaluations == theirs.force_evaluations


@pytest.mark.parametrize(("pairs", "alive"), [([(0, 1)], [True, False, True]), (np.zeros((0, 2), np.int64), None)])
@pytest.mark.parametrize("direction", ["before", "after"])
def test_negative_zero_velocities_become_zero_without_active_pairs(monkeypatch, direction, pairs, alive):
    """A velocity of -0 becomes +0 even without active pairs, as with them."""
    x, v = np.array([(0.9, 0), (0, 0.5), (0.2, 0.2)]), np.array([(9, 0.5), (0, 0), (-0.0, 1)])
    held = [kd.Distance(pairs, 1.0, direction=direction)]

    def after(cls):
        stepper = cls(x.copy(), v.copy(), dt=0.1, integrator="explicit_euler", constraints=held, alive=alive)
        stepper.step()
        return stepper.velocity[stepper.alive]

    book = after(kd.reference.Stepper)
    assert not np.signbit(book).any()
    for _isa in each_isa(monkeypatch):
        assert_same_bits(after(kd.Stepper), book)


@pytest.mark.parametrize(
    "wall", [kd.Box(-9, 9), kd.Plane((1, 0), -9), kd.Boxes([(5, 5)], [(6, 6)]), kd.Segments([[(5, 5), (6, 6)]])]
)
def test_walls_leave_previous_positions_of_untouched_bodies(monkeypatch, wall):
    """A previous position of -0 keeps its sign if the wall is not touched."""

    def after(cls):
        stepper = cls([[-0.0, 1.0]], [[1.0, 1.0]], dt=0.125, integrator="verlet", constraints=[wall])
        stepper.step()
        return stepper._history

    book = after(kd.reference.Stepper)
    assert np.signbit(book[0, 0])
    for _isa in each_isa(monkeypatch):
        assert_same_bits(after(kd.Stepper), book)
