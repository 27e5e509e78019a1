"""Runner: the lock, the step loop, the threads and the atomic changes of a stepper.

A stepper is always at a completed tick, whatever signal or error interrupts it. Three rules ensure that:
compiled code takes and releases the lock, around every read or change of the state; work that may fail or be
interrupted is done on copies; and no Python code runs between the first change and the last, because a signal
handler could raise there.
"""

cimport cython
from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
)
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from .guard cimport acquire
from ..kernels.abi.plan cimport ROW, Array
from ..kernels.abi.tables cimport offered_in
from ..kernels.simd.copies cimport move_f32, move_f64, move_rows
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
#: Below this number of bodies a call of memcpy or of a vectorised copy costs more than the copy.
cdef enum:
    FEW = 16
#: Attempts to record a tick on a tape: recording may run out of memory.
cdef int MOST_BEGINNINGS = 64


cdef class Watch:
    """Argument of kernels that check for Ctrl-C themselves."""


cdef bint look(void* watch) noexcept with gil:
    """Check for Ctrl-C; return whether a signal handler raised."""
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        (<Watch> watch).interrupt = error
        return True
    return False


cdef class Task:
    """Job that is run once, by the first thread that calls it; its owner waits for the end."""

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
        """Wait until the job has run; signals do not interrupt this."""
        with nogil:
            PyThread_acquire_lock(self.running, 1)


cdef object run_tasks(list tasks):
    """Run all tasks, with the help of other threads; return a deferred exception, or None."""
    cdef Task task
    interrupt = None
    try:
        share(tasks)
    except BaseException as error:
        # Starting threads runs Python code, in which Ctrl-C or another signal may raise at any point.
        # Tasks that have begun must end: otherwise half of the rows may be ahead of the others.
        interrupt = error
    for task in tasks:
        task()
    for task in tasks:
        task.wait()
    return interrupt


cdef object run_shared(run_t run, void* owner, Job* job, Py_ssize_t helpers, double work):
    """Run a job without the GIL if it is large enough, and share it: a range of its rows for each thread.

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
    blocks = (n + ROW - 1) // ROW  # blocks are whole tiles, too
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
        """Implement `step(n, progress=True)`: several calls of `step`, with their progress between them."""
        in_parts(self.step, validation.steps(n, self.completed), validation.flag("progress", wanted))
        return 0

    @cython.final
    cdef int go(self, Py_ssize_t steps) except -1:
        """Run steps in parts of at most some tenths of a second, and check for Ctrl-C between them."""
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
                    pass  # release the GIL for other threads, such as one that sends a signal
                PyErr_CheckSignals()
        return 0

    cdef int coast(self, Py_ssize_t steps) except -1:
        """Move what moves where there is no row."""
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
        """Record the completed step on the tape. A signal restarts the recording, and raises after it."""
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
        """Run `step(n)` while the lock is acquired already."""
        self.go(validation.steps(n, self.completed))

    cdef Py_ssize_t run_part(self, Py_ssize_t steps) except -1:
        """Run at most `steps` steps, but at least one; count them and return their number."""
        raise NotImplementedError

    cdef int run(self, Py_ssize_t steps) except -1:
        """Run steps; self.job receives the outcome."""
        raise NotImplementedError

    cdef int complete(self, Py_ssize_t steps, bint last) except -1:
        """Count steps that all rows completed; last: True in the last part of a call, which raises errors."""
        raise NotImplementedError

    cdef int raise_failure(self, const Job* failed) except -1:
        """Raise the error of the row that failed."""
        raise NotImplementedError

    cdef int make_room(self) except -1:
        """Allocate buffers to save the state."""
        self.saved = views([np.empty_like((<View> view).array) for view in self.state])
        return 0

    cdef int save_and_run(self, Py_ssize_t steps) except -1:
        copy_views(self.saved, self.state)
        return self.run(steps)

    cdef Py_ssize_t run_or_restore(self, Py_ssize_t steps) except -1:
        """Run steps, or fewer: stop before a step that failed, and halve their number while the end is not finite.

        Non-finite values show only at the end of a part. Ever shorter parts find their tick.
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
            self.most = max(possible, 1)    # keeps the next part short
        if possible > 0:
            self.complete(possible, not unsolved or self.job.bad_body >= 0)
        if unsolved:
            self.raise_interrupt()
            self.raise_failure(&failed)
        return possible

    @property
    def tick(self):
        """Completed steps."""
        return self.completed + self.job.done


cdef void call_runner(void* owner, Job* job) noexcept nogil:
    (<Runner> owner).call(job)


cdef class Writes:
    def __cinit__(self, writes):
        """writes: (array, rows or None, values), of shapes (n, dim), (k,) and (k, dim) or (n, dim).

        Without rows, an array may have any shape and item size, and a single number, (1, 1), may be broadcast to an
        array of two dimensions.
        """
        cdef Write* write
        writes = list(writes)
        self.kept = []
        self.write = <Write*> PyMem_Calloc(max(1, len(writes)), sizeof(Write))
        if self.write == NULL:
            raise MemoryError
        for array, rows, values in writes:
            values = np.ascontiguousarray(values, array.dtype)
            write = &self.write[self.count]
            self.count += 1
            if array.ndim != 2 or array.itemsize not in (4, 8):
                if values.size != array.size:
                    raise AssertionError(f"{values.size} numbers for {array.size}")
                axes = np.array([array.shape, array.strides], np.intp)
                write.to.data = <char*> <size_t> array.ctypes.data
                write.source.data = <char*> <size_t> values.ctypes.data
                write.item, write.ndim = array.itemsize, array.ndim
                write.shape = <const Py_ssize_t*> <size_t> axes.ctypes.data
                write.stride = write.shape + write.ndim
                self.kept.append((array, axes, values))
                continue
            if rows is not None:
                rows = np.ascontiguousarray(rows, np.int64)
                write.row = <const int64_t*> <size_t> rows.ctypes.data
            write.count, write.dim, write.item = len(values), array.shape[1], array.itemsize
            locate(&write.to, array)
            locate(&write.source, values)
            if rows is None and values.size == 1:
                write.count, write.source.body, write.source.component = len(array), 0, 0
            self.kept.append((array, rows, values))

    def __dealloc__(self):
        PyMem_Free(self.write)

    cdef void execute(self) noexcept nogil:
        cdef Py_ssize_t number, i
        cdef Write* write
        cdef Array to, source
        cdef const char* items
        for number in range(self.count):
            write = &self.write[number]
            if write.shape != NULL:
                items = write.source.data
                scatter(write.to.data, write.shape, write.stride, write.ndim, &items, write.item)
                continue
            if write.row == NULL:
                copy_array(&write.to, &write.source, write.count, write.dim, write.item)
                continue
            to, source = write.to, write.source
            for i in range(write.count):
                to.data = write.to.data + write.row[i] * to.body
                source.data = write.source.data + i * source.body
                copy_array(&to, &source, 1, write.dim, write.item)


cdef class View:
    """Base class: an array as a typed memoryview, with its address and strides for kernels."""

    def __cinit__(self, array):
        self.array = array
        self.n, self.dim = array.shape
        self.item = array.itemsize


# Not in runner.pxd: modules that see memoryviews are twice as large.
cdef class SingleView(View):
    cdef float[:, :] numbers

    def __init__(self, array):
        self.numbers = array
        self.place = place_of[float](self.numbers)


cdef class DoubleView(View):
    cdef double[:, :] numbers

    def __init__(self, array):
        self.numbers = array
        self.place = place_of[double](self.numbers)


ctypedef fused number:
    float
    double


@cython.boundscheck(False)
cdef Array place_of(number[:, :] numbers) noexcept:
    cdef Array place
    place.data = <char*> &numbers[0, 0]  # for an empty array: where an item would be
    place.body, place.component = numbers.strides[0], numbers.strides[1]
    return place


cdef list views(arrays):
    return [SingleView(array) if array.dtype == np.float32 else DoubleView(array) for array in arrays]


cdef void copy_views(list to, list source) noexcept:
    """Copy arrays to as many others of equal shapes and dtype."""
    cdef Py_ssize_t number
    cdef View here, there
    for number in range(len(to)):
        here, there = <View> to[number], <View> source[number]
        copy_array(&here.place, &there.place, here.n, here.dim, here.item)


cdef bint same_views(list one, list other) noexcept:
    """Return whether arrays have the bits of as many others of equal shapes and dtype."""
    cdef Py_ssize_t number, i
    cdef View here, there
    cdef const char* mine
    cdef const char* its
    cdef int j
    for number in range(len(one)):
        here, there = <View> one[number], <View> other[number]
        if (
            here.place.component == here.item and here.place.body == here.dim * here.item
            and there.place.component == here.item and there.place.body == here.place.body
        ):
            if memcmp(here.place.data, there.place.data, here.n * here.place.body) != 0:
                return False
            continue
        for i in range(here.n):
            for j in range(here.dim):
                mine = here.place.data + i * here.place.body + j * here.place.component
                its = there.place.data + i * there.place.body + j * there.place.component
                if memcmp(mine, its, here.item) != 0:
                    return False
    return True


cdef void scatter(
    char* to, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, const char** source, Py_ssize_t item,
) noexcept nogil:
    """Copy contiguous items to an array of any shape; `source` advances to their end."""
    cdef Py_ssize_t i
    if ndim == 0 or ndim == 1 and stride[0] == item:
        i = item if ndim == 0 else shape[0] * item
        memcpy(to, source[0], i)
        source[0] += i
        return
    for i in range(shape[0]):
        scatter(to + i * stride[0], shape + 1, stride + 1, ndim - 1, source, item)


cdef void gather(
    const char* source, const Py_ssize_t* shape, const Py_ssize_t* stride, int ndim, char** to, Py_ssize_t item,
) noexcept nogil:
    """Copy the items of an array of any shape to contiguous memory; `to` advances to their end."""
    cdef Py_ssize_t i
    if ndim == 0 or ndim == 1 and stride[0] == item:
        i = item if ndim == 0 else shape[0] * item
        memcpy(to[0], source, i)
        to[0] += i
        return
    for i in range(shape[0]):
        gather(source + i * stride[0], shape + 1, stride + 1, ndim - 1, to, item)


cdef int locate(Array* array, object source) except -1:
    """Set the address and strides of an array of shape (n, dim); the array is not kept alive."""
    cdef Py_buffer view  # three times faster than NumPy's attributes for address and strides
    PyObject_GetBuffer(source, &view, PyBUF_STRIDES)
    array.data = <char*> view.buf
    array.body, array.component = view.strides[0], view.strides[1]
    PyBuffer_Release(&view)
    return 0


cdef void copy_array(
    const Array* to, const Array* source, Py_ssize_t n, Py_ssize_t dim, Py_ssize_t item,
) noexcept nogil:
    """Copy (n, dim) numbers of `item` bytes each, for any strides of both arrays."""
    cdef bint rows = to.component == item and to.body == dim * item
    cdef bint planes = to.body == item and to.component == n * item
    if (rows or planes) and to.body == source.body and to.component == source.component:
        memcpy(to.data, source.data, n * dim * item)
    elif swaps(to, source, dim, item):
        transpose(False, dim, to, source, n, item)
    elif swaps(source, to, dim, item):
        transpose(True, dim, source, to, n, item)
    else:
        copy_components(to, source, n, dim, item)


cdef inline bint swaps(const Array* planes, const Array* rows, Py_ssize_t dim, Py_ssize_t item) noexcept nogil:
    return (dim == 2 or dim == 3) and planes.body == item and rows.component == item and rows.body == dim * item


cdef inline void transpose(
    bint out, Py_ssize_t dim, const Array* planes, const Array* rows, Py_ssize_t n, Py_ssize_t item,
) noexcept nogil:
    """Copy rows to planes, or out of them."""
    if item == 4:
        move_rows[float](out, <int> dim, <float*> planes.data, planes.component // 4, <float*> rows.data, n)
    else:
        move_rows[double](out, <int> dim, <double*> planes.data, planes.component // 8, <double*> rows.data, n)


cdef void copy_components(
    const Array* to, const Array* source, Py_ssize_t n, Py_ssize_t dim, Py_ssize_t item,
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(dim):
        if item == 4:
            copy_strided[uint32_t](
                to.data + j * to.component, to.body, source.data + j * source.component, source.body, n, 0
            )
        else:
            copy_strided[uint64_t](
                to.data + j * to.component, to.body, source.data + j * source.component, source.body, n, 0
            )


ctypedef fused word:
    uint32_t
    uint64_t


cdef inline void copy_strided(
    char* to, Py_ssize_t to_stride, const char* source, Py_ssize_t source_stride, Py_ssize_t n, word like,
) noexcept nogil:
    """Copy n numbers; `like` only sets their type."""
    cdef Py_ssize_t i
    if n < FEW:
        for i in range(n):
            (<word*> (to + i * to_stride))[0] = (<const word*> (source + i * source_stride))[0]
    elif to_stride == sizeof(word) and source_stride == sizeof(word):
        memcpy(to, source, n * sizeof(word))
    elif to_stride == sizeof(word):
        if word is uint32_t:
            move_f32(False, <float*> to, <char*> source, source_stride, n)
        else:
            move_f64(False, <double*> to, <char*> source, source_stride, n)
    elif source_stride == sizeof(word):
        if word is uint32_t:
            move_f32(True, <float*> source, to, to_stride, n)
        else:
            move_f64(True, <double*> source, to, to_stride, n)
    else:
        for i in range(n):
            (<word*> (to + i * to_stride))[0] = (<const word*> (source + i * source_stride))[0]
