"""ODEStepper with callbacks: order of convergence, stiffness, invalid input, and callbacks that fail."""

import copy
import gc
import math
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest
from plans import LAYOUTS, assert_same_bits, each_isa, lay_out, said

import kickdrift as kd

BOTH = (kd.ODEStepper, kd.reference.ODEStepper)
SCHEMES = ["explicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "dopri8"]


def swirl(t, y, out):
    """Smooth, coupled, time-dependent right-hand side of any dimension, without libm."""
    out[:] = np.roll(y, 1, axis=1) * y * 0.5 - y
    out[:, 0] += t * t - t


def growth(t, y, out):
    """y' = -y cos t with the solution y = exp(-sin t)."""
    np.multiply(y, -math.cos(t), out)


def linear(matrix):
    def rhs(t, y, out):
        np.einsum("ij,nj->ni", matrix, y, out=out)

    return rhs


# Mathematics.


@pytest.mark.parametrize(("scheme", "order"), list(zip(SCHEMES, [1, 1, 2, 2, 4, 8], strict=True)))
def test_order_of_convergence(ODEStepper, scheme, order):
    errors = []
    coarsest = 4 if order == 8 else 32  # beyond 16 steps, order 8 is limited by rounding
    for steps in (coarsest, 2 * coarsest, 4 * coarsest):
        stepper = ODEStepper([[1.0], [2.0]], growth, dt=Fraction(2, steps), integrator=scheme)
        stepper.step(steps)
        assert stepper.time == 2
        errors.append(abs(stepper.y[:, 0] / math.exp(-math.sin(2)) - [1, 2]).max())
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.12 if order < 8 else 1)
    assert math.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.08 if order < 8 else 0.5)


@pytest.mark.parametrize("with_jacobian", [False, True])
def test_stiff_linear_system(ODEStepper, with_jacobian):
    """Eigenvalues -10^6 and -1 at h = 0.1: the fast mode decays, the slow one has the accuracy of the method."""
    # The matrix is rotated, so that no component is an eigenvector.
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    matrix = turn @ np.diag([-1e6, -1.0]) @ turn.T

    def jacobian(t, y, out):
        out[:] = matrix

    stepper = ODEStepper(
        np.array([[1.0, 0.0], [0.0, 1.0], [3.0, -2.0]]),
        linear(matrix),
        dt=0.1,
        integrator="implicit_euler",
        jacobian=jacobian if with_jacobian else None,
    )
    before = stepper.y @ turn
    stepper.step(20)
    after = stepper.y @ turn
    assert np.abs(after[:, 0]).max() < 1e-9
    np.testing.assert_allclose(after[:, 1], before[:, 1] * 1.1**-20, rtol=1e-8)
    # One or two Newton steps, or three with inexact derivatives, and one evaluation to check convergence.
    assert stepper.evaluations <= 20 * (3 if with_jacobian else 3 * 3 + 1)


def test_stiff_van_der_pol(ODEStepper):
    """mu = 1000 with a step 200 times larger than explicit methods need."""
    stepper = ODEStepper([[2.0, 0.0]], kd.flows.VanDerPol(1000), dt=0.5, integrator="implicit_euler")
    stepper.step(400)
    # On the slow branch x' = x / (mu (1 - x²)): ln x - x²/2 = ln 2 - 2 + t/mu.
    x = stepper.y[0, 0]
    assert math.log(x) - x * x / 2 == pytest.approx(math.log(2) - 2 + 0.2, abs=1e-3)


def test_mixed_scales_and_rest_states(ODEStepper):
    """Difference quotients work for components that differ by 10^9, start at zero, or nearly vanish."""

    def rhs(t, y, out):
        out[:, 0] = 1e9 * y[:, 1] - y[:, 0]
        out[:, 1] = 0.5 - y[:, 1] * (1 + 1e-9 * y[:, 0])
        out[:, 2] = -1e4 * y[:, 2]

    start = np.array([[0.0, 0.0, 0.0], [1e9, 0.5, 1.0], [0.0, 0.0, 1e-300]])
    stepper = ODEStepper(start, rhs, dt=0.25, integrator="implicit_euler")
    stepper.step(200)
    share = (math.sqrt(3) - 1) / 2  # solves 2 s² + 2 s = 1
    np.testing.assert_allclose(stepper.y[:, 1], [share] * 3, rtol=1e-6)
    np.testing.assert_allclose(stepper.y[:, 0], [share * 1e9] * 3, rtol=1e-6)


def test_unsolvable_steps_raise_convergence_errors(ODEStepper):
    def no_root(t, y, out):
        # u - y - h f(u) = 0 has no solution once t + h > 0.35.
        out[:] = 0.1 if t < 0.35 else 1 + y * y * 100

    stepper = ODEStepper([[0.0], [0.5]], no_root, dt=0.1, integrator="implicit_euler")
    with pytest.raises(kd.ConvergenceError, match="trajectory 0 at tick 3") as caught:
        stepper.step(10)
    assert (caught.value.body, caught.value.tick, stepper.tick) == (0, 3, 3)
    np.testing.assert_allclose(stepper.y, [[0.03], [0.53]])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_callbacks_get_exact_times(ODEStepper):
    times = []

    def rhs(t, y, out):
        assert type(t) is float
        times.append(t)

    stepper = ODEStepper(np.zeros((1, 1), np.float32), rhs, dt=0.1)
    stepper.step(3)
    assert times == [t for k in range(3) for t in (k / 10, k / 10 + 0.05, k / 10 + 0.05, k / 10 + 0.1)]
    stepper.dt = Fraction(1, 3)
    del times[:]
    stepper.step(3)
    assert times[::4] == [0.3, float(Fraction(19, 30)), float(Fraction(29, 30))]
    assert stepper.time == 1.3
    stepper.step(10**4)
    assert times[-4] == float(Fraction(3, 10) + Fraction(10**4 + 2, 3))


# Equality with the reference.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_callbacks_equal_the_reference(monkeypatch, scheme, dtype):
    rng = np.random.default_rng(3)
    for n, dim in [(1, 1), (2, 3), (7, 2), (3, 5), (17, 3), (2, 64)]:
        y = rng.uniform(0.2, 1, (n, dim)).astype(dtype)
        layout = LAYOUTS[int(rng.integers(4))]
        book = kd.reference.ODEStepper(lay_out(y, layout), swirl, dt=0.02, integrator=scheme)
        book.step(4)
        for isa in each_isa(monkeypatch):
            ours = kd.ODEStepper(lay_out(y, layout), swirl, dt=0.02, integrator=scheme)
            ours.step(3)
            ours.step(0)
            ours.step(1)
            with said(isa=isa, shape=y.shape):
                assert_same_bits(ours.y, book.y)
                assert ours.evaluations == book.evaluations
                assert ours.checksum() == book.checksum()
                assert ours.snapshot() == book.snapshot()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_jacobians_equal_the_reference(isa, dtype):
    def jacobian(t, y, out):
        dim = y.shape[1]
        out[:, range(dim), range(dim)] = np.roll(y, 1, axis=1) * 0.5 - 1
        out[:, range(dim), np.arange(dim) - 1] += y * 0.5

    y = np.random.default_rng(4).uniform(0.2, 1, (9, 4)).astype(dtype)
    ours, book = (
        cls(y.copy(), swirl, dt=0.3, integrator=kd.ImplicitEuler(tolerance=1e-12), jacobian=jacobian) for cls in BOTH
    )
    ours.step(5)
    book.step(5)
    assert_same_bits(ours.y, book.y)
    assert ours.evaluations == book.evaluations


# Invalid input.


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"y": [1.0, 2.0]}, ValueError, r"y: expected shape \(n, dim\) with dim at least 1, got \(2,\)"),
        ({"y": np.zeros((2, 0))}, ValueError, "y: expected shape"),
        ({"y": np.zeros((2, 2), complex)}, TypeError, "y: expected float32 or float64"),
        ({"y": [[1.0, math.nan]]}, ValueError, "for trajectory 0"),
        ({"y": np.broadcast_to(np.zeros(2), (3, 2))}, ValueError, "y: expected a writable"),
        ({"rhs": 3}, TypeError, r"rhs: expected a function of \(t, y, out\) or a flow"),
        ({"rhs": lambda t, y: y}, TypeError, r"rhs: expected a function of \(t, y, out\), got one of \(t, y\)"),
        ({"rhs": kd.flows.Lorenz()}, ValueError, r"y: expected shape \(n, 3\) for Lorenz, got \(1, 2\)"),
        (
            {"rhs": kd.flows.Expression(x="k*d", y="-d", d="x - y", k=2.0)},  # d is no definition
            ValueError,
            r"\(n, 3\) for an Expression with the components x, y, d \(each string is a component\), got \(1, 2\)",
        ),
        ({"rhs": kd.flows.VanDerPol(), "jacobian": swirl}, ValueError, "jacobian: expected none"),
        ({"jacobian": 5}, TypeError, "jacobian: expected a function"),
        ({"jacobian": lambda t, y: y}, TypeError, "jacobian: expected a function"),
        (
            {"integrator": "verlet"},
            ValueError,
            "one of explicit_euler, implicit_euler, midpoint, heun, rk4, dopri8 for",
        ),
        ({"integrator": kd.Leapfrog()}, ValueError, "got Leapfrog.* expected one of explicit_euler"),
        ({"integrator": "rk5"}, ValueError, "expected one of explicit_euler"),
        ({"integrator": 4}, TypeError, "integrator"),
        ({"dt": None}, TypeError, "dt, hz: expected one of the two"),
        ({"dt": 0}, ValueError, "dt"),
        ({"hz": 60}, TypeError, "dt, hz: expected one of the two"),
        ({"threads": 0}, ValueError, "threads"),
    ],
)
def test_invalid_arguments_are_refused(ODEStepper, arguments, error, message):
    with pytest.raises(error, match=message):
        ODEStepper(**{"y": [[1.0, 2.0]], "rhs": swirl, "dt": 0.1, **arguments})


def test_accepted_arguments(ODEStepper):
    assert ODEStepper([[1, 2]], swirl, hz=50, integrator=kd.Heun).dt == 0.02
    assert ODEStepper([[1, 2, 3]], kd.flows.Lorenz, dt=1).rhs == kd.flows.Lorenz()
    y = np.zeros((3, 2))
    stepper = ODEStepper(y, swirl, dt=0.1)
    assert stepper.y is y
    stepper.y += 1
    assert y.tolist() == [[1, 1]] * 3
    with pytest.raises(AttributeError, match="y: expected to be changed in place"):
        stepper.y = y.copy()
    assert (stepper.n, stepper.dim, stepper.dtype, stepper.threads) == (3, 2, np.float64, 1)
    assert stepper.rhs is swirl
    assert stepper.jacobian is None
    assert stepper.integrator == kd.RK4()
    assert "3 trajectories" in repr(stepper)
    assert "swirl" in repr(stepper)
    for bad, error in ((-1, ValueError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="n: expected"):
            stepper.step(bad)
    with pytest.raises(ValueError, match="dt"):
        stepper.dt = 0
    assert stepper.dt == 0.1
    nobody = ODEStepper(np.zeros((0, 2)), swirl, dt=0.1)
    nobody.step(5)
    assert (nobody.tick, nobody.evaluations) == (5, 0)


# Callbacks that fail.


class Misbehaving:
    """y' = -y, except that call number `when` runs `act`."""

    def __init__(self, when, act):
        self.when, self.act, self.calls = when, act, 0

    def __call__(self, t, y, out):
        self.calls += 1
        if self.calls == self.when:
            return self.act(t, y, out)
        np.negative(y, out)


def fail(*_):
    raise ZeroDivisionError("the 1000th call")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_exception_is_propagated_and_stepping_can_continue(ODEStepper, scheme):
    rhs = Misbehaving(1000, fail)
    stepper = ODEStepper([[1.0, 2.0]], rhs, dt=0.001, integrator=scheme)
    twin = ODEStepper([[1.0, 2.0]], Misbehaving(None, None), dt=0.001, integrator=scheme)
    with pytest.raises(ZeroDivisionError, match=r"^the 1000th call$"):
        stepper.step(2000)
    assert 0 < stepper.tick < 1000
    twin.step(stepper.tick)
    assert_same_bits(stepper.y, twin.y)
    assert stepper.evaluations == twin.evaluations
    # The failure does not affect later steps.
    stepper.step(50)
    twin.step(50)
    assert_same_bits(stepper.y, twin.y)
    assert stepper.time == twin.time


def test_nan_from_a_callback_is_reported(ODEStepper):
    def poison(t, y, out):
        out[1] = math.nan

    stepper = ODEStepper(np.ones((3, 2)), Misbehaving(10, poison), dt=0.001)
    message = r"trajectory 1 .*between tick 2 and tick 3.* set that trajectory's state"
    with pytest.raises(kd.NonFiniteError, match=message) as caught:
        stepper.step(100)
    assert (caught.value.body, stepper.tick) == (1, 3)
    stepper.y[1] = 1
    stepper.step(10)
    assert stepper.tick == 13


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda t, y, out: -y, TypeError, r"of shape \(3, 2\), and return None, but it returned an array of"),
        (lambda t, y, out: y[0], TypeError, r"returned an array of shape \(2,\); write `out"),
        (lambda t, y, out: 1.0, TypeError, r"returned 1.0 \(float\)"),
        (lambda t, y, out: np.copyto(out, np.zeros((2, 3))), ValueError, "broadcast"),
        (lambda t, y, out: np.copyto(y, 0), ValueError, "read-only"),
        (lambda t, y, out: out.resize((1, 1)), ValueError, "resize"),
    ],
)
@pytest.mark.parametrize("scheme", ["rk4", "implicit_euler"])
def test_invalid_callbacks_are_explained(ODEStepper, act, error, message, scheme):
    stepper = ODEStepper(np.ones((3, 2)), Misbehaving(2, act), dt=0.1, integrator=scheme)
    with pytest.raises(error, match=message):
        stepper.step()
    assert stepper.tick == 0
    assert stepper.y.tolist() == [[1, 1]] * 3
    stepper.step()
    assert stepper.tick == 1


def test_out_may_be_returned(ODEStepper):
    def rhs(t, y, out):
        return np.negative(y, out=out)

    stepper = ODEStepper([[1.0]], rhs, dt=0.5, integrator="explicit_euler")
    stepper.step()
    assert stepper.y.tolist() == [[0.5]]


def test_calls_inside_a_step_are_refused(ODEStepper):
    errors = []

    def meddle(t, y, out):
        for action in (
            stepper.step,
            stepper.checksum,
            stepper.snapshot,
            lambda: stepper.restore(saved),
            lambda: setattr(stepper, "dt", 0.2),
        ):
            with pytest.raises(RuntimeError, match="stepping already") as caught:
                action()
            errors.append(caught.value)
        np.negative(y, out)

    stepper = ODEStepper([[1.0]], Misbehaving(3, meddle), dt=0.1)
    saved = stepper.snapshot()
    stepper.step(2)
    assert len(errors) == 5
    twin = ODEStepper([[1.0]], Misbehaving(None, None), dt=0.1)
    twin.step(2)
    assert_same_bits(stepper.y, twin.y)
    assert (stepper.tick, stepper.dt) == (2, 0.1)


def test_arrays_kept_by_a_callback_are_never_read_again(ODEStepper):
    kept = []

    def keep(t, y, out):
        kept.append((y, out))
        np.negative(y, out)

    stepper = ODEStepper(np.ones((100, 3)), keep, dt=0.1)
    twin = ODEStepper(np.ones((100, 3)), Misbehaving(None, None), dt=0.1)
    for _ in range(3):
        stepper.step()
        for _, out in kept:
            out[:] = math.nan  # must have no effect
    twin.step(3)
    assert_same_bits(stepper.y, twin.y)
    del stepper
    gc.collect()
    for y, out in kept:
        assert y.shape == out.shape == (100, 3)
        y.sum()


def test_the_state_cannot_be_resized():
    y = np.ones((10, 3))
    stepper = kd.ODEStepper(y, Misbehaving(None, None), dt=0.1)
    with pytest.raises(ValueError, match="resize"):
        y.resize((1000, 3))
    stepper.step()


def test_reference_counts_stay_constant():
    rhs = Misbehaving(None, None)
    stepper = kd.ODEStepper(np.ones((2, 2)), rhs, dt=1e-6)
    stepper.step(10)
    before = sys.getrefcount(rhs), sys.getrefcount(stepper.y), sys.getrefcount(None)
    stepper.step(25_000)
    after = sys.getrefcount(rhs), sys.getrefcount(stepper.y), sys.getrefcount(None)
    assert after[:2] == before[:2]
    assert abs(after[2] - before[2]) < 100


# Recording and saving.


@pytest.mark.parametrize("scheme", SCHEMES)
def test_record(ODEStepper, scheme):
    stepper = ODEStepper([[0.5, 0.25]], swirl, dt=0.1, integrator=scheme)
    run = stepper.record(7, every=3)
    assert isinstance(run, kd.ODETrajectory)
    assert len(run) == 3
    assert run.time.tolist() == [0, 0.3, 0.6]
    assert run.y.shape == (3, 1, 2)
    assert stepper.tick == 7
    twin = ODEStepper([[0.5, 0.25]], swirl, dt=0.1, integrator=scheme)
    twin.step(6)
    assert_same_bits(run.y[2], twin.y)


@pytest.mark.parametrize("rhs", [swirl, kd.flows.Thomas()])
def test_snapshots_pickles_and_copies(ODEStepper, rhs):
    stepper = ODEStepper(np.full((3, 3), 0.5), rhs, dt=0.1, integrator="heun")
    stepper.step(3)
    stepper.dt = 0.05
    saved = stepper.snapshot()
    twins = pickle.loads(pickle.dumps(stepper)), copy.copy(stepper), copy.deepcopy(stepper)
    stepper.step(4)
    later, time, y = stepper.checksum(), stepper.time, stepper.y
    for twin in twins:
        assert twin.rhs == rhs
        twin.step(4)
        assert (twin.checksum(), twin.time, twin.tick) == (later, time, 7)
    stepper.dt = 0.3
    stepper.restore(saved)
    assert stepper.y is y
    assert (stepper.tick, stepper.dt) == (3, 0.05)
    stepper.step(4)
    assert (stepper.checksum(), stepper.time) == (later, time)


def test_snapshots_of_other_steppers_are_refused(ODEStepper):
    own = ODEStepper(np.ones((2, 3)), kd.flows.Lorenz(), dt=0.1)
    for other, name in [
        (ODEStepper(np.ones((2, 3)), kd.flows.Lorenz(rho=27), dt=0.1), "rhs"),
        (ODEStepper(np.ones((2, 3)), swirl, dt=0.1), "rhs"),
        (ODEStepper(np.ones((3, 3)), kd.flows.Lorenz(), dt=0.1), "trajectories"),
        (ODEStepper(np.ones((2, 3), np.float32), kd.flows.Lorenz(), dt=0.1), "dtype"),
        (ODEStepper(np.ones((2, 3)), kd.flows.Lorenz(), dt=0.1, integrator="heun"), "integrator"),
        (kd.Stepper(np.ones((2, 3))), "rhs"),
    ]:
        with pytest.raises(kd.SnapshotError, match=f"other {name}"):
            own.restore(other.snapshot())
    with pytest.raises(kd.SnapshotError, match="other bodies"):
        kd.Stepper(np.ones((2, 3))).restore(own.snapshot())
    damaged = bytearray(own.snapshot())
    damaged[-1] ^= 1
    with pytest.raises(kd.SnapshotError, match="damaged"):
        own.restore(damaged)


def test_rollback(ODEStepper):
    kd.sync_test(ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01), frames=50)


def test_rollback_and_resimulation(ODEStepper):
    world = ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)
    past = kd.Rollback(world, ticks=8)
    for _ in range(6):
        past.save()
        world.step()
    end = world.snapshot()
    past.rollback(2)
    past.resimulate(6)
    assert world.snapshot() == end


def test_the_tableau_of_dopri8_equals_scipy():
    table = pytest.importorskip("scipy.integrate._ivp.dop853_coefficients")
    weights = [dict(enumerate(row)) for row in [*table.A[1:12, :12].tolist(), table.B.tolist()]]
    assert kd.Dopri8.tableau == tuple({i: w for i, w in row.items() if w} for row in weights)
    assert kd.Dopri8.evaluation_shares == (tuple(table.C[:12].tolist()),) * 2


def test_zero_steps_do_not_check_the_state(ODEStepper):
    stepper = ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)
    stepper.step()
    stepper.y[:] = np.nan
    stepper.step(0)
    assert stepper.tick == 1


def test_the_first_of_several_overflowing_trajectories_is_reported(ODEStepper):
    """The overflowing trajectories are in different tiles."""
    start = np.ones((1000, 3))
    start[[3, 900]] = 1e200
    with pytest.raises(kd.NonFiniteError) as caught:
        ODEStepper(start, kd.flows.Lorenz(), dt=0.01, integrator="rk4").step(3)
    assert caught.value.body == 3


def test_implicit_euler_does_not_take_a_nan_beside_zeros_as_solved(ODEStepper):
    def poison(t, y, out):
        out[:] = [0.0, math.nan]

    stepper = ODEStepper([[0.0, 0.0]], poison, dt=0.1, integrator="implicit_euler")
    with pytest.raises((kd.ConvergenceError, kd.NonFiniteError)):
        stepper.step()
    assert not stepper.y.any()
