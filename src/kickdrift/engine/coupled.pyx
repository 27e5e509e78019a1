"""Coupled: pushes on many bodies at once, constraints, and the room in which coupled bodies are stepped.

Bodies are coupled where they see each other, where a function is shown all of them, and where constraints
hold them. They are copied into a room of registers then. Each step is made beside the last completed one,
so that whatever fails goes back to that at no cost.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .coefficients cimport field
from .constraints cimport BoundHold, bind_constraints
from ..kernels.abi.events cimport Told
from ..kernels.abi.registers cimport ALL_OUT, DX, HERE, PLACE, R, S, SPEED, STATE, V, X
from ..kernels.abi.plan cimport ENERGY_EULER, EXACT, IMPLICIT_EULER, PLANES, ROW, STRIDED, Array, Job, Plan
from ..kernels.integrators.traits cimport fsal
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.abi.coupled cimport TILE_PUSHES, Push, Sweep
from ..kernels.abi.tables cimport Kernels
from .interactions cimport BoundPush, LangevinPush, PythonPush, bind_push
from .events cimport EventStore, Touches
from .runner cimport copy_array
from .runner cimport Watch, look, paced
from .slots cimport Links, Slots
from ..kernels.loops.living cimport park

from time import perf_counter

from .. import events
from .. import kernels as kernels_
from ..errors import CallbackError

# Evaluations of a push in an implicit step, roughly.
cdef enum:
    PRODUCTS = 100

require_rounding(__name__)


cdef class Coupled(Watch):
    def __dealloc__(self):
        PyMem_Free(self.push)
        PyMem_Free(self.hold)
        PyMem_Free(self.told)
        PyMem_Free(self.source)

    @staticmethod
    cdef Coupled of(object model, const SweptTable* table, const Plan* plan, Py_ssize_t threads, Coupled previous):
        """For the pushes and holds of a model, whose plan is laid out already.

        Those that a previous one of the same bodies has bound, if there is one, are shared with it.
        """
        cdef Coupled coupled = Coupled.__new__(Coupled)
        cdef bint implicit = plan.scheme == IMPLICIT_EULER and len(model.pushes) > 0
        if previous is not None and previous.links is not None:
            previous = None  # what is bound there may be cut
        coupled.table, coupled.model, coupled.item = table, model, model.dtype.itemsize
        coupled.arrays = []
        coupled.helpers = threads
        coupled.sweep.plan = plan
        whole = coupled.bind_pushes(model, plan, threads, previous)
        coupled.bind_holds(model, previous)
        coupled.sweep.wraps_early = coupled.is_only_put_back(model) and fsal(plan.scheme, plan.velocity_dependent)
        energy = plan.scheme == ENERGY_EULER and len(model.pushes) > 0
        if whole or implicit or energy or not coupled.walls_alone(model, plan):
            coupled.bind_room(model, implicit, previous)
        if energy:
            coupled.sweep.implicit = table.energy
        if implicit:
            coupled.bind_implicit(model, plan)
        return coupled

    cdef bint serves(self, object model) except -1:
        """Are the pushes and holds of a model those that are bound here?"""
        mine = self.model
        return (
            mine.n == model.n and mine.mass is model.mass and mine.at_rest is model.at_rest
            and list(map(id, mine.pushes)) == list(map(id, model.pushes))
            and list(map(id, mine.holds)) == list(map(id, model.holds))
            and mine.told == model.told and list(map(mine.source, mine.holds)) == list(map(model.source, model.holds))
        )

    cdef bint bind_pushes(self, object model, const Plan* plan, Py_ssize_t threads, Coupled previous) except -1:
        """Returns whether they want all bodies as one tile."""
        cdef BoundPush bound
        cdef dict known = {}
        cdef Push* push
        cdef bint whole = len(model.pushes) > TILE_PUSHES
        self.push = <Push*> PyMem_Calloc(max(1, len(model.pushes)), sizeof(Push))
        if self.push == NULL:
            raise MemoryError
        if previous is not None and previous.model.n == model.n:
            known = dict(zip(map(id, previous.model.pushes), previous.bound_pushes))
        self.bound_pushes = []
        for number, term in enumerate(model.pushes):
            bound = known.get(id(term))
            # A Python function is shown a room, which is another one here.
            if bound is None or isinstance(bound, PythonPush):
                bound = bind_push(term, model, self.table, threads)
            self.bound_pushes.append(bound)
            push = &self.push[<Py_ssize_t> number]
            push.function, push.data = bound.function, bound.data
            push.potential, push.potential_data = bound.potential, bound.potential_data
            push.noisy = bound.noisy
            if isinstance(bound, LangevinPush):
                self.sweep.noise = &(<LangevinPush> bound).noise
            push.factor = field(plan, term.factor, self.arrays)
            whole = whole or bound.whole
            if not (bound.shared or bound.whole):
                self.helpers = 1
            self.cost += bound.cost * (model.integrator.force_evaluations_with_drag or PRODUCTS)
        self.sweep.pushes, self.sweep.push = len(model.pushes), self.push
        return whole

    cdef int bind_holds(self, object model, Coupled previous) except -1:
        cdef BoundHold bound
        cdef list known = []
        self.hold = <Hold*> PyMem_Calloc(max(1, len(model.holds)), sizeof(Hold))
        if self.hold == NULL:
            raise MemoryError
        if previous is not None and previous.model.n == model.n:
            known = list(zip(previous.model.holds, previous.bound_holds))
        self.bound_holds = bind_constraints(model, self.table, padded(model.n), known)
        for number, bound in enumerate(self.bound_holds):
            self.hold[<Py_ssize_t> number] = bound.hold
            self.cost += bound.cost
        self.sweep.holds, self.sweep.hold = len(model.holds), self.hold
        return 0

    cdef bint is_only_put_back(self, object model) except -1:
        """Is a periodic box all that holds bodies which are pushed?"""
        return len(model.pushes) > 0 and [hold.kind for hold in model.holds] == ["periodic"]

    cdef bint walls_alone(self, object model, const Plan* plan) except -1:
        """Is there nothing but walls, which hold each body on its own? They are met tile by tile."""
        cdef BoundHold bound
        if len(model.holds) == 0:
            return True
        # Those who are told who met whom look at all bodies at once.
        if model.told or model.pushes or plan.scheme >= EXACT:
            return False
        for bound in self.bound_holds:
            if not bound.by_tiles:
                return False
        return True

    cdef int listen(self, EventStore store, object model) except -1:
        """Have constraints report to where events are kept; those that do already go on."""
        cdef BoundHold bound
        if self.told != NULL:
            return 0
        kinds = events.reporting(model)
        self.told = <Told**> PyMem_Calloc(max(1, len(kinds)), sizeof(Told*))
        self.source = <int64_t*> PyMem_Calloc(max(1, len(kinds)), sizeof(int64_t))
        if self.told == NULL or self.source == NULL:
            raise MemoryError
        for hold, bound in zip(model.holds, self.bound_holds):
            source = model.source(hold)
            if source in kinds and hold.kind != "corners":  # whose walls report
                bound.listen(kinds[source], model.n)
                self.told[self.tolds] = &bound.told
                self.source[self.tolds] = source
                self.tolds += 1
            elif hold.kind == "corners":
                pairs = zip(model.holds, self.bound_holds)
                bound.listen([wall for each, wall in pairs if each.kind in ("box", "plane")], model.n)
        self.sweep.log, self.sweep.tell = &store.log, self.table.tell
        return 0

    cdef void take_over(self, Coupled other, Touches touches) noexcept:
        """Those who touch, from the binding before or as they are to be; either may be None."""
        cdef int64_t i, k
        cdef Told* told
        for i in range(self.tolds):
            told = self.told[i]
            if touches is None:
                told.source = self.source[i]  # what is shared with the binding before may have had another
            if touches is not None:
                touches.execute(told)
            elif other is not None:
                for k in range(other.tolds):
                    if other.told[k] != told and other.source[k] == told.source and other.told[k].room == told.room:
                        told.count = other.told[k].count
                        memcpy(told.touching, other.told[k].touching, told.count * sizeof(int64_t))

    cdef int bind_room(self, object model, bint implicit, Coupled previous) except -1:
        """Room for all bodies, which are stepped as one tile."""
        cdef PythonPush python
        n, dim, count = model.n, model.dim, len(model.pushes)
        registers = ALL_OUT + count + 1  # the last is the gain
        shape = registers, dim, padded(n)
        if previous is not None and previous.room is not None and previous.room.shape == shape:
            self.room = previous.room  # each call begins with the state that it copies there
        else:
            self.room = kernels_.aligned_zeros((shape[0] * dim, shape[2]), model.dtype).reshape(shape)
        self.sweep.room = <char*> <size_t> self.room.ctypes.data
        self.sweep.gain = <char*> <size_t> self.room[registers - 1].ctypes.data
        self.sweep.padded = shape[2]
        self.sweep.plan = self.whole
        self.sweep.owner = <void*> self
        self.sweep.look = look_now_and_then
        self.sweep.patience = 1
        self.helpers = 1
        places = [[self.room[first + register].T[:n] for register in (X, V)] for first in (0, STATE)]
        for number, bound in enumerate(self.bound_pushes):
            if isinstance(bound, PythonPush):
                python = bound
                python.show(places, self.room[ALL_OUT + number].T[:n])
        return 0

    cdef int bind_implicit(self, object model, const Plan* plan) except -1:
        """Room for the vectors of implicit steps; and how pushes change."""
        cdef BoundPush bound
        cdef PythonPush python
        n, dim, count = model.n, model.dim, len(model.pushes)
        shape = (HERE + count, dim, self.sweep.padded)
        self.newton = kernels_.aligned_zeros((shape[0] * dim, shape[2]), model.dtype).reshape(shape)
        self.sweep.implicit = self.table.implicit
        self.sweep.krylov = <char*> <size_t> self.newton.ctypes.data
        self.sweep.weight = field(plan, model.weight, self.arrays)
        for number in range(count):
            bound = self.bound_pushes[number]
            if isinstance(bound, PythonPush):
                python = bound
                seen = [self.newton[register].T[:n] for register in (PLACE, SPEED, DX, R)]
                python.show_tangent(seen, self.room[ALL_OUT + number].T[:n])
            self.push[number].tangent, self.push[number].tangent_data = bound.tangent, bound.tangent_data
            self.push[number].velocity_dependent = model.pushes[number].term.velocity_dependent
        return 0

    cdef void prepare(self, const Plan* plan, bint componentwise, const Kernels* kernels) noexcept:
        """Take over what has changed in the plan of the caller's arrays."""
        cdef Plan* whole
        cdef int place
        if self.room is None:
            return
        for place in range(2):
            whole = &self.whole[place]
            whole[0] = plan[0]
            whole.layout = PLANES if componentwise else STRIDED
            self.place(&whole.x, place * STATE + X)
            self.place(&whole.v, place * STATE + V)
            if plan.s.data != NULL:
                self.place(&whole.s, place * STATE + S)
            kernels.prepare(whole, kernels, NULL)

    cdef int find_links(self, Slots slots) except -1:
        """Be ready for births and deaths, where nothing is cut yet."""
        cdef BoundPush push
        cdef BoundHold hold
        if self.links is not None:
            return 0
        links = Links(slots, self.model)
        for push in self.bound_pushes:
            push.find_links(links)
        for hold in self.bound_holds:
            hold.find_links(links)
        self.links = links
        return 0

    cdef void clear_dead(self) noexcept nogil:
        """Functions are shown zeros for the dead, in both places."""
        if self.sweep.room != NULL:
            park(&self.whole[0], 0, self.whole[0].n)
            park(&self.whole[1], 0, self.whole[1].n)

    cdef void place(self, Array* array, Py_ssize_t number) noexcept:
        """A register of the room as an array (n, dim)."""
        array.body, array.component = self.item, self.sweep.padded * self.item
        array.data = self.sweep.room + number * self.whole[0].dim * array.component

    cdef void enter(self, const Plan* plan) noexcept nogil:
        """Copy the state of all bodies into the room."""
        copy_state(&self.whole[0], plan, self.item)
        if plan.living != NULL:
            park(&self.whole[0], 0, plan.living.end)

    cdef void leave(self, const Plan* plan, Py_ssize_t steps) noexcept nogil:
        """Copy it back, from where so many steps have left it."""
        copy_state(plan, &self.whole[steps % 2], self.item)

    cdef int raise_failure(self, const Job* failed) except -1:
        """What a push or hold failed with."""
        cdef BoundPush push
        push = self.bound_pushes[failed.failed_push]
        if push.error is not None:
            error, push.error = push.error, None
            raise error
        raise CallbackError(self.model.pushes[failed.failed_push].term.label, failed.code)


cdef void copy_state(const Plan* to, const Plan* source, Py_ssize_t item) noexcept nogil:
    cdef Py_ssize_t n = to.n if to.living == NULL else to.living.end
    copy_array(&to.x, &source.x, n, to.dim, item)
    copy_array(&to.v, &source.v, n, to.dim, item)
    if to.s.data != NULL:
        copy_array(&to.s, &source.s, n, to.dim, item)


cdef Py_ssize_t padded(Py_ssize_t n):
    """Numbers in a plane for n bodies: whole tiles and vectors."""
    return (n + ROW - 1) // ROW * ROW


cdef bint look_now_and_then(void* owner) noexcept with gil:
    """`look`, some ten times a second, however long a step takes."""
    cdef Coupled coupled = <Coupled> owner
    cdef Sweep* sweep = &coupled.sweep
    cdef double now = perf_counter()
    sweep.patience = paced(sweep.patience, sweep.patience, now - coupled.looked)
    coupled.looked = now
    with nogil:
        pass  # other threads may want to run: no estimate knows how long functions take
    return look(owner)
