"""Slots of spawned and removed bodies: data for the kernels."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from ..kernels.abi.constraints cimport Contacts
from ..kernels.abi.plan cimport Plan, SlotArrays

cdef enum:
    MOST_COLUMNS = 12

# Array with one item per pair: `source` as declared; `to`, which kernels read, without pairs of removed bodies.
ctypedef struct Column:
    char* to
    const char* source
    Py_ssize_t item

cdef void* address(object array) except NULL


cdef class Ends:
    """The pairs or bodies of a constraint or of springs: as declared, and compacted to those whose bodies exist."""

    cdef Py_ssize_t count
    cdef const int64_t* first
    cdef const int64_t* second      # or NULL
    cdef const int64_t* generations     # generations of the one or two bodies of each item; NULL: all are 1
    cdef int columns
    cdef Column column[MOST_COLUMNS]
    cdef int64_t* left              # number of items after compaction, read by kernels; or NULL
    cdef int64_t stages             # number of levels; `stage`, `to_stage`: first pair of each level
    cdef const int64_t* stage
    cdef int64_t* to_stage
    cdef const uint8_t* reads       # mask of the pairs that read at_rest; NULL: none
    # For the broad phase: the size class of each body, and the number of partners found for it.
    cdef uint8_t* size_class        # or NULL
    cdef const uint8_t* own_class
    cdef int32_t* partners
    cdef list kept

    cdef const void* keep(self, object array) except NULL
    cdef int add(
        self, object first, object second, object generations, Py_ssize_t count, list columns, int64_t* left,
    ) except -1


cdef int write_sources(dict places, Ends ends) except -1


cdef class Links:
    cdef Slots slots
    cdef list ends                  # one Ends per interaction or constraint that has pairs or bodies
    cdef char* weight               # inverse mass per body for constraints, 0 if immovable; or NULL
    cdef const char* inverse_mass   # declared inverse mass per body, in the dtype of the state
    cdef char* at_rest              # velocity that the scheme stores for a body at rest, as a share of delta_v; or NULL
    cdef const char* at_rest_declared
    cdef Contacts* contacts         # contacts, whose stored impulses are dropped with their bodies; or NULL
    cdef int dim
    cdef object mass, masses        # the model's inverse masses, and the array that `inverse_mass` points to

    cdef int layout(self) except -1
    cdef void lay(self, Ends ends) noexcept nogil
    cdef bint uncut(self, Ends ends, Py_ssize_t k) noexcept nogil
    cdef void weigh_bodies(self) noexcept nogil
    cdef void end_impulses(self) noexcept nogil
    cdef bint ended(self, int32_t body) noexcept nogil


cdef class Slots:
    cdef SlotArrays data
    cdef object book            # the Slots of stepper/slots.py, which owns these arrays
    cdef object weights, spans
    cdef Py_ssize_t n, count    # rows, and active bodies
    cdef uint8_t* alive
    cdef uint8_t* needs_start
    cdef int64_t* generation
    cdef int64_t* id
    cdef char* weight
    cdef Py_ssize_t* span
    cdef double share           # rows in spans with active bodies / all rows
    cdef bint any_needs_start
    cdef bint stale             # True if bodies were added or removed since `layout`

    @staticmethod
    cdef Slots of(object book, object dtype)

    cdef void follow(self) noexcept nogil
    cdef void weigh(self, Py_ssize_t i) noexcept nogil
    cdef int64_t slot_of(self, int64_t id) noexcept nogil
    cdef object find(self, object ids)
    cdef int64_t slot_of_any(self, int64_t id) noexcept nogil
    cdef void end(self, const Plan* plan, int64_t row) noexcept nogil
    cdef int layout(self, Links links) except -1
    cdef void clear_needs_start(self) noexcept nogil
    cdef void clear_histories(self, const Plan* plan) noexcept nogil
    cdef object spawn(self, const Plan* plan, object position, object velocity, object among)
    cdef Py_ssize_t next_free(self, Py_ssize_t place, const int64_t* chosen, Py_ssize_t count) noexcept nogil
    cdef int kill(self, const Plan* plan, object ids) except -1
