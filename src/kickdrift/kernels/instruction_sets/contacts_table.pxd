# Scalar kernels of constraints: periodic boxes, floor friction, contacts, sensors, shapes, collisions.

from libc.stdint cimport int64_t

from ..constraints.collisions cimport collisions
from ..constraints.contacts cimport contacts
from ..constraints.events cimport sense
from ..constraints.friction cimport slow_down
from ..constraints.periodic cimport wrap
from ..constraints.shapes cimport collide_shapes
from ..abi cimport constraints as abi
from ..abi.coupled cimport NO_BRANCH
from ..simd.vec cimport real


cdef inline int held(
    abi.ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride,
    const real* before, const real* delta_v, real* x, real* v, real* s, const void* data,
    void* owner,
) noexcept nogil:
    if kind == abi.PERIODIC:
        return wrap(h, first, last, <int> dim, stride, x, v, s, <const abi.Periodic*> data)
    if kind == abi.FLOOR:
        return slow_down(
            <real> h, first, last, <int> dim, stride, before, <real*> delta_v, x, v, s, <const abi.Floor*> data
        )
    if kind == abi.CONTACTS:
        return contacts(h, last, dim, stride, before, delta_v, x, v, s, <const abi.Contacts*> data, owner)
    if kind == abi.SENSOR:
        return sense(<real> h, first, last, <int> dim, stride, before, x, <const abi.Sensor*> data)
    if kind == abi.SHAPES or kind == abi.MOVING:
        return collide_shapes(h, first, last, <int> dim, stride, before, delta_v, x, v, s, <const abi.Shapes*> data)
    if kind == abi.COLLISIONS:
        return collisions(h, last, dim, stride, before, delta_v, x, v, s, <const abi.Collisions*> data, owner)
    return NO_BRANCH
