"""Coupled: the workspace in which coupled bodies step, with the interactions and constraints bound to it.

Bodies are coupled by interactions, by Python functions that read all bodies, and by constraints. The workspace has
their state in registers (structure of arrays), in two buffers. A step reads one buffer and writes the other, so that
a failed step is discarded at no cost.
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from .coefficients cimport field
from .constraints cimport bind_constraint
from ..kernels.abi.constraints cimport MOVING, Shapes, acts_alone
from ..kernels.constraints.motion cimport end_motion
from ..kernels.abi.events cimport EventSource
from ..kernels.abi.plan cimport (
    ALL_OUT, COMPOSITION, DX, ENERGY_EULER, EXACT, HELD, HERE, IMPLICIT_EULER, KICK_DRIFT, PLACE, PLANES, R, RK4, S,
    SPEED, STATE, STRIDED, TILE, V, VELOCITY_VERLET, X, Array, Job, Plan, SlotArrays,
)
from ..kernels.integrators.traits cimport evaluates_first, fsal
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.abi.coupled cimport BOTH_DIRECTIONS, TILE_INTERACTIONS, Coupling, InteractionCall, Kernels, time_of
from ..kernels.constraints.events cimport forget_spawned
from .interactions cimport BoundInteraction, LangevinInteraction, PythonInteraction, bind_interaction
from .events cimport EventStore, Touches
from .runner cimport Watch, look, paced
from .serving cimport is_served, keep_idle
from .slots cimport Links, Slots, address
from .views cimport View, alike, laid_out_like, padded, same_array, views, whole_rows
from .walls cimport BoundConstraint
from ..kernels.loops.slots cimport zero_inactive

from time import perf_counter

import numpy as np

from .. import kernels as kernels_
from ..errors import CallbackError

cdef enum:
    PRODUCTS = 100  # assumed number of evaluations of an interaction per implicit step, for the cost estimate
    THREE = 3       # up to 3 n-body bodies step in registers (kernels/loops/few.pxd), if vectors have 4 doubles

require_rounding(__name__)


cdef class Coupled(Watch):
    def __dealloc__(self):
        PyMem_Free(self.interaction)
        PyMem_Free(self.constraint)
        PyMem_Free(self.events)
        PyMem_Free(self.source)
        PyMem_Free(self.was)
        PyMem_Free(<void*> self.common.wall)

    @staticmethod
    cdef Coupled of(
        object model, const CoupledTable* table, const Plan* plan, Py_ssize_t threads, Coupled previous, list writes,
    ):
        """Bind the interactions and constraints of a model to a plan whose arrays are already laid out.

        Bound objects of `previous` are reused where they fit. `writes` receives the values to be written to reused
        objects, in the form that `_commit` expects.
        """
        cdef Coupled coupled = Coupled.__new__(Coupled)
        cdef BoundConstraint bound
        cdef bint implicit = plan.scheme == IMPLICIT_EULER and len(model.interactions) > 0
        cdef bint static
        coupled.table, coupled.model, coupled.item = table, model, model.dtype.itemsize
        coupled.arrays = []
        coupled.helpers = threads
        coupled.coupling.plan = plan
        coupled.known = {}
        whole = coupled.bind_interactions(model, plan, threads, previous, writes)
        coupled.bind_all_constraints(model, previous, writes)
        if previous is not None:
            keep_idle(model, previous.known, coupled.known)
        for bound in coupled.bound_constraints:
            if bound.shares:
                coupled.helpers = 1
        coupled.coupling.only_put_back = coupled.is_only_put_back(model)
        energy = plan.scheme == ENERGY_EULER and len(model.interactions) > 0
        static = coupled.only_static(model, plan)
        shapes_move = any(["far" in record.fields for record in model.constraint_records])
        single = not model.constraint_records or (static and not (shapes_move or model.events_enabled))
        coupled.only_function = (
            [term.kind for term in model.interactions] == ["python"] and not model.constraint_records
            and (
                plan.scheme == KICK_DRIFT or plan.scheme == COMPOSITION or plan.scheme == VELOCITY_VERLET
                or plan.scheme == RK4
            )
            and not (plan.drag or plan.spring or plan.terms or plan.turned or plan.damped)
        )
        if whole or implicit or energy or not single:
            coupled.bind_workspace(model, implicit, previous)
            if static:
                coupled.tiles = bytearray((plan.n + TILE - 1) // TILE + 1)
                coupled.coupling.own, coupled.coupling.near = plan, coupled.tiles
        coupled.sleeps = (
            coupled.repeatable and model.motion is None
            and any(["sleep" in record.fields for record in model.constraint_records])
            # A constraint that breaks changes the state only from the next step on: an unchanged state does not prove
            # that the next step repeats this one.
            and not any(["limit" in record.fields for record in model.constraint_records])
        )
        coupled.repeatable = (
            coupled.repeatable and whole and fsal(plan.scheme, plan.velocity_dependent) and coupled.coupling.few == NULL
            and (not model.constraint_records or coupled.coupling.only_put_back)
        )
        if energy:
            coupled.coupling.implicit = table.energy
        if implicit:
            coupled.bind_implicit(model, plan)
        return coupled

    cdef bint bind_interactions(
        self, object model, const Plan* plan, Py_ssize_t threads, Coupled previous, list writes,
    ) except -1:
        """Bind the interactions; return whether one of them needs all bodies in one tile."""
        cdef BoundInteraction bound
        cdef InteractionCall* interaction
        cdef bint whole = len(model.interactions) > TILE_INTERACTIONS
        self.interaction = <InteractionCall*> PyMem_Calloc(max(1, len(model.interactions)), sizeof(InteractionCall))
        if self.interaction == NULL:
            raise MemoryError
        self.bound_interactions = []
        self.repeatable = True
        for number, term in enumerate(model.interactions):
            found = None if previous is None else previous.known.get(term.lineage)
            bound = None if found is None else found[1]
            if bound is None or not is_served(bound, found[0], term, model, self.known, writes):
                bound = bind_interaction(term, model, self.table, threads)
            self.known[term.lineage] = term, bound
            self.bound_interactions.append(bound)
            interaction = &self.interaction[<Py_ssize_t> number]
            interaction.function, interaction.data = bound.function, bound.data
            interaction.potential, interaction.potential_data = bound.potential, bound.potential_data
            interaction.noisy, interaction.fills, interaction.by_position = bound.noisy, bound.fills, bound.by_position
            if isinstance(bound, LangevinInteraction):
                self.coupling.noise = &(<LangevinInteraction> bound).noise
            interaction.factor = field(plan, term.factor, self.arrays)
            whole = whole or bound.whole
            self.fallible = self.fallible or not bound.unfailing
            self.repeatable = self.repeatable and bound.repeatable
            if not (bound.shared or bound.whole):
                self.helpers = 1
            self.cost += bound.cost * (model.integrator.force_evaluations_with_drag or PRODUCTS)
        self.coupling.interactions, self.coupling.interaction = len(model.interactions), self.interaction
        self.coupling.few = NULL
        if [term.kind for term in model.interactions] == ["n_body"] and model.n < BOTH_DIRECTIONS and model.dim > 1:
            self.coupling.few = self.table.three if model.n <= THREE and self.table.three != NULL else self.table.few
        return whole

    cdef int bind_all_constraints(self, object model, Coupled previous, list writes) except -1:
        cdef BoundConstraint bound
        cdef dict known = {} if previous is None else previous.known
        self.constraint = <ConstraintCall*> PyMem_Calloc(max(1, len(model.constraint_records)), sizeof(ConstraintCall))
        if self.constraint == NULL:
            raise MemoryError
        self.bound_constraints = []
        for record in model.constraint_records:
            found = known.get(record.lineage)
            bound = None if found is None else found[1]
            if bound is None or not is_served(bound, found[0], record, model, self.known, writes):
                bound = bind_constraint(record, model, self.table, padded(model.n))
            self.known[record.lineage] = record, bound
            self.bound_constraints.append(bound)
            if bound.rested != NULL:
                self.rested = bound.rested
        for number, bound in enumerate(self.bound_constraints):
            self.constraint[<Py_ssize_t> number] = bound.constraint
            self.cost += bound.cost
        self.coupling.constraints, self.coupling.constraint = len(model.constraint_records), self.constraint
        return self.bind_common(model, previous)

    cdef int bind_common(self, object model, Coupled previous) except -1:
        """Bind the data shared by all constraints: weights, bodies at rest, and walls."""
        cdef ConstraintCall* wall
        weights = next((each.fields["weight"] for each in model.constraint_records if "weight" in each.fields), None)
        pins = any([record.kind == "pin" for record in model.constraint_records])
        if weights is None and pins:
            weights = model.rounded_weights
        self.weights_of = weights
        if previous is not None and previous.weights_of is weights:
            self.weights = previous.weights
        elif weights is not None:
            self.weights = whole_rows(weights, model)
        if model.at_rest is not None:
            self.at_rest = whole_rows(model.at_rest, model)
            self.common.at_rest = address(self.at_rest)
        if self.weights is not None:
            self.common.weight = address(self.weights)
        self.coupling.moves = self.common.weight if pins else NULL
        walls = [number for number, each in enumerate(model.constraint_records) if each.solid]
        if walls:
            wall = <ConstraintCall*> PyMem_Calloc(len(walls), sizeof(ConstraintCall))
            if wall == NULL:
                raise MemoryError
            self.common.wall = wall
            for number in walls:
                wall[self.common.walls] = self.constraint[<Py_ssize_t> number]
                self.common.walls += 1
        return 0

    cdef bint is_only_put_back(self, object model) except -1:
        """Return whether bodies interact and a periodic box is their only constraint."""
        return len(model.interactions) > 0 and [record.kind for record in model.constraint_records] == ["periodic"]

    cdef bint only_static(self, object model, const Plan* plan) except -1:
        """Return whether all forces and constraints act on single bodies and the scheme can step tiles separately."""
        cdef BoundConstraint bound
        if model.interactions or plan.scheme >= IMPLICIT_EULER:
            return False
        if plan.scheme == EXACT and (model.records or model.turned or (plan.drag and not plan.velocity_dependent)):
            return False
        for bound in self.bound_constraints:
            if not acts_alone(bound.constraint.kind):
                return False
        return True

    cdef int listen(self, EventStore store, object model, object before) except -1:
        """Let constraints record events into a store, unless they already do.

        before: the preceding model, or None. The number of a constraint may differ between the two models.
        """
        cdef BoundConstraint bound
        if self.events != NULL:
            return 0
        from ..stepper.events import reporting  # imported late: few programs use events
        kinds, listening = reporting(model), []
        numbers = {} if before is None else {id(before.constraints[source]): source for source in reporting(before)}
        self.events = <EventSource**> PyMem_Calloc(max(1, len(kinds)), sizeof(EventSource*))
        self.source = <int64_t*> PyMem_Calloc(max(1, len(kinds)), sizeof(int64_t))
        self.was = <int64_t*> PyMem_Calloc(max(1, len(kinds)), sizeof(int64_t))
        if self.events == NULL or self.source == NULL or self.was == NULL:
            raise MemoryError
        for number, (constraint, bound) in enumerate(zip(model.constraint_records, self.bound_constraints)):
            source = model.source(constraint)
            if source in kinds and constraint.kind != "corners":  # the walls at a corner record its events
                bound.listen(kinds[source], model.n)
                self.constraint[<Py_ssize_t> number].events = &bound.events
                self.events[self.event_source_count] = &bound.events
                self.source[self.event_source_count] = source
                self.was[self.event_source_count] = numbers.get(id(model.constraints[source]), source)
                self.event_source_count += 1
                listening.append((source, number))
        for (_, number), (_, turn) in zip(sorted(listening), listening):
            self.constraint[<Py_ssize_t> turn].reports = number
        self.coupling.log, self.coupling.report_events = &store.log, self.table.report_events
        return 0

    cdef void take_over(self, Coupled other, Touches touches) noexcept:
        """Copy the touching pairs of the previous binding `other`, or set those in `touches`; either may be None."""
        cdef int64_t i, k
        cdef bint same
        cdef EventSource* events
        cdef BoundConstraint bound
        for bound in self.bound_constraints:
            bound.join(&self.common)
        for i in range(self.event_source_count):
            events = self.events[i]
            if touches is None:
                events.source = self.source[i]  # a reused constraint still has its previous number
            if touches is not None:
                touches.execute(events)
            elif other is not None and other is not self:
                same = False
                for k in range(other.event_source_count):
                    if other.source[k] == self.was[i] and other.events[k].capacity == events.capacity:
                        same = True
                        if other.events[k] != events:
                            events.count = other.events[k].count
                            memcpy(events.touching, other.events[k].touching, events.count * sizeof(int64_t))
                if not same:
                    events.count = 0  # the constraint was disabled in the previous binding

    cdef int bind_workspace(self, object model, bint implicit, Coupled previous) except -1:
        """Allocate a workspace in which all bodies step as one tile."""
        cdef PythonInteraction python
        n, dim, count = model.n, model.dim, len(model.interactions)
        registers = ALL_OUT + count + 1 + (HELD if self.only_function else 0)
        # See `free` in passes.pxd. Also without rotations, because `set` may add them to the bound constraints.
        registers += any(["distance" in record.kind for record in model.constraint_records])
        shape = registers, dim, padded(n)
        if previous is not None and previous.workspace is not None and previous.workspace.shape == shape:
            self.workspace = previous.workspace  # reuse its memory: each call begins by copying the state into it
        else:
            self.workspace = kernels_.aligned_zeros((shape[0] * dim, shape[2]), model.dtype).reshape(shape)
        self.coupling.workspace = <char*> address(self.workspace)
        self.coupling.delta_v = <char*> address(self.workspace[ALL_OUT + count])  # after the outputs
        self.coupling.padded = shape[2]
        self.coupling.plan = self.whole
        self.coupling.owner = <void*> self
        self.coupling.look = look_now_and_then
        self.coupling.patience = 1
        self.helpers = 1
        for number, bound in enumerate(self.bound_interactions):
            if isinstance(bound, PythonInteraction):
                python = bound
                places = [[self.workspace[first + register].T[:n] for register in (X, V)] for first in (0, STATE)]
                python.show(places, self.workspace[ALL_OUT + number].T[:n])
        return 0

    cdef int bind_implicit(self, object model, const Plan* plan) except -1:
        """Allocate the registers of implicit steps, and bind the tangents of interactions."""
        cdef BoundInteraction bound
        cdef PythonInteraction python
        n, dim, count = model.n, model.dim, len(model.interactions)
        shape = (HERE + count, dim, self.coupling.padded)
        self.newton = kernels_.aligned_zeros((shape[0] * dim, shape[2]), model.dtype).reshape(shape)
        self.coupling.implicit = self.table.implicit
        self.coupling.krylov = <char*> <size_t> self.newton.ctypes.data
        self.coupling.weight = field(plan, model.weight, self.arrays)
        for number in range(count):
            bound = self.bound_interactions[number]
            if isinstance(bound, PythonInteraction):
                python = bound
                seen = [self.newton[register].T[:n] for register in (PLACE, SPEED, DX, R)]
                python.show_tangent(seen, self.workspace[ALL_OUT + number].T[:n])
            self.interaction[number].tangent, self.interaction[number].tangent_data = bound.tangent, bound.tangent_data
            self.interaction[number].velocity_dependent = model.interactions[number].term.velocity_dependent
        return 0

    cdef void prepare(self, const Plan* plan, bint componentwise, const Kernels* kernels) noexcept:
        """Derive the plans of both workspace buffers from the plan of the caller's arrays, after it has changed."""
        cdef Plan* whole
        cdef BoundConstraint bound
        cdef int place
        for bound in self.bound_constraints:
            bound.prepare(plan)
        if self.workspace is None:
            return
        self.coupling.in_place = (
            evaluates_first(plan.scheme) and self.coupling.interactions > 0 and self.coupling.constraints == 0
            and not plan.turned
        )
        for place in range(2):
            whole = &self.whole[place]
            whole[0] = plan[0]
            whole.layout = PLANES if componentwise else STRIDED
            self.place(&whole.x, place * STATE + X)
            self.place(&whole.v, place * STATE + V)
            if plan.s.data != NULL:
                self.place(&whole.s, place * STATE + S)
            kernels.prepare(whole, kernels, NULL)

    cdef int find_links(self, Slots slots, Coupled previous) except -1:
        """Create the Links: the springs, pairs and pins that spawn and kill update when bodies are removed."""
        cdef BoundInteraction interaction
        cdef BoundConstraint constraint
        cdef Links links
        if self.links is not None:
            return 0
        links = Links(slots, self.model, None if previous is None else previous.links)
        links.weight, links.at_rest = <char*> self.common.weight, <char*> self.common.at_rest
        if links.at_rest != NULL:
            links.at_rest_declared = <const char*> address(self.model.at_rest)
        for interaction in self.bound_interactions:
            interaction.find_links(links)
        for constraint in self.bound_constraints:
            constraint.find_links(links)
        self.links = links
        return 0

    cdef void coast(self, Py_ssize_t steps) noexcept nogil:
        """Advance moving shapes by steps that no kernel ran, because no body was near a shape."""
        cdef int number
        for number in range(self.coupling.constraints):
            if self.constraint[number].kind == MOVING:
                for _ in range(steps):
                    end_motion(
                        self.coupling.plan.dim, self.coupling.plan.h, <const Shapes*> self.constraint[number].data
                    )

    cdef void clear_inactive(self) noexcept nogil:
        """Zero the inactive slots in both state buffers, which Python functions read, and forget their contacts."""
        cdef Py_ssize_t i
        cdef const SlotArrays* slots = self.coupling.plan.slots
        if self.coupling.workspace != NULL:
            zero_inactive(&self.whole[0], 0, self.whole[0].n)
            zero_inactive(&self.whole[1], 0, self.whole[1].n)
        self.forget_pairs()
        for i in range(self.coupling.plan.n if self.rested != NULL else 0):
            if self.rested[i] and (slots.needs_start[i] or not slots.alive[i]):
                self.wake()     # a resting body was removed: bodies on top of it may lose their support

    cdef void forget_pairs(self) noexcept nogil:
        """Forget the touching pairs of bodies spawned since the last step."""
        cdef int64_t i
        for i in range(self.event_source_count if self.coupling.plan.slots != NULL else 0):
            forget_spawned(self.events[i], self.coupling.plan.slots.needs_start)

    cdef bint touches(self) noexcept nogil:
        """Return whether any pair touched in the last step."""
        cdef int64_t i
        for i in range(self.event_source_count):
            if self.events[i].count > 0:
                return True
        return False

    cdef int end_contacts(self, int64_t tick) except -1:
        """Record the ends of contacts after all bodies were killed, for the skipped step that would end at `tick`."""
        cdef Py_ssize_t n = self.coupling.plan.n
        places = np.zeros((self.coupling.plan.dim, n), self.model.dtype)
        self.forget_pairs()
        self.coupling.log.tick, self.coupling.log.time = tick, time_of(&self.coupling, tick)
        self.coupling.log.h = self.coupling.plan.h
        self.coupling.report_events(
            True, self.coupling.constraints, self.coupling.constraint, n, self.coupling.plan.dim, n,
            <const void*> address(places), self.coupling.log,
        )
        return 0

    cdef void wake(self) noexcept nogil:
        """Wake all sleeping bodies: the next step computes every contact."""
        if self.rested != NULL:
            memset(self.rested, 0, self.coupling.plan.n)

    cdef bint only_few(self) noexcept nogil:
        """Return whether the few-body kernel runs, which does not check after each step that the state is finite."""
        return self.coupling.few != NULL and self.coupling.constraints == 0

    cdef void place(self, Array* array, Py_ssize_t number) noexcept:
        """Describe a register of the workspace as an array (n, dim)."""
        array.body, array.component = self.item, self.coupling.padded * self.item
        array.data = self.coupling.workspace + number * self.whole[0].dim * array.component

    cdef void enter(self, const Plan* plan) noexcept nogil:
        """Copy the state of all bodies into the workspace."""
        cdef Py_ssize_t n = plan.n if plan.slots == NULL else plan.slots.end
        self.table.move(False, plan, 0, n, self.coupling.padded, self.whole[0].x.data, NULL)
        if plan.slots != NULL:
            zero_inactive(&self.whole[0], 0, plan.slots.end)

    cdef const Plan* buffer(self, Py_ssize_t steps) noexcept nogil:
        """Return the plan of the state buffer that has the result of `steps` steps."""
        return &self.whole[0 if self.coupling.in_place else steps % 2]

    cdef bint recalls(self, const Plan* plan) noexcept nogil:
        """Return whether the workspace has the accelerations at exactly the positions of the plan."""
        cdef Py_ssize_t n = plan.n if plan.slots == NULL else plan.slots.end
        return self.last != NULL and same_array(&plan.x, &self.last.x, n, plan.dim, self.item)

    cdef void leave(self, const Plan* plan, Py_ssize_t steps) noexcept nogil:
        """Copy the result of `steps` steps to the caller's arrays; with `coupling.near`, only the marked tiles."""
        cdef char* state = self.buffer(steps).x.data
        cdef Py_ssize_t n = plan.n if plan.slots == NULL else plan.slots.end
        cdef Py_ssize_t most = n if self.coupling.near == NULL else TILE
        cdef Py_ssize_t first = 0
        while first < n:
            if self.coupling.near == NULL or self.coupling.near[first // TILE]:
                self.table.move(
                    True, plan, first, min(most, n - first), self.coupling.padded, state + first * self.item, NULL,
                )
            first += most

    cdef bint show(self, const Plan* plan, list state) except -1:
        """Create views of the caller's arrays for the Python function; return whether kernels can step in these arrays.

        The output of the function and the intermediate state between two stages get arrays of the same layout.
        """
        cdef PythonInteraction python = self.bound_interactions[0]
        cdef bint planes = plan.x.body == self.item
        cdef bint rows = plan.x.component == self.item and plan.x.body == plan.dim * self.item
        cdef list arrays, between
        if self.shown is not state:
            for address in [*python.views][2:]:     # the first two entries are the workspace's buffers
                del python.views[address]
            arrays = [(<View> view).array for view in state]
            between = [laid_out_like(arrays[0]) for _ in range(3)]
            if plan.scheme == COMPOSITION and plan.kicks == 1 and not plan.velocity_dependent:
                between[1] = arrays[1]  # velocities change in the last stage only
            python.show([arrays, between[:2]], between[2])
            self.between = views(between)
            for number in range(3):
                self.seen[<int> number] = (<View> self.between[number]).place
            self.coupling.seen = self.seen
            self.shown, self.shown_at = state, <const char*> <size_t> arrays[0].ctypes.data
        return (
            self.shown_at == plan.x.data and alike(&plan.x, &plan.v) and alike(&plan.x, &self.seen[0])
            and (planes or rows and self.whole[0].g.body == 0 and self.interaction.factor.body == 0)
        )

    cdef int raise_failure(self, const Job* failed) except -1:
        """Raise the error of the interaction or constraint that failed."""
        cdef BoundInteraction interaction
        self.shown = None   # the output may no longer be zeros: `show` allocates a new one in the next call
        interaction = self.bound_interactions[failed.failed_part]
        if interaction.error is not None:
            error, interaction.error = interaction.error, None
            raise error
        raise CallbackError(self.model.interactions[failed.failed_part].term.label, failed.code)


cdef bint look_now_and_then(void* owner) noexcept with gil:
    """Call `look` (the check for Ctrl-C) about ten times a second, regardless of the duration of a step."""
    cdef Coupled coupled = <Coupled> owner
    cdef Coupling* coupling = &coupled.coupling
    cdef double now = perf_counter()
    coupling.patience = paced(coupling.patience, coupling.patience, now - coupled.looked)
    coupled.looked = now
    with nogil:
        pass  # let other threads take the GIL: Python functions have no cost estimate, so steps may be long
    return look(owner)
