"""All bodies as one system, which integrators step together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declaration import once
from ..stepper.events import key
from . import newton_krylov
from .body import Body, bodies
from .callbacks import ENERGIES, INTERACTIONS
from .constraints import CONSTRAINTS
from .constraints.motion import advance, motion_rows, moved_records
from .events import Reports
from .integrators import STARTS, energy_together
from .loads import Loads, cells
from .noise import normals, thermostat_numbers
from .slots import pinned, present_at_rest, present_fields
from .space import space_of
from .vector import Vector, dot, either, quotient, split, stacked

if TYPE_CHECKING:
    from .stepper import Stepper

#: Kinds of constraints that bodies may bounce off, and of all whose impulses are turned, see `turn_impulses`.
BOUNCING = {"plane", "box", "shapes"}
TURNED = BOUNCING | {"distance", "compliant_distance"}


class System(Body):
    """All bodies as one system, if they interact or are constrained; each component is a column of n numbers.

    Forces may be evaluated for all bodies at once, and constraints follow each step. `delta_v` is the velocity change
    of each body by the forces of the step, before any constraint; rotations of velocities are no part of it.
    """

    source = -1  #: the number of the constraint that is being applied

    def __init__(self, stepper: Stepper):
        self.stepper = stepper
        self.plan = stepper._plan
        self.slots = stepper._slots
        self.n, self.dim = stepper.n, stepper.dim
        super().__init__(stepper, np.arange(self.n))
        self.at_rest = present_at_rest(self)
        self.space = space_of(self.plan.torus, self.real)
        self.weights = self.scalar(self.plan.weight)
        turning = stepper._turning
        #: Angular velocity w (rad/s) and 1/I of each body, see `Turning`; None without rotation. Constraints change w.
        self.angular_velocity: list[Any] | None = None if turning is None else turning.angular_velocity
        self.inverse_inertia: list[Any] | None = None if turning is None else turning.inverse_inertia
        living = np.ones(self.n, np.bool_) if self.slots is None else self.slots.alive
        self.alive = living.astype(np.bool_)
        #: Whether forces move a body: inactive and pinned ones stay where they are.
        self.movable = self.alive & ~pinned(self)
        #: Impulses of the last completed step, which warm-start the next one: of contacts, by pair, and of rods.
        self.remembered: dict[tuple[int, int], Any] = {}
        self.remembered_rods: list[Any] = []
        if stepper._impulses is not None:
            pair, impulse, pull = stepper._impulses.now(self.slots)
            for ends, numbers in zip(pair.tolist(), impulse, strict=True):
                self.remembered[ends[0], ends[1]] = tuple(numbers)
            self.remembered_rods = list(pull[:, 0])
        self._next: Any = None

    def remember(self, impulses_by_pair: dict[tuple[int, int], Any], pull: list[Any]) -> None:
        """Store the impulses that warm-start the next step, see `Impulses`; discard those that have overflowed."""
        finite = {pair: numbers for pair, numbers in impulses_by_pair.items() if np.isfinite(numbers).all()}
        self._next = finite, [each if np.isfinite(each) else self.real(0) for each in pull]

    def count(self) -> None:
        super().count()
        for record in moved_records(self):
            for rows in motion_rows(self, record):
                if rows is not None:
                    advance(rows, self.dim, float(self.stepper._h))
        if self._next is not None:
            self.remembered, self.remembered_rods = self._next

    @once
    def parts(self) -> list[Body]:
        """All bodies, active or not, as single `Body` objects, for computations body by body."""
        return [Body(self.stepper, index) for index in range(self.n)]

    def joined(self, vectors: Any) -> Vector:
        """Assemble columns from one vector per body."""
        return stacked(vectors, self.real)

    def run(self, n: int) -> None:
        """Run n steps; stop early if one does not converge, or makes the state non-finite."""
        if self.plan.interactions:
            super().run(n)
        else:
            self._run_parts(n)

    def begin(self) -> None:
        """Initialize the history: of all bodies in the first step, later of bodies spawned since the last step."""
        start = STARTS.get(self.integrator.kind)
        v, history = self.v, self.history
        needs_start = np.zeros(self.n, np.bool_) if self.slots is None else self.slots.needs_start[: self.n] != 0
        if start is None or not (history is None or needs_start.any()):
            return
        start(self, self.last_h)
        if history is not None:
            self.v, self.history = either(needs_start, self.v, v), either(needs_start, self.history, history)

    @property
    def wraps_early(self) -> bool:
        """Whether positions are wrapped before the last force evaluation of a step, which the next step reuses."""
        kept = self.integrator.name == "velocity_verlet" or getattr(self.integrator, "velocity", "") == "central"
        alone = [record.kind for record in self.plan.constraint_records] == ["periodic"]
        return bool(self.plan.interactions) and alone and kept and not self.velocity_dependent

    def around(self, x: Vector, v: Vector, history: Any = None) -> tuple[Vector, Any]:
        """Wrap positions and previous positions into the periodic box at the end of a drift."""
        if not self.wraps_early:
            return x, history
        before = self.x, self.v, self.history
        self.x, self.v = x, v
        if history is not None:
            self.history = history
        CONSTRAINTS["periodic"](self, None)
        x, history = self.x, self.history
        self.x, self.v, self.history = before
        return x, history

    def keep(self, a: Vector) -> Vector:
        """Cache an acceleration for the next step; wrapping positions into a periodic box does not change it."""
        super().keep(a)
        if self.wraps_early:
            self._kept = a
        return a

    def of_movable(self, vectors: Vector) -> Vector:
        """Zero the vectors of inactive and pinned bodies, even if they are NaN."""
        return either(self.movable, vectors, Vector([self.real(0)] * self.dim))

    def step(self, h: Any) -> None:
        """Run one step of the scheme; implicit schemes solve for all bodies at once."""
        if self.integrator.kind == "implicit_euler":
            newton_krylov.implicit_euler(self, h)
        elif self.integrator.kind == "energy_euler":
            energy_together(self, h)
        else:
            super().step(h)
        if not self._thermostat_midway:
            self.apply_thermostat()

    @property
    def _thermostat_midway(self) -> bool:
        return self.integrator.kind == "velocity_verlet" and not self.velocity_dependent

    def _baths(self) -> Any:
        """Yield (body, friction factor, noise) of the thermostat for each active body; pinned ones get no noise."""
        for interaction in self.plan.interactions:
            if interaction.kind == "langevin":
                for i, alive in enumerate(self.alive):
                    if alive:
                        generation, world = self.generation(i), self.stepper._world
                        keep, kick = thermostat_numbers(
                            interaction, self.real, self.dim, i, self.tick, self.h, generation, world
                        )
                        yield i, keep, kick if self.movable[i] else [self.real(0) * each for each in kick]

    def apply_thermostat(self) -> None:
        """Apply the thermostat to velocities, and to Verlet's displacement, for a whole step."""
        x, v, s = self.rows()
        for i, keep, kick in self._baths():
            v[i] = keep * v[i] + Vector(kick)
            if s is not None:
                s[i] = x[i] - (keep * (x[i] - s[i]) + self.h * Vector(kick))
        self.put(x, v, s)

    def thermostatted(self, x: Vector, v: Vector, a: Vector) -> tuple[Vector, Vector]:
        """Apply the thermostat in mid-drift (BAOAB): x and v are those after a whole drift and a whole kick by a."""
        if not self._thermostat_midway:
            return x, v
        half = self.h / 2
        xs, vs, accelerations = split(x), split(v), split(a)
        for i, keep, kick in self._baths():
            u = vs[i] - half * accelerations[i]
            w = keep * u + Vector(kick)
            xs[i] = xs[i] + half * (w - u)
            vs[i] = w + half * accelerations[i]
        return self.joined(xs), self.joined(vs)

    def _run_parts(self, n: int) -> None:
        """Run n steps of bodies that interact only by constraints: each body is integrated separately."""
        parts = bodies(self.stepper)
        while self.done < n and self.finite:
            for part in parts:
                part.x, part.v = chosen(part.index, self.x), chosen(part.index, self.v)
                part.history = None if self.history is None else chosen(part.index, self.history)
                part.done = part.evaluations = 0
                part.run(1)
            failed = [part for part in parts if part.done == 0]
            if failed:
                self.failure = failed[0].failure
                return
            self.x, self.v = self.gathered(parts, "x"), self.gathered(parts, "v")
            if self.integrator.history:
                self.history = self.gathered(parts, "history")
            self.evaluations += max(part.evaluations for part in parts)
            self.complete()
            self.last_h = self.h

    def gathered(self, parts: list[Body], name: str) -> Vector:
        """Assemble the columns of all bodies from those of the active ones."""
        columns = Vector(np.zeros((self.dim, self.n), self.real))
        for part in parts:
            for column, own in zip(columns, getattr(part, name), strict=True):
                column[part.index] = own
        return columns

    def complete(self) -> None:
        """Finish a step: apply the constraints in order, then damping."""
        before, begin = split(self.completed[0]), self.completed[1]
        if self.rotation is not None:
            begin = self.rotation(self.rotation(begin))
        self.delta_v = split(self.v - begin)
        self.reports = Reports()
        self.loads = Loads()
        for record in self.plan.constraint_records:
            free = self.v
            self.apply(record, before)
            self.turn_impulses(record, free)
        if self.reporting:
            self.stepper._log.report_impacts(self, self.reports.contacts)
        self.loads.resolve(self)
        if self.decay is not None:
            self.damp(self.decay)
        self.count()

    def apply(self, record, before, **chosen) -> None:
        """Apply a constraint; contacts recorded meanwhile get its number."""
        outer, self.source = self.source, self.plan.source(record)
        fields = present_fields(self, record)
        if record in moved_records(self):
            prefix = "shape_" if record.kind == "contacts" else ""
            fields = {**fields, f"{prefix}motion": motion_rows(self, record)}
            fields = fields if prefix else {**fields, "motion": fields["motion"][0]}
        if "pair" in fields:
            fields["cells"] = cells(self.plan, record, fields)
        CONSTRAINTS[record.kind](self, before, **fields, **chosen)
        self.source = outer

    def turn_impulses(self, record, free: Vector) -> None:
        """Turn the impulses of a constraint, so that they act before the last half rotation, as all forces do.

        free: velocities before the constraint. A bounce is not turned, because it conserves the energy of `free`: after
        an impulse J with a speed u away from the wall, a share 1 - 2 u / J is turned, from 1 at rest to 0 for an
        elastic bounce. Walls with friction turn nothing, because friction has removed the velocity to be corrected.
        """
        if self.rotation is None or record.kind not in TURNED:
            return
        if record.kind in BOUNCING and getattr(self.integrator, "velocity", "") == "central":
            return  # at rest, Verlet's displacement before and after the impulse is opposite: nothing is to be turned
        zero, one = self.real(0), self.real(1)
        impulse = self.v - free
        pushed = sum(abs(component) for component in impulse) > 0
        if record.kind in BOUNCING:
            pushed = pushed & (self.scalar(record.fields["friction"]) == 0)
            left = dot(self.v, impulse)
            share = one - 2 * quotient(left, dot(impulse, impulse))
            impulse = np.where(left > 0, np.where(share > 0, share, zero), one) * impulse
        turned = self.rotation.of_impulse(impulse)
        if self.continues_positions:
            self.history = either(pushed, self.history - self.h * turned, self.history)
        self.v = either(pushed, self.v + turned, self.v)

    @property
    def reporting(self) -> bool:
        """Whether events are enabled."""
        return self.stepper._log is not None

    def report(self, *event) -> None:
        """Record a contact of the constraint that is being applied; see `Contact`."""
        if self.reporting:
            self.reports.add(self.source, *event)

    def report_for(self, source, *event) -> None:
        """Record a contact of another constraint."""
        if self.reporting:
            self.reports.add(source, *event)

    def has_room(self, i, number, most) -> bool:
        """Return whether there is room to record this contact: it is known already, or body i has fewer than `most`."""
        if not self.reporting:
            return False
        own = self.reports.contacts.get(self.source, {})
        return key(i, number) in own or sum(each >> 32 == i for each in own) < most

    def rows(self) -> tuple[list[Vector], list[Vector], list[Vector] | None]:
        """Position, velocity and, under Verlet after the first step, previous position of each body."""
        before = self.history if self.continues_positions else None
        return split(self.x), split(self.v), None if before is None else split(before)

    def put(self, x: list[Vector], v: list[Vector], s: list[Vector] | None) -> None:
        """Store the vectors of `rows()` after a constraint has changed them."""
        self.x, self.v = self.joined(x), self.joined(v)
        if s is not None:
            self.history = self.joined(s)

    def a(self, x: Vector, v: Vector, after: Any = 0) -> Vector:
        """Compute the accelerations of all bodies: forces on single bodies, then interactions in order."""
        self.evaluations += 1
        t = self.time(after)
        a, xs, vs = self.alone(x, v), split(x), split(v)
        for interaction in self.plan.interactions:
            out = INTERACTIONS[interaction.kind](self, interaction, t, xs, vs)
            a = a + self.scalar(interaction.factor) * self.joined(out)
        return self.of_movable(a)

    def work(self, x: Vector, y: Vector) -> Any:
        """Return the interactions' potential energy at y minus that at x, per unit of mass: a column."""
        total = None
        for interaction in self.plan.interactions:
            here, there = (
                np.array(ENERGIES[interaction.kind](self, interaction, self.time(0), split(place)), self.real)
                for place in (x, y)
            )
            work = self.scalar(interaction.factor) * (there - here)
            total = work if total is None else total + work
        return total

    def time(self, after: Any) -> float:
        """Return the time in s at `after` s after the last tick.

        After a whole step, it is exactly the time at which the next step begins: forces that the next step reuses must
        equal those that it would evaluate at the start of a call.
        """
        self.stepper._tick = self.tick  # for user functions that read the tick
        ticks = math.floor(float(after) / float(self.h))
        self.noise_tick = self.tick + ticks
        return self.stepper._time_of(self.noise_tick) + (float(after) - ticks * float(self.h))

    def generation(self, i: int) -> int:
        """Return the generation of a slot, from 1 on."""
        return 1 if self.slots is None else int(self.slots.generation[i])

    def noise(self, k: int, i: int) -> Any:
        """Compute `noise(k)` of a body at the last tick, constant until the next one."""
        return self.real(normals(k + self.stepper._world, self.noise_tick, i, 2, self.generation(i))[0])

    def damp(self, decay) -> None:
        """Apply damping, except to the share `at_rest` of `delta_v`, which linked bodies at rest have as velocity."""
        if self.at_rest is None:
            super().damp(decay)
            return
        still: Any = self.at_rest.astype(self.real) * self.joined(self.delta_v)
        self.v = self.v - still
        super().damp(decay)
        self.v = self.v + still


def chosen(index: Any, vector: Vector) -> Vector:
    """Select the vector of one body, or the columns of several, from the columns of all."""
    return Vector([column[index] for column in vector])
