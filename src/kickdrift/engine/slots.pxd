"""Bodies that come and go, as the kernels are told of them."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from ..kernels.abi.constraints cimport Contacts
from ..kernels.abi.plan cimport Plan
from ..kernels.abi.slots cimport Living

cdef enum:
    MOST_COLUMNS = 12

# One number for each pair: as declared, and where kernels read those that are left.
ctypedef struct Column:
    char* to
    const char* source
    Py_ssize_t item

# Pairs of bodies, or bodies alone, that something holds until they die.
ctypedef struct Cut:
    Py_ssize_t count
    const int64_t* first
    const int64_t* second   # or NULL
    const int64_t* tenants  # for which body in each slot, one or two for each; or NULL for the first in all
    bint pins
    int columns
    Column column[MOST_COLUMNS]
    int64_t* left           # how many are left, or NULL
    int64_t stages          # of pairs: where each begins, as declared and now
    const int64_t* stage
    int64_t* to_stage
    const char* at_rest     # of each body that pairs hold up, or NULL,
    const uint8_t* reads    # and which pairs do so

# Where 1/m of each body is read, 0 for those that nothing moves; and what finds bodies that meet.
ctypedef struct Weight:
    char* to
    uint8_t* size_class     # or NULL
    const uint8_t* own_class
    int32_t* partners


cdef void* address(object array) except NULL


cdef class Links:
    cdef Slots slots
    cdef Cut* cut
    cdef Py_ssize_t cuts
    cdef Weight* weight
    cdef Py_ssize_t weights
    cdef const char* inverse_mass   # of each body, in the dtype of the state
    cdef char* at_rest
    cdef Contacts* contacts         # of which impulses end with bodies, or NULL
    cdef int dim
    cdef list kept

    cdef const void* keep(self, object array) except NULL
    cdef int add(
        self, object first, object second, object tenants, Py_ssize_t count, list columns, int64_t* left,
    ) except -1
    cdef int stages(self, object stage, int64_t count, object at_rest, object reads) except -1
    cdef int weigh(self, object weight, object size_class, int32_t* partners) except -1
    cdef bint uncut(self, const Cut* cut, Py_ssize_t k) noexcept nogil
    cdef void layout(self) noexcept nogil
    cdef void weigh_bodies(self, const Weight* weight) noexcept nogil
    cdef void end_impulses(self) noexcept nogil
    cdef bint ended(self, int32_t body) noexcept nogil


cdef class Slots:
    cdef Living data
    cdef object book            # the Slots of stepper/slots.py, whose arrays these are
    cdef object weights, spans
    cdef Py_ssize_t n, count    # rows, and bodies that live
    cdef uint8_t* alive
    cdef uint8_t* young
    cdef int64_t* generation
    cdef int64_t* id
    cdef char* weight
    cdef Py_ssize_t* span
    cdef double share           # of all rows that are stepped
    cdef bint any_young
    cdef bint stale             # has anybody been born or died since `layout`?

    @staticmethod
    cdef Slots of(object book, object dtype)

    cdef void follow(self) noexcept nogil
    cdef void weigh(self, Py_ssize_t i) noexcept nogil
    cdef int64_t slot_of(self, int64_t id) noexcept nogil
    cdef int64_t slot_of_any(self, int64_t id) noexcept nogil
    cdef void end(self, const Plan* plan, int64_t row) noexcept nogil
    cdef void layout(self, Links links) noexcept nogil
    cdef void forget_young(self) noexcept nogil
    cdef void clear_histories(self, const Plan* plan) noexcept nogil
    cdef object spawn(self, const Plan* plan, object position, object velocity)
    cdef int kill(self, const Plan* plan, object ids) except -1
