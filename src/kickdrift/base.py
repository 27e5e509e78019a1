"""What the compiled stepper and its plain-Python twin share: everything but the arithmetic."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arguments, snapshots
from .forces import Term
from .integrators import Integrator, resolve
from .plan import Plan
from .trajectory import Trajectory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from . import reference
    from .clock import FixedClock


class StepperBase:
    """Checks the arguments once, keeps the exact time, and describes the stepper.

    An implementation provides what is declared below: `_bind()` is called once everything is known,
    `_rebind()` when the plan has changed, `_set_dt(h)` when dt has.
    """

    def __init__(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        *,
        dt: float | Fraction | None = None,
        hz: float | Fraction | None = None,
        integrator: str | Integrator | type[Integrator] = "velocity_verlet",
        forces: Iterable[Term] = (),
        constraints: Iterable[Any] = (),
        threads: int = 1,
        clock: FixedClock | reference.FixedClock | None = None,
    ) -> None:
        self._position, self._velocity = arguments.state_arrays(position, velocity)
        n, dim = self._position.shape
        self._threads = arguments.integer("threads", threads, 1)
        try:
            self._constraints = tuple(constraints)
        except TypeError:
            raise TypeError(f"constraints: expected a sequence, got {arguments.show(constraints)}") from None
        if self._constraints:
            raise TypeError(f"constraints: expected none, got {arguments.show(self._constraints[0])}")
        self._clock, self._exact_dt = self._clock_and_step(clock, dt, hz, self._position.dtype)
        self._dt = float(self._exact_dt)
        self._offset = np.zeros(dim)
        masses = arguments.masses(mass, n)
        self._plan = Plan(n, dim, self._position.dtype, masses, resolve(integrator), forces)
        # What was given, before any shift; it says whose a snapshot is.
        self._first_forces, self._fingerprint = self._plan.forces, self._plan.fingerprint
        self._snapshot_text: tuple[Any, bytes] | None = None
        # Time is origin + (tick - origin_tick) * dt, both exact; the origin moves when dt changes.
        self._origin, self._origin_tick = Fraction(0), 0
        self._bind()
        self._set_dt(self._dt)

    if TYPE_CHECKING:

        @property
        def tick(self) -> int: ...
        @property
        def force_evaluations(self) -> int: ...

        _clock_type: Any
        _started: bool  # is the history filled?
        _last_h: float  # the step that it spans
        _history: np.ndarray | None

        @property
        def _previous(self) -> tuple[np.ndarray, np.ndarray] | None: ...  # the state that drawing starts from

        def step(self, n: int = 1) -> None: ...
        def restart(self) -> None: ...
        def _bind(self) -> None: ...
        def _rebind(self) -> None: ...
        def _set_dt(self, h: float) -> None: ...
        def _resume(self, tick: int, started: bool, last_h: float) -> None: ...
        def _digest(self, values: np.ndarray, place: int) -> int: ...
        def _last_step(self) -> None: ...

    @property
    def position(self) -> np.ndarray:
        """Positions in m, shape (n, dim): the caller's own array where one was given."""
        return self._position

    @property
    def velocity(self) -> np.ndarray:
        """Velocities in m/s, shape (n, dim): the caller's own array where one was given."""
        return self._velocity

    @property
    def mass(self) -> float | np.ndarray:
        """Masses in kg: a float, or a read-only array of shape (n,) where one per body was given."""
        mass = self._plan.mass
        return float(mass[0]) if self._plan.uniform_mass else mass

    @property
    def n(self) -> int:
        """How many bodies."""
        return self._plan.n

    @property
    def dim(self) -> int:
        """How many dimensions, 1 to 3."""
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
        """The force terms, in the order in which they are summed."""
        return self._plan.forces

    @property
    def constraints(self) -> tuple[Any, ...]:
        """The constraints, in the order in which they are applied."""
        return self._constraints

    @property
    def threads(self) -> int:
        """How many threads share the work of large steps; it changes no bit of the result."""
        return self._threads

    @property
    def dt(self) -> float:
        """Seconds per step; may be set between steps (also to a Fraction), time stays continuous."""
        return self._dt

    @dt.setter
    def dt(self, value: float | Fraction) -> None:
        exact = arguments.time_step(value, None, self.dtype)
        if self._clock is not None:
            self._clock.set_hz(1 / (exact * self._clock.substeps))
        self._change_dt(exact)

    def _change_dt(self, exact: Fraction) -> None:
        self._set_dt(float(exact))
        self._origin, self._origin_tick = self._time_exact(), self.tick
        self._dt, self._exact_dt = float(exact), exact

    # The clock, which frames are fed to.

    def _clock_and_step(self, clock: Any, dt: Any, hz: Any, dtype: np.dtype) -> tuple[Any, Fraction]:
        if clock is None:
            return None, arguments.time_step(Fraction(1, 60) if dt is None and hz is None else dt, hz, dtype)
        if not isinstance(clock, self._clock_type):
            kind = f"{self._clock_type.__module__}.{self._clock_type.__name__}"
            raise TypeError(f"clock: expected a {kind}, got {arguments.show(clock)}")
        step = 1 / (clock.hz * clock.substeps)
        if (dt is not None or hz is not None) and arguments.time_step(dt, hz, dtype) != step:
            raise ValueError(f"clock: its step of {step} s is not dt or hz as given; leave those out")
        return clock, step

    @property
    def clock(self) -> Any:
        """The FixedClock that `advance` feeds; made when first needed, where none was given."""
        if self._clock is None:
            self._clock = self._clock_type(dt=self._exact_dt)
        return self._clock

    def _follow_clock(self) -> None:
        """Take over the step of a clock whose rate was changed, or which measures it."""
        clock = self.clock
        exact = 1 / (clock.hz * clock.substeps) if clock.deterministic else Fraction(clock.substep_dt)
        self._change_dt(exact)

    @property
    def _frame_step(self) -> float:
        """Seconds between the two states that drawing mixes."""
        return self._dt * (self._clock.substeps if self._clock is not None else 1)

    @property
    def alpha(self) -> float:
        """How far the frame is between the last two states: 0 <= alpha < 1, for `interpolate`."""
        return float(self.clock.alpha)

    def _time_exact(self) -> Fraction:
        return self._origin + (self.tick - self._origin_tick) * self._exact_dt

    @property
    def time(self) -> float:
        """Simulated seconds: tick * dt, rounded once and never a running sum."""
        return float(self._time_exact())

    def energy(self) -> tuple[float, float]:
        """(kinetic, potential) energy of all bodies in J, in float64 whatever the dtype.

        Bodies of infinite mass are left out. Raises ValueError where a term has no potential.

        >>> import kickdrift as kd
        >>> kd.Stepper([[0.0, 2.0]], [[3.0, 0.0]], mass=2, forces=[kd.Gravity((0, -10))]).energy()
        (9.0, 40.0)
        """
        return self._plan.energy(self._position, self._velocity)

    def record(self, steps: int, every: int = 1) -> Trajectory:
        """Run `steps` steps and keep the state now and after each `every` of them.

        >>> import kickdrift as kd
        >>> kd.Stepper([[0.0]], [[2.0]], dt=0.5).record(4, every=2).position.ravel().tolist()
        [0.0, 2.0, 4.0]
        """
        steps = arguments.integer("steps", steps, 0)
        every = arguments.integer("every", every, 1)
        samples = steps // every + 1
        time = np.empty(samples)
        position = np.empty((samples, *self._position.shape), self.dtype)
        velocity = np.empty_like(position)
        for sample in range(samples):
            if sample:
                self.step(every)
            time[sample], position[sample], velocity[sample] = self.time, self._position, self._velocity
        self.step(steps - (samples - 1) * every)
        return Trajectory(time, position, velocity)

    # Moving bodies without stepping them.

    def teleport(self, index: Any, position: ArrayLike) -> None:
        """Put bodies elsewhere at once: nothing is drawn between the old and the new place.

        index: an int, slice, array of ints or mask of bodies. position: m, what
        `stepper.position[index]` takes. Velocities stay, also those that `verlet` keeps as history.
        Raises IndexError, TypeError or ValueError before anything changes.
        """
        moved = self._position.copy()
        moved[index] = position
        if not np.isfinite(moved[index]).all():
            raise ValueError(f"position: expected finite numbers, got {arguments.show(position)}")
        if self._started and self.integrator.history == "previous position":
            self._history[index] += (moved - self._position)[index]  # type: ignore[index]
        self._position[index] = moved[index]
        if self._previous is not None:
            for before, now in zip(self._previous, (self._position, self._velocity), strict=True):
                before[index] = now[index]

    def shift(self, offset: ArrayLike) -> None:
        """Move everything by `offset`, in m of shape (dim,): bodies, anchors and centers.

        The picture moves as a whole: what is drawn goes on as if nothing had happened, in coordinates
        whose origin lies at -offset (a floating origin). Raises TypeError or ValueError before
        anything changes.
        """
        vector = arguments.numbers("offset", offset)
        if vector.shape != (self.dim,):
            raise ValueError(f"offset: expected shape ({self.dim},), got {vector.shape}")
        self._move_forces(self._offset + vector)
        arrays = [self._position]
        if self._started and self.integrator.history == "previous position":
            arrays.append(self._history)  # type: ignore[arg-type]
        if self._previous is not None:
            arrays.append(self._previous[0])
        for array in arrays:
            array += vector.astype(self.dtype)

    def _move_forces(self, offset: np.ndarray) -> None:
        forces = [term.shifted(offset) for term in self._first_forces]
        plan = Plan(self.n, self.dim, self.dtype, self._plan.mass, self.integrator, forces)
        self._plan, self._offset = plan, offset
        self._rebind()

    # Saving and going back.

    def checksum(self) -> int:
        """A 64-bit digest of the state's bits: positions, velocities and the integrator's history.

        Equal on every platform, for every instruction set, memory layout and number of threads. Signed
        zeros count as equal; float32 and float64 states never agree.
        """
        total, size = 0, self.n * self.dim
        for number, array in enumerate(self._arrays()):
            total += self._digest(array, number * size)
        return total % 2**64

    def _arrays(self) -> list[np.ndarray]:
        history = [self._history] if self._started and self._history is not None else []
        return [self._position, self._velocity, *history]

    def snapshot(self) -> bytes:
        """Everything that later steps depend on, as bytes that any other machine can `restore`.

        That is: positions, velocities, the integrator's history, tick, dt and the clock's tick, but
        not the time that waits in the clock, which is the display's affair. The coefficients of the
        forces are not in it, only their digest.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[1.0]], dt=1)
        >>> saved = ball.snapshot()
        >>> ball.step(3)
        >>> ball.restore(saved)
        >>> ball.tick, ball.position.tolist()
        (0, [[0.0]])
        """
        return snapshots.save(self)

    def restore(self, snapshot: bytes) -> None:
        """Go back (or forth) to a snapshot of this or an equal stepper, in the same arrays.

        Raises SnapshotError for one that is damaged or was made by a stepper with other bodies,
        integrator, masses or forces; nothing has changed then. Drawing starts anew.
        """
        snapshots.load(self, snapshot)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments_ = {
            "position": self._position.copy(order="K"),
            "velocity": self._velocity.copy(order="K"),
            "mass": self.mass,
            "integrator": self.integrator,
            "forces": self._first_forces,
            "threads": self.threads,
        }
        return snapshots.rebuild, (type(self), arguments_, self.snapshot(), self._clock)

    def __copy__(self) -> Any:
        # Two steppers on the same arrays would each undo what the other did.
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        terms = ", ".join(type(term).__name__ for term in self.forces)
        return (
            f"<{type(self).__module__}.{type(self).__name__}: {self.n} bodies, dim {self.dim}, {self.dtype}, "
            f"{self.integrator}, dt={self.dt:g}, forces=[{terms}], tick {self.tick}>"
        )
