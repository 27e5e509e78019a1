"""Invalid input: the correct error, naming the argument, before any change. Coefficients are in test_coefficients."""

import math
from fractions import Fraction

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.declaration import known
from kickdrift.forces import Term

KNOWN = ", ".join(kd.INTEGRATORS)


def state(n=3, dim=2, dtype=np.float64):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, dim)).astype(dtype), rng.normal(size=(n, dim)).astype(dtype)


@pytest.fixture(params=["reference", "compiled"])
def refused(request):
    """Check that a stepper with given arguments is refused, and that the arrays do not change."""
    cls = kd.reference.Stepper if request.param == "reference" else kd.Stepper

    def check(error, message, **changes):
        x, v = state()
        before = x.copy(), v.copy()
        with pytest.raises(error, match=message) as caught:
            cls(**{"position": x, "velocity": v, **changes})
        assert type(caught.value) is error
        assert "\n" not in str(caught.value)
        np.testing.assert_array_equal((x, v), before)

    return check


def read_only():
    array = np.zeros((3, 2))
    array.flags.writeable = False
    return array


def byte_swapped():
    return np.zeros((3, 2), np.dtype(float).newbyteorder())


def unaligned():
    return np.frombuffer(bytearray(49), np.float64, 6, offset=1).reshape(3, 2)


def overlapping(shape=(3, 2), strides=(8, 8)):
    return np.lib.stride_tricks.as_strided(np.zeros(8), shape, strides)


ARRAYS = [
    (ValueError, r"expected shape \(n, dim\) with dim 1 to 3, got \(\)", 1.0),
    (ValueError, r"expected shape \(n, dim\) with dim 1 to 3, got \(\)", None),
    (ValueError, r"expected shape \(n, dim\) with dim 1 to 3, got \(3,\)", np.zeros(3)),
    (ValueError, r"expected shape \(n, dim\) with dim 1 to 3, got \(3, 0\)", np.zeros((3, 0))),
    (ValueError, r"expected shape \(n, dim\) with dim 1 to 3, got \(3, 4\)", np.zeros((3, 4))),
    (ValueError, r"expected shape \(n, dim\) with dim 1 to 3, got \(2, 2, 2\)", np.zeros((2, 2, 2))),
    (ValueError, r"expected an array of shape \(n, dim\), got \[\[1\], \[1, 2\]\] \(list\)", [[1], [1, 2]]),
    (TypeError, "expected float32 or float64 in native byte order, got float16", np.zeros((3, 2), np.float16)),
    (TypeError, "expected float32 or float64 in native byte order, got complex128", np.zeros((3, 2), complex)),
    (TypeError, "expected float32 or float64 in native byte order, got complex128", [[1j, 0]] * 3),
    (TypeError, "expected float32 or float64 in native byte order, got object", np.zeros((3, 2), object)),
    (TypeError, "expected float32 or float64 in native byte order, got object", [[10**30, 0]] * 3),
    (TypeError, "expected float32 or float64 in native byte order, got bool", [[True, False]] * 3),
    (TypeError, r"expected real numbers, got \[\[0.5, True\]", [[0.5, True]] * 3),
    (TypeError, "expected float32 or float64 in native byte order, got <U1", [["a", "b"]] * 3),
    (TypeError, "expected float32 or float64 in native byte order, got [<>]f8", byte_swapped()),
    (ValueError, "expected a writable array .* got a read-only one", read_only()),
    (ValueError, "expected a writable array .* got a read-only one", np.broadcast_to(np.zeros(2), (3, 2))),
    (ValueError, "expected an aligned array", unaligned()),
    (ValueError, "expected an item of its own for each body", overlapping()),
    (ValueError, "expected an item of its own for each body", overlapping(strides=(0, 8))),
    (ValueError, "expected an item of its own for each body", overlapping(strides=(8, 0))),
    (ValueError, "expected finite numbers, got .*nan.* for body 1", np.array([[0, 0], [np.nan, 0], [0, 0]])),
    (ValueError, "expected finite numbers, got .*inf.* for body 2", [[0.0, 0], [0, 0], [0, np.inf]]),
]  # fmt: skip


@pytest.mark.parametrize("name", ["position", "velocity"])
@pytest.mark.parametrize(("error", "message", "array"), ARRAYS)
def test_invalid_state_arrays_are_refused(refused, name, error, message, array):
    if name == "velocity" and array is None:
        return  # defaults to zeros
    refused(error, f"^{name}: {message}", **{name: array})


def test_velocity_must_match_position(refused):
    x, _ = state()
    refused(ValueError, r"^velocity: expected the shape of position, \(3, 2\), got \(2, 2\)", velocity=x[:2])
    refused(ValueError, r"^velocity: expected the shape of position, \(3, 2\), got \(2, 3\)", velocity=x.T.copy())
    refused(TypeError, "^velocity: expected the dtype of position, float64, got float32", velocity=x.astype("f4"))


def test_position_and_velocity_must_not_share_memory(refused):
    both = np.arange(8.0).reshape(4, 2)
    message = "^velocity: shares memory with position"
    refused(ValueError, message, position=both, velocity=both)
    refused(ValueError, message, position=both, velocity=both[::-1])
    refused(ValueError, message, position=both[:3], velocity=both[1:])
    # Interleaved arrays share no memory.
    rows = np.arange(12.0).reshape(3, 4)
    kd.Stepper(rows[:, :2], rows[:, 2:], dt=1).step()
    assert rows[1].tolist() == [10, 12, 6, 7]


@pytest.mark.parametrize(
    ("error", "message", "mass"),
    [
        (ValueError, "expected positive numbers .* got 0.0 for body 0", 0),
        (ValueError, "expected positive numbers .* got -1.0 for body 0", -1),
        (ValueError, "expected positive numbers .* got nan for body 0", math.nan),
        (ValueError, "expected positive numbers .* got -inf for body 0", -math.inf),
        (ValueError, "expected positive numbers .* got 1e-320 for body 0", 1e-320),
        (ValueError, "expected positive numbers .* got 0.0 for body 1", [1, 0, 1]),
        (ValueError, "expected positive numbers .* got nan for body 2", np.array([1, np.inf, np.nan])),
        (ValueError, r"expected a scalar or shape \(3,\), one value per body, got shape \(2,\)", [1, 2]),
        (ValueError, r"expected a scalar or shape \(3,\), one value per body, got shape \(3, 1\)", np.ones((3, 1))),
        (ValueError, r"expected a number or one per body, got \[\[1\], \[1, 2\]\]", [[1], [1, 2]]),
        (TypeError, r"expected real numbers, got 'heavy' \(str\)", "heavy"),
        (TypeError, r"expected real numbers, got None \(NoneType\)", None),
        (TypeError, r"expected real numbers, got True \(bool\)", True),
        (TypeError, r"expected real numbers, got \[1, True, 2\] \(list\)", [1, True, 2]),
        (TypeError, r"expected real numbers, got \(1\+2j\) \(complex\)", 1 + 2j),
    ],
)
def test_invalid_masses_are_refused(refused, error, message, mass):
    refused(error, f"^mass: {message}", mass=mass)


STEPS = [
    (ValueError, "expected a finite number greater than 0, got 0 ", 0),
    (ValueError, "expected a finite number greater than 0, got nan ", math.nan),
    (ValueError, "expected a finite number greater than 0, got inf ", math.inf),
    (ValueError, r"expected a finite number greater than 0, got 1000.*\.\.\. \(int\)", 10**400),
    (ValueError, "expected a positive number within the range of a float, got 1e-320", 1e-320),
    (ValueError, r"expected a positive number, got Fraction\(0, 1\)", Fraction(0)),
    (ValueError, "expected a positive number within the range of a float, got Fraction", Fraction(1, 10**400)),
    (ValueError, "expected a positive number within the range of a float, got Fraction", Fraction(10**400)),
    (ValueError, "expected a number or string such as \"60000/1001\", got 'soon'", "soon"),
    (ValueError, "expected a number or string such as .* got '1e3000000'", "1e3000000"),
    (TypeError, r"expected a real number, got True \(bool\)", True),
    (TypeError, r"expected a real number, got .*True.* \(bool\)", np.True_),
    (TypeError, r"expected a real number, got \(1\+0j\) \(complex\)", 1 + 0j),
    (TypeError, r"expected a real number, got .* \(complex128\)", np.complex128(1)),
    (TypeError, r"expected a real number, got array\(0.1\) \(ndarray\)", np.array(0.1)),
    (TypeError, r"expected a real number, got \[0.1\] \(list\)", [0.1]),
]


BELOW_ZERO = [
    (ValueError, "expected a finite number greater than 0, got -0.01 ", -0.01),
    (ValueError, r"expected a positive number, got Fraction\(-1, 60\)", Fraction(-1, 60)),
    (ValueError, r"expected a positive number, got '-1/60' \(str\)", "-1/60"),
]


@pytest.mark.parametrize(("error", "message", "value"), BELOW_ZERO)
def test_hz_must_be_positive(refused, error, message, value):
    """A negative dt is allowed; it steps backwards in time."""
    refused(error, f"^hz: {message}", hz=value)


@pytest.mark.parametrize(("error", "message", "value"), STEPS)
def test_invalid_dt_and_hz_are_refused(refused, Stepper, error, message, value):
    refused(error, f"^dt: {message}", dt=value)
    refused(error, f"^hz: {message}", hz=value)
    x, v = state()
    stepper = Stepper(x, v, dt=0.25, forces=[kd.Damping(1.0)])
    with pytest.raises(error, match=f"^dt: {message}"):
        stepper.dt = value
    assert (stepper.dt, stepper.time) == (0.25, 0.0)
    stepper.step()
    other = Stepper(*state(), dt=0.25, forces=[kd.Damping(1.0)])
    other.step()
    np.testing.assert_array_equal(x, other.position)


def test_numbers_of_many_digits_are_refused(refused):
    for name in "dt", "hz":
        message = (
            f"^{name}: expected a positive number within the range of a float, got a Fraction of parts with more than"
        )
        refused(ValueError, message, **{name: Fraction(1, 3**10_000)})
        message = f"^{name}: expected a number within the range of a float, got an int of 33220 bits"
        refused(ValueError, message, **{name: 10**10_000})


def test_dt_and_hz_cannot_be_combined(refused):
    refused(TypeError, "^dt, hz: expected one of the two, got dt=0.1 and hz=10", dt=0.1, hz=10)


@pytest.mark.parametrize("dt", [1e-60, 1e60])
def test_dt_must_be_within_the_range_of_float32_for_float32(refused, dt):
    x, v = state(dtype=np.float32)
    refused(ValueError, "^dt: expected a step within the range of float32, got 1e", position=x, velocity=v, dt=dt)
    refused(ValueError, "^hz: expected a step within the range of float32", position=x, velocity=v, hz=1 / dt)


def test_every_real_number_type_is_accepted_as_dt(Stepper):
    for dt in (1, 0.5, Fraction(1, 3), np.float64(0.5), np.float32(0.5), np.int16(2)):
        stepper = Stepper([[0.0]], [[3.0]], dt=dt)
        stepper.step()
        assert stepper.position.item() == stepper.time * 3 == pytest.approx(float(dt) * 3, rel=1e-15)
    assert Stepper([[0.0]], hz=50).dt == 0.02
    assert Stepper([[0.0]], hz=Fraction(1, 3)).dt == 3.0


def test_unknown_arguments_name_the_public_class(Stepper, ODEStepper):
    with pytest.raises(TypeError, match=r"^Stepper\.__init__\(\) got an unexpected keyword argument 'velocty'"):
        Stepper([[0.0]], velocty=[[1.0]])
    with pytest.raises(TypeError, match=r"^ODEStepper\.__init__\(\) got an unexpected keyword argument 'step'"):
        ODEStepper([[0.0]], kd.flows.VanDerPol(), step=0.1)
    with pytest.raises(TypeError, match=r"^Worlds\.__init__\(\) got an unexpected keyword argument 'count'"):
        kd.Worlds(kd.Stepper([[0.0]]), count=3)


def test_unknown_integrators_list_the_known_ones(refused):
    message, known = "^integrator: got ", f"; expected one of {KNOWN} or an instance of one$"
    refused(ValueError, message + r"'oiler' \(str\)" + known, integrator="oiler")
    refused(ValueError, message + r"'' \(str\)" + known, integrator="")
    refused(ValueError, message + r"'RK5' \(str\); did you mean 'rk4'\?" + known, integrator="RK5")
    refused(TypeError, message + "None .*" + known, integrator=None)
    refused(TypeError, message + "4 .*" + known, integrator=4)
    refused(TypeError, message + ".*" + known, integrator=kd.integrators.Integrator())
    refused(TypeError, message + ".*" + known, integrator=kd.integrators.compositions.Composition())
    refused(TypeError, message + ".*" + known, integrator=kd.Gravity((0, 1)))
    assert kd.Stepper([[0.0]], integrator=kd.RK4).integrator == kd.RK4()


def test_unknown_terms_list_the_known_ones(refused):
    terms = ", ".join(sorted(cls.__name__ for cls in known(Term)))
    assert {"Gravity", "Springs", "Expression"} <= set(terms.split(", "))
    many = f".* expected a sequence of forces \\({terms}\\)$"
    one = f".* expected forces \\({terms}\\)$"
    refused(TypeError, r"^forces: got Gravity.*; did you mean \[Gravity\(...\)\]\?" + many, forces=kd.Gravity((0, 1)))
    refused(TypeError, "^forces: got None" + many, forces=None)
    refused(TypeError, "^forces: got 'gravity'" + one, forces=["gravity"])
    refused(TypeError, r"^forces: got <class .*; did you mean Gravity\(...\)\?" + one, forces=[kd.Gravity])
    refused(TypeError, r"^forces: got <func.*; did you mean kd.Force\(function\)\?" + one, forces=[lambda *a: None])
    refused(TypeError, "^forces: got None" + one, forces=[kd.Gravity((0, 1)), None])
    refused(TypeError, "^forces: got <memory" + many, forces=memoryview(np.zeros((2, 2))))


def test_invalid_threads_and_constraints_are_refused(refused):
    refused(ValueError, "^threads: expected an int of at least 1, got 0", threads=0)
    refused(ValueError, "^threads: expected an int of at most 2147483647, got", threads=2**70)
    refused(TypeError, r"^threads: expected an int, got 1.5 \(float\)", threads=1.5)
    refused(TypeError, r"^threads: expected an int, got True \(bool\)", threads=True)
    refused(ValueError, r"^threads: expected an int of at least 1, got about -2\*\*16610$", threads=-(10**5000))
    refused(TypeError, "^constraints: got None .*expected a sequence of constraints ", constraints=None)
    refused(TypeError, "^constraints: got 'pin' .*expected constraints ", constraints=["pin"])


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (-1, ValueError, "expected an int of at least 0, got -1"),
        (np.int64(-1), ValueError, "expected an int of at least 0, got -1"),
        (1.0, TypeError, r"expected an int, got 1.0 \(float\)"),
        (np.float64(1), TypeError, r"expected an int, got .*1.0.* \(float64\)"),
        ("1", TypeError, r"expected an int, got '1' \(str\)"),
        (True, TypeError, r"expected an int, got True \(bool\)"),
        (np.False_, TypeError, r"expected an int, got .*False.* \(bool\)"),
        (None, TypeError, r"expected an int, got None \(NoneType\)"),
        ([1], TypeError, r"expected an int, got \[1\] \(list\)"),
        (Fraction(2), TypeError, r"expected an int, got Fraction\(2, 1\)"),
    ],
)
def test_invalid_numbers_of_steps_are_refused(Stepper, n, error, message):
    x, v = state()
    before = x.copy()
    stepper = Stepper(x, v)
    with pytest.raises(error, match=f"^n: {message}"):
        stepper.step(n)
    with pytest.raises(error, match=f"^steps: {message}"):
        stepper.record(n)
    with pytest.raises(error, match=r"^every: expected an int"):
        stepper.record(3, every=n)
    np.testing.assert_array_equal(x, before)
    assert stepper.tick == 0
    stepper.step()
    assert stepper.tick == 1


def test_numpy_integers_are_accepted_as_numbers_of_steps(Stepper):
    stepper = Stepper(*state())
    for n in (np.int8(1), np.uint64(2), np.array(3), 0):
        stepper.step(n)
    assert stepper.tick == 6


def test_values_without_a_repr_do_not_replace_the_error(refused):
    class Mute:
        def __repr__(self):
            raise ZeroDivisionError

    refused(TypeError, r"^threads: expected an int, got <no text: ZeroDivisionError> \(Mute\)", threads=Mute())
    refused(ValueError, r"integrator: got '\\ud800' \(str\)", integrator="\ud800")
    nested = []
    for _ in range(10**5):
        nested = [nested]
    refused(TypeError, r"^dt: expected a real number, got <no text: RecursionError> \(list\)", dt=nested)


def test_rollback_of_other_objects_is_refused():
    for call in (kd.Rollback, lambda stepper: kd.sync_test(stepper, 3)):
        for bad in (None, kd.Stepper, kd.FixedClock(60), "stepper"):
            with pytest.raises(TypeError, match=r"^stepper: expected a Stepper or ODEStepper, got "):
                call(bad)


def test_records_too_large_for_memory_are_refused_before_any_step(Stepper):
    stepper = Stepper(*state())
    for steps in (10**30, 2**62, 2**63, 10**5000):
        with pytest.raises(MemoryError, match=r"^steps, every: no room for .* samples of 112 bytes; keep fewer, with"):
            stepper.record(steps)
    assert stepper.tick == 0
