"""What a plan is made of: what each declaration adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

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


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class ConstraintRecord:
    """A constraint: its kind and its coefficients."""

    kind: str
    constraint: Any
    fields: dict[str, np.ndarray]
    members: tuple[ConstraintRecord, ...] = ()  #: those of which it was joined, if any: see `tying`

    @property
    def splits(self) -> bool:
        """Does it pull in both halves of a step alike?"""
        return self.kind == "compliant_distance" and 2 in self.fields["direction"]


class Refill(NamedTuple):
    """Numbers for the places where an interaction or constraint has its own: then nothing is bound anew."""

    of: InteractionRecord | ConstraintRecord
    fields: dict[str, np.ndarray]


class Part:
    """The part of a plan that comes from one declaration. It depends on no other but pins, and can be reused."""

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

    @property
    def coupled(self) -> bool:
        """Does it take more than each body's own numbers?"""
        return bool(self.interactions or self.constraint_records or self.linked or self.applied)
