"""Swept: the steps of bodies that are not left alone, by functions, by each other or by constraints."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free

from .core cimport Core
from .holds cimport BoundHold, bind_holds
from .kernels.abi.registers cimport ALL_OUT, DX, HERE, PLACE, R, S, SPEED, STATE, V, X
from .kernels.holdplan cimport Hold
from .kernels.plan cimport IMPLICIT_EULER, PLANES, ROW, STRIDED, Job, Layout, Plan
from .kernels.rounding cimport require_rounding
from .kernels.sweptplan cimport INTERRUPTED, TILE_PUSHES, UNSOLVED, Push
from .kernels.traits cimport keeps
from .pushes cimport BoundPush, PythonPush, bind_push
from .sharing cimport paced

from time import perf_counter

import numpy as np

from . import kernels
from .errors import CallbackError

# Evaluations of a push in an implicit step, roughly.
cdef enum:
    PRODUCTS = 100

require_rounding(__name__)


cdef class Swept(Core):
    """The part of a Stepper whose bodies are not left alone; where they are, it is its base."""

    def __dealloc__(self):
        PyMem_Free(self.push)
        PyMem_Free(self.hold)

    def _bind(self):
        Core._bind(self)
        if self._plan.pushes or self._plan.holds:
            self.bind_pushes()

    cdef int bind_pushes(self) except -1:
        cdef BoundPush bound
        cdef BoundHold held
        cdef Push* push
        plan = self._plan
        self.swept = &self.kernels.swept
        if self.push == NULL:
            self.push = <Push*> PyMem_Calloc(max(1, len(plan.pushes)), sizeof(Push))
            self.hold = <Hold*> PyMem_Calloc(max(1, len(plan.holds)), sizeof(Hold))
            if self.push == NULL or self.hold == NULL:
                raise MemoryError
        self.bound_pushes = []
        self.cost = self.estimate()
        implicit = self.plan.scheme == IMPLICIT_EULER and len(plan.pushes) > 0
        whole = len(plan.pushes) > TILE_PUSHES or len(plan.holds) > 0 or implicit
        for number, term in enumerate(plan.pushes):
            bound = bind_push(term, plan, self.swept, self._threads)
            self.bound_pushes.append(bound)
            push = &self.push[number]
            push.function, push.data = bound.function, bound.data
            push.factor = self.field(term.factor)
            whole = whole or bound.whole
            if not (bound.shared or bound.whole):
                self.helpers = 1
            self.cost += bound.cost * (plan.integrator.force_evaluations_with_drag or PRODUCTS)
        self.bound_holds = bind_holds(plan, self.swept, (plan.n + ROW - 1) // ROW * ROW)
        for number, held in enumerate(self.bound_holds):
            self.hold[<Py_ssize_t> number] = held.hold
            self.cost += held.cost
        self.lasting = len(self.coefficients)
        # How long functions take shows when they are called.
        self.most = 1
        self.sweep.plan = &self.plan
        self.sweep.pushes = len(plan.pushes)
        self.sweep.push = self.push
        self.sweep.holds = len(plan.holds)
        self.sweep.hold = self.hold
        self.fallible = True
        if whole:
            self.bind_room()
            if implicit:
                self.bind_implicit()
        else:
            self.save_for_failure()
        return 0

    cdef int bind_room(self) except -1:
        """Room for all bodies, which are stepped as one tile."""
        cdef PythonPush python
        plan = self._plan
        n, dim = plan.n, plan.dim
        padded = (n + ROW - 1) // ROW * ROW
        registers = ALL_OUT + len(plan.pushes) + 1  # the last is the gain
        self.room = kernels.aligned_zeros((registers * dim, padded), plan.dtype).reshape(registers, dim, padded)
        self.sweep.room = <char*> <size_t> self.room.ctypes.data
        self.sweep.gain = <char*> <size_t> self.room[registers - 1].ctypes.data
        self.sweep.padded = padded
        self.planes = [
            [self.room[first + register].T[:n] for register in range(len(self.state()))] for first in (0, STATE)
        ]
        self.sweep.plan = self.whole
        self.sweep.owner = <void*> self
        self.sweep.look = look
        self.sweep.patience = 1
        self.helpers = 1
        for number, bound in enumerate(self.bound_pushes):
            if isinstance(bound, PythonPush):
                python = bound
                python.show(self.planes, self.room[ALL_OUT + number].T[:n])
        return 0

    cdef int bind_implicit(self) except -1:
        """Room for the vectors of implicit steps; and how pushes change."""
        cdef BoundPush bound
        cdef PythonPush python
        plan = self._plan
        n, dim, count = plan.n, plan.dim, len(plan.pushes)
        shape = (HERE + count, dim, self.sweep.padded)
        self.newton = kernels.aligned_zeros((shape[0] * dim, shape[2]), plan.dtype).reshape(shape)
        self.sweep.implicit = self.swept.implicit
        self.sweep.krylov = <char*> <size_t> self.newton.ctypes.data
        self.sweep.weight = self.field(plan.weight)
        self.lasting = len(self.coefficients)
        for number in range(count):
            bound = self.bound_pushes[number]
            if isinstance(bound, PythonPush):
                python = bound
                seen = [self.newton[register].T[:n] for register in (PLACE, SPEED, DX, R)]
                python.show_tangent(seen, self.room[ALL_OUT + number].T[:n])
            self.push[number].tangent, self.push[number].tangent_data = bound.tangent, bound.tangent_data
            self.push[number].minds_velocity = plan.pushes[number].term.velocity_dependent
        return 0

    def _rebind(self):
        Core._rebind(self)
        if self.swept != NULL:
            self.bind_pushes()

    def _set_dt(self, double h):
        Core._set_dt(self, h)
        if self.swept != NULL and self.sweep.pushes > 0:
            times = self._plan.evaluation_times(h)
            for i, seconds in enumerate(times):
                self.sweep.after[i] = seconds

    cdef Layout layout(self) except *:
        return STRIDED if self._plan.pushes or self._plan.holds else Core.layout(self)

    cdef void call(self, Job* job) noexcept nogil:
        if self.swept == NULL:
            Core.call(self, job)
        else:
            self.swept.run(&self.sweep, job)

    cdef int go(self, Py_ssize_t steps) except -1:
        if self.swept != NULL:
            self.sweep.origin, self.sweep.origin_tick = float(self._origin), self._origin_tick
            if self.room is not None and self.plan.n > 0 and steps > 0:
                return self.go_whole(steps)
        return Core.go(self, steps)

    cdef int go_whole(self, Py_ssize_t steps) except -1:
        """Step all bodies together; whatever goes wrong, they stand at the last completed step."""
        cdef Job* job = &self.job
        cdef Py_ssize_t done, part
        self.again = 0
        self.looked = perf_counter()
        while steps > 0:
            # The history spans another dt; kernels take the constants for one pair of dt.
            part = 1 if self.plan.last_h != self.plan.h else steps
            self.enter()
            try:
                self.run(part)
            finally:
                done = job.failed_step
                job.done = 0
            if done > 0:
                self.leave(done)
                self.complete(done, job.code == 0)
            else:
                self.evaluations += job.evaluations
            if job.code != 0:
                self.raise_failure(job)
            steps -= part
            self.again = keeps(self.plan.scheme, self.plan.velocity_dependent) and self.sweep.holds == 0
        return 0

    cdef int enter(self) except -1:
        """Load the state of all bodies into the room."""
        cdef Plan* whole
        cdef int place
        for planes, array in zip(self.planes[0], self.state(), strict=True):
            np.copyto(planes, array)
        for place in range(2):
            whole = &self.whole[place]
            whole[0] = self.plan
            whole.layout = PLANES if self.componentwise() else STRIDED
            self.locate(&whole.x, self.planes[place][X])
            self.locate(&whole.v, self.planes[place][V])
            if self.history is not None:
                self.locate(&whole.s, self.planes[place][S])
            self.kernels.prepare(self.kernels, whole)
        return 0

    cdef int leave(self, Py_ssize_t steps) except -1:
        """Store it, from where so many steps have left it."""
        for planes, array in zip(self.planes[steps % 2], self.state(), strict=True):
            np.copyto(array, planes)
        return 0

    cdef int raise_failure(self, const Job* failed) except -1:
        cdef BoundPush push
        if failed.code == INTERRUPTED:
            self.raise_interrupt()
        if failed.code == UNSOLVED or self.swept == NULL:
            return Core.raise_failure(self, failed)
        push = self.bound_pushes[failed.failed_push]
        if push.error is not None:
            error, push.error = push.error, None
            raise error
        raise CallbackError(self._plan.pushes[failed.failed_push].term.label, failed.code)


cdef bint look(void* owner) noexcept with gil:
    """Did anybody press Ctrl-C? Looked for some ten times a second, however long a step takes."""
    cdef Swept stepper = <Swept> owner
    cdef Sweep* sweep = &stepper.sweep
    cdef double now = perf_counter()
    sweep.patience = paced(sweep.patience, sweep.patience, now - stepper.looked)
    stepper.looked = now
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        stepper.interrupt = error
        return True
    return False
