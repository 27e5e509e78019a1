"""Base of the compiled stepper and the reference implementation: everything except the arithmetic."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import time_steps, validation
from ..constraints.base import Constraint
from ..constraints.periodic import periodic_among
from ..declaration import Declaration, declared, once
from ..forces.base import Term
from ..integrators import INTEGRATORS, Name, resolve
from ..integrators.base import Integrator, shown
from ..rollback import snapshots
from ..rollback.applied import AppliedForces
from ..rollback.impulses import ContactsPart, Impulses
from . import changes, contacts, entries, kinds, loads, motion, moves, queries, rebinding, rotation, rows
from .common import State
from .model import Plan
from .rotation import Rotation, RotationPart, rotation_of
from .saved_changes import SavedChanges
from .slots import Slots, SlotsPart, living
from .slots import slots as find_slots

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .. import reference
    from ..clock.fixed_clock import FixedClock
    from .entries import Entry
    from .events import EventLog, Events
    from .queries import Scene
    from .recording import Recorder
    from .trajectory import Trajectory


_SIXTIETH = Fraction(1, 60)
_PARTS = (SavedChanges(), SlotsPart(), AppliedForces(), ContactsPart(), loads.LoadsPart(), motion.ShapesPart())


class StepperBase(State):
    """Base class that checks all arguments once and converts them to a plan.

    Subclasses implement the methods declared below. `_bind()` is called once the arrays are known. `_binding(plan)` and
    `_numbers(binding, h)` compute the inputs of a step, and `_commit` applies these inputs.
    """

    def __init__(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        *,
        dt: float | Fraction | str | None = None,
        hz: float | Fraction | str | None = None,
        integrator: Name | Integrator | type[Integrator] = "velocity_verlet",
        forces: Iterable[Term] = (),
        constraints: Iterable[Constraint] = (),
        threads: int = 1,
        clock: FixedClock | reference.FixedClock | None = None,
        events: Events | None = None,
        state: Mapping[str, np.ndarray] | None = None,
        alive: int | ArrayLike | None = None,
        angular_velocity: ArrayLike | None = None,
        angle: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
    ) -> None:
        if hasattr(self, "_given"):
            raise RuntimeError("a stepper is made once: __init__ was called before")
        self._given = validation.state_arrays(position, velocity)
        # Views keep their shape if the caller reshapes the original arrays.
        self._position, self._velocity = (array.view() for array in self._given)
        n, dim = self._position.shape
        self._clock, exact_dt = self._clock_and_step(clock, dt, hz, self._position.dtype)
        self._begin(exact_dt, threads)
        self._parts = _PARTS
        mask = living(alive, n)
        self._alive_given = mask is not None  # True: rows that `rebind` adds are free
        self._rotation = rotation_of(*self._given, angular_velocity, angle, orientation, inertia, mask)
        self._take_state(state, position=self._position, velocity=self._velocity, **self._turning_arrays())
        self._offset = np.zeros(dim)
        masses = validation.masses(mass, n)
        scheme = resolve(integrator, INTEGRATORS)
        terms = declared("forces", "forces", Term, forces)
        self._handles = (*terms, *declared("constraints", "constraints", Constraint, constraints))
        box = periodic_among(self._handles)
        self._firsts = entries.apart([declaration.placed(self._position, box) for declaration in self._handles])
        forces, constraints = self._firsts[: len(terms)], self._firsts[len(terms) :]  # type: ignore[assignment]
        self._plan = Plan(n, dim, self._position.dtype, masses, scheme, forces, constraints)
        if events is not None:
            from .events import Events, Touching

            if not isinstance(events, Events):
                raise TypeError(f"events: expected kickdrift.Events(), got {validation.show(events)}")
            self._events = events
            self._parts = (*self._parts, Touching())
        # The plan as constructed, before any change or shift. Snapshots must match this plan.
        self._first_plan = self._plan
        if self._rotation is not None:
            self._plan.rotating = self._rotation.spin
            self._parts = (*self._parts, RotationPart())
        self._impulses = self._plan.impulses = self._impulses_for(self._plan)
        if motion.acting(self._plan):
            self._motion = self._plan.motion = motion.motion_of(self, self._entries)
        if any(constraint.distances for constraint in constraints):
            self._plan.loads = loads.loads_after({}, (), self._entries)
        for interaction in self._plan.interactions:
            interaction.term.probe(self._position, self._velocity)
        self._bind()
        binding = self._binding(self._plan)
        more = {} if mask is None else {"slots": (mask, mask.astype(np.int64), np.zeros(n, np.bool_))}
        self._commit(binding=binding, numbers=self._numbers(binding, self._dt), **more)
        self._claim(self._clock)
        self._warn_of()

    __init__.__qualname__ = "Stepper.__init__"  # the name in Python's errors about arguments

    #: The `Events` configuration; None if events are disabled.
    _events: Any = None
    #: Weak reference to the Rollback event history that receives the events, and the number of events it has dropped.
    _event_history: Any = None
    _events_forgotten = 0

    #: Positions and velocities of moving shapes; None if no shape moves.
    _motion: motion.Motion | None = None

    #: Angular velocities and angles or orientations; None if bodies do not rotate.
    _rotation: Rotation | None = None

    #: Declarations of the constructor, forces before constraints: as passed; and with measured rest lengths.
    _handles: tuple[Declaration, ...]
    _firsts: tuple[Declaration, ...]
    #: Cached snapshot section of changes: (entries and masses for which it was written, bytes).
    _changes_written: tuple[tuple[Entry, ...], np.ndarray, bytes] | None = None
    #: None until a body is spawned or removed, or `ids` or `alive` is read.
    _slots: Slots | None = None

    if TYPE_CHECKING:
        _plan: Plan
        _first_plan: Plan
        _position: np.ndarray
        _velocity: np.ndarray
        _given: tuple[np.ndarray, np.ndarray]

        @property
        def force_evaluations(self) -> int: ...

        _clock_type: Any
        _history: np.ndarray | None

        @property
        def _previous(self) -> Any: ...  # the state at which interpolation starts

        def restart(self) -> None: ...
        def _move(self, body: int, position: ArrayLike) -> None: ...  # `_move_rows` for a single body

        record: Recorder[Trajectory]

        def _bind(self) -> None: ...
        def _watch(self, clock: Any) -> None: ...  # `step` reads this clock's counters
        def _binding(self, plan: Plan, state: Any = None) -> Any: ...
        def _rebound(self, history: np.ndarray | None) -> dict[str, Any]: ...
        def _find(self, ids: np.ndarray) -> np.ndarray: ...  # slots of ids or slots, -1 if inactive
        def _zero_inactive(self) -> None: ...  # zero the inactive rows
        def _last_step(self, substeps: int) -> None: ...
        def _take_events(self) -> np.ndarray: ...
        def _touching(self) -> list[tuple[int, np.ndarray]]: ...  # (constraint number, keys of touching pairs)
        def _level(self) -> Any: ...  # a `Level`, for queries

        @property
        def _events_dropped(self) -> int: ...

    @property
    def position(self) -> np.ndarray:
        """Positions in m, shape (n, dim): the caller's own array where one was given."""
        return self._given[0]

    @position.setter
    def position(self, value: np.ndarray) -> None:
        validation.in_place("position", value, self._given[0])

    @property
    def velocity(self) -> np.ndarray:
        """Velocities in m/s, shape (n, dim): the caller's own array where one was given."""
        return self._given[1]

    @velocity.setter
    def velocity(self, value: np.ndarray) -> None:
        validation.in_place("velocity", value, self._given[1])

    @property
    def mass(self) -> float | np.ndarray:
        """Masses in kg: a float, or a read-only array of shape (n,) where one per body was given."""
        mass = self._plan.mass
        return float(mass[0]) if self._plan.uniform_mass else mass

    angular_velocity = property(rotation.angular_velocity, rotation.keep(rotation.angular_velocity))
    angle = property(rotation.angle, rotation.keep(rotation.angle))
    orientation = property(rotation.orientation, rotation.keep(rotation.orientation))
    inertia = property(rotation.inertia)
    _turning_arrays = rotation.turning_arrays
    _inverse_inertia_of = rotation.inverse_inertia_of
    _rebound_rotation = rotation.rebound
    _turning_of = rotation.turning_of
    _write_turning = rotation.write_turning

    @property
    def n(self) -> int:
        """Number of bodies, including free rows."""
        return self._plan.n

    @property
    def dim(self) -> int:
        """Number of dimensions, 1 to 3."""
        return self._plan.dim

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64, in which every step is computed."""
        return self._plan.dtype

    @property
    def integrator(self) -> Integrator:
        """The integrator with its parameters."""
        return self._plan.integrator

    @property
    def forces(self) -> tuple[Term, ...]:
        """The forces, in the order in which they are summed."""
        return self._plan.forces

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order in which they were declared. They act by kind: see docs/constraints.md."""
        return self._plan.constraints

    @property
    def events(self) -> EventLog:
        """The events since the last `take()`; see `Events`. Without `events=` its methods raise RuntimeError."""
        return self._event_log(self)

    _event_log: Any = once(contacts.event_log)
    touching = contacts.touching
    grounded = contacts.grounded
    cast = queries.cast
    overlap = queries.overlap

    def _choose_dt(self, exact: Fraction) -> None:
        clock = self._clock
        if clock is None:
            super()._choose_dt(exact)
            return
        if exact < 0:
            raise ValueError(f"dt: expected a positive number beside a clock, got {float(exact)}")
        exact = time_steps.time_step(exact * clock.substeps, None) / clock.substeps  # a step the clock can represent
        if exact != self._exact_dt or exact * clock.substeps * clock.hz != 1:
            self._change_dt(exact, **self._clock_change(exact))

    def _warn_of(self, declarations: Iterable[Declaration] | None = None) -> None:
        for declaration in self._plan.forces if declarations is None else declarations:
            doubt = declaration.doubts(self._plan, self._dt)
            if doubt is not None:
                warnings.warn(doubt, RuntimeWarning, stacklevel=3)

    def _clock_change(self, exact: Fraction) -> dict[str, Any]:
        """Return the change of the clock, if the stepper has one, that another dt requires."""
        if self._clock is None:
            return {}
        step = exact * self._clock.substeps
        if not time_steps.countable(step):
            raise ValueError(f"hz: expected a step that the clock can count, got one of {validation.show(step)} s")
        return {"clock_rate": 1 / step}

    #: Impulse storage of contacts; None without contacts.
    _impulses: Impulses | None = None
    _scene: Scene | None = None  # radii, walls and shapes of the plan, cached for queries

    def _impulses_for(self, plan: Plan, shifted: bool = False) -> Impulses | None:
        """Return the impulse storage for a plan, with the impulses of unchanged contacts. shifted: the origin moved."""
        if plan.contacts is None:
            return None
        own = self._impulses
        return Impulses(plan) if own is None else own.followed(plan, shifted)

    # The clock.

    def _clock_and_step(self, clock: Any, dt: Any, hz: Any, dtype: np.dtype) -> tuple[Any, Fraction]:
        if clock is None:
            return None, _SIXTIETH if dt is None and hz is None else time_steps.signed_step(dt, hz, dtype)
        if not isinstance(clock, self._clock_type):
            kind = f"{self._clock_type.__module__.removesuffix('.fixed_clock')}.{self._clock_type.__name__}"
            raise TypeError(f"clock: expected a {kind}, got {validation.show(clock)}")
        self._refuse_shared(clock)
        step = 1 / (clock.hz * clock.substeps)
        if (dt is not None or hz is not None) and float(time_steps.time_step(dt, hz, dtype)) != float(step):
            raise ValueError(f"clock: its step of {step} s is not dt or hz as given; leave those out")
        return clock, step

    def _claim(self, clock: Any) -> None:
        """Bind the clock to this stepper for the stepper's lifetime."""
        if clock is not None:
            self._refuse_shared(clock)
            clock._stepper = weakref.ref(self)
            self._watch(clock)

    def _refuse_shared(self, clock: Any) -> None:
        owner = None if clock._stepper is None else clock._stepper()
        if owner is not None and owner is not self:
            raise ValueError(f"clock: expected one of its own, got that of {owner!r}; copy.copy(clock) makes another")

    @property
    def clock(self) -> Any:
        """The FixedClock that `advance` feeds; created at first use if none was passed.

        Raises ValueError if dt is out of a clock's range, 0.12 ns to 4 years: see `FixedClock`.
        """
        if self._clock is None:
            if not time_steps.countable(self._exact_dt):
                raise ValueError(
                    f"clock: expected dt to be {time_steps.what_clocks_count()}, got {self._dt!r} s: `step` works,"
                    f" frames do not"
                )
            clock = self._clock_type(dt=self._exact_dt)
            self._claim(clock)
            self._clock = clock
        return self._clock

    def _follow_clock(self) -> None:
        """Adopt the clock's current step, after a change of rate or under policy "variable"."""
        self._change_dt(self.clock._substep_exact)

    @property
    def _frame_step(self) -> float:
        """Seconds between the two states that `interpolate` blends."""
        return self._dt * (self._clock.substeps if self._clock is not None else 1)

    @property
    def alpha(self) -> float:
        """Interpolation factor between the last two states: 0 <= alpha < 1, for `interpolate`."""
        return 0.0 if self._clock is None else float(self._clock.alpha)

    def energy(self) -> tuple[float, float]:
        """(kinetic, potential) energy of all bodies in J, in float64 whatever the dtype.

        Bodies of infinite mass and inactive bodies are left out. Raises ValueError if a force has no potential,
        RuntimeError during a step.

        >>> import kickdrift as kd
        >>> kd.Stepper([[0.0, 2.0]], [[3.0, 0.0]], mass=2, forces=[kd.Gravity((0, -10))]).energy()
        (9.0, 40.0)
        """
        return self._exclusively(self._energy)

    def _energy(self) -> tuple[float, float]:
        self._zero_inactive()
        kinetic, potential = self._plan.energy(self._position, self._velocity, self._slots)
        if self._rotation is not None:
            kinetic += self._rotation.energy(self._plan)
        return kinetic, potential

    def _time_of(self, tick: int) -> float:
        """Compute the time that is passed to forces, in float64 arithmetic."""
        return validation.as_float(self._origin) + (tick - self._origin_tick) * self._dt

    # Spawn and despawn: `spawn` and `kill` are in engine/bodies.pyx and reference/slots.py.

    def _book(self) -> Slots:
        if self._slots is None:
            self._slots = Slots(self.n)
        return self._slots

    @property
    def alive(self) -> np.ndarray:
        """Mask of the active rows: a read-only view that is always up to date, bool of shape (n,).

        >>> import kickdrift as kd
        >>> world = kd.Stepper([[0.0], [0.0], [0.0]], alive=1)
        >>> alive = world.alive
        >>> ids = world.spawn([[5.0]])
        >>> alive.tolist()
        [True, True, False]
        """
        return self._book().alive

    @property
    def ids(self) -> np.ndarray:
        """The id of each row's body, -1 for a free row: a read-only view that is always up to date, int64 of shape
        (n,).

        An id is generation << 32 | row. The generation counts the bodies spawned in the row, from 1 on. No two bodies
        of a world have the same id, even if they had the same row. Ids are at least 2**32, rows are less.
        """
        return self._book().ids

    @property
    def count(self) -> int:
        """Number of active bodies."""
        return self.n if self._slots is None else int(np.count_nonzero(self._slots.mask))

    _rows_of = rows.rows_of
    slots = find_slots
    _give_kinds = kinds.give

    # Changes between two ticks. `once` computes attributes at first use, as a stepper without changes needs none.

    _declared = once(entries.declared)
    _added = once(entries.added)
    _by_handle = once(entries.by_handle)
    _entries: Any = once(entries.entries)
    _numberings: Any = once(entries.numberings)
    _numbered = entries.numbered
    _sources_of = entries.sources_of
    _take_given = entries.take_given
    set = changes.set
    current = changes.current
    enable = changes.enable
    add = changes.add
    remove = changes.remove
    set_mass = changes.set_mass
    load = loads.load
    whole = loads.whole
    rebind = rebinding.rebind
    _shifted = changes.shifted
    teleport = moves.teleport
    _move_rows = moves.move_rows
    shift = moves.shift
    interpolate_shapes = motion.interpolate_shapes
    interpolate_angles = rotation.interpolate_angles

    # Snapshots.

    def _arrays(self) -> list[np.ndarray]:
        self._zero_inactive()
        history = [self._history] if self._started and self._history is not None else []
        return [self._position, self._velocity, *history]

    def _targets(self, count: int) -> list[np.ndarray]:
        return [self._position, self._velocity, *([] if self._history is None else [self._history])][:count]

    def _array_count(self, started: bool) -> int:
        return 3 if started and self.integrator.history else 2

    def _sampled(self) -> dict[str, np.ndarray]:
        self._zero_inactive()
        return {"position": self._position, "velocity": self._velocity, **self._turning_arrays()}

    def _trajectory(self, **samples: Any) -> Trajectory:
        from .trajectory import Trajectory

        return Trajectory(**samples)

    def _described(self, plan: Plan | None = None) -> dict[str, Any]:
        plan = self._first_plan if plan is None else plan
        return {
            "bodies": plan.n,
            "dim": plan.dim,
            "dtype": str(plan.dtype),
            "integrator": shown(plan.integrator),
            "forces": plan.fingerprint,
            **({} if self._rotation is None else {"inertia": self._rotation.fingerprint}),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return self._exclusively(self._reduced)

    def _reduced(self) -> tuple[Any, ...]:
        self._zero_inactive()
        arguments_ = {
            "position": self._position.copy(order="K"),
            "velocity": self._velocity.copy(order="K"),
            "mass": float(self._first_plan.mass[0]) if self._first_plan.uniform_mass else self._first_plan.mass,
            "integrator": self.integrator,
            "forces": self._first_plan.forces,
            "constraints": self._first_plan.constraints,
            "threads": self.threads,
            "events": self._events,
            "state": self._copied_state(),
            **({"alive": self.n} if self._alive_given else {}),  # the snapshot has the free rows
            **({} if self._rotation is None else self._rotation.arguments()),
        }
        return snapshots.rebuild, (
            type(self),
            arguments_,
            snapshots.save(self),
            self._clock,
            entries.given_so_far(self),
        )

    def __repr__(self) -> str:
        terms = ", ".join(type(term).__name__ for term in self.forces)
        return (
            f"<{type(self).__module__}.{type(self).__name__}: {self.n} bodies, dim {self.dim}, {self.dtype}, "
            f"{self.integrator}, dt={self.dt:g}, forces=[{terms}], tick {self.tick}>"
        )
