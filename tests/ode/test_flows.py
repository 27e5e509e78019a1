"""Built-in flows: bitwise equality on every instruction set, the sine, and the published formulas."""

import math
import pickle

import numpy as np
import pytest
from plans import LAYOUTS, assert_same_bits, each_isa, lay_out, outcome, said

import kickdrift as kd
from kickdrift import flows
from kickdrift.reference.flows import FLOWS, cosine, sine

SCHEMES = ["explicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "dopri8"]
ALL = [flows.Lorenz, flows.Rossler, flows.Thomas, flows.Halvorsen, flows.Aizawa, flows.LotkaVolterra, flows.VanDerPol]
BOTH = (kd.ODEStepper, kd.reference.ODEStepper)
SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 127, 128, 129, 130]


def start(rng, flow, n, dtype):
    return rng.uniform(0.1, 1.5, (n, flow.dim)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("flow", ALL)
def test_flows_equal_the_reference(monkeypatch, flow, scheme, dtype):
    rng = np.random.default_rng([ALL.index(flow), SCHEMES.index(scheme)])
    for layout in LAYOUTS[:4]:
        y = start(rng, flow, int(rng.choice(SIZES)), dtype)
        n = int(rng.integers(2, 9))
        book = kd.reference.ODEStepper(lay_out(y, layout), flow, dt=0.02, integrator=scheme)
        failure = outcome(book, n)
        for isa in each_isa(monkeypatch):
            ours = kd.ODEStepper(lay_out(y, layout), flow, dt=0.02, integrator=scheme)
            with said(layout=layout, isa=isa):
                assert (outcome(ours, n // 2) or outcome(ours, n - n // 2)) == failure
                assert_same_bits(ours.y, book.y)
                assert ours.tick == book.tick
                if scheme != "implicit_euler":
                    assert ours.evaluations == book.evaluations


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("flow", ALL)
def test_layout_splitting_and_threads_do_not_change_results(isa, flow, scheme):
    y = start(np.random.default_rng(5), flow, 301, np.float64)
    whole = kd.ODEStepper(y.copy(), flow, dt=0.01, integrator=scheme)
    whole.step(40)
    for number, layout in enumerate(LAYOUTS[:4]):
        parts = kd.ODEStepper(lay_out(y, layout), flow, dt=0.01, integrator=scheme, threads=1 + number % 3)
        for n in (1, 0, 7, 31, 1):
            parts.step(n)
        assert_same_bits(parts.y, whole.y)


@pytest.mark.parametrize("scheme", ["rk4", "implicit_euler"])
def test_threads(isa, scheme):
    """Use enough trajectories for several threads."""
    y = start(np.random.default_rng(6), flows.Lorenz, 3000, np.float64)
    ends = set()
    for threads in (1, 2, 3, 8):
        stepper = kd.ODEStepper(y.copy(), flows.Lorenz, dt=0.01, integrator=scheme, threads=threads)
        stepper.step(100)
        # Implicit evaluation counts depend on how calls are split, which depends on the load of the machine.
        ends.add((stepper.checksum(), stepper.evaluations if scheme == "rk4" else None))
    assert len(ends) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_overflow_is_reported_for_the_trajectory(isa, threads):
    y = np.full((5000, 2), 0.5)
    y[4321] = 1e200
    stepper = kd.ODEStepper(y, flows.VanDerPol(), dt=0.01, threads=threads)
    with pytest.raises(kd.NonFiniteError, match=r"trajectory 4321 .*between tick 0 and tick 1\)") as caught:
        stepper.step(100)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    stepper.y[4321] = 0.5
    stepper.step(10)
    assert stepper.tick == 11
    others = np.delete(stepper.y, 4321, axis=0)
    assert (others == others[0]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overflow_equals_the_reference(isa, dtype):
    y = np.array([[0.5, 0.5], [np.finfo(dtype).max ** 0.6, 1], [1, 1]], dtype)
    for scheme in SCHEMES:
        ours, book = (cls(y.copy(), flows.VanDerPol, dt=0.01, integrator=scheme) for cls in BOTH)
        assert outcome(ours, 5) == outcome(book, 5)
        assert ours.tick == book.tick


def test_an_implicit_failure_restores_the_last_completed_tick(ODEStepper):
    """One Newton step is not enough; all trajectories stay at their last completed tick."""
    integrator = kd.ImplicitEuler(max_iterations=1)
    y = np.tile([[0.0, 0.0, 0.0]], (200, 1))
    y[150] = 1, 2, 20
    stepper = ODEStepper(y, flows.Lorenz, dt=0.02, integrator=integrator)
    with pytest.raises(kd.ConvergenceError, match="trajectory 150 at tick 0"):
        stepper.step(5)
    assert stepper.tick == 0
    assert stepper.y[150].tolist() == [1, 2, 20]
    stepper.y[150] = 0
    stepper.step(5)
    assert stepper.tick == 5


def test_an_implicit_failure_in_a_later_tick(ODEStepper):
    integrator = kd.ImplicitEuler(max_iterations=2, tolerance=1e-9)
    y = np.array([[1e-9, 1e-9, 1e-9], [1e-2, 1e-2, 1e-2]])
    stepper = ODEStepper(y.copy(), flows.Lorenz, dt=0.05, integrator=integrator)
    with pytest.raises(kd.ConvergenceError, match="trajectory 1"):
        stepper.step(1000)
    assert 0 < stepper.tick < 1000
    twin = ODEStepper(y.copy(), flows.Lorenz, dt=0.05, integrator=integrator)
    twin.step(stepper.tick)
    assert_same_bits(stepper.y, twin.y)
    assert stepper.evaluations == twin.evaluations


# Sine.


@pytest.mark.parametrize("kind", [float, np.float32])
@pytest.mark.parametrize(("reach", "ulps"), [(5, 2), (30, 2), (1000, None)])
def test_sine(kind, reach, ulps):
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(7)
    near = [kind(k * math.pi / 2 * (1 + d)) for k in range(-18, 19) for d in (0, 1e-7, -1e-4)]
    for x in [*near, *map(kind, rng.uniform(-reach, reach, 3000))]:
        if abs(x) > reach:
            continue
        exact = mpmath.sin(mpmath.mpf(float(x)))
        ulp = float(np.spacing(kind(abs(exact)))) if ulps else float(np.finfo(kind).eps)
        result = sine(x)
        assert type(result) is kind
        assert abs(mpmath.mpf(float(result)) - exact) <= 2 * ulp, x
        assert abs(float(cosine(x)) - math.cos(x)) <= 4 * np.finfo(kind).eps * max(1, abs(x))
    assert sine(kind(0)) == 0


# Formulas.


def published(flow, y):
    """Right-hand sides as published, with default parameters."""
    x, y, *z = y
    z = z[0] if z else 0
    return {
        flows.Lorenz: lambda: (10 * (y - x), 28 * x - y - x * z, x * y - 8 / 3 * z),
        flows.Rossler: lambda: (-(y + z), x + 0.2 * y, 0.2 + x * z - 5.7 * z),
        flows.Thomas: lambda: tuple(math.sin(b) - 0.208186 * a for a, b in ((x, y), (y, z), (z, x))),
        flows.Halvorsen: lambda: tuple(
            -1.89 * a - 4 * b - 4 * c - b**2 for a, b, c in ((x, y, z), (y, z, x), (z, x, y))
        ),
        flows.Aizawa: lambda: (
            (z - 0.7) * x - 3.5 * y,
            3.5 * x + (z - 0.7) * y,
            0.6 + 0.95 * z - z**3 / 3 - (x**2 + y**2) * (1 + 0.25 * z) + 0.1 * z * x**3,
        ),
        flows.LotkaVolterra: lambda: (2 / 3 * x - 4 / 3 * x * y, x * y - y),
        flows.VanDerPol: lambda: (y, (1 - x**2) * y - x),
    }[flow]()


@pytest.mark.parametrize("flow", ALL)
def test_formulas_equal_the_published_ones_and_jacobians_their_differences(flow):
    formulas = FLOWS[flow.__name__](*flow().parameters(np.dtype(float)))
    for y in np.random.default_rng(8).normal(size=(50, flow.dim)).tolist():
        np.testing.assert_allclose(formulas.rate(*y), published(flow, y), rtol=1e-12, atol=1e-13)
        matrix = np.array(formulas.jacobian(*y), float)
        for j in range(flow.dim):
            step = np.eye(flow.dim)[j] * 1e-6
            central = (np.array(formulas.rate(*(y + step))) - formulas.rate(*(y - step))) / 2e-6
            np.testing.assert_allclose(matrix[:, j], central, rtol=1e-7, atol=1e-7)


def test_known_properties_of_flows(isa):
    lorenz = kd.ODEStepper([[1.0, 1.0, 1.0]], flows.Lorenz(rho=10), dt=0.01)  # no chaos yet: a fixed point
    lorenz.step(10_000)
    edge = math.sqrt(8 / 3 * 9)
    np.testing.assert_allclose(abs(lorenz.y), [[edge, edge, 9]], rtol=1e-9)

    prey, predators = 0.9, 0.9
    cycle = kd.ODEStepper([[prey, predators]], flows.LotkaVolterra(), dt=0.01)
    run = cycle.record(3000).y[:, 0]
    kept = run[:, 0] - np.log(run[:, 0]) + 4 / 3 * run[:, 1] - 2 / 3 * np.log(run[:, 1])
    np.testing.assert_allclose(kept, kept[0], rtol=1e-9)

    pulse = kd.ODEStepper([[0.1, 0.0]], flows.VanDerPol(), dt=0.01)
    pulse.step(5000)
    assert abs(pulse.record(1000).y[:, 0, 0]).max() == pytest.approx(2.00862, abs=1e-4)

    for flow, reach in ((flows.Rossler, 25), (flows.Thomas, 5), (flows.Halvorsen, 16), (flows.Aizawa, 2.2)):
        y = np.full((1, 3), 0.1)
        y[0, 0] = 0.3
        strange = kd.ODEStepper(y, flow(), dt=0.01)
        strange.step(10_000)
        path = strange.record(20_000, every=10).y[:, 0]
        assert abs(path).max() < reach
        assert path.std(axis=0).min() > 0.2


def test_parameters():
    assert repr(flows.Lorenz(rho=20)) == "Lorenz(sigma=10.0, rho=20.0, beta=2.6666666666666665)"
    assert pickle.loads(pickle.dumps(flows.Thomas(0.1))) == flows.Thomas(0.1)
    for bad, error in ((math.nan, ValueError), ("1", TypeError), (True, TypeError), ([1, 2], TypeError)):
        with pytest.raises(error, match=r"VanDerPol\(mu\): expected a"):
            flows.VanDerPol(bad)
    with pytest.raises(ValueError, match=r"VanDerPol\(mu\): 1e\+200 overflows float32"):
        kd.ODEStepper(np.zeros((1, 2), np.float32), flows.VanDerPol(1e200), dt=0.1)
    for flow in ALL:
        assert flow.source
