"""Binding: a model as C structs, and the memory that the structs point to.

A stepper adopts only a complete binding. Afterwards only the numbers that depend on dt change.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.math cimport floor
from libc.string cimport memcpy

from .coupled cimport Coupled
from .coefficients cimport AppliedForces, field
from ..kernels.abi.plan cimport (
    AXIS, COEFFICIENTS, COMPOSITION, COMPOSITION_RK4, ENERGY_EULER, EXACT, EXTRA, FLAT, GROOT_WARREN, IMPLICIT_EULER,
    MAX_CONSTANTS, MAX_DIM, MAX_STAGES, ORIGIN, PER_KICK, PLANES, ROW, SQUARE, STRENGTH, STRIDED, VERLET_BACKWARD,
    VERLET_CENTRAL, Field, Layout, Plan, Term, scheme_kinds,
)
from ..kernels.abi.kinds cimport term_kinds
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.integrators.traits cimport fsal, unspecialised
from ..kernels.abi.coupled cimport NOTHING, SCHEME, Kernels
from .rotation cimport Torques
from .runner cimport PATIENCE
from .serving cimport continued
from .slots cimport address
from .views cimport View

import numpy as np

from ..declaration import require_entries
from ..forces.base import FieldTerm
from ..integrators import KINDS

require_rounding(__name__)

cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX

cdef Py_ssize_t MOST = PY_SSIZE_T_MAX // 2

SCHEMES = scheme_kinds()
TERMS = term_kinds()
# Index of the kernels' coefficient (`field` of Term) for each field name of a record.
PLACES = {
    **dict.fromkeys(("mu", "c", "s", "share"), STRENGTH), **dict.fromkeys(("e2", "w2"), SQUARE),
    **dict.fromkeys(("center", "w"), ORIGIN), **dict.fromkeys(("axis", "omega"), AXIS),
}
cdef Torques NO_TORQUES = Torques(())
require_entries(__name__, SCHEMES, KINDS)
require_entries(__name__, TERMS, FieldTerm)


cdef class StepNumbers:
    """Numbers for one dt, computed in advance; `Binding.take` copies them to the plan of a binding."""


cdef class Binding:
    def __dealloc__(self):
        PyMem_Free(self.terms)

    @staticmethod
    cdef Binding of(object model, list state, const Kernels* kernels, Py_ssize_t threads, Binding previous):
        """Bind a model to views of the state: position, velocity and, for schemes that have one, history.

        Data that equals that of a previous binding of the same bodies is shared with it.
        """
        cdef Binding binding = Binding.__new__(Binding)
        plan = &binding.plan
        binding.model, binding.kernels, binding.state = model, kernels, state
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
        binding.arrays, binding.writes = [], []
        binding.torques = Torques(model.torques) if model.torques else NO_TORQUES
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
        """Return the number of steps between two checks for Ctrl-C, from the estimated cost of a step."""
        return <Py_ssize_t> (0.125 * PATIENCE / self.cost) + 1

    cdef int bind_coupled(self, Py_ssize_t threads, Coupled previous) except -1:
        if previous is not None:
            self.known = continued(previous.known, previous.model, self.model, self.writes)
        if self.known is not None:
            self.coupled = previous
        else:
            self.coupled = Coupled.of(self.model, &self.kernels.coupled, &self.plan, threads, previous, self.writes)
        self.cost += self.coupled.cost
        self.fallible = self.coupled.workspace is None and self.coupled.fallible
        # Constraints move bodies after the last evaluation of a step, so the next step cannot reuse its forces.
        self.fsal = self.fsal and (not self.model.constraint_records or self.coupled.coupling.only_put_back)
        self.helpers = min(self.helpers, self.coupled.helpers)
        # User functions have an unknown cost: begin with one step. Jobs in the workspace check for Ctrl-C themselves.
        if self.fallible:
            self.most = 1
        elif self.coupled.workspace is not None and self.coupled.tiles is None:
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
            scheme = COMPOSITION  # forces without velocity dependence: the simpler scheme makes equal kicks
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
        """Choose the layout. With FLAT and PLANES, kernels access the caller's arrays without a copy."""
        if self.model.interactions or self.model.constraint_records:
            return STRIDED
        if all(array.flags.c_contiguous for array in arrays):
            # Schemes that are not componentwise copy the state to structures of arrays in any case.
            return FLAT if self.componentwise() else STRIDED
        itemsize = arrays[0].itemsize
        if self.componentwise() and all(array.strides[0] == itemsize for array in arrays):
            return PLANES
        return STRIDED

    cdef bint componentwise(self):
        """Return whether the components of a body can be stepped separately."""
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
            # Each call adds the forces in users' arrays to g: bindings cannot share this array.
            plan.g = field(plan, np.broadcast_to(model.g, (model.n, model.dim)), arrays)
            self.applied = AppliedForces.of(model, plan)
            plan.applied = &self.applied.applied
        else:
            plan.applied = NULL
            plan.g = self.coefficient("g", &known.g, before)
        # Unused coefficient pointers alias g, because row loops advance all of them.
        plan.c = self.coefficient("c", &known.c, before) if model.drag else plan.g
        plan.w = self.coefficient("w", &known.w, before) if model.drag else plan.g
        plan.k = self.coefficient("k", &known.k, before) if model.spring else plan.g
        plan.p = self.coefficient("p", &known.p, before) if model.spring else plan.g
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
            self.terms[number].kind = TERMS[record.kind]
            if number < len(olds) and olds[number] is record:
                self.terms[number] = previous.terms[<int> number]
                self.records.append(previous.records[number])
                continue
            blocks = []
            if len(record.fields) < COEFFICIENTS:
                nothing = field(plan, np.zeros((1, MAX_DIM), model.dtype), blocks)
                for i in range(COEFFICIENTS):
                    self.terms[number].field[i] = nothing
            for name, values in record.fields.items():
                self.terms[number].field[<int> PLACES[name]] = field(&self.plan, values, blocks)
            for i in range(COEFFICIENTS):
                self.terms[number].per_body |= self.terms[number].field[i].body != 0
            self.records.append(blocks)
        return 0

    cdef int check_branches(self) except -1:
        """Raise an error for a kind without a branch in the kernels, as may happen when a kind is added."""
        cdef int missing = self.kernels.missing(&self.plan, NULL)
        if missing == NOTHING:
            return 0
        scheme = self.model.integrator.kind
        if missing == SCHEME:
            raise RuntimeError(f"kernels: expected a branch for {scheme!r} in dispatch.pxd")
        kind = self.model.records[missing].kind
        raise RuntimeError(f"kernels: expected branches for {kind!r} under {scheme!r} in forces/fields.pxd")

    cdef Field coefficient(self, str symbol, const Field* known, dict before) except *:
        """Lay out a coefficient of the affine terms; share that of the previous binding if its array is the same."""
        cdef list arrays = []
        cdef Field made
        values = getattr(self.model, symbol)
        same = before.get(symbol)
        if same is not None and same[0] is values:
            made, arrays = known[0], same[1]
        else:
            made = field(&self.plan, values, arrays)
        self.coefficients[symbol] = values, arrays
        return made

    cdef double estimate(self) except -1:
        """Estimate the ns of a step of all bodies: an upper bound, for the baseline instruction set in float64."""
        cdef double per_component = 0.7
        cdef double per_term = 8
        cdef int iterations = 1
        if self.plan.scheme == IMPLICIT_EULER:
            per_component, per_term, iterations = 60, 20, 2
        elif self.plan.scheme == ENERGY_EULER:
            per_component, per_term = 10, 40
        evaluations = self.model.integrator.force_evaluations_with_drag or iterations
        return max(10.0, self.plan.n * evaluations * (per_component * self.plan.dim + per_term * self.plan.terms))

    cdef StepNumbers numbers_for(self, double h, Binding previous):
        """Compute the numbers that depend on dt; copy those that `previous`, another binding, has for the same dt."""
        cdef bint same = (
            previous is not None and previous is not self and previous.numbers is not None and previous.numbers.h == h
            and previous.plan.scheme == self.plan.scheme
            and (not self.model.interactions or len(previous.model.interactions) > 0)
            and previous.plan.velocity_dependent == self.plan.velocity_dependent
        )
        cdef StepNumbers numbers = StepNumbers.__new__(StepNumbers)
        model = self.model
        numbers.h = h
        numbers.arrays = []
        numbers.decay = numbers.turn = numbers.turn_share = self.plan.g
        if model.damped:
            numbers.decay = field(&self.plan, model.decay(h), numbers.arrays)
        if model.spin_damped:
            decay = model.spin_decay(h).copy()  # a cached array is read-only; `address` needs a writable one
            numbers.arrays.append(decay)
            numbers.spin_decay, numbers.spin_decay_each = address(decay), len(decay) > 1
        if model.turned:
            t, s = model.turn(h)
            numbers.turn = field(&self.plan, t, numbers.arrays)
            numbers.turn_share = field(&self.plan, s, numbers.arrays)
        for i in range(4):
            numbers.flow[i] = self.plan.g
        if self.plan.scheme == EXACT:
            for i, values in enumerate(model.flow(h)):
                numbers.flow[<int> i] = field(&self.plan, values, numbers.arrays)
        if same:
            memcpy(numbers.constants, previous.numbers.constants, sizeof(numbers.constants))
            memcpy(numbers.after, previous.numbers.after, sizeof(numbers.after))
            memcpy(numbers.ticks, previous.numbers.ticks, sizeof(numbers.ticks))
            return numbers
        if self.plan.kicks:
            drifts, kicks = model.composition(h)
            for i, seconds in enumerate(drifts):
                numbers.constants[2 * <int> i] = seconds
            for i, seconds in enumerate(kicks):
                numbers.constants[2 * <int> i + 1] = seconds
        if model.interactions:
            step = float(model.dtype.type(h))
            for i, seconds in enumerate(model.evaluation_times(h)):
                ticks = floor(seconds / step)
                numbers.after[<int> i], numbers.ticks[<int> i] = seconds - ticks * step, <int64_t> ticks
        return numbers

    cdef void take(self, StepNumbers numbers) noexcept:
        """Copy the numbers that depend on dt to the plan; `prepare` must follow."""
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
        """Prepare the kernels; required after each change of h, last_h or the numbers of a step."""
        self.kernels.prepare(&self.plan, self.kernels, NULL)
        if self.coupled is not None:
            self.coupled.prepare(&self.plan, self.componentwise(), self.kernels)
