"""Core: the compiled base of Stepper, which runs the steps of a binding and replaces the binding atomically."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t

from .coefficients cimport merge_all, run_applied
from .binding cimport Binding, StepNumbers
from .events cimport EventStore, Touches, keys_of
from ..kernels.abi.plan cimport Array, Job
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.abi.coupled cimport INTERRUPTED, NO_BRANCH, UNSOLVED
from .runner cimport Runner
from .rotation cimport BoundRotation
from .slots cimport Slots
from .views cimport View, Writes, copy_array, copy_views, padded, same_views, views
from ..kernels.loops.slots cimport zero_inactive

import sys
from time import perf_counter

import numpy as np

from .. import kernels as kernels_
from .. import validation
from ..errors import ConvergenceError, NonFiniteError
from ..rollback import snapshots
from ..stepper import slots as slots_

require_rounding(__name__)

cdef enum:
    DIRECT = 4      # up to this number of steps, a call uses the caller's arrays if the only force is a Python function
    LONG = 2000     # from this number of bodies on, the rotation (some 20 µs) releases the GIL

cdef bint LITTLE = sys.byteorder == "little"    # snapshots are little-endian


cdef class Become:
    """Masks and generations for the slots, copied before the commit, so that `execute` runs no Python code."""

    cdef const uint8_t[::1] to_alive, to_needs_start
    cdef const int64_t[::1] to_generation

    def __cinit__(self, Py_ssize_t n, slots):
        alive, generation, needs_start = slots
        if not len(alive) == len(generation) == len(needs_start) == n:
            raise AssertionError("masks of another length")
        self.to_alive, self.to_needs_start = np.array(alive, np.uint8), np.array(needs_start, np.uint8)
        self.to_generation = np.array(generation, np.int64)

    cdef void execute(self, Slots slots) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(slots.n):
            slots.alive[i], slots.needs_start[i] = self.to_alive[i], self.to_needs_start[i]
            slots.generation[i] = self.to_generation[i]
            slots.id[i] = slots.generation[i] << 32 | i if slots.alive[i] else -1
        slots.follow()


cdef class Core(Runner):
    """Compiled base of Stepper. Kernel data is laid out before the first step; a step only follows pointers."""

    # Binding.

    def _bind(self):
        """Create views of the state arrays; allocate the array of the history, if the integrator has one."""
        self.find_kernels(self._position.dtype)
        self.item = self._position.itemsize
        self.rows = self._position.shape[0]
        arrays = [self._position, self._velocity]
        if self.integrator.history:
            arrays.append(np.zeros_like(self._position))
        self.state = views(arrays)
        if self._rotation is not None:
            self.rotation = BoundRotation.of(self._rotation)
        self.store = None if self._events is None else EventStore(self._events, self._position.shape[1])

    def _binding(self, object model, state=None):
        """Bind a model to the arrays `state` (None: the current arrays); `_commit` adopts the result."""
        cdef Binding previous = self.binding
        cdef Binding binding
        state = self.state if state is None else views([array for array in state if array is not None])
        if model.applied or model.torques:
            arrays = [(<View> view).array for view in state]
            validation.own_memory([*model.applied, *model.torques], [*arrays, *self._turning_arrays().values()])
        if previous is not None and previous.plan.n != model.n:
            previous = None
        inverse_inertia = None
        if self._rotation is not None or model.torques:
            inverse_inertia = self._inverse_inertia_of(model)
        model.events_enabled = self.store is not None
        binding = Binding.of(model, state, self.kernels, self._threads, previous)
        if self.store is not None and binding.coupled is not None:
            binding.coupled.listen(self.store, model, None if self.binding is None else self.binding.model)
        if binding.known is None:
            binding.writes += model.numbered(None if previous is None else previous.model)
        if inverse_inertia is not None:
            to = model.rotating.inverse_inertia[: model.n, None]
            binding.writes.append((to, None, inverse_inertia[:, None]))
        return binding

    def _rebound(self, history):
        """Return further attributes to set when other state arrays are bound. Subclasses override it."""
        return {}

    def _numbers(self, Binding binding, double h):
        """Compute the numbers of a binding that depend on dt; `_commit` adopts the result."""
        (self._plan if binding is None else binding.model).check_direction(h)
        return (self.binding if binding is None else binding).numbers_for(h, self.binding)

    cdef int make_room(self) except -1:
        """Allocate buffers to save the state; coupled bodies get structures of arrays."""
        arrays = [(<View> view).array for view in self.state]
        if self.coupled is None:
            self.saved = views([np.empty_like(array) for array in arrays])
        else:
            self.saved = views([
                kernels_.aligned_zeros((array.shape[1], padded(len(array))), array.dtype).T[: len(array)]
                for array in arrays
            ])
        return 0

    cdef void adopt(self, Binding binding) noexcept:
        """Adopt another binding."""
        cdef Binding before = self.binding  # keeps the old binding alive until no pointer refers to its memory
        cdef double last_h = 0 if before is None else self.plan.last_h
        if before is None or (before.coupled is None) != (binding.coupled is None) or before.state is not binding.state:
            self.saved = None   # the layout of the saved state may differ
        self.binding, self.coupled = binding, binding.coupled
        self.state, self.rows = binding.state, binding.plan.n
        self.applied = NULL if binding.applied is None else &binding.applied.applied
        self.plan, self.coupling, self.known = &binding.plan, NULL, None
        if binding.known is not None:
            self.coupled.model, self.coupled.known = binding.model, binding.known
        if self.coupled is not None:
            self.coupling, self.run_coupled = &self.coupled.coupling, self.kernels.coupled.run
            if self.coupled.workspace is None:
                self.coupled.coupling.plan = self.plan
            if self.coupled.tiles is not None:
                self.coupled.coupling.own = self.plan
            self.coupled.take_over(None if before is None else before.coupled, None)
            self.coupled.last = NULL
        self.plan.last_h = last_h
        self.fallible, self.cost, self.most = binding.fallible, binding.cost, binding.most
        self.helpers = binding.helpers
        if self.slots is not None:
            self.plan.slots, self.rows = &self.slots.data, self.slots.count
            self.slots.stale = True

    def _commit(
        self, *, writes=(), Binding binding=None, StepNumbers numbers=None, resume=None, dict attributes=None,
        clock_rate=None, clock_tick=None, clock_anew=None, slots=None, touching=None,
    ):
        """Apply several changes atomically: all that may fail or be interrupted happens before the first change.

        writes: (array, rows or None, values); binding, numbers: made by `_binding` and `_numbers`;
        resume: (tick, started, last_h); attributes: Python attributes to set; slots: (alive, generation, needs_start)
        to copy into the slots; touching: (source, keys of the touching pairs) of each event source.
        Errors of the clock are raised before any change.
        """
        cdef Writes prepared = Writes(writes if binding is None else [*writes, *binding.writes])
        cdef Touches touches = None if touching is None else Touches(touching)
        cdef int64_t tick = 0
        cdef bint started = False
        cdef double last_h = 0
        cdef dict own = self.__dict__
        cdef double origin = self.origin
        cdef int64_t origin_tick = self.origin_tick
        cdef Slots place = self.slots
        cdef Become become = None
        cdef BoundRotation rotation = self.rotation
        cdef Binding links = self.binding if binding is None else binding
        if resume is not None:
            tick, started, last_h = resume
        if attributes is not None and "_slots" in attributes:
            place = Slots.of(attributes["_slots"], self._position.dtype)  # the number of rows has changed
        if attributes is not None and "_rotation" in attributes:
            rotation = BoundRotation.of(attributes["_rotation"])    # the arrays were replaced
        if slots is not None:
            if place is None:
                place = Slots.of(self._book(), self._position.dtype)
            become = Become(place.n, slots)
        if place is not None and links.coupled is not None:
            links.coupled.find_links(place, self.coupled)
        # Snapshots have zeros in inactive rows. Other writes to whole arrays may not: zero the inactive rows again.
        cdef bint written = place is not None and (
            place is not self.slots or (resume is None and len(writes) > 0) or "_position" in (attributes or ())
        )
        # True if the kernels are already prepared for the current numbers and slots.
        cdef bint ready = binding is None and numbers is None and place is self.slots and self.ready
        cdef double spanned = self.plan.last_h if ready else 0
        if attributes is None:
            attributes = {}
        elif "_origin" in attributes:
            origin, origin_tick = validation.as_float(attributes["_origin"]), attributes["_origin_tick"]
        self.turn_clock(clock_rate, clock_tick, clock_anew)
        # No Python code runs from here on: a signal handler could raise between two changes.
        self.still = False
        prepared.execute()
        self.slots, self.rotation = place, rotation
        if self.store is not None and place is not None:
            self.store.log.generation, self.store.log.alive = place.generation, place.alive
        if become is not None:
            become.execute(place)
            if binding is None:
                self.plan.slots = &place.data
                self.rows = place.count
        if binding is not None:
            self.adopt(binding)
        if numbers is not None:
            self.binding.take(numbers)
        if resume is not None:
            self.completed, self.started, self.plan.last_h = tick, started, last_h
            if self.store is not None:
                self.store.cut(tick)
            self.drawn_tick = -1
        if touches is not None and self.coupled is not None:
            self.coupled.take_over(None, touches)
        if not self.started:
            self.plan.last_h = self.plan.h
        self.origin, self.origin_tick = origin, origin_tick
        if not (ready and self.plan.last_h == spanned):
            self.binding.prepare()
        if self.coupled is not None:
            self.coupled.wake()
        if written:
            zero_inactive(self.plan, 0, self.plan.n)
            if rotation is not None:
                rotation.zero_inactive(place.alive, self.item)
        own.update(attributes)
        self.ready = True

    cdef int turn_clock(self, object rate, object tick, object anew) except -1:
        """Set the rate and tick of the clock if given; `anew`: the arguments of `_begin_again`."""
        return 0

    # Spawn and kill.

    cdef int make_slots(self) except -1:
        """Create the slots, unless they exist: one per row, all active."""
        if self.slots is None:
            book = self._book()
            n = book.n
            self._commit(slots=(book.mask[:n], book.generation, book.needs_start[:n]))
        return 0

    def spawn(
        self, object position, object velocity=0.0, object mass=None, *, object radius=None, object category=None,
        object mask=None, object sensor=None, object restitution=None, object friction=None, object rows=None,
        object angular_velocity=None, object angle=None, object orientation=None,
    ):
        """Add bodies in the lowest free rows, in ascending order; return their ids, int64 of shape (k,).

        position: m, of shape (k, dim); or (dim,) for one body, or for all bodies if velocity has rows. velocity: m/s,
        a row per body, one vector for all, of shape (dim,) or (1, dim), one number, or whatever can be broadcast to
        (k, dim). Shape (0, dim) adds no body.
        mass: kg, one number or (k,).
        radius, category, mask, sensor, restitution, friction: one value or (k,), in the units of the constraints, for
        all constraints that have them per body, disabled ones too. The mask is for collisions; that of walls, shapes
        and sensors is their own. Where they differ from those of the row, they cost as much as `set`. What is left out
        stays that of the row.
        rows: the rows to choose from, a slice, ints or a mask; all by default. With rows kept for each kind of body,
        coefficients need not change.
        angular_velocity, angle, orientation: where bodies rotate, in the units and shapes of `Stepper`, a number or a
        row for all or one for each; 0, 0 and (1, 0, 0, 0) if left out.

        The next step moves them. Their integrator history (`verlet`, `groot_warren`) starts anew, as after `restart`,
        but only in their rows. Until the next step `interpolate` returns their positions. Rows are free after `kill`,
        or if the `alive` argument of `Stepper` left them free. After `restore` the same spawns return the same ids.
        Your own arrays are not changed: write the rows of the new bodies.

        Raises CapacityError if too few rows are free, TypeError or ValueError for numbers that are not finite and for
        coefficients that no constraint has per body, IndexError for other rows, RuntimeError during a step; nothing
        has changed then. Thread-safety: as `step`.

        >>> import kickdrift as kd
        >>> world = kd.Stepper([[0.0, 0.0]] * 4, dt=0.5, alive=1)
        >>> bullets = world.spawn([[1.0, 0.0], [2.0, 0.0]], velocity=(0.0, 4.0))
        >>> world.step()
        >>> world.position[world.slots(bullets)].tolist(), world.count
        ([[1.0, 2.0], [2.0, 2.0]], 3)
        """
        self.lock()
        try:
            self.make_slots()
            turns = (
                self.rotation is not None or angular_velocity is not None or angle is not None
                or orientation is not None
            )
            kinds = (radius, category, mask, sensor, restitution, friction)
            among = slots_.candidates(self.plan.n, rows)
            if mass is not None or turns or any(kind is not None for kind in kinds):
                position, velocity, mass = slots_.spawned(position, velocity, mass, self.plan.dim, self.dtype)
                turning = self._turning_of(len(position), angular_velocity, angle, orientation) if turns else None
                chosen = self._slots.free(len(position), among)
                names = ("radius", "category", "mask", "sensor", "restitution", "friction")
                self._give_kinds(chosen, mass, dict(zip(names, kinds)))  # may replace the binding
                self._write_turning(chosen, turning)
            ids = self.slots.spawn(self.plan, position, velocity, among)
            self.rows = self.slots.count
            return ids
        finally:
            self.unlock()

    def kill(self, object ids):
        """Remove bodies: their rows become zero and free.

        ids: one or several ids from `spawn` or `world.ids`, or rows, which are ints below 2**32. Or a mask of shape
        (n,): the active bodies in its rows are removed. Springs, distances and pins of a body are removed with it; the
        next body in its row does not get them. `restore` undoes all of it. Your own arrays are not changed, including
        the force array of an `AppliedForce`: write them when you `spawn` the next body.

        Raises DeadBodyError, a KeyError, for bodies that are dead, TypeError or ValueError for anything that is not
        an id, RuntimeError during a step; nothing has changed then. Thread-safety: as `step`.

        >>> import kickdrift as kd
        >>> world = kd.Stepper([[1.0], [2.0], [3.0]], alive=3)
        >>> world.kill(world.position[:, 0] > 1.5)
        >>> world.alive.tolist(), world.position.tolist()
        ([True, False, False], [[1.0], [0.0], [0.0]])
        """
        self.lock()
        try:
            self.make_slots()
            self.slots.kill(self.plan, ids)
            if self.rotation is not None:
                self.rotation.zero_inactive(self.slots.alive, self.item)
            self.rows = self.slots.count
        finally:
            self.unlock()

    def _find(self, object ids):
        """Return the slots of bodies, int64 of any shape; -1 for those that are not active."""
        if self.slots is None:
            return self._book().find(ids)
        return self.slots.find(ids)

    def _zero_inactive(self):
        """Zero the inactive rows, and the histories of bodies spawned since the last step."""
        if self.slots is not None:
            zero_inactive(self.plan, 0, self.plan.n)
            if self.rotation is not None:
                self.rotation.zero_inactive(self.slots.alive, self.item)
            self.slots.clear_histories(self.plan)

    # Used by base.py to save and restore states.

    @property
    def _started(self):
        return self.started

    @property
    def _last_h(self):
        return self.plan.last_h if self.ready else 0.0

    @property
    def _history(self):
        return (<View> self.state[2]).array if len(self.state) > 2 else None

    def _copies(self):
        """Return the arrays of the state as one bytes object, row by row."""
        cdef Py_ssize_t size = self.plan.n * self.plan.dim * self.item
        cdef bint history = self.started and self.plan.s.data != NULL
        cdef bytes data
        cdef Array to
        self._zero_inactive()
        if not LITTLE:
            return snapshots.copies(self)
        data = PyBytes_FromStringAndSize(NULL, (2 + history) * size)
        to.data, to.body, to.component = PyBytes_AS_STRING(data), self.plan.dim * self.item, self.item
        copy_array(&to, &self.plan.x, self.plan.n, self.plan.dim, self.item)
        to.data += size
        copy_array(&to, &self.plan.v, self.plan.n, self.plan.dim, self.item)
        to.data += size
        if history:
            copy_array(&to, &self.plan.s, self.plan.n, self.plan.dim, self.item)
        return data

    # Contact events.

    def _take_events(self):
        return self.store.take()

    @property
    def _events_dropped(self):
        return self.store.dropped

    def _touching(self):
        """Return (constraint number, keys of its touching pairs) for each constraint that records events."""
        if self.coupled is None:
            return []
        self.coupled.forget_pairs()
        found = [
            (self.coupled.events[i].source, keys_of(self.coupled.events[i]))
            for i in range(self.coupled.event_source_count)
        ]
        return sorted(found, key=lambda pair: pair[0])

    # Running.

    def step(self, object n=1, object progress=False):
        """Run n fixed steps in compiled code, in place, and return None.

        Other threads run meanwhile where the work is worth it. A long call answers Ctrl-C within a
        fraction of a second, at a completed tick.

        n: how many, an int >= 0.
        progress: whether to show progress on standard error, if the call takes longer than two seconds.

        Raises NonFiniteError when a state overflows (it names the body; the world stays at the first tick that is not
        finite, as with single steps), ConvergenceError when an implicit step cannot be solved (the world stays at the
        last tick that all bodies reached), RuntimeError when the stepper is busy in another thread, TypeError or
        ValueError for n that is not an int, or is negative.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0, 10.0]], dt=0.5, forces=[kd.Gravity((0, -10))])
        >>> ball.step(2)
        >>> ball.position.tolist(), ball.tick, ball.time
        ([[0.0, 5.0]], 2, 1.0)
        """
        if progress is not False:
            self.step_and_show(n, progress)
        elif self.handed != NULL and self.handed[0] > 0:
            self.step_in_frame(n)
        else:
            self.run_steps(n)

    cdef int step_in_frame(self, object n) except -1:
        """Run `step` inside a loop over the steps of the stepper's own clock."""
        raise NotImplementedError

    cdef Py_ssize_t run_part(self, Py_ssize_t steps) except -1:
        if self.slots is not None and self.slots.stale:
            self.slots.layout(None if self.coupled is None else self.coupled.links)
            self.still = False
            if self.coupled is not None:
                self.coupled.clear_inactive()
                self.coupled.last = NULL
        if self.still and same_views(self.known, self.whole_state()):
            self.completed += steps
            self.evaluated += steps * self.job.evaluations
            return steps
        if self.coupled is not None and self.coupled.sleeps and self.applied == NULL and not self.binding.torques.count:
            return self.run_awake()
        return self.run_some(steps)

    cdef list whole_state(self):
        return self.state if self.rotation is None else self.state + self.rotation.arrays

    cdef Py_ssize_t run_awake(self) except -1:
        """Run a step; set `still` if the step changed no bit of the state: later steps then change none either."""
        cdef list now = self.whole_state()
        cdef int64_t events = 0 if self.store is None else self.store.log.count + self.store.log.dropped
        self.still = False
        if self.known is None or len(self.known) != len(now):
            self.known = views([np.empty_like((<View> view).array) for view in now])
        copy_views(self.known, now)
        done = self.run_some(1)
        self.still = same_views(self.known, now) and self._impulses.unchanged()
        if self.store is not None and self.store.log.count + self.store.log.dropped != events:
            self.still = False
        return done

    cdef Py_ssize_t run_some(self, Py_ssize_t steps) except -1:
        if self.plan.last_h != self.plan.h:
            # The last step had another dt. Constants are for one pair (dt, last dt): run a single step.
            steps = 1
        if self.rotation is not None:
            # Constraints change angular velocities: each step needs its own step of rotation.
            steps = 1
            if self.plan.n < LONG:
                self.begin_rotation()
            else:
                with nogil:
                    self.begin_rotation()
        if self.coupled is not None and self.coupled.tiles is not None:
            return self.run_static(steps)
        if self.coupled is not None and self.coupled.workspace is not None:
            return self.run_workspace(steps)
        if self.fallible or steps > 1:
            return self.run_or_restore(steps)
        self.run(1)
        self.complete(1, True)
        return 1

    @cython.final
    cdef void begin_rotation(self) noexcept nogil:
        """Set the arguments of the rotation for one step, and run the rotation pass that precedes the step."""
        turning = &self.rotation.turning
        turning.h, turning.alive = self.plan.h, NULL
        if self.slots is not None:
            turning.alive = self.slots.alive
        turning.decay, turning.decay_body = self.binding.numbers.spin_decay, self.binding.numbers.spin_decay_each
        turning.torques, turning.torque = self.binding.torques.count, self.binding.torques.torque
        self.rotation.run(self.kernels.begin_turning)

    @cython.final
    cdef int run(self, Py_ssize_t steps) except -1:
        """Run steps; the result (evaluations, failures) is in self.job."""
        cdef double work = steps * self.cost
        self.prepare_job(steps)
        return self.run_job(self.job.last, work if self.slots is None else work * self.slots.share)

    @cython.final
    cdef void prepare_job(self, Py_ssize_t steps) noexcept nogil:
        """Prepare the job of the next `steps` steps, for the rows up to the last active one."""
        self.job.first, self.job.last = 0, self.plan.n
        self.job.steps, self.job.tick = steps, self.completed
        self.job.start = self.plan.s.data != NULL and not self.started
        if self.coupled is not None:
            if self.applied != NULL:
                merge_all(self.kernels, self.applied, self.plan)
            self.coupled.coupling.origin = self.origin
            self.coupled.coupling.origin_tick = self.origin_tick
        if self.slots is not None:
            self.job.last = self.slots.data.end
            self.job.begin = self.slots.any_needs_start and self.plan.s.data != NULL and self.started

    cdef void call(self, Job* job) noexcept nogil:
        if self.leaping:
            self.kernels.coupled.leap(self.coupling, job, NULL)
        elif self.coupling != NULL:
            self.run_coupled(self.coupling, job, NULL)
        elif self.applied != NULL and not self.plan.merges:
            run_applied(self.kernels, self.applied, self.plan, job)
        else:
            self.plan.run(self.plan, job, NULL)

    @cython.final
    cdef int complete(self, Py_ssize_t steps, bint raises) except -1:
        """Count steps that all bodies completed. raises: whether to raise a deferred interrupt or NonFiniteError.

        With raises=False, a later step failed, and the caller raises the error of that step.
        """
        if self.rotation is None or self.plan.n < LONG:
            self.count(steps)
        else:
            with nogil:
                self.count(steps)
        # With FSAL, each part of a call repeats the last evaluation of the preceding part: count it once.
        self.evaluated += self.job.evaluations - (self.later and self.binding.fsal)
        if self.plan.last_h != self.plan.h:
            # After a step the history spans the current dt.
            self.plan.last_h = self.plan.h
            self.binding.prepare()
        if raises and (self.interrupt is not None or self.job.bad_body >= 0):
            return self.raise_waiting()
        return 0

    @cython.final
    cdef void count(self, Py_ssize_t steps) noexcept nogil:
        """Count steps that all bodies completed."""
        cdef Py_ssize_t body
        self.completed += steps
        self.started = True
        if self.rotation is not None:
            body = self.rotation.run(self.kernels.complete_turning)
            if body >= 0 and (self.job.bad_body < 0 or body < self.job.bad_body):
                self.job.bad_body = body
        if self.slots is not None and self.slots.any_needs_start:
            self.slots.clear_needs_start()

    cdef int raise_waiting(self) except -1:
        self.raise_interrupt()
        raise NonFiniteError(self.job.bad_body, self.completed - 1, self.completed, "body", len(self.state) > 2)

    cdef int coast(self, Py_ssize_t steps) except -1:
        if steps > 0 and self.store is not None and self.coupled is not None and self.coupled.touches():
            self.prepare_job(1)
            self.coupled.end_contacts(self.completed + 1)
        if self._motion is not None:
            self._motion.coast(self._plan, steps, self.plan.h)
        return 0

    cdef int save_and_run(self, Py_ssize_t steps) except -1:
        """Save the state and run steps; wall kernels save the state tile by tile, while a tile is in the L1 cache."""
        cdef Array[2] saved
        if self.coupled is None or self.slots is not None or len(self.state) != 2 or self.job.before != NULL:
            return Runner.save_and_run(self, steps)     # `before` is in use: kernels save the state for drawing
        saved[0], saved[1] = (<View> self.saved[0]).place, (<View> self.saved[1]).place
        self.job.before = &saved[0]
        try:
            self.run(steps)
        finally:
            self.job.before = NULL
        return 0

    cdef Py_ssize_t run_workspace(self, Py_ssize_t steps) except -1:
        """Step coupled bodies; an error leaves the state of the last completed step, or the first non-finite state.

        Kernels stop at that step, except the few-body kernel: it runs again with fewer steps, from the initial state.
        """
        cdef Job* job = &self.job
        cdef Coupled coupled = self.coupled
        coupled.looked = perf_counter()
        # Reuse the accelerations of the last call: otherwise a call of one step evaluates the forces twice.
        coupled.coupling.recalled = coupled.repeatable and self.applied == NULL and coupled.recalls(self.plan)
        coupled.last = NULL
        if steps <= DIRECT and coupled.only_function and self.slots is None and coupled.show(self.plan, self.state):
            return self.run_function(steps)
        coupled.enter(self.plan)
        self.run(steps)
        job.evaluations += coupled.coupling.recalled  # counts must not depend on reuse
        while coupled.only_few() and job.bad_body >= 0 and job.failed_step > 1:
            coupled.enter(self.plan)
            self.run(job.failed_step // 2)
        if job.failed_step > 0:
            coupled.leave(self.plan, job.failed_step)
            if job.failed_step == steps and job.code == 0 and job.bad_body < 0:
                coupled.last = coupled.buffer(steps)
        return self.conclude()

    cdef Py_ssize_t run_function(self, Py_ssize_t steps) except -1:
        """Step bodies directly in the caller's arrays; a Python function computes the forces."""
        cdef Coupled coupled = self.coupled
        coupled.coupling.own, coupled.coupling.direct = self.plan, True
        try:
            self.run(steps)
        finally:
            coupled.coupling.direct = False
        return self.conclude()

    cdef Py_ssize_t conclude(self) except -1:
        """Count the completed steps of a job and return their number; if a later step failed, raise its error."""
        cdef Job* job = &self.job
        job.done = 0
        if job.failed_step > 0:
            self.complete(job.failed_step, job.code == 0)
        else:
            self.evaluated += job.evaluations
        if job.code != 0:
            self.raise_failure(job)
        return job.failed_step

    cdef Py_ssize_t run_static(self, Py_ssize_t steps) except -1:
        """Step bodies among walls, shapes and regions; only tiles that may reach one of these use the workspace.

        All other tiles run first. If a step in the workspace fails, they are restored and rerun up to that step.
        """
        cdef Job* job = &self.job
        cdef Job ended
        if steps > 1:
            if self.saved is None:
                self.make_room()
            copy_views(self.saved, self.state)
        self.leap(steps)
        if job.near == 0:
            self.coupled.coast(steps)
            self.complete(steps, True)
            return steps
        began = None if self._motion is None or steps == 1 else self._motion.rows.copy()
        self.coupled.looked = perf_counter()
        self.coupled.enter(self.plan)
        self.run(steps)
        ended = self.job
        job.done = ended.done = 0
        if 0 < ended.failed_step < steps:
            copy_views(self.state, self.saved)
            if began is not None:   # repeat the steps from the initial positions of moving shapes
                rows = self._motion.rows
                rows[...], began = began, rows.copy()
            self.leap(ended.failed_step)
            if began is not None:
                rows[...] = began
            self.job = ended
        if ended.failed_step > 0:
            self.coupled.leave(self.plan, ended.failed_step)
        return self.conclude()

    cdef int leap(self, Py_ssize_t steps) except -1:
        """Step only the tiles that reach no static constraint."""
        self.leaping = True
        try:
            self.run(steps)
        finally:
            self.leaping = False
        return 0

    cdef int raise_failure(self, const Job* failed) except -1:
        if failed.code == INTERRUPTED and self.coupled.interrupt is not None:
            error, self.coupled.interrupt = self.coupled.interrupt, None
            raise error
        # Check first which part failed: a user's function may return any code, also UNSOLVED or NO_BRANCH.
        if self.coupled is None or (failed.failed_part < 0 and failed.code == UNSOLVED):
            raise ConvergenceError(failed.failed_body, self.completed, failed.residual)
        if failed.failed_part < 0 and failed.code == NO_BRANCH:
            kind = self._plan.constraint_records[-2 - failed.failed_part].kind
            raise RuntimeError(
                f"kernels: expected a branch for {kind!r} in contacts_table.pxd or coupled_table.pxd, and, if it "
                f"reports events, in contact_events.pxd"
            )
        return self.coupled.raise_failure(failed)

    def restart(self):
        """Discard the integrator's history: the next step starts from the arrays alone.

        Call it for `verlet` after you change velocities, for `groot_warren` after you move bodies. The velocity is
        taken as the current one. (The velocity that `verlet` writes with "backward" lags by half a step.)

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[1.0]], dt=1, integrator="verlet")
        >>> ball.step()
        >>> ball.velocity[0] = 3.0
        >>> ball.restart()
        >>> ball.step()
        >>> ball.position.tolist()
        [[4.0]]
        """
        self.lock()
        self.started = False
        self.plan.last_h = self.plan.h
        self.binding.prepare()
        self.unlock()

    @property
    def force_evaluations(self):
        """Number of evaluations of all forces so far; the maximum over bodies for iterative integrators.

        It counts the evaluations that the integrator requires, also where `NBody`, `Springs` and `PairPotential` reuse
        the forces of unchanged positions.
        """
        return self.evaluated
