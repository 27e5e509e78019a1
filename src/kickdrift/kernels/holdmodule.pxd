# The kernels that hold bodies.

from libc.stdint cimport int64_t

from .collisions cimport collisions
from .constraints cimport distance, pin
from .contacts cimport box, plane
from .holdplan cimport Collisions, Distance, Pin, Wall
from .lanes cimport real
from .sweptplan cimport BOX, COLLISIONS, COMPLIANT_DISTANCE, DISTANCE, PIN, PLANE, HoldKind, SweptTable


cdef inline int held(
    HoldKind kind, double h, int64_t n, int64_t dim, int64_t stride,
    const real* before, const real* gain, real* x, real* v, real* s, const void* data,
) noexcept nogil:
    if kind == PIN:
        return pin(dim, stride, before, x, v, s, <const Pin*> data)
    if kind == DISTANCE or kind == COMPLIANT_DISTANCE:
        return distance(kind == COMPLIANT_DISTANCE, h, n, dim, stride, x, v, <const Distance*> data)
    if kind == BOX:
        return box(h, n, dim, stride, gain, x, v, s, <const Wall*> data)
    if kind == PLANE:
        return plane(h, n, dim, stride, gain, x, v, s, <const Wall*> data)
    return collisions(h, n, dim, stride, gain, x, v, s, <const Collisions*> data)


cdef inline int pin_f32(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        PIN, h, n, dim, stride,
        <const float*> before, <const float*> gain, <float*> x, <float*> v, <float*> s, data,
    )


cdef inline int distance_f32(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        DISTANCE, h, n, dim, stride,
        <const float*> before, <const float*> gain, <float*> x, <float*> v, <float*> s, data,
    )


cdef inline int compliant_f32(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        COMPLIANT_DISTANCE, h, n, dim, stride,
        <const float*> before, <const float*> gain, <float*> x, <float*> v, <float*> s, data,
    )


cdef inline int box_f32(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        BOX, h, n, dim, stride,
        <const float*> before, <const float*> gain, <float*> x, <float*> v, <float*> s, data,
    )


cdef inline int plane_f32(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        PLANE, h, n, dim, stride,
        <const float*> before, <const float*> gain, <float*> x, <float*> v, <float*> s, data,
    )


cdef inline int collisions_f32(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        COLLISIONS, h, n, dim, stride,
        <const float*> before, <const float*> gain, <float*> x, <float*> v, <float*> s, data,
    )


cdef inline int pin_f64(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        PIN, h, n, dim, stride,
        <const double*> before, <const double*> gain, <double*> x, <double*> v, <double*> s, data,
    )


cdef inline int distance_f64(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        DISTANCE, h, n, dim, stride,
        <const double*> before, <const double*> gain, <double*> x, <double*> v, <double*> s, data,
    )


cdef inline int compliant_f64(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        COMPLIANT_DISTANCE, h, n, dim, stride,
        <const double*> before, <const double*> gain, <double*> x, <double*> v, <double*> s, data,
    )


cdef inline int box_f64(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        BOX, h, n, dim, stride,
        <const double*> before, <const double*> gain, <double*> x, <double*> v, <double*> s, data,
    )


cdef inline int plane_f64(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        PLANE, h, n, dim, stride,
        <const double*> before, <const double*> gain, <double*> x, <double*> v, <double*> s, data,
    )


cdef inline int collisions_f64(
    double h, int64_t n, int64_t dim, int64_t stride,
    const void* before, const void* gain, void* x, void* v, void* s, const void* data,
) noexcept nogil:
    return held(
        COLLISIONS, h, n, dim, stride,
        <const double*> before, <const double*> gain, <double*> x, <double*> v, <double*> s, data,
    )


cdef inline void fill_holds(SweptTable* f32, SweptTable* f64) noexcept:
    f32.hold[<int> PIN] = pin_f32
    f32.hold[<int> DISTANCE] = distance_f32
    f32.hold[<int> COMPLIANT_DISTANCE] = compliant_f32
    f32.hold[<int> BOX] = box_f32
    f32.hold[<int> PLANE] = plane_f32
    f32.hold[<int> COLLISIONS] = collisions_f32
    f64.hold[<int> PIN] = pin_f64
    f64.hold[<int> DISTANCE] = distance_f64
    f64.hold[<int> COMPLIANT_DISTANCE] = compliant_f64
    f64.hold[<int> BOX] = box_f64
    f64.hold[<int> PLANE] = plane_f64
    f64.hold[<int> COLLISIONS] = collisions_f64
