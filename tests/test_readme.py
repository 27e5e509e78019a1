"""README.md says what is so: its code runs, its tables list what there is."""

import re
from pathlib import Path

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.forces import Term

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def rows(header):
    """The cells of the table whose header row starts with this."""
    (body,) = re.findall(rf"^\| {header} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in body.splitlines()]


def test_the_example_runs(capsys):
    (example,) = blocks("python")
    names = {}
    exec(compile(example, str(README), "exec"), names)
    assert capsys.readouterr().out.startswith("2.0 [")
    # With drag c / m = 1/4 and wind (3, 0): v = w + g m/c (1 - e^(-t c/m)) ...
    grown = 1 - np.exp(-0.5)
    np.testing.assert_allclose(names["velocity"], np.tile([3 * grown, -9.81 * 4 * grown], (1000, 1)), rtol=1e-5)
    assert names["world"].position is names["position"]


def test_the_commands_set_up_what_they_use():
    demo, tests = (block.strip() for block in blocks("sh"))
    for command, end in ((demo, "python -m kickdrift demo spring"), (tests, "python -m pytest")):
        assert command.startswith("python3 -m venv .venv")
        assert "pip install" in command
        assert command.endswith(end)


def test_the_table_of_integrators():
    described = {}
    for name, order, forces, symplectic, advice in rows("name"):
        described[name.strip("`")] = order, forces, symplectic
        assert advice.endswith(".")
    assert described.keys() == kd.INTEGRATORS.keys()
    for name, (order, forces, symplectic) in described.items():
        scheme = kd.INTEGRATORS[name]()
        if scheme.order_with_drag == scheme.order:
            assert order == ("exact" if name == "exact" else f"{scheme.order:g}")
        else:
            assert order == f"{scheme.order:g} (drag: {scheme.order_with_drag:g})"
        if name == "energy_euler":
            assert forces == "1, –"
        elif scheme.force_evaluations is None:
            assert forces == "iterates"
        else:
            assert forces == f"{scheme.force_evaluations}, {scheme.force_evaluations_with_drag}"
        assert symplectic == ("yes" if scheme.symplectic else "no")


def test_the_table_of_terms():
    signatures = [row[0].strip("`") for row in rows("term")]
    assert {signature.partition("(")[0] for signature in signatures} == {cls.__name__ for cls in Term.__subclasses__()}


@pytest.mark.parametrize("expression", re.findall(r"`(kd\.[A-Z]\w+\([^`]*\))`", TEXT))
def test_instances_in_the_text(expression):
    assert eval(expression, {"kd": kd}) is not None
