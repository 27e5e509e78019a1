"""Part (the contribution of one declaration to a plan) and records (kind and coefficients for kernels)."""

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
    """Kind and coefficients of a force on single bodies that is not affine, evaluated after the affine ones."""

    kind: str
    velocity_dependent: bool  #: True if the force depends on velocity
    fields: dict[str, np.ndarray]


class Changeable:
    """Base of records whose fields `set` may change."""

    owner: ClassVar[str]  #: name of the attribute that refers to the declaration
    fields: dict[str, np.ndarray]

    def changed(self, fields: dict[str, np.ndarray], declaration: Any) -> Self:
        """Return a copy of the same lineage, with other fields and another declaration."""
        other = object.__new__(type(self))
        other.__dict__.update(vars(self), fields=fields, **{self.owner: declaration})
        return other

    @property
    def pairs(self) -> int:
        """Number of pairs of springs or distances."""
        return len(self.fields["pairs"] if "pairs" in self.fields else self.fields["first"])


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class InteractionRecord(Changeable):
    """A user function or a force between bodies, which is evaluated for all bodies at once.

    Its results are written to a zeroed array, which is then added to the accelerations.
    """

    owner: ClassVar[str] = "term"
    kind: str
    term: Any
    factor: np.ndarray  #: factor on the result: 1/m for forces, 1 for accelerations
    fields: dict[str, np.ndarray]
    #: Identity across changes: a changed record keeps its lineage, by which its binding is found and reused.
    lineage: object = field(default_factory=object)
    members: tuple[InteractionRecord, ...] = ()  #: the records that were merged into this one, see tying.py
    columns: dict[str, np.ndarray] = field(default_factory=dict)  #: concatenated fields of `members`


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
class ConstraintRecord(Changeable):
    """A constraint: its kind and its coefficients."""

    owner: ClassVar[str] = "constraint"
    kind: str
    constraint: Any
    fields: dict[str, np.ndarray]
    members: tuple[ConstraintRecord, ...] = ()  #: the records that were merged into this one, see tying.py
    columns: dict[str, np.ndarray] = field(default_factory=dict)  #: concatenated fields of `members`
    order: np.ndarray | None = None  #: permutation from items of `columns` to items of `fields`; None: identity
    lineage: object = field(default_factory=object)

    @once
    def solved(self) -> tuple[bool, int]:
        """Whether a `Distance` record has compliance, and its number of iterations."""
        return "compliance" in self.fields, int(self.fields["iterations"][0])

    @once
    def moved(self) -> np.ndarray:
        """Movable bodies of a `Distance` record."""
        ends = [self.fields[end][self.fields[f"move_{end}"] > 0] for end in ("first", "second")]
        return np.concatenate(ends)

    @property
    def solid(self) -> bool:
        """True for walls and shapes, not for the record of corners, which has no extent of its own."""
        return bool(self.constraint.solid) and self.kind != "corners"

    @property
    def splits(self) -> bool:
        """True if the constraint applies equal impulses in both halves of a step."""
        return self.kind == "compliant_distance" and 2 in self.fields["direction"]


class Part:
    """The contribution of one declaration to a plan. Other plans can reuse a part: it depends on no others but pins."""

    declaration: Any = None
    # Defaults are class attributes: a declaration that contributes to one creates the instance attribute.
    #: (symbol, coefficient, weighted vector): see `merging`.
    affine: tuple[Share, ...] = ()
    records: tuple[Record, ...] = ()
    interactions: tuple[InteractionRecord, ...] = ()
    constraint_records: tuple[ConstraintRecord, ...] = ()
    links: tuple[np.ndarray, ...] = ()  #: linked bodies
    linked = False
    walls: tuple[Any, ...] = ()  #: walls that may form corners
    applied: tuple[Applied, ...] = ()  #: forces and torques in users' arrays

    def follow(self, before: Part) -> None:
        """Take over the lineages (thus the bindings) of the previous constraint records, and arrays that are equal."""
        if self.constraint_records and len(self.constraint_records) == len(before.constraint_records):
            pairs = zip(self.constraint_records, before.constraint_records, strict=True)
            self.constraint_records = tuple([_following(new, old) for new, old in pairs])


def _following(new: ConstraintRecord, old: ConstraintRecord) -> ConstraintRecord:
    known, fields = old.fields, new.fields
    same = {name: known[name] for name, array in fields.items() if name in known and same_items(known[name], array)}
    return replace(new, fields=fields | same, lineage=old.lineage)
