"""Records and parts: the components of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..declaration import once
from ..engine.serving import same_items

if TYPE_CHECKING:
    from ..forces.applied import Applied
    from .merging import Share


class Record(NamedTuple):
    """A force that is evaluated after the affine part: its kind and its coefficients by symbol."""

    kind: str
    velocity_dependent: bool  #: as its force declares
    fields: dict[str, np.ndarray]


class Changeable:
    """Base of records that can be changed."""

    owner: ClassVar[str]  #: name of the field that has the declaration
    fields: dict[str, np.ndarray]

    def changed(self, fields: dict[str, np.ndarray], declaration: Any) -> Self:
        """Return a copy of the same lineage, with other fields, of another declaration."""
        other = object.__new__(type(self))
        other.__dict__.update(vars(self), fields=fields, **{self.owner: declaration})
        return other

    @property
    def pairs(self) -> int:
        """The number of pairs, of springs and distances."""
        return len(self.fields["pairs"] if "pairs" in self.fields else self.fields["first"])


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class InteractionRecord(Changeable):
    """A force that is evaluated for all bodies at once, into a zeroed array, which is then added.

    It is a user's function, or a force between bodies.
    """

    owner: ClassVar[str] = "term"
    kind: str
    term: Any
    factor: np.ndarray  #: multiplier: 1/m of forces, 1 of accelerations
    fields: dict[str, np.ndarray]
    #: Identity across changes: a changed record has the lineage of the old one, and so keeps its binding.
    lineage: object = field(default_factory=object)
    members: tuple[InteractionRecord, ...] = ()  #: the records it was joined from, if any: see `tying`
    columns: dict[str, np.ndarray] = field(default_factory=dict)  #: their fields, concatenated


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class ConstraintRecord(Changeable):
    """A constraint: its kind and its coefficients."""

    owner: ClassVar[str] = "constraint"
    kind: str
    constraint: Any
    fields: dict[str, np.ndarray]
    members: tuple[ConstraintRecord, ...] = ()  #: the records it was joined from, if any: see `tying`
    columns: dict[str, np.ndarray] = field(default_factory=dict)  #: their fields, concatenated
    order: np.ndarray | None = None  #: of the columns' items in the fields, if another one
    lineage: object = field(default_factory=object)

    @once
    def solved(self) -> tuple[bool, int]:
        """Whether a `Distance` record has compliance, and its iterations."""
        return "compliance" in self.fields, int(self.fields["iterations"][0])

    @once
    def moved(self) -> np.ndarray:
        """Movable bodies of a `Distance` record."""
        ends = [self.fields[end][self.fields[f"move_{end}"] > 0] for end in ("first", "second")]
        return np.concatenate(ends)

    @property
    def solid(self) -> bool:
        """Whether it is a wall or shape. The record of corners is none: it has no extent beside that of its walls."""
        return bool(self.constraint.solid) and self.kind != "corners"

    @property
    def splits(self) -> bool:
        """Whether it applies equal impulses in both halves of a step."""
        return self.kind == "compliant_distance" and 2 in self.fields["direction"]


class Part:
    """The contribution of one declaration to a plan. It is reusable, as it depends on no others except pins."""

    declaration: Any = None
    # Class-level defaults: an addition creates the instance attribute.
    #: (symbol, coefficient, weighted vector): see `merging`.
    affine: tuple[Share, ...] = ()
    records: tuple[Record, ...] = ()
    interactions: tuple[InteractionRecord, ...] = ()
    constraint_records: tuple[ConstraintRecord, ...] = ()
    links: tuple[np.ndarray, ...] = ()  #: linked bodies
    linked = False
    walls: tuple[Any, ...] = ()  #: walls that take part in corners
    applied: tuple[Applied, ...] = ()  #: forces and torques in users' arrays

    def follow(self, before: Part) -> None:
        """Keep the bindings of changed constraints if their arrays still fit, and the arrays that are equal."""
        if self.constraint_records and len(self.constraint_records) == len(before.constraint_records):
            pairs = zip(self.constraint_records, before.constraint_records, strict=True)
            self.constraint_records = tuple([_following(new, old) for new, old in pairs])


def _following(new: ConstraintRecord, old: ConstraintRecord) -> ConstraintRecord:
    known, fields = old.fields, new.fields
    same = {name: known[name] for name, array in fields.items() if name in known and same_items(known[name], array)}
    return replace(new, fields=fields | same, lineage=old.lineage)
