"""Frames: the loop that turns frames into steps, and drawing between two of them."""

from libc.stdint cimport int64_t

from ..clock.fixed_clock cimport FixedClock
from .bodies cimport Core
from ..kernels.interpolation cimport Weights, draw
from ..kernels.abi.plan cimport Array
from ..kernels.simd.rounding cimport require_rounding
from .runner cimport copy_array, locate

import numpy as np

from .. import validation
from ..stepper import interpolation

require_rounding(__name__)


cdef class Frames(Core):
    """The part of a Stepper that turns frames into steps and draws between two of them."""

    cdef list previous              # position and velocity before the last step of a frame, or None
    cdef Array previous_state[2]

    def advance(self, object seconds):
        """Feed the time of a frame to the clock, run the steps that are due, return how many.

        seconds: the time since the last frame, e.g. pygame's `clock.tick() / 1000`. What is left of a
        step stays in the clock; `interpolate` draws what lies between.

        Raises what the clock's `advance` and `step` raise. After an error both stand at the last
        completed step; what was due stays owed. Thread-safety: as `step`.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[6.0]], dt=1/60)
        >>> ball.advance(0.04), ball.tick, ball.interpolate().tolist()
        (2, 2, [[0.14]])
        """
        self.lock()
        try:
            return self.frame(self.clock, seconds)
        finally:
            self.unlock()

    cdef int64_t frame(self, FixedClock clock, object seconds) except -1:
        cdef int64_t due = clock.begin_frame(seconds)
        cdef int64_t substeps = clock._substeps
        cdef int64_t first = self.ticks
        cdef int64_t done = 0
        cdef bint by_step = clock.has_budget()
        try:
            if due > 0:
                self.follow(clock)
            if by_step:
                while clock.may_step():
                    clock._taken = 1
                    self.last_step(substeps)
                    clock.count(1)
                    done += 1
            elif due > 0:
                self.go((due - 1) * substeps)
                self.last_step(substeps)
        finally:
            # A step that is done counts, also where it raised: its state may be no longer finite.
            clock.count((self.ticks - first) // substeps - done)
            clock.end_frame()
        return (self.ticks - first) // substeps

    cdef int follow(self, FixedClock clock) except -1:
        """Take over the clock's step, which its owner may have changed."""
        cdef double h = clock.step_length()
        if clock._substeps > 1 or h != self.plan.h:
            if clock.substep_dt != self.plan.h:
                self._follow_clock()
        return 0

    cdef int last_step(self, int64_t substeps) except -1:
        """Run a step, and keep the state before it for drawing."""
        cdef Py_ssize_t n = self.plan.n
        if self.previous is None:
            previous = [np.empty_like(array) for array in self.state[:2]]
            for number, array in enumerate(previous):
                locate(&self.previous_state[<int> number], array)
            self.previous = previous
        self.drawn_tick = -1
        copy_array(&self.previous_state[0], &self.plan.x, n, self.plan.dim, self.item)
        copy_array(&self.previous_state[1], &self.plan.v, n, self.plan.dim, self.item)
        self.go(substeps)
        self.drawn_tick = self.ticks
        return 0

    cdef int turn_clock(self, object rate, object tick) except -1:
        cdef FixedClock clock = self._clock
        cdef int64_t counted = 0 if tick is None else tick
        if rate is not None:
            clock.set_hz(rate)
        if tick is not None:
            clock._tick = counted
        return 0

    @property
    def _previous(self):
        """The state before the last step of the last frame, or None if it is not the last step any more."""
        return self.previous if self.previous is not None and self.drawn_tick == self.ticks else None

    def _last_step(self, int64_t substeps):
        self.lock()
        try:
            self.last_step(substeps)
        finally:
            self.unlock()

    def interpolate(self, object alpha=None, object out=None, object mode="linear"):
        """Positions for drawing: between the state before the last step of the frame and the one after.

        The picture shows the time (tick - 1 + alpha) dt, one step behind the simulation: that is the
        price of never guessing. Until the first frame, and after steps outside `advance`, there is
        nothing between, and the positions are returned as they are.

        alpha: how far between the two, 0 to 1; the clock's when left out.
        out: a float32 or float64 array or buffer of shape (n, dim) to write to, such as a mapped
        vertex buffer; a new array when left out. It is returned.
        mode: "linear"; "hermite", which follows the velocities too and suits low rates; "extrapolate",
        alpha steps beyond the last state: no latency, but overshoots at every bounce.

        Never changes the state. Raises TypeError or ValueError for what cannot be drawn to.

        >>> import numpy as np, kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[6.0]], dt=1/60)
        >>> steps = ball.advance(0.025)
        >>> ball.interpolate(out=np.zeros((1, 1), np.float32)).round(4).tolist()
        [[0.05000000074505806]]
        """
        self.lock()
        try:
            return self.drawn(alpha, out, mode)
        finally:
            self.unlock()

    cdef object drawn(self, object alpha, object out, object mode):
        cdef Weights weights
        cdef Array x, v, target
        cdef float* f32 = NULL
        cdef double* f64 = NULL
        cdef FixedClock clock
        cdef double share
        if alpha is None:
            clock = self.clock
            share = clock.fraction()
        else:
            share = validation.real("alpha", alpha)
        x, v = self.plan.x, self.plan.v
        between = self._previous is not None
        if mode == "linear":
            weights.x, weights.v, weights.v_new = share, 0, 0
        else:
            if not between and mode == "hermite":
                mode = "linear"
            weights.x, weights.v, weights.v_new = interpolation.weights(mode, share, self._frame_step)
        weights.curved = weights.v != 0 or weights.v_new != 0
        if between and mode != "extrapolate":
            x, v = self.previous_state[0], self.previous_state[1]
        result = np.empty((self.plan.n, self.plan.dim), self.dtype) if out is None else out
        array = interpolation.canvas(out, self) if out is not None else result
        locate(&target, array)
        if self.plan.n == 0:
            return result
        if array.dtype == np.float32:
            if self.single:
                draw(&x, &v, &self.plan.x, &self.plan.v, &target, self.plan.n, self.plan.dim, &weights, f32, f32)
            else:
                draw(&x, &v, &self.plan.x, &self.plan.v, &target, self.plan.n, self.plan.dim, &weights, f64, f32)
        elif self.single:
            draw(&x, &v, &self.plan.x, &self.plan.v, &target, self.plan.n, self.plan.dim, &weights, f32, f64)
        else:
            draw(&x, &v, &self.plan.x, &self.plan.v, &target, self.plan.n, self.plan.dim, &weights, f64, f64)
        return result
