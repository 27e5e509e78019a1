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

# A row of numbers in which all components are alike: whole vectors, one after the other.
ctypedef struct Stretch:
    Py_ssize_t bytes
    const char* x       # state of the evaluation
    const char* v
    const char* x0      # state before the step
    const char* v0
    char* to_x          # state after the stage
    char* to_v
    char* out           # output of the only function, which becomes zero
    char* held          # register that a step keeps from pass to pass; the next ones follow after `row` bytes
    Py_ssize_t row
    const char* g       # gravity and 1/m; `each` and `every`: bytes from one vector to the next, or 0
    Py_ssize_t each
    const char* factor
    Py_ssize_t every

cdef enum:              # uses of accelerations beside the stages, which count from 0
    START = -2          # initialise the history
    KEEP = -1           # store them for the opening of the next step
    NONE = START        # a pass without an evaluation, see loops/functions.pxd
