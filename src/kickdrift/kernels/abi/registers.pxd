# Indices of registers, each computed from those before it.
#
# A register is MAX_DIM planes in a tile, and `dim` planes if all bodies are one tile.

from .plan cimport MAX_DIM

cdef enum:
    X                   # state: position, velocity and history
    V
    S
    P                   # intermediate results that a step keeps from stage to stage
    Q
    Y
    Z
    REGISTERS           # registers of uncoupled bodies

cdef enum:              # registers of coupled bodies
    A = REGISTERS       # accelerations before the interactions
    OUT                 # outputs of interactions, one register each

cdef enum:              # all bodies as one tile
    STATE = P           # registers of a state; there are two state buffers
    ALL_OUT = STATE + OUT

cdef enum:
    HELD = 4            # further registers if functions read the caller's arrays: what a step holds for rows of numbers

cdef enum:
    KEPT = 8            # number of search directions that a new one is orthogonalised to

cdef enum:              # registers of implicit steps
    PLACE               # y and u, where the tangent is taken
    SPEED
    REST                # f, the residual
    DISPLACEMENT
    R
    DX
    CHANGE
    SPARE
    DIRECTION                           # search directions p: the new one and KEPT older ones
    IMAGE = DIRECTION + KEPT + 1        # J p of each direction
    MATRIX = IMAGE + KEPT + 1           # Jacobian of the forces on single bodies: dim rows of dim numbers per body
    HERE = MATRIX + MAX_DIM             # output of each interaction at PLACE and SPEED
