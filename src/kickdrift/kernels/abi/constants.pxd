# Where a scheme's constants are.

cdef enum:
    H = 0           # h
    HALF = 1        # h / 2
    EXTRA = 2       # the scheme's own, see set_constants()
    PER_KICK = 4    # d, d/2, d/6 and the drift c that follows, from EXTRA + 2 on
