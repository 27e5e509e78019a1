# Energy-conserving Euler with interactions: `energy_together` of kickdrift/reference/integrators.py.
#
# All bodies are one tile, as in newton_krylov.pxd. Potentials of interactions are evaluated for all bodies at once, at
# both candidates for the new position: x + h v, and near turning points x + h (v + h a / 2). The rest is done body by
# body, as in newton.pxd.

from libc.string cimport memset

from ..abi.plan cimport DAMPING, MAX_DIM, OUT, P, Q, S, V, X, Y, Z, Job, Plan
from ..abi.coupled cimport KEEP, Coupling, InteractionCall, Workspace, time_of
from ..forces.fields cimport dot, field_vec
from ..loops.passes cimport finish, interact
from ..loops.stages cimport size
from ..simd.vec cimport f32vec, real, spread, vec, width
from .newton cimport difference, keep_energy


cdef inline int add_work(
    const Coupling* coupling, Job* job, const Workspace* workspace, double t, vec* work, vec* like,
) noexcept nogil:
    """Store the change of each body's potential by interactions, per unit of mass, from `now` to `next` in `work`."""
    cdef vec* here = <vec*> (workspace.start + (Q - P) * size(workspace, like))
    cdef vec* there = <vec*> (workspace.start + (Y - P) * size(workspace, like))
    cdef const InteractionCall* term
    cdef Py_ssize_t n
    cdef int number
    for number in range(coupling.interactions):
        term = &coupling.interaction[number]
        memset(here, 0, size(workspace, like))
        memset(there, 0, size(workspace, like))
        job.code = term.potential(
            t, 0, workspace.count, coupling.plan.dim, workspace.plane, workspace.now + X * size(workspace, like),
            workspace.now + V * size(workspace, like), here, term.potential_data,
        )
        if job.code == 0:
            job.code = term.potential(
                t, 0, workspace.count, coupling.plan.dim, workspace.plane, workspace.next + X * size(workspace, like),
                workspace.now + V * size(workspace, like), there, term.potential_data,
            )
        if job.code != 0:
            job.failed_part = number
            return job.code
        for n in range((workspace.count + width(like) - 1) // width(like)):
            here[n] = field_vec(&term.factor, 0, n * width(like), like) * (there[n] - here[n])
            work[n] = here[n] if number == 0 else work[n] + here[n]
    return 0


cdef inline int energy_step(
    const Coupling* coupling, Job* job, const Workspace* workspace, double t, vec* like, real zero,
) noexcept nogil:
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t plane = workspace.plane
    cdef Py_ssize_t vectors = (workspace.count + width(like) - 1) // width(like)
    cdef const vec* x = <const vec*> (workspace.now + X * size(workspace, like))
    cdef const vec* v = <const vec*> (workspace.now + V * size(workspace, like))
    cdef const vec* a = <const vec*> workspace.start
    cdef vec* y = <vec*> (workspace.next + X * size(workspace, like))
    cdef vec* u = <vec*> (workspace.next + V * size(workspace, like))
    cdef vec* near = <vec*> (workspace.start + (Z - P) * size(workspace, like))
    cdef vec* far = <vec*> (workspace.next + S * size(workspace, like))
    cdef real h = <real> plan.h
    cdef real two = 2
    cdef real half = h / two
    cdef vec step = spread(&h, 0, like)
    cdef vec middle = spread(&half, 0, like)
    cdef real old[MAX_DIM]
    cdef real place[MAX_DIM]
    cdef real speed[MAX_DIM]
    cdef real b[MAX_DIM]
    cdef real speed2, work
    cdef Py_ssize_t i, n
    cdef int dim = plan.dim
    cdef int j
    if interact(coupling, job, workspace, workspace.now, t, job.tick, like, OUT, False) != 0:
        return job.code
    finish(KEEP, 0, coupling, workspace, workspace.now, like)
    for j in range(dim):
        for n in range(vectors):
            i = j * plane // width(like) + n
            y[i] = x[i] + step * v[i]
    if add_work(coupling, job, workspace, t, near, like) != 0:
        return job.code
    for j in range(dim):
        for n in range(vectors):
            i = j * plane // width(like) + n
            y[i] = x[i] + step * (v[i] + middle * a[i])
    if add_work(coupling, job, workspace, t, far, like) != 0:
        return job.code
    for i in range(workspace.count):
        for j in range(dim):
            old[j] = (<const real*> x)[j * plane + i]
            speed[j] = (<const real*> v)[j * plane + i]
            b[j] = (<const real*> a)[j * plane + i]
            place[j] = old[j] + h * speed[j]
        work = (<const real*> near)[i]
        speed2 = dot(dim, &speed[0], &speed[0])
        if speed2 - two * (difference(plan, i, &old[0], &place[0]) + work) <= 0:
            work = (<const real*> far)[i]
            for j in range(dim):
                place[j] = old[j] + h * (speed[j] + half * b[j])
        speed2 = speed2 - two * (difference(plan, i, &old[0], &place[0]) + work)
        keep_energy(dim, h, speed2, &old[0], &b[0], &place[0], &speed[0])
        for j in range(dim):
            (<real*> y)[j * plane + i] = place[j]
            (<real*> u)[j * plane + i] = speed[j]
    return 0


cdef inline int energy_together(
    const Coupling* coupling, Job* job, Py_ssize_t step, const Workspace* workspace, vec* like,
) noexcept nogil:
    """Make one step of all bodies, from `now` to `next`; return nonzero if an interaction fails."""
    cdef double t = time_of(coupling, job.tick + step)
    cdef float single = 0
    cdef double whole = 0
    if vec is f32vec:
        energy_step(coupling, job, workspace, t, like, single)
    else:
        energy_step(coupling, job, workspace, t, like, whole)
    if job.code == 0 and coupling.plan.damped and coupling.constraints == 0:
        coupling.plan.between(DAMPING, coupling.plan.scheme, coupling.plan, workspace, workspace.next, NULL, NULL)
    return job.code
