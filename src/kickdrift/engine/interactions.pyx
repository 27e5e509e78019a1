"""What pushes many bodies at once, bound: a C function and what it works on, for each kind of push."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t

from ..kernels.abi.plan cimport Job
from ..kernels.simd.rounding cimport require_rounding
from .formulas cimport BoundFormula
from .sharing cimport SHARE

import numpy as np

from .. import kernels

require_rounding(__name__)

# Nanoseconds on the baseline, in float64.
cdef enum:
    PER_SPRING = 15
    PER_PAIR = 2
    PER_OPERATION = 2

# As many numbers as any vector holds.
cdef enum:
    WIDEST = 16


cdef class BoundPush:
    """Base: a C function of a push; it holds on to all that its data points to."""


cdef class PythonPush(BoundPush):
    """A Python function, which is called for all bodies at once."""

    cdef int show(self, list places, object out) except -1:
        """The planes of all bodies that the function is to be called with, shape (n, dim)."""
        self.views = []
        for planes in places:
            self.views.append((*[read_only(array) for array in planes[:2]], out))
        self.first = <const void*> <size_t> places[0][0].ctypes.data
        return 0

    cdef int show_tangent(self, list planes, object out) except -1:
        """The same for the user's jacobian, if there is one: position, velocity, dx, dv."""
        if self.term.jacobian is not None:
            self.tangent_views = (*[read_only(array) for array in planes], out)
            self.tangent, self.tangent_data = call_jacobian, <void*> self
        return 0


cdef object read_only(object array):
    """A view that nobody can make writable: its buffer says that it is not."""
    return np.asarray(memoryview(array).toreadonly())


cdef int call_python(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept with gil:
    cdef PythonPush push = <PythonPush> data
    try:
        position, velocity, to = push.views[x != push.first]
        result = push.call(t, position, velocity, to)
        if result is not None:
            push.term.check_result(result)
        PyErr_CheckSignals()
    except BaseException as error:
        push.error = error
        return 1
    return 0


cdef int call_jacobian(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept with gil:
    cdef PythonPush push = <PythonPush> data
    try:
        push.term.evaluate_jacobian(t, *push.tangent_views)
        PyErr_CheckSignals()
    except BaseException as error:
        push.error = error
        return 1
    return 0


cdef BoundPush bind_python(object push, object plan):
    cdef PythonPush bound = PythonPush()
    bound.term, bound.call = push.term, push.term.function
    bound.function, bound.data = call_python, <void*> bound
    bound.whole = True
    return bound


cdef BoundPush bind_native(object push, object plan):
    cdef BoundPush bound = BoundPush()
    bound.keep = push.term
    bound.function = <PushFunction> <size_t> push.term.pointer.address
    bound.data = <void*> <size_t> push.term.data
    bound.shared = push.term.threadsafe
    bound.cost = 10.0 * plan.n
    return bound


cdef BoundPush bind_formula(object push, object plan, const SweptTable* table):
    cdef FormulaPush bound = FormulaPush()
    bound.force = BoundFormula.of(push.term.code(push.fields), plan.dtype)
    bound.function, bound.data = table.formula, <void*> &bound.force.formula
    bound.shared = True
    bound.cost = <double> plan.n * PER_OPERATION * (bound.force.formula.operations + 1)
    if plan.integrator.name == "implicit_euler":
        bound.change = BoundFormula.of(push.term.code(push.fields, "changes"), plan.dtype)
        bound.tangent, bound.tangent_data = table.formula_tangent, <void*> &bound.change.formula
    if plan.integrator.name == "energy_euler":
        bound.energy = BoundFormula.of(push.term.code(push.fields, "energy"), plan.dtype)
        bound.potential, bound.potential_data = table.formula, <void*> &bound.energy.formula
    return bound


cdef class FormulaPush(BoundPush):
    """A formula, how it changes, and its energy, for the schemes that ask for these."""


cdef class SpringsPush(BoundPush):
    """Springs between pairs of bodies."""


cdef BoundPush bind_springs(object push, object plan, const SweptTable* table):
    cdef SpringsPush bound = SpringsPush()
    cdef Springs* springs = &bound.springs
    pairs = push.fields["pairs"]
    count = len(pairs)
    bound.arrays = [padded(column, count) for column in (pairs[:, 0], pairs[:, 1])]
    bound.arrays += [padded(push.fields[name], count) for name in ("k", "rest", "c")]
    springs.count = count
    springs.damped = push.term.velocity_dependent
    springs.first = <const int64_t*> address(bound.arrays[0])
    springs.second = <const int64_t*> address(bound.arrays[1])
    springs.k = address(bound.arrays[2])
    springs.rest = address(bound.arrays[3])
    springs.c = address(bound.arrays[4])
    bound.function, bound.data = table.springs, <void*> springs
    bound.tangent, bound.tangent_data = table.springs_tangent, <void*> springs
    bound.whole = True
    bound.cost = count * PER_SPRING
    return bound


cdef object padded(object values, Py_ssize_t count):
    """One number for each, followed by zeros up to whole vectors."""
    array = kernels.aligned_zeros((1, (count + WIDEST - 1) // WIDEST * WIDEST), values.dtype)[0]
    array[:count] = values
    return array


cdef const void* address(object array) except *:
    return <const void*> <size_t> array.ctypes.data


cdef class NBodyPush(BoundPush):
    """Attraction among all bodies, in shares of several threads where it is worth it."""


cdef BoundPush bind_n_body(object push, object plan, const SweptTable* table, Py_ssize_t threads):
    cdef NBodyPush bound = NBodyPush()
    cdef Crowd crowd
    bound.arrays = [push.fields["mu"] + np.zeros(plan.n, plan.dtype), push.fields["e2"]]
    bound.bodies.n = plan.n
    bound.bodies.mu = address(bound.arrays[0])
    bound.bodies.e2 = address(bound.arrays[1])
    bound.function, bound.data = table.n_body, <void*> &bound.bodies
    bound.tangent, bound.tangent_data = table.n_body_tangent, <void*> &bound.bodies
    bound.whole = True
    bound.cost = <double> plan.n * plan.n * PER_PAIR
    if threads > 1 and bound.cost >= SHARE:
        crowd = bound.crowd = Crowd()
        crowd.kernel, crowd.data = bound.function, bound.data
        crowd.helpers = threads
        bound.function, bound.data = share_n_body, <void*> bound
    return bound


cdef class Crowd(Sharing):
    """Each thread has a range of the bodies, and looks at all of them."""

    cdef void call(self, Job* job) noexcept nogil:
        self.kernel(0, job.first, job.last - job.first, self.dim, self.stride, self.x, NULL, self.out, self.data)


cdef int share_n_body(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept with gil:
    cdef NBodyPush push = <NBodyPush> data
    cdef Crowd crowd = push.crowd
    crowd.dim, crowd.stride, crowd.x, crowd.out = dim, stride, x, out
    try:
        crowd.run_job(count, push.cost)
        crowd.raise_interrupt()
    except BaseException as error:
        push.error = error
        return 1
    return 0


cdef BoundPush bind_push(object push, object plan, const SweptTable* table, Py_ssize_t threads):
    """The C function of a push of a plan."""
    if push.kind == "formula":
        return bind_formula(push, plan, table)
    if push.kind == "springs":
        return bind_springs(push, plan, table)
    if push.kind == "n_body":
        return bind_n_body(push, plan, table, threads)
    return bind_native(push, plan) if push.kind == "native" else bind_python(push, plan)
