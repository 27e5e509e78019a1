"""Runner, the base of all steppers: a lock, checks for Ctrl-C, splitting work among threads, atomic changes."""

cimport cython
from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport int64_t

from .guard cimport guard_t, release
from ..kernels.abi.plan cimport Job
from ..kernels.abi.coupled cimport Kernels

cdef extern from *:
    const int64_t LARGEST_TICK "(((int64_t) 1 << 62) - 1)"    # as in validation.py


# Work in ns: PATIENCE is the work between two checks for Ctrl-C. Calls with more work than RELEASE release the GIL.
# Jobs with more work than SHARE are split among threads.
cdef enum:
    PATIENCE = 100_000_000
    RELEASE = 20_000
    SHARE = 1_000_000
    LONGEST = 1 << 30       # maximum number of steps between two checks


cdef inline Py_ssize_t paced(Py_ssize_t most, Py_ssize_t steps, double seconds) noexcept nogil:
    """Return the number of steps between two checks for Ctrl-C, from the previous number `most` and the last duration.

    The number adapts at run time, because the cost of user functions and iterations is unknown, as is the machine.
    """
    # In large worlds the cost per step falls with the steps per call, as a call loads each body into the cache once.
    # Therefore the number may grow, at most by a factor of 2, while the proportional estimate fits the interval.
    cdef double fitting = steps * (PATIENCE * 1e-9 / max(seconds, 1e-9)) + 0.5
    if steps < most and fitting > steps:
        return most
    return max(<Py_ssize_t> 1, <Py_ssize_t> min(fitting, min(2.0 * most, <double> LONGEST)))


# Base of objects on which kernels call `look` to check for Ctrl-C.
cdef class Watch:
    cdef object interrupt       # the exception of a signal handler, or None


cdef bint look(void* watch) noexcept nogil


# Function that runs a job on its rows (bodies or trajectories) first to last - 1.
ctypedef void (*run_t)(void* owner, Job* job) noexcept nogil


cdef class Task:
    cdef run_t run
    cdef void* owner
    cdef Job job
    cdef guard_t taken
    cdef PyThread_type_lock running
    cdef void wait(self) noexcept


cdef object run_tasks(list tasks)
cdef object run_shared(run_t run, void* owner, Job* job, Py_ssize_t helpers, double work)


cdef class Runner:
    cdef const Kernels* kernels
    cdef bint single        # float32
    cdef Job job
    cdef Py_ssize_t helpers
    cdef object interrupt   # exception deferred until the steps are complete, or None
    cdef guard_t busy
    cdef bint ready         # True if the constructor has bound everything that `run` requires
    cdef bint fallible      # True if a step may fail
    cdef bint later         # True in all parts of a `step` call except the first
    cdef Py_ssize_t rows    # number of bodies or trajectories
    cdef double cost        # estimate of one step of all rows, in ns
    cdef Py_ssize_t most    # steps between two checks for Ctrl-C
    cdef int64_t completed  # number of completed steps
    cdef public object _tape    # Tape that records each step, or None
    cdef list state         # views of the arrays of the state
    cdef list saved         # views of the saved arrays, or None
    cdef int64_t evaluated  # evaluations of forces or right-hand sides

    cdef int find_kernels(self, object dtype) except -1
    cdef void call(self, Job* job) noexcept nogil

    @cython.final
    cdef inline int run_job(self, Py_ssize_t n, double work) except -1:
        """Run the job on all n rows; self.job receives the outcome. work: the estimated time in ns."""
        self.job.first = 0
        self.job.last = n
        if work < RELEASE:
            self.call(&self.job)
            return 0
        return self.run_large(work)

    cdef int run_large(self, double work) except -1
    cdef int raise_interrupt(self) except -1
    cdef int lock(self) except -1
    cdef int run_steps(self, object n) except -1
    cdef int step_and_show(self, object n, object wanted) except -1
    cdef int coast(self, Py_ssize_t steps) except -1
    cdef int go_taped(self, Py_ssize_t steps) except -1
    cdef int record(self, object tape) except -1
    cdef int go(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t run_part(self, Py_ssize_t steps) except -1
    cdef int run(self, Py_ssize_t steps) except -1
    cdef int complete(self, Py_ssize_t steps, bint raises) except -1
    cdef int raise_failure(self, const Job* failed) except -1
    cdef int make_room(self) except -1
    cdef int save_and_run(self, Py_ssize_t steps) except -1
    cdef Py_ssize_t run_or_restore(self, Py_ssize_t steps) except -1

    @cython.final
    cdef inline void unlock(self) noexcept:
        release(&self.busy)
