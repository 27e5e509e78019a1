# Properties of each integration scheme.

from ..abi.plan cimport (
    ALTERNATE, COMPOSITION, COMPOSITION_RK4, EXPLICIT_EULER, IMPLICIT_EULER, KICK_DRIFT, VELOCITY_VERLET,
    VERLET_BACKWARD, VERLET_CENTRAL,
)


cdef inline bint verlet(int scheme) noexcept nogil:
    """Does a step go on from the previous position (kept in s)?"""
    return scheme == VERLET_BACKWARD or scheme == VERLET_CENTRAL


cdef inline bint splits_on_drag(int scheme) noexcept nogil:
    """Is a step another one where forces depend on velocity?"""
    return scheme == VELOCITY_VERLET or verlet(scheme) or scheme == COMPOSITION or scheme == COMPOSITION_RK4


cdef inline bint unspecialised(int scheme) noexcept nogil:
    """Is it too rarely used to be worth loops of its own? Then passes.pxd steps it under any forces."""
    return ALTERNATE <= scheme < IMPLICIT_EULER


cdef inline bint evaluates_first(int scheme) noexcept nogil:
    """Is all that a step does done after its only evaluation?"""
    return scheme == KICK_DRIFT or scheme == EXPLICIT_EULER


cdef inline bint fsal(int scheme, bint drag) noexcept nogil:
    """Does the acceleration at the end of a step serve the next (kept in p)?"""
    return not drag and (scheme == VELOCITY_VERLET or scheme == VERLET_CENTRAL)
