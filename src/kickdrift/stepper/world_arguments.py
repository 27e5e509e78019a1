"""Checks of the arguments of `Worlds`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from . import joints, motion
from .entries import places_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .base import StepperBase


def mask_of(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return a mask of worlds, or of their rows."""
    mask = validation.plain(name, given)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name}: expected a mask, bool of shape {shape}, got {mask.dtype}")
    if mask.shape != shape:
        raise ValueError(f"{name}: expected a mask of shape {shape}, got {mask.shape}")
    return np.ascontiguousarray(mask)


def rows_to_spawn(name: str, given: Any, mask: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return a value for each row of a mask, in the dtype of an array of all worlds."""
    values = validation.numbers(name, given)
    try:
        if values.ndim == like.ndim:
            rows = np.broadcast_to(values, like.shape)[mask]
        else:
            rows = np.broadcast_to(values, (int(mask.sum()), *like.shape[2:]))
    except ValueError:
        shapes = f"{like.shape} or (k, ...) for {int(mask.sum())} rows"
        raise ValueError(f"{name}: expected shape {shapes}, got {values.shape}") from None
    with np.errstate(over="ignore"):
        rows = rows.astype(like.dtype)
    if not np.isfinite(rows).all():
        raise ValueError(f"{name}: expected numbers within the range of {like.dtype}, got {validation.show(given)}")
    return rows


def numbers_of_all(coefficients: dict[str, Any], count: int) -> dict[str, Any]:
    """Return coefficients of `set`: arrays have an item for each world, which is copied."""
    given = {}
    for name, value in coefficients.items():
        if isinstance(value, np.ndarray) and value.ndim:
            if len(value) != count:
                raise ValueError(
                    f"{name}: expected a number or tuple for all worlds, or an array whose first axis has an item "
                    f"for each of {count} worlds, got shape {value.shape}"
                )
            if value.dtype == np.object_:
                raise TypeError(f"{name}: expected numbers, got an array of objects: {validation.show(value)}")
            value = value.copy()
        given[name] = value
    return given


def place_of(stepper: StepperBase, declaration: Any) -> int:
    """Return the index of a declaration's first entry; raise ValueError for joints and shapes of `Contacts`."""
    if joints.found(stepper, declaration) or motion.are_contacts(stepper, motion.found(stepper, declaration)):
        raise ValueError(
            f"declaration: expected a force or constraint of the stepper itself, got {type(declaration).__name__} in "
            f"its Contacts: numbers of joints and shapes there are the same in all worlds"
        )
    return places_of(stepper, declaration)[0]


def copied_worlds(source: ArrayLike, target: ArrayLike, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of worlds that `copy` reads and writes."""
    pairs = []
    for name, given in (("source", source), ("target", target)):
        pairs.append(each := np.atleast_1d(validation.plain(name, given)))
        if each.dtype.kind not in "iu" and each.size:
            raise TypeError(f"{name}: expected numbers of worlds, which are ints, got {validation.show(given)}")
        if each.size and not 0 <= each.min() <= each.max() < count:
            raise IndexError(f"{name}: expected worlds from 0 to {count - 1}, got {validation.show(given)}")
    if len(pairs[0]) not in (1, len(pairs[1])) or max(each.ndim for each in pairs) > 1:
        raise ValueError(f"source: expected one world or {len(pairs[1])}, as target has, got {pairs[0].shape}")
    sources, targets = (np.ascontiguousarray(each, np.int64) for each in np.broadcast_arrays(*pairs))
    if len(validation.distinct(targets)) < len(targets):
        raise ValueError(f"target: expected each world once, got {validation.short(target)}")
    return sources, targets
