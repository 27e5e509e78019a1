"""A job that is run in one go, or shared out among threads."""

cimport cython
from cpython.pythread cimport PyThread_type_lock

from .guard cimport guard_t
from ..kernels.abi.plan cimport Job
from ..kernels.abi.tables cimport Kernels

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


cdef class Sharing:
    cdef const Kernels* kernels
    cdef bint single        # float32
    cdef Job job
    cdef Py_ssize_t helpers
    cdef object interrupt   # an exception that waits for the steps to be complete, or None

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
        return self.run_large(n, work)

    cdef int run_large(self, Py_ssize_t n, double work) except -1
    cdef int run_shared(self, Py_ssize_t n) except -1
    cdef int raise_interrupt(self) except -1


cdef class Task:
    cdef Sharing whole
    cdef Job job
    cdef guard_t taken
    cdef PyThread_type_lock running
    cdef void wait(self) noexcept
