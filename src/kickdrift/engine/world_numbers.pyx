"""Coefficients of a binding that may differ between the worlds of `Worlds`, and properties that must not."""

from .binding cimport Binding
from .bodies cimport Core
from .interactions cimport BoundInteraction
from .slots cimport address
from .walls cimport BoundConstraint
from ..kernels.abi.plan cimport EXACT, FLAT, MAX_DIM, ROW, Field, Plan, Term
from ..kernels.simd.rounding cimport require_rounding

from .binding import PLACES

require_rounding(__name__)


cdef list number_blocks(Core core):
    """Return (address, size in bytes) of all coefficients that kernels read, in an order fixed by the model."""
    cdef Plan* plan = core.plan
    cdef Term* term
    cdef Binding binding = core.binding
    cdef BoundInteraction interaction
    cdef BoundConstraint constraint
    cdef list found = []
    cdef int k
    model = binding.model
    if plan.applied != NULL:
        add_field(found, core, &core.applied.g, plan.dim)
    else:
        add_field(found, core, &plan.g, plan.dim)
    if plan.drag:
        add_field(found, core, &plan.c, plan.dim)
        add_field(found, core, &plan.w, plan.dim)
    if plan.spring:
        add_field(found, core, &plan.k, plan.dim)
        add_field(found, core, &plan.p, plan.dim)
    if plan.damped:
        add_field(found, core, &plan.decay, plan.dim)
    if plan.turned:
        add_field(found, core, &plan.turn, MAX_DIM)
        add_field(found, core, &plan.turn_share, plan.dim)
    if plan.scheme == EXACT:
        for k in range(4):
            add_field(found, core, &plan.flow[k], plan.dim)
    for number, record in enumerate(model.records):
        for name, values in record.fields.items():
            columns = max(plan.dim, values.size // len(values))
            term = &plan.term[<int> number]
            add_field(found, core, &term.field[<int> PLACES[name]], columns)
    if binding.numbers.spin_decay != NULL:
        count = plan.n if binding.numbers.spin_decay_each else 1
        found.append((<size_t> binding.numbers.spin_decay, count * core.item))
    places = []
    if core.coupled is not None:
        for interaction in core.coupled.bound_interactions:
            places.append(interaction.places)
        for constraint in core.coupled.bound_constraints:
            places.append(constraint.places)
    for named in places:
        for arrays in named.values():
            for array in arrays:
                found.append((<size_t> address(array), array.nbytes))
    return found


cdef int add_field(list found, Core core, const Field* field, Py_ssize_t columns) except -1:
    """Add the memory of a coefficient, without the padding of its rows."""
    cdef Py_ssize_t count = core.plan.n if field.body else min(core.plan.n, <Py_ssize_t> ROW)
    cdef Py_ssize_t j
    if core.plan.layout == FLAT:
        found.append((<size_t> field.component[0], count * core.plan.dim * core.item))
    else:
        for j in range(columns):
            found.append((<size_t> field.component[j], count * core.item))
    return 0


cdef tuple bound_by(Core core):
    """Return the properties of a binding that must be equal in all worlds, because one stepper runs all of them."""
    cdef Plan* plan = core.plan
    cdef BoundConstraint constraint
    same = [plan.drag, plan.wind, plan.spring, plan.velocity_dependent, plan.damped, plan.turned, plan.terms]
    same += [plan.scheme, plan.uniform, plan.g.body, plan.c.body, plan.w.body, plan.k.body, plan.p.body]
    same.append(plan.decay.body)
    if core.coupled is not None:
        same += [id(each) for each in (*core.coupled.bound_interactions, *core.coupled.bound_constraints)]
        for constraint in core.coupled.bound_constraints:
            if constraint.common is not None:
                same.append(constraint.places[constraint.common][0].tobytes())
    return (*same, id((<object> core)._impulses))
