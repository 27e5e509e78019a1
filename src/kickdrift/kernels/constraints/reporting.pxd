# Events of all constraints at the end of a step.

from libc.stdint cimport int64_t

from .events cimport forget, report_pairs, report_region, report_walls
from .contact_events cimport report_contacts
from .shape_events cimport report_shapes
from ..abi.constraints cimport (
    BOX, COLLISIONS, CONTACTS, MOVING, PLANE, SENSOR, SHAPES, Collisions, Contacts, ConstraintCall, Sensor, Shapes,
    Wall,
)
from ..abi.events cimport Log
from ..simd.vec cimport real


cdef inline int64_t report_events(
    bint keep, int64_t constraints, const ConstraintCall* constraint, int64_t n, int64_t dim, int64_t stride,
    const real* x, Log* log,
) noexcept nogil:
    """Turn the contacts recorded in a step into events, or drop them if the step is not kept.

    Return the number of a recording constraint without a branch here, or -1.
    """
    cdef int64_t number
    for number in range(constraints):
        if constraint[number].events == NULL:
            continue
        if not keep:
            forget(constraint[number].events)
        elif constraint[number].kind == COLLISIONS:
            report_pairs(<int> dim, n, stride, x, <const Collisions*> constraint[number].data, log)
        elif constraint[number].kind == CONTACTS:
            report_contacts(<int> dim, n, stride, x, <const Contacts*> constraint[number].data, log)
        elif constraint[number].kind == SENSOR:
            report_region(<int> dim, n, stride, x, <const Sensor*> constraint[number].data, log)
        elif constraint[number].kind == SHAPES or constraint[number].kind == MOVING:
            report_shapes(<int> dim, n, stride, x, <const Shapes*> constraint[number].data, log)
        elif constraint[number].kind == BOX or constraint[number].kind == PLANE:
            report_walls(
                <int> dim, n, stride, x, constraint[number].kind == BOX, <const Wall*> constraint[number].data, log,
            )
        else:
            return number
    return -1
