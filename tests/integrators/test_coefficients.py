"""Invalid coefficients of integrators and terms: the error type and a message that names the argument."""

import math
import timeit

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.constraints.base import bits


@pytest.mark.parametrize("iterations", [10**6 + 1, 2**63, pytest.param(10**5000, id="huge")])
def test_too_many_iterations_are_refused(iterations):
    for make in (kd.ElasticCollisions, lambda radius, iterations: kd.Distance([(0, 1)], radius, iterations=iterations)):
        with pytest.raises(ValueError, match=r"\(iterations\): expected an int of at most 1000000, got "):
            make(1.0, iterations=iterations)


def assert_message(error, label, text):
    """Check that the message names the argument, then what was expected and what was given."""
    message = str(error)
    assert message.startswith(label + ": ")
    assert text in message
    assert "\n" not in message


INTEGRATORS = [
    ("SemiImplicitEuler", {"form": "kick"}, ValueError, "'kick_drift', 'drift_kick', 'alternate', got 'kick' (str)"),
    ("Verlet", {"velocity": 1}, ValueError, "expected one of 'backward', 'central', got 1 (int)"),
    ("Verlet", {"start": "euler"}, ValueError, "expected one of 'taylor', 'backward', got 'euler'"),
    ("GrootWarren", {"lam": -0.1}, ValueError, "expected a finite number of at least 0, got -0.1"),
    ("GrootWarren", {"lam": 1.1}, ValueError, "expected a number from 0 to 1, got 1.1"),
    ("GrootWarren", {"lam": math.nan}, ValueError, "expected a finite number of at least 0, got nan"),
    ("GrootWarren", {"lam": "1"}, TypeError, "expected a real number, got '1' (str)"),
    ("ImplicitEuler", {"tolerance": 0}, ValueError, "expected a finite number greater than 0, got 0"),
    ("ImplicitEuler", {"tolerance": None}, TypeError, "expected a real number, got None"),
    ("ImplicitEuler", {"max_iterations": 0}, ValueError, "expected an int of at least 1, got 0"),
    ("ImplicitEuler", {"max_iterations": 2.0}, TypeError, "expected an int, got 2.0 (float)"),
    ("ImplicitEuler", {"max_iterations": True}, TypeError, "expected an int, got True (bool)"),
    ("ImplicitEuler", {"max_iterations": 2**40}, ValueError, "expected an int of at most 1000000"),
]
LOW, FINITE, REAL = (
    "expected numbers of at least 0, got -",
    "expected finite numbers, got ",
    "expected real numbers, got ",
)
COEFFICIENTS = [
    ("Gravity", {"acceleration": "down"}, TypeError, REAL + "'down' (str)"),
    ("Gravity", {"acceleration": (0, math.nan)}, ValueError, FINITE + "(0, nan) (tuple)"),
    ("Gravity", {"acceleration": [[1], [1, 2]]}, ValueError, "expected numbers in a regular array, got [[1], [1, 2]]"),
    ("Gravity", {"acceleration": (0, 1j)}, TypeError, REAL + "(0, 1j) (tuple)"),
    ("Gravity", {"acceleration": (True, 0)}, TypeError, REAL + "(True, 0) (tuple)"),
    ("Gravity", {"acceleration": [[0.5, 1], [2, np.True_]]}, TypeError, REAL + "[[0.5, 1], [2, "),
    ("LinearDrag", {"coefficient": -1}, ValueError, LOW + "1"),
    ("LinearDrag", {"coefficient": [1, -2]}, ValueError, LOW + "2"),
    ("QuadraticDrag", {"coefficient": math.inf}, ValueError, FINITE + "inf"),
    ("AnchorSpring", {"stiffness": -1}, ValueError, LOW),
    ("AnchorSpring", {"stiffness": 1, "per_mass": [False]}, TypeError, "expected True or False, got [False] (list)"),
    ("AnchorSpring", {"stiffness": 1, "per_mass": 1}, TypeError, "expected True or False, got 1 (int)"),
    ("Springs", {"pairs": [], "stiffness": 1, "per_mass": "no"}, TypeError, "expected True or False, got 'no' (str)"),
    ("Springs", {"stiffness": 1, "pairs": [(0, True)]}, TypeError, "expected ints, got [(0, True)] (list)"),
    ("Pin", {"indices": (True, 2)}, TypeError, "expected ints, got (True, 2) (tuple)"),
    ("Box", {"lower": -1, "upper": 1, "mask": [True, 2]}, TypeError, "expected ints of up to 64 bits, got [True, 2]"),
    (
        "Box",
        {"lower": -1, "upper": 1, "mask": [1, math.nan]},
        ValueError,
        "expected ints from 0 to 2**64 - 1, got [1, na",
    ),
    ("Box", {"lower": -1, "upper": 1, "mask": [-1, 2**63]}, ValueError, "expected ints from 0 to 2**64 - 1, got [-1"),
    ("Box", {"lower": -1, "upper": 1, "category": np.array([3, -1])}, ValueError, "expected ints from 0 to 2**64 - 1"),
    ("Box", {"lower": -1, "upper": 1, "category": 2**64}, ValueError, "expected ints from 0 to 2**64 - 1, got 1844"),
    ("PointGravity", {"mu": True}, TypeError, REAL + "True (bool)"),
    ("Vortex", {"strength": None}, TypeError, REAL + "None (NoneType)"),
    ("Damping", {"rate": -0.1}, ValueError, LOW + "0.1"),
]


@pytest.mark.parametrize(("name", "options", "error", "text"), INTEGRATORS + COEFFICIENTS)
def test_invalid_values_are_refused(name, options, error, text):
    with pytest.raises(error) as caught:
        getattr(kd, name)(**options)
    assert_message(caught.value, f"{name}({[*options][-1]})", text)  # the other options are required arguments


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.uint64])
def test_bits_are_validated_as_arrays(dtype):
    """Validation must be faster than a Python loop: categories may be set in every tick."""
    category = np.ones(500_000, dtype)
    mine, tolist = (
        min(timeit.repeat(call, number=1, repeat=5)) for call in (lambda: bits("", category), category.tolist)
    )
    assert mine < tolist


def test_bits_of_a_list_with_the_largest_int():
    assert bits("", [1, 2**64 - 1]).tolist() == [1, 2**64 - 1]
    with pytest.raises(
        ValueError, match=r"^mask: expected ints from 0 to 2\*\*64 - 1, got \[1, 18446744073709551616\]"
    ):
        bits("mask", [1, 2**64])


@pytest.mark.parametrize(
    ("make", "label", "text"),
    [
        (lambda: kd.LinearDrag(1, wind=math.inf), "LinearDrag(wind)", FINITE),
        (lambda: kd.AnchorSpring(1, -1), "AnchorSpring(damping)", LOW),
        (lambda: kd.AnchorSpring(1, anchor=(0, math.nan)), "AnchorSpring(anchor)", FINITE),
        (lambda: kd.PointGravity(1, softening=-1), "PointGravity(softening)", LOW),
        (lambda: kd.AnchorSpring.from_frequency(-1), "AnchorSpring(hertz)", LOW),
        (lambda: kd.AnchorSpring.from_frequency(1, -1), "AnchorSpring(damping_ratio)", LOW),
        (lambda: kd.AnchorSpring.from_frequency(1e200), "AnchorSpring(stiffness)", FINITE),
        (lambda: kd.Damping.per_frame(1), "Damping(loss)", "expected numbers below 1, got 1"),
        (lambda: kd.Damping.per_frame([0.5, -0.1]), "Damping(loss)", LOW),
        (lambda: kd.Damping.per_frame(0.1, fps=0), "Damping(fps)", "expected a finite number greater than 0, got 0"),
        (lambda: kd.Damping.per_frame(0.9, fps=1e308), "Damping(rate)", FINITE),
    ],
)
def test_other_invalid_values_are_refused(make, label, text):
    with pytest.raises(ValueError, match="expected") as caught:
        make()
    assert_message(caught.value, label, text)


SCALARS = "expected a scalar or shape (3,), one value per body, got shape "
VECTORS = "expected a vector of shape (2,) or one per body of shape (3, 2), got shape "
DIRECTION = "expected a direction of shape (3,) other than zero, got "


@pytest.mark.parametrize(
    ("term", "label", "text"),
    [
        (kd.Gravity((0, 0, 1)), "Gravity(acceleration)", VECTORS + "(3,)"),
        (kd.Gravity(-9.81), "Gravity(acceleration)", VECTORS + "()"),
        (kd.Gravity(np.zeros((2, 2))), "Gravity(acceleration)", VECTORS + "(2, 2)"),
        (kd.LinearDrag([1, 2]), "LinearDrag(coefficient)", SCALARS + "(2,)"),
        (kd.LinearDrag(1, wind=1), "LinearDrag(wind)", VECTORS + "()"),
        (kd.QuadraticDrag(np.ones((3, 2))), "QuadraticDrag(coefficient)", SCALARS + "(3, 2)"),
        (kd.QuadraticDrag(1, wind=(1, 2, 3)), "QuadraticDrag(wind)", VECTORS + "(3,)"),
        (kd.AnchorSpring([1, 2, 3, 4]), "AnchorSpring(stiffness)", SCALARS + "(4,)"),
        (kd.AnchorSpring(1, [1, 2]), "AnchorSpring(damping)", SCALARS + "(2,)"),
        (kd.AnchorSpring(1, anchor=np.zeros((3, 3))), "AnchorSpring(anchor)", VECTORS + "(3, 3)"),
        (kd.PointGravity([]), "PointGravity(mu)", SCALARS + "(0,)"),
        (kd.PointGravity(1, center=1), "PointGravity(center)", VECTORS + "()"),
        (kd.PointGravity(1, softening=[1, 2]), "PointGravity(softening)", SCALARS + "(2,)"),
        (kd.Vortex([1, 2]), "Vortex(strength)", SCALARS + "(2,)"),
        (kd.Vortex(1, axis=(0, 1)), "Vortex(axis)", DIRECTION + "[0.0, 1.0]"),
        (kd.Vortex(1, axis=(0, 0, 0)), "Vortex(axis)", DIRECTION + "[0.0, 0.0, 0.0]"),
        (kd.Vortex(1, axis=(1, 0, 1)), "Vortex(axis)", "expected the z axis in two dimensions"),
        (kd.Damping([1, 2]), "Damping(rate)", SCALARS + "(2,)"),
        (kd.PointGravity(1, softening=1e200), "PointGravity", "its softening**2 overflows float64"),
        (kd.QuadraticDrag(1e308), "QuadraticDrag", "its coefficient / mass overflows float64"),
        (kd.RotatingFrame(1e200), "RotatingFrame", "its omega**2 overflows float64"),
        (kd.RotatingFrame(1, center=np.zeros((3, 2))), "RotatingFrame(center)", "expected 0 or shape (2,), got (3, 2)"),
        (kd.RotatingFrame(1, center=(1, 2, 3)), "RotatingFrame(center)", "expected 0 or shape (2,), got (3,)"),
        (kd.NBody(1e300, softening=1e200), "NBody", "its softening**2 overflows float64"),
        (kd.LinearDrag(1e308), "forces", "their merged drag / mass overflows float64"),
        (kd.AnchorSpring(1e308), "forces", "their merged stiffness / mass overflows float64"),
        (kd.AnchorSpring(1e200, anchor=1e200), "AnchorSpring(anchor)", VECTORS + "()"),
    ],
)
@pytest.mark.parametrize("cls", [kd.Stepper, kd.reference.Stepper])
def test_invalid_shapes_and_overflows_are_refused(cls, term, label, text):
    x, v = np.ones((3, 2)), np.ones((3, 2))
    with pytest.raises(ValueError, match=r"expected|overflows") as caught:
        cls(x, v, mass=1e-3, forces=[kd.Gravity((0, 1)), term])
    assert_message(caught.value, label, text)
    assert (x == 1).all()
    assert (v == 1).all()


def test_merged_coefficients_that_overflow_are_refused():
    g, c, k = "acceleration", "drag / mass", "stiffness / mass"
    for name, term in ((g, kd.Gravity((1e308,))), ("rate", kd.Damping(1e308)), (c, kd.LinearDrag(1e308))):
        with pytest.raises(ValueError, match=f"^forces: their merged {name} overflows float64"):
            kd.Stepper([[0.0]], forces=[term, term])
    for name, term in ((g, kd.Gravity((1e39,))), (k, kd.AnchorSpring(1e39)), (c, kd.LinearDrag(1e39))):
        with pytest.raises(ValueError, match=f"^forces: their merged {name} overflows float32"):
            kd.Stepper(np.zeros((1, 1), np.float32), forces=[term])


def test_numbers_that_overflow_name_their_owner():
    for declared, message in (
        (kd.ElasticCollisions(1e39), "ElasticCollisions: its radius"),
        (kd.Box(-1e39, 9.0), "Box: its lower"),
        (kd.Contacts(0.1, hertz=1e300), "Contacts: its stiffness"),
        (kd.NBody(1e39), r"NBody: its G \* mass"),
        (kd.Springs([(0, 1)], 1e39), "Springs: its stiffness"),
        (kd.Springs([(0, 1)], 1.0, 1e39), "Springs: its rest_length"),
        (kd.Springs([(0, 1)], 1.0, damping=1e39), "Springs: its damping"),
        (kd.Langevin(1.0, 1e39), "Langevin: its temperature / mass"),
        (kd.Expression(x="a*x", a=1e39), "Expression: its a"),
    ):
        what = "constraints" if isinstance(declared, (kd.Box, kd.ElasticCollisions, kd.Contacts)) else "forces"
        with pytest.raises(ValueError, match=f"^{message} overflows float32"):
            kd.Stepper(np.eye(2, dtype=np.float32), **{what: [declared]})
    for more in ({"constraints": [kd.ElasticCollisions(0.1)]}, {"forces": [kd.Springs([(0, 1)], 1.0)]}):
        with pytest.raises(ValueError, match=r"^mass: its reciprocal overflows float32"):
            kd.Stepper(np.eye(2, dtype=np.float32), mass=1e-39, **more)
        world = kd.Stepper(np.eye(2, dtype=np.float32), **more)
        with pytest.raises(ValueError, match=r"^mass: its reciprocal overflows float32"):
            world.set_mass(1e-39)
        assert world.mass == 1


def test_vortex_needs_a_plane():
    with pytest.raises(ValueError, match=r"^Vortex: expected dim 2 or 3, got 1"):
        kd.Stepper([[0.0]], forces=[kd.Vortex(1)])


def test_coefficients_are_copies_and_read_only():
    numbers = np.array([1.0, 2.0])
    drag = kd.LinearDrag(numbers)
    numbers[0] = 5
    assert drag.coefficient.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        drag.coefficient[0] = 3
    with pytest.raises(AttributeError):
        drag.coefficient = 3
    mass = np.array([1.0, 2.0])
    stepper = kd.Stepper([[0.0], [0.0]], mass=mass)
    mass[0] = 5
    assert stepper.mass.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        stepper.mass[0] = 3
