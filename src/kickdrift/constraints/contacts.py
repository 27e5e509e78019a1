"""Contacts of bodies at rest: piles, columns, bridges."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .. import validation
from ..declaration import declaration, filter_field, numbers, place
from .base import ABSENT, ALL_BITS, OF_JOINTS, OF_SHAPES, SHAPES_PER_BODY, Filtered, countable, weights
from .joints import Distance
from .shapes import Boxes, Segments, Shapes
from .walls import Box, Plane, Wall

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..stepper.model import Plan
    from ..stepper.pieces import ConstraintRecord
    from ..stepper.slots import Slots
    from .periodic import Periodic


#: Functions that validate single-valued coefficients, in the order of the constructor, and classes of nested parts.
_CHECKED: dict[str, Callable[[str, Any], Any]] = {
    "substeps": lambda label, value: validation.integer(label, value, 1, 10**6),
    "sleep": validation.flag,
    "damping_ratio": lambda label, value: validation.real(label, value, minimum=0.0),
    "hertz": lambda label, value: None if value is None else validation.real(label, value, above=0.0),
}
_PARTS: dict[str, tuple[type, ...]] = {"walls": (Box, Plane), "shapes": (Segments, Boxes), "joints": (Distance,)}


def _parts_of(label: str, value: Any, kinds: tuple[type, ...]) -> tuple[Any, ...]:
    known = " or ".join(kind.__name__ for kind in kinds)
    try:
        parts = tuple(value)
    except TypeError:
        raise TypeError(f"{label}: expected a sequence ({known}), got {validation.show(value)}") from None
    for part in parts:
        if not isinstance(part, kinds):
            raise TypeError(f"{label}: expected {known}, got {validation.show(part)}")
        if isinstance(part, Distance) and np.any(np.asarray(part.stiffness) != 1):
            raise ValueError(f"{label}: expected rods or compliance, got stiffness")
    return parts


@declaration()
class Contacts(Filtered):
    """Resting contacts: piles, columns, rope bridges (Soft Step: Catto 2024, Solver2D; Box2D 3).

    radius: m, >= 0, scalar or (n,): spheres, circles in the plane, segments on a line.
    restitution: 0 to 1, scalar or (n,), the ratio of separation speed to approach speed; two bodies use the larger
    one. friction: Coulomb's coefficient >= 0, scalar or (n,), between bodies and with walls; two bodies
    use the geometric mean. rolling: coefficient of rolling resistance >= 0, scalar or (n,), of bodies that rotate:
    the torque is at most rolling * radius * normal force, and of two bodies the larger coefficient acts.
    hertz: Hz, natural frequency of contacts as springs; by default 0.3 times the substep rate. damping_ratio: of these
    springs.
    walls: `Box` and `Plane`. shapes: `Segments` and `Boxes`, the level that bodies rest on. Of walls and shapes,
    restitution and radius are not used, and friction, if above 0, replaces that of bodies with it.
    joints: `Distance` constraints that are solved together with the contacts. They are rods, or springs if they have
    compliance. Each substep solves them forwards and backwards, with the largest of their iterations. The velocity that
    corrects lengths is not carried over into the next substep, which lets nearly straight joints rest. It has a price:
    a pendulum of 1 m loses a fifth of its height in 10 s at 60 Hz, and speeds up little when it is wound in. A
    `Distance` outside of `Contacts` keeps its height. A rod of two equal bodies that falls upright rebounds with 0.63
    of its speed at restitution 1, with 0.38 at 0.5. Joints are as soft as contacts: a load F stretches one by some
    F (1/m + 1/m') (dt / substeps)² / 10, whatever the iterations. Three rods of 0.1 m with nodes of 10 g, below which
    10 kg hang, are 23 % too long at 60 Hz with 4 substeps, 1.4 % with 16, 0.1 % with 64.
    substeps: how many parts a step has, at least 1.
    sleep: whether groups of bodies may come to rest, which makes resting piles cost next to nothing; see below.
    category, mask, sensor: as for `ElasticCollisions`. Sensor bodies pass through walls and shapes too. A wall or shape
    whose category is 1, the default, takes the category of each body from here.

    Each substep adds its share of the velocity change by forces. Then contacts are solved, warm-started with the
    impulses of the last substep: they remove approach speed and a part of the overlap, at most two diameters a second.
    Then positions are integrated. Two relaxation sweeps remove the velocity that came from correcting overlap.

    Each body touches at most the 8 nearest shapes. Where two adjoin, such as the tiles of a floor, only the nearer one
    has an impulse, which lets bodies roll over seams, and over steps of 1/64 of their radius. Continuous collision
    detection stops bodies where they touch a shape, at any speed. It does not stop them at other bodies: of 200 shots
    none passed through its target at 1.2 sums of both radii a step, 29 did at 2.4, 122 at 4.8.
    `ElasticCollisions(swept=True)` stops all of them.

    A wall or shape for the same bodies has to be in `walls` or `shapes`: as a separate constraint it is refused. It may
    be a separate constraint for other bodies: sensors, or bodies that collide with nothing here by category and mask.

    With `Periodic`, bodies and joints use the minimum image. The sum of any two radii may be half of the width at
    most. Walls and shapes have no images. Walls must be invariant along axes that wrap, such as a floor below a box
    that wraps from left to right, or out of reach. A shape within 5/4 of a radius of a side that wraps needs a copy at
    the opposite side in `shapes`, unless it spans the box and as far beyond both sides. Shapes farther beyond a side
    are ignored, at any speed of a body.

    With `sleep=True`, bodies connected by contacts and joints form a group. A group is at rest in each step in which
    none of its bodies would move or turn by more than 1/1024 of what the forces of the step do, its contacts are those
    of the last step, and nothing that moves by itself touches it. Its bodies then stay where they are, to the bit, with
    velocity 0 and the same impulses. The price: a net force below a thousandth of its weight does not move a body at
    rest, such as gravity that turns by 0.05 degrees. Nothing has to be woken: whatever moves or pushes a body, in a
    step or by `set` and its like, is seen by the whole group in that step. A group that repeats its last step is not
    computed, unless there are events or it has joints. If all bodies are at rest, a step only compares the state with
    that of the last one, except where pairs may break.

    Events number the walls consecutively: the sides of a box as in `Box`, then those of the next wall, then the shapes.
    A HIT is recorded for a pair that approaches, without a contact impulse in the last step. A landing across the seam
    of two shapes may be two HITs, with the same tick and speed. The impulse of a HIT is the sum over the tick,
    including the restitution impulse at its end. A pair counts as touching also if it has an impulse while a gap is
    still closing.

    Contacts are springs, by default as stiff as the substeps allow. At rest a force F then compresses a contact by F
    (1/m + 1/m') (dt / substeps)² / 4.4; deep contacts are up to twice as stiff. With friction, 90 % of the excess load
    causes no further overlap after some 36 steps. The excess begins at the weight of ten such bodies; from 8 substeps
    on, at an impulse of m v / (40 h) in a substep of h seconds, v being two diameters a second, if that is more. More
    substeps make piles stiffer, and allow heavy bodies on light ones. With fewer than 8, piles of more than some 60
    layers may keep oscillating.
    Persistent contacts whose approach speed the forces of the step account for are over-relaxed by 1.25, in the two
    last sweeps by 1.4 (Young 1954), and their friction is under-relaxed by 0.9. This damps waves in a pile sooner.

    Bodies that touch nothing in a step move exactly as the integrator says. The others restart from their positions
    before the step, and the substeps apply the velocity change by forces of the step in equal parts, whatever the
    integrator. Their velocity is that at the end of the step, and zero at rest. Along directions without a contact, a
    body is then moved by the difference between the integrator's displacement and that of the substeps, as far as
    friction leaves a velocity change: on a smooth floor a spring, or an orbit, keeps its energy as it does in free
    space. Bodies on joints do not: a spring of angular frequency w between them gains (k - 1) / (2 k) (w dt)² of its
    energy in each step of k substeps under `semi_implicit_euler` and `verlet`, and loses 1 / (2 k) (w dt)² under the
    others. For gases and billiards, where energy counts, use `ElasticCollisions`: here a ball that hits two others at
    once, with restitution 1, leaves up to 1.13 of the energy if all masses are equal, 1.27 if it has a fifth of theirs.

    Bodies that attract each other and turn while in contact, or slide round a planet, do not keep their angular
    momentum: an error of order dt. Two discs that turn as one body at 0.5 rad/s have 0.50 of it after a minute under
    `velocity_verlet` at 60 Hz, 0.84 at 240 Hz; under `semi_implicit_euler` 5.7 and 1.64 times as much.
    `ElasticCollisions` keeps it to rounding there. In a bowl of 200 to 400 segments without friction the energy changes
    by -10 to 20 % in a minute.

    Piles rest at restitution 0 only: 60 balls in a box move with 0.02 to 0.05 m/s after 100 s at restitution 0.3, with
    0.1 to 0.4 m/s at 0.6, and cause 40 to 60 HITs a second there. `sleep` does not change that. After
    `set(contacts, restitution=0)` they are below 0.002 m/s within 2 s.

    Contacts look ahead by a step, with the planes in which they are nearest. A fast body may therefore bounce off a
    round body or a corner that it would have passed by less than a fiftieth of the distance of contact, at a radius a
    step, or a tenth at two; `ElasticCollisions(swept=True)` knows the time of impact.

    `set` accepts other `shapes`. Shapes with unchanged coordinates keep their impulses. Moved shapes keep them too if
    their part of the sequence has the same kind and length. A shape that is only moved by `set` has no velocity: bodies
    are separated from it as from any overlap, and friction does not carry them. Moved by more than some 1/16 of a
    radius in each step, it sinks into bodies on it; a move deeper into a body than its radius is refused. Removal of a
    touched shape records no END. Shapes and joints are handles: `set` accepts them like constraints, `enable` and
    `remove` joints.

    Shapes with a velocity move in each substep, and contacts are solved with the velocity of their surfaces. A shape
    that is among `shapes` again, the same object, moves on from where it is.

    Restitution uses the speed at the time of impact, and the rebound height is that of a bounce there. The body stays
    at the point of impact until the end of the step. In the substep after an impact its contact is solved first.

    The impulses are part of the state, of snapshots and of checksums. Each step colours the graph of contacts in the
    order of the bodies' indices, which makes results reproducible. Contacts of a colour share no movable body: they
    are solved together in vectors, by one thread. The broad phase is that of `ElasticCollisions`, with the same bound
    on pairs per body. Pinned and infinitely heavy bodies act as static. Put this constraint after others that correct
    positions.

    Raises TypeError or ValueError for wrong numbers, for walls, shapes and joints of other kinds, for fewer than one
    substep, for shapes that `set` moves farther into a body than its radius, for a separate wall for
    the same bodies, for walls and shapes that end at a side of `Periodic`, and for two `Contacts` in a stepper.

    >>> import kickdrift as kd
    >>> pile = kd.Stepper([[0.0, 1.0], [0.0, 3.0]], dt=1 / 60, forces=[kd.Gravity((0, -9.81))],
    ...                   constraints=[kd.Contacts(1.0, walls=[kd.Plane((0, 1), 0.0)])])
    >>> pile.step(600)
    >>> pile.position.round(2).tolist(), float(abs(pile.velocity).max().round(6))
    ([[0.0, 1.0], [0.0, 3.0]], 0.0)
    """

    kind = "contacts"
    radius_rank = 1
    reports_pairs = True
    independent = Filtered.independent | {"radius", "restitution", "friction", "rolling", "shapes", *_CHECKED}

    radius: ArrayLike = numbers(minimum=0.0, per_body="number")
    restitution: ArrayLike = numbers(minimum=0.0, maximum=1.0, default=0.0, per_body="number")
    friction: ArrayLike = numbers(minimum=0.0, default=0.4, per_body="number")
    rolling: ArrayLike = numbers(minimum=0.0, default=0.0, per_body="number")
    hertz: float | None = None
    damping_ratio: float = 10
    walls: tuple[Wall, ...] = place(default=())
    shapes: tuple[Shapes, ...] = place(default=())
    joints: tuple[Distance, ...] = ()
    substeps: int = 4
    category: ArrayLike = filter_field(1)
    mask: ArrayLike = filter_field(ALL_BITS)
    sensor: ArrayLike = filter_field(False)
    sleep: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (*_CHECKED, *_PARTS):
            self.__dict__[name] = self._checked(name, getattr(self, name))

    def _checked(self, name: str, value: Any) -> Any:
        label = f"Contacts({name})"
        if name in _CHECKED:
            return _CHECKED[name](label, value)
        return _parts_of(label, value, _PARTS[name]) if name in _PARTS else super()._checked(name, value)

    def placed(self, position: np.ndarray, periodic: Periodic | None = None) -> Self:
        joints = tuple(joint.placed(position, periodic) for joint in self.joints)
        if all(new is old for new, old in zip(joints, self.joints, strict=True)):
            return self
        return self._with(joints=joints)

    def bound_to(self, slots: Slots) -> Self:
        return self._with(joints=tuple([joint.bound_to(slots) for joint in self.joints]))

    def declared_values(self) -> dict[str, Any]:
        """Return the contents, with nested walls, shapes and joints flattened."""
        described = super().declared_values()
        for name in ("walls", "shapes", "joints"):
            for number, part in enumerate(described.pop(name)):
                label = f"{name} {number} {type(part).__name__}"
                described |= {f"{label} {key}": value for key, value in part.declared_values().items()}
        return described

    @property
    def distances(self) -> tuple[Distance, ...]:
        return self.joints

    def sides(self, plan: Plan) -> int:
        return self._faces(plan) + sum(shapes.sides(plan) for shapes in self.shapes)

    def most_sides(self, plan: Plan) -> int:
        return self._faces(plan) + min(sum(shapes.sides(plan) for shapes in self.shapes), SHAPES_PER_BODY)

    def _faces(self, plan: Plan) -> int:
        return sum(self._sides_of_walls(plan))

    def _stiffness(self) -> np.ndarray:
        return np.array([2 * math.pi * (self.hertz or 0.0), self.damping_ratio, ROD_DAMPING])

    def fields_of(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        softness, writable = {"hertz", "damping_ratio"}, {"radius", "restitution", "friction", "rolling", "mass"}
        own = {name for name in names if not name.startswith((OF_SHAPES, OF_JOINTS))}
        if not own <= Filtered.independent | softness | writable:
            return None
        if "mass" in names and self.joints:  # the number of rods may change: pairs of immovable bodies are left out
            return None
        fields = self._changed_filters(plan, names, before)
        if fields is None:
            return None
        if fields and self.walls:  # the filters of walls depend on those of the bodies
            through = self._through_walls(plan)
            if bool(through.any()) != ("through" in before):
                return None
            fields |= {"through": through} if "through" in before else {}
        of_shapes = {name.removeprefix(OF_SHAPES) for name in names if name.startswith(OF_SHAPES)}
        of_joints = {name.removeprefix(OF_JOINTS) for name in names if name.startswith(OF_JOINTS)}
        parts = self._shape_numbers(plan, of_shapes, fields, before), self._rod_numbers(plan, of_joints, before)
        if parts[0] is None or parts[1] is None:
            return None
        fields |= parts[0] | parts[1]
        if "mass" in names:
            fields["weight"] = weights(plan)
        if not softness.isdisjoint(names):
            fields["stiffness"] = self._stiffness()
        if "rolling" in names and self._scalars(plan, "rolling").any() != ("rolling" in before):
            return None
        for name in ("radius", "restitution", *({"rolling"} & before.keys())):
            if name in names:
                fields[name] = np.broadcast_to(self._scalars(plan, name), (plan.n,))
        if "radius" in names and self.shapes:
            fields["shape_reach"] = np.stack([shapes.reach(plan, fields["radius"]) for shapes in self.shapes])
        return fields | (self._frictions(plan) if "friction" in names else {})

    def _shape_numbers(
        self, plan: Plan, names: Collection[str], filters: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        """Return the record fields for changed coefficients of shapes or filters of bodies; None for other names."""
        writable = {"friction", "restitution", "radius", "surface_speed", "enabled", "thickness"}
        if not set(names) <= Filtered.independent | writable:
            return None
        fields = {}
        if "enabled" in names:
            fields["shape_enabled"] = np.concatenate([shapes.flags() for shapes in self.shapes])
        if not {"enabled", "thickness"}.isdisjoint(names):
            # Use the unrounded radius: its sum with the thickness is rounded once.
            radius = np.broadcast_to(self._scalars(plan, "radius"), (plan.n,))
            fields["shape_reach"] = np.stack([shapes.reach(plan, radius) for shapes in self.shapes])
        if "friction" in names:
            fields["shape_friction"] = self._friction_of(plan, self.shapes)
        if "surface_speed" in names:
            belt = np.stack([shapes.belt(plan) for shapes in self.shapes])
            if bool(belt.any()) != ("shape_belt" in before):
                return None
            fields |= {"shape_belt": belt} if "shape_belt" in before else {}
        if self.shapes and (filters or not Filtered.independent.isdisjoint(names)):
            fields["shape_through"] = self._through_parts(plan, self.shapes)
        return fields

    def _rod_numbers(
        self, plan: Plan, names: Collection[str], before: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray] | None:
        """Return record fields for changed coefficients of joints; None if fields or rods appear or disappear."""
        if not names:
            return {}
        if not set(names) <= {"length", "max_length", "min_length", "compliance"}:
            return None
        rods = self._rods(plan)
        changing = ("length", "compliance", "lower", "upper")
        if any((name in rods) != (name in before) for name in changing) or len(rods["first"]) != len(before["first"]):
            return None
        return {name: rods[name] for name in changing if name in rods}

    def _through_parts(self, plan: Plan, parts: Sequence[Wall]) -> np.ndarray:
        """Return `Wall._through` per part (a wall or shapes) and body; sensor bodies pass through all parts."""
        sensor = np.broadcast_to(self._scalars(plan, "sensor"), (plan.n,)).astype(np.uint8)
        rows = [np.maximum(part._through(plan, self), sensor) for part in parts]
        return np.array(rows, np.uint8).reshape(len(parts), plan.n)

    def _through_walls(self, plan: Plan) -> np.ndarray:
        return np.repeat(self._through_parts(plan, self.walls), self._sides_of_walls(plan), axis=0)

    def _sides_of_walls(self, plan: Plan) -> list[int]:
        return [len(wall.faces(plan)[1]) for wall in self.walls]

    def _friction_of(self, plan: Plan, parts: Sequence[Any]) -> np.ndarray:
        """Return the friction per part (a wall or shapes) and body; a part without friction uses that of the body."""
        friction, rows = self._scalars(plan, "friction"), np.empty((len(parts), plan.n))
        for row, part in zip(rows, parts, strict=True):
            own = part._scalars(plan, "friction")
            row[:] = np.where(own > 0, own, friction)
        return rows

    def _frictions(self, plan: Plan) -> dict[str, np.ndarray]:
        """Return the friction of each body, and per wall or part of shapes and body."""
        walls = np.repeat(self._friction_of(plan, self.walls), self._sides_of_walls(plan), axis=0)
        found = {"friction": np.broadcast_to(self._scalars(plan, "friction"), (plan.n,)), "wall_friction": walls}
        return found | ({"shape_friction": self._friction_of(plan, self.shapes)} if self.shapes else {})

    def compile(self, plan: Plan) -> None:
        countable("Contacts", plan)
        weight = weights(plan)
        radius, restitution, rolling = (
            np.broadcast_to(self._scalars(plan, name), (plan.n,)) for name in ("radius", "restitution", "rolling")
        )
        normals, offsets = [np.zeros((0, plan.dim))], [np.zeros(0)]
        belts = [np.zeros((0, plan.dim + 1))]
        for wall in self.walls:
            order = np.argsort(wall.numbers(plan))  # sort by event numbers
            normal, offset = (rows[order] for rows in wall.faces(plan))
            belts.append(np.broadcast_to(wall.belt(plan), (len(offset), plan.dim + 1)))
            normals.append(normal)
            offsets.append(offset)
        rods = self._rods(plan)
        frictions = self._frictions(plan)
        plan.add_constraint(
            self.kind,
            self,
            radius=radius,
            restitution=restitution,
            friction=frictions["friction"],
            **({"rolling": rolling} if rolling.any() else {}),
            weight=weight,
            normal=np.concatenate(normals),
            offset=np.concatenate(offsets),
            wall_friction=frictions["wall_friction"],
            **{name: rods[name] for name in ("first", "second", "length", "compliance")},
            number=np.arange(len(rods["first"])),
            generations=rods["generations"],
            stiffness=self._stiffness(),
            sweeps=np.array([max((joint.iterations for joint in self.joints), default=0)]),
            substeps=np.array([self.substeps]),
            lag=np.array([plan.integrator.velocity_lag]),
            **({"sleep": np.ones(1, np.int64)} if self.sleep else {}),
            **({"wall_belt": belt} if (belt := np.concatenate(belts)).any() else {}),
            **({"through": through} if (through := self._through_walls(plan)).any() else {}),
            **self._level(plan, radius, frictions),
            **self._filters(plan),
            **{name: rods[name] for name in ("pair", "member", "lower", "upper", "limit") if name in rods},
        )

    def _rods(self, plan: Plan) -> dict[str, np.ndarray]:
        """Return record fields of all rods, joint after joint; with limits only if some rod has limits."""
        whole, real = np.zeros(0, np.int64), np.zeros(0)
        none = {
            "first": whole,
            "second": whole,
            "length": real,
            "compliance": real,
            "generations": np.zeros((0, 2), int),
        }
        rods = [none | {"pair": whole}, *(joint.rods(plan) for joint in self.joints)]
        names = dict.fromkeys(name for each in rods for name in each)
        fields = {
            name: np.concatenate([each.get(name, np.full(len(each["first"]), ABSENT.get(name))) for each in rods])
            for name in names
        }
        return fields | {"member": np.repeat(np.arange(len(rods)) - 1, [len(each["first"]) for each in rods])}

    def _level(self, plan: Plan, radius: np.ndarray, frictions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return record fields of the shapes of all parts: arrays per part, per part and body, or per shape."""
        if not self.shapes:
            return {}
        found: dict[str, list[np.ndarray]] = {}
        moves = any(shapes.moves for shapes in self.shapes)
        for shapes in self.shapes:
            shapes.check(plan)
            fields = shapes.described(plan, radius)
            nothing = {"one_way": fields["lower"] * 0, **shapes._motion()}
            if not moves:
                nothing = {"one_way": fields["lower"] * 0}
            fields = nothing | fields
            for name, each in fields.items():
                found.setdefault(name, []).append(each)
        belt = np.stack([shapes.belt(plan) for shapes in self.shapes])
        if not any(sides.any() for sides in found["one_way"]):
            del found["one_way"]
        reach = np.stack(found.pop("reach"))
        begin = np.cumsum([0, *(len(lower) for lower in found["lower"])])
        return {
            "shape_reach": reach,
            "shape_friction": frictions["shape_friction"],
            "shape_through": self._through_parts(plan, self.shapes),
            **{f"shape_{name}": np.concatenate(each) for name, each in found.items()},
            "shape_begin": begin,
            **({"shape_belt": belt} if belt.any() else {}),
        }


def check_walls(plan: Plan) -> None:
    """Refuse walls beside `Contacts` for the same bodies, because each would undo the corrections of the other."""
    resting = [record.constraint for record in plan.constraint_records if record.kind == Contacts.kind]
    if len(resting) > 1:
        raise ValueError("constraints: expected one Contacts at most, got two")
    walls = [each for each in plan.constraints if isinstance(each, Wall)]
    for contacts in resting if walls else ():
        taken = (contacts._scalars(plan, "mask") != 0) & (contacts._scalars(plan, "category") != 0)
        for own in (*contacts.walls, *contacts.shapes):
            taken = taken | (own._through(plan, contacts) == 0)
        taken = taken & ~contacts._scalars(plan, "sensor")
        for wall in walls:
            if ((wall._through(plan) == 0) & taken).any():
                name = "shapes" if isinstance(wall, Shapes) else "walls"
                raise ValueError(
                    f"constraints: expected this {type(wall).__name__} in Contacts({name}=...), which moves the bodies "
                    f"that it stops, got it beside Contacts"
                )


def check_sides(plan: Plan, record: ConstraintRecord) -> None:
    """Refuse walls and shapes that act at one side of a periodic box but not across the opposite side."""
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
        # Smallest component along the normal of any point in the box, summed over periodic axes. Minus the offset, it
        # is the smallest distance from the wall.
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
    """Refuse shapes of one part that act at one side of a periodic box only."""
    begin, (low, high) = fields["shape_begin"], box
    here = np.concatenate([np.full(end - first, number) for number, (first, end) in enumerate(pairwise(begin))])
    alike = (fields["shape_segments"][here] == kind) & (fields["shape_enabled"] != 0)
    one, other = (fields[f"shape_{name}"].astype(np.float64) for name in ("lower", "upper"))
    known = np.stack([one[alike], other[alike]], axis=1)

    def touched(ends: np.ndarray) -> np.ndarray:
        """Return for each shape whether a body in the box can reach it."""
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


#: Shapes within this multiple of a body's reach are contact candidates, even if the body hardly moves.
TOUCHED = 1.25
#: Damping ratio of rods. Bilateral constraints need less damping: each substep corrects more of the error.
ROD_DAMPING = 5.0
