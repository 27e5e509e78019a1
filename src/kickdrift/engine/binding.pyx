"""Binding: a model as C structs, and the arrays that these point into.

It is made whole, aside, before a stepper takes it over. Afterwards it changes in what depends on dt alone.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport floor
from libc.string cimport memcmp

from .coupled cimport Coupled
from .coefficients cimport AppliedForces, field, fill, numbers_of, of_numbers
from ..kernels.abi.constants cimport EXTRA, PER_KICK
from ..kernels.abi.plan cimport (
    ALTERNATE, AXIS, CENTRIFUGAL, COEFFICIENTS, COMPOSITION, COMPOSITION_RK4, DRIFT_KICK, ENERGY_EULER, EXACT,
    EXPLICIT_EULER, FLAT, GROOT_WARREN, HEUN, IMPLICIT_EULER, KICK_DRIFT, MAX_CONSTANTS, MAX_DIM, MAX_STAGES,
    MIDPOINT, ORIGIN, PLANES, POINT_GRAVITY, QUADRATIC_DRAG, RK4, ROW, SQUARE, STRENGTH, STRIDED, VELOCITY_VERLET,
    VERLET_BACKWARD, VERLET_CENTRAL, VORTEX, Field, Layout, Plan, Term,
)
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.integrators.traits cimport fsal, unspecialised
from ..kernels.abi.tables cimport NOTHING, SCHEME, Kernels
from .runner cimport View
from .runner cimport PATIENCE

import numpy as np

from ..declaration import require_entries
from ..forces.base import FieldTerm
from ..integrators import KINDS

require_rounding(__name__)

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef Py_ssize_t MOST = PY_SSIZE_T_MAX // 2

# The scheme of each integrator; or the attribute that chooses one, and what its values stand for.
SCHEMES = {
    "explicit_euler": EXPLICIT_EULER,
    "semi_implicit_euler": ("form", {"kick_drift": KICK_DRIFT, "drift_kick": DRIFT_KICK, "alternate": ALTERNATE}),
    "implicit_euler": IMPLICIT_EULER,
    "midpoint": MIDPOINT,
    "heun": HEUN,
    "rk4": RK4,
    "verlet": ("velocity", {"backward": VERLET_BACKWARD, "central": VERLET_CENTRAL}),
    "velocity_verlet": VELOCITY_VERLET,
    "groot_warren": GROOT_WARREN,
    "composition": ("kick_rule", {"midpoint": COMPOSITION, "rk4": COMPOSITION_RK4}),
    "energy_euler": ENERGY_EULER,
    "exact": EXACT,
}
# The kind of each term, and where its coefficients are.
TERMS = {
    "point_gravity": (POINT_GRAVITY, {"mu": STRENGTH, "e2": SQUARE, "center": ORIGIN}),
    "quadratic_drag": (QUADRATIC_DRAG, {"c": STRENGTH, "w": ORIGIN}),
    "vortex": (VORTEX, {"s": STRENGTH, "e2": SQUARE, "center": ORIGIN, "axis": AXIS}),
    "centrifugal": (CENTRIFUGAL, {"share": STRENGTH, "w2": SQUARE, "center": ORIGIN, "omega": AXIS}),
}
require_entries(__name__, SCHEMES, KINDS)
require_entries(__name__, TERMS, FieldTerm)


cdef class StepNumbers:
    """Numbers of one dt, computed aside; `Binding.take` makes them those of its plan."""


cdef class Fill:
    """Other numbers, computed aside; `Binding.refill` writes them."""


cdef class Binding:
    def __dealloc__(self):
        PyMem_Free(self.terms)

    @staticmethod
    cdef Binding of(object model, list state, const Kernels* kernels, Py_ssize_t threads, Binding previous):
        """The binding of a model to views of arrays: position, velocity and history, if there is one.

        What would be the same as in a previous one of the same bodies, if there is one, is shared with it.
        """
        cdef Binding binding = Binding.__new__(Binding)
        plan = &binding.plan
        binding.model, binding.kernels, binding.state = model, kernels, state
        if previous is not None and previous.alike(model, state):
            return binding.follow(previous)
        binding.helpers = min(threads, max(1, (model.n + ROW - 1) // ROW))
        plan.n, plan.dim = model.n, model.dim
        plan.drag, plan.wind, plan.spring = model.drag, model.wind, model.spring
        plan.velocity_dependent, plan.damped = model.velocity_dependent, model.damped
        plan.turned = model.turned
        binding.bind_scheme(model.integrator)
        plan.x, plan.v = (<View> state[0]).place, (<View> state[1]).place
        if len(state) > 2:
            plan.s = (<View> state[2]).place
        plan.layout = binding.layout([(<View> view).array for view in state])
        binding.arrays = []
        binding.bind_coefficients(previous)
        binding.check_branches()
        binding.fallible = plan.scheme == IMPLICIT_EULER
        binding.fsal = fsal(plan.scheme, plan.velocity_dependent)
        binding.cost = binding.estimate()
        binding.most = binding.steps_at_once()
        if model.interactions or model.constraint_records:
            binding.bind_coupled(threads, None if previous is None else previous.coupled)
        return binding

    cdef Py_ssize_t steps_at_once(self) noexcept:
        """Between two looks for Ctrl-C, by the estimate of what they cost."""
        return <Py_ssize_t> (0.125 * PATIENCE / self.cost) + 1

    cdef bint alike(self, object model, list state) except -1:
        """Does another model of the same bodies differ in the numbers of its affine terms and records alone?"""
        mine = self.model
        return (
            state is self.state and mine.interactions is model.interactions
            and (mine.records is model.records or kinds(mine.records) == kinds(model.records))
            and mine.constraint_records is model.constraint_records and mine.turned == model.turned
            and mine.velocity_dependent == model.velocity_dependent
        )

    cdef Binding follow(self, Binding previous):
        """Take over all but the affine terms and those records that are others from a binding of the same bodies."""
        model = self.model
        self.plan = previous.plan
        self.plan.drag, self.plan.wind, self.plan.spring = model.drag, model.wind, model.spring
        self.plan.damped = model.damped
        self.arrays = []
        self.bind_coefficients(previous)
        self.helpers, self.fallible, self.fsal = previous.helpers, previous.fallible, previous.fsal
        self.cost, self.most, self.coupled = previous.cost, previous.most, previous.coupled
        return self

    cdef int bind_coupled(self, Py_ssize_t threads, Coupled previous) except -1:
        if previous is not None and previous.serves(self.model):
            self.coupled = previous
        else:
            self.coupled = Coupled.of(self.model, &self.kernels.coupled, &self.plan, threads, previous)
        self.cost += self.coupled.cost
        self.fallible = self.coupled.workspace is None and self.coupled.fallible
        # What is held is pushed otherwise afterwards.
        self.fsal = self.fsal and (not self.model.constraint_records or self.coupled.coupling.only_put_back)
        self.helpers = min(self.helpers, self.coupled.helpers)
        # How long functions take shows when they are called. In a workspace a call is one part: it looks by itself.
        # With a crew it is not, as an interpreter that ends waits for helpers.
        if self.fallible:
            self.most = 1
        elif self.coupled.workspace is not None and self.coupled.crew_size == 1 and self.coupled.tiles is None:
            self.most = MOST
        else:
            self.most = self.steps_at_once()
        return 0

    cdef int bind_scheme(self, object integrator) except -1:
        plan = &self.plan
        scheme = SCHEMES[integrator.kind]
        if isinstance(scheme, tuple):
            attribute, choices = scheme
            scheme = choices[getattr(integrator, attribute)]
        if scheme == COMPOSITION_RK4 and not plan.velocity_dependent:
            scheme = COMPOSITION  # any rule is the same kick then
        plan.scheme = scheme
        if plan.scheme == COMPOSITION or plan.scheme == COMPOSITION_RK4:
            plan.kicks = integrator.kicks
            plan.iterations = integrator.order
            if EXTRA + 2 + PER_KICK * plan.kicks > MAX_CONSTANTS or plan.kicks * plan.iterations > MAX_STAGES:
                raise AssertionError(f"{integrator.name}: more kicks than there is room for")
        if plan.scheme == VERLET_BACKWARD or plan.scheme == VERLET_CENTRAL:
            plan.taylor_start = integrator.start == "taylor"
        if plan.scheme == GROOT_WARREN:
            plan.lam = integrator.lam
        if plan.scheme == IMPLICIT_EULER:
            plan.tolerance = integrator.tolerance
            plan.iterations = integrator.max_iterations
        return 0

    cdef Layout layout(self, list arrays) except *:
        """FLAT and PLANES let kernels read the caller's rows as they are."""
        if self.model.interactions or self.model.constraint_records:
            return STRIDED
        if all(array.flags.c_contiguous for array in arrays):
            # Other schemes work on planes in any case.
            return FLAT if self.componentwise() else STRIDED
        itemsize = arrays[0].itemsize
        if self.componentwise() and all(array.strides[0] == itemsize for array in arrays):
            return PLANES
        return STRIDED

    cdef bint componentwise(self):
        """Can the components of a body be stepped one by one?"""
        if self.model.records or self.model.turned:
            return False
        return self.plan.scheme < IMPLICIT_EULER and not unspecialised(self.plan.scheme)

    cdef int bind_coefficients(self, Binding previous) except -1:
        cdef Plan* plan = &self.plan
        cdef const Plan* known = &self.plan
        cdef dict before = {}
        cdef Field nothing
        cdef int i
        model, arrays = self.model, self.arrays
        if previous is not None and previous.plan.layout == plan.layout:
            known, before = &previous.plan, previous.coefficients
        self.coefficients = {}
        if model.applied and model.n:
            # Written to in each call, and so no other binding's.
            plan.g = field(plan, np.broadcast_to(model.g, (model.n, model.dim)), arrays)
            self.applied = AppliedForces.of(model, plan)
            plan.applied = &self.applied.applied
        else:
            plan.applied = NULL
            plan.g = self.coefficient("g", 0, &known.g, before)
        # Rows advance all pointers alike: what is never read points to memory that exists too.
        plan.c = self.coefficient("c", 3 * plan.dim, &known.c, before) if model.drag else plan.g
        plan.w = self.coefficient("w", plan.dim, &known.w, before) if model.drag else plan.g
        plan.k = self.coefficient("k", 3 * plan.dim + 1, &known.k, before) if model.spring else plan.g
        plan.p = self.coefficient("p", 2 * plan.dim, &known.p, before) if model.spring else plan.g
        plan.decay = plan.turn = plan.turn_share = plan.g
        for i in range(4):
            self.plan.flow[i] = self.plan.g
        self.plan.terms = len(model.records)
        if self.plan.terms:
            self.terms = <Term*> PyMem_Calloc(self.plan.terms, sizeof(Term))
            if self.terms == NULL:
                raise MemoryError
            self.plan.term = self.terms
        olds = previous.model.records if before else ()
        self.records = []
        for number, record in enumerate(model.records):
            kind, places = TERMS[record.kind]
            self.terms[number].kind = kind
            if number < len(olds) and olds[number] is record:
                self.terms[number] = previous.terms[<int> number]
                self.records.append(previous.records[number])
                continue
            blocks = []
            if len(places) < COEFFICIENTS:
                nothing = field(plan, np.zeros((1, MAX_DIM), model.dtype), blocks)
                for i in range(COEFFICIENTS):
                    self.terms[number].field[i] = nothing
            for name, values in record.fields.items():
                self.terms[number].field[<int> places[name]] = field(&self.plan, values, blocks)
            self.records.append(blocks)
        return 0

    cdef int check_branches(self) except -1:
        """Refuse what the kernels have no branch for: forgotten ones, of kinds that are just being added."""
        cdef int missing = self.kernels.missing(&self.plan, NULL)
        if missing == NOTHING:
            return 0
        scheme = self.model.integrator.kind
        if missing == SCHEME:
            raise RuntimeError(f"kernels: expected a branch for {scheme!r} in dispatch.pxd")
        kind = self.model.records[missing].kind
        raise RuntimeError(f"kernels: expected branches for {kind!r} under {scheme!r} in forces/fields.pxd")

    cdef Field coefficient(self, str symbol, int place, const Field* known, dict before) except *:
        """A coefficient of the affine terms; where a binding before has the same numbers, it is that one.

        place: where it is among the numbers of the model, if these are the same for all bodies.
        """
        cdef list arrays = []
        cdef list numbers = self.model.numbers
        cdef double row[MAX_DIM]
        cdef Field made
        cdef int count = self.plan.dim if symbol in "gwp" else 1
        cdef int j
        same = before.get(symbol)
        if numbers is None:
            values = getattr(self.model, symbol)
            if same is not None and alike(same[0], values):
                made, arrays = known[0], same[1]
            else:
                made = field(&self.plan, values, arrays)
        else:
            for j in range(count):
                row[j] = numbers[place + j]
            values = PyBytes_FromStringAndSize(<const char*> row, count * sizeof(double))
            if same is not None and type(same[0]) is bytes and same[0] == values:
                made, arrays = known[0], same[1]
            else:
                made = of_numbers(
                    &self.plan, row, count, self.model.dtype.itemsize, self.plan.layout == FLAT, arrays
                )
        self.coefficients[symbol] = values, arrays
        return made

    cdef double estimate(self) except -1:
        """Nanoseconds that a step of all bodies takes at worst, roughly: on the baseline, in float64."""
        cdef double per_component = 0.7
        cdef double per_term = 8
        cdef int iterations = 1
        if self.plan.scheme == IMPLICIT_EULER:
            per_component, per_term, iterations = 60, 20, 2
        elif self.plan.scheme == ENERGY_EULER:
            per_component, per_term = 10, 40
        evaluations = self.model.integrator.force_evaluations_with_drag or iterations
        return max(10.0, self.plan.n * evaluations * (per_component * self.plan.dim + per_term * self.plan.terms))

    cdef Fill filled(self, object model):
        """What makes this the binding of another model; None where that takes more than other numbers.

        The model differs in affine terms and records alone.
        """
        cdef Fill made = Fill.__new__(Fill)
        cdef list records = model.records
        cdef list olds = self.model.records
        cdef Py_ssize_t number
        made.coefficients = self.coefficients
        mine = self.model
        if model._affine is not mine._affine:
            # So what depends on dt stays the same too.
            if (
                model.numbers is None or mine.numbers is None
                or mine.rate is not model.rate or mine.omega is not model.omega or mine.drag != model.drag
                or mine.wind != model.wind or mine.spring != model.spring
                or mine.velocity_dependent != model.velocity_dependent
            ):
                return None
            made = self.renumbered(model.numbers)
            if made is None:
                return None
        for number in range(len(olds)):
            record, old = records[number], olds[number]
            if record is old:
                continue
            if record.kind != old.kind:
                return None
            places = TERMS[record.kind][1]
            for name, values in record.fields.items():
                if made.count == MOST_FILLED or len(values) != 1 or len(old.fields[name]) != 1:
                    return None
                made.to[made.count] = self.terms[number].field[<int> places[name]]
                made.columns[made.count] = numbers_of(values, made.numbers[made.count])
                made.count += 1
        return made

    cdef Fill renumbered(self, list numbers):
        """The same for other numbers of the affine terms, where the terms stay of the same kinds."""
        cdef Fill made
        if self.applied is not None or self.plan.scheme == EXACT:
            return None
        made = Fill.__new__(Fill)
        self.add_numbers(made, numbers)
        return made

    cdef int add_numbers(self, Fill made, list numbers) except -1:
        cdef Plan* plan = &self.plan
        cdef int dim = plan.dim
        made.coefficients = self.coefficients.copy()
        self.add_other(made, "g", &plan.g, numbers, 0, dim)
        if plan.drag:
            self.add_other(made, "w", &plan.w, numbers, dim, dim)
            self.add_other(made, "c", &plan.c, numbers, 3 * dim, 1)
        if plan.spring:
            self.add_other(made, "p", &plan.p, numbers, 2 * dim, dim)
            self.add_other(made, "k", &plan.k, numbers, 3 * dim + 1, 1)
        return 0

    cdef int add_other(self, Fill made, str symbol, const Field* to, list numbers, int place, int count) except -1:
        """Add a coefficient, if its numbers are others."""
        cdef double* row = made.numbers[made.count]
        cdef tuple known = self.coefficients[symbol]
        cdef int j
        for j in range(count):
            row[j] = numbers[place + j]
        values = PyBytes_FromStringAndSize(<const char*> row, count * sizeof(double))
        if known[0] != values:
            made.to[made.count], made.columns[made.count] = to[0], count
            made.coefficients[symbol] = values, known[1]
            made.count += 1
        return 0

    cdef void refill(self, Fill made) noexcept:
        """Write them."""
        cdef Py_ssize_t item = (<View> self.state[0]).item
        cdef int i
        for i in range(made.count):
            fill(&made.to[i], self.plan.dim, made.numbers[i], made.columns[i], item, self.plan.layout == FLAT)
        self.coefficients = made.coefficients

    cdef StepNumbers numbers_for(self, double h):
        """What depends on dt, for this one."""
        cdef StepNumbers numbers = StepNumbers.__new__(StepNumbers)
        model = self.model
        numbers.h = h
        numbers.arrays = []
        numbers.decay = numbers.turn = numbers.turn_share = self.plan.g
        if model.damped:
            numbers.decay = field(&self.plan, model.decay(h), numbers.arrays)
        if model.turned:
            t, s = model.turn(h)
            numbers.turn = field(&self.plan, t, numbers.arrays)
            numbers.turn_share = field(&self.plan, s, numbers.arrays)
        for i in range(4):
            numbers.flow[i] = self.plan.g
        if self.plan.scheme == EXACT:
            for i, values in enumerate(model.flow(h)):
                numbers.flow[<int> i] = field(&self.plan, values, numbers.arrays)
        if self.plan.kicks:
            drifts, kicks = model.composition(h)
            for i, seconds in enumerate(drifts):
                numbers.constants[2 * <int> i] = seconds
            for i, seconds in enumerate(kicks):
                numbers.constants[2 * <int> i + 1] = seconds
        if model.interactions:
            for i, seconds in enumerate(model.evaluation_times(h)):
                numbers.after[<int> i] = seconds
                numbers.ticks[<int> i] = <int64_t> floor(seconds / float(model.dtype.type(h)))
        return numbers

    cdef void take(self, StepNumbers numbers) noexcept:
        """Make these the numbers of the plan; `prepare` follows."""
        cdef int i
        self.plan.h = numbers.h
        self.plan.decay, self.plan.turn, self.plan.turn_share = numbers.decay, numbers.turn, numbers.turn_share
        for i in range(4):
            self.plan.flow[i] = numbers.flow[i]
        for i in range(MAX_CONSTANTS):
            self.plan.constants[i] = numbers.constants[i]
        if self.coupled is not None:
            for i in range(MAX_STAGES):
                self.coupled.coupling.after[i] = numbers.after[i]
                self.coupled.coupling.ticks[i] = numbers.ticks[i]
        self.numbers = numbers

    cdef void prepare(self) noexcept:
        """To be called whenever h, last_h or the numbers of a step have changed."""
        self.kernels.prepare(&self.plan, self.kernels, NULL)
        if self.coupled is not None:
            self.coupled.prepare(&self.plan, self.componentwise(), self.kernels)


cdef list kinds(list records):
    return [record.kind for record in records]


cdef bint alike(object one, object other) except -1:
    """Are two arrays of numbers the same, to the bit?"""
    cdef Py_buffer a, b
    if one is other:
        return True
    if type(one) is not type(other) or one.shape != other.shape:
        return False
    PyObject_GetBuffer(one, &a, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(other, &b, PyBUF_SIMPLE)
    except BaseException:
        PyBuffer_Release(&a)
        raise
    same = a.len == b.len and memcmp(a.buf, b.buf, a.len) == 0
    PyBuffer_Release(&a)
    PyBuffer_Release(&b)
    return same
