"""One number for all bodies is set without making the plan anew, and it is what a plan made so says."""

import dataclasses

import numpy as np
import pytest

import kickdrift as kd

SINGLE = {
    "gravity": (lambda: kd.Gravity((0.5, -9.81)), {"acceleration": (1, -2.5)}),
    "drag": (lambda: kd.LinearDrag(1.0, (2.0, 0.0)), {"wind": (-3.0, 1)}),
    "spring": (lambda: kd.AnchorSpring(2.0, 0.1), {"stiffness": 3, "anchor": (0.5, 0.25)}),
    "point gravity": (lambda: kd.PointGravity(1.0, (3.0, 4.0), 0.1), {"mu": 2.5}),
    "quadratic drag": (lambda: kd.QuadraticDrag(0.1), {"wind": (1.0, 0.0)}),
    "vortex": (lambda: kd.Vortex(1.0, softening=0.2), {"center": (1.0, 1.0)}),
    "a number too small for float32": (lambda: kd.LinearDrag(1.0), {"coefficient": 1e-300}),
    "minus nothing": (lambda: kd.Gravity((0.0, 0.0)), {"acceleration": (-0.0, -0.0)}),
}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_setting_what_acts_on_single_bodies_makes_no_other_plan(Stepper, name, dtype, monkeypatch):
    make, change = SINGLE[name]
    rng = np.random.default_rng(1)
    start = rng.normal(size=(2, 7, 2)).astype(dtype)
    term, others = make(), [kd.PointGravity(0.5, softening=0.3), kd.LinearDrag(0.25, (0.0, 1.0))]
    world = Stepper(*start.copy(), dt=0.01, forces=[others[0], term, others[1]])
    world.step(3)
    with monkeypatch.context() as patch:
        patch.setattr("kickdrift.stepper.changes.Plan", None)
        world.set(term, **change)
    state = [np.array(array) for array in (world.position, world.velocity)]
    made = Stepper(*state, dt=0.01, forces=[others[0], dataclasses.replace(term, **change), others[1]])
    assert world._plan.fingerprint == made._plan.fingerprint
    for each in (world, made):
        each.step(5)
    for mine, theirs in zip((world.position, world.velocity), (made.position, made.velocity), strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_setting_one_of_several_records_leaves_the_others(Stepper):
    first, second = kd.PointGravity(1.0, (3.0, 4.0)), kd.PointGravity(2.0, (-1.0, 0.0))
    worlds = [Stepper([[0.0, 0.0]], [[0.0, 1.0]], dt=0.01, forces=[first, second]) for _ in range(2)]
    for mu in (0.5, 0.25, 0.125):
        worlds[0].set(second, mu=mu)
        worlds[0].step()
        made = Stepper(
            worlds[1].position, worlds[1].velocity, dt=0.01, forces=[first, dataclasses.replace(second, mu=mu)]
        )
        made.step()
        assert worlds[0].position.tobytes() == made.position.tobytes()


@pytest.mark.parametrize("number", [True, 2**53 + 1, 10**400, float("inf"), float("nan"), (1, True), (1.0, "a")])
def test_what_is_set_is_checked_as_what_is_declared(Stepper, number):
    gravity = kd.Gravity((0.0, 0.0))
    world = Stepper([[0.0, 0.0]], forces=[gravity])

    def outcome(call):
        try:
            return np.asarray(call().acceleration).tobytes()
        except (TypeError, ValueError, OverflowError) as error:
            return type(error), str(error)

    given = (number, 0) if not isinstance(number, tuple) else number
    expected = outcome(lambda: kd.Gravity(given))
    assert outcome(lambda: (world.set(gravity, acceleration=given), world.current(gravity))[1]) == expected
