# Where the registers of many bodies are.

# The registers of so many bodies. A step is made from the state in `now`, in `next`, which becomes `now` when
# it is complete: until then the last completed step is there to go back to. A tile on its own has one for both.
ctypedef struct Workspace:
    char* now           # X, V and S
    char* next
    char* start         # the others, from P on
    char* gain          # velocity change by the forces of a step, for constraints
    Py_ssize_t first, count
    bint opens          # does the last stage of a step make what the next begins with, while it has the state?
    bint opened         # has that of the step before done so?
    Py_ssize_t plane    # numbers from a component to the next
    Py_ssize_t row      # and from a register to the next

cdef enum:              # what a pass does with the accelerations, where it is not the work of a stage (from 0)
    START = -2          # fills the history
    KEEP = -1           # leaves them for the opening of the next step
