"""The argument `index=` of `set` and other methods: rows of the indexed bodies, and their coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation

if TYPE_CHECKING:
    from ..declaration import Declaration
    from .base import StepperBase


def rows_of(self: StepperBase, index: Any) -> Any:
    """Replace ids in an index by rows. Ids are at least 2**32, rows are less."""
    if isinstance(index, (list, np.ndarray, int, np.integer)):
        try:
            array = np.asarray(index)
        except ValueError:
            return index  # not a valid index: the caller raises the error
        if array.dtype.kind in "iu" and array.size and array.max() >= 2**32:
            return self.slots(index)
    return index


def with_rows(
    first: Declaration, today: Declaration, coefficients: dict[str, Any], rows: np.ndarray, n: int, dim: int
) -> dict[str, Any]:
    """Return coefficients for all bodies, with the values of `rows` replaced.

    first, today: the declaration as declared, and with its current values. A coefficient that was declared uniform
    and is equal in all rows becomes uniform again, for canonical snapshots.
    """
    whole = {}
    for name, given in coefficients.items():
        vector = _is_vector(today, name)
        label = f"{type(today).__name__}({name})"
        # `changed` validates the value as the constructor does.
        value, all_of_them = (np.asarray(getattr(one, name)) for one in (today.changed({name: given}), today))
        if vector:
            value = validation.per_body_vectors(label, value, len(rows), dim)
            all_of_them = validation.per_body_vectors(label, all_of_them, n, dim)
            array = np.empty((n, dim), all_of_them.dtype)
        else:
            value = validation.per_body(label, value, len(rows), "body of index")
            all_of_them = validation.per_body(label, all_of_them, n)
            array = np.empty(n, all_of_them.dtype)
        array[...] = all_of_them
        array[rows] = value
        single = np.shape(getattr(first, name)) == ((dim,) if vector else ())
        alike = single and n > 0 and bool((array == array[0]).all())
        alike = alike and array.tobytes() == np.broadcast_to(array[:1], array.shape).tobytes()  # -0.0 is not 0.0
        whole[name] = array[0] if alike else array
    return whole


def _is_vector(declaration: Declaration, name: str) -> bool:
    title = type(declaration).__name__
    if name not in declaration.coefficients:
        known = ", ".join(declaration.coefficients) or "none that can be changed"
        raise TypeError(f"{title}: expected coefficients ({known}), got {name!r}")
    if name not in declaration.per_body:
        known = ", ".join(declaration.per_body) or "none"
        hint = "; enabled is one bool per shape" if name == "enabled" else ""
        raise TypeError(
            f"{title}({name}): expected one that can be set per body ({known}) with index, set it without: "
            f"index selects bodies{hint}"
        )
    return declaration.per_body[name] == "vector"
