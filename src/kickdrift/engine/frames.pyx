"""Frames: the loops that convert frame times to steps, and the interpolation between two steps for drawing."""

cimport cython
from libc.math cimport NAN, isfinite
from libc.stdint cimport int64_t, uint8_t

from ..clock.clockwork cimport Clockwork
from .bodies cimport Core
from .coefficients cimport space
from ..kernels.clock cimport BUDGET, count_steps, fraction, step_length
from ..kernels.interpolation cimport Weights, draw
from ..kernels.abi.plan cimport ROW, STRIDED, VERLET_BACKWARD, VERLET_CENTRAL, Array, Plan
from ..kernels.simd.rounding cimport require_rounding
from .views cimport View, copy_array, copy_views, locate, views

from time import monotonic_ns

import numpy as np

from .. import validation
from ..stepper import interpolation

require_rounding(__name__)


@cython.final
cdef class Ticks:
    """Iterator over the steps of a frame, returned by `ticks`."""

    cdef Frames world
    cdef Clockwork clock
    cdef bint begun, pending, ended     # the frame has begun; a step must follow the loop body; the frame is over

    def __iter__(self):
        return self

    def __next__(self):
        if self.ended:
            raise StopIteration
        if not self.begun:
            self.clock._refuse_reentry()
            self.clock.running = self.begun = True
        try:
            if self.pending:
                self.run()
            if self.clock.may_step():
                # Mark the step as taken before the loop body runs, so that a resync() in the body does not drop it.
                self.clock.now.taken = 1
                self.pending = True
                return self.world.completed
        except BaseException:
            self.close()
            raise
        self.close()
        raise StopIteration

    cdef int run(self) except -1:
        """Run the step that follows the loop body."""
        cdef Frames world = self.world
        cdef int64_t first
        world.lock()
        first = world.completed
        self.pending = False
        try:
            world.follow(self.clock)
            world.last_step(self.clock.now.substeps)
        finally:
            # Count a completed step even if it raised: its state may be non-finite.
            count_steps(&self.clock.now, (world.completed - first) // self.clock.now.substeps)
            self.clock.now.taken = 0
            world.unlock()
        return 0

    cdef int close(self) except -1:
        """End the frame. A step that did not run is still due."""
        if self.begun and not self.ended:
            self.ended = True
            self.clock.end_frame()
        return 0

    def __del__(self):
        self.close()


cdef class Frames(Core):
    """Base class of Stepper that converts frame times to steps and interpolates between two steps for drawing."""

    cdef object seconds_of(self, object seconds):
        """Return the given frame time, or (None) the time measured since the last frame without a given time."""
        if seconds is not None:
            return seconds
        now, last = monotonic_ns(), self.measured
        self.measured = now
        return 0.0 if last is None else (now - last) / 1_000_000_000

    def advance(self, object seconds=None):
        """Add the time of a frame to the clock, run the steps that are due, and return their number.

        seconds: the time since the last frame, such as the `delta_time` of arcade. By default it is measured since the
        last measured frame, in nanoseconds: pygame's `clock.tick()` counts whole milliseconds. The first measured frame
        takes no time. The remaining fraction of a step stays in the clock, and `interpolate` uses it for drawing.

        Raises the errors of the clock's `advance` and of `step`. After an error, clock and stepper are at the last
        completed step; the other steps are still due. Thread-safety: as `step`.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[6.0]], dt=1/60)
        >>> ball.advance(0.04), ball.tick, ball.interpolate().tolist()
        (2, 2, [[0.14]])
        """
        self.lock()
        try:
            return self.frame(self.clock if self.own is None else self.own, self.seconds_of(seconds))
        finally:
            self.unlock()

    def ticks(self, object seconds=None):
        """Add the time of a frame to the clock, and loop over its steps: each step runs after the loop body.

        seconds: as for `advance`.

        Yields `tick`, the tick before the step. The step uses all changes made in the loop body, and `interpolate`
        draws as after `advance`. After `break`, or an exception in the loop body, the step does not run. It is still
        due in the next frame, with those after it. Changes of the clock take effect in the next frame.

        Raises the errors of `advance`, and RuntimeError for another frame inside the loop.

        >>> import kickdrift as kd
        >>> ship = kd.Stepper([[0.0]], [[0.0]], dt=1/60)
        >>> for tick in ship.ticks(0.04):
        ...     ship.velocity[0] += 3.0
        >>> ship.tick, ship.interpolate().round(4).tolist()
        (2, [[0.09]])
        """
        cdef Ticks loop = Ticks.__new__(Ticks)
        loop.world = self
        loop.clock = self.clock if self.own is None else self.own
        loop.clock._feed(self.seconds_of(seconds))
        return loop

    def _watch(self, Clockwork clock):
        """Use this clock for interpolation, also if the user's loop over its steps calls `step`."""
        self.own, self.handed = clock, &clock.now.handed

    cdef int step_in_frame(self, object n) except -1:
        """Run `step` inside a loop over the clock's steps; save the state before the last clock step for drawing."""
        cdef Clockwork clock = self.own
        cdef int64_t substeps = clock.now.substeps
        cdef int64_t steps, first, handed, before, count
        cdef bint drawn
        self.lock()
        first, handed = self.completed, clock.now.handed
        try:
            steps = validation.steps(n, first)
            self.follow(clock)
            count = min(steps, handed)
            # `before`: due substeps that remain at the start of the last clock step that this call begins.
            before = ((handed - count) // substeps + 1) * substeps
            if count > 0 and before <= handed:
                self.go(handed - before)
                self.keep()
                self.go(count - (handed - before))
                self.drawn_tick = self.completed
            else:
                drawn = self.drawn_tick == self.completed
                self.go(count)
                if drawn:
                    self.drawn_tick = self.completed
            self.go(steps - count)
        finally:
            clock.now.handed = max(0, handed - (self.completed - first))
            self.unlock()
        return 0

    cdef int64_t frame(self, Clockwork clock, object seconds) except -1:
        cdef int64_t due = clock.begin_frame(seconds)
        cdef int64_t substeps = clock.now.substeps
        cdef int64_t first = self.completed
        cdef int64_t done = 0
        cdef bint by_step = clock.now.rule == BUDGET
        try:
            if due > 0:
                self.follow(clock)
            if by_step:
                while clock.may_step():
                    clock.now.taken = 1
                    self.last_step(substeps)
                    count_steps(&clock.now, 1)
                    done += 1
            elif due > 0:
                self.go((due - 1) * substeps)
                self.last_step(substeps)
        finally:
            # Count a completed step even if it raised: its state may be non-finite.
            count_steps(&clock.now, (self.completed - first) // substeps - done)
            clock.end_frame()
        return (self.completed - first) // substeps

    cdef int follow(self, Clockwork clock) except -1:
        """Adopt the clock's step length, which the user may have changed."""
        cdef double h = step_length(&clock.now)
        if clock.now.substeps > 1 or h != self.plan.h:
            if clock.substep_dt != self.plan.h:
                self._follow_clock()
        return 0

    cdef int last_step(self, int64_t substeps) except -1:
        """Run one step of the clock, and save the state before the step as the start of the interpolation."""
        if self.plan.n > ROW:
            self.reserve()
        if self.plan.n > ROW and self.kept_by_steps(substeps):
            self.before[0], self.before[1] = (<View> self.previous[0]).place, (<View> self.previous[1]).place
            self.job.before = &self.before[0]
            try:
                self.go(substeps)
            finally:
                self.job.before = NULL
        else:
            self.keep()
            self.go(substeps)
        self.drawn_tick = self.completed
        if self.own is not None and self.own.now.handed > 0:
            self.own.now.handed = max(0, self.own.now.handed - substeps)
        return 0

    cdef bint kept_by_steps(self, int64_t substeps) noexcept:
        """Return whether kernels can save the state before the steps themselves, while each tile is in the L1 cache.

        They can only if all the steps run in a single call of the kernel.
        """
        cdef Plan* plan = self.plan
        cdef bint same = (
            (<View> self.previous[0]).place.body == plan.x.body
            and (<View> self.previous[1]).place.body == plan.v.body
        )
        return (
            self.slots is None and self._tape is None and self.rotation is None and (same or plan.layout == STRIDED)
            and (self.coupled is None or self.coupled.workspace is None)
            and (substeps == 1 or (substeps <= self.most and plan.last_h == plan.h))
        )

    cdef int reserve(self) except -1:
        """Allocate the previous-state buffers; mark them invalid until refilled."""
        self.drawn_tick = -1
        if self.previous is None or (<View> self.previous[0]).n != self.plan.n:
            self.previous = views([np.empty_like((<View> view).array) for view in self.drawn_state()])
        return 0

    cdef int keep(self) except -1:
        """Save the state for drawing."""
        self.reserve()
        if self._motion is not None:
            self._motion.keep()
        copy_views(self.previous, self.state if self.rotation is None else self.drawn_state())
        return 0

    cdef list drawn_state(self):
        """Return views of the arrays to save for drawing: positions, velocities, and angles or orientations."""
        cdef list arrays = self.state[:2]
        if self.rotation is not None:
            arrays.append(self.rotation.arrays[1])
        return arrays

    cdef int turn_clock(self, object rate, object tick, object anew) except -1:
        cdef Clockwork clock = self._clock
        cdef int64_t counted = 0 if tick is None else tick
        if anew is not None:
            clock._begin_again(*anew)
        if rate is not None:
            changes, origin = clock._planned(rate, "time")
            clock.put(changes, origin)
        if tick is not None:
            clock.now.tick = counted
        return 0

    @property
    def _previous(self):
        """Saved state before the last step of the last frame; None if further steps ran outside of a frame."""
        return [(<View> view).array for view in self.previous] if self.has_previous() else None

    cdef bint has_previous(self) noexcept:
        return self.previous is not None and self.drawn_tick == self.completed

    def _move(self, Py_ssize_t body, object position):
        """Move one body: the fast path of `_move_rows` of base.py."""
        cdef Array there
        cdef View view
        cdef Py_ssize_t n = self.plan.n
        cdef Py_ssize_t row = body + n if body < 0 else body
        cdef bint history = self.started and (self.plan.scheme == VERLET_BACKWARD or self.plan.scheme == VERLET_CENTRAL)
        cdef float* f32 = NULL
        cdef double* f64 = NULL
        cdef bint finite
        if not 0 <= row < n:
            raise IndexError(f"index {body} is out of bounds for axis 0 with size {n}")
        values = np.empty((1, self.plan.dim), self._position.dtype)
        values[0] = validation.numbers("position", position)
        locate(&there, values)
        finite = all_finite(&there, self.plan.dim, f32) if self.single else all_finite(&there, self.plan.dim, f64)
        if not finite:
            raise ValueError(f"position: expected finite numbers, got {validation.show(position)}")
        if self.slots is not None and not self.slots.alive[row]:
            return  # inactive rows stay zero
        # No Python code runs from here on: a signal handler could raise between two changes.
        if history and self.single:
            follow_history(&self.plan.x, &self.plan.s, row, &there, self.plan.dim, f32)
        elif history:
            follow_history(&self.plan.x, &self.plan.s, row, &there, self.plan.dim, f64)
        self.put(&self.plan.x, row, &there, 0)
        if self.has_previous():
            view = self.previous[0]
            self.put(&view.place, row, &there, 0)
            view = self.previous[1]
            self.put(&view.place, row, &self.plan.v, row)

    cdef void put(self, const Array* to, Py_ssize_t row, const Array* source, Py_ssize_t source_row) noexcept nogil:
        """Copy a row of one array to a row of another."""
        cdef Array a = to[0], b = source[0]
        a.data += row * a.body
        b.data += source_row * b.body
        copy_array(&a, &b, 1, self.plan.dim, self.item)

    def _last_step(self, int64_t substeps):
        self.lock()
        try:
            self.last_step(substeps)
        finally:
            self.unlock()

    def interpolate(self, object alpha=None, object out=None, object mode="linear", object living=False):
        """Return positions for drawing, between the states before and after the last step of the frame.

        The picture shows the time (tick - 1 + alpha) dt, up to one step behind the simulation, because by
        default nothing is extrapolated. Steps of a frame are those of `advance` and `ticks`, and those of `step` in a
        loop over the stepper's own clock, such as `for _ in world.clock.steps(seconds): world.step()`. Before the first
        frame, and after other steps, the positions themselves are returned.

        alpha: the fraction between the two states, 0 to 1; by default the clock's.
        out: a float32 or float64 array or buffer of shape (n, dim) to write to, such as a mapped vertex buffer; by
        default a new array. It is returned. It may also consist of vertices of several numbers each, with shape (n,)
        and format "fff". In two dimensions shape (n, 3) is allowed too; the third column is not changed.
        mode: "linear"; or "hermite", which also uses the velocities, and is better at low rates; or "extrapolate",
        alpha steps beyond the last state, which has no delay, but overshoots at each bounce.
        living: draw only active bodies, one after the other, in the order of their rows. `out` then has the shape
        (count, dim). Otherwise the rows of inactive bodies are NaN.

        Never changes the state. Raises TypeError or ValueError for a wrong argument.

        >>> import numpy as np, kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[6.0]], dt=1/60)
        >>> steps = ball.advance(0.025)
        >>> ball.interpolate(out=np.zeros((1, 1), np.float32)).round(4).tolist()
        [[0.05000000074505806]]
        """
        living = validation.flag("living", living)
        self.lock()
        try:
            return self.drawn(alpha, out, mode, living)
        finally:
            self.unlock()

    cdef object drawn(self, object alpha, object out, object mode, bint living):
        cdef Weights weights
        cdef Array x, v, target
        cdef bint single
        cdef Py_ssize_t rows = self.slots.count if living and self.slots is not None else self.plan.n
        cdef Clockwork clock
        cdef double share
        if alpha is None:
            clock = self._clock
            share = 0 if clock is None else fraction(&clock.now)
        else:
            share = validation.real("alpha", alpha)
        x, v = self.plan.x, self.plan.v
        between = self.has_previous()
        if type(mode) is str and mode == "linear":
            weights.x, weights.v, weights.v_new = share, 0, 0
        else:
            weights.x, weights.v, weights.v_new = interpolation.weights(mode, share, self._frame_step, between)
        self.around = space(&self.torus, self._plan)
        weights.curved = weights.v != 0 or weights.v_new != 0
        if between and mode != "extrapolate":
            x, v = (<View> self.previous[0]).place, (<View> self.previous[1]).place
        result = np.empty((rows, self.plan.dim), self.dtype) if out is None else out
        array = interpolation.canvas(out, self, rows) if out is not None else result
        locate(&target, array)
        single = array.dtype == np.float32
        if rows == 0:
            return result
        if self.slots is None:
            self.draw_rows(&x, &v, &target, 0, 0, rows, &weights, single)
        else:
            self.draw_active(&x, &v, &target, &weights, single, living, mode == "extrapolate")
        return result

    cdef void draw_active(
        self, const Array* x, const Array* v, const Array* target, const Weights* weights, bint single, bint living,
        bint beyond,
    ) noexcept:
        """Interpolate the active bodies. A body spawned after the last step is drawn at its current position."""
        cdef const uint8_t* alive = self.slots.alive
        cdef const uint8_t* needs_start = self.slots.needs_start
        cdef bint begins = self.slots.any_needs_start and not beyond
        cdef Weights here
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t to = 0
        cdef Py_ssize_t last
        cdef bint spawned
        here.x = here.v = here.v_new = 0
        here.curved = False
        while first < self.plan.n:
            last = first + 1
            if alive[first]:
                # `!= 0` for speed: Cython evaluates `and` of a bint and an integer with Python objects.
                spawned = begins and needs_start[first] != 0
                while last < self.plan.n and alive[last] and (begins and needs_start[last] != 0) == spawned:
                    last += 1
                if spawned:
                    self.draw_rows(&self.plan.x, &self.plan.v, target, first, to, last - first, &here, single)
                else:
                    self.draw_rows(x, v, target, first, to, last - first, weights, single)
                to += last - first
            elif not living:
                fill_with_nan(target, first, self.plan.dim, single)
                to += 1
            first = last

    cdef void draw_rows(
        self, const Array* x, const Array* v, const Array* target, Py_ssize_t first, Py_ssize_t to, Py_ssize_t count,
        const Weights* weights, bint single,
    ) noexcept:
        """Interpolate `count` bodies from row `first` on, and write them to the target rows from `to` on."""
        cdef float* f32 = NULL
        cdef double* f64 = NULL
        cdef Array a = from_row(x, first)
        cdef Array b = from_row(v, first)
        cdef Array c = from_row(&self.plan.x, first)
        cdef Array d = from_row(&self.plan.v, first)
        cdef Array e = from_row(target, to)
        if single:
            if self.single:
                draw(&a, &b, &c, &d, &e, count, self.plan.dim, weights, &self.torus, f32, f32)
            else:
                draw(&a, &b, &c, &d, &e, count, self.plan.dim, weights, &self.torus, f64, f32)
        elif self.single:
            draw(&a, &b, &c, &d, &e, count, self.plan.dim, weights, &self.torus, f32, f64)
        else:
            draw(&a, &b, &c, &d, &e, count, self.plan.dim, weights, &self.torus, f64, f64)


cdef inline Array from_row(const Array* array, Py_ssize_t row) noexcept:
    cdef Array result = array[0]
    result.data += row * array.body
    return result


cdef void fill_with_nan(const Array* target, Py_ssize_t row, int dim, bint single) noexcept:
    cdef char* place = target.data + row * target.body
    cdef int j
    for j in range(dim):
        if single:
            (<float*> (place + j * target.component))[0] = NAN
        else:
            (<double*> (place + j * target.component))[0] = NAN


ctypedef fused real:
    float
    double


cdef bint all_finite(const Array* row, int dim, real* like) noexcept nogil:
    cdef int j
    for j in range(dim):
        if not isfinite((<const real*> (row.data + j * row.component))[0]):
            return False
    return True


cdef void follow_history(
    const Array* x, const Array* s, Py_ssize_t row, const Array* there, int dim, real* like,
) noexcept nogil:
    """Displace the previous position (the history of Verlet) by the displacement of the body."""
    cdef int j
    cdef real* previous
    cdef real now
    for j in range(dim):
        previous = <real*> (s.data + row * s.body + j * s.component)
        now = (<const real*> (x.data + row * x.body + j * x.component))[0]
        previous[0] = previous[0] + ((<const real*> (there.data + j * there.component))[0] - now)
