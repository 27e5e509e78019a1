# The built-in right-hand sides and where their constants are.

cdef enum:
    MAX_PARAMETERS = 20
    ZERO = MAX_PARAMETERS   # the numbers that formulas name
    ONE
    TWO
    THREE
    FOUR
    CONSTANTS

cdef enum Flow:
    LORENZ
    ROSSLER
    THOMAS
    HALVORSEN
    AIZAWA
    LOTKA_VOLTERRA
    VAN_DER_POL
