"""WorldsCore: many worlds, stepped one after the other by one stepper for each thread.

Such a stepper is a `Worker` here. For each world its pointers are moved to the world's rows, and what else outlives
a step is loaded: tick, slots, contacts, touching pairs, numbers of the world's own. Kernels do not know that there are
worlds. All this runs without the GIL; what may raise is left to the ordinary code of the stepper.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memset

from .binding cimport Binding
from .walls cimport BoundConstraint
from .bodies cimport Core
from .coefficients cimport merge_all
from .coupled cimport Coupled
from .formulas cimport BoundFormula
from .guard cimport acquire, guard_t, release
from .interactions cimport BoundInteraction, FormulaInteraction, LangevinInteraction
from .runner cimport LONGEST, PATIENCE, SHARE, Task, View, copy_array, paced, run_tasks
from .slots cimport address
from ..kernels.abi.events cimport Told
from ..kernels.abi.formulas cimport NOISE
from ..kernels.abi.plan cimport EXACT, FLAT, MAX_DIM, ROW, Array, Field, Job, Plan, Term
from ..kernels.crew cimport increase
from ..kernels.simd.rounding cimport require_rounding

from time import perf_counter

import numpy as np

from .binding import PLACES

require_rounding(__name__)

# How the steps of a world went: all are done; ordinary code has to run those that are left; one failed, see the job.
cdef enum Outcome:
    DONE
    LEFT
    FAILED

# What outlives a step of a world and has no array: contacts and touching pairs, as `Worker.pack` writes them.
ctypedef struct Saved:
    char* data
    int64_t size, room

# A pointer of a worker, to its own memory or to that of a world.
ctypedef struct Pointer:
    char** pointer
    char* home
    char* away              # of world 0
    Py_ssize_t stride       # bytes from a world to the next

# An array of a worker, whose strides change too.
ctypedef struct Strides:
    Array* array
    Array home, away

# Numbers of a force or constraint that differ from world to world.
ctypedef struct Numbers:
    char* to
    const char* source      # of world 0
    Py_ssize_t size, stride

# A number that noise is keyed by, for world 0: of 64 bits, or of 32.
ctypedef struct Key:
    uint64_t* seed
    int32_t* number
    uint64_t first


def first_of(pair):
    return pair[0]


cdef class Worker:
    """A stepper that runs worlds, in one thread at a time."""

    cdef Core core
    cdef WorldsCore worlds
    cdef list kept          # owners of what the following point to
    cdef Pointer* pointer
    cdef Strides* strides
    cdef Numbers* numbers
    cdef Key* key
    cdef Py_ssize_t pointers, arrays, tables, keys
    cdef bint ordinary      # may it fail in ways that only ordinary code handles?
    cdef Array[3] before    # the state before a call
    cdef list errors        # (world, exception) of this call
    cdef int64_t ran        # steps of worlds in this round
    cdef Py_ssize_t left    # steps of the world that are not done
    # Impulses of contacts, or NULL.
    cdef int64_t* contacts
    cdef char* pair[2]
    cdef char* push[2]
    cdef char* pull[2]
    cdef Py_ssize_t width, rods     # bytes
    # Events of this call: the world, then the row.
    cdef int64_t* event
    cdef int64_t events, room

    def __dealloc__(self):
        self.clear()
        PyMem_Free(self.numbers)
        free(self.event)

    cdef void clear(self) noexcept:
        PyMem_Free(self.pointer)
        PyMem_Free(self.strides)
        PyMem_Free(self.key)
        self.pointer, self.strides, self.key = NULL, NULL, NULL
        self.pointers = self.arrays = self.keys = 0

    # Pointers.

    cdef int bind(self) except -1:
        """Find all pointers that are moved, after each change of the stepper's binding."""
        cdef Core core = self.core
        cdef int j, k
        cdef Array* own[2]
        state = self.worlds._state_arrays
        self.clear()
        self.kept = [core.binding]
        most = 4 + 3 * len(state) + len(self.worlds._applied_arrays) + len(self.worlds._torque_arrays)
        self.pointer = <Pointer*> PyMem_Calloc(3 * most + 9, sizeof(Pointer))
        self.strides = <Strides*> PyMem_Calloc(3 * most, sizeof(Strides))
        if self.pointer == NULL or self.strides == NULL:
            raise MemoryError
        for number, worlds in enumerate(state):
            own[0] = &core.plan.x if number == 0 else &core.plan.v if number == 1 else &core.plan.s
            own[1] = &(<View> core.state[number]).place
            for k in range(2):
                self.add_array(own[k], worlds)
            for j in range(core.plan.dim):
                row = &core.plan.row[j]
                at = &row.x if number == 0 else &row.v if number == 1 else &row.s
                self.add_pointer(at, worlds, j * own[0].component)
        if core.rotation is not None:
            for number, worlds in enumerate(self.worlds._turning_arrays):
                self.add_array(&(<View> core.rotation.arrays[number]).place, worlds)
                self.add_array(
                    &core.rotation.turning.velocity if number == 0 else &core.rotation.turning.turned, worlds
                )
        for number, worlds in enumerate(self.worlds._applied_arrays):
            self.add_array(<Array*> &core.applied.force[<int> number], worlds)
        for number, worlds in enumerate(self.worlds._torque_arrays):
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
        """worlds: the array of all worlds, (worlds, n, k)."""
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
        """Find the keys of noise."""
        cdef Core core = self.core
        cdef BoundFormula bound
        cdef Py_ssize_t k
        if core.coupled is None:
            return 0
        places = []
        for interaction in core.coupled.bound_interactions:
            if isinstance(interaction, LangevinInteraction):
                places.append((<size_t> &(<LangevinInteraction> interaction).noise.seed, True))
            elif isinstance(interaction, FormulaInteraction):
                formula = <FormulaInteraction> interaction
                for found in (formula.force, formula.change, formula.energy):
                    bound = found
                    if bound is None:
                        continue
                    for k in range(bound.formula.operations):
                        if bound.operation[k].code == NOISE:
                            places.append((<size_t> &bound.operation[k].c, False))
        self.key = <Key*> PyMem_Calloc(max(1, len(places)), sizeof(Key))
        if self.key == NULL:
            raise MemoryError
        for place, wide in places:
            if wide:
                self.key[self.keys].seed = <uint64_t*> <size_t> place
                self.key[self.keys].first = self.key[self.keys].seed[0]
            else:
                self.key[self.keys].number = <int32_t*> <size_t> place
                if self.worlds.number > 2**31 - self.key[self.keys].number[0]:
                    raise ValueError("worlds: expected noise(k) with a k for each world below 2**31")
                self.key[self.keys].first = self.key[self.keys].number[0]
            self.keys += 1
        return 0

    cdef int bind_contacts(self) except -1:
        impulses = (<object> self.core)._impulses
        self.contacts = NULL
        if impulses is None:
            return 0
        self.contacts = <int64_t*> address(impulses.state)
        for place in range(2):
            self.pair[<int> place] = <char*> address(impulses.pair[place])
            self.push[<int> place] = <char*> address(impulses.push[place])
            self.pull[<int> place] = <char*> address(impulses.pull[place])
        self.width = impulses.width * self.core.item
        self.rods = impulses.rods * self.core.item
        self.kept.append(impulses)
        return 0

    cdef void leave_home(self) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.arrays):
            self.strides[k].array[0] = self.strides[k].away

    cdef void go_home(self) noexcept nogil:
        """Point to the stepper's own memory again."""
        cdef Py_ssize_t k
        for k in range(self.pointers):
            self.pointer[k].pointer[0] = self.pointer[k].home
        for k in range(self.arrays):
            self.strides[k].array[0] = self.strides[k].home
        for k in range(self.keys):
            self.set_key(k, 0)

    cdef void move(self, Py_ssize_t i) noexcept nogil:
        """Point to the rows of a world."""
        cdef Py_ssize_t k
        for k in range(self.pointers):
            self.pointer[k].pointer[0] = self.pointer[k].away + i * self.pointer[k].stride

    cdef inline void set_key(self, Py_ssize_t k, Py_ssize_t i) noexcept nogil:
        if self.key[k].seed != NULL:
            self.key[k].seed[0] = self.key[k].first + <uint64_t> i
        else:
            self.key[k].number[0] = <int32_t> (self.key[k].first + <uint64_t> i)

    # What outlives a step.

    cdef void load(self, Py_ssize_t i) noexcept nogil:
        """Load all of a world that is not in arrays that the worker points to."""
        cdef Py_ssize_t k
        cdef double spanned
        self.core.completed, self.core.started = self.worlds.tick[i], self.worlds.started[i]
        self.core.drawn_tick = -1
        for k in range(self.keys):
            self.set_key(k, i)
        for k in range(self.tables):
            memcpy(self.numbers[k].to, self.numbers[k].source + i * self.numbers[k].stride, self.numbers[k].size)
        spanned = self.worlds.last_h[i] if self.core.started else self.core.plan.h
        if self.core.plan.last_h != spanned:
            self.core.plan.last_h = spanned
            with gil:
                self.core.binding.prepare()
        if self.worlds.alive != NULL:
            if self.tables > 0:
                self.core.slots.stale = True    # numbers of pairs come for all that were declared
            self.load_slots(i)
        if self.worlds.saved != NULL:
            self.unpack(&self.worlds.saved[i])
        if self.core.store is not None:
            self.core.store.log.count = self.core.store.log.dropped = 0
            self.core.store.log.capacity = self.worlds.capacity - self.worlds.pending[i]

    cdef void load_slots(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t n = self.worlds.n
        cdef const uint8_t* alive = self.worlds.alive + i * n
        cdef const uint8_t* young = self.worlds.young + i * n
        cdef const int64_t* generation = self.worlds.generation + i * n
        cdef Py_ssize_t k
        if (
            not (self.worlds.stale[i] or self.core.slots.stale or self.core.slots.any_young)
            and memcmp(self.core.slots.alive, alive, n) == 0
            and memcmp(self.core.slots.generation, generation, n * sizeof(int64_t)) == 0
        ):
            return
        memcpy(self.core.slots.alive, alive, n)
        memcpy(self.core.slots.young, young, n)
        memcpy(self.core.slots.generation, generation, n * sizeof(int64_t))
        for k in range(n):
            self.core.slots.id[k] = generation[k] << 32 | k if alive[k] else -1
        self.core.slots.follow()
        self.core.rows = self.core.slots.count

    cdef void store(self, Py_ssize_t i) noexcept nogil:
        """Store what `load` loads."""
        cdef Py_ssize_t n = self.worlds.n
        self.worlds.tick[i], self.worlds.started[i] = self.core.completed, self.core.started
        self.worlds.last_h[i] = self.core.plan.last_h
        if self.worlds.alive != NULL:
            memcpy(self.worlds.alive + i * n, self.core.slots.alive, n)
            memcpy(self.worlds.young + i * n, self.core.slots.young, n)
            memcpy(self.worlds.generation + i * n, self.core.slots.generation, n * sizeof(int64_t))
            self.worlds.stale[i] = self.core.slots.stale
        if self.worlds.saved != NULL and not self.pack(&self.worlds.saved[i]):
            self.fail_memory(i)
        if self.core.store is not None:
            self.worlds.dropped[i] = self.worlds.dropped[i] + self.core.store.log.dropped
            if self.core.store.log.count > 0 and not self.keep_events(i):
                self.fail_memory(i)

    cdef void fail_memory(self, Py_ssize_t i) noexcept with gil:
        self.errors.append((i, MemoryError(f"world {i}: no memory for its contacts or events")))

    cdef void unpack(self, const Saved* saved) noexcept nogil:
        cdef const char* source = saved.data
        cdef int64_t count = 0
        cdef int64_t k
        cdef Told* told
        if self.contacts != NULL:
            if saved.size > 0:
                count = take_count(&source)
                take(self.pair[0], &source, 8 * count)
                take(self.push[0], &source, self.width * count)
                take(self.pull[0], &source, self.rods)
            else:
                memset(self.pull[0], 0, self.rods)
            self.contacts[0], self.contacts[1], self.contacts[2] = 0, count, 0
        if self.core.coupled is not None:
            for k in range(self.core.coupled.told_count):
                told = self.core.coupled.told[k]
                told.count = 0
                if saved.size > 0:
                    told.count = take_count(&source)
                    take(<char*> told.touching, &source, told.count * sizeof(int64_t))

    cdef bint pack(self, Saved* saved) noexcept nogil:
        """Copy contacts and touching pairs; False: no memory."""
        cdef int64_t size = 0
        cdef int64_t count = 0
        cdef int64_t k
        cdef int place = 0
        cdef char* to
        cdef Told* told
        if self.contacts != NULL:
            place = <int> self.contacts[0]
            count = self.contacts[1 + place]
            size = 8 + count * (8 + self.width) + self.rods
        if self.core.coupled is not None:
            for k in range(self.core.coupled.told_count):
                size += 8 + 8 * self.core.coupled.told[k].count
        if not make_room(saved, size):
            return False
        saved.size = size
        to = saved.data
        if self.contacts != NULL:
            put(&to, &count, 8)
            put(&to, self.pair[place], 8 * count)
            put(&to, self.push[place], self.width * count)
            put(&to, self.pull[place], self.rods)
        if self.core.coupled is not None:
            for k in range(self.core.coupled.told_count):
                told = self.core.coupled.told[k]
                put(&to, &told.count, 8)
                put(&to, told.touching, told.count * sizeof(int64_t))
        return True

    cdef bint keep_events(self, Py_ssize_t i) noexcept nogil:
        """Append the events of a world; False: no memory."""
        cdef int64_t count = self.core.store.log.count
        cdef int64_t numbers = self.core.store.numbers
        cdef int64_t k
        cdef void* longer
        if self.events + count > self.room:
            longer = realloc(self.event, 2 * (self.events + count) * (numbers + 1) * sizeof(int64_t))
            if longer == NULL:
                return False
            self.event, self.room = <int64_t*> longer, 2 * (self.events + count)
        for k in range(count):
            self.event[self.events * (numbers + 1)] = i
            memcpy(
                self.event + self.events * (numbers + 1) + 1, self.core.store.log.row + k * numbers,
                numbers * sizeof(int64_t),
            )
            self.events += 1
        self.worlds.pending[i] = self.worlds.pending[i] + count
        return True

    # Running.

    cdef void run_range(self) noexcept nogil:
        """Run worlds of this round that no other worker has taken."""
        cdef Py_ssize_t i, last
        self.leave_home()
        while True:
            i = self.worlds.first + (<Py_ssize_t> increase(&self.worlds.claimed) - 1) * self.worlds.size
            if i >= self.worlds.last:
                break
            last = min(i + self.worlds.size, self.worlds.last)
            while i < last and not self.worlds.stop:
                if self.worlds.active == NULL or self.worlds.active[i]:
                    self.run_world(i, self.worlds.steps)
                i += 1
        self.go_home()

    cdef void run_world(self, Py_ssize_t i, Py_ssize_t steps) noexcept nogil:
        cdef Outcome outcome
        self.move(i)
        self.load(i)
        self.left = steps
        self.ran += steps
        outcome = self.attempt()
        if outcome != DONE:
            self.resolve(i, steps, outcome)
        self.store(i)

    cdef void resolve(self, Py_ssize_t i, Py_ssize_t steps, Outcome outcome) noexcept with gil:
        """Run what is left by ordinary code, or raise what failed; keep the error."""
        try:
            if outcome == FAILED and self.core.job.code != 0:
                self.core.raise_failure(&self.core.job)
            elif outcome == FAILED:
                self.core.raise_waiting()
            if self.left == steps:
                self.load(i)    # what was run in vain may have changed contacts and events
            self.core.lock()
            try:
                self.core.go(self.left)
            finally:
                self.core.unlock()
        except BaseException as error:
            self.errors.append((i, error))
            if not isinstance(error, Exception):
                self.worlds.stop = True

    cdef Outcome attempt(self) noexcept nogil:
        """Run the steps that are left. The state of a world is always that of a completed tick."""
        cdef Outcome outcome
        cdef Py_ssize_t steps
        if self.core.rows == 0:
            self.core.completed += self.left
            return DONE
        if self.ordinary or self.core.plan.last_h != self.core.plan.h:
            return LEFT
        if self.core.slots is not None and self.core.slots.stale and not self.lay_out():
            return LEFT
        while self.left > 0:
            steps = self.left
            if self.core.rotation is not None:
                # Constraints turn bodies, so that each step has a step of rotation around it.
                steps = 1
                self.begin_rotation()
            outcome = self.run_some(steps)
            if outcome != DONE:
                return outcome
        return DONE

    cdef bint lay_out(self) noexcept with gil:
        """As `Core.run_part`; False: this raises, and so will that."""
        try:
            self.core.slots.layout(None if self.core.coupled is None else self.core.coupled.links)
        except BaseException:
            return False
        if self.core.coupled is not None:
            self.core.coupled.clear_dead()
        return True

    cdef void begin_rotation(self) noexcept nogil:
        turning = &self.core.rotation.turning
        turning.decay = self.core.binding.numbers.spin_decay
        turning.decay_body = self.core.binding.numbers.spin_decay_each
        turning.h, turning.alive = self.core.plan.h, NULL
        if self.core.slots is not None:
            turning.alive = self.core.slots.alive
        turning.torques, turning.torque = self.core.binding.torques.count, self.core.binding.torques.torque
        self.core.kernels.begin_turning(turning, NULL)

    cdef Outcome run_some(self, Py_ssize_t steps) noexcept nogil:
        """Run steps as `Core.run_part` does, but leave to that what it would repeat."""
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
                self.count(steps)
                return DONE
        if whole:
            self.core.coupled.coupling.patience = LONGEST   # the loop over worlds checks for Ctrl-C
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
        """As `Core.run`."""
        cdef Job* job = &self.core.job
        job.first, job.last, job.steps, job.tick = 0, self.core.plan.n, steps, self.core.completed
        job.start = self.core.plan.s.data != NULL and not self.core.started
        if self.core.coupled is not None:
            if self.core.applied != NULL:
                merge_all(self.core.kernels, self.core.applied, self.core.plan)
            self.core.coupled.coupling.origin = self.core.origin
            self.core.coupled.coupling.origin_tick = self.core.origin_tick
        if self.core.slots is not None:
            job.begin = self.core.slots.any_young and self.core.plan.s.data != NULL and self.core.started
            job.last = self.core.slots.data.end
        self.core.call(job)

    cdef void count(self, Py_ssize_t steps) noexcept nogil:
        """As `Core.complete`."""
        cdef Py_ssize_t body
        self.core.completed += steps
        self.left -= steps
        self.core.started = True
        if self.core.rotation is not None:
            body = self.core.kernels.complete_turning(&self.core.rotation.turning, NULL)
            if body >= 0 and (self.core.job.bad_body < 0 or body < self.core.job.bad_body):
                self.core.job.bad_body = body
        if self.core.slots is not None and self.core.slots.any_young:
            self.core.slots.forget_young()

    cdef void copy_state(self, bint there) noexcept nogil:
        """Copy the state of the world, or copy it back."""
        cdef Array* own
        cdef int k
        for k in range(3):
            own = &self.core.plan.x if k == 0 else &self.core.plan.v if k == 1 else &self.core.plan.s
            if own.data != NULL and there:
                copy_array(&self.before[k], own, self.core.plan.n, self.core.plan.dim, self.core.item)
            elif own.data != NULL:
                copy_array(own, &self.before[k], self.core.plan.n, self.core.plan.dim, self.core.item)


cdef inline int64_t take_count(const char** source) noexcept nogil:
    cdef int64_t count
    memcpy(&count, source[0], 8)
    source[0] += 8
    return count


cdef inline void take(char* to, const char** source, int64_t size) noexcept nogil:
    memcpy(to, source[0], size)
    source[0] += size


cdef inline void put(char** to, const void* source, int64_t size) noexcept nogil:
    memcpy(to[0], source, size)
    to[0] += size


cdef bint make_room(Saved* saved, int64_t size) noexcept nogil:
    """Make room for a world's contacts: never less than before, as a pile has about as many in each step."""
    cdef void* more
    if size <= saved.room:
        return True
    more = realloc(saved.data, size + size // 2)
    if more == NULL:
        return False
    saved.data, saved.room = <char*> more, size + size // 2
    return True


cdef void run_worker(void* owner, Job* _job) noexcept nogil:
    (<Worker> owner).run_range()


cdef list number_blocks(Core core):
    """Return (address, bytes) of all coefficients that kernels read, in an order that only depends on the model."""
    cdef Plan* plan = core.plan
    cdef Term* term
    cdef Binding binding = core.binding
    cdef BoundInteraction interaction
    cdef BoundConstraint constraint
    cdef list found = []
    cdef int k
    model = binding.model
    if plan.applied != NULL:
        add_field(found, core, &core.applied.g, plan.dim)
    else:
        add_field(found, core, &plan.g, plan.dim)
    for acts, field in ((plan.drag, <size_t> &plan.c), (plan.drag, <size_t> &plan.w), (plan.spring, <size_t> &plan.k),
                        (plan.spring, <size_t> &plan.p), (plan.damped, <size_t> &plan.decay)):
        if acts:
            add_field(found, core, <const Field*> <size_t> field, plan.dim)
    if plan.turned:
        add_field(found, core, &plan.turn, MAX_DIM)
        add_field(found, core, &plan.turn_share, plan.dim)
    if plan.scheme == EXACT:
        for k in range(4):
            add_field(found, core, &plan.flow[k], plan.dim)
    for number, record in enumerate(model.records):
        for name, values in record.fields.items():
            columns = max(plan.dim, values.size // len(values))
            term = &plan.term[<int> number]
            add_field(found, core, &term.field[<int> PLACES[name]], columns)
    if binding.numbers.spin_decay != NULL:
        found.append((<size_t> binding.numbers.spin_decay, core.item * (plan.n if binding.numbers.spin_decay_each else 1)))
    places = []
    if core.coupled is not None:
        for interaction in core.coupled.bound_interactions:
            places.append(interaction.places)
        for constraint in core.coupled.bound_constraints:
            places.append(constraint.places)
    for named in places:
        for arrays in named.values():
            for array in arrays:
                found.append((<size_t> address(array), array.nbytes))
    return found


cdef int add_field(list found, Core core, const Field* field, Py_ssize_t columns) except -1:
    """Add the numbers of a coefficient that the bodies read. The rest of its rows only pads vectors."""
    cdef Py_ssize_t count = core.plan.n if field.body else min(core.plan.n, <Py_ssize_t> ROW)
    cdef Py_ssize_t j
    if core.plan.layout == FLAT:
        found.append((<size_t> field.component[0], count * core.plan.dim * core.item))
    else:
        for j in range(columns):
            found.append((<size_t> field.component[j], count * core.item))
    return 0


cdef tuple bound_by(Core core):
    """Return what must be the same in all worlds."""
    cdef Plan* plan = core.plan
    same = [plan.drag, plan.wind, plan.spring, plan.velocity_dependent, plan.damped, plan.turned, plan.terms]
    same += [plan.scheme, plan.alike, plan.g.body, plan.c.body, plan.w.body, plan.k.body, plan.p.body, plan.decay.body]
    if core.coupled is not None:
        same += [id(each) for each in (*core.coupled.bound_interactions, *core.coupled.bound_constraints)]
    return (*same, id((<object> core)._impulses))


cdef class WorldsCore:
    """The compiled part of Worlds. `_found` is called once all arrays are there."""

    cdef Py_ssize_t number      # of worlds
    cdef Py_ssize_t n           # bodies of each
    cdef list workers
    cdef guard_t busy
    cdef int64_t* tick
    cdef uint8_t* started
    cdef double* last_h
    cdef uint8_t* stale         # have bodies been spawned or removed since the last step?
    cdef uint8_t* alive         # of each body of each world, or NULL
    cdef uint8_t* young
    cdef int64_t* generation
    cdef Saved* saved           # or NULL: nothing but arrays outlives a step
    cdef int64_t* pending       # events of each world that were not taken
    cdef int64_t* dropped
    cdef int64_t capacity
    cdef double cost            # of a step of a world, in nanoseconds
    cdef Py_ssize_t most        # steps of worlds between two checks for Ctrl-C
    # Of the round that runs.
    cdef const uint8_t* active  # or NULL: all are
    cdef Py_ssize_t first, last, size, steps
    cdef uint32_t claimed
    cdef bint stop
    # The arrays of all worlds.
    cdef public list _state_arrays      # positions, velocities, history: (worlds, n, dim)
    cdef public list _turning_arrays    # (worlds, n, k)
    cdef public list _applied_arrays, _torque_arrays
    cdef public object _tick, _began, _spanned, _stale, _alive, _young, _generation, _pending, _dropped
    cdef object table, blocks, bound    # numbers of each world: see `_begin_numbers`

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.saved != NULL:
            for i in range(self.number):
                free(self.saved[i].data)
            PyMem_Free(self.saved)

    def _found(self, list steppers, Py_ssize_t number):
        """Take the workers' steppers, which stand where all worlds begin."""
        cdef Worker worker
        cdef Core core = steppers[0]
        self.number, self.n = number, core.plan.n
        self.workers = []
        self._tick = np.full(number, core.completed, np.int64)
        self._began = np.full(number, core.started, np.uint8)
        self._spanned = np.full(number, core.plan.last_h)
        self._stale = np.ones(number, np.uint8)
        self._pending, self._dropped = np.zeros(number, np.int64), np.zeros(number, np.int64)
        self.tick, self.started = <int64_t*> address(self._tick), <uint8_t*> address(self._began)
        self.last_h, self.stale = <double*> address(self._spanned), <uint8_t*> address(self._stale)
        self.pending, self.dropped = <int64_t*> address(self._pending), <int64_t*> address(self._dropped)
        if core.store is not None:
            self.capacity = core.store.log.capacity
        if steppers[0]._impulses is not None or (core.coupled is not None and core.coupled.told_count > 0):
            self.saved = <Saved*> PyMem_Calloc(max(1, number), sizeof(Saved))
            if self.saved == NULL:
                raise MemoryError
        for stepper in steppers:
            worker = Worker()
            worker.core, worker.worlds, worker.errors = stepper, self, []
            self.workers.append(worker)
            worker.bind()
        self.cost = core.cost
        self.most = min(<Py_ssize_t> (0.25 * PATIENCE / self.cost) + 1, <Py_ssize_t> 1 << 16)
        if core.slots is not None:
            self._take_slots()
        self._spread(np.ones(number, np.uint8))

    def _take_slots(self):
        """Give each world slots of its own, as the workers have."""
        cdef Worker worker
        for worker in self.workers:
            worker.core.make_slots()
            worker.bind()
        worker = self.workers[0]
        book = (<object> worker.core)._book()
        rows = self.number, self.n
        self._alive, self._young = np.empty(rows, np.uint8), np.empty(rows, np.uint8)
        self._generation = np.empty(rows, np.int64)
        self._alive[:], self._young[:], self._generation[:] = book.alive, book.young[: self.n], book.generation
        self.alive, self.young = <uint8_t*> address(self._alive), <uint8_t*> address(self._young)
        self.generation = <int64_t*> address(self._generation)

    def _bind_again(self):
        """Find all pointers anew, after a change of arrays or of the workers' bindings."""
        cdef Worker worker
        for worker in self.workers:
            worker.bind()

    def _begin_numbers(self, Core core):
        """Prepare to take the numbers of each world from a stepper, whose binding stays the same but for these."""
        self.blocks = number_blocks(core)
        size = sum([size for _, size in self.blocks])
        self.table = np.zeros((self.number, size), np.uint8)
        self.bound = bound_by(core)

    def _take_numbers(self, Core core, Py_ssize_t i):
        """Take the numbers of a world."""
        cdef char* to = <char*> address(self.table[i])
        cdef Py_ssize_t place, size
        if bound_by(core) != self.bound:
            raise ValueError(
                f"set: expected numbers that may differ from world to world; those of world {i} need other pairs, "
                f"shapes or steps than those of world 0"
            )
        for place, size in number_blocks(core):
            memcpy(to, <const void*> <size_t> place, size)
            to += size

    def _end_numbers(self):
        """Have the workers load those numbers that are not the same in all worlds."""
        cdef Worker worker
        cdef Py_ssize_t offset, k
        for worker in self.workers:
            PyMem_Free(worker.numbers)
            worker.tables = 0
            blocks = number_blocks(worker.core)
            if [size for _, size in blocks] != [size for _, size in self.blocks]:
                raise AssertionError("workers that are bound otherwise")
            worker.numbers = <Numbers*> PyMem_Calloc(len(blocks) + 1, sizeof(Numbers))
            if worker.numbers == NULL:
                raise MemoryError
            offset = 0
            for place, size in blocks:
                part = self.table[:, offset : offset + size]
                if self.number > 1 and (part != part[0]).any():
                    k = worker.tables
                    worker.numbers[k].to = <char*> <size_t> place
                    worker.numbers[k].source = <const char*> <size_t> self.table.ctypes.data + offset
                    worker.numbers[k].size, worker.numbers[k].stride = size, self.table.strides[0]
                    worker.tables += 1
                offset += size

    def _lock(self):
        if not acquire(&self.busy):
            raise RuntimeError("these worlds are stepping already: they serve one thread at a time")

    def _unlock(self):
        release(&self.busy)

    def _load(self, Py_ssize_t i):
        """Load a world into the first worker, whose arrays are its own; the caller copies these."""
        (<Worker> self.workers[0]).load(i)

    def _store(self, Py_ssize_t i):
        cdef Worker worker = self.workers[0]
        worker.store(i)
        worker.go_home()
        self._raise_errors()

    def _spread(self, const uint8_t[::1] where):
        """Store what the first worker has into all worlds of a mask, without events."""
        cdef Worker worker = self.workers[0]
        cdef Py_ssize_t i
        if worker.core.store is not None:
            worker.core.store.log.count = worker.core.store.log.dropped = 0
        for i in range(self.number):
            if where[i]:
                worker.store(i)
                self.stale[i] = True
        self._raise_errors()

    def _copy_saved(self, const int64_t[::1] source, const int64_t[::1] target):
        """Copy contacts and touching pairs of worlds onto those of others; all are read before one is written."""
        cdef Py_ssize_t count = len(source)
        cdef Py_ssize_t k
        cdef Saved* copies
        cdef Saved* saved
        cdef bint made = True
        if self.saved == NULL or count == 0:
            return
        copies = <Saved*> PyMem_Calloc(count, sizeof(Saved))
        if copies == NULL:
            raise MemoryError
        for k in range(count):
            saved = &self.saved[source[k]]
            made = made and make_room(&copies[k], saved.size)
            if made:
                copies[k].size = saved.size
                memcpy(copies[k].data, saved.data, saved.size)
        for k in range(count):
            if made:
                saved = &self.saved[target[k]]
                copies[k], saved[0] = saved[0], copies[k]
            free(copies[k].data)
        PyMem_Free(copies)
        if not made:
            raise MemoryError

    def _raise_errors(self):
        """Raise the error of the first world that has one, or what interrupts the program."""
        cdef Worker worker
        from ..stepper.worlds_base import error_in  # imported late: it imports this module's user
        errors = []
        for worker in self.workers:
            errors += worker.errors
            worker.errors = []
        for _, error in errors:
            if not isinstance(error, Exception):
                raise error
        if errors:
            world, error = min(errors, key=first_of)
            raise error_in(world, error)

    def _run(self, Py_ssize_t steps, active):
        """Step all worlds of a mask, or all; check for Ctrl-C some times a second."""
        cdef Worker worker
        cdef Py_ssize_t part, at_once
        cdef int64_t ran
        cdef double seconds
        self.active = NULL if active is None else <const uint8_t*> address(active)
        while steps > 0:
            # Long calls go round the worlds, so that Ctrl-C finds them at ticks near to each other.
            part = min(steps, self.most, max(<Py_ssize_t> 64, self.most // max(<Py_ssize_t> 1, self.number)))
            self.last = 0
            while self.last < self.number:
                at_once = max(<Py_ssize_t> 1, self.most // part)
                self.first, self.last = self.last, min(self.last + at_once, self.number)
                started = perf_counter()
                ran = self.run_round(part)
                seconds = perf_counter() - started
                if ran > 0:
                    self.cost = 1e9 * seconds * (len(self.workers) if self.shares(ran) else 1) / ran
                    self.most = paced(self.most, self.most if ran >= at_once * part else ran, seconds)
                if self.stop:
                    self.stop = False
                    self._raise_errors()
                PyErr_CheckSignals()
            self._raise_errors()
            steps -= part

    cdef bint shares(self, int64_t steps) noexcept:
        return len(self.workers) > 1 and steps * self.cost > SHARE

    cdef int64_t run_round(self, Py_ssize_t steps) except -1:
        """Run a range of worlds; return the number of their steps."""
        cdef Worker worker
        cdef Task task
        cdef Py_ssize_t count = self.last - self.first
        cdef int64_t ran = 0
        self.steps, self.claimed = steps, 0
        interrupt = None
        if not self.shares(count * steps):
            self.size = count
            worker = self.workers[0]
            with nogil:
                worker.run_range()
        else:
            self.size = max(<Py_ssize_t> 1, count // (16 * <Py_ssize_t> len(self.workers)))
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
        """Return the events of this call as rows, with the number of their world first; and forget them."""
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
