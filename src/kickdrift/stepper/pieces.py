"""What a plan is made of: what each declaration adds to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..declaration import once

if TYPE_CHECKING:
    from .merging import Share


class Record(NamedTuple):
    """A term that is evaluated after the affine part: its kind and its coefficients by symbol."""

    kind: str
    velocity_dependent: bool  #: as its term declares
    fields: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class InteractionRecord:
    """A term that writes what it does to many bodies into zeros, which are added then.

    That is a function of the user, or a term by which bodies see each other.
    """

    kind: str
    term: Any
    factor: np.ndarray  #: what its numbers are multiplied with: 1/m, or 1 where it is an acceleration
    fields: dict[str, np.ndarray]
    #: What was changed is bound to what was bound before.
    lineage: object = field(default_factory=object)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class ConstraintRecord:
    """A constraint: its kind and its coefficients."""

    kind: str
    constraint: Any
    fields: dict[str, np.ndarray]
    members: tuple[ConstraintRecord, ...] = ()  #: those of which it was joined, if any: see `tying`
    lineage: object = field(default_factory=object)

    @once
    def moved(self) -> np.ndarray:
        """Of `Distance`: the bodies that it can move."""
        ends = [self.fields[end][self.fields[f"move_{end}"] > 0] for end in ("first", "second")]
        return np.concatenate(ends)

    @property
    def splits(self) -> bool:
        """Does it pull in both halves of a step alike?"""
        return self.kind == "compliant_distance" and 2 in self.fields["direction"]


class Part:
    """The part of a plan that comes from one declaration. It depends on no other but pins, and can be reused."""

    declaration: Any = None
    # Tuples that are added to, each in the part's own `__dict__` from the first one on.
    #: (symbol, coefficient, what it is the weight of): see `merging`.
    affine: tuple[Share, ...] = ()
    records: tuple[Record, ...] = ()
    interactions: tuple[InteractionRecord, ...] = ()
    constraint_records: tuple[ConstraintRecord, ...] = ()
    links: tuple[np.ndarray, ...] = ()  #: the bodies that links hold up
    linked = False
    walls: tuple[Any, ...] = ()  #: which meet in corners
    applied: tuple[np.ndarray, ...] = ()  #: forces that users write into arrays of their own, (n, dim)

    def follow(self, before: Part) -> None:
        """Constraints that were changed are bound to what was bound before, where no other array is needed."""
        if self.constraint_records and len(self.constraint_records) == len(before.constraint_records):
            pairs = zip(self.constraint_records, before.constraint_records, strict=True)
            self.constraint_records = tuple([replace(new, lineage=old.lineage) for new, old in pairs])
