# Properties of each integration scheme.

from ..abi.plan cimport (
    ALTERNATE, COMPOSITION, COMPOSITION_RK4, EXPLICIT_EULER, GROOT_WARREN, IMPLICIT_EULER, KICK_DRIFT,
    VELOCITY_VERLET, VERLET_BACKWARD, VERLET_CENTRAL,
)


cdef inline bint verlet(int scheme) noexcept nogil:
    """True if a step continues from the previous position (kept in s)."""
    return scheme == VERLET_BACKWARD or scheme == VERLET_CENTRAL


cdef inline bint has_history(int scheme) noexcept nogil:
    return verlet(scheme) or scheme == GROOT_WARREN


cdef inline bint splits_on_drag(int scheme) noexcept nogil:
    """True if velocity-dependent forces need other stages."""
    return scheme == VELOCITY_VERLET or verlet(scheme) or scheme == COMPOSITION or scheme == COMPOSITION_RK4


cdef inline bint unspecialised(int scheme) noexcept nogil:
    """True for rarely used schemes without loops of their own, which passes.pxd steps under any forces."""
    return ALTERNATE <= scheme < IMPLICIT_EULER


cdef inline bint evaluates_first(int scheme) noexcept nogil:
    """True if a step has a single evaluation, and does not change the state before it."""
    return scheme == KICK_DRIFT or scheme == EXPLICIT_EULER


cdef inline bint fsal(int scheme, bint drag) noexcept nogil:
    """True if the acceleration at the end of a step is reused by the next one (first same as last; kept in p)."""
    return not drag and (scheme == VELOCITY_VERLET or scheme == VERLET_CENTRAL)


cdef inline bint repeats_place(int scheme, bint drag, int number) noexcept nogil:
    """True if an evaluation is at the same positions as the one before. number: its number in the step or kick.

    Evaluation 0 repeats the positions of the previous step's last evaluation, if that was at the end of its step.
    """
    if not drag:
        return False
    if scheme == VELOCITY_VERLET or scheme == VERLET_CENTRAL:
        return number == 0
    return number > 0 and (scheme == VERLET_BACKWARD or scheme == COMPOSITION or scheme == COMPOSITION_RK4)
