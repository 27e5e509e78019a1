"""The docstrings: their examples run, and every public name says what it needs."""

import dataclasses
import doctest
import importlib.util
import inspect
import pkgutil
import re

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import kernels
from kickdrift.clock import options
from kickdrift.constraints import Constraint
from kickdrift.declaration import known
from kickdrift.forces import Term

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(kd.__path__, "kickdrift.")
    # A module for other processors than this one must not be loaded.
    if module.name.rpartition(".")[2].partition("_")[0] not in {"avx2", "avx512"} - set(kernels.isas)
    if not module.name.endswith(("__main__", "cython_utility"))  # the latter is all Cython's
    if importlib.util.find_spec("dask") or "distributed" not in module.name
)
PUBLIC = sorted(name for name in kd.__all__ if not name.startswith("_") and not inspect.ismodule(getattr(kd, name)))


def examples(module):
    """The doctests of a module, compiled ones too: those hide from doctest's own search."""
    finder = doctest.DocTestFinder(recurse=False)
    found = {module.__name__: module}
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        found[name] = value
        if inspect.isclass(value):
            for member, attribute in vars(value).items():
                inner = getattr(attribute, "__func__", attribute)
                if inspect.isclass(inner):  # of another module, or found by itself
                    continue
                if inspect.getdoc(inner) and (callable(inner) or isinstance(inner, property)):
                    found[f"{name}.{member}"] = inner
    for name, value in found.items():
        yield from finder.find(value, name, module=module, globs=dict(vars(module)))


@pytest.mark.parametrize("name", ["kickdrift", *MODULES])
def test_examples(name):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    module = importlib.import_module(name)
    for test in examples(module):
        said = []
        runner.run(test, out=said.append)
        assert not runner.failures, "".join(said)


def test_examples_are_found():
    found = {test.name for name in MODULES for test in examples(importlib.import_module(name)) if test.examples}
    assert found >= {
        "Stepper", "Core.step", "kick", "drift", "damp", "build_info", "StepperBase.energy", "State.record",
        "ODEStepper", "ODECore.step", "Lorenz",
        "Gravity", "AnchorSpring.from_frequency", "Damping.per_frame",
    }  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_have_a_docstring(name):
    assert importlib.import_module(name).__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_a_docstring_of_their_own(name):
    value = getattr(kd, name)
    if name == "INTEGRATORS":
        return
    assert value.__doc__
    if inspect.isclass(value):
        assert not value.__doc__.startswith(f"{name}("), "made by dataclass"


def members(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


def test_members_have_a_docstring():
    steppers = (kd.Stepper, kd.reference.Stepper, kd.ODEStepper, kd.reference.ODEStepper)
    for cls in (*steppers, kd.Worlds, kd.reference.Worlds):
        for name in members(cls):
            assert inspect.getdoc(getattr(cls, name)), f"{cls}.{name}"


KINDS = ("BEGIN", "END", "ENTER", "HIT", "LEAVE")
TAKES_INPUT = [
    name
    for name in PUBLIC
    if name not in ("INTEGRATORS", "ODETrajectory", "Trajectory", "build_info", "get_include", *KINDS)
]


def checks(cls):
    """The functions of a class itself that see what it is made of, but for those that dataclass makes."""
    return {"__post_init__"} & vars(cls).keys() if dataclasses.is_dataclass(cls) else {"__init__"} & vars(cls).keys()


@pytest.mark.parametrize(
    "value", [kd.Stepper.step, kd.Stepper.energy, kd.ODEStepper.step, *(getattr(kd, name) for name in TAKES_INPUT)]
)
def test_what_takes_input_says_what_it_raises(value):
    if inspect.isclass(value) and issubclass(value, Exception):
        return
    text = value.__doc__
    if inspect.isclass(value) and not checks(value):
        # It checks what all terms or all integrators do, and that is said in their base class.
        text = " ".join(base.__doc__ or "" for base in value.__mro__ if base.__module__ != "builtins")
    assert any(word in text for word in ("Raises", "raises", "raise ", "rrors as those of"))


def test_the_reference_offers_what_the_stepper_does():
    assert members(kd.Stepper) - members(kd.reference.Stepper) <= {"tick", "force_evaluations"}
    book = kd.reference.Stepper([[0.0]])
    assert (book.tick, book.force_evaluations) == (0, 0)
    assert members(kd.reference.Stepper) <= members(kd.Stepper)
    assert members(kd.reference.ODEStepper) == members(kd.ODEStepper)
    assert members(kd.reference.Worlds) == members(kd.Worlds)


def test_public_names():
    """All that is declared is public, and what else is, is here."""
    errors = "KickdriftError NonFiniteError ConvergenceError DesyncError CallbackError SnapshotError OverloadError"
    errors += " CapacityError DeadBodyError"
    steppers = "Stepper Worlds ODEStepper FixedClock Rollback Tape Trajectory ODETrajectory"
    others = "BEGIN END ENTER HIT LEAVE Events Neighbours sync_test INTEGRATORS kick drift damp build_info get_include"
    classes = [*known(Term), *known(Constraint), *kd.INTEGRATORS.values(), kd.Dopri8]
    classes += [*options.POLICIES.values(), *options.OVERLOADS.values()]
    declared = {cls.__name__ for cls in classes if cls.__module__.startswith("kickdrift.")}
    assert sorted({*declared, *f"{errors} {steppers} {others}".split()}) == PUBLIC


def test_integrators_are_listed_with_order_and_source():
    assert len(kd.INTEGRATORS) >= 15
    for name, cls in kd.INTEGRATORS.items():
        assert cls.name == name
        assert cls.__name__ in PUBLIC
        assert len(cls.source) > 5
        assert cls.order >= 1


def test_errors_are_kickdrifts_and_the_closest_built_ins():
    closest = {
        "NonFiniteError": FloatingPointError, "ConvergenceError": ArithmeticError, "DesyncError": RuntimeError,
        "CallbackError": RuntimeError, "SnapshotError": ValueError, "OverloadError": RuntimeError,
        "CapacityError": RuntimeError, "DeadBodyError": KeyError,
    }  # fmt: skip
    for name, builtin in closest.items():
        assert issubclass(getattr(kd, name), kd.KickdriftError)
        assert issubclass(getattr(kd, name), builtin)


NUMBERS = [
    (cls, field.name)
    for cls in (getattr(kd, name) for name in PUBLIC)
    if dataclasses.is_dataclass(cls)
    for field in dataclasses.fields(cls)
    if "bounds" in field.metadata
]
UNIT = r"m/s|kg|N/m|m³/s²|m²/s²|1/s|rad/s|in C,|in T,|\bin m\b|^m\b|coefficient|0 to 1|<= 1|as for `|of any length"


@pytest.mark.parametrize(("cls", "name"), NUMBERS)
def test_units_are_named(cls, name):
    """Of each number that a term or a constraint takes, or that it has none."""
    said = re.findall(rf"\b{name}\b[^:.]*: ([^.]*(?:\.\d[^.]*)*)", cls.__doc__)
    assert any(re.search(UNIT, text) for text in said), f"expected a unit that UNIT has in what is said, {said}"


def test_terms_and_integrators_show_themselves():
    assert repr(kd.GrootWarren(lam=0.65)) == "GrootWarren(lam=0.65)"
    assert repr(kd.LinearDrag(np.float32(0.5))) == "LinearDrag(coefficient=array(0.5), wind=array(0.))"
    assert kd.GrootWarren(lam=0.5) == kd.GrootWarren()
    assert hash(kd.RK4()) == hash(kd.RK4())
