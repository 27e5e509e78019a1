# Bodies that push each other: the formulas of kickdrift/reference/pairs.py.
#
# State lies in planes, as in sweptplan.pxd: component j of body i is number j * stride + i.

from libc.stdint cimport int64_t

from .lanes cimport lane, lane_root, real, spread, where_positive, width
from .plan cimport MAX_DIM

cdef enum:
    ABREAST = 2         # lanes of bodies side by side: while one waits for its root, the other goes on

ctypedef struct NBody:
    int64_t n           # bodies, all of which attract
    const void* mu      # G m of each
    const void* e2

# Numbers of springs are padded to whole lanes of any kind; what pads them joins body 0 to itself.
ctypedef struct Springs:
    int64_t count
    bint damped
    const int64_t* first
    const int64_t* second
    const void* k
    const void* rest
    const void* c


cdef inline void attract(
    int dim, int64_t first, int64_t count, int64_t stride, const lane* x, lane* out, const NBody* data,
) noexcept nogil:
    """Sum over all bodies, from the first on, what they do to ABREAST lanes of bodies at a time.

    Bodies attract themselves too, by zero. What is read and written behind the last body does not matter.
    """
    cdef Py_ssize_t w = width(x)
    cdef const char* planes = <const char*> x
    cdef lane position[ABREAST * MAX_DIM]
    cdef lane total[ABREAST * MAX_DIM]
    cdef lane d[MAX_DIM]
    cdef lane source[MAX_DIM]
    cdef lane zero = x[0] - x[0]
    cdef lane mu, e2, q, s
    cdef Py_ssize_t plane = stride // w
    cdef Py_ssize_t i, j
    cdef int b, c
    zero = where_positive(zero, zero)
    e2 = spread(data.e2, 0, x)
    i = first // w
    while i * w < first + count:
        for b in range(ABREAST):
            for c in range(dim):
                position[b * MAX_DIM + c] = x[c * plane + i + b]
                total[b * MAX_DIM + c] = zero
        for j in range(data.n):
            mu = spread(data.mu, j, x)
            for c in range(dim):
                source[c] = spread(planes, c * stride + j, x)
            for b in range(ABREAST):
                for c in range(dim):
                    d[c] = source[c] - position[b * MAX_DIM + c]
                q = d[0] * d[0]
                for c in range(1, dim):
                    q = q + d[c] * d[c]
                q = q + e2
                q = q * lane_root(q)
                s = where_positive(q, mu / q)
                for c in range(dim):
                    total[b * MAX_DIM + c] = total[b * MAX_DIM + c] + s * d[c]
        for b in range(ABREAST):
            for c in range(dim):
                out[c * plane + i + b] = total[b * MAX_DIM + c]
        i += ABREAST


cdef inline int n_body(
    int64_t first, int64_t count, int64_t dim, int64_t stride, const lane* x, lane* out, const NBody* data,
) noexcept nogil:
    """a = sum of mu_j d / (|d|² + e²)^(3/2), d = x_j - x, for a range of bodies that begins with a tile."""
    if dim == 1:
        attract(1, first, count, stride, x, out, data)
    elif dim == 2:
        attract(2, first, count, stride, x, out, data)
    else:
        attract(3, first, count, stride, x, out, data)
    return 0


cdef inline void pull(
    int dim, bint damped, int64_t stride, const real* x, const real* v, real* out, const Springs* data, lane* like,
) noexcept nogil:
    """A lane of springs at a time; then spring by spring in their order, as bodies may have several."""
    cdef Py_ssize_t w = width(like)
    cdef lane d[MAX_DIM]
    cdef lane u[MAX_DIM]
    cdef lane q, f, g
    cdef real* number
    cdef Py_ssize_t block, s, n
    cdef int64_t i, j
    cdef int c
    for block in range((data.count + w - 1) // w):
        s = block * w
        for c in range(dim):
            gather(w, data, s, x + c * stride, <real*> &d[c])
            if damped:
                gather(w, data, s, v + c * stride, <real*> &u[c])
        q = d[0] * d[0]
        for c in range(1, dim):
            q = q + d[c] * d[c]
        q = lane_root(q)
        f = (<const lane*> (<const real*> data.k + s))[0] * (q - (<const lane*> (<const real*> data.rest + s))[0])
        if damped:
            g = u[0] * d[0]
            for c in range(1, dim):
                g = g + u[c] * d[c]
            f = f + (<const lane*> (<const real*> data.c + s))[0] * where_positive(q, g / q)
        f = where_positive(q, f / q)
        for c in range(dim):
            d[c] = f * d[c]
        for n in range(min(w, data.count - s)):
            i = data.first[s + n]
            j = data.second[s + n]
            for c in range(dim):
                number = <real*> &d[c] + n
                out[c * stride + i] = out[c * stride + i] + number[0]
                out[c * stride + j] = out[c * stride + j] - number[0]


cdef inline void gather(Py_ssize_t w, const Springs* data, Py_ssize_t s, const real* plane, real* to) noexcept nogil:
    """From the first to the second body of w springs."""
    cdef Py_ssize_t n
    for n in range(w):
        to[n] = plane[data.second[s + n]] - plane[data.first[s + n]]


cdef inline int springs(
    int64_t dim, int64_t stride, const real* x, const real* v, real* out, const Springs* data, lane* like,
) noexcept nogil:
    """F = (k (L - rest) + c L') d / L on the first body of each pair, d = x_j - x_i, and -F on the second."""
    if dim == 1:
        pull(1, data.damped, stride, x, v, out, data, like)
    elif dim == 2:
        pull(2, data.damped, stride, x, v, out, data, like)
    else:
        pull(3, data.damped, stride, x, v, out, data, like)
    return 0
