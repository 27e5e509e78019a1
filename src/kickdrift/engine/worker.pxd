"""A stepper that runs one world after another, and what many worlds share."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from .bodies cimport Core
from .guard cimport guard_t
from ..kernels.abi.plan cimport Array, Job

# What outlives a step of a world and has no array: contacts and touching pairs, as `Worker.pack` writes them.
ctypedef struct Saved:
    char* data
    int64_t size, room

# All worlds, and the round of steps that runs. Of each world, or of each body of each world:
ctypedef struct Every:
    Py_ssize_t worlds, n        # how many worlds; bodies of each
    int64_t* tick
    uint8_t* started
    double* last_h
    uint8_t* stale              # have bodies been spawned or removed since the last step?
    uint8_t* alive              # or NULL: all bodies are, always
    uint8_t* needs_start
    int64_t* generation
    Saved* saved                # or NULL: nothing but arrays outlives a step
    int64_t* pending            # events that were not taken
    int64_t* dropped            # events that had no room
    int64_t capacity
    const uint8_t* active       # which worlds run; NULL: all
    Py_ssize_t first, last      # the worlds of the round,
    Py_ssize_t size             # of which workers claim so many at once
    guard_t claimed
    Py_ssize_t steps
    bint stop

# A pointer of a worker, to its own memory or to that of a world.
ctypedef struct Pointer:
    char** pointer
    char* home
    char* away                  # of world 0
    Py_ssize_t stride           # bytes from a world to the next

# An array of a worker, whose strides change too.
ctypedef struct Strides:
    Array* array
    Array home, away

# Numbers of a force or constraint that differ from world to world.
ctypedef struct Numbers:
    char* to
    const char* source          # of world 0
    Py_ssize_t size, stride

# A number that noise is keyed by, at `seed` (64 bits) or at `number` (32 bits); the other pointer is NULL. World i has
# `first` + i.
ctypedef struct Key:
    uint64_t* seed
    int* number
    uint64_t first

# How the steps of a world went: all are done; ordinary code has to run those that are left; one failed, see the job.
cdef enum Outcome:
    DONE
    LEFT
    FAILED


cdef class Worker:
    cdef Core core
    cdef Every* every
    cdef list kept              # owners of what the following point to
    cdef Pointer* pointer
    cdef Strides* strides
    cdef Numbers* numbers
    cdef Key* key
    cdef Py_ssize_t pointers, arrays, tables, keys
    cdef bint ordinary          # may it fail in ways that only ordinary code handles?
    cdef Array[3] before        # the state before a call
    cdef list errors            # (world, exception) of this call
    cdef int64_t ran            # steps of worlds in this round
    cdef Py_ssize_t left        # steps of the world that are not done
    # Impulses of contacts, or NULL; width, rods: bytes of each pair, and of all rods.
    cdef int64_t* contacts
    cdef char* pair[2]
    cdef char* push[2]
    cdef char* pull[2]
    cdef Py_ssize_t width, rods
    cdef Numbers* loads         # of joints, and which are broken; shapes that move: memory that is saved as it is
    cdef bint moves             # True if shapes move
    cdef Py_ssize_t joints
    # Events of this call: the number of the world, then the row.
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
