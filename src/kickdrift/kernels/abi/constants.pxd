# Indices of a scheme's constants.

cdef enum:
    H = 0           # h
    HALF = 1        # h / 2
    EXTRA = 2       # first constant that depends on the scheme, see set_constants()
    PER_KICK = 4    # constants per kick from EXTRA + 2 on: d, d/2, d/6 and the length c of the drift that follows
