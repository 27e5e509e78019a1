"""The results of a few hundred plans are bitwise unchanged, see golden.py."""

import builtins
import math
import re
from functools import cache

import golden
import numpy as np
import pytest
from draws import Draws

import kickdrift as kd
from kickdrift.declaration import Declaration
from kickdrift.forces.callbacks import Callback

PARTS = 8


def unequal(found):
    """Return the differences between {name: digest} and the rows of the same names."""
    expected = golden.written()
    return [f"{found[name]}, not {expected.get(name)}: {name}" for name in found if found[name] != expected.get(name)]


def test_every_instruction_set_equals_the_golden_digests(isa):
    found = golden.digests()
    assert found.keys() == golden.written().keys(), f"There are other rows. {golden.INTENDED}"
    differ = unequal(found)
    assert not differ, golden.advice(found)


@cache
def cases():
    """Return the cases, created once per process. Computing a case advances its random generator: do it once."""
    return list(golden.cases())


def compensated(values, start=0, add=sum):
    """Emulate sum() of Python 3.12 and newer, which compensates for the rounding errors of floats."""
    values = list(values)
    return math.fsum([start, *values]) if {float} <= {*map(type, values)} <= {int, float} else add(values, start)


@pytest.mark.parametrize("part", range(PARTS))
def test_the_reference_equals_the_golden_digests(part, monkeypatch):
    """Digests are equal in every Python version. Parts run in parallel processes."""
    monkeypatch.setattr(builtins, "sum", compensated)
    found = {name: compute(kd.reference) for name, compute in cases()[part::PARTS]}
    differ = unequal(found)
    assert not differ, f"The reference has changed. {golden.INTENDED}"
    assert len(found) >= len(golden.written()) // PARTS


def test_every_declaration_has_golden_digests():
    """New integrators, terms and constraints must be drawn in plans.py."""
    words = set(re.findall(r"\w+", " ".join(golden.written())))
    public = [getattr(kd, name) for name in kd.__all__]
    parts = {value for value in public if isinstance(value, type) and issubclass(value, Declaration)}
    # Results of callbacks depend on the user's function.
    parts = {part for part in parts if not issubclass(part, Callback)}
    parts |= {*kd.INTEGRATORS.values(), *kd.flows.Flow.__subclasses__()}
    missing = {part.__name__ for part in parts} - words
    assert not missing, "run `python tests/golden.py --write`: samples, and ADDED_INTEGRATORS of plans.py, have rows"


def test_digests_depend_on_bits_order_dtype_and_shape():
    zeros = np.zeros((2, 3))
    arrays = [zeros, -zeros, zeros.astype(np.float32), zeros.reshape(3, 2), np.eye(2, 3), np.eye(2, 3)[::-1]]
    assert len({golden.digest(array) for array in arrays}) == len(arrays)
    assert golden.digest(np.asfortranarray(arrays[4])) == golden.digest(arrays[4])
    assert golden.digest(arrays[4].astype(">f8")) == golden.digest(arrays[4])


def test_draws_are_reproducible():
    rng = Draws(1)
    assert rng.random() == 0.5692039176770424
    assert rng.uniform(-1, 1, 2).tolist() == [0.6045301889741308, -0.8737861978772932]
    assert rng.normal(size=(1, 2)).tolist() == [[-0.8372758305631578, 0.12653786432929337]]
    assert rng.integers(2, 9, 5).tolist() == [3, 3, 3, 4, 8]
    assert sorted(rng.permutation(9)) == sorted(rng.choice(9, 9, replace=False)) == list(range(9))
    with pytest.raises(AttributeError):
        rng.standard_normal()
