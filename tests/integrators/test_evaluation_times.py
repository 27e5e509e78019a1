"""Times of force evaluations: those passed to callbacks and those listed by plans.

Stepper and reference share one table; the expected times here are derived from the definition of each scheme.
"""

from fractions import Fraction

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.stepper import model

mpmath = pytest.importorskip("mpmath")
mp = mpmath.MPContext()
mp.dps = 60

HALF = Fraction(1, 2)
DTYPES = [np.float32, np.float64]
CUBE = mp.cbrt(2)
XI, CHI = mp.mpf("0.1786178958448091"), mp.mpf("-0.06626458266981849")
# Yoshida 1990, table 1, solution A.
W3, W2, W1 = map(mp.mpf, ("0.784513610477560", "0.235573213359357", "-1.17767998417887"))
W0 = 1 - 2 * (W1 + W2 + W3)

#: Nodes of explicit Runge-Kutta methods: Hairer, Norsett, Wanner 1993, II.1.
NODES = {"explicit_euler": [0], "midpoint": [0, HALF], "heun": [0, 1], "rk4": [0, HALF, HALF, 1]}
#: Sums of the drifts before each kick; a kick is evaluated at the time reached by the drifts.
KICKS = {
    "leapfrog": [HALF],
    "yoshida4": [1 / (2 - CUBE) / 2, mp.mpf(1) / 2, 1 - 1 / (2 - CUBE) / 2],
    "pefrl": [XI, XI + CHI, 1 - XI - CHI, 1 - XI],
    "yoshida6": [
        W3 / 2, W3 + W2 / 2, W3 + W2 + W1 / 2, mp.mpf(1) / 2,
        1 - W3 - W2 - W1 / 2, 1 - W3 - W2 / 2, 1 - W3 / 2,
    ],
}  # fmt: skip
#: Evaluations per kick under velocity-dependent forces: one iteration per order, or the four stages of RK4.
PER_KICK = {"leapfrog": 2, "yoshida4": 4, "pefrl": 4, "yoshida6": 6}


def expected_times(integrator, velocity_dependent, calls):
    """Return all evaluation times of calls of given step counts, in steps since the start, or (time, "any number")."""
    name, times, tick = integrator.name, [], 0
    if name == "groot_warren" or name == "verlet":
        times.append(0)  # history: a(0), or the position before the first
    for steps in calls:
        for first in [True] + [False] * (steps - 1):
            if name in NODES:
                times += [tick + node for node in NODES[name]]
            elif name in KICKS:
                each = PER_KICK[name] if velocity_dependent else 1
                times += [tick + kick for kick in KICKS[name] for _ in range(each)]
            elif name == "semi_implicit_euler":
                # kick_drift evaluates a(x, v), drift_kick a(x', v) at the new position; alternate does both in turn.
                late = {"kick_drift": 0, "drift_kick": 1, "alternate": tick % 2}[integrator.form]
                times.append(tick + late)
            elif name == "groot_warren":
                times.append(tick + 1)  # a' = a(x', v + lam h a); a is that of the last step
            elif name == "velocity_verlet" or (name == "verlet" and integrator.velocity == "central"):
                # Evaluations at both ends; without velocity dependence, the end serves as the next beginning.
                times += [tick, tick + 1] if first or velocity_dependent else [tick + 1]
            elif name == "verlet":
                # a at the old position; with drag, its velocity needs another evaluation.
                times += [tick, tick] if velocity_dependent else [tick]
            elif name == "implicit_euler":
                times.append((tick + 1, "any number"))
            else:
                raise AssertionError(f"no times for {name}")
            tick += 1
    return times


FORMS = [
    *(kd.SemiImplicitEuler(form=form) for form in ("kick_drift", "drift_kick", "alternate")),
    *(
        kd.Verlet(velocity=velocity, start=start)
        for velocity in ("backward", "central")
        for start in ("taylor", "backward")
    ),
    *(kd.GrootWarren(lam=lam) for lam in (0.0, 0.5, 1.0)),
]
REFUSE = {"exact", "energy_euler"}  # take no callbacks
ALL = FORMS + [cls() for name, cls in kd.INTEGRATORS.items() if name not in REFUSE | {form.name for form in FORMS}]


def test_all_integrators_are_covered():
    assert {integrator.name for integrator in ALL} == kd.INTEGRATORS.keys() - REFUSE
    assert len(ALL) == 10 + len(kd.INTEGRATORS.keys() - REFUSE - {"semi_implicit_euler", "verlet", "groot_warren"})


def recording_force(told, velocity_dependent):
    """Create a force that records its evaluation times and accelerates the bodies."""

    def listen(t, position, velocity, out):
        told.append(t)
        out[:] = -2 * position - (velocity / 2 if velocity_dependent else 0)

    return kd.Force(listen, velocity_dependent=velocity_dependent)


def assert_times(told, expected, h, dtype, case):
    """Check all times in order; h and its fractions are rounded to the dtype."""
    told = list(told)
    for entry in expected:
        whole, several = entry if isinstance(entry, tuple) else (entry, "")
        assert told, f"{case}: {entry} steps is missing"
        exact = mp.mpf(whole.numerator) / whole.denominator if isinstance(whole, Fraction) else mp.mpf(whole)
        bound = 8 * float(np.finfo(dtype).eps) * h + 1e-14 * (1 + abs(float(exact)) * h)
        assert abs(mp.mpf(told.pop(0)) - exact * mp.mpf(h)) <= bound, f"{case}: {entry} steps"
        while several and told and abs(told[0] - float(exact * h)) <= bound:
            told.pop(0)
    assert not told, f"{case}: {told} too much"


@pytest.mark.parametrize("velocity_dependent", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("integrator", ALL, ids=repr)
def test_callbacks_get_the_expected_times(Stepper, integrator, dtype, velocity_dependent):
    calls = (1, 3, 0, 2)
    for h in (0.25, 1 / 60):
        told = []
        stepper = Stepper(
            np.ones((2, 2), dtype), np.ones((2, 2), dtype), dt=h, integrator=integrator,
            forces=[kd.Gravity((0, -1)), recording_force(told, velocity_dependent)],
        )  # fmt: skip
        told.clear()  # drop the evaluation that validates the callback
        for n in calls:
            stepper.step(n)
        expected = expected_times(integrator, velocity_dependent, [n for n in calls if n])
        assert_times(told, expected, h, dtype, f"{integrator}, dt {h}")
        if integrator.name != "implicit_euler":
            assert len(told) == stepper.force_evaluations


@pytest.mark.parametrize("velocity_dependent", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("integrator", ALL, ids=repr)
def test_plans_list_the_times_of_an_inner_step(integrator, dtype, velocity_dependent):
    """The inner step is not the first of its call, and starts at an odd tick."""
    force = recording_force([], velocity_dependent)
    made = model.Plan(2, 2, np.dtype(dtype), np.ones(1), integrator, [force])
    before = expected_times(integrator, velocity_dependent, [3])
    expected = expected_times(integrator, velocity_dependent, [4])[len(before) :]
    shares = [entry[0] if isinstance(entry, tuple) else entry for entry in expected]
    assert shares
    for h in (0.25, 1 / 60, 3.7):
        times = made.evaluation_times(h)
        assert len(times) == len(shares)
        for time, share in zip(times, shares, strict=True):
            exact = mp.mpf(share.numerator) / share.denominator if isinstance(share, Fraction) else mp.mpf(share)
            assert abs(mp.mpf(time) - (exact - 3) * mp.mpf(h)) <= (8 * float(np.finfo(dtype).eps) + 1e-14) * h
            assert time == dtype(time)
