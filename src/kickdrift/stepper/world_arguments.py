"""Checks of the arguments of `Worlds`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from . import joints, motion
from .entries import places_of
from .world_copies import of_all

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..forces.applied import Applied
    from .base import StepperBase
    from .worlds_base import WorldsBase


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


def applied_arrays(
    worlds: WorldsBase, declaration: Applied, coefficients: dict[str, Any]
) -> tuple[str, list[np.ndarray]]:
    """Return the name and the items of `_applied` or `_torques`, in which an array is replaced by the user's."""
    field, private = declaration._field, worlds._private(declaration)
    if [*coefficients] != [field]:
        raise TypeError(f"set: expected {field}, an array of all worlds, got {', '.join(coefficients)}")
    given = coefficients[field]
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{field}: expected an array of your own, got {validation.show(given)}")
    name, plan = ("_torques" if declaration.turns else "_applied"), worlds._guest._plan
    own = plan.torques if declaration.turns else plan.applied
    if not any(array is private.array for array in own):
        raise ValueError(f"{field}: expected an enabled {type(declaration).__name__}, the template disabled it")
    given = of_all(field, private.array, len(worlds), given)
    validation.own_memory([given], [*worlds._given.values(), *worlds._user.values()])
    before = getattr(worlds, name)
    return name, [given if one is private.array else array for one, array in zip(own, before, strict=True)]
