"""ODECore: steps of y' = f(t, y) for many trajectories at once."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..kernels.abi.ode cimport (
    AIZAWA, HALVORSEN, LORENZ, LOTKA_VOLTERRA, MAX_PARAMETERS, MAX_SLOPES, ROSSLER, THOMAS, VAN_DER_POL, Newton,
    ODEPlan, ODETable,
)
from ..kernels.abi.formulas cimport BLOCK
from ..kernels.abi.plan cimport DOPRI8, EXPLICIT_EULER, HEUN, IMPLICIT_EULER, MIDPOINT, RK4, TILE, Array, Job
from ..kernels.simd.rounding cimport require_rounding
from .formulas cimport BoundFormula
from .runner cimport PATIENCE, RELEASE, Runner
from .views cimport Scratch, View, Writes, copy_array, views

from math import lcm

import numpy as np

from .. import flows
from ..flows import QUOTIENT, refuse
from ..errors import ConvergenceError, NonFiniteError
from ..declaration import require_entries
from ..integrators import EQUATION_INTEGRATORS
from ..rollback import snapshots

require_rounding(__name__)

cdef dict SCHEMES = {
    "explicit_euler": EXPLICIT_EULER,
    "implicit_euler": IMPLICIT_EULER,
    "midpoint": MIDPOINT,
    "heun": HEUN,
    "rk4": RK4,
    "dopri8": DOPRI8,
}
cdef dict FLOWS = {
    "Lorenz": LORENZ,
    "Rossler": ROSSLER,
    "Thomas": THOMAS,
    "Halvorsen": HALVORSEN,
    "Aizawa": AIZAWA,
    "LotkaVolterra": LOTKA_VOLTERRA,
    "VanDerPol": VAN_DER_POL,
}
require_entries(__name__, SCHEMES, EQUATION_INTEGRATORS)
require_entries(__name__, FLOWS, flows.Flow)


cdef enum:
    LINE = 64           # bytes of a cache line
    LEAST = 64          # smallest number of trajectories per block
    CACHE = 40_000      # maximum bytes of a block, so that the block stays in the L1 cache


# Declared in include/kickdrift/native.h. `void*` makes one type serve float32 and float64.
ctypedef int (*NativeFlow)(
    double t, int64_t first, int64_t count, int64_t dim, const void* y, void* out, void* user_data,
) noexcept nogil


cdef int take_constants(double* parameters, list constants) except -1:
    """Copy the constants of a flow to the kernel parameters."""
    cdef int i
    if len(constants) > MAX_PARAMETERS:
        raise RuntimeError("a flow has too many constants")
    for i in range(len(constants)):
        parameters[i] = constants[i]
    return 0


cdef class ODECore(Runner):
    """Compiled base of ODEStepper, which runs steps."""

    cdef const ODETable* table
    cdef ODEPlan plan
    cdef Newton newton
    cdef Py_ssize_t item    # bytes of a number
    cdef Scratch now        # the state at the start of a step
    cdef Scratch stage      # argument of the right-hand side
    cdef Scratch rate       # result of the right-hand side
    cdef Scratch total      # running sum of slopes, or all slopes of a tableau
    cdef int stages
    cdef double share[MAX_SLOPES]   # times of the evaluations, in steps
    cdef Scratch moved, moved_rate, residual, jacobian, slope, status, needed
    cdef NativeFlow native  # native callback, or the kernel of an expression under implicit Euler; or NULL
    cdef void* user_data
    cdef BoundFormula formula, derivatives  # right-hand side and its jacobian as expressions, or None
    cdef bint timed         # True if the expression reads the time
    cdef Scratch next       # state at the end of a step, for one block of trajectories (structure of arrays)
    cdef Py_ssize_t together    # trajectories per block; 0: not stepped in blocks
    cdef object origin, pace, numerator, denominator    # exact time in integers, see `exact_time`

    # Binding.

    def _bind(self):
        plan = &self.plan
        self.find_kernels(self.dtype)
        self.item = self.dtype.itemsize
        self.rows = self.n
        self.table = &self.kernels.ode
        self.helpers = min(self._threads, max(1, (self._y.shape[0] + TILE - 1) // TILE))
        plan.scheme = SCHEMES[self._integrator.name]
        plan.n, plan.dim = self._y.shape
        self.state = views([self._y])
        plan.y = (<View> self.state[0]).place
        if plan.scheme == IMPLICIT_EULER:
            plan.tolerance = self._integrator.tolerance
            plan.iterations = self._integrator.max_iterations
        elif plan.scheme == DOPRI8:
            self.bind_tableau()
        if self._flow is not None:
            self.bind_flow()
            self.most = <Py_ssize_t> (0.125 * PATIENCE / self.cost) + 1
        else:
            self.most = 1  # the cost of user functions is unknown before the first call
            self.bind_function()

    cdef int bind_tableau(self) except -1:
        cdef int stage, m = 0
        table = &self.plan.tableau
        table.stages = len(self._integrator.tableau)
        for stage in range(table.stages):
            table.start[stage] = m
            for slope, weight in self._integrator.tableau[stage].items():
                table.slope[m], table.weight[m] = slope, weight
                m += 1
        table.start[table.stages] = m
        return 0

    cdef int bind_flow(self) except -1:
        self.plan.flow = FLOWS[self._flow.kind]
        take_constants(self.plan.parameters, self._flow.constants(self.dtype))
        # Upper bound in ns per step, for the baseline instruction set in float64.
        per_component = 100 if self.plan.scheme == IMPLICIT_EULER else 10 if self.plan.flow == THOMAS else 2
        stages = self._integrator.force_evaluations or 1
        self.cost = max(10.0, self.plan.n * stages * per_component * self.plan.dim)
        if self.plan.scheme == IMPLICIT_EULER:
            self.fallible = True
        return 0

    cdef int bind_function(self) except -1:
        n, dim = self._y.shape
        state = (n, dim)
        if isinstance(self._rhs, flows.Native):
            self.native = <NativeFlow> <size_t> self._rhs.pointer.address
            self.user_data = <void*> <size_t> self._rhs.data
            self.cost = n * dim  # one evaluation, ns
        elif isinstance(self._rhs, flows.Expression):
            implicit = self.plan.scheme == IMPLICIT_EULER
            self.formula = BoundFormula.of(self._rhs.code(n, self.dtype, rows=implicit), self.dtype)
            self.cost = n * self.formula.formula.operations
            if not implicit:
                return self.bind_blocks(n, dim)
            self.native = <NativeFlow> self.kernels.formulas.flow
            self.user_data = <void*> &self.formula.formula
            self.derivatives = BoundFormula.of(self._rhs.code(n, self.dtype, rows=True, derivatives=True), self.dtype)
        self.now = Scratch(state, self.dtype, True)
        self.stage = Scratch(state, self.dtype, False)
        self.rate = Scratch(state, self.dtype, True)
        if self.plan.scheme != IMPLICIT_EULER:
            self.bind_stages(n * dim)
            return 0
        self.moved = Scratch(state, self.dtype, False)
        self.moved_rate = Scratch(state, self.dtype, True)
        self.residual = Scratch(state, self.dtype, True)
        self.jacobian = Scratch((n, dim, dim), self.dtype, True)
        self.slope = Scratch((n,), self.dtype, True)
        self.status = Scratch((n,), np.int8, True)
        self.needed = Scratch((n,), np.int64, True)
        newton = &self.newton
        newton.n, newton.dim, newton.tolerance = n, dim, self.plan.tolerance
        newton.u, newton.y, newton.k = self.stage.data, self.now.data, self.rate.data
        newton.residual, newton.jacobian = self.residual.data, self.jacobian.data
        newton.slope, newton.status, newton.work = self.slope.data, self.status.data, <int64_t*> self.needed.data
        return 0

    cdef int bind_stages(self, Py_ssize_t count) except -1:
        """Allocate the buffers for the stages of an explicit scheme, for `count` numbers."""
        cdef int i
        self.stages = self._integrator.force_evaluations
        for i in range(self.stages):
            self.share[i] = self._integrator.evaluation_shares[0][i]
        # A tableau scheme needs all slopes, each padded to whole cache lines; other schemes only accumulate a sum.
        kept = self.stages if self.plan.scheme == DOPRI8 else 1
        self.total = Scratch((kept, (count + 15) // 16 * 16), self.dtype, True)
        return 0

    cdef int bind_blocks(self, Py_ssize_t n, Py_ssize_t dim) except -1:
        """Allocate the buffers for an expression: one block of trajectories at a time, as structure of arrays."""
        cdef Py_ssize_t of_each
        self.timed = "t" in self._rhs.operations.names
        kept = self._integrator.force_evaluations if self.plan.scheme == DOPRI8 else 2
        of_each = (kept + 2) * dim * self.item
        # Small blocks stay in the cache; large blocks spread the fixed cost of an operation over more trajectories.
        self.together = max(LEAST, min(BLOCK, CACHE // of_each // LEAST * LEAST))
        self.stage = Scratch((n, dim), self.dtype, True)
        self.now = Scratch((dim, self.together), self.dtype, True)
        self.next = Scratch((dim, self.together), self.dtype, True)
        self.rate = Scratch((dim, self.together), self.dtype, True)
        self.bind_stages(self.together * dim)
        self.most = <Py_ssize_t> (0.125 * PATIENCE / (self.cost * self.stages + 10)) + 1
        return 0

    def _numbers(self, binding, double h):
        """Return the numbers that depend on dt: here only dt itself."""
        return h

    def _commit(self, *, writes=(), numbers=None, resume=None, constants=None, dict attributes=None):
        """Apply several changes atomically: all that may fail or be interrupted happens before the first change."""
        cdef Writes prepared = Writes(writes)
        cdef dict own = self.__dict__
        cdef double h = self.plan.h if numbers is None else numbers
        cdef int64_t tick = self.completed if resume is None else resume[0]
        cdef double[MAX_PARAMETERS] parameters
        memcpy(parameters, self.plan.parameters, sizeof(parameters))
        if constants is not None:
            take_constants(parameters, constants)
        if attributes is None:
            attributes = {}
        # No Python code runs from here on: a signal handler could raise between two changes.
        prepared.execute()
        memcpy(self.plan.parameters, parameters, sizeof(parameters))
        self.plan.h = h
        self.completed = tick
        own.update(attributes)
        self.ready = True

    def _copies(self):
        return snapshots.copies(self)

    # Running.

    def step(self, object n=1, object progress=False):
        """Run n fixed steps, in place, and return None.

        Flows run in compiled code, without the GIL if a call is long enough; a function is called once per stage.
        A long call answers Ctrl-C within a fraction of a second.

        n: how many, an int >= 0.
        progress: whether to show progress on standard error, if the call takes longer than two seconds.

        Raises NonFiniteError when a state overflows (it names the trajectory; the stepper stays at the first tick that
        is not finite, as with single steps), ConvergenceError when an implicit step cannot be solved (the stepper stays
        at the last tick that all trajectories reached), RuntimeError when the stepper is busy, TypeError or ValueError
        for n that is not an int, or is negative. Exceptions of a function are passed on; the stepper then is at the
        last completed tick.

        >>> import kickdrift as kd
        >>> weather = kd.ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)
        >>> weather.step(25)
        >>> weather.tick, weather.time
        (25, 0.25)
        """
        if progress is not False:
            self.step_and_show(n, progress)
        else:
            self.run_steps(n)

    cdef Py_ssize_t run_part(self, Py_ssize_t steps) except -1:
        if self._flow is None:
            self.run_function(steps)
            return steps
        if self.fallible or steps > 1:
            return self.run_or_restore(steps)
        self.run(1)
        self.complete(1, True)
        return 1

    # Flows.

    cdef int complete(self, Py_ssize_t steps, bint raises) except -1:
        self.completed += steps
        self.evaluated += self.job.evaluations
        if raises:
            self.raise_interrupt()
            if self.job.bad_body >= 0:
                raise NonFiniteError(self.job.bad_body, self.completed - 1, self.completed, "trajectory")
        return 0

    cdef int raise_failure(self, const Job* failed) except -1:
        raise ConvergenceError(failed.failed_body, self.completed, failed.residual, "trajectory")

    cdef int run(self, Py_ssize_t steps) except -1:
        self.job.steps = steps
        return self.run_job(self.plan.n, steps * self.cost)

    cdef void call(self, Job* job) noexcept nogil:
        if self.plan.scheme == IMPLICIT_EULER:
            self.table.solve(&self.plan, job, NULL)
        else:
            self.table.run(&self.plan, job, NULL)

    # User functions get scratch arrays, never the state itself: only a completed step is copied to the state.

    cdef int run_function(self, Py_ssize_t steps) except -1:
        cdef Py_ssize_t _, bad
        cdef int64_t calls
        if self.together > 0:
            return self.run_formula(steps)
        copy_array(&self.now.place, &self.plan.y, self.plan.n, self.plan.dim, self.item)
        memcpy(self.stage.data, self.now.data, self.now.size)
        for _ in range(steps):
            if self.plan.scheme == IMPLICIT_EULER:
                calls = self.implicit_step(self.exact_time())
            else:
                calls = self.explicit_step(self.exact_time())
            memcpy(self.now.data, self.stage.data, self.now.size)
            copy_array(&self.plan.y, &self.now.place, self.plan.n, self.plan.dim, self.item)
            self.completed += 1
            self.evaluated += calls
            bad = self.table.bad(self.plan.n, self.plan.dim, self.now.data)
            if bad >= 0:
                raise NonFiniteError(bad, self.completed - 1, self.completed, "trajectory")
        return 0

    cdef int run_formula(self, Py_ssize_t steps) except -1:
        cdef Py_ssize_t _
        cdef Py_ssize_t bad = self.run_blocks(steps)
        if bad >= 0 and steps > 1:  # repeat step by step to find the first non-finite tick
            for _ in range(steps):
                bad = self.run_blocks(1)
                if bad >= 0:
                    break
        if bad >= 0:
            raise NonFiniteError(bad, self.completed - 1, self.completed, "trajectory")
        return 0

    cdef Py_ssize_t run_blocks(self, Py_ssize_t steps) except -2:
        """Run steps; return the first trajectory that overflows, or -1. If steps > 1, an overflow undoes all steps."""
        cdef double* times = NULL
        cdef Py_ssize_t step, bad
        cdef double cost = self.cost * self.stages * steps
        try:
            if self.timed:
                times = <double*> PyMem_Malloc(steps * sizeof(double))
                if times == NULL:
                    raise MemoryError
                for step in range(steps):
                    times[step] = self.exact_time(step)
            if cost < RELEASE:
                self.step_blocks(steps, times)
            else:
                with nogil:
                    self.step_blocks(steps, times)
        finally:
            PyMem_Free(times)
        bad = self.table.bad(self.plan.n, self.plan.dim, self.stage.data)
        if bad < 0 or steps == 1:
            copy_array(&self.plan.y, &self.stage.place, self.plan.n, self.plan.dim, self.item)
            self.completed += steps
            self.evaluated += steps * self.stages
        return bad

    cdef void step_blocks(self, Py_ssize_t steps, const double* times) noexcept nogil:
        """Run all steps of one block of trajectories, then those of the next block; write the results to `stage`."""
        cdef Py_ssize_t dim = self.plan.dim
        cdef Py_ssize_t width = self.kernels.formulas.width
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t count, plane, numbers, step
        cdef Array rows = self.plan.y
        cdef Array to = self.stage.place
        cdef Array planes
        cdef double t = 0
        cdef char* y
        cdef char* u
        cdef char* k = self.rate.data
        cdef int which
        planes.body = self.item
        while first < self.plan.n:
            count = min(self.together, self.plan.n - first)
            plane = (count + width - 1) // width * width
            numbers = dim * plane
            planes.data, planes.component = self.now.data, plane * self.item
            copy_array(&planes, &rows, count, dim, self.item)
            y, u = self.now.data, self.next.data
            for step in range(steps):
                if times != NULL:
                    t = times[step]
                for which in range(self.stages):
                    if self.plan.scheme == DOPRI8:
                        k = self.total.data + which * ((numbers * self.item + LINE - 1) // LINE * LINE)
                    self.kernels.coupled.formula(
                        t + self.share[which] * self.plan.h, first, count, dim, plane, y if which == 0 else u, NULL, k,
                        <void*> &self.formula.formula,
                    )
                    self.table.sweep(&self.plan, which, numbers, k, y, u, self.total.data)
                y, u = u, y
            planes.data = y
            copy_array(&to, &planes, count, dim, self.item)
            rows.data += count * rows.body
            to.data += count * to.body
            first += count

    cdef double exact_time(self, Py_ssize_t ahead=0) except? -1:
        """Return the time `ahead` ticks from now: a quotient of integers, rounded once, as `time` of common.py."""
        if self.origin is not self._origin:
            origin, step = self._origin, self._exact_dt
            denominator = lcm(origin.denominator, step.denominator)
            pace = step.numerator * (denominator // step.denominator)
            numerator = origin.numerator * (denominator // origin.denominator) - self._origin_tick * pace
            # Assign all four together: a signal may interrupt the arithmetic of fractions, which is Python code.
            self.origin, self.numerator, self.pace, self.denominator = origin, numerator, pace, denominator
        try:
            return (self.numerator + (self.completed + ahead) * self.pace) / self.denominator
        except OverflowError:
            return INFINITY

    cdef int64_t explicit_step(self, double t) except -1:
        cdef int which
        for which in range(self.stages):
            self.ask_rhs(t + self.share[which] * self.plan.h, self.stage, self.rate)
            self.table.sweep(
                &self.plan, which, self.plan.n * self.plan.dim,
                self.rate.data, self.now.data, self.stage.data, self.total.data,
            )
        return self.stages

    cdef int64_t implicit_step(self, double t) except -1:
        cdef Newton* newton = &self.newton
        cdef int64_t calls = 0
        cdef int iteration
        newton.h = self.plan.h
        newton.failed = -1
        memset(newton.status, 0, self.status.size)
        memset(newton.slope, 0, self.slope.size)
        t = t + self.plan.h
        for iteration in range(self.plan.iterations + 1):
            self.ask_rhs(t, self.stage, self.rate)
            calls += 1
            if self.table.check(newton, iteration, iteration == self.plan.iterations, NULL) == 0:
                break
            if self._jacobian is not None:
                self.ask("jacobian", self._jacobian, t, self.stage.array, self.jacobian)
            elif self.derivatives is not None:
                self.derive(t)
            else:
                self.difference(t)
                calls += self.plan.dim
            self.table.correct(newton, NULL)
        if newton.failed >= 0:
            raise ConvergenceError(newton.failed, self.completed, newton.failed_residual, "trajectory")
        return calls

    cdef int difference(self, double t) except -1:
        """Compute the jacobian as difference quotients, column by column."""
        cdef Py_ssize_t column
        cdef double share, floor
        share, floor = QUOTIENT["float32" if self.single else "float64"]
        for column in range(self.plan.dim):
            self.table.increments(&self.newton, column, share, floor, self.moved.data)
            self.ask_rhs(t, self.moved, self.moved_rate)
            self.table.quotients(&self.newton, column, self.moved.data, self.moved_rate.data)
        return 0

    cdef int derive(self, double t) except -1:
        """Evaluate the jacobian of an expression from its symbolic derivatives."""
        cdef void* formula = <void*> &self.derivatives.formula
        cdef Py_ssize_t n = self.plan.n
        cdef Py_ssize_t dim = self.plan.dim
        memset(self.jacobian.data, 0, self.jacobian.size)
        with nogil:
            self.native(t, 0, n, dim, self.stage.data, self.jacobian.data, formula)
        return 0

    cdef int ask_rhs(self, double t, Scratch y, Scratch out) except -1:
        cdef int code
        if self.native == NULL:
            return self.ask("rhs", self._rhs, t, y.array, out)
        memset(out.data, 0, out.size)
        if self.cost < RELEASE:
            code = self.native(t, 0, self.plan.n, self.plan.dim, y.data, out.data, self.user_data)
        else:
            with nogil:
                code = self.native(t, 0, self.plan.n, self.plan.dim, y.data, out.data, self.user_data)
        if code != 0:
            raise self._rhs.failure(code)
        return 0

    cdef int ask(self, str name, object function, double t, object y, Scratch out) except -1:
        memset(out.data, 0, out.size)
        result = function(t, y, out.array)
        if result is not None and result is not out.array:
            refuse(name, result, out.array)
        return 0

    @property
    def evaluations(self):
        """Number of evaluations of the right-hand side in completed steps; the maximum over trajectories."""
        return self.evaluated
