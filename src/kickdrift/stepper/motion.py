"""Moving shapes: their positions and velocities, which are part of the state, and their snapshot section.

A declaration has the initial positions and velocities of its shapes. Afterwards a row of numbers per shape has the
current displacement, angle and velocities, in float64 whatever the dtype of the bodies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import validation
from ..errors import SnapshotError
from ..rollback.parts import Part
from .entries import Entry

if TYPE_CHECKING:
    from ..constraints.shapes import Shapes
    from .base import StepperBase

#: Kinds of declarations that are or have shapes.
HOLDERS = ("shapes", "contacts")
#: Coefficients whose current values are in `Motion.rows`.
SPEEDS = frozenset(("velocity", "angular_velocity"))


def shapes_of(entry: Entry) -> Sequence[tuple[int, Shapes, Shapes]]:
    """Return (number, current declaration, that declaration in the current coordinates) of each shape of an entry."""
    now, today = entry.now, entry.today
    if now.kind == "shapes":
        return ((0, now, today),)  # type: ignore[return-value]
    if now.kind == "contacts":
        return [*zip(range(len(now.shapes)), now.shapes, today.shapes, strict=True)]  # type: ignore[attr-defined, union-attr]
    return ()


def present(entry: Entry, shapes: Any) -> Any:
    """Return the shapes given to `Contacts`; replace those that it already has by their current declarations."""
    known = {id(name): today for _, now, today in shapes_of(entry) for name in (now.handle, now, today)}
    return [known.get(id(each), each) for each in shapes] if isinstance(shapes, (list, tuple)) else shapes


class Motion:
    """One row per moving shape: displacement, angle, velocity, angular velocity; 2 dim + 2 numbers.

    before: the previous Motion, whose rows are kept. follow: (index of entry, index of shape) -> previous index of the
    shape, None if it is new; indices of other shapes are unchanged. The attribute `rows` has the current state,
    `before` the state before the last step, at which interpolation starts.
    """

    def __init__(
        self,
        entries: tuple[Entry, ...],
        dim: int,
        before: Motion | None = None,
        follow: Mapping[tuple[int, int], int | None] = MappingProxyType({}),
    ) -> None:
        self.dim = dim
        #: `_first`: id of a declaration of the plan -> its first row. `_known`: (id of origin, shape index) -> rows.
        self._first: dict[int, int] = {}
        self._known: dict[tuple[int, int | None], slice] = {}
        initial, kept, total = [np.zeros((0, 2 * dim + 2))], [], 0
        for place, entry in enumerate(entries):
            for k, now, today in shapes_of(entry):
                if not now.moves:
                    continue
                own = slice(total, total := total + now.count)
                self._first[id(today)] = own.start
                self._known[id(entry.origin), k] = own
                initial.append(now.initial_rows(dim))
                old = None if before is None else before._known.get((id(entry.origin), follow.get((place, k), k)))
                if old is not None and old.stop - old.start == now.count:
                    kept.append((own, old))
        self.initial = np.concatenate(initial)
        self.rows, self.before = self.initial.copy(), self.initial.copy()
        if before is not None:
            if len(kept) == len(self._known) == len(before._known) and all(here == there for here, there in kept):
                self.rows, self.before = before.rows, before.before  # the arrays that kernels are bound to
                return
            for here, there in kept:
                self.rows[here], self.before[here] = before.rows[there], before.before[there]

    def know(self, entries: tuple[Entry, ...], alike: tuple[Entry, ...]) -> None:
        """Let `of` accept the declarations of `entries`, too.

        alike: the entries for which this Motion was created; `entries` are copies of them.
        """
        for entry, own in zip(entries, alike, strict=True):
            for k, now, today in shapes_of(entry):
                if now.moves:
                    self._first[id(today)] = self._known[id(own.origin), k].start

    def of(self, declaration: Shapes, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the rows of the shapes of a declaration of the plan."""
        first = self._first[id(declaration)]
        return (self.rows if rows is None else rows)[first : first + declaration.count]

    def keep(self) -> None:
        """Save the current rows as the start of the interpolation."""
        self.before[...] = self.rows

    def coast(self, plan: Any, steps: int, h: float) -> None:
        """Advance the shapes of a plan by several steps, for a world without bodies."""
        for each in acting(plan):
            rows = self.of(each)
            for _ in range(steps):
                rows[:, : self.dim + 1] = rows[:, : self.dim + 1] + h * rows[:, self.dim + 1 :]


def motion_of(
    self: StepperBase, entries: tuple[Entry, ...], follow: Mapping[tuple[int, int], int | None] = MappingProxyType({})
) -> Motion | None:
    """Return the Motion for entries; None if no shape moves."""
    held = [entry for entry in entries if entry.now.kind in HOLDERS]
    if not any(now.moves for entry in held for _, now, _ in shapes_of(entry)):
        return None
    return Motion(entries, self._plan.dim, self._motion, follow)


def followed(entry: Entry, then: Entry, coefficients: Collection[str], place: int) -> dict[tuple[int, int], int | None]:
    """Return the argument `follow` of `Motion` for a change of coefficients of one entry."""
    if "shapes" in coefficients:
        old = {id(now.handle): k for k, now, _ in shapes_of(then)}
        same = {id(now): k for k, now, _ in shapes_of(then)} | old
        return {(place, k): same.get(id(now), same.get(id(now.handle))) for k, now, _ in shapes_of(entry)}
    return {(place, 0): None} if is_placed(entry.now, coefficients) else {}


def is_placed(declaration: Any, coefficients: Collection[str]) -> bool:
    """Return whether the coefficients set positions or velocities of shapes, which resets their rows of `Motion`."""
    return declaration.kind == "shapes" and not (declaration.places | SPEEDS).isdisjoint(coefficients)


def acting(plan: Any) -> list[Shapes]:
    """Return the declarations of a plan whose shapes move."""
    shapes = [part for each in plan.constraints for part in getattr(each, "shapes", (each,))]
    return [each for each in shapes if each.kind == "shapes" and each.moves]


def found(self: StepperBase, declaration: Any) -> list[tuple[int, int]]:
    """Return all (index of entry, index in `Contacts(shapes=)` or 0) of a declaration of shapes; [] for others."""
    places: list[tuple[int, int]] = []
    if getattr(declaration, "kind", None) != "shapes":
        return places
    for place, entry in enumerate(self._entries):
        alone = () if entry.now.kind == "contacts" else (entry.origin.handle, entry.origin.first)
        for k, now, today in shapes_of(entry):
            if any(name is declaration for name in (now, today, now.handle, *alone)):
                places.append((place, k))
    return places


def are_contacts(self: StepperBase, places: list[tuple[int, int]]) -> bool:
    """Return whether any of the entries at `places` is a `Contacts`."""
    return any(self._entries[place].now.kind == "contacts" for place, _ in places)


def changed(
    self: StepperBase, places: list[tuple[int, int]], given_to: Callable[[Any], dict[str, Any]]
) -> tuple[dict[int, tuple[Shapes, ...]], dict[tuple[int, int], int | None]]:
    """Return the changed shapes of `Contacts` by index of the entry, and the argument `follow` of `Motion`."""
    found: dict[int, tuple[Shapes, ...]] = {}
    follow: dict[tuple[int, int], int | None] = {}
    for place, number in places:
        parts = [*found.get(place, [today for _, _, today in shapes_of(self._entries[place])])]
        coefficients = given_to(parts[number])
        if is_placed(parts[number], coefficients):
            parts[number], follow[place, number] = posed(self, parts[number]), None
        parts[number] = parts[number].changed(coefficients)
        found[place] = tuple(parts)
    return found, follow


def set_speeds(self: StepperBase, places: list[tuple[int, int]], speeds: dict[str, Any]) -> bool:
    """Set velocities of shapes that already move; return False, without effect, if other coefficients are given."""
    if not SPEEDS.issuperset(speeds):
        return False
    parts = [shapes_of(self._entries[place])[k] for place, k in places]
    if self._motion is None or not all(today.moves for _, _, today in parts):
        return False
    writes = []
    for _, _, today in parts:
        given = {name: value for name, value in speeds.items() if value is not None}
        if len(given) < len(speeds):
            return False
        initial = today.changed(given).initial_rows(self.dim)
        rows = self._motion.of(today)
        if "velocity" in speeds:
            writes.append((rows[:, self.dim + 1 : -1], None, initial[:, self.dim + 1 : -1]))
        if "angular_velocity" in speeds:
            writes.append((rows[:, -1:], None, initial[:, -1:]))
    self._commit(writes=writes)
    return True


def posed(self: StepperBase, declaration: Any) -> Any:
    """Return a declaration of the plan with the current positions and velocities of its shapes."""
    if declaration.kind == "shapes" and declaration.moves and self._motion is not None:
        return declaration.posed(self._motion.of(declaration))
    if declaration.kind == "contacts" and any(shapes.moves for shapes in declaration.shapes):
        return dataclasses.replace(declaration, shapes=tuple(posed(self, shapes) for shapes in declaration.shapes))
    return declaration


def interpolate_shapes(self: StepperBase, shapes: Shapes, alpha: float | None = None) -> np.ndarray:
    """Return positions of shapes for drawing, interpolated between the states before and after the frame's last step.

    shapes: `Boxes` or `Segments` of this stepper, also those in `Contacts(shapes=)`. alpha: as for `interpolate`.
    Returns m, of shape (k, 2, dim): the lower and the upper corner of each box, or the two ends of each segment.
    Angles of rotating shapes are interpolated too. Raises TypeError or ValueError for other shapes, RuntimeError during
    a step.

    >>> import kickdrift as kd
    >>> lift = kd.Boxes([(0, 0)], [(40, 24)], velocity=(0, 30))
    >>> world = kd.Stepper([[90.0, 0.0]], hz=60, constraints=[lift])
    >>> world.advance(0.025), world.interpolate_shapes(lift).tolist()
    (1, [[[0.0, 0.25], [40.0, 24.25]]])
    """
    return np.asarray(self._exclusively(_interpolate_shapes, self, shapes, alpha))


def _interpolate_shapes(self: StepperBase, shapes: Any, alpha: float | None) -> np.ndarray:
    share = self.alpha if alpha is None else validation.real("alpha", alpha)
    places = found(self, shapes)
    if not places:
        if getattr(shapes, "kind", None) != "shapes":
            raise TypeError(f"shapes: expected Boxes or Segments, got {validation.show(shapes)}")
        raise ValueError(f"shapes: expected some that this stepper has, got another {type(shapes).__name__}")
    today = shapes_of(self._entries[places[0][0]])[places[0][1]][2]
    if not today.moves or self._motion is None:
        return np.stack(today.ends(), axis=1)
    now = self._motion.of(today)
    rows = (now if self._previous is None else self._motion.of(today, self._motion.before)).copy()
    turned = self.dim + 1
    rows[:, :turned] += share * (now[:, :turned] - rows[:, :turned])
    return np.stack(today.posed(rows).ends(), axis=1)


class ShapesPart(Part):
    """Snapshot section "shapes": the rows of all moving shapes; empty if all rows have their declared values."""

    name = "shapes"

    def save(self, stepper: Any) -> bytes:
        motion = stepper._motion
        if motion is None or np.array_equal(motion.rows, motion.initial):
            return b""
        return bytes((motion.rows + 0.0).astype("<f8").tobytes())  # -0 + 0 is 0

    def absent(self, stepper: Any) -> bool:
        return stepper._motion is None

    def most(self, stepper: Any) -> int:
        return 8 * 8 * 10**6  # the snapshot may have other shapes; a million of them is the limit

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        return {"motion": data}

    def check(self, stepper: Any, saved: Any) -> None:
        data = saved.changes.pop("motion")
        saved.changes["later"].append(lambda attributes: _writes(attributes.get("_motion", stepper._motion), data))


def _writes(motion: Motion | None, data: bytes) -> list[tuple[np.ndarray, None, np.ndarray]]:
    if motion is None:
        if data:
            raise SnapshotError("snapshot: expected no shapes that move, as there are none")
        return []
    if not data:
        return [(motion.rows, None, motion.initial)]
    if len(data) != motion.rows.nbytes:
        raise SnapshotError(f"snapshot: expected {motion.rows.nbytes} bytes of shapes that move, got {len(data)}")
    rows = np.frombuffer(data, "<f8").reshape(motion.rows.shape)
    negative = np.signbit(rows) & (rows == 0)
    if not np.isfinite(rows).all() or negative.any() or np.array_equal(rows, motion.initial):
        raise SnapshotError("snapshot: expected finite places of shapes that have moved")
    return [(motion.rows, None, rows)]
