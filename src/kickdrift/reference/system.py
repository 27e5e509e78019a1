"""The systems that integrators work on: one body, or all bodies as one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..stepper.events import key
from . import newton_krylov
from .callbacks import ENERGIES, INTERACTIONS
from .constraints import CONSTRAINTS
from .events import Reports
from .forces import TERMS, Affine, Rotation
from .integrators import SCHEMES, STARTS, NotConverged, energy_together
from .noise import bath, normals
from .slots import present_at_rest, present_fields
from .space import space_of
from .vector import Vector

if TYPE_CHECKING:
    from .stepper import Stepper


class Body:
    """One body on its way through the steps of a call: what the schemes work on."""

    def __init__(self, stepper: Stepper, index: int):
        plan = stepper._plan
        self.index = index
        self.real = real = plan.dtype.type
        self.x, self.v = self._vector(stepper._position), self._vector(stepper._velocity)
        self.history: Any = (
            self._vector(stepper._history) if stepper._started and stepper._history is not None else None
        )
        slots = stepper._slots
        self.alive = slots is None or bool(slots.alive[index])
        self.young = slots is not None and bool(slots.young[index])  #: was it born after the last step?
        self.integrator = plan.integrator
        self.velocity_dependent = plan.velocity_dependent
        self.constrained = bool(plan.constraint_records)
        self.tick = stepper.tick
        self.h = real(stepper._h)
        self.last_h = real(stepper._last_h)
        self.epsilon = real(np.finfo(plan.dtype).eps)
        self.smallest = real(np.finfo(plan.dtype).tiny / np.finfo(plan.dtype).eps)
        self.affine = Affine(
            plan.drag,
            plan.spring,
            self._vector(stepper._held),
            self._scalar(plan.c),
            self._vector(plan.w),
            self._scalar(plan.k),
            self._vector(plan.p),
        )
        self.terms = [
            TERMS[record.kind](**{name: self._coefficient(field) for name, field in record.fields.items()})
            for record in plan.records
        ]
        self.decay = None if stepper._decay is None else self._scalar(stepper._decay)
        self.rotation = None
        if stepper._turn is not None:
            self.rotation = Rotation(*(self._coefficient(row) for row in stepper._turn))
        self.flow = None if stepper._flow is None else [self._scalar(row) for row in stepper._flow]
        if stepper._composition is not None:
            self.composition = [[real(number) for number in row] for row in stepper._composition]
        self.evaluations = 0
        self.done = 0
        self._kept: Vector | None = None
        self.completed = self.x, self.v, self.history

    def run(self, n: int) -> None:
        """n steps, or fewer where one cannot be solved."""
        self.begin()
        while self.done < n:
            try:
                self.step(self.h)
            except NotConverged as failure:
                self.failed, self.residual = self, float(failure.args[0])
                return
            self.last_h = self.h
            self.complete()

    def begin(self) -> None:
        """Fill the history, where there is one: as long before as the last step was."""
        start = STARTS.get(self.integrator.kind)
        if start is not None and (self.history is None or self.young):
            start(self, self.last_h)
        self.young = False

    def step(self, h: Any) -> None:
        """One step by the book, between two halves of what turns velocities."""
        self.turn()
        SCHEMES[self.integrator.kind](self, h)
        self.turn()

    def complete(self) -> None:
        """The end of a step: damping, unless constraints come before it, and then the count."""
        if self.decay is not None and not self.constrained:
            self.damp(self.decay)
        self.count()

    def count(self) -> None:
        """Keep the present state, to go back to it."""
        self.tick += 1
        self.done += 1
        self.completed = self.x, self.v, self.history

    def turn(self) -> None:
        """Half a step of magnetic fields and rotating frames; of Verlet the last way turns too."""
        if self.rotation is None:
            return
        self.v = self.rotation(self.v)
        if self.continues_positions:
            self.history = self.x - self.rotation(self.x - self.history)

    @property
    def continues_positions(self) -> bool:
        """Does a step go on from the previous position, as Verlet's does?"""
        return self.integrator.history == "previous position"

    def stirred(self, x: Vector, v: Vector, a: Vector) -> tuple[Vector, Vector]:
        """The middle of a drift under `velocity_verlet`: only where bodies are pushed there is noise."""
        return x, v

    def around(self, x: Vector, v: Vector, history: Any = None) -> tuple[Vector, Any]:
        """The end of a drift: only where bodies are pushed something is between it and what follows."""
        return x, history

    def a(self, x: Vector, v: Vector, after: Any = 0) -> Vector:
        """The acceleration so long after the last tick: the affine part, then the other terms in their order."""
        self.evaluations += 1
        a = self.affine.acceleration(x, v)
        for term in self.terms:
            a = term.acceleration(a, x, v)
        return a

    def keep(self, a: Vector) -> Vector:
        """Remember an acceleration for the next step of this call, where nothing can change it."""
        self._kept = None if self.velocity_dependent or self.constrained else a
        return a

    def kept(self, x: Vector, v: Vector) -> Vector:
        """The acceleration at the start of a step: the remembered one, or a new one."""
        return self.a(x, v) if self._kept is None else self._kept

    def jacobian(self, x: Vector, v: Vector):
        """The derivatives of the acceleration by position and by velocity."""
        by_x, by_v = self.affine.jacobian(len(x))
        for term in self.terms:
            term.jacobian(by_x, by_v, x, v)
        return by_x, by_v

    def potential_difference(self, x: Vector, y: Vector):
        """The potential per unit of mass at y less that at x."""
        dphi = self.affine.potential_difference(x, y)
        for term in self.terms:
            dphi = term.potential_difference(dphi, x, y)
        return dphi

    def damp(self, decay) -> None:
        """v *= exp(-rate h); Verlet's velocity is the way from the previous position."""
        self.v = decay * self.v
        if self.continues_positions:
            self.history = self.x - decay * (self.x - self.history)

    # Rows of a plan's arrays, which have one row for all bodies or one for each.

    def _vector(self, rows: np.ndarray) -> Vector:
        return Vector([self.real(number) for number in rows[self.index if len(rows) > 1 else 0]])

    def _scalar(self, rows: np.ndarray):
        return self.real(rows[self.index if len(rows) > 1 else 0])

    def _coefficient(self, rows: np.ndarray):
        return self._scalar(rows) if rows.ndim == 1 else self._vector(rows)


class System(Body):
    """All bodies as one, where they are not left alone: its vectors have n dim components.

    Forces may be evaluated for all of them at once, and constraints follow each step. `gain` is what the
    forces of the step have added to each velocity, before any constraint.
    """

    source = -1  #: the number of the constraint that is being applied

    def __init__(self, stepper: Stepper):
        self.stepper = stepper
        self.plan = stepper._plan
        self.slots = stepper._slots
        self.at_rest = present_at_rest(self)
        self.parts = parts = [Body(stepper, index) for index in range(stepper.n)]
        self.dim = stepper.dim
        for name in (
            "real",
            "integrator",
            "velocity_dependent",
            "constrained",
            "tick",
            "h",
            "last_h",
            "composition",
            "epsilon",
            "smallest",
        ):
            setattr(self, name, getattr(parts[0], name, None))
        self.x, self.v = _joined([part.x for part in parts]), _joined([part.v for part in parts])
        self.history = None if parts[0].history is None else _joined([part.history for part in parts])
        self.space = space_of(self.plan.torus, self.real)
        self.decay, self.rotation = parts[0].decay, parts[0].rotation
        self.weights = [part._scalar(self.plan.weight) for part in parts]
        self.evaluations = 0
        self.done = 0
        self._kept = None
        self.completed = self.x, self.v, self.history
        #: The impulses of contacts and of rods with which the step begins, and those with which it ends.
        self.remembered: dict[tuple[int, int], Any] = {}
        self.remembered_rods: list[Any] = []
        if stepper._impulses is not None:
            pair, impulse, pull = stepper._impulses.now(self.slots)
            for ends, (along, load, *across) in zip(pair.tolist(), impulse, strict=True):
                self.remembered[ends[0], ends[1]] = along, load, Vector(across)
            self.remembered_rods = list(pull[:, 0])
        self._next: Any = None

    def remember(self, pushing: dict[tuple[int, int], Any], pull: list[Any]) -> None:
        """The data that the next step begins with, after this one."""
        self._next = pushing, pull

    def count(self) -> None:
        super().count()
        if self._next is not None:
            self.remembered, self.remembered_rods = self._next

    def run(self, n: int) -> None:
        """n steps, or fewer where one cannot be solved."""
        if self.plan.interactions:
            super().run(n)
        else:
            self._run_parts(n)

    def begin(self) -> None:
        """The same, of the living alone, and of those born after the last step where the others have a history."""
        start = STARTS.get(self.integrator.kind)
        v, history = self.v, self.history
        if start is None or not (history is None or any(part.young for part in self.parts)):
            return
        start(self, self.last_h)
        if history is not None:
            self.v = self.chosen(lambda part: part.young, self.v, v)
            self.history = self.chosen(lambda part: part.young, self.history, history)

    def chosen(self, condition: Any, yes: Vector, no: Vector) -> Vector:
        """Of each part the rows of one vector or of another."""
        rows = zip(self.parts, yes.rows(self.dim), no.rows(self.dim), strict=True)
        return _joined([a if condition(part) else b for part, a, b in rows])

    @property
    def wraps_early(self) -> bool:
        """Are bodies put back into a periodic box before the last evaluation of a step, which serves the next one?"""
        kept = self.integrator.name == "velocity_verlet" or getattr(self.integrator, "velocity", "") == "central"
        alone = [record.kind for record in self.plan.constraint_records] == ["periodic"]
        return bool(self.plan.interactions) and alone and kept and not self.velocity_dependent

    def around(self, x: Vector, v: Vector, history: Any = None) -> tuple[Vector, Any]:
        """The end of a drift: the place, and the previous one, in a periodic box."""
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
        """The same; a periodic box changes no acceleration."""
        super().keep(a)
        if self.wraps_early:
            self._kept = a
        return a

    def of_the_living(self, rows: list[Vector]) -> list[Vector]:
        """Zeros for the dead, whatever there is."""
        nothing = Vector([self.real(0)] * self.dim)
        return [row if part.alive else nothing for part, row in zip(self.parts, rows, strict=True)]

    def step(self, h: Any) -> None:
        """One step by the book; where it is implicit, for all bodies at once."""
        if self.integrator.kind == "implicit_euler":
            newton_krylov.implicit_euler(self, h)
        elif self.integrator.kind == "energy_euler":
            energy_together(self, h)
        else:
            super().step(h)
        if not self._stirs_midway:
            self.stir()

    @property
    def _stirs_midway(self) -> bool:
        return self.integrator.kind == "velocity_verlet" and not self.velocity_dependent

    def _baths(self) -> Any:
        """What a bath leaves of the velocity of each body, and what it adds; nothing happens to the dead."""
        for interaction in self.plan.interactions:
            if interaction.kind == "langevin":
                for i, part in enumerate(self.parts):
                    if part.alive:
                        yield i, *bath(interaction, self.real, self.dim, i, self.tick, self.h, self.generation(i))

    def stir(self) -> None:
        """Friction and noise of a whole step; Verlet's velocity is the way from the previous position."""
        x, v = self.x.rows(self.dim), self.v.rows(self.dim)
        s = self.history.rows(self.dim) if self.continues_positions else None
        for i, keep, kick in self._baths():
            v[i] = keep * v[i] + Vector(kick)
            if s is not None:
                s[i] = x[i] - (keep * (x[i] - s[i]) + self.h * Vector(kick))
        self.v = _joined(v)
        if s is not None:
            self.history = _joined(s)

    def stirred(self, x: Vector, v: Vector, a: Vector) -> tuple[Vector, Vector]:
        """The same in the middle of the drift (BAOAB): x and v are after a whole drift and a whole kick by a."""
        if not self._stirs_midway:
            return x, v
        half = self.h / 2
        xs, vs, accelerations = x.rows(self.dim), v.rows(self.dim), a.rows(self.dim)
        for i, keep, kick in self._baths():
            u = vs[i] - half * accelerations[i]
            w = keep * u + Vector(kick)
            xs[i] = xs[i] + half * (w - u)
            vs[i] = w + half * accelerations[i]
        return _joined(xs), _joined(vs)

    def _run_parts(self, n: int) -> None:
        """The same where bodies meet in constraints only: each takes its steps by itself."""
        while self.done < n:
            for part, x, v in zip(self.parts, self.x.rows(self.dim), self.v.rows(self.dim), strict=True):
                part.x, part.v, part.done, part.evaluations = x, v, 0, 0
                if self.history is not None:
                    part.history = Vector(self.history[part.index * self.dim : (part.index + 1) * self.dim])
                if part.alive:
                    part.run(1)
                else:
                    part.done, part.history = 1, 0 * self.h * x
            failed = [part for part in self.parts if part.done == 0]
            if failed:
                self.failed = failed[0]
                return
            self.x, self.v = _joined([part.x for part in self.parts]), _joined([part.v for part in self.parts])
            if self.integrator.history:
                self.history = _joined([part.history for part in self.parts])
            self.last_h = self.h
            self.evaluations += max(part.evaluations for part in self.parts)
            self.complete()

    def complete(self) -> None:
        """The end of a step: the constraints, in their order, and then damping."""
        before = self.completed[0].rows(self.dim)
        self.gain = (self.v - self.completed[1]).rows(self.dim)
        self.reports = Reports()
        for record in self.plan.constraint_records:
            self.apply(record, CONSTRAINTS[record.kind], before)
        if self.reporting:
            self.stepper._log.tell(self, self.reports.contacts)
        if self.decay is not None:
            self.damp(self.decay)
        self.count()

    def apply(self, record, function, before) -> None:
        """Let a constraint do what it does; what it reports is its own."""
        outer, self.source = self.source, self.plan.source(record)
        function(self, before, **present_fields(self, record))
        self.source = outer

    @property
    def reporting(self) -> bool:
        """Is anybody told who meets whom?"""
        return self.stepper._log is not None

    def report(self, *told) -> None:
        """How two met, as the constraint says that is being applied; see `Contact`."""
        if self.reporting:
            self.reports.add(self.source, *told)

    def report_for(self, source, *told) -> None:
        """The same on behalf of another constraint."""
        if self.reporting:
            self.reports.add(source, *told)

    def has_room(self, i, number, most) -> bool:
        """May a body report that it met this one? Those that it has met already count, and no more than so many."""
        if not self.reporting:
            return False
        own = self.reports.contacts.get(self.source, {})
        return key(i, number) in own or sum(each >> 32 == i for each in own) < most

    def rows(self) -> tuple[list[Vector], list[Vector], list[Vector] | None]:
        """Position, velocity and, under Verlet, previous position of each body."""
        s = self.history.rows(self.dim) if self.continues_positions else None
        return self.x.rows(self.dim), self.v.rows(self.dim), s

    def put(self, x: list[Vector], v: list[Vector], s: list[Vector] | None) -> None:
        """Take over what a constraint has made of `rows()`."""
        self.x, self.v = _joined(x), _joined(v)
        if s is not None:
            self.history = _joined(s)

    def a(self, x: Vector, v: Vector, after: Any = 0) -> Vector:
        """The accelerations of all bodies: the compiled terms, then the interactions in their order."""
        self.evaluations += 1
        t = self.time(after)
        xs, vs = x.rows(self.dim), v.rows(self.dim)
        rows = [part.a(*pair) for part, *pair in zip(self.parts, xs, vs, strict=True)]
        for interaction in self.plan.interactions:
            out = INTERACTIONS[interaction.kind](self, interaction, t, xs, vs)
            for i, part in enumerate(self.parts):
                rows[i] = rows[i] + part._scalar(interaction.factor) * out[i]
        return _joined(self.of_the_living(rows))

    def work(self, x: Vector, y: Vector) -> list[Any]:
        """What the interactions' potentials per unit of mass are at y less than at x, for each body."""
        total: list[Any] = []
        for interaction in self.plan.interactions:
            here, there = (
                ENERGIES[interaction.kind](self, interaction, self.time(0), place.rows(self.dim)) for place in (x, y)
            )
            work = [p._scalar(interaction.factor) * (b - a) for p, a, b in zip(self.parts, here, there, strict=True)]
            total = [a + b for a, b in zip(total, work, strict=True)] if total else work
        return total

    def time(self, after: Any) -> float:
        """So long after the last tick."""
        self.stepper._tick = self.tick  # for functions that look at it
        self.noise_tick = self.tick + math.floor(float(after) / float(self.h))
        return self.stepper._time_of(self.tick) + float(after)

    def generation(self, i: int) -> int:
        """Which of the bodies it is that live in a slot one after the other, from 1 on."""
        return 1 if self.slots is None else int(self.slots.generation[i])

    def noise(self, k: int, i: int) -> Any:
        """`noise(k)` of a body: of the tick at which, or after which, forces are evaluated."""
        return self.real(normals(k, self.noise_tick, i, 2, self.generation(i))[0])

    def turn(self) -> None:
        """As for one body, each with its own rotation."""
        if self.rotation is None:
            return
        histories = self.history.rows(self.dim) if self.history is not None else [None] * len(self.parts)
        for part, x, v, history in zip(
            self.parts, self.x.rows(self.dim), self.v.rows(self.dim), histories, strict=True
        ):
            part.x, part.v, part.history = x, v, history
            part.turn()
        self.v = _joined([part.v for part in self.parts])
        if self.history is not None:
            self.history = _joined([part.history for part in self.parts])

    def damp(self, decay) -> None:
        """As for one body, each with its own rate; what hangs on links keeps the velocity that it reads at rest."""
        at_rest = self.at_rest
        if at_rest is not None:
            still = _joined([self.real(share) * gain for share, gain in zip(at_rest, self.gain, strict=True)])
            self.v = self.v - still
        histories = self.history.rows(self.dim) if self.history is not None else [None] * len(self.parts)
        for part, x, v, history in zip(
            self.parts, self.x.rows(self.dim), self.v.rows(self.dim), histories, strict=True
        ):
            part.x, part.v, part.history = x, v, history
            part.damp(part.decay)
        self.v = _joined([part.v for part in self.parts])
        if at_rest is not None:
            self.v = self.v + still
        if self.history is not None:
            self.history = _joined([part.history for part in self.parts])


def _joined(vectors: list[Vector]) -> Vector:
    return Vector([number for vector in vectors for number in vector])
