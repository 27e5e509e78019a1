"""Runner: the lock, the step loop, the threads and the atomic changes of a stepper.

A stepper is always at a completed tick, even after a signal or an error. Three rules ensure this invariant:
compiled code acquires and releases the lock around every read or change of the state; work that may fail or be
interrupted is done on copies; and no Python code runs between the first change and the last, because a signal
handler could raise there.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint64_t
from cpython.pythread cimport PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock

from .guard cimport acquire
from .views cimport View, copy_views, locate, views
from ..kernels.abi.plan cimport ROW, Array
from ..kernels.abi.coupled cimport offered_in
from ..kernels.simd.rounding cimport require_rounding

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object n, int* overflow) except? -1

from time import perf_counter

import numpy as np

from .. import kernels, validation
from ..progress import in_parts
from .workers import share

require_rounding(__name__)

cdef object ONE = 1
#: Maximum number of attempts to record a tick on a tape. A signal fails one attempt; a MemoryError may fail all.
cdef int MOST_BEGINNINGS = 64


cdef class Watch:
    """Base of objects on which kernels call `look` to check for Ctrl-C."""


cdef bint look(void* watch) noexcept with gil:
    """Check for Ctrl-C; return whether a signal handler raised."""
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        (<Watch> watch).interrupt = error
        return True
    return False


cdef class Task:
    """Job that the first thread to call the task runs, exactly once; `wait` waits for its end."""

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
        if acquire(&self.taken):
            with nogil:
                self.run(self.owner, &self.job)
            PyThread_release_lock(self.running)

    cdef void wait(self) noexcept:
        """Wait until the job has run; signals do not interrupt the wait."""
        with nogil:
            PyThread_acquire_lock(self.running, 1)


cdef object run_tasks(list tasks):
    """Run all tasks, in this thread and in others; return a deferred exception, or None."""
    cdef Task task
    interrupt = None
    try:
        share(tasks)
    except BaseException as error:
        # Starting threads runs Python code, where a signal handler (Ctrl-C) may raise at any point.
        # Complete all tasks nevertheless: otherwise some rows would be steps ahead of others.
        interrupt = error
    for task in tasks:
        task()
    for task in tasks:
        task.wait()
    return interrupt


cdef object run_shared(run_t run, void* owner, Job* job, Py_ssize_t helpers, double work):
    """Run a job without the GIL. Split a large job into one range of rows per thread.

    Rows are independent: results are bitwise equal for any number of threads. Return the exception that is
    deferred until the steps are complete, or None.
    """
    cdef Job part
    cdef Task task
    cdef Py_ssize_t n = job.last
    if helpers == 1 or work < SHARE:
        with nogil:
            run(owner, job)
        return None
    blocks = (n + ROW - 1) // ROW  # kernels require ranges that begin at multiples of ROW
    edges = [blocks * i // helpers * ROW for i in range(helpers + 1)]
    tasks = []
    for first, last in zip(edges, edges[1:]):
        if first < last:
            task = Task()
            task.run, task.owner = run, owner
            task.job = job[0]
            task.job.first = first
            task.job.last = min(last, n)
            tasks.append(task)
    interrupt = run_tasks(tasks)
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
            job.failed_part = part.failed_part
        job.evaluations = max(job.evaluations, part.evaluations)
    return interrupt


cdef class Runner:
    """Base class of steppers: runs steps.

    Derived classes implement `call`, which runs a job, and `run_part`, which runs a part of the steps.
    """

    cdef int find_kernels(self, object dtype) except -1:
        """Select the kernels of the current instruction set, for this dtype."""
        self.single = dtype == np.float32
        self.kernels = offered_in(kernels.offered())
        if not self.single:
            self.kernels += 1
        return 0

    cdef void call(self, Job* job) noexcept nogil:
        pass

    cdef int run_large(self, double work) except -1:
        interrupt = run_shared(call_runner, <void*> self, &self.job, self.helpers, work)
        if interrupt is not None:
            self.interrupt = interrupt
        return 0

    cdef int raise_interrupt(self) except -1:
        if self.interrupt is not None:
            error, self.interrupt = self.interrupt, None
            raise error
        return 0

    @cython.final
    cdef int lock(self) except -1:
        """Lock the stepper for this thread. Only the caller that acquired the lock calls `unlock`."""
        if not acquire(&self.busy):
            raise RuntimeError("this stepper is stepping already: it serves one thread at a time")
        if not self.ready:
            self.unlock()
            raise RuntimeError("this stepper was never made: its __init__ did not run to its end")
        return 0

    def _exclusively(self, function, *given):
        """Call function(*given) while no other thread may read or change the state."""
        self.lock()
        try:
            return function(*given)
        finally:
            self.unlock()

    @cython.final
    cdef int run_steps(self, object n) except -1:
        """Implement `step(n)`."""
        cdef int overflow = 1
        cdef long long steps = 0
        if n is ONE:  # the usual argument
            overflow, steps = 0, 1
        elif type(n) is int:
            steps = PyLong_AsLongLongAndOverflow(n, &overflow)
        if overflow or steps < 0:
            steps = validation.steps(n, self.completed)
        self.lock()
        try:
            self.go(steps)
        finally:
            self.unlock()
        return 0

    @cython.final
    cdef int step_and_show(self, object n, object wanted) except -1:
        """Implement `step(n, progress=True)`: call `step` several times, and print the progress in between."""
        in_parts(self.step, validation.steps(n, self.completed), validation.flag("progress", wanted))
        return 0

    @cython.final
    cdef int go(self, Py_ssize_t steps) except -1:
        """Run steps in parts of at most some tenths of a second, and check for Ctrl-C between the parts."""
        cdef Py_ssize_t part, done
        cdef bint timed
        if steps > LARGEST_TICK - self.completed:
            validation.steps(steps, self.completed)  # raises
        if self._tape is not None:
            return self.go_taped(steps)
        if self.rows == 0:
            self.coast(steps)
            self.completed += steps
            return 0
        self.later = False
        while steps > 0:
            part = min(steps, self.most)
            timed = part == self.most or self.fallible
            if timed:
                started = perf_counter()
            done = self.run_part(part)
            if timed and done == part:
                self.most = paced(self.most, part, perf_counter() - started)
            steps -= done
            self.later = True
            if steps > 0:
                with nogil:
                    pass  # let other threads take the GIL, such as one that sends a signal
                PyErr_CheckSignals()
        return 0

    cdef int coast(self, Py_ssize_t steps) except -1:
        """Run steps of a stepper without bodies: only moving shapes advance."""
        return 0

    cdef int go_taped(self, Py_ssize_t steps) except -1:
        """Run steps one by one, and record the state before and after each on the tape."""
        tape, self._tape = self._tape, None
        try:
            for _ in range(steps):
                tape._before(self)
                try:
                    self.go(1)
                finally:
                    self.record(tape)
        finally:
            self._tape = tape
        return 0

    cdef int record(self, object tape) except -1:
        """Record the completed step on the tape. After an exception (a signal), record again, then raise it."""
        interrupt = None
        for _ in range(MOST_BEGINNINGS):
            try:
                tape._after(self)
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
        return 0

    def _step(self, n):
        """Run `step(n)` for a caller that has the lock."""
        self.go(validation.steps(n, self.completed))

    cdef Py_ssize_t run_part(self, Py_ssize_t steps) except -1:
        """Run at most `steps` steps, but at least one; count them and return their number."""
        raise NotImplementedError

    cdef int run(self, Py_ssize_t steps) except -1:
        """Run steps; self.job receives the outcome."""
        raise NotImplementedError

    cdef int complete(self, Py_ssize_t steps, bint raises) except -1:
        """Count steps that all rows completed. raises: whether to raise a deferred interrupt or NonFiniteError.

        With raises=False, a later step failed, and the caller raises the error of that step.
        """
        raise NotImplementedError

    cdef int raise_failure(self, const Job* failed) except -1:
        """Raise the error of the row that failed."""
        raise NotImplementedError

    def _digest(self, values, uint64_t place):
        cdef Array array
        locate(&array, values)
        return self.kernels.digest(&array, values.shape[0], values.shape[1], place, NULL)

    cdef int make_room(self) except -1:
        """Allocate buffers to save the state."""
        self.saved = views([np.empty_like((<View> view).array) for view in self.state])
        return 0

    cdef int save_and_run(self, Py_ssize_t steps) except -1:
        copy_views(self.saved, self.state)
        return self.run(steps)

    cdef Py_ssize_t run_or_restore(self, Py_ssize_t steps) except -1:
        """Run steps: stop before a failed step, and rerun half as many steps while the result is not finite.

        Kernels check for non-finite values only after the last step. Halving finds the tick of the first one.
        """
        cdef Py_ssize_t possible = steps
        cdef bint unsolved = False
        cdef Job failed
        if self.saved is None:
            self.make_room()
        self.save_and_run(possible)
        while self.job.failed_step < possible or (self.job.bad_body >= 0 and possible > 1):
            unsolved = self.job.failed_step < possible
            failed = self.job
            possible = failed.failed_step if unsolved else possible // 2
            copy_views(self.state, self.saved)
            if possible == 0:
                break
            self.run(possible)
        if possible < steps:
            self.most = max(possible, 1)    # later parts must be as short
        if possible > 0:
            self.complete(possible, not unsolved or self.job.bad_body >= 0)
        if unsolved:
            self.raise_interrupt()
            self.raise_failure(&failed)
        return possible

    @property
    def tick(self):
        """Number of completed steps."""
        return self.completed + self.job.done


cdef void call_runner(void* owner, Job* job) noexcept nogil:
    (<Runner> owner).call(job)
