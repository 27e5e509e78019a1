# Forces between bodies: the formulas of kickdrift/reference/interactions.py.
#
# States are structure of arrays, as in abi/coupled.pxd: component j of body i is number j * stride + i.

from libc.stdint cimport int64_t

from ..abi.coupled cimport BOTH_DIRECTIONS, NBody, Springs
from ..loops.slots cimport any_of
from ..simd.rows cimport LANES, transposed
from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport f64vec, forget, product, vec, vec_root, real, spread, width
from ..space cimport is_periodic, turn_to_images
from ..abi.plan cimport MAX_DIM

cdef enum:
    UNROLLED = 2         # vectors of bodies per iteration: work on one fills the latency of the other's square root


cdef inline void attract(
    int unrolled, int dim, int64_t first, int64_t count, int64_t stride, const vec* x, vec* out, const NBody* data,
) noexcept nogil:
    """Sum the attraction by all bodies, in order, for `unrolled` vectors of bodies at a time.

    The self-attraction of a body is zero. Vectors may read and write past the last body.
    """
    cdef Py_ssize_t w = width(x)
    cdef const char* planes = <const char*> x
    cdef vec position[UNROLLED * MAX_DIM]
    cdef vec total[UNROLLED * MAX_DIM]
    cdef vec d[MAX_DIM]
    cdef vec source[MAX_DIM]
    cdef vec zero = x[0] - x[0]
    cdef vec mu, e2, q, s
    cdef Py_ssize_t plane = stride // w
    cdef Py_ssize_t i, j
    cdef int b, c
    zero = select_or_zero(positive(zero), zero)
    e2 = spread(data.e2, 0, x)
    i = first // w
    while i * w < first + count:
        if data.alive != NULL and not any_of(data.alive + i * w, min(unrolled * w, first + count - i * w)):
            i += unrolled
            continue
        for b in range(unrolled):
            for c in range(dim):
                position[b * MAX_DIM + c] = x[c * plane + i + b]
                total[b * MAX_DIM + c] = zero
        for j in range(data.n):
            if data.alive != NULL and not data.alive[j]:
                continue
            mu = spread(data.mu, j, x)
            for c in range(dim):
                source[c] = spread(planes, c * stride + j, x)
            for b in range(unrolled):
                for c in range(dim):
                    d[c] = source[c] - position[b * MAX_DIM + c]
                q = product(dim, d, d) + e2
                q = q * vec_root(q)
                s = select_or_zero(positive(q), mu / q)
                for c in range(dim):
                    total[b * MAX_DIM + c] = total[b * MAX_DIM + c] + s * d[c]
        for b in range(unrolled):
            for c in range(dim):
                out[c * plane + i + b] = total[b * MAX_DIM + c]
        i += unrolled


cdef inline f64vec cube(
    int dim, const f64vec* position, const char* planes, int64_t stride, Py_ssize_t j, f64vec e2,
) noexcept nogil:
    """(|d|² + e²)^(3/2) of a vector of bodies and body j."""
    cdef f64vec d[MAX_DIM]
    cdef f64vec q
    cdef int c
    for c in range(dim):
        d[c] = spread(planes, c * stride + j, position) - position[c]
    q = product(dim, d, d) + e2
    return q * vec_root(q)


cdef inline void add_attraction(
    int dim, const f64vec* position, const char* planes, int64_t stride, Py_ssize_t j, const void* mu, f64vec q,
    f64vec* total,
) noexcept nogil:
    """Add the attraction by body j to a vector of bodies; q: result of `cube` for these bodies."""
    cdef f64vec s = select_or_zero(positive(q), spread(mu, j, position) / q)
    cdef int c
    for c in range(dim):
        total[c] = total[c] + s * (spread(planes, c * stride + j, position) - position[c])


cdef inline void attract_both(int dim, int64_t stride, const f64vec* x, f64vec* out, const NBody* data) noexcept nogil:
    """Compute the sums of `attract` for all bodies, bitwise, with one root per pair.

    d and -d have equal squares, so that both bodies of a pair share the cube of their distance. The matrix of cubes of
    two vectors of bodies serves both directions, once transposed. Quotients differ, as masses do.

    Vectors are paired in the order (0, 0), (0, 1) ... (1, 1), (1, 2) ..., so that each sum runs from the first body to
    the last. Partial sums of later vectors wait in `out`, initially zero. A vector with itself needs one direction.

    Software pipelining: the roots of the next pair of vectors are computed between the divisions of this one.
    """
    cdef Py_ssize_t w = width(x)
    cdef const char* planes = <const char*> x
    cdef f64vec memory[4 * LANES]
    cdef f64vec* cubes = memory
    cdef f64vec* ahead = memory + LANES
    cdef const f64vec* turned = memory
    cdef f64vec position[MAX_DIM]
    cdef f64vec total[MAX_DIM]
    cdef f64vec place[MAX_DIM]
    cdef f64vec others[MAX_DIM]
    cdef f64vec coming[MAX_DIM]
    cdef f64vec e2 = spread(data.e2, 0, x)
    cdef Py_ssize_t plane = stride // w
    cdef Py_ssize_t last = (data.n - 1) // w
    cdef Py_ssize_t sources = 0     # number of bodies in vector j; 0: no cubes are computed yet
    cdef Py_ssize_t i = 0
    cdef Py_ssize_t j = 0
    cdef Py_ssize_t next_i = 0
    cdef Py_ssize_t next_j = 0
    cdef Py_ssize_t k, b
    cdef int c
    while i <= last:
        for c in range(dim):
            if i == j:
                position[c] = x[c * plane + i]
                total[c] = out[c * plane + i]
            place[c] = x[c * plane + j]
            others[c] = out[c * plane + j]
            coming[c] = x[c * plane + min(next_i, last)]
        if i != j:
            turned = transposed(cubes, memory + 2 * LANES)
        for k in range(0, w, 2):
            forget()  # otherwise compilers separate the roots and the quotients into two loops
            for b in range(2):
                ahead[k + b] = cube(dim, coming, planes, stride, min(next_j, last) * w + k + b, e2)
                if k + b < sources:
                    add_attraction(dim, position, planes, stride, j * w + k + b, data.mu, cubes[k + b], total)
                if i != j:
                    add_attraction(dim, place, planes, stride, i * w + k + b, data.mu, turned[k + b], others)
        for c in range(dim):
            if i != j:
                out[c * plane + j] = others[c]
            if j == last:
                out[c * plane + i] = total[c]
        i, j = next_i, next_j
        next_i = i if j < last else i + 1
        next_j = j + 1 if j < last else i + 1
        sources = min(w, data.n - j * w)
        cubes, ahead = ahead, cubes


cdef inline int n_body(
    int64_t first, int64_t count, int64_t dim, int64_t stride, const vec* x, vec* out, const NBody* data,
) noexcept nogil:
    """a = sum of mu_j d / (|d|² + e²)^(3/2), d = x_j - x, for a range that begins at a whole vector."""
    cdef bint few = count <= width(x)   # a second vector would be empty
    if vec is f64vec:  # slower for floats: transposing takes longer, roots take less
        if count == data.n and count >= BOTH_DIRECTIONS and data.alive == NULL:
            if dim == 2 and width(x) > 2:
                attract_both(2, stride, x, out, data)
                return 0
            elif dim == 3 and width(x) > 4:  # AVX2 has too few registers
                attract_both(3, stride, x, out, data)
                return 0
    if dim == 1:
        attract(UNROLLED, 1, first, count, stride, x, out, data)
    elif dim == 2 and few:
        attract(1, 2, first, count, stride, x, out, data)
    elif dim == 2:
        attract(UNROLLED, 2, first, count, stride, x, out, data)
    elif few:
        attract(1, 3, first, count, stride, x, out, data)
    else:
        attract(UNROLLED, 3, first, count, stride, x, out, data)
    return 0


cdef inline void pull(
    int dim, bint damped, int64_t stride, const real* x, const real* v, real* out, const Springs* data, vec* like,
) noexcept nogil:
    """Compute whole vectors of springs, then add their forces one by one in order, because a body may have several."""
    cdef Py_ssize_t w = width(like)
    cdef vec d[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec q, f, g
    cdef Py_ssize_t block, s
    cdef int c
    for block in range((data.count + w - 1) // w):
        s = block * w
        for c in range(dim):
            gather(w, data, s, x + c * stride, <real*> &d[c])
            if damped:
                gather(w, data, s, v + c * stride, <real*> &u[c])
        if is_periodic(&data.torus):
            turn_to_images(dim, d, &data.torus)
        q = vec_root(product(dim, d, d))
        f = (<const vec*> (<const real*> data.k + s))[0] * (q - (<const vec*> (<const real*> data.rest + s))[0])
        if damped:
            g = product(dim, u, d)
            f = f + (<const vec*> (<const real*> data.c + s))[0] * select_or_zero(positive(q), g / q)
        f = select_or_zero(positive(q), f / q)
        for c in range(dim):
            d[c] = f * d[c]
        scatter(dim, min(w, data.count - s), data, s, stride, d, out)


cdef inline void gather(Py_ssize_t w, const Springs* data, Py_ssize_t s, const real* plane, real* to) noexcept nogil:
    """Compute one component of second minus first body, for w springs."""
    cdef Py_ssize_t n
    for n in range(w):
        to[n] = plane[data.second[s + n]] - plane[data.first[s + n]]


cdef inline int springs(
    int64_t dim, int64_t stride, const real* x, const real* v, real* out, const Springs* data, vec* like,
) noexcept nogil:
    """Add F = (k (L - rest) + c L') d / L to the first body of each pair, d = x_j - x_i, and -F to the second."""
    if dim == 1:
        pull(1, data.damped, stride, x, v, out, data, like)
    elif dim == 2:
        pull(2, data.damped, stride, x, v, out, data, like)
    else:
        pull(3, data.damped, stride, x, v, out, data, like)
    return 0


# First-order changes of both interactions, for implicit steps.

cdef inline void pull_tangent(
    int dim, bint damped, int64_t stride, const real* x, const real* v, const real* dx, const real* dv, real* out,
    const Springs* data, vec* like,
) noexcept nogil:
    cdef Py_ssize_t w = width(like)
    cdef vec d[MAX_DIM]
    cdef vec dd[MAX_DIM]
    cdef vec u[MAX_DIM]
    cdef vec du[MAX_DIM]
    cdef vec k, length, along, tension, rise, f, g
    cdef Py_ssize_t block, s
    cdef int c
    for block in range((data.count + w - 1) // w):
        s = block * w
        k = (<const vec*> (<const real*> data.k + s))[0]
        for c in range(dim):
            gather(w, data, s, x + c * stride, <real*> &d[c])
            gather(w, data, s, dx + c * stride, <real*> &dd[c])
            if damped:
                gather(w, data, s, v + c * stride, <real*> &u[c])
                gather(w, data, s, dv + c * stride, <real*> &du[c])
        if is_periodic(&data.torus):
            turn_to_images(dim, d, &data.torus)
        length = vec_root(product(dim, d, d))
        for c in range(dim):
            d[c] = select_or_zero(positive(length), d[c] / length)
        along = product(dim, d, dd)
        for c in range(dim):
            dd[c] = select_or_zero(positive(length), (dd[c] - along * d[c]) / length)
        tension = k * (length - (<const vec*> (<const real*> data.rest + s))[0])
        rise = k * along
        if damped:
            k = (<const vec*> (<const real*> data.c + s))[0]
            f = product(dim, u, d)
            tension = tension + k * f
            f = product(dim, du, d)
            g = product(dim, u, dd)
            rise = rise + k * (f + g)
        for c in range(dim):
            d[c] = rise * d[c] + tension * dd[c]
        scatter(dim, min(w, data.count - s), data, s, stride, d, out)


cdef inline int springs_tangent(
    int64_t dim, int64_t stride, const real* x, const real* v, const real* dx, const real* dv, real* out,
    const Springs* data, vec* like,
) noexcept nogil:
    """Change of the force F n, with the tension F and n = d / L: dF n + F dn, where dn = (dd - n (n·dd)) / L."""
    if dim == 1:
        pull_tangent(1, data.damped, stride, x, v, dx, dv, out, data, like)
    elif dim == 2:
        pull_tangent(2, data.damped, stride, x, v, dx, dv, out, data, like)
    else:
        pull_tangent(3, data.damped, stride, x, v, dx, dv, out, data, like)
    return 0


cdef inline void attract_tangent(
    int dim, int64_t count, int64_t stride, const vec* x, const vec* dx, vec* out, const NBody* data,
) noexcept nogil:
    cdef Py_ssize_t w = width(x)
    cdef Py_ssize_t plane = stride // w
    cdef vec position[MAX_DIM]
    cdef vec change[MAX_DIM]
    cdef vec total[MAX_DIM]
    cdef vec d[MAX_DIM]
    cdef vec dd[MAX_DIM]
    cdef vec mu, e2, q, cube, s, u
    cdef Py_ssize_t i, j
    cdef int c
    e2 = spread(data.e2, 0, x)
    for i in range((count + w - 1) // w):
        for c in range(dim):
            position[c] = x[c * plane + i]
            change[c] = dx[c * plane + i]
            total[c] = out[c * plane + i]
        for j in range(data.n):
            if data.alive != NULL and not data.alive[j]:
                continue
            mu = spread(data.mu, j, x)
            for c in range(dim):
                d[c] = spread(<const char*> x, c * stride + j, x) - position[c]
                dd[c] = spread(<const char*> dx, c * stride + j, x) - change[c]
            q = product(dim, d, d) + e2
            cube = q * vec_root(q)
            s = select_or_zero(positive(cube), mu / cube)
            u = (s + s + s) * product(dim, d, dd)
            u = select_or_zero(positive(cube), u / q)
            for c in range(dim):
                total[c] = total[c] + (s * dd[c] - u * d[c])
        for c in range(dim):
            out[c * plane + i] = total[c]


cdef inline int n_body_tangent(
    int64_t count, int64_t dim, int64_t stride, const vec* x, const vec* dx, vec* out, const NBody* data,
) noexcept nogil:
    """da_i = sum over j of mu_j (dd / r³ - 3 d (d·dd) / r⁵), r² = |d|² + e²."""
    if dim == 1:
        attract_tangent(1, count, stride, x, dx, out, data)
    elif dim == 2:
        attract_tangent(2, count, stride, x, dx, out, data)
    else:
        attract_tangent(3, count, stride, x, dx, out, data)
    return 0


cdef inline void scatter(
    int dim, Py_ssize_t count, const Springs* data, Py_ssize_t s, int64_t stride, const vec* force, real* out,
) noexcept nogil:
    """Add forces to the first bodies of springs, subtract them from the second, spring by spring."""
    cdef real number
    cdef int64_t i, j
    cdef Py_ssize_t n
    cdef int c
    for n in range(count):
        i = data.first[s + n]
        j = data.second[s + n]
        for c in range(dim):
            number = (<const real*> &force[c])[n]
            out[c * stride + i] = out[c * stride + i] + number
            out[c * stride + j] = out[c * stride + j] - number
