"""What steppers of any kind have in common: one lock, one pace, work for threads, changes made in one go."""

cimport cython
from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int64_t

from .guard cimport guard_t, release
from ..kernels.abi.crew cimport Crew
from ..kernels.abi.plan cimport Array, Job
from ..kernels.abi.tables cimport Kernels

cdef extern from *:
    """
    #define KD_LARGEST_TICK (((int64_t) 1 << 62) - 1)
    """
    const int64_t LARGEST_TICK "KD_LARGEST_TICK"    # that of validation.py


# In nanoseconds of work: how much is done before looking for Ctrl-C, and from where on other threads
# may run meanwhile, and take a share of it.
cdef enum:
    PATIENCE = 100_000_000
    RELEASE = 20_000
    SHARE = 1_000_000
    LONGEST = 1 << 30       # steps between two looks: nobody waits for so many


cdef inline Py_ssize_t paced(Py_ssize_t most, Py_ssize_t steps, double seconds) noexcept nogil:
    """How many steps to make between two looks for Ctrl-C, when of `most` so far these took so long.

    That is learnt: no estimate knows how long functions take, how often steps iterate, and on what machine.
    """
    if seconds > PATIENCE * 1e-9:
        return max(<Py_ssize_t> 1, <Py_ssize_t> (steps * (PATIENCE * 0.5e-9 / seconds)))
    if steps == most and seconds < PATIENCE * 0.25e-9 and most < LONGEST:
        return 2 * most
    return most


# Looks for Ctrl-C while kernels run.
cdef class Watch:
    cdef object interrupt       # the exception that was found, or None


cdef bint look(void* watch) noexcept nogil


# What runs the rows of a job, from its first to before its last.
ctypedef void (*run_t)(void* owner, Job* job) noexcept nogil


cdef class Task:
    cdef run_t run
    cdef void* owner
    cdef Job job
    cdef guard_t taken
    cdef PyThread_type_lock running
    cdef void wait(self) noexcept


cdef object run_shared(run_t run, void* owner, Job* job, Py_ssize_t helpers, double work)


# Rows of one array that are to become rows of another.
ctypedef struct Write:
    Array to, source
    Py_ssize_t count, dim, item
    const int64_t* row          # where each goes, or NULL: from 0 on
    # Of an array of another shape, or of other items, which becomes items that lie in a row.
    const Py_ssize_t* shape     # or NULL: the above
    const Py_ssize_t* stride
    int ndim


cdef class Writes:
    """Rows to be written into arrays, prepared so that writing runs no Python code."""

    cdef list kept
    cdef Write* write
    cdef Py_ssize_t count
    cdef void execute(self) noexcept nogil


cdef class Runner:
    cdef const Kernels* kernels
    cdef bint single        # float32
    cdef Job job
    cdef Py_ssize_t helpers
    cdef Py_ssize_t crew_size   # threads of a crew; 1: nobody helps
    cdef Crew crew
    cdef object interrupt   # an exception that waits for the steps to be complete, or None
    cdef guard_t busy
    cdef bint ready         # is everything bound? Nothing runs before
    cdef bint fallible      # may a step fail?
    cdef bint later         # has a part of this call been run?
    cdef Py_ssize_t rows    # bodies or trajectories
    cdef double cost        # of one step of all rows, in nanoseconds
    cdef Py_ssize_t most    # steps between two looks for Ctrl-C
    cdef int64_t completed  # steps
    cdef public object _tape    # what records each step, or None
    cdef list state         # views of the arrays that are stepped
    cdef list saved         # views of arrays to go back to, or None
    cdef int64_t evaluated  # how often forces or right-hand sides were

    cdef int find_kernels(self, object dtype) except -1
    cdef void call(self, Job* job) noexcept nogil

    @cython.final
    cdef inline int run_job(self, Py_ssize_t n, double work) except -1:
        """Run the job for all n rows; what happened is in self.job. `work`: its nanoseconds, roughly."""
        self.job.first = 0
        self.job.last = n
        if work < RELEASE:
            self.call(&self.job)
            return 0
        return self.run_large(work)

    cdef int run_large(self, double work) except -1
    cdef object run_with_crew(self)
    cdef void take_crew(self, Crew* crew) noexcept
    cdef int raise_interrupt(self) except -1
    cdef int lock(self) except -1
    cdef int run_steps(self, object n) except -1
    cdef int go_taped(self, Py_ssize_t steps) except -1
    cdef int record(self, object tape) except -1
    cdef int go(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t run_part(self, Py_ssize_t steps) except -1
    cdef int run(self, Py_ssize_t steps) except -1
    cdef int complete(self, Py_ssize_t steps, bint last) except -1
    cdef int raise_failure(self, const Job* failed) except -1
    cdef int make_room(self) except -1
    cdef int save_and_run(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t run_or_restore(self, Py_ssize_t steps) except -1

    @cython.final
    cdef inline void unlock(self) noexcept:
        release(&self.busy)


# An array of shape (n, dim) for as long as a stepper holds it, and where it lies, as kernels are told.
cdef class View:
    cdef object array
    cdef Array place
    cdef Py_ssize_t n, dim, item    # bytes of a number


cdef list views(arrays)
cdef void copy_views(list to, list source) noexcept
cdef void scatter(
    char* to, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, const char** source, Py_ssize_t item,
) noexcept nogil
cdef void gather(
    const char* source, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, char** to, Py_ssize_t item,
) noexcept nogil
cdef int locate(Array* array, object source) except -1
cdef void copy_array(
    const Array* to, const Array* source, Py_ssize_t n, Py_ssize_t dim, Py_ssize_t item,
) noexcept nogil
