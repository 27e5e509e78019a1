"""Bound constraints: C functions and data for the kernels."""

from libc.stdint cimport int64_t, uint8_t

from ..kernels.abi.constraints cimport ConstraintCall, Each, LoadCell, Shapes, Spin, Wall
from ..kernels.abi.coupled cimport CoupledTable
from ..kernels.abi.events cimport EventSource
from ..kernels.abi.plan cimport Plan
from .slots cimport Ends, Links


# Data shared by all constraints of a binding, as kernels read it.
ctypedef struct Common:
    const void* weight          # 1/m of each body, 0 if it is immovable; or NULL
    const void* at_rest         # velocity that the scheme stores for a body at rest, as a share of delta_v; or NULL
    int64_t walls               # number of walls
    const ConstraintCall* wall


cdef class BoundConstraint:
    cdef ConstraintCall constraint
    cdef double cost        # estimated time of one step of all bodies, in ns
    cdef bint shares        # True if all threads would share its workspace: only one thread may run it
    cdef list kept          # memory that the kernel's data points to
    cdef dict places        # arrays (1, count) of the writable fields, by name
    cdef object common      # name of the writable field that must be equal in all worlds of `Worlds`, or None
    cdef object declaration  # the constraint that is bound
    cdef object generations     # generations of the constrained bodies; None: all are 1
    cdef object last        # the array returned by the last `allocate`
    cdef list owners        # load arrays of its `Distance` declarations, see stepper/loads.py
    cdef object order       # permutation from the items of a field to those of its bound array; None: identity
    cdef uint8_t* rested    # `rested` of Contacts; NULL for other constraints
    cdef Ends ends          # its pairs or bodies, which are dropped when bodies are removed; or None

    cdef EventSource events          # event recorder, used if events are enabled

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1
    cdef int each(self, Each* each, dict fields, str name, object dtype) except -1
    cdef int listen(self, object kind, int64_t n) except -1
    cdef void bind_events(self, EventSource* events) noexcept
    cdef void* allocate(self, object shape, object dtype) except NULL
    cdef void* keep(self, object array, object dtype) except NULL
    cdef void* field(self, dict fields, str name, object dtype) except NULL
    cdef int lay_shapes(self, Shapes* shapes, dict fields, object dtype, object rows) except -1
    cdef int lay_tree(self, Shapes* shapes, object numbers, object lower, object upper) except -1
    cdef int find_links(self, Links links) except -1
    cdef void join(self, const Common* common) noexcept
    cdef void prepare(self, const Plan* plan) noexcept
    cdef bint serves(self, object plan, object record)
    cdef int derive(self, object plan, object old, object now, list writes) except -1
    cdef const LoadCell* lay_loads(self, dict fields, object order) except? NULL
    cdef int bind_wall(self, Wall* wall, dict fields, object plan) except -1


cdef object fitted(int dim, Shapes* shapes, object dtype)
cdef bint saves_loads(dict fields) except -1
cdef int bind_spin(Spin* spin, object memory) except -1
