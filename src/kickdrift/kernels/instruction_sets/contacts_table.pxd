# Scalar kernels of constraints: periodic boxes, corners, contacts, sensors, shapes, collisions.

from libc.stdint cimport int64_t

from ..constraints.collisions cimport collisions
from ..constraints.contacts cimport contacts
from ..constraints.corners cimport corners
from ..constraints.events cimport sense
from ..constraints.floor cimport slow_down
from ..constraints.periodic cimport wrap
from ..constraints.shapes cimport meet_shapes
from ..constraints.telling cimport tell
from ..abi.constraints cimport (
    COLLISIONS, CONTACTS, CORNERS, FLOOR, PERIODIC, SENSOR, SHAPES, Collisions, Contacts, Corners, ConstraintCall,
    ConstraintKind, Floor, Periodic, Sensor, Shapes,
)
from ..abi.coupled cimport NO_BRANCH
from ..abi.events cimport Log
from ..simd.vec cimport real


cdef inline int held(
    ConstraintKind kind, double h, int64_t first, int64_t last, int64_t dim, int64_t stride,
    const real* before, const real* gain, real* x, real* v, real* s, const void* data,
    void* owner,
) noexcept nogil:
    if kind == PERIODIC:
        return wrap(h, first, last, <int> dim, stride, x, v, s, <const Periodic*> data)
    if kind == FLOOR:
        return slow_down(
            <real> h, first, last, <int> dim, stride, before, <real*> gain, x, v, s, <const Floor*> data
        )
    if kind == CORNERS:
        return corners(h, first, last, dim, stride, gain, x, v, s, <const Corners*> data)
    if kind == CONTACTS:
        return contacts(h, last, dim, stride, before, gain, x, v, s, <const Contacts*> data, owner)
    if kind == SENSOR:
        return sense(<real> h, first, last, <int> dim, stride, before, x, <const Sensor*> data)
    if kind == SHAPES:
        return meet_shapes(h, first, last, <int> dim, stride, before, gain, x, v, s, <const Shapes*> data)
    if kind == COLLISIONS:
        return collisions(h, last, dim, stride, before, gain, x, v, s, <const Collisions*> data, owner)
    return NO_BRANCH


cdef inline int64_t told(
    bint keep, int64_t constraints, const ConstraintCall* constraint, int64_t n, int64_t dim, int64_t stride,
    const real* x, Log* log,
) noexcept nogil:
    return tell(keep, constraints, constraint, <int> dim, n, stride, x, log)
