# Kernel constants for the kinds of forces on single bodies, see `FieldTerm`.

cdef enum TermKind:
    QUADRATIC_DRAG
    POINT_GRAVITY       # from here on forces depend on position; those before, on velocity
    VORTEX
    CENTRIFUGAL


cdef inline bint of_velocity(int kind) noexcept nogil:
    return kind < POINT_GRAVITY


cdef inline dict term_kinds():
    return {
        "quadratic_drag": QUADRATIC_DRAG,
        "point_gravity": POINT_GRAVITY,
        "vortex": VORTEX,
        "centrifugal": CENTRIFUGAL,
    }
