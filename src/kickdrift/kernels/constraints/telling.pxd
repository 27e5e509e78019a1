# What all constraints of a stepper tell at the end of a step.

from libc.stdint cimport int64_t

from .events cimport forget, tell_pairs, tell_region, tell_walls
from .meetings cimport tell_contacts
from .shapes cimport tell_shapes
from ..abi.constraints cimport (
    BOX, COLLISIONS, CONTACTS, PLANE, SENSOR, SHAPES, Collisions, Contacts, Hold, Sensor, Shapes, Wall,
)
from ..abi.events cimport Log, Told
from ..simd.vec cimport real


cdef inline Told* told_of(const Hold* hold) noexcept nogil:
    if hold.kind == COLLISIONS:
        return (<const Collisions*> hold.data).told
    if hold.kind == CONTACTS:
        return (<const Contacts*> hold.data).grid.told
    if hold.kind == SENSOR:
        return (<const Sensor*> hold.data).told
    if hold.kind == SHAPES:
        return (<const Shapes*> hold.data).wall.told
    if hold.kind == BOX or hold.kind == PLANE:
        return (<const Wall*> hold.data).told
    return NULL


cdef inline void tell(
    bint keep, int64_t holds, const Hold* hold, int dim, int64_t n, int64_t stride, const real* x, Log* log,
) noexcept nogil:
    """The end of a step: what constraints were told becomes events; or nothing, where the step is not kept."""
    cdef int64_t number
    for number in range(holds):
        if told_of(&hold[number]) == NULL:
            continue
        if not keep:
            forget(told_of(&hold[number]))
        elif hold[number].kind == COLLISIONS:
            tell_pairs(dim, n, stride, x, <const Collisions*> hold[number].data, log)
        elif hold[number].kind == CONTACTS:
            tell_contacts(dim, n, stride, x, <const Contacts*> hold[number].data, log)
        elif hold[number].kind == SENSOR:
            tell_region(dim, n, stride, x, <const Sensor*> hold[number].data, log)
        elif hold[number].kind == SHAPES:
            tell_shapes(dim, n, stride, x, <const Shapes*> hold[number].data, log)
        elif hold[number].kind == BOX or hold[number].kind == PLANE:
            tell_walls(dim, n, stride, x, hold[number].kind == BOX, <const Wall*> hold[number].data, log)
