"""Coupled: workspace, bound interactions and bound constraints of coupled bodies."""

from libc.stdint cimport int64_t, uint8_t

from ..kernels.abi.constraints cimport ConstraintCall
from ..kernels.abi.events cimport EventSource
from ..kernels.abi.plan cimport Array, Job, Plan
from ..kernels.abi.coupled cimport CoupledTable, Coupling, InteractionCall, Kernels
from .events cimport EventStore, Touches
from .runner cimport Watch
from .slots cimport Links, Slots
from .walls cimport Common


cdef class Coupled(Watch):
    cdef const CoupledTable* table
    cdef object model               # the Plan of model.py
    cdef Py_ssize_t item            # bytes of a number
    cdef Coupling coupling
    cdef list bound_interactions, bound_constraints
    cdef dict known                 # `lineage` of a record -> (record, bound object); includes disabled records
    cdef InteractionCall* interaction
    cdef ConstraintCall* constraint
    cdef Common common              # shared by all constraints
    cdef object weights, weights_of, at_rest    # arrays of `common`; weights_of: the model array that `weights` copies
    cdef EventSource** events                # event recorders, one per constraint that records events
    cdef int64_t* source            # constraint number of each event recorder
    cdef int64_t* was               # `source` in the previous binding: constraints may be renumbered
    cdef int64_t event_source_count
    cdef list arrays                # memory that pointers of this class refer to
    cdef double cost                # estimated time of interactions and constraints, ns per step of all bodies
    cdef Py_ssize_t helpers         # maximum number of threads that share a step
    cdef bint fallible              # True if an interaction may fail
    # All bodies as one tile:
    cdef object workspace           # the registers of all bodies, or None if tiles step separately
    cdef bytearray tiles            # memory of `coupling.near`: per tile, 1 if it steps in the workspace; or None
    cdef object newton              # the registers of implicit steps, or None
    cdef Plan[2] whole              # plan of the bodies in the workspace, for each state buffer
    cdef Links links                # data that changes when bodies are removed, or None
    cdef double looked              # time of the last check for Ctrl-C
    cdef bint repeatable            # True if accelerations depend on positions only: a later call may reuse them
    cdef bint sleeps                # True if bodies may sleep and a step depends on the state only
    cdef uint8_t* rested            # `rested` of Contacts, a mask of the bodies that rested in the last step; or NULL
    cdef const Plan* last           # plan of the state buffer for which the workspace still has accelerations, or NULL
    # For models with gravity and one Python function only, under one of the most used schemes:
    cdef bint only_function
    cdef list shown                 # state arrays of which the function has views, or None
    cdef const char* shown_at       # address of the positions in `shown`
    cdef list between               # arrays for the intermediate state between two stages, and for the output
    cdef Array[3] seen              # addresses and strides of `between`

    @staticmethod
    cdef Coupled of(
        object model, const CoupledTable* table, const Plan* plan, Py_ssize_t threads, Coupled previous, list writes,
    )

    cdef int listen(self, EventStore store, object model, object before) except -1
    cdef void take_over(self, Coupled other, Touches touches) noexcept
    cdef bint bind_interactions(
        self, object model, const Plan* plan, Py_ssize_t threads, Coupled previous, list writes,
    ) except -1
    cdef int bind_all_constraints(self, object model, Coupled previous, list writes) except -1
    cdef bint only_static(self, object model, const Plan* plan) except -1
    cdef bint is_only_put_back(self, object model) except -1
    cdef int bind_workspace(self, object model, bint implicit, Coupled previous) except -1
    cdef int bind_implicit(self, object model, const Plan* plan) except -1
    cdef void prepare(self, const Plan* plan, bint componentwise, const Kernels* kernels) noexcept
    cdef int find_links(self, Slots slots, Coupled previous) except -1
    cdef int bind_common(self, object model, Coupled previous) except -1
    cdef bint only_few(self) noexcept nogil
    cdef void coast(self, Py_ssize_t steps) noexcept nogil
    cdef void clear_inactive(self) noexcept nogil
    cdef void forget_pairs(self) noexcept nogil
    cdef bint touches(self) noexcept nogil
    cdef int end_contacts(self, int64_t tick) except -1
    cdef void wake(self) noexcept nogil
    cdef void place(self, Array* array, Py_ssize_t number) noexcept
    cdef void enter(self, const Plan* plan) noexcept nogil
    cdef const Plan* buffer(self, Py_ssize_t steps) noexcept nogil
    cdef bint recalls(self, const Plan* plan) noexcept nogil
    cdef void leave(self, const Plan* plan, Py_ssize_t steps) noexcept nogil
    cdef bint show(self, const Plan* plan, list state) except -1
    cdef int raise_failure(self, const Job* failed) except -1
