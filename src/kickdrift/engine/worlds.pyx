"""WorldsCore: the compiled part of Worlds, which distributes worlds to workers."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from .bodies cimport Core
from .guard cimport acquire, guard_t, release
from .runner cimport PATIENCE, SHARE, Task, paced, run_tasks
from .slots cimport address
from .worker cimport Every, Numbers, Saved, Worker, make_room, run_worker
from .world_numbers cimport bound_by, number_blocks
from ..kernels.simd.rounding cimport require_rounding

from time import perf_counter

import numpy as np

from ..errors import in_world

require_rounding(__name__)


cdef int write(list writes) except -1:
    for array, index, values in writes:
        array[index] = values
    return 0


cdef class WorldsCore:
    """Compiled base of Worlds. Call `_found` once the arrays of all worlds exist."""

    cdef Every every
    cdef list workers
    cdef guard_t busy
    cdef double cost            # estimated nanoseconds per step of one world
    cdef Py_ssize_t most        # steps, summed over worlds, between two checks for Ctrl-C
    cdef public bint _rebinding     # True from the start to the end of a change of bindings
    # The arrays of all worlds.
    cdef public list _state_arrays      # positions, velocities, history: (worlds, n, dim)
    cdef public list _turning_arrays    # (worlds, n, k)
    cdef public list _applied_arrays, _torque_arrays
    cdef public object _tick, _began, _spanned, _stale, _alive, _needs_start, _generation, _pending, _dropped
    cdef object table, blocks, bound    # table of the coefficients of each world: see `_begin_numbers`
    cdef object loaded          # indices of the blocks that workers load with each world; None without a table

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.every.saved != NULL:
            for i in range(self.every.worlds):
                free(self.every.saved[i].data)
            PyMem_Free(self.every.saved)

    def _found(self, list steppers, Py_ssize_t number):
        """Create a worker for each stepper, and set all worlds to the state of these steppers."""
        cdef Worker worker
        cdef Core core = steppers[0]
        self.every.worlds, self.every.n = number, core.plan.n
        self.workers = []
        self._tick = np.full(number, core.completed, np.int64)
        self._began = np.full(number, core.started, np.uint8)
        self._spanned = np.full(number, core.plan.last_h)
        self._stale = np.ones(number, np.uint8)
        self._pending, self._dropped = np.zeros(number, np.int64), np.zeros(number, np.int64)
        self.every.tick, self.every.started = <int64_t*> address(self._tick), <uint8_t*> address(self._began)
        self.every.last_h, self.every.stale = <double*> address(self._spanned), <uint8_t*> address(self._stale)
        self.every.pending, self.every.dropped = <int64_t*> address(self._pending), <int64_t*> address(self._dropped)
        if core.store is not None:
            self.every.capacity = core.store.log.capacity
        reports = core.coupled is not None and core.coupled.event_source_count > 0
        if steppers[0]._impulses is not None or steppers[0]._plan.loads or steppers[0]._motion is not None or reports:
            self.every.saved = <Saved*> PyMem_Calloc(max(1, number), sizeof(Saved))
            if self.every.saved == NULL:
                raise MemoryError
        for stepper in steppers:
            worker = Worker()
            worker.core, worker.every, worker.errors = stepper, &self.every, []
            self.workers.append(worker)
        self._bind_again()
        self.cost = core.cost
        self.most = min(<Py_ssize_t> (0.25 * PATIENCE / self.cost) + 1, <Py_ssize_t> 1 << 16)
        if core.slots is not None:
            self._take_slots(steppers[0]._book())
        self._write([], spread=np.arange(number))

    def _take_slots(self, book=None):
        """Create slots for each world: copies of `book` (a `Slots` of stepper/slots.py), or (None) all active.

        The workers' slots are no source, because they may belong to a snapshot that only some worlds adopt.
        """
        cdef Worker worker
        cdef Core core
        cdef bint within = self._rebinding      # True: the caller continues the change
        self._rebinding = True
        for worker in self.workers:
            worker.core.make_slots()
            worker.tables = 0   # slots replace the binding, and `numbers` point to memory of the old one
        core = self._fitted     # the binding of this stepper must have the same layout as the workers' bindings
        core.make_slots()
        self._bind_again()
        self.loaded = None   # the table is that of the binding without slots
        rows = self.every.worlds, self.every.n
        alive, needs_start = np.ones(rows, np.uint8), np.zeros(rows, np.uint8)
        generation = np.ones(rows, np.int64)
        if book is not None:
            alive[:], generation[:], needs_start[:] = book.alive, book.generation, book.needs_start[: self.every.n]
        self.every.alive, self.every.needs_start = <uint8_t*> address(alive), <uint8_t*> address(needs_start)
        self.every.generation = <int64_t*> address(generation)
        self._alive, self._needs_start, self._generation = alive, needs_start, generation
        if self._numbers:
            self._fit(self._numbers)
        self._rebinding = within

    def _bind_again(self):
        """Recreate the pointer lists of all workers, after a change of arrays or of the workers' bindings."""
        cdef Worker worker
        for worker in self.workers:
            worker.bind(self._state_arrays, self._turning_arrays, self._applied_arrays, self._torque_arrays)

    def _begin_numbers(self, Core core):
        """Allocate the table of coefficients, one row per world. core: the stepper that computes the rows in turn."""
        self.loaded, self.blocks = None, number_blocks(core)
        self.table = self._new_rows(self.every.worlds)
        self.bound = bound_by(core)

    def _has_numbers(self):
        """Return whether the table of coefficients is complete, and fits the workers' bindings."""
        return self.loaded is not None

    def _new_rows(self, Py_ssize_t count):
        return np.zeros((count, sum([size for _, size in self.blocks])), np.uint8)

    def _copy_numbers(self, Core core, row):
        """Copy the coefficients of `core` to a row like those of the table; return False if its binding differs."""
        cdef char* to = <char*> address(row)
        cdef Py_ssize_t place, size
        if bound_by(core) != self.bound:
            return False
        for place, size in number_blocks(core):
            memcpy(to, <const void*> <size_t> place, size)
            to += size
        return True

    def _take_numbers(self, Core core, Py_ssize_t i, str what):
        """Copy the coefficients of `core` to row i of the table. what: name of the coefficients, for errors."""
        if not self._copy_numbers(core, self.table[i]):
            raise ValueError(
                f"{what}: expected numbers that may differ from world to world; those of world {i} need other pairs, "
                f"shapes or steps than those of world 0 (radii of bodies that collide, stiffness, iterations and "
                f"breaks_at of a Distance, and places of shapes are the same in all worlds; a drag is 0 in all or none)"
            )

    def _end_numbers(self, bint differ):
        """Let workers load, with each world, those coefficients that differ between worlds.

        differ: whether all rows of the table were taken; else all worlds have the numbers of the first.
        """
        cdef Worker worker
        cdef Py_ssize_t offset
        if not differ:
            self.table[1:] = self.table[:1]
        loaded, offset = set(), 0
        for number, (_, size) in enumerate(self.blocks):
            part = self.table[:, offset : offset + size]
            if differ and (part != part[:1]).any():
                loaded.add(number)
            offset += size
        for worker, blocks in zip(self.workers, self.blocks_of_workers()):
            worker.tables = 0
            PyMem_Free(worker.numbers)
            worker.numbers = NULL   # if the allocation fails, the destructor must not free the old memory again
            worker.numbers = <Numbers*> PyMem_Calloc(len(blocks) + 1, sizeof(Numbers))
            if worker.numbers == NULL:
                raise MemoryError
            offset = 0
            for number, (place, size) in enumerate(blocks):
                if self.every.worlds > 0:   # the memory still has the coefficients of the last world that was loaded
                    memcpy(<void*> <size_t> place, <const char*> <size_t> self.table.ctypes.data + offset, size)
                if number in loaded:
                    self.load_block(worker, place, offset, size)
                offset += size
        self.loaded = loaded

    def _change_numbers(self, rows, found):
        """Replace rows of the table. Coefficients that change are loaded with each world from now on."""
        cdef Worker worker
        cdef Py_ssize_t offset = 0
        changed, more = (self.table[rows] != found).any(axis=0), []
        for number, (_, size) in enumerate(self.blocks):
            if number not in self.loaded and changed[offset : offset + size].any():
                more.append((number, offset))
            offset += size
        if more:
            for worker, blocks in zip(self.workers, self.blocks_of_workers()):
                for number, offset in more:
                    place, size = blocks[number]
                    self.load_block(worker, place, offset, size)
            self.loaded.update([number for number, _ in more])
        self.table[rows] = found

    cdef list blocks_of_workers(self):
        """Return the coefficients in each worker's memory, in the order of those of the table."""
        blocks_of_all = [number_blocks((<Worker> each).core) for each in self.workers]
        sizes = [size for _, size in self.blocks]
        if any([[size for _, size in blocks] != sizes for blocks in blocks_of_all]):
            raise AssertionError("workers that are bound otherwise")
        return blocks_of_all

    cdef int load_block(self, Worker worker, size_t place, Py_ssize_t offset, Py_ssize_t size) except -1:
        """Let a worker load coefficients with each world. offset: their place in a row of the table."""
        cdef Numbers* numbers = &worker.numbers[worker.tables]
        numbers.to, numbers.size = <char*> place, size
        numbers.source = <const char*> <size_t> self.table.ctypes.data + offset
        numbers.stride = self.table.strides[0]
        worker.tables += 1
        return 0

    def _exclusively(self, function, *given, **named):
        """Call a function while no other thread may use the worlds.

        In Python, a signal handler that raises between the lock and `try` would leave the worlds locked.
        """
        if not acquire(&self.busy):
            raise RuntimeError("these worlds are stepping already: they serve one thread at a time")
        try:
            if self._rebinding:
                self._finish_rebinding()
            return function(*given, **named)
        finally:
            if self.workers:
                (<Worker> self.workers[0]).go_home()    # after an interrupt it may still have the noise of one world
            release(&self.busy)

    def _load(self, Py_ssize_t i, list writes):
        """Load world i into the first worker's stepper: its arrays by `writes`, the other state by `Worker.load`."""
        write(writes)
        (<Worker> self.workers[0]).load(i)

    def _store(self, Py_ssize_t i, list writes):
        cdef Worker worker = self.workers[0]
        write(writes)
        worker.store(i)
        worker.go_home()
        self._raise_errors()

    def _write(self, list writes, const int64_t[::1] spread=None, copies=None):
        """Change arrays of all worlds atomically: no signal handler runs between the changes.

        writes: (array, index, values). spread: the worlds that receive the first worker's state beyond arrays
        (`Worker.store`). copies: (source, target), the worlds between which `Saved` is copied.
        """
        cdef Worker worker = self.workers[0]
        cdef Py_ssize_t i
        if copies is not None:
            source, target = copies
            self.copy_saved(source, target)     # first, because it may run out of memory
        write(writes)
        if spread is None:
            return
        if worker.core.store is not None:
            worker.core.store.log.count = worker.core.store.log.dropped = 0
        for i in spread:
            worker.store(i)
            self.every.stale[i] = True
        self._raise_errors()

    cdef int copy_saved(self, const int64_t[::1] source, const int64_t[::1] target) except -1:
        """Copy `Saved` from the source worlds to the target worlds; read all sources before the first write."""
        cdef Py_ssize_t count = len(source)
        cdef Py_ssize_t k
        cdef Saved* copies
        cdef Saved* saved
        cdef bint made = True
        if self.every.saved == NULL or count == 0:
            return 0
        copies = <Saved*> PyMem_Calloc(count, sizeof(Saved))
        if copies == NULL:
            raise MemoryError
        for k in range(count):
            saved = &self.every.saved[source[k]]
            made = made and make_room(&copies[k], saved.size)
            if made:
                copies[k].size = saved.size
                memcpy(copies[k].data, saved.data, saved.size)
        for k in range(count):
            if made:
                saved = &self.every.saved[target[k]]
                copies[k], saved[0] = saved[0], copies[k]
            free(copies[k].data)
        PyMem_Free(copies)
        if not made:
            raise MemoryError
        return 0

    def _raise_errors(self):
        """Raise an interrupt such as KeyboardInterrupt, if there is one, else the error of the lowest failed world."""
        cdef Worker worker
        errors = []
        for worker in self.workers:
            errors += worker.errors
            worker.errors = []
        for _, error in errors:
            if not isinstance(error, Exception):
                raise error
        if errors:
            first = min([world for world, _ in errors])
            raise in_world(first, dict(errors)[first])

    def _run(self, Py_ssize_t steps, active):
        """Step the worlds of the mask `active` (None: all worlds); check for Ctrl-C several times a second."""
        cdef Py_ssize_t part, at_once
        cdef int64_t ran
        cdef double seconds
        self.every.active = NULL if active is None else <const uint8_t*> address(active)
        while steps > 0:
            # All worlds run one part of the steps before the next part begins: after Ctrl-C their ticks are close.
            part = min(steps, self.most, max(<Py_ssize_t> 64, self.most // max(<Py_ssize_t> 1, self.every.worlds)))
            self.every.last = 0
            while self.every.last < self.every.worlds:
                at_once = max(<Py_ssize_t> 1, self.most // part)
                self.every.first, self.every.last = self.every.last, min(self.every.last + at_once, self.every.worlds)
                started = perf_counter()
                ran = self.run_round(part)
                seconds = perf_counter() - started
                if ran > 0:
                    self.cost = 1e9 * seconds * (len(self.workers) if self.shares(ran) else 1) / ran
                    self.most = paced(self.most, self.most if ran >= at_once * part else ran, seconds)
                if self.every.stop:
                    self.every.stop = False
                    self._raise_errors()
                PyErr_CheckSignals()
            self._raise_errors()
            steps -= part

    cdef bint shares(self, int64_t steps) noexcept:
        return len(self.workers) > 1 and steps * self.cost > SHARE

    cdef int64_t run_round(self, Py_ssize_t steps) except -1:
        """Run the worlds of the current round; return the number of steps, summed over worlds."""
        cdef Worker worker
        cdef Task task
        cdef Py_ssize_t count = self.every.last - self.every.first
        cdef int64_t ran = 0
        self.every.steps, self.every.claimed = steps, 0
        interrupt = None
        if not self.shares(count * steps):
            self.every.size = count
            worker = self.workers[0]
            with nogil:
                worker.run_round()
        else:
            self.every.size = max(<Py_ssize_t> 1, count // (16 * <Py_ssize_t> len(self.workers)))
            tasks = [Task() for _ in self.workers]
            for task, worker in zip(tasks, self.workers):
                task.run, task.owner = run_worker, <void*> worker
            interrupt = run_tasks(tasks)
        for worker in self.workers:
            ran += worker.ran
            worker.ran = 0
        if interrupt is not None:
            raise interrupt
        return ran

    def _new_events(self):
        """Return and clear the events of this call: arrays whose rows begin with the index of the world."""
        cdef Worker worker
        cdef Py_ssize_t size
        found = []
        for worker in self.workers:
            if worker.events > 0:
                rows = np.empty((worker.events, worker.core.store.numbers + 1), np.int64)
                size = rows.nbytes
                memcpy(address(rows), worker.event, size)
                worker.events = 0
                found.append(rows)
        return found
