# Structure-of-arrays tiles. A plane is one component of TILE bodies; a register is a vector quantity of MAX_DIM planes.

from libc.stdint cimport uintptr_t
from libc.string cimport memset

from ..abi.plan cimport MAX_DIM, S, TILE, V, X, Array, Job, Plan
from ..simd.copies cimport move_f32, move_f64, move_pairs_f32, move_pairs_f64, move_triples_f32, move_triples_f64
from ..simd.masks cimport all_zero
from ..simd.vec cimport f32vec, prefetch, vec, width


cdef inline vec* aligned(const char* buffer, const vec* like) noexcept nogil:
    """Round an address up to a cache line, so that no vector straddles two lines."""
    return <vec*> ((<uintptr_t> buffer + 63) // 64 * 64)


cdef inline void move_planes(
    bint out, const Array* array, int dim, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, vec* planes,
) noexcept nogil:
    """Copy `count` bodies from `first` on into planes of `plane` numbers each, or back out of the planes if `out`."""
    cdef Py_ssize_t size = sizeof(vec) // width(planes)
    cdef char* place = array.data + first * array.body
    cdef int j
    if (dim == 3 or dim == 2) and array.component == size and array.body == dim * size:
        if dim == 2:
            if vec is f32vec:
                move_pairs_f32(out, <float*> planes, plane, <float*> place, count)
            else:
                move_pairs_f64(out, <double*> planes, plane, <double*> place, count)
        elif vec is f32vec:
            move_triples_f32(out, <float*> planes, plane, <float*> place, count)
        else:
            move_triples_f64(out, <double*> planes, plane, <double*> place, count)
        return
    for j in range(dim):
        if vec is f32vec:
            move_f32(out, <float*> planes + j * plane, place + j * array.component, array.body, count)
        else:
            move_f64(out, <double*> planes + j * plane, place + j * array.component, array.body, count)


cdef inline void move_tile(
    bint out, const Array* array, int dim, Py_ssize_t first, Py_ssize_t count, vec* planes,
) noexcept nogil:
    """Copy a tile into planes, zero-padded to a whole vector, or back out of the planes if `out`."""
    cdef Py_ssize_t size = sizeof(vec) // width(planes)
    cdef Py_ssize_t rest = width(planes) - 1 - (count - 1) % width(planes)
    cdef int j
    move_planes(out, array, dim, first, count, TILE, planes)
    for j in range(0 if out else dim):
        memset(<char*> planes + (j * TILE + count) * size, 0, rest * size)


cdef inline void move_bodies(
    bint out, const Plan* plan, Py_ssize_t first, Py_ssize_t count, Py_ssize_t plane, char* state, const vec* like,
) noexcept nogil:
    """Copy `count` bodies from `first` on from the caller's arrays to a state buffer of the workspace, or back if
    `out`. state: address of the first body in the buffer."""
    cdef Py_ssize_t row = plan.dim * plane * <Py_ssize_t> sizeof(vec) // width(like)
    move_planes(out, &plan.x, plan.dim, first, count, plane, <vec*> (state + X * row))
    move_planes(out, &plan.v, plan.dim, first, count, plane, <vec*> (state + V * row))
    if plan.s.data != NULL:
        move_planes(out, &plan.s, plan.dim, first, count, plane, <vec*> (state + S * row))


cdef inline void prefetch_array(const Array* array, Py_ssize_t dim, Py_ssize_t item, Py_ssize_t first) noexcept nogil:
    """Prefetch a tile of an array if all its numbers, or the numbers of each component, are contiguous."""
    cdef bint rows = array.component == item and array.body == dim * item
    cdef Py_ssize_t size = TILE * item * (dim if rows else 1)
    cdef const char* place = array.data + first * array.body
    cdef Py_ssize_t j, i
    if rows or array.body == item:
        for j in range(1 if rows else dim):
            i = 0
            while i < size:
                prefetch(place + j * array.component + i)
                i += 64


cdef inline void prefetch_state(const Plan* plan, Py_ssize_t first, Py_ssize_t last, const vec* like) noexcept nogil:
    """Prefetch the next tile, if any."""
    if first + TILE < last:
        prefetch_array(&plan.x, plan.dim, sizeof(vec) // width(like), first + TILE)
        prefetch_array(&plan.v, plan.dim, sizeof(vec) // width(like), first + TILE)


cdef inline vec sum_planes(int dim, Py_ssize_t count, const vec* r) noexcept nogil:
    """Sum all positions and velocities of a tile per lane, to check that they are finite."""
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    return sum_state(dim, count, TILE // width(r), r + X * row, r + V * row)


cdef inline vec sum_state(int dim, Py_ssize_t count, Py_ssize_t plane, const vec* x, const vec* v) noexcept nogil:
    """Sum all positions and velocities per lane; plane: vectors from one component to the next."""
    cdef Py_ssize_t vectors = (count + width(x) - 1) // width(x)
    cdef Py_ssize_t i, n
    cdef int j
    cdef vec q, p
    memset(&q, 0, sizeof(vec))
    p = q
    for j in range(dim):
        for n in range(0, vectors - 1, 2):  # two independent sums: additions overlap
            i = j * plane + n
            q = q + (x[i] + v[i])
            p = p + (x[i + 1] + v[i + 1])
        if vectors % 2:
            i = j * plane + vectors - 1
            q = q + (x[i] + v[i])
    return q + p


cdef inline Py_ssize_t first_bad(const Plan* plan, Py_ssize_t first, Py_ssize_t last, vec* like) noexcept nogil:
    """Return the first active body whose state is not finite, or -1."""
    cdef Py_ssize_t i, place
    cdef int j
    cdef double x, v
    for i in range(first, last):
        if plan.slots != NULL and not plan.slots.alive[i]:
            continue
        for j in range(plan.dim):
            place = i * plan.x.body + j * plan.x.component
            x = (<float*> (plan.x.data + place))[0] if vec is f32vec else (<double*> (plan.x.data + place))[0]
            place = i * plan.v.body + j * plan.v.component
            v = (<float*> (plan.v.data + place))[0] if vec is f32vec else (<double*> (plan.v.data + place))[0]
            if x - x != 0 or v - v != 0:
                return i
    return -1


cdef inline void move_state(bint out, const Plan* plan, Py_ssize_t first, Py_ssize_t count, vec* r) noexcept nogil:
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    move_tile(out, &plan.x, plan.dim, first, count, r + X * row)
    move_tile(out, &plan.v, plan.dim, first, count, r + V * row)
    if plan.s.data != NULL:
        move_tile(out, &plan.s, plan.dim, first, count, r + S * row)


cdef inline void keep_tile(const Plan* plan, const Job* job, Py_ssize_t first, Py_ssize_t count, vec* r) noexcept nogil:
    """Copy the state before the steps from the planes to the caller's arrays in `job.before`, if any."""
    cdef Py_ssize_t row = MAX_DIM * TILE // width(r)
    if job.before != NULL:
        move_tile(True, &job.before[0], plan.dim, first, count, r + X * row)
        move_tile(True, &job.before[1], plan.dim, first, count, r + V * row)


cdef inline bint is_finite(vec check) noexcept nogil:
    """True if all lanes are finite: x - x is 0 then, and NaN otherwise."""
    return all_zero(check - check)


cdef inline void end(const Plan* plan, Job* job, vec check) noexcept nogil:
    # A finite sum proves that all numbers are finite. Otherwise search for the bad body. There may be none, because
    # the sum of finite numbers may overflow.
    if not is_finite(check):
        job.bad_body = first_bad(plan, job.first, job.last, &check)
