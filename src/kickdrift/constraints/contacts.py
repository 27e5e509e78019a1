"""Bodies that rest on each other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import validation
from ..declaration import declaration, noticed, numbers, place
from .base import ALL_BITS, SHAPES_PER_BODY, Filtered, countable, weights
from .joints import Distance
from .shapes import Boxes, Segments, Shapes
from .walls import Box, Plane, Wall

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan
    from ..stepper.pieces import ConstraintRecord
    from ..stepper.slots import Slots
    from .periodic import Periodic


@declaration()
class Contacts(Filtered):
    """Bodies that rest on each other: piles, columns, rope bridges (Soft Step: Catto 2024, Solver2D; Box2D 3).

    radius: m, >= 0, scalar or (n,): spheres, circles in the plane, segments on a line. They do not turn.
    restitution: 0 to 1, scalar or (n,), the share of the approach speed that is left after a blow; of two bodies the
    larger counts. friction: Coulomb's coefficient >= 0, scalar or (n,), between bodies and with walls; of two bodies
    the geometric mean counts. walls: `Box` and `Plane`; shapes: `Segments` and `Boxes`, the level that bodies rest on.
    Of these only the places count, thickness, which shapes are enabled, friction if it is above 0, and category, mask
    and sensor.
    joints: `Distance` constraints that are solved together with the contacts. They are rods, or springs if they have
    compliance. In each substep they are processed forwards and backwards, as often as the largest of their iterations
    says. What corrects lengths is not carried over into the next substep, so nearly straight joints rest.
    category, mask, sensor: as for `ElasticCollisions`. Bodies that are sensors go through walls and shapes too.

    A step is cut into `substeps`. In each substep, the forces of the step give their share. Then every contact
    pushes, beginning with its impulse of the last substep: it removes the speed of approach and a part of the
    overlap, at most two diameters a second. Then bodies move. At last contacts remove the speed that came from
    pushing bodies apart, in two sweeps.

    Of shapes each body touches the 8 nearest ones. Where two meet, such as the tiles of a floor, only the nearer one
    pushes, so that bodies roll over joints, and over steps of 1/64 of their radius. Fast bodies stop where they touch a
    shape, and do not go through at any speed.

    A wall or shape that stops the same bodies has to be in `walls` or `shapes`: one that stands beside this constraint
    is refused. One for other bodies may stand there: for those that are sensors here, or meet none by their category
    and mask and by those of the walls and shapes.

    Beside `Periodic` bodies and joints reach to the nearest image. Any two radii together may be half of the width at
    most. Walls and shapes stand where they are, once. So walls have to be the same all the way, such as a floor below a
    box that wraps from left to right, or out of reach. A shape within 5/4 of a radius of a side that wraps needs its
    image at the other side among `shapes`, or it reaches across the box and as far beyond both sides. Shapes that are
    farther beyond a side are not seen, however fast a body goes there.

    Events number the walls one after the other: the sides of a box as it numbers them, then those of the next wall,
    then the shapes. A HIT is two that come together and did not push each other a step ago; its impulse is that of the
    tick, with the rest of a blow that comes at the end of it. Two touch also where they push, though they are about to
    close a gap.

    Contacts are springs of `hertz` and `damping_ratio`. If left out, they are as stiff as the substeps allow, 0.3 of
    their rate. At rest a force F compresses a contact by F (1/m + 1/m') (dt / substeps)² / 4.4; deep contacts are up
    to twice as hard. With friction, nine tenths of the load above the weight of ten bodies like these is carried
    without compression, after some 36 steps; from 8 substeps on, of the load above an impulse of m v / (40 h) in a
    substep of h seconds, v being two diameters a second, if that is more. More substeps make piles stiffer, and allow
    heavy bodies on light ones. With fewer than 8, piles of more than some 60 layers may swing on.
    Contacts that pushed in the step before are over-relaxed by 1.25, in the two last sweeps by 1.4 (Young 1954), and
    their friction is under-relaxed by 0.9, if they come together no faster than the forces of the step make them. So
    waves in a pile die out sooner.

    Bodies that touch nothing in a step move exactly as the integrator says. The others start again from their places
    before the step, and move through the substeps with the velocity changes that the forces gave them in it. For them
    this is semi-implicit Euler at dt / substeps, whatever the integrator. Their velocity is the one at the end of the
    step, and at rest it is zero. For gases and billiards, where energy counts, use `ElasticCollisions`.

    `set` takes other `shapes`: a shape at the same place goes on with its impulses. So does one that is somewhere
    else, if as many of the same kind are in its place in the sequence. It has no velocity: bodies are pushed out of
    its new place as out of any overlap, and carried by no friction. What moves by more than some 1/16 of a radius in
    a step sinks into what stands on it, and is refused where it is farther in a body than its radius. Who touched a
    shape that is gone is told no END. Joints are handles: `set`, `enable` and `remove` take them as they take
    constraints.

    Restitution counts with the speed at the touch, and the height to which a body comes back is as if it had bounced
    there. It stays at the touch until the end of the step.

    The impulses are part of the state, of snapshots and of checksums. Contacts are sorted into colours in each step,
    in the order of the bodies' indices, so the result depends on nothing else. Those of a colour have no body in
    common that anything moves: they are solved side by side in vectors, by one thread. Pairs that are near each
    other are found as by `ElasticCollisions`, with the same bound in a crowd. Pinned and infinitely heavy bodies push
    others, and nothing pushes them. Place this constraint after others that correct positions.

    Raises TypeError or ValueError for wrong numbers, for walls, shapes and joints of other kinds, for fewer than one
    substep, for shapes that `set` moves farther into a body than its radius, for a wall beside it, for walls and
    shapes that end at a side of `Periodic`, and where there are two of this kind in a stepper.

    >>> import kickdrift as kd
    >>> pile = kd.Stepper([[0.0, 1.0], [0.0, 3.0]], dt=1 / 60, forces=[kd.Gravity((0, -9.81))],
    ...                   constraints=[kd.Contacts(1.0, walls=[kd.Plane((0, 1), 0.0)])])
    >>> pile.step(600)
    >>> pile.position.round(2).tolist(), float(abs(pile.velocity).max().round(6))
    ([[0.0, 1.0], [0.0, 3.0]], 0.0)
    """

    kind = "contacts"
    meets = True
    independent = frozenset({"radius", "restitution", "friction"})

    radius: ArrayLike = numbers(minimum=0.0, per_body="number")
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=0.0, per_body="number")
    friction: ArrayLike = numbers(minimum=0.0, default=0.4, per_body="number")
    hertz: float | None = None
    damping_ratio: float = 10
    walls: tuple[Wall, ...] = place(default=())
    shapes: tuple[Shapes, ...] = place(default=())
    joints: tuple[Distance, ...] = ()
    substeps: int = 4
    category: ArrayLike = noticed(1)
    mask: ArrayLike = noticed(ALL_BITS)
    sensor: ArrayLike = noticed(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        substeps = validation.integer("Contacts(substeps)", self.substeps, 1, 10**6)
        object.__setattr__(self, "substeps", substeps)
        ratio = validation.real("Contacts(damping_ratio)", self.damping_ratio, minimum=0.0)
        object.__setattr__(self, "damping_ratio", ratio)
        if self.hertz is not None:
            object.__setattr__(self, "hertz", validation.real("Contacts(hertz)", self.hertz, above=0.0))
        for name, kinds in (("walls", (Box, Plane)), ("shapes", (Segments, Boxes)), ("joints", (Distance,))):
            object.__setattr__(self, name, self._parts(name, kinds))
        for joint in self.joints:
            if np.any(np.asarray(joint.stiffness) != 1):
                raise ValueError("Contacts(joints): expected rods or compliance, got stiffness")

    def _parts(self, name: str, kinds: tuple[type, ...]) -> tuple[Any, ...]:
        known = " or ".join(kind.__name__ for kind in kinds)
        try:
            parts = tuple(getattr(self, name))
        except TypeError:
            given = validation.show(getattr(self, name))
            raise TypeError(f"Contacts({name}): expected a sequence ({known}), got {given}") from None
        for part in parts:
            if not isinstance(part, kinds):
                raise TypeError(f"Contacts({name}): expected {known}, got {validation.show(part)}")
        return parts

    def placed(self, position: np.ndarray, periodic: Periodic | None = None) -> Self:
        joints = tuple(joint.placed(position, periodic) for joint in self.joints)
        if all(new is old for new, old in zip(joints, self.joints, strict=True)):
            return self
        return dataclasses.replace(self, joints=joints)

    def held(self, slots: Slots) -> Self:
        return dataclasses.replace(self, joints=tuple(joint.held(slots) for joint in self.joints))

    def told(self) -> dict[str, Any]:
        """Walls, shapes and joints are told one by one."""
        told = super().told()
        for name in ("walls", "shapes", "joints"):
            for number, part in enumerate(told.pop(name)):
                label = f"{name} {number} {type(part).__name__}"
                told |= {f"{label} {key}": value for key, value in part.told().items()}
        return told

    def sides(self, plan: Plan) -> int:
        return self._faces(plan) + sum(shapes.sides(plan) for shapes in self.shapes)

    def most_sides(self, plan: Plan) -> int:
        return self._faces(plan) + min(sum(shapes.sides(plan) for shapes in self.shapes), SHAPES_PER_BODY)

    def _faces(self, plan: Plan) -> int:
        return sum(len(wall.faces(plan)[1]) for wall in self.walls)

    def _stiffness(self) -> np.ndarray:
        return np.array([2 * math.pi * (self.hertz or 0.0), self.damping_ratio, ROD_DAMPING])

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        softness = {"hertz", "damping_ratio"}
        if not set(names) <= softness | {"restitution", "friction"}:
            return None
        if self.shapes and "friction" in names:
            return None  # theirs follows from it
        fields = {} if softness.isdisjoint(names) else {"stiffness": self._stiffness()}
        if "restitution" in names:
            fields["restitution"] = np.broadcast_to(self._scalars(plan, "restitution"), (plan.n,))
        return fields | (self._frictions(plan) if "friction" in names else {})

    def _frictions(self, plan: Plan) -> dict[str, np.ndarray]:
        """Of bodies, and of each wall with each of them: that of the body, where the wall has none."""
        friction = np.broadcast_to(self._scalars(plan, "friction"), (plan.n,))
        rows = [np.zeros((0, plan.n))]
        for wall in self.walls:
            own = wall._scalars(plan, "friction") + np.zeros(plan.n)
            rows.append(np.broadcast_to(np.where(own > 0, own, friction), (len(wall.faces(plan)[1]), plan.n)))
        return {"friction": friction, "wall_friction": np.concatenate(rows)}

    def compile(self, plan: Plan) -> None:
        countable("Contacts", plan)
        weight = weights(plan)
        radius, restitution = (
            np.broadcast_to(self._scalars(plan, name), (plan.n,)) for name in ("radius", "restitution")
        )
        normals, offsets = [np.zeros((0, plan.dim))], [np.zeros(0)]
        passes = [np.zeros((0, plan.n), np.uint8)]
        sensor = np.broadcast_to(self._scalars(plan, "sensor"), (plan.n,)).astype(np.uint8)
        for wall in self.walls:
            order = np.argsort(wall.numbers(plan))  # as they are reported
            normal, offset = (rows[order] for rows in wall.faces(plan))
            through = np.maximum(wall._through(plan), sensor)
            passes.append(np.broadcast_to(through, (len(offset), plan.n)))
            normals.append(normal)
            offsets.append(offset)
        rods = [joint.rods(plan) for joint in self.joints]
        whole = np.zeros(0, np.int64)
        none = whole, whole, np.zeros(0), np.zeros(0), np.zeros((0, 2), np.int64)
        first, second, length, compliance, tenants = (np.concatenate(each) for each in zip(none, *rods, strict=True))
        frictions = self._frictions(plan)
        plan.add_constraint(
            self.kind,
            self,
            radius=radius,
            restitution=restitution,
            friction=frictions["friction"],
            weight=weight,
            normal=np.concatenate(normals),
            offset=np.concatenate(offsets),
            wall_friction=frictions["wall_friction"],
            first=first,
            second=second,
            length=length,
            compliance=compliance,
            number=np.arange(len(first)),
            tenants=tenants,
            stiffness=self._stiffness(),
            sweeps=np.array([max((joint.iterations for joint in self.joints), default=0)]),
            substeps=np.array([self.substeps]),
            lag=np.array([plan.integrator.velocity_lag]),
            **({"through": through} if (through := np.concatenate(passes)).any() else {}),
            **self._level(plan, radius, frictions["friction"], sensor),
            **self._filters(plan),
        )

    def _level(self, plan: Plan, radius: np.ndarray, friction: np.ndarray, sensor: np.ndarray) -> dict[str, np.ndarray]:
        """The shapes, one part after the other: numbers of each part, with each body, and of each shape."""
        if not self.shapes:
            return {}
        found: dict[str, list[np.ndarray]] = {name: [] for name in ("friction", "through")}
        for shapes in self.shapes:
            shapes.check(plan)
            for name, each in shapes.described(plan, radius).items():
                found.setdefault(name, []).append(each)
            own = shapes._scalars(plan, "friction") + np.zeros(plan.n)
            found["friction"].append(np.where(own > 0, own, friction))
            found["through"].append(np.maximum(shapes._through(plan), sensor))
        by_body = {f"shape_{name}": np.stack(found.pop(name)) for name in ("reach", "friction", "through")}
        begin = np.cumsum([0, *(len(lower) for lower in found["lower"])])
        return {
            **by_body,
            **{f"shape_{name}": np.concatenate(each) for name, each in found.items()},
            "shape_begin": begin,
        }


def check_walls(plan: Plan) -> None:
    """Refuse walls that stop bodies beside contacts: what each of the two does, the other would undo."""
    resting = [record.constraint for record in plan.constraint_records if record.kind == Contacts.kind]
    if len(resting) > 1:
        raise ValueError("constraints: expected one Contacts at most, got two")
    for contacts in resting:
        taken = (contacts._scalars(plan, "mask") != 0) & (contacts._scalars(plan, "category") != 0)
        for own in (*contacts.walls, *contacts.shapes):
            taken = taken | (own._through(plan) == 0)
        taken = taken & ~contacts._scalars(plan, "sensor")
        for wall in plan.constraints:
            if isinstance(wall, Wall) and ((wall._through(plan) == 0) & taken).any():
                name = "shapes" if isinstance(wall, Shapes) else "walls"
                raise ValueError(
                    f"constraints: expected this {type(wall).__name__} in Contacts({name}=...), which moves the bodies "
                    f"that it stops, got it beside Contacts"
                )


def check_sides(plan: Plan, record: ConstraintRecord) -> None:
    """Refuse walls and shapes that bodies would meet at one side of a periodic box, and not through the other."""
    fields, torus = record.fields, plan.torus
    assert torus is not None
    around = np.flatnonzero(torus.width > 0)
    radius = fields["radius"].astype(np.float64)
    low, high = torus.lower.astype(np.float64), torus.upper.astype(np.float64)
    for face, normal in enumerate(fields["normal"].astype(np.float64)):
        held = radius[fields["through"][face] == 0] if "through" in fields else radius
        across = [axis for axis in around if abs(normal[axis]) > 1e-9]
        if not across or not held.size:
            continue
        # The least distance of any place in the box, where the plane is not open to other places.
        least = sum(a * (low[axis] if a > 0 else high[axis]) for axis, a in enumerate(normal) if axis in around)
        alone = not any(normal[axis] for axis in range(plan.dim) if axis not in around)
        if not (alone and least - fields["offset"][face] >= TOUCHED * held.max()):
            raise ValueError(
                f"Contacts(walls): expected walls that run along the sides of Periodic or are out of reach, "
                f"got the normal {normal.tolist()} where it wraps along axis {across[0]}"
            )
    for part, kind in enumerate(fields.get("shape_segments", ())):
        held = fields["shape_reach"][part][fields["shape_through"][part] == 0]
        if held.size:
            _check_images(fields, part, kind, TOUCHED * float(held.max()), [low, high], around)


def _check_images(
    fields: dict[str, np.ndarray], part: int, kind: int, reach: float, box: list[np.ndarray], around: np.ndarray
) -> None:
    """The same for the shapes of one part, which are of one kind; bodies touch what is so near."""
    begin, (low, high) = fields["shape_begin"], box
    here = np.concatenate([np.full(end - first, number) for number, (first, end) in enumerate(pairwise(begin))])
    alike = (fields["shape_segments"][here] == kind) & (fields["shape_enabled"] != 0)
    one, other = (fields[f"shape_{name}"].astype(np.float64) for name in ("lower", "upper"))
    known = np.stack([one[alike], other[alike]], axis=1)

    def touched(ends: np.ndarray) -> np.ndarray:
        """Of each: does it come near any body in the box?"""
        near = (ends.min(axis=1) <= high + reach) & (ends.max(axis=1) >= low - reach)
        return np.asarray(near[:, around].all(axis=1))

    own = np.flatnonzero(alike & (here == part))
    ends = np.stack([one[own], other[own]], axis=1)
    for axis in around:
        level = np.delete(one[own] == other[own], axis, axis=1).all(axis=1) if kind else True
        across = (ends.min(axis=1) <= low - reach)[:, axis] & (ends.max(axis=1) >= high + reach)[:, axis] & level
        for sign in (-1, 1):
            image = ends.copy()
            image[:, :, axis] += sign * (high - low)[axis]
            for k in np.flatnonzero(touched(ends) & touched(image) & ~across):
                if not (np.abs(known - image[k]).max(axis=(1, 2)) <= reach / 64).any():
                    raise ValueError(
                        f"Contacts(shapes): expected shapes near a side of Periodic to have their image at the other "
                        f"side, or to reach across it and {reach:g} m beyond both sides; number {own[k] - begin[part]} "
                        f"of shapes[{part}] has none {sign * (high - low)[axis]:+g} m along axis {axis}"
                    )


#: Of its reach: how near a shape is that a body may touch in a step, however little it moves.
TOUCHED = 1.25
#: Damping ratio of rods, which never let go and so need less: more of what they are off is taken at once.
ROD_DAMPING = 5.0
