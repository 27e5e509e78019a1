"""Worker: a stepper that runs one world after another, in one thread at a time.

For each world, the worker sets the stepper's pointers to the rows of the world, and loads the other state: tick,
slots, contacts, touching pairs, and coefficients that differ between worlds. Kernels are the same as for one world.
All this runs without the GIL. Steps that may raise an error are run by the ordinary code of the stepper.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memset

from .bodies cimport Core
from .formulas cimport BoundFormula
from .guard cimport increase
from .interactions cimport FormulaInteraction, LangevinInteraction
from .runner cimport LONGEST
from .slots cimport address
from .views cimport View, copy_array
from ..kernels.abi.events cimport EventSource
from ..kernels.abi.formulas cimport NOISE
from ..kernels.abi.plan cimport Array, Job
from ..kernels.simd.rounding cimport require_rounding

import numpy as np

require_rounding(__name__)

cdef enum:
    MOST_KEYS = 1024


cdef class Worker:
    def __dealloc__(self):
        self.clear()
        PyMem_Free(self.numbers)
        free(self.event)

    cdef void clear(self) noexcept:
        PyMem_Free(self.pointer)
        PyMem_Free(self.strides)
        PyMem_Free(self.key)
        PyMem_Free(self.loads)
        self.pointer, self.strides, self.key, self.loads = NULL, NULL, NULL, NULL
        self.pointers = self.arrays = self.keys = self.joints = 0

    # Pointers.

    cdef int bind(self, list state, list turning, list applied, list torques) except -1:
        """List all pointers to set for each world; required again after each change of the stepper's binding.

        The arguments are arrays of shape (worlds, n, k).
        """
        cdef Core core = self.core
        cdef Array* own
        cdef int j
        self.clear()
        self.kept = [core.binding]
        most = 5 * len(state) + 2 * len(turning) + len(applied) + len(torques)
        self.pointer = <Pointer*> PyMem_Calloc(most, sizeof(Pointer))
        self.strides = <Strides*> PyMem_Calloc(most, sizeof(Strides))
        self.key = <Key*> PyMem_Calloc(MOST_KEYS, sizeof(Key))
        if self.pointer == NULL or self.strides == NULL or self.key == NULL:
            raise MemoryError
        for number, worlds in enumerate(state):
            own = &core.plan.x if number == 0 else &core.plan.v if number == 1 else &core.plan.s
            self.add_array(own, worlds)
            self.add_array(&(<View> core.state[number]).place, worlds)
            for j in range(core.plan.dim):
                row = &core.plan.row[j]
                at = &row.x if number == 0 else &row.v if number == 1 else &row.s
                self.add_pointer(at, worlds, j * own.component)
        for number, worlds in enumerate(turning):
            self.add_array(&(<View> core.rotation.arrays[number]).place, worlds)
            own = &core.rotation.turning.velocity if number == 0 else &core.rotation.turning.turned
            self.add_array(own, worlds)
        for number, worlds in enumerate(applied):
            self.add_array(<Array*> &core.applied.force[<int> number], worlds)
        for number, worlds in enumerate(torques):
            self.add_array(<Array*> &core.binding.torques.torque[<int> number], worlds)
        self.bind_noise()
        self.bind_contacts()
        self.ordinary = core.fallible or (core.coupled is not None and core.coupled.fallible)
        memory = np.zeros((3, core.plan.n + 1, core.plan.dim), core.binding.model.dtype)
        for j in range(3):
            self.before[j].data = <char*> address(memory[j])
            self.before[j].component, self.before[j].body = core.item, core.plan.dim * core.item
        self.kept.append(memory)
        return 0

    cdef int add_array(self, Array* array, object worlds) except -1:
        cdef Strides* strides = &self.strides[self.arrays]
        self.arrays += 1
        strides.array, strides.home = array, array[0]
        strides.away.data = <char*> <size_t> worlds.ctypes.data
        strides.away.body, strides.away.component = worlds.strides[1], worlds.strides[2]
        self.kept.append(worlds)
        return self.add_pointer(&array.data, worlds, 0)

    cdef int add_pointer(self, char** pointer, object worlds, Py_ssize_t offset) except -1:
        cdef Pointer* added = &self.pointer[self.pointers]
        self.pointers += 1
        added.pointer, added.home = pointer, pointer[0]
        added.away = <char*> <size_t> worlds.ctypes.data + offset
        added.stride = worlds.strides[0]
        return 0

    cdef int bind_noise(self) except -1:
        """List the numbers that select noise: seeds of thermostats, and the k of noise(k) in expressions."""
        cdef BoundFormula bound
        cdef Py_ssize_t k
        if self.core.coupled is None:
            return 0
        for interaction in self.core.coupled.bound_interactions:
            if isinstance(interaction, LangevinInteraction):
                self.add_key(&(<LangevinInteraction> interaction).noise.seed, NULL)
            elif isinstance(interaction, FormulaInteraction):
                formula = <FormulaInteraction> interaction
                for found in (formula.force, formula.change, formula.energy):
                    bound = found
                    for k in range(0 if bound is None else bound.formula.operations):
                        if bound.operation[k].code == NOISE:
                            self.add_key(NULL, &bound.operation[k].c)
        return 0

    cdef int add_key(self, uint64_t* seed, int* number) except -1:
        cdef Key* key = &self.key[self.keys]
        if self.keys == MOST_KEYS or (number != NULL and self.every.worlds > 2**31 - number[0]):
            raise ValueError(f"worlds: expected at most {MOST_KEYS} noise(k), with k + {self.every.worlds} below 2**31")
        self.keys += 1
        key.seed, key.number = seed, number
        key.first = seed[0] if seed != NULL else <uint64_t> number[0]
        return 0

    cdef int bind_contacts(self) except -1:
        impulses = (<object> self.core)._impulses
        loads = [array[1:] for entry in (<object> self.core)._entries for array in entry.origin.loads]
        self.moves = (<object> self.core)._motion is not None
        if self.moves:
            loads.append((<object> self.core)._motion.rows)
        self.loads = <Numbers*> PyMem_Calloc(len(loads) + 1, sizeof(Numbers))
        if self.loads == NULL:
            raise MemoryError
        for array in loads:
            self.loads[self.joints].to, self.loads[self.joints].size = <char*> address(array), array.nbytes
            self.joints += 1
        self.kept.append(loads)
        self.contacts = NULL
        if impulses is None:
            return 0
        self.contacts = <int64_t*> address(impulses.state)
        for place in range(2):
            self.pair[<int> place] = <char*> address(impulses.pair[place])
            self.push[<int> place] = <char*> address(impulses.push[place])
            self.pull[<int> place] = <char*> address(impulses.pull[place])
        self.width, self.rods = impulses.width * self.core.item, impulses.rods * self.core.item
        self.kept.append(impulses)
        return 0

    cdef void leave_home(self) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.arrays):
            self.strides[k].array[0] = self.strides[k].away

    cdef void go_home(self) noexcept nogil:
        """Reset all pointers to the stepper's own memory."""
        cdef Py_ssize_t k
        for k in range(self.pointers):
            self.pointer[k].pointer[0] = self.pointer[k].home
        for k in range(self.arrays):
            self.strides[k].array[0] = self.strides[k].home
        self.set_keys(0)

    cdef void set_keys(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.keys):
            if self.key[k].seed != NULL:
                self.key[k].seed[0] = self.key[k].first + <uint64_t> i
            else:
                self.key[k].number[0] = <int> (self.key[k].first + <uint64_t> i)

    # State of a world that persists between steps.

    cdef void load(self, Py_ssize_t i) noexcept nogil:
        """Copy the state of world i to the stepper, except for the arrays, to which the stepper's pointers are set."""
        cdef Every* every = self.every
        cdef Py_ssize_t k
        cdef double spanned
        self.core.completed, self.core.started, self.core.drawn_tick = every.tick[i], every.started[i], -1
        if self.core.coupled is not None:
            self.core.coupled.last = NULL   # the accelerations in the workspace are those of another world
            self.core.coupled.coupling.recalled = False
            self.core.coupled.wake()
        self.core.still = False
        self.set_keys(i)
        for k in range(self.tables):
            memcpy(self.numbers[k].to, self.numbers[k].source + i * self.numbers[k].stride, self.numbers[k].size)
        spanned = every.last_h[i] if self.core.started else self.core.plan.h
        if self.core.plan.last_h != spanned:
            self.core.plan.last_h = spanned
            with gil:
                self.core.binding.prepare()
        if every.alive != NULL:
            self.load_slots(i)
        if every.saved != NULL:
            self.unpack(&every.saved[i])
        if self.core.store is not None:
            self.core.store.log.count = self.core.store.log.dropped = 0
            self.core.store.log.capacity = every.capacity - every.pending[i]

    cdef void load_slots(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t n = self.every.n
        cdef const uint8_t* alive = self.every.alive + i * n
        cdef const int64_t* generation = self.every.generation + i * n
        cdef Py_ssize_t k
        if (
            not (self.every.stale[i] or self.core.slots.stale or self.core.slots.any_needs_start)
            and self.tables == 0  # otherwise `load` has rewritten the coefficients of all declared pairs: compact again
            and memcmp(self.core.slots.alive, alive, n) == 0
            and memcmp(self.core.slots.generation, generation, n * sizeof(int64_t)) == 0
        ):
            return
        memcpy(self.core.slots.alive, alive, n)
        memcpy(self.core.slots.needs_start, self.every.needs_start + i * n, n)
        memcpy(self.core.slots.generation, generation, n * sizeof(int64_t))
        for k in range(n):
            self.core.slots.id[k] = generation[k] << 32 | k if alive[k] else -1
        self.core.slots.follow()
        self.core.rows = self.core.slots.count

    cdef void store(self, Py_ssize_t i) noexcept nogil:
        """Copy the state that `load` has read back to world i."""
        cdef Every* every = self.every
        cdef Py_ssize_t n = every.n
        every.tick[i], every.started[i] = self.core.completed, self.core.started
        every.last_h[i] = self.core.plan.last_h
        if every.alive != NULL:
            memcpy(every.alive + i * n, self.core.slots.alive, n)
            memcpy(every.needs_start + i * n, self.core.slots.needs_start, n)
            memcpy(every.generation + i * n, self.core.slots.generation, n * sizeof(int64_t))
            every.stale[i] = self.core.slots.stale
        if every.saved != NULL and not self.pack(&every.saved[i]):
            self.fail_memory(i)
        if self.core.store is not None:
            every.dropped[i] += self.core.store.log.dropped
            if self.core.store.log.count > 0 and not self.keep_events(i):
                self.fail_memory(i)

    cdef void fail_memory(self, Py_ssize_t i) noexcept with gil:
        self.errors.append((i, MemoryError(f"world {i}: no memory for its contacts or events")))

    cdef void unpack(self, const Saved* saved) noexcept nogil:
        cdef const char* source = saved.data
        cdef int64_t count = 0
        cdef int64_t k
        cdef EventSource* events
        if self.contacts != NULL:
            memset(self.pull[0], 0, self.rods)
            if saved.size > 0:
                take(<char*> &count, &source, 8)
                take(self.pair[0], &source, 8 * count)
                take(self.push[0], &source, self.width * count)
                take(self.pull[0], &source, self.rods)
            self.contacts[0], self.contacts[1], self.contacts[2] = 0, count, 0
        for k in range(0 if self.core.coupled is None else self.core.coupled.event_source_count):
            events = self.core.coupled.events[k]
            events.count = 0
            if saved.size > 0:
                take(<char*> &events.count, &source, 8)
                take(<char*> events.touching, &source, 8 * events.count)
        for k in range(self.joints if saved.size > 0 else 0):
            take(self.loads[k].to, &source, self.loads[k].size)

    cdef bint pack(self, Saved* saved) noexcept nogil:
        """Serialize contacts, touching pairs, loads and motion of shapes; return False if memory ran out."""
        cdef int64_t size = 0
        cdef int64_t count = 0
        cdef int64_t k
        cdef int64_t reporting = 0 if self.core.coupled is None else self.core.coupled.event_source_count
        cdef int place = 0
        cdef char* to
        cdef EventSource* events
        if self.contacts != NULL:
            place = <int> self.contacts[0]
            count = self.contacts[1 + place]
            size = 8 + count * (8 + self.width) + self.rods
        for k in range(reporting):
            size += 8 + 8 * self.core.coupled.events[k].count
        for k in range(self.joints):
            size += self.loads[k].size
        if not make_room(saved, size):
            return False
        saved.size = size
        to = saved.data
        if self.contacts != NULL:
            put(&to, &count, 8)
            put(&to, self.pair[place], 8 * count)
            put(&to, self.push[place], self.width * count)
            put(&to, self.pull[place], self.rods)
        for k in range(reporting):
            events = self.core.coupled.events[k]
            put(&to, &events.count, 8)
            put(&to, events.touching, 8 * events.count)
        for k in range(self.joints):
            put(&to, self.loads[k].to, self.loads[k].size)
        return True

    cdef bint keep_events(self, Py_ssize_t i) noexcept nogil:
        """Append the events of world i to the events of the call; return False if memory ran out."""
        cdef int64_t count = self.core.store.log.count
        cdef int64_t numbers = self.core.store.numbers
        cdef int64_t* to
        cdef int64_t k
        if self.events + count > self.room:
            to = <int64_t*> realloc(self.event, 16 * (self.events + count) * (numbers + 1))
            if to == NULL:
                return False
            self.event, self.room = to, 2 * (self.events + count)
        for k in range(count):
            to = self.event + self.events * (numbers + 1)
            to[0] = i
            memcpy(to + 1, self.core.store.log.row + k * numbers, 8 * numbers)
            self.events += 1
        self.every.pending[i] += count
        return True

    # Running.

    cdef void run_round(self) noexcept nogil:
        """Claim worlds of the current round and run them, until all worlds are claimed."""
        cdef Every* every = self.every
        cdef Py_ssize_t i, last
        self.leave_home()
        while not every.stop:
            i = every.first + (<Py_ssize_t> increase(&every.claimed) - 1) * every.size
            if i >= every.last:
                break
            last = min(i + every.size, every.last)
            while i < last and not every.stop:
                if every.active == NULL or every.active[i]:
                    self.run_world(i)
                i += 1
        self.go_home()

    cdef void run_world(self, Py_ssize_t i) noexcept nogil:
        cdef Outcome outcome
        cdef Py_ssize_t k
        for k in range(self.pointers):
            self.pointer[k].pointer[0] = self.pointer[k].away + i * self.pointer[k].stride
        self.load(i)
        self.left = self.every.steps
        self.ran += self.left
        outcome = self.attempt()
        if outcome != DONE:
            self.resolve(i, outcome)
        self.store(i)

    cdef void resolve(self, Py_ssize_t i, Outcome outcome) noexcept with gil:
        """Run the remaining steps by `Core.go`, or, after a failed step, raise its error; append errors to `errors`."""
        try:
            if outcome == FAILED and self.core.job.code != 0:
                self.core.raise_failure(&self.core.job)
            elif outcome == FAILED:
                self.core.raise_waiting()
            if self.left == self.every.steps:
                self.load(i)    # the failed attempt may have changed contacts and events
            self.core.lock()
            try:
                self.core.go(self.left)
            finally:
                self.core.unlock()
        except BaseException as error:
            self.errors.append((i, error))
            if not isinstance(error, Exception):
                self.every.stop = True

    cdef Outcome attempt(self) noexcept nogil:
        """Try to run the remaining steps without the GIL. Even a failure leaves the state of a completed tick."""
        cdef Outcome outcome
        cdef Py_ssize_t steps
        if self.core.rows == 0 and not self.moves and (self.core.coupled is None or not self.core.coupled.touches()):
            self.core.completed += self.left
            return DONE
        if self.ordinary or self.core.rows == 0 or self.core.plan.last_h != self.core.plan.h:
            return LEFT
        if self.core.slots is not None and self.core.slots.stale and not self.lay_out():
            return LEFT
        while self.left > 0:
            steps = self.left
            if self.core.rotation is not None:
                steps = 1
                self.core.begin_rotation()
            outcome = self.run_some(steps)
            if outcome != DONE:
                return outcome
        return DONE

    cdef bint lay_out(self) noexcept with gil:
        """Lay out the slots as `Core.run_part` does. Return False on an error: `run_part` will raise the same error."""
        try:
            self.core.slots.layout(None if self.core.coupled is None else self.core.coupled.links)
        except BaseException:
            return False
        if self.core.coupled is not None:
            self.core.coupled.clear_inactive()
        return True

    cdef Outcome run_some(self, Py_ssize_t steps) noexcept nogil:
        """Run steps as `Core.run_part` does. Return LEFT where `run_part` would restore the state and repeat steps."""
        cdef Job* job = &self.core.job
        cdef bint whole = self.core.coupled is not None and self.core.coupled.workspace is not None
        cdef bint tiles = whole and self.core.coupled.tiles is not None
        if steps > 1 and (tiles or not whole):
            self.copy_state(True)
        if tiles:
            self.core.leaping = True
            self.launch(steps)
            self.core.leaping = False
            if job.near == 0:
                self.core.coupled.coast(steps)
                self.count(steps)
                return DONE
        if whole:
            self.core.coupled.coupling.patience = LONGEST   # no check for Ctrl-C in kernels: `WorldsCore._run` does it
            self.core.coupled.enter(self.core.plan)
        self.launch(steps)
        job.done = 0
        if whole:
            if self.core.coupled.only_few() and job.bad_body >= 0 and job.failed_step > 1:
                return LEFT
            if tiles and job.failed_step < steps:
                self.copy_state(False)
                return LEFT
            if job.failed_step > 0:
                self.core.coupled.leave(self.core.plan, job.failed_step)
                self.count(job.failed_step)
            return FAILED if job.code != 0 or job.bad_body >= 0 else DONE
        if job.failed_step < steps or (job.bad_body >= 0 and steps > 1):
            self.copy_state(False)
            return LEFT
        self.count(steps)
        return FAILED if job.bad_body >= 0 else DONE

    cdef void launch(self, Py_ssize_t steps) noexcept nogil:
        self.core.prepare_job(steps)
        self.core.call(&self.core.job)

    cdef void count(self, Py_ssize_t steps) noexcept nogil:
        self.core.count(steps)
        self.left -= steps

    cdef void copy_state(self, bint there) noexcept nogil:
        """Save the state of the current world in `before` (there: True), or restore it from `before`."""
        cdef Array* own
        cdef int k
        for k in range(3):
            own = &self.core.plan.x if k == 0 else &self.core.plan.v if k == 1 else &self.core.plan.s
            if own.data != NULL and there:
                copy_array(&self.before[k], own, self.core.plan.n, self.core.plan.dim, self.core.item)
            elif own.data != NULL:
                copy_array(own, &self.before[k], self.core.plan.n, self.core.plan.dim, self.core.item)


cdef inline void take(char* to, const char** source, int64_t size) noexcept nogil:
    memcpy(to, source[0], size)
    source[0] += size


cdef inline void put(char** to, const void* source, int64_t size) noexcept nogil:
    memcpy(to[0], source, size)
    to[0] += size


cdef bint make_room(Saved* saved, int64_t size) noexcept nogil:
    """Allocate room for `size` bytes. Never shrink it, because the number of contacts hardly changes between steps."""
    cdef void* more
    if size <= saved.room:
        return True
    more = realloc(saved.data, size + size // 2)
    if more == NULL:
        return False
    saved.data, saved.room = <char*> more, size + size // 2
    return True


cdef void run_worker(void* owner, Job* _job) noexcept nogil:
    (<Worker> owner).run_round()
