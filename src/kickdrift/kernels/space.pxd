# Open space or a periodic box: the formulas of kickdrift/reference/space.py.

from .abi.constraints cimport Torus
from .simd.vec cimport f32vec, filled, real, spread, vec


cdef extern from * nogil:
    bint unlikely(bint condition) noexcept      # macro of Cython: moves periodic code out of the usual path


cdef inline real whole(real turns) noexcept nogil:
    """Round to the nearest integer, ties to even: the sum with `much` has no room for fractional bits."""
    cdef real much
    if real is float:
        much = 12582912.0           # 1.5 * 2**23
    else:
        much = 6755399441055744.0   # 1.5 * 2**52
    return (turns + much) - much


cdef inline bint is_periodic(const Torus* torus) noexcept nogil:
    return unlikely(torus.width != NULL)


cdef inline real nearest(real d, int axis, const Torus* torus) noexcept nogil:
    """Wrap one component of a displacement to the minimum image."""
    return d - (<const real*> torus.width)[axis] * whole(d * (<const real*> torus.per_width)[axis])


cdef inline real toward(real d, int axis, const Torus* torus) noexcept nogil:
    """`nearest` in a periodic box, or the displacement itself in open space."""
    return nearest(d, axis, torus) if is_periodic(torus) else d


cdef inline bint seen(real x, int axis, const Torus* torus) noexcept nogil:
    """True if a coordinate is close enough to the box for accurate minimum images."""
    cdef real turns = (x - (<const real*> torus.lower)[axis]) * (<const real*> torus.per_width)[axis]
    cdef real far
    if real is float:
        far = 256.0             # 2**8
    else:
        far = 137438953472.0    # 2**37
    return not (turns > far or turns < -far)


cdef inline real inside(real x, int axis, const Torus* torus) noexcept nogil:
    """Wrap a coordinate into the box."""
    cdef real lower = (<const real*> torus.lower)[axis]
    cdef real upper = (<const real*> torus.upper)[axis]
    cdef real width = (<const real*> torus.width)[axis]
    cdef real turns, times
    cdef real one = 1
    if not width > 0 or (lower <= x and x < upper):
        return x
    turns = (x - lower) * (<const real*> torus.per_width)[axis]
    times = whole(turns)
    if times > turns:
        times = times - one
    x = x - width * times
    return lower if x < lower or x >= upper else x


cdef inline void turn_to_image(int dim, real* d, const Torus* torus) noexcept nogil:
    """Wrap a displacement to the minimum image."""
    cdef int c
    if is_periodic(torus):
        for c in range(dim):
            d[c] = nearest(d[c], c, torus)


cdef inline void turn_to_images(int dim, vec* d, const Torus* torus) noexcept nogil:
    """Wrap vectors of displacements to the minimum image in a periodic box."""
    cdef vec much = filled(12582912.0 if vec is f32vec else 6755399441055744.0, d)     # see `whole`
    cdef vec turns
    cdef int c
    for c in range(dim):
        turns = d[c] * spread(torus.per_width, c, d)
        d[c] = d[c] - spread(torus.width, c, d) * ((turns + much) - much)
