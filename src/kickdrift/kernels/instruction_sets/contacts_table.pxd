# Scalar kernels of constraints: periodic boxes, floor friction, contacts, sensors, shapes, collisions.

from libc.stdint cimport int64_t

from ..constraints.collisions cimport collisions
from ..constraints.contacts cimport contacts
from ..constraints.events cimport sense
from ..constraints.friction cimport slow_down
from ..constraints.periodic cimport wrap
from ..constraints.shapes cimport collide_shapes
from ..abi.constraints cimport (
    COLLISIONS, CONTACTS, FLOOR, MOVING, PERIODIC, SENSOR, SHAPES, Collisions, Contacts, ConstraintKind, Floor,
    Periodic, Sensor, Shapes,
)
from ..abi.coupled cimport NO_BRANCH
from ..simd.vec cimport real


cdef inline int held(
    ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride,
    const real* before, const real* delta_v, real* x, real* v, real* s, const void* data,
    void* owner,
) noexcept nogil:
    if kind == PERIODIC:
        return wrap(h, first, last, <int> dim, stride, x, v, s, <const Periodic*> data)
    if kind == FLOOR:
        return slow_down(
            <real> h, first, last, <int> dim, stride, before, <real*> delta_v, x, v, s, <const Floor*> data
        )
    if kind == CONTACTS:
        return contacts(h, last, dim, stride, before, delta_v, x, v, s, <const Contacts*> data, owner)
    if kind == SENSOR:
        return sense(<real> h, first, last, <int> dim, stride, before, x, <const Sensor*> data)
    if kind == SHAPES or kind == MOVING:
        return collide_shapes(h, first, last, <int> dim, stride, before, delta_v, x, v, s, <const Shapes*> data)
    if kind == COLLISIONS:
        return collisions(h, last, dim, stride, before, delta_v, x, v, s, <const Collisions*> data, owner)
    return NO_BRANCH
