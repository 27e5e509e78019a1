"""Output of help() for every public name: its signature and its complete docstring."""

import inspect
import pydoc
import re
import subprocess
import sys

import pytest

import kickdrift as kd

NAMES = [name for name in kd.__all__ if not name.startswith("_")]
COMPILED = (kd.Stepper, kd.ODEStepper, kd.FixedClock, kd.reference.Stepper, kd.reference.FixedClock)


def rendered(value):
    return pydoc.render_doc(value, renderer=pydoc.plaintext)


@pytest.mark.parametrize("name", NAMES)
def test_help_shows_signature_and_docstring(name):
    value = getattr(kd, name)
    text = rendered(value)
    assert text.startswith("Python Library Documentation: ")
    if isinstance(value, dict):
        return
    first = inspect.getdoc(value).splitlines()[0]
    assert first in text
    if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return
    signature = inspect.signature(value)
    assert not any(parameter.name in ("args", "kwargs") for parameter in signature.parameters.values()), signature
    # Python 3.13 breaks long signatures into several lines, with a bar beside them.
    shown = "".join(text.split()).replace("|", "")
    expected = "".join(f"{name}{signature}".split()).replace("|", "")
    assert expected.rstrip(")").partition("->")[0] in shown.replace(",)", ")")


@pytest.mark.parametrize("cls", COMPILED, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_help_on_methods(cls):
    text = rendered(cls)
    for name, member in inspect.getmembers(cls):
        if name.startswith("_") or not inspect.isroutine(member):
            continue
        assert f"{name}(" in text, name
        assert inspect.signature(member), name
        assert inspect.getdoc(member).splitlines()[0] in text, name


def test_stepper_and_reference_have_equal_signatures():
    for name in ("Stepper", "Worlds", "ODEStepper", "FixedClock"):
        twins = (inspect.signature(getattr(module, name)).parameters.values() for module in (kd, kd.reference))
        ours, book = ([(p.name, p.kind, p.default) for p in parameters] for parameters in twins)
        assert ours == book


def test_dir_lists_exactly_the_public_names():
    code = "import kickdrift; print(*dir(kickdrift))"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for listed in (fresh, dir(kd)):
        assert {name for name in listed if not name.startswith("__")} == {*kd.__all__} - {"__version__"}
        assert {*kd.__all__, "__doc__", "__file__", "__path__"} <= {*listed}
    assert all(hasattr(kd, name) for name in dir(kd))


@pytest.mark.parametrize("cls", [kd.Stepper, kd.Worlds, kd.ODEStepper], ids=lambda cls: cls.__name__)
def test_every_parameter_is_documented(cls):
    text = inspect.getdoc(cls)
    for name in inspect.signature(cls).parameters:
        assert re.search(rf"\b{name}\b", text), name


def test_help_on_the_package_is_an_overview():
    text = rendered(kd)
    schemes = {cls.__name__ for cls in kd.INTEGRATORS.values()}
    for name in NAMES:
        value = getattr(kd, name)
        if name not in schemes and not (inspect.isclass(value) and issubclass(value, Exception)):
            assert re.search(rf"\b{name}\b", kd.__doc__), name
    assert "python -m kickdrift" in text


def test_the_docstring_of_stepper_lists_all_members():
    """The list fits on one screen, before the long descriptions of each member."""
    text = inspect.getdoc(kd.Stepper)
    for name in dir(kd.Stepper):
        if not name.startswith("_"):
            assert re.search(rf"`{name}\b|^{name}:|{name}: steps", text, re.MULTILINE), name
    assert len(text.splitlines()) < 50
