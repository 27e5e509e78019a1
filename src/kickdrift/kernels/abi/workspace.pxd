# Registers of many bodies.

# A step reads the state in `now` and writes `next`; then both are swapped. The last completed step stays intact
# until then. A tile that steps alone may have one buffer for both.
ctypedef struct Workspace:
    char* now           # state before the step: X, V and S
    char* next          # state after the step
    char* start         # other registers, from P on
    char* delta_v          # delta_v by the forces of a step, for constraints
    Py_ssize_t first, count
    bint full           # all of these bodies are active
    bint opens          # the last stage also does the opening of the next step
    bint opened         # the previous step did the opening of this one
    Py_ssize_t plane    # numbers from one component to the next
    Py_ssize_t row      # numbers from one register to the next

cdef enum:              # uses of accelerations beside the stages, which count from 0
    START = -2          # initialise the history
    KEEP = -1           # store them for the opening of the next step
