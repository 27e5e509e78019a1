# Steps in which Python is called: each stage sweeps over all bodies before the next begins.
#
# The registers of schemes.pxd are planes of all bodies here: register after register, component after
# component, each of `padded` numbers, a whole number of lanes.

from .lanes cimport lane, width
from .plan cimport MAX_DIM, Plan
from .schemes cimport damp, opening, stage, start
from .terms cimport accelerate, field_lane
from .tiles cimport P, Q, S, V, X, Y, Z, aligned

cdef enum:              # beside the registers of tiles.pxd
    A = 7               # accelerations
    OUT = 8             # what functions write to
    ROOM = 9

cdef enum:              # what a sweep does beside stages 0, 1, ...
    OPENING = -1
    START = -2
    DAMP = -3


cdef inline void sweep(
    const Plan* plan, int scheme, int number, char* room, Py_ssize_t padded, lane* like,
) noexcept nogil:
    """One stage of a step, for all numbers of the state."""
    cdef lane* r = <lane*> room
    cdef const lane* k = aligned(plan.prepared, like)
    cdef Py_ssize_t plane = padded // width(like)
    cdef Py_ssize_t row = plan.dim * plane
    cdef Py_ssize_t i, n
    cdef int j
    for j in range(plan.dim):
        for n in range(plane):
            i = j * plane + n
            if number >= 0:
                stage(
                    scheme, plan.velocity_dependent, number, plan.iterations, k, k, k, k, k, r[A * row + i],
                    &r[X * row + i], &r[V * row + i], &r[S * row + i],
                    &r[P * row + i], &r[Q * row + i], &r[Y * row + i], &r[Z * row + i],
                )
            elif number == OPENING:
                opening(
                    scheme, k, &r[X * row + i], &r[V * row + i], &r[S * row + i], &r[P * row + i], &r[Q * row + i]
                )
            elif number == START:
                start(
                    scheme, plan.taylor_start, k, r[A * row + i],
                    &r[X * row + i], &r[V * row + i], &r[S * row + i],
                )
            else:
                damp(
                    scheme, field_lane(&plan.decay, j, n * width(like), like),
                    &r[X * row + i], &r[V * row + i], &r[S * row + i],
                )


cdef inline void sweep_accelerations(const Plan* plan, char* room, Py_ssize_t padded, lane* like) noexcept nogil:
    """The compiled part of the acceleration of all bodies."""
    cdef lane* r = <lane*> room
    cdef Py_ssize_t plane = padded // width(like)
    cdef Py_ssize_t row = plan.dim * plane
    cdef Py_ssize_t n
    cdef int j
    cdef lane x[MAX_DIM]
    cdef lane v[MAX_DIM]
    cdef lane a[MAX_DIM]
    for n in range(plane):
        for j in range(plan.dim):
            x[j] = r[X * row + j * plane + n]
            v[j] = r[V * row + j * plane + n]
        accelerate(plan, plan.dim, n * width(like), x, v, a)
        for j in range(plan.dim):
            r[A * row + j * plane + n] = a[j]


cdef inline void add_callback(
    const Plan* plan, bint divide, const char* out, const char* factors, char* room, Py_ssize_t padded, lane* like,
) noexcept nogil:
    """a += out / m, or out times 0 for bodies that nothing moves; factors are the m, or the 1 and 0."""
    cdef lane* a = <lane*> room
    cdef const lane* o = <const lane*> out
    cdef const lane* f = <const lane*> factors
    cdef Py_ssize_t plane = padded // width(like)
    cdef Py_ssize_t n
    cdef int j
    a += A * plan.dim * plane
    for j in range(plan.dim):
        for n in range(plane):
            if divide:
                a[j * plane + n] = a[j * plane + n] + o[j * plane + n] / f[n]
            else:
                a[j * plane + n] = a[j * plane + n] + f[n] * o[j * plane + n]
