"""Numbers of each world's own: the coefficients of `Worlds.set`."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation

if TYPE_CHECKING:
    from ..declaration import Declaration


def of_each(value: Any) -> bool:
    """Return whether a coefficient that `set` was given, or keeps, has an item for each world."""
    return isinstance(value, np.ndarray) and value.ndim > 0


def of_world(i: int, given: dict[str, Any]) -> dict[str, Any]:
    """Return the coefficients of world i."""
    return {name: value[i] if of_each(value) else value for name, value in given.items()}


def numbers_of(
    coefficients: dict[str, Any],
    count: int,
    rows: np.ndarray | None,
    known: dict[str, Any],
    today: Declaration,
) -> dict[str, Any]:
    """Return coefficients of `set` for all of `count` worlds; None stays None.

    rows: the worlds that change; all if None. known: coefficients from earlier calls. today: the declaration as in the
    template, whose values worlds have that were not set.
    """
    given = {}
    for name, value in coefficients.items():
        _check(name, value, count if rows is None else len(rows), rows is not None)
        if rows is None or value is None:
            given[name] = value if name == "shapes" else copy.deepcopy(value)  # shapes are known by identity
        else:
            values = value if of_each(value) else validation.plain(name, value)[None]
            given[name] = with_rows(name, known, today, count, rows, values)
    return given


def _check(name: str, value: Any, count: int, masked: bool) -> None:
    """Raise an error if a coefficient is neither for all of these worlds alike, nor has an item for each."""
    these = f"each of the {count} worlds of the mask" if masked else f"each of {count} worlds"
    if isinstance(value, list) and (masked or len(value) == count > 1):
        # The same list would have another meaning by accident, where there are as many bodies as worlds.
        raise ValueError(
            f"{name}: a list of {len(value)} may be meant for all worlds, or have an item for {these}: write "
            f"numpy.array([...]) if it has, tuple([...]) if it is for all of them"
        )
    if not of_each(value):
        return
    if len(value) != count:
        raise ValueError(
            f"{name}: expected a number or tuple for all worlds, or an array whose first axis has an item "
            f"for {these}, got shape {value.shape}"
        )
    if value.dtype == np.object_:
        raise TypeError(f"{name}: expected numbers, got an array of objects: {validation.show(value)}")


def with_rows(
    name: str, known: dict[str, Any], today: Declaration, count: int, rows: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return a coefficient of all worlds, in which some have new values, one for each or one for all of them."""
    before = known.get(name, getattr(today, name))
    if name not in known or not of_each(before):
        before = np.asarray(before)[None]
    label = f"{type(today).__name__}({name})"
    for array in (before, values):
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{label}: expected numbers in all worlds where only some change, got {array.dtype}")
    try:
        shape = np.broadcast_shapes(before.shape[1:], values.shape[1:])
    except ValueError:
        raise ValueError(
            f"{label}: expected values of shape {before.shape[1:]}, as in the other worlds, got {values.shape[1:]}"
        ) from None
    kind = np.result_type(before, values)
    if kind.kind == "f" and before.dtype.kind == "u" and values.dtype.kind == "i" and not (values < 0).any():
        kind = before.dtype  # masks: NumPy has no integers for int64 and uint64 together
    whole = np.empty((count, *shape), kind)
    for index, array in ((np.arange(count), before), (rows, values)):
        whole[index] = array.reshape(len(array), *(1,) * (len(shape) + 1 - array.ndim), *array.shape[1:])
    return whole


def with_hint(error: ValueError, coefficients: dict[str, Any], count: int) -> ValueError:
    """Return an error of `set` with a hint, if the shape of a coefficient was meant for each world."""
    names = [name for name, value in coefficients.items() if not of_each(value) and np.ndim(value) and len(value) > 1]
    if type(error) is not ValueError or not names:
        return error
    return ValueError(
        f"{error}; {', '.join(names)} was taken for all worlds alike: a value for each world needs a NumPy array, "
        f"whose first axis has an item for each of {count} worlds"
    )
