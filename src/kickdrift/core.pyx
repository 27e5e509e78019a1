"""Core: the arrays' addresses, the plan as C structs, and the loop that runs it."""

cimport cython
from cpython.buffer cimport PyBUF_STRIDED, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from .guard cimport acquire, release
from .kernels.abi.constants cimport EXTRA, PER_KICK
from .kernels.plan cimport (
    ALTERNATE, AXIS, CENTER, COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, ENERGY_EULER, EXACT, EXPLICIT_EULER, FLAT,
    GROOT_WARREN, HEUN, IMPLICIT_EULER, KICK_DRIFT, MAX_CONSTANTS, MAX_DIM, MAX_STAGES, MIDPOINT, PLANES,
    POINT_GRAVITY, QUADRATIC_DRAG, RK4, ROW, SCALAR, SOFTENING, STRIDED, VELOCITY_VERLET, VERLET_BACKWARD,
    VERLET_CENTRAL, VORTEX, Array, Field, Job, Layout, Term,
)
from .kernels.rounding cimport require_rounding
from .kernels.traits cimport keeps, rare
from .sharing cimport PATIENCE, paced

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX
    long long PyLong_AsLongLongAndOverflow(object n, int* overflow) except? -1

from time import perf_counter

import numpy as np

from . import arguments, kernels
from .errors import ConvergenceError, NonFiniteError
from .integrators import Composition

require_rounding(__name__)

cdef dict SCHEMES = {
    "explicit_euler": EXPLICIT_EULER,
    "kick_drift": KICK_DRIFT,
    "drift_kick": DRIFT_KICK,
    "alternate": ALTERNATE,
    "implicit_euler": IMPLICIT_EULER,
    "midpoint": MIDPOINT,
    "heun": HEUN,
    "rk4": RK4,
    "backward": VERLET_BACKWARD,
    "central": VERLET_CENTRAL,
    "velocity_verlet": VELOCITY_VERLET,
    "groot_warren": GROOT_WARREN,
    "energy_euler": ENERGY_EULER,
    "exact": EXACT,
}
cdef dict TERMS = {"point_gravity": POINT_GRAVITY, "quadratic_drag": QUADRATIC_DRAG, "vortex": VORTEX}
cdef dict TERM_FIELDS = {
    "mu": SCALAR, "c": SCALAR, "s": SCALAR, "e2": SOFTENING, "center": CENTER, "w": CENTER, "axis": AXIS,
}

# The longest call, which nobody sees the end of.
cdef Py_ssize_t MOST = PY_SSIZE_T_MAX // 2


cdef class Core(Sharing):
    """The part of a Stepper that steps. Everything is laid out once; a step finds pointers only."""

    def __dealloc__(self):
        cdef int i
        for i in range(self.bound):
            PyBuffer_Release(&self.views[i])
        PyMem_Free(self.terms)

    # Binding.

    def _bind(self):
        plan = self._plan
        self.find_kernels(plan.dtype)
        self.helpers = min(self._threads, max(1, (plan.n + ROW - 1) // ROW))
        self.plan.n = plan.n
        self.plan.dim = plan.dim
        self.plan.drag = plan.drag
        self.plan.wind = plan.wind
        self.plan.spring = plan.spring
        self.plan.velocity_dependent = plan.velocity_dependent
        self.plan.damped = plan.damped
        self.bind_scheme(plan.integrator)
        for i, array in enumerate((self._position, self._velocity)):
            PyObject_GetBuffer(array, &self.views[i], PyBUF_STRIDED | PyBUF_WRITABLE)
            self.bound += 1
        self.locate(&self.plan.x, self._position)
        self.locate(&self.plan.v, self._velocity)
        if plan.integrator.history:
            self.history = np.zeros_like(self._position)
            self.locate(&self.plan.s, self.history)
        self.plan.layout = self.layout()
        if self.plan.scheme == IMPLICIT_EULER:
            self.save_for_failure()
        self.bind_coefficients(plan)
        self.lasting = len(self.coefficients)
        self.cost = self.estimate()
        self.most = <Py_ssize_t> (0.125 * PATIENCE / self.cost) + 1

    cdef int save_for_failure(self) except -1:
        """Room to go back to, where steps may fail."""
        self.fallible = True
        self.saved = [np.empty_like(array) for array in self.state()]
        return 0

    cdef list state(self):
        return [array for array in (self._position, self._velocity, self.history) if array is not None]

    cdef void locate(self, Array* array, object source) except *:
        cdef Py_buffer view  # three times as fast as asking NumPy for address and strides
        PyObject_GetBuffer(source, &view, PyBUF_STRIDES)
        array.data = <char*> view.buf
        array.body, array.component = view.strides[0], view.strides[1]
        PyBuffer_Release(&view)

    cdef void bind_scheme(self, object integrator) except *:
        plan = &self.plan
        if isinstance(integrator, Composition):
            # Without drag any rule is the same kick.
            plan.scheme = COMPOSITION_RK4 if integrator.kick_rule == "rk4" and plan.velocity_dependent else COMPOSITION
            plan.kicks = integrator.kicks
            plan.iterations = integrator.order
            if EXTRA + 2 + PER_KICK * plan.kicks > MAX_CONSTANTS or plan.kicks * plan.iterations > MAX_STAGES:
                raise AssertionError(f"{integrator.name}: more kicks than there is room for")
        elif integrator.name == "semi_implicit_euler":
            plan.scheme = SCHEMES[integrator.form]
        elif integrator.name == "verlet":
            plan.scheme = SCHEMES[integrator.velocity]
            plan.taylor_start = integrator.start == "taylor"
        else:
            plan.scheme = SCHEMES[integrator.name]
        if plan.scheme == GROOT_WARREN:
            plan.lam = integrator.lam
        if plan.scheme == IMPLICIT_EULER:
            plan.tolerance = integrator.tolerance
            plan.iterations = integrator.max_iterations

    cdef Layout layout(self) except *:
        """FLAT and PLANES let kernels read the caller's rows as they are."""
        arrays = self.state()
        if all(array.flags.c_contiguous for array in arrays):
            # Other schemes work on planes in any case.
            return FLAT if self.componentwise() else STRIDED
        itemsize = self._position.itemsize
        if self.componentwise() and all(array.strides[0] == itemsize for array in arrays):
            return PLANES
        return STRIDED

    cdef bint componentwise(self):
        return not self._plan.records and self.plan.scheme < IMPLICIT_EULER and not rare(self.plan.scheme)

    cdef void bind_coefficients(self, object plan) except *:
        self.coefficients = []
        self.plan.g = self.field(plan.g)
        # What is never read points there too: rows advance all pointers alike.
        self.plan.c = self.field(plan.c) if plan.drag else self.plan.g
        self.plan.w = self.field(plan.w) if plan.drag else self.plan.g
        self.plan.k = self.field(plan.k) if plan.spring else self.plan.g
        self.plan.p = self.field(plan.p) if plan.spring else self.plan.g
        self.plan.decay = self.plan.g
        for i in range(4):
            self.plan.flow[i] = self.plan.g
        self.plan.terms = len(plan.records)
        if self.plan.terms and self.terms == NULL:
            self.terms = <Term*> PyMem_Malloc(self.plan.terms * sizeof(Term))
            if self.terms == NULL:
                raise MemoryError
            self.plan.term = self.terms
            memset(self.terms, 0, self.plan.terms * sizeof(Term))
        for number, record in enumerate(plan.records):
            self.terms[number].kind = TERMS[record.kind]
            for name, values in record.fields.items():
                self.terms[number].field[<int> TERM_FIELDS[name]] = self.field(values)

    cdef Field field(self, object values) except *:
        """A coefficient as the kernels read it: (1|n,) or (1|n, dim) in whole rows."""
        cdef Field field
        cdef bint flat = self.plan.layout == FLAT
        cdef int j
        n, dim = self.plan.n, self.plan.dim
        if n == 0:
            values = np.zeros((1, *values.shape[1:]), values.dtype)
        each = len(values) > 1
        rows = (n + ROW - 1) // ROW * ROW if each else ROW
        bodies = n if each else rows
        columns = values.reshape(len(values), -1)
        if flat:
            padded = kernels.aligned_zeros((rows, dim), values.dtype)
            padded[:bodies] = columns
        else:
            # One value for all components is written out for each: kernels need not know.
            padded = kernels.aligned_zeros((max(dim, columns.shape[1]), rows), values.dtype)
            padded[:, :bodies] = columns.T
        self.coefficients.append(padded)
        start = padded.ctypes.data
        for j in range(MAX_DIM):
            # Flat rows hold all components.
            field.component[j] = <const char*> <size_t> (start + (0 if flat else j * padded.strides[0]))
        field.body = padded.strides[0 if flat else 1] if each else 0
        return field

    def _set_dt(self, double h):
        cdef int i
        plan = self._plan
        flow = plan.flow(h) if self.plan.scheme == EXACT else ()
        decay = plan.decay(h) if plan.damped else None
        drifts, kicks = plan.composition(h) if self.plan.kicks else ((), ())
        self.hold()
        try:
            del self.coefficients[self.lasting :]
            for i in range(len(flow)):
                self.plan.flow[i] = self.field(flow[i])
            if decay is not None:
                self.plan.decay = self.field(decay)
            for i in range(len(drifts)):
                self.plan.constants[2 * i] = drifts[i]
            for i in range(len(kicks)):
                self.plan.constants[2 * i + 1] = kicks[i]
            self.plan.h = h
            if not self.started:
                self.plan.last_h = h
            self.prepare()
        finally:
            release(&self.busy)

    cdef double estimate(self) except -1:
        """Nanoseconds that a step of all bodies takes at worst, roughly: on the baseline, in float64."""
        cdef double per_component = 0.7
        cdef double per_term = 8
        cdef int iterations = 1
        if self.plan.scheme == IMPLICIT_EULER:
            per_component, per_term, iterations = 60, 20, 2
        elif self.plan.scheme == ENERGY_EULER:
            per_component, per_term = 10, 40
        evaluations = self._plan.integrator.force_evaluations_with_drag or iterations
        return max(10.0, self.plan.n * evaluations * (per_component * self.plan.dim + per_term * self.plan.terms))

    # What base.py needs to save and restore.

    @property
    def _started(self):
        return self.started

    @property
    def _last_h(self):
        return self.plan.last_h

    @property
    def _history(self):
        return self.history

    def _resume(self, int64_t tick, bint started, double last_h):
        self.ticks = tick
        self.started = started
        self.plan.last_h = last_h
        self.prepare()

    def _rebind(self):
        """Take over the coefficients of a new plan."""
        self.hold()
        try:
            self.bind_coefficients(self._plan)
            self.lasting = len(self.coefficients)
        finally:
            release(&self.busy)
        self._set_dt(self.plan.h)

    def _digest(self, object values, uint64_t place):
        cdef Array array
        self.locate(&array, values)
        return self.kernels.digest(&array, self.plan.n, self.plan.dim, place)

    # Running.

    def _refuse_while_stepping(self):
        self.hold()
        release(&self.busy)

    @cython.final
    cdef int hold(self) except -1:
        if not acquire(&self.busy):
            raise RuntimeError("this stepper is stepping already: it serves one thread at a time")
        return 0

    def step(self, object n=1):
        """Run n fixed steps in compiled code, in place, and return None.

        Other threads run meanwhile where the work is worth it. A long call answers Ctrl-C within a
        fraction of a second, at a completed tick.

        n: how many, an int >= 0.

        Raises NonFiniteError when a state overflows (naming the body, standing at the end of the
        tick range in which it happened), ConvergenceError when an implicit step cannot be solved
        (standing at the last tick that all bodies reached), RuntimeError when the stepper is busy
        in another thread, TypeError or ValueError for n that is no int or negative.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0, 10.0]], dt=0.5, forces=[kd.Gravity((0, -10))])
        >>> ball.step(2)
        >>> ball.position.tolist(), ball.tick, ball.time
        ([[0.0, 5.0]], 2, 1.0)
        """
        cdef int overflow = 1
        cdef long long steps = 0
        if type(n) is int:
            steps = PyLong_AsLongLongAndOverflow(n, &overflow)
        if overflow or not 0 <= steps <= MOST:
            steps = min(arguments.integer("n", n, 0), MOST)
        self.hold()
        try:
            self.go(steps)
        finally:
            release(&self.busy)

    cdef int go(self, Py_ssize_t steps) except -1:
        cdef Py_ssize_t part
        cdef bint timed
        if self.plan.n == 0:
            self.ticks += steps
            return 0
        self.again = 0
        while steps > 0:
            part = min(steps, self.most)
            if self.plan.last_h != self.plan.h:
                # The history spans another dt; kernels take the constants for one pair of dt.
                part = 1
            timed = part == self.most or self.fallible
            if timed:
                started = perf_counter()
            if self.fallible:
                self.run_or_restore(part)
            else:
                self.run(part)
                self.complete(part, True)
            if timed:
                self.most = paced(self.most, part, perf_counter() - started)
            steps -= part
            if steps > 0:
                PyErr_CheckSignals()
                # What a part keeps for the next is evaluated anew there: it is one evaluation of the call.
                self.again = keeps(self.plan.scheme, self.plan.velocity_dependent)
        return 0

    @cython.final
    cdef inline int complete(self, Py_ssize_t steps, bint last) except -1:
        """Account for steps that all bodies have done; last: does nothing else remain to be told?"""
        self.ticks += steps
        self.evaluations += self.job.evaluations - self.again
        self.started = True
        if self.plan.last_h != self.plan.h:
            self.settle()
        if last and (self.interrupt is not None or self.job.bad_body >= 0):
            return self.raise_waiting(steps)
        return 0

    cdef int raise_waiting(self, Py_ssize_t steps) except -1:
        self.raise_interrupt()
        raise NonFiniteError(self.job.bad_body, self.ticks - steps, self.ticks, "body", self.history is not None)

    cdef int run_or_restore(self, Py_ssize_t steps) except -1:
        """Run steps that may fail: then all bodies stand where the first of them could not go on."""
        cdef Py_ssize_t possible = steps
        cdef Job failed
        for saved, array in zip(self.saved, self.state(), strict=True):
            np.copyto(saved, array)
        self.run(possible)
        while self.job.failed_step < possible:
            failed = self.job
            possible = failed.failed_step
            for saved, array in zip(self.saved, self.state(), strict=True):
                np.copyto(array, saved)
            if possible > 0:
                self.run(possible)
        if possible > 0:
            self.complete(possible, possible == steps)
        if possible < steps:
            self.raise_interrupt()
            self.raise_failure(&failed)
        return 0

    cdef int raise_failure(self, const Job* failed) except -1:
        raise ConvergenceError(failed.failed_body, self.ticks, failed.residual)

    @cython.final
    cdef inline int run(self, Py_ssize_t steps) except -1:
        """Run steps; what happened is in self.job."""
        self.job.steps = steps
        self.job.tick = self.ticks
        self.job.start = self.plan.s.data != NULL and not self.started
        return self.run_job(self.plan.n, steps * self.cost)

    cdef void prepare(self) noexcept:
        self.kernels.prepare(self.kernels, &self.plan)

    cdef void settle(self) noexcept:
        """After a step the history spans its dt."""
        if self.plan.last_h != self.plan.h:
            self.plan.last_h = self.plan.h
            self.prepare()

    cdef void call(self, Job* job) noexcept nogil:
        self.plan.run(&self.plan, job)

    def restart(self):
        """Forget the integrator's history: the next step starts from the arrays alone.

        For `verlet` after velocities were changed, for `groot_warren` after bodies were moved. The velocity
        is taken for that of now, which verlet's "backward" read-out, half a step old, is not.

        >>> import kickdrift as kd
        >>> ball = kd.Stepper([[0.0]], [[1.0]], dt=1, integrator="verlet")
        >>> ball.step()
        >>> ball.velocity[0] = 3.0
        >>> ball.restart()
        >>> ball.step()
        >>> ball.position.tolist()
        [[4.0]]
        """
        self.hold()
        self.started = False
        self.plan.last_h = self.plan.h
        self.prepare()
        release(&self.busy)

    @property
    def tick(self):
        """Completed steps."""
        return self.ticks + self.job.done

    @property
    def force_evaluations(self):
        """How often the forces on all bodies were evaluated so far (by the busiest, where they iterate)."""
        return self.evaluations
