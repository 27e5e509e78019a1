# Function table of the kernels that are compiled without forced inlining: coupled bodies, implicit steps of flows.

from libc.stdint cimport int64_t

from ..abi.constraints cimport DISTANCE, PIN, ConstraintFunction, ConstraintKind, Distance, FindAlike, FindAmongFew, Pin
from ..abi.coupled cimport (
    NO_BRANCH, Coupling, ImplicitStep, InteractionFunction, Kernels, MoveBodies, NBody, Pairs, RunCoupled, Springs,
    StepFew, TangentFunction,
)
from ..abi.ode cimport Bad, Check, Correct, Increments, ODEPlan, ODERun, ODEStage, Quotients
from ..abi.plan cimport Job
from ..constraints.broad_phase cimport find_among_few, find_uniform
from ..forces.interactions cimport n_body_tangent, springs_tangent
from ..forces.pairs cimport add_pairs
from ..integrators.energy cimport energy_together
from ..integrators.newton_krylov cimport together
from ..loops.coupled cimport leap, run
from ..loops.few cimport run_few
from ..loops.planes cimport move_bodies
from ..ode.steps cimport check, correct, finite, first_bad, increments, quotients, set_step, solve, sweep
from ..simd.vec cimport f32vec, f64vec, real, vec
from ..constraints.joints cimport distance, pin

# Kernel of pins and distances.

cdef inline int tied(
    ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride,
    const real* before, const real* delta_v, real* x, real* v, real* s, const void* data,
    void* owner,
) noexcept nogil:
    if kind == PIN:
        return pin(dim, stride, before, x, v, s, <const Pin*> data)
    if kind == DISTANCE:
        return distance(h, dim, stride, before, x, v, <const Distance*> data, owner)
    return NO_BRANCH


cdef inline int near_pairs(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const real* x, const real* v, real* out, Pairs* data,
) noexcept nogil:
    if real is float:
        return add_pairs(dim, stride, x, out, data, <f32vec*> NULL)
    else:
        return add_pairs(dim, stride, x, out, data, <f64vec*> NULL)


cdef inline int change_springs(
    double t, int64_t n, int64_t dim, int64_t stride,
    const real* x, const real* v, const real* dx, const real* dv, real* out, const Springs* data,
) noexcept nogil:
    if real is float:
        return springs_tangent(dim, stride, x, v, dx, dv, out, data, <f32vec*> NULL)
    else:
        return springs_tangent(dim, stride, x, v, dx, dv, out, data, <f64vec*> NULL)


cdef inline int change_n_body(
    double t, int64_t n, int64_t dim, int64_t stride,
    const vec* x, const vec* v, const vec* dx, const vec* dv, vec* out, const NBody* data,
) noexcept nogil:
    return n_body_tangent(n, dim, stride, x, dx, out, data)


cdef inline void solve_flow(const ODEPlan* plan, Job* job, const real* like) noexcept nogil:
    if real is float:
        solve(plan, job, like, <f32vec*> NULL)
    else:
        solve(plan, job, like, <f64vec*> NULL)


cdef inline void sweep_stage(
    const ODEPlan* plan, int stage, Py_ssize_t count, const vec* k, const vec* y, vec* u, vec* s,
) noexcept nogil:
    cdef vec constants[4]
    if vec is f32vec:
        set_step(plan.h, <float*> NULL, constants)
    else:
        set_step(plan.h, <double*> NULL, constants)
    sweep(plan, stage, constants, count, k, y, u, s)


cdef inline Py_ssize_t bad(Py_ssize_t n, Py_ssize_t dim, const vec* y) noexcept nogil:
    if finite(n * dim, y):
        return -1
    if vec is f32vec:
        return first_bad(n, dim, <const float*> y, dim, 1)
    else:
        return first_bad(n, dim, <const double*> y, dim, 1)


cdef inline void step_some(
    const Coupling* coupling, Py_ssize_t steps, int64_t tick, const char* source, char* to, const vec* like,
) noexcept nogil:
    run_few(False, coupling, steps, tick, source, to, like)


cdef inline void fill_coupled(Kernels* kernels, const real* like, const vec* wide) noexcept nogil:
    """Fill the function table for the dtype of `like` and its vector type, that of `wide`."""
    kernels.coupled.run = <RunCoupled> run[vec]
    kernels.coupled.move = <MoveBodies> move_bodies[vec]
    kernels.coupled.leap = <RunCoupled> leap[vec]
    kernels.coupled.implicit = <ImplicitStep> together[vec]
    kernels.coupled.energy = <ImplicitStep> energy_together[vec]
    kernels.coupled.few = <StepFew> step_some[vec]
    kernels.coupled.find_among_few = <FindAmongFew> find_among_few[vec]
    kernels.coupled.find_uniform = <FindAlike> find_uniform[vec]
    kernels.coupled.tie = <ConstraintFunction> tied[real]
    kernels.coupled.pairs = <InteractionFunction> near_pairs[real]
    kernels.coupled.springs_tangent = <TangentFunction> change_springs[real]
    kernels.coupled.n_body_tangent = <TangentFunction> change_n_body[vec]
    kernels.ode.solve = <ODERun> solve_flow[real]
    kernels.ode.sweep = <ODEStage> sweep_stage[vec]
    kernels.ode.bad = <Bad> bad[vec]
    kernels.ode.check = <Check> check[real]
    kernels.ode.correct = <Correct> correct[real]
    kernels.ode.increments = <Increments> increments[real]
    kernels.ode.quotients = <Quotients> quotients[real]
