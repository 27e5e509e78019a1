"""All declarations: every layer has an entry for each, and each sample passes the tests common to all."""

import copy
import dataclasses
import gc
import pickle

import numpy as np
import pytest
from plans import INTEGRATORS, assert_same_state, said
from samples import COEFFICIENTS, POSITION, SAMPLES, TERMS, missing, world

import kickdrift as kd
from kickdrift import declaration
from kickdrift.constraints.base import AfterStep
from kickdrift.flows import Flow
from kickdrift.forces.base import FieldTerm, Interaction
from kickdrift.reference import forces
from kickdrift.reference.system import System
from kickdrift.stepper.entries import same


def title(one):
    return type(one).__name__ if isinstance(one, declaration.Declaration) else None


@pytest.mark.parametrize("base", [AfterStep, FieldTerm, Flow, Interaction])
def test_reference_and_engine_tables_list_exactly_the_declared_kinds(base):
    assert all(hasattr(kd, name) for name in kd.__all__)  # loads the lazily imported modules
    assert kd.reference
    tables = [(module, set(table)) for module, kind, table in declaration.TABLES if kind is base]
    assert {module.split(".")[1] for module, _ in tables} == {"engine", "reference"}
    classes, found = {base}, set()
    while classes:
        cls = classes.pop()
        classes |= {sub for sub in cls.__subclasses__() if sub.__module__.startswith("kickdrift.")}
        found |= {kind for kind in declaration.kinds_of(cls) if kind}
    assert [table for _, table in tables] == [found] * len(tables)


def test_a_missing_table_entry_is_an_import_error():
    kinds = forces.TERMS.keys() - {"quadratic_drag"}
    with pytest.raises(ImportError, match=r"^here: expected an entry for 'quadratic_drag', the kind of QuadraticDrag$"):
        declaration.require_entries("here", kinds, FieldTerm)
    assert all(table is not kinds for _, _, table in declaration.TABLES)


def test_a_later_declaration_without_table_entries_is_an_import_error():
    with pytest.raises(ImportError, match=r"^kickdrift[.a-z]+: expected an entry for 'wind', the kind of Wind$"):
        type("Wind", (FieldTerm,), {"kind": "wind"})
    gc.collect()  # otherwise later messages would list the class


FROZEN = [*kd.INTEGRATORS.values(), kd.flows.Lorenz, kd.ExactSteps, kd.Locked]


@pytest.mark.parametrize("cls", FROZEN, ids=lambda cls: cls.__name__)
def test_integrators_flows_and_options_of_clocks_are_frozen(cls):
    """Classes without fields are frozen too, although they would not be frozen dataclasses on their own."""
    one = cls()
    for name in ("order", *(field.name for field in dataclasses.fields(cls)), "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"^cannot assign to field '{name}'$"):
            setattr(one, name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"^cannot delete field '{name}'$"):
            delattr(one, name)
    assert one == cls()
    assert hash(one) == hash(cls())
    assert repr(one) == f"{cls.__name__}({', '.join(f'{k}={v!r}' for k, v in dataclasses.asdict(one).items())})"


def test_a_stepper_has_at_most_six_classes_in_its_mro():
    """More classes would only split one class into several files."""
    assert len(kd.Stepper.__mro__) - 1 <= 6


def bits(stepper):
    return stepper.position.tobytes(), stepper.velocity.tobytes(), stepper.tick


def made(cls, *declared, **more):
    """Create a world with these declarations, or return the message of its ValueError."""
    try:
        return world(cls, *declared, **more)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("one", SAMPLES, ids=title)
def test_kernels_equal_the_reference(isa, one, integrator):
    dtype = (np.float64, np.float32)[(list(SAMPLES).index(one) + INTEGRATORS.index(integrator)) % 2]
    if isinstance(one, kd.NativeForce):
        dtype = one.dtype
    more = {"integrator": integrator, "dtype": dtype, "alive": [True, True, False]}
    ours, book = (made(cls, one, **more) for cls in (kd.Stepper, kd.reference.Stepper))
    if isinstance(book, str):
        assert ours == book
        return
    for each in (ours, book):
        each.step(2)
        each.spawn([1.5, 1.0], [-0.5, 0.25])
        each.shift((0.5, -1.0))
        each.step()
        each.kill(each.ids[0])
        each.step(2)
    with said(force=one, integrator=integrator):
        assert_same_state(ours, book)
        assert ours.snapshot() == book.snapshot()
        assert ours.force_evaluations == book.force_evaluations


@pytest.mark.parametrize(("one", "name", "value"), COEFFICIENTS, ids=title)
def test_setting_a_coefficient_equals_building_with_it(Stepper, one, name, value):
    changed = world(Stepper, one)
    changed.set(one, **{name: value})
    straight = world(Stepper, changed.current(one))
    with said(declared=one, name=name, value=value):
        assert value is None or same(getattr(one.changed({name: value}), name), getattr(changed.current(one), name))
        assert changed._plan.fingerprint == straight._plan.fingerprint
        for each in (changed, straight):
            each.step(4)
        assert bits(changed) == bits(straight)


@pytest.mark.parametrize("events", [None, kd.Events()], ids=["silent", "events"])
@pytest.mark.parametrize(("one", "name", "value"), COEFFICIENTS, ids=title)
def test_restore_and_copy_keep_set_coefficients(Stepper, one, name, value, events):
    first = world(Stepper, one, events=events)
    first.step()
    before = first.snapshot()
    first.set(one, **{name: value})
    saved = first.snapshot()
    restored, copied = world(Stepper, one, events=events), copy.deepcopy(first)
    restored.restore(saved)
    with said(declared=one, name=name, value=value):
        for each in (first, restored, copied):
            each.step(2)
        assert first.snapshot() == restored.snapshot() == copied.snapshot()
        assert same(getattr(restored.current(one), name), getattr(first.current(one), name))
        first.restore(before)
        assert first.snapshot() == before
        straight = world(Stepper, one, events=events)
        first.step()
        straight.step(2)
        assert first.snapshot() == straight.snapshot()


@pytest.mark.parametrize("one", SAMPLES, ids=title)
def test_declarations_can_be_pickled_and_have_a_repr(one):
    if not isinstance(one, kd.NativeForce):  # has a pointer, which cannot be pickled
        assert same(
            tuple(pickle.loads(pickle.dumps(one)).declared_values().values()), tuple(one.declared_values().values())
        )
    shown = repr(one)
    assert shown.startswith(f"{title(one)}(")
    assert all(f"{name}=" in shown for name in one.coefficients if name not in ("energy", "cutoff"))


@pytest.mark.parametrize("one", [one for one in TERMS if one.conservative], ids=title)
def test_forces_are_minus_the_energy_gradients(one):
    """Tested on the reference, at rest, because magnetic fields and rotating frames turn velocities."""
    x, d = np.array(POSITION) + 0.125, 1e-6
    mass = np.array([1.0, 2.0, 0.5])
    stepper = kd.reference.Stepper(x.copy(), mass=mass, forces=[one])
    system, gradient = System(stepper), np.empty_like(x)
    acceleration = np.stack(system.a(system.x, system.v), axis=1)
    for at in np.ndindex(x.shape):
        energies = []
        for sign in (1, -1):
            there = x.copy()
            there[at] += sign * d
            energies.append(kd.Stepper(there, mass=mass, forces=[one]).energy()[1])
        gradient[at] = (energies[0] - energies[1]) / (2 * d)
    np.testing.assert_allclose(mass[:, None] * acceleration, -gradient, atol=1e-7, err_msg=repr(one))


def test_every_declaration_has_a_sample():
    assert missing() == []
