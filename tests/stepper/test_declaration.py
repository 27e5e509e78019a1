"""What is declared has an entry in the tables of all layers, and what is not has none."""

import dataclasses
import gc

import pytest

import kickdrift as kd
from kickdrift import declaration
from kickdrift.constraints import Constraint
from kickdrift.flows import Flow
from kickdrift.forces.base import FieldTerm, Interaction
from kickdrift.reference.forces import TERMS


@pytest.mark.parametrize("base", [Constraint, FieldTerm, Flow, Interaction])
def test_reference_and_engine_have_a_table_without_gaps_and_leftovers(base):
    assert all(hasattr(kd, name) for name in kd.__all__)  # imported when asked for
    assert kd.reference
    tables = [(module, set(table)) for module, kind, table in declaration.TABLES if kind is base]
    assert {module.split(".")[1] for module, _ in tables} == {"engine", "reference"}
    classes, found = {base}, set()
    while classes:
        cls = classes.pop()
        classes |= {sub for sub in cls.__subclasses__() if sub.__module__.startswith("kickdrift.")}
        found |= {kind for kind in declaration.kinds_of(cls) if kind}
    assert [table for _, table in tables] == [found] * len(tables)


def test_a_table_with_a_gap_is_an_import_error():
    kinds = TERMS.keys() - {"quadratic_drag"}
    with pytest.raises(ImportError, match=r"^here: expected an entry for 'quadratic_drag', the kind of QuadraticDrag$"):
        declaration.require_entries("here", kinds, FieldTerm)
    assert all(table is not kinds for _, _, table in declaration.TABLES)


def test_what_is_declared_later_is_looked_for_too():
    with pytest.raises(ImportError, match=r"^kickdrift[.a-z]+: expected an entry for 'wind', the kind of Wind$"):
        type("Wind", (FieldTerm,), {"kind": "wind"})
    gc.collect()  # or messages would name it


@pytest.mark.parametrize("cls", [*kd.INTEGRATORS.values(), kd.flows.Lorenz], ids=lambda cls: cls.__name__)
def test_nothing_sets_what_an_integrator_or_a_flow_is_made_of(cls):
    """Also where a class has no fields, and so is no dataclass by itself."""
    one = cls()
    for name in ("order", *(field.name for field in dataclasses.fields(cls)), "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"^cannot assign to field '{name}'$"):
            setattr(one, name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"^cannot delete field '{name}'$"):
            delattr(one, name)
    assert one == cls()
    assert hash(one) == hash(cls())
    assert repr(one) == f"{cls.__name__}({', '.join(f'{k}={v!r}' for k, v in dataclasses.asdict(one).items())})"


def test_a_stepper_is_six_classes():
    """More would be files that are written as classes."""
    assert len(kd.Stepper.__mro__) - 1 <= 6
