"""Swept: the steps of plans with Python forces, a stage at a time for all bodies."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from .core cimport Core
from .kernels.plan cimport ALTERNATE, DRIFT_KICK, KICK_DRIFT, ROW
from .kernels.schemes cimport has_opening, keeps, stages
from .kernels.sweeps cimport A, DAMP, OPENING, OUT, ROOM, START
from .kernels.tiles cimport P, S, V, X

import numpy as np

from . import kernels
from .errors import NonFiniteError


cdef class Swept(Core):
    """The part of a Stepper that calls Python functions; without any it is its base."""

    def _bind(self):
        Core._bind(self)
        if self._plan.pushes:
            self.bind_callbacks()

    cdef int bind_callbacks(self) except -1:
        plan = self._plan
        n, dim = plan.n, plan.dim
        self.padded = (n + ROW - 1) // ROW * ROW
        self.size = self.padded * dim * plan.dtype.itemsize
        self.room = kernels.aligned_zeros((ROOM * dim, self.padded), plan.dtype).reshape(ROOM, dim, self.padded)
        self.registers = <char*> <size_t> self.room.ctypes.data
        views = [self.room[X].T[:n], self.room[V].T[:n], self.room[OUT].T[:n]]
        for view in views[:2]:
            view.flags.writeable = False
        self.views = tuple(views)
        self.saved_state = np.zeros_like(self.room[: S + 1])
        self.aside = <char*> <size_t> self.saved_state.ctypes.data
        self.callbacks = [(term, term.function) for term in plan.callbacks]
        self.factors = []
        if len(self.callbacks) > MOST_CALLBACKS:
            raise ValueError(f"forces: expected at most {MOST_CALLBACKS} Python functions, got {len(self.callbacks)}")
        for number, term in enumerate(plan.callbacks):
            factors = np.ones(self.padded, plan.dtype)
            factors[:n] = plan.mass if term.divided_by_mass else plan.mobility
            self.factors.append(factors)
            self.factor[number] = <const char*> <size_t> factors.ctypes.data
            self.divided[number] = term.divided_by_mass
        return 0

    def _set_dt(self, double h):
        Core._set_dt(self, h)
        if self.callbacks is not None:
            for i, seconds in enumerate(self._plan.evaluation_times(h)):
                self.after[i] = seconds

    cdef int go(self, Py_ssize_t steps) except -1:
        cdef Py_ssize_t done = 0
        cdef bint whole = True
        cdef int64_t first = self.ticks
        if self.callbacks is None or self.plan.n == 0 or steps == 0:
            return Core.go(self, steps)
        self.origin, self.origin_tick = float(self._origin), self._origin_tick
        try:
            self.begin()
            while done < steps:
                self.keep_state(False)
                whole = False
                self.one_step()
                whole = True
                done += 1
                self.ticks += 1
                self.started = True
                self.settle()
                PyErr_CheckSignals()
        except BaseException:
            # Whatever went wrong: the last completed step is what there is.
            if not whole:
                self.keep_state(True)
            if done > 0:
                self.store()
            raise
        self.store()
        finite = np.isfinite(self._position) & np.isfinite(self._velocity)
        if not finite.all():
            raise NonFiniteError(int(np.argmin(finite.all(axis=1))), first, self.ticks)
        return 0

    cdef int begin(self) except -1:
        """Load the state, and what the first step needs beside."""
        n = self.plan.n
        for register, array in ((X, self._position), (V, self._velocity), (S, self.history)):
            if array is not None:
                np.copyto(self.room[register].T[:n], array)
        if self.history is not None and not self.started:
            self.evaluate(self.now())
            self.sweep(self.plan.scheme, START)
        if keeps(self.plan.scheme, self.plan.velocity_dependent):
            self.evaluate(self.now())
            memcpy(self.registers + P * self.size, self.registers + A * self.size, self.size)
        return 0

    cdef int store(self) except -1:
        n = self.plan.n
        for register, array in ((X, self._position), (V, self._velocity), (S, self.history)):
            if array is not None:
                np.copyto(array, self.room[register].T[:n])
        return 0

    cdef int keep_state(self, bint back) except -1:
        """Copy the registers x, v and s aside, or back."""
        cdef Py_ssize_t size = (S + 1 if self.history is not None else S) * self.size
        if back:
            memcpy(self.registers, self.aside, size)
        else:
            memcpy(self.aside, self.registers, size)
        return 0

    cdef int one_step(self) except -1:
        cdef int scheme = self.plan.scheme
        cdef bint drag = self.plan.velocity_dependent
        cdef double t = self.now()
        cdef double after
        cdef int number
        if scheme == ALTERNATE:
            scheme = KICK_DRIFT if self.ticks % 2 == 0 else DRIFT_KICK
        if has_opening(scheme, drag):
            self.sweep(scheme, OPENING)
        for number in range(stages(scheme, drag, &self.plan)):
            after = self.after[number]
            if self.plan.scheme == ALTERNATE and scheme == KICK_DRIFT:
                after = 0
            self.evaluate(t + after)
            self.sweep(scheme, number)
        if self.plan.damped:
            self.sweep(scheme, DAMP)
        return 0

    cdef int evaluate(self, double t) except -1:
        """Fill the register of the acceleration."""
        cdef char* out = self.registers + OUT * self.size
        cdef int number
        x, v, to = self.views
        self.table.accelerate(&self.plan, self.registers, self.padded)
        for number in range(len(self.callbacks)):
            term, function = self.callbacks[number]
            memset(out, 0, self.size)
            result = function(t, x, v, to)
            if result is not None:
                term.check_result(result)
            self.table.add(
                &self.plan, self.divided[number], out, self.factor[number], self.registers, self.padded
            )
        self.evaluations += 1
        return 0

    cdef void sweep(self, int scheme, int number) noexcept:
        self.table.sweep(&self.plan, scheme, number, self.registers, self.padded)

    cdef double now(self) noexcept:
        """`_time_of(tick)` of base.py."""
        return self.origin + (self.ticks - self.origin_tick) * self.plan.h
