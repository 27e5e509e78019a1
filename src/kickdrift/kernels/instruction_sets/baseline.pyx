"""The kernels of an instruction set.

setup.py compiles the same C for the other instruction sets. Each module is linked with its parts baseline_coupled.pyx
and baseline_formulas.pyx, which are compiled separately but are no modules.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..simd.rounding cimport require_rounding
from ..simd.vec cimport f32vec, f64vec, real, vec, width
from ..abi.coupled cimport (
    NOTHING, SCHEME, Coupling, Digest, InteractionFunction, Kernels, Merge, Missing, NBody, Prepare, Springs, StepFew,
    take_over,
)
from ..instruction_sets import scalar
from ..abi.constraints cimport (
    BOX, CORNERS, Collisions, ConstraintFunction, ConstraintKind, Corners, FindAlike, Found, Press, Wall,
)
from ..abi.ode cimport ODEPlan, ODERun
from ..abi.plan cimport ENERGY_EULER, IMPLICIT_EULER, Accelerate, Along, Between, Finish, Job, Plan, Run, Solve
from ..checksum cimport digest
from ..constraints.broad_phase cimport find_uniform
from ..constraints.contact_lanes cimport press
from ..constraints.corners cimport corners
from ..constraints.walls cimport Bodies, box, plane
from ..forces.applied cimport merge
from ..forces.fields cimport has_branches
from ..forces.interactions cimport n_body, springs
from ..integrators.newton cimport implicit_step
from ..integrators.traits cimport unspecialised
from ..loops.few cimport QUADS, run_few
from ..loops.stages cimport along, between, finish
from ..loops.fused cimport accelerate_planes
from ..loops.tiles cimport in_a_row, in_passes, in_place, run_merged_rows, run_row, run_rows, run_tiles
from ..ode.tiles cimport run
from .dispatch cimport choose, set_up

# These kernels are fast only if constants propagate into their loops, so setup.py forces inlining.

cdef inline void run_passes(const Plan* plan, Job* job, const vec* like) noexcept nogil:
    """Run a job of a plan without a fused loop: by passes, in a Coupling without interactions."""
    cdef Coupling coupling
    memset(&coupling, 0, sizeof(Coupling))
    coupling.plan = plan
    plan.passes(&coupling, job, like)


cdef inline void prepare(Plan* plan, const Kernels* kernels, const vec* like) noexcept nogil:
    """Set the function pointers of a plan, and all other data that persist between calls."""
    set_up(plan, kernels, like)
    plan.accelerate = <Accelerate> accelerate_planes[vec]
    plan.finish = <Finish> finish[vec]
    plan.between = <Between> between[vec]
    plan.along = <Along> along[vec]
    plan.passes = <void (*)(const void*, Job*, const void*) noexcept nogil> kernels.coupled.run
    plan.solve = NULL
    if plan.scheme == IMPLICIT_EULER:
        plan.solve = kernels.implicit_euler
    elif plan.scheme == ENERGY_EULER:
        plan.solve = kernels.energy_euler
    plan.merges = plan.applied != NULL and in_place(plan)
    if in_passes(plan):
        plan.run = <Run> run_passes[vec]
    elif plan.merges:
        plan.run = <Run> run_merged_rows[vec]
    elif in_a_row(plan):
        plan.run = <Run> run_row[vec]
    elif in_place(plan):
        plan.run = <Run> run_rows[vec]
    else:
        plan.run = <Run> run_tiles[vec]
    if plan.slots != NULL:
        plan.each = <Run> run_rows[vec] if in_a_row(plan) and not plan.merges else plan.run
        plan.run = kernels.living


cdef inline int missing(Plan* plan, const vec* like) noexcept nogil:
    """Number of the first term without a kernel, or SCHEME, or NOTHING."""
    cdef bint there
    cdef int number
    if not (
        choose(plan, like) or unspecialised(plan.scheme) or plan.scheme == IMPLICIT_EULER
        or plan.scheme == ENERGY_EULER
    ):
        return SCHEME
    for number in range(plan.terms):
        if vec is f32vec:
            there = has_branches(plan.scheme, plan.dim, &plan.term[number], <float*> NULL, like)
        else:
            there = has_branches(plan.scheme, plan.dim, &plan.term[number], <double*> NULL, like)
        if not there:
            return number
    return NOTHING


cdef inline void run_flow(const ODEPlan* plan, Job* job, const real* like) noexcept nogil:
    if real is float:
        run(plan, job, like, <f32vec*> NULL)
    else:
        run(plan, job, like, <f64vec*> NULL)


cdef inline int add_springs(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const real* x, const real* v, real* out, const Springs* data,
) noexcept nogil:
    if real is float:
        return springs(dim, stride, x, v, out, data, <f32vec*> NULL)
    else:
        return springs(dim, stride, x, v, out, data, <f64vec*> NULL)


cdef inline int add_n_body(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const vec* x, const vec* v, vec* out, const NBody* data,
) noexcept nogil:
    return n_body(first, count, dim, stride, x, out, data)


cdef inline Found find_in_plane(
    int64_t dim, int64_t n, const Collisions* data, void* owner, const vec* like,
) noexcept nogil:
    return find_uniform(2, n, data, owner, like)


cdef inline void step_three(
    const Coupling* coupling, Py_ssize_t steps, int64_t tick, const char* source, char* to, const vec* like,
) noexcept nogil:
    run_few(True, coupling, steps, tick, source, to, like)


cdef inline int wall(
    ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride, const vec* before,
    const vec* delta_v, vec* x, vec* v, vec* s, const void* data, void* owner,
) noexcept nogil:
    cdef Bodies bodies
    bodies.last, bodies.stride, bodies.h = last, stride, h
    bodies.delta_v, bodies.x, bodies.v, bodies.s = delta_v, x, v, s
    if kind == BOX:
        box(<int> dim, 2, <const Wall*> data, &bodies, first, x)
    elif kind == CORNERS:
        corners(<int> dim, <const Corners*> data, &bodies, first, x)
    else:
        plane(<int> dim, <const Wall*> data, &bodies, first, x)
    return 0


cdef inline void fill(Kernels* kernels, const real* like, const vec* wide) noexcept:
    """Fill the function table for the dtype of `like` and its vector type, that of `wide`."""
    kernels.prepare = <Prepare> prepare[vec]
    kernels.missing = <Missing> missing[vec]
    kernels.digest = <Digest> digest[real]
    kernels.merge = <Merge> merge[vec]
    kernels.implicit_euler = <Solve> implicit_step[real]
    kernels.coupled.springs = <InteractionFunction> add_springs[real]
    kernels.coupled.n_body = <InteractionFunction> add_n_body[vec]
    kernels.coupled.three = <StepFew> step_three[vec] if QUADS else NULL
    kernels.coupled.wall = <ConstraintFunction> wall[vec]
    kernels.coupled.press = <Press> press[vec]
    kernels.coupled.find_in_plane = <FindAlike> find_in_plane[vec]
    kernels.coupled.lanes = width(wide)
    kernels.ode.run = <ODERun> run_flow[real]


cdef extern from *:
    """
    /* Loops over bodies are written as many small functions, whose constants become constant only by inlining. The
       compilers' own choice is half as fast. Kernels of coupled bodies do not need it. */
    #ifdef KICKDRIFT_INLINE  /* defined by setup.py in release builds */
      #undef CYTHON_INLINE
      #define CYTHON_INLINE KICKDRIFT_INLINE
    #endif
    /* Registers are assigned once for a whole function, not per loop: sums of forces take 0.94 of the time. */
    #if defined(__GNUC__) && !defined(__clang__)
      #pragma GCC optimize ("ira-region=one")
    #endif
    int kickdrift_fill_coupled(void *);
    int kickdrift_fill_formulas(void *);
    """
    bint kickdrift_fill_coupled(void* kernels) noexcept
    bint kickdrift_fill_formulas(void* kernels) noexcept

cdef Kernels[2] kernels  # for float and double
take_over(kernels, scalar.KERNELS)
require_rounding(__name__, kickdrift_fill_formulas(&kernels[0]) and kickdrift_fill_coupled(&kernels[0]))
fill(&kernels[0], <const float*> NULL, <const f32vec*> NULL)
fill(&kernels[1], <const double*> NULL, <const f64vec*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
