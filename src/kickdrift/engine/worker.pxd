"""Worker: a stepper that runs one world after another; Every: the arrays of all worlds."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from .bodies cimport Core
from .guard cimport guard_t
from ..kernels.abi.plan cimport Array, Job

# Serialized state of a world beyond its rows in the arrays of all worlds: see `Worker.pack`.
ctypedef struct Saved:
    char* data
    int64_t size, room

# Arrays with one number per world, or one per body of all worlds; and the current round of steps.
ctypedef struct Every:
    Py_ssize_t worlds, n        # number of worlds; bodies per world
    int64_t* tick
    uint8_t* started
    double* last_h
    uint8_t* stale              # per world: 1 if bodies were spawned or removed since its last step
    uint8_t* alive              # per body: 1 if active; NULL: no world has slots, and all bodies are active
    uint8_t* needs_start
    int64_t* generation
    Saved* saved                # per world; NULL: worlds have no state beyond the arrays
    int64_t* pending            # number of events that the user has not read yet
    int64_t* dropped            # number of events beyond the capacity
    int64_t capacity
    const uint8_t* active       # mask of the worlds to run; NULL: all
    Py_ssize_t first, last      # range of the worlds of the round, excluding `last`
    Py_ssize_t size             # number of worlds that a worker claims at once
    guard_t claimed             # number of claims in this round so far
    Py_ssize_t steps
    bint stop

# Pointer in the C structs of a worker's stepper, which is set to the memory of each world in turn.
ctypedef struct Pointer:
    char** pointer
    char* home                  # target in the stepper's own memory
    char* away                  # target in the arrays of all worlds, for world 0
    Py_ssize_t stride           # bytes from a world to the next

# Array in the C structs of a worker's stepper. Arrays of all worlds have other strides than the stepper's own.
ctypedef struct Strides:
    Array* array
    Array home, away

# Coefficients of a force or constraint that differ between worlds.
ctypedef struct Numbers:
    char* to                    # where kernels read the coefficients
    const char* source          # coefficients of world 0; each next world is `stride` bytes further
    Py_ssize_t size, stride

# Number that selects the noise: a 64-bit seed or the 32-bit k of noise(k); the unused pointer is NULL. World i uses
# `first` + i, so that noise differs between worlds.
ctypedef struct Key:
    uint64_t* seed
    int* number
    uint64_t first

cdef enum Outcome:              # result of the steps of a world
    DONE                        # all steps are completed
    LEFT                        # `Core.run_part` must run the remaining steps
    FAILED                      # a step failed, for the reason in `job` of the stepper


cdef class Worker:
    cdef Core core
    cdef Every* every
    cdef list kept              # owners of the memory that the pointers below refer to
    cdef Pointer* pointer
    cdef Strides* strides
    cdef Numbers* numbers
    cdef Key* key
    cdef Py_ssize_t pointers, arrays, tables, keys
    cdef bint ordinary          # True if steps may fail, which only `Core.run_part` can handle
    cdef Array[3] before        # backup of the state, from before a call
    cdef list errors            # (world, exception) of this call
    cdef int64_t ran            # number of steps in this round, summed over worlds
    cdef Py_ssize_t left        # remaining steps of the current world
    # Stored impulses of contacts, see rollback/impulses.py. `contacts`: its array `state`; NULL without contacts.
    # `width`: bytes of the impulses of one pair. `rods`: bytes of the impulses of all rods.
    cdef int64_t* contacts
    cdef char* pair[2]
    cdef char* push[2]
    cdef char* pull[2]
    cdef Py_ssize_t width, rods
    cdef Numbers* loads         # memory to save as raw bytes: loads and breaks of joints, motion of shapes
    cdef Py_ssize_t joints      # number of items in `loads`
    cdef bint moves             # True if shapes move
    # Events of the current call. Each has the index of the world, then a copy of the event's row in the log.
    cdef int64_t* event
    cdef int64_t events, room

    cdef void clear(self) noexcept
    cdef int bind(self, list state, list turning, list applied, list torques) except -1
    cdef int add_array(self, Array* array, object worlds) except -1
    cdef int add_pointer(self, char** pointer, object worlds, Py_ssize_t offset) except -1
    cdef int bind_noise(self) except -1
    cdef int add_key(self, uint64_t* seed, int* number) except -1
    cdef int bind_contacts(self) except -1
    cdef void leave_home(self) noexcept nogil
    cdef void go_home(self) noexcept nogil
    cdef void set_keys(self, Py_ssize_t i) noexcept nogil
    cdef void load(self, Py_ssize_t i) noexcept nogil
    cdef void load_slots(self, Py_ssize_t i) noexcept nogil
    cdef void store(self, Py_ssize_t i) noexcept nogil
    cdef void fail_memory(self, Py_ssize_t i) noexcept nogil
    cdef void unpack(self, const Saved* saved) noexcept nogil
    cdef bint pack(self, Saved* saved) noexcept nogil
    cdef bint keep_events(self, Py_ssize_t i) noexcept nogil
    cdef void run_round(self) noexcept nogil
    cdef void run_world(self, Py_ssize_t i) noexcept nogil
    cdef void resolve(self, Py_ssize_t i, Outcome outcome) noexcept nogil
    cdef Outcome attempt(self) noexcept nogil
    cdef bint lay_out(self) noexcept nogil
    cdef Outcome run_some(self, Py_ssize_t steps) noexcept nogil
    cdef void launch(self, Py_ssize_t steps) noexcept nogil
    cdef void count(self, Py_ssize_t steps) noexcept nogil
    cdef void copy_state(self, bint there) noexcept nogil


cdef bint make_room(Saved* saved, int64_t size) noexcept nogil
cdef void run_worker(void* owner, Job* job) noexcept nogil
