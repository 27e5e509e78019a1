"""Sharing: what steppers of any kind do with a job once it is described."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
)

from .guard cimport acquire
from ..kernels.abi.plan cimport ROW
from ..kernels.abi.tables cimport offered_in

import numpy as np

from .. import kernels
from .workers import share


cdef class Watch:
    """What kernels that look for Ctrl-C by themselves are called with."""


cdef bint look(void* watch) noexcept with gil:
    """Did anybody press Ctrl-C?"""
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        (<Watch> watch).interrupt = error
        return True
    return False


cdef class Sharing:
    """Base of the steppers' cores; what derives from it knows how to run a job: `call`."""

    cdef int find_kernels(self, object dtype) except -1:
        """Those of the instruction set in use, for this kind of number."""
        self.single = dtype == np.float32
        self.kernels = offered_in(kernels.offered())
        if not self.single:
            self.kernels += 1
        return 0

    cdef void call(self, Job* job) noexcept nogil:
        pass

    cdef int run_large(self, Py_ssize_t n, double work) except -1:
        """Run a job that is worth releasing the GIL, and perhaps sharing."""
        if self.helpers == 1 or work < SHARE:
            with nogil:
                self.call(&self.job)
        else:
            self.run_shared(n)
        return 0

    cdef int run_shared(self, Py_ssize_t n) except -1:
        """Give each thread a range; what is stepped does not see each other, so no bit depends on it."""
        cdef Job* job = &self.job
        cdef Job part
        cdef Task task
        blocks = (n + ROW - 1) // ROW  # which are whole tiles too
        edges = [blocks * i // self.helpers * ROW for i in range(self.helpers + 1)]
        tasks = []
        for first, last in zip(edges, edges[1:]):
            if first < last:
                task = Task()
                task.whole = self
                task.job = job[0]
                task.job.first = first
                task.job.last = min(last, n)
                tasks.append(task)
        try:
            share(tasks)
        except BaseException as error:
            # Hiring runs Python code, in which Ctrl-C or another signal may strike at any place. But
            # what is begun must be brought to an end: half of the rows may be ahead of the others.
            self.interrupt = error
        for task in tasks:
            task()
        for task in tasks:
            task.wait()
        job.bad_body = -1
        job.code = 0
        job.failed_step = job.steps
        job.evaluations = 0
        for task in tasks:
            part = task.job
            if job.bad_body < 0:
                job.bad_body = part.bad_body
            if part.failed_step < job.failed_step:
                job.failed_step = part.failed_step
                job.failed_body = part.failed_body
                job.residual = part.residual
                job.code = part.code
                job.failed_push = part.failed_push
            job.evaluations = max(job.evaluations, part.evaluations)
        return 0

    cdef int raise_interrupt(self) except -1:
        if self.interrupt is not None:
            error, self.interrupt = self.interrupt, None
            raise error
        return 0


cdef class Task:
    """A range of the rows, which is run once, by the first thread that calls."""

    def __cinit__(self):
        self.running = PyThread_allocate_lock()
        if self.running == NULL:
            raise MemoryError
        PyThread_acquire_lock(self.running, 1)

    def __dealloc__(self):
        if self.running != NULL:
            PyThread_release_lock(self.running)
            PyThread_free_lock(self.running)

    def __call__(self):
        cdef Sharing whole = self.whole
        if acquire(&self.taken):
            with nogil:
                whole.call(&self.job)
            PyThread_release_lock(self.running)

    cdef void wait(self) noexcept:
        """Until it has been run; takes no notice of signals."""
        with nogil:
            PyThread_acquire_lock(self.running, 1)
