# The numbers of registers, each computed from those before it.
#
# Of a tile in planes a register is MAX_DIM planes, of all bodies as one tile as many as they have components.

from .plan cimport MAX_DIM

cdef enum:
    X                   # the state: position, velocity and history
    V
    S
    P                   # what a step keeps from stage to stage
    Q
    Y
    Z
    REGISTERS           # of plans whose bodies are left alone

cdef enum:              # where bodies are pushed at once
    A = REGISTERS       # accelerations before the interactions
    OUT                 # what interactions write to, a register for each

cdef enum:              # where all bodies are stepped as one tile
    STATE = P           # the state is there twice: so many registers each time
    ALL_OUT = STATE + OUT

cdef enum:
    KEPT = 8            # directions that a new one of an implicit step is made orthogonal to

cdef enum:              # of implicit steps; of some there are several
    PLACE               # y and u, where the tangent is taken
    SPEED
    REST                # f
    WAY
    R
    DX
    CHANGE
    SPARE
    DIRECTION                           # p, in turn: the new one and those that are kept
    IMAGE = DIRECTION + KEPT + 1        # J p, for each of them
    MATRIX = IMAGE + KEPT + 1           # rows of dim numbers for each body
    HERE = MATRIX + MAX_DIM             # what each interaction writes at PLACE and SPEED
