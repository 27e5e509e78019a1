"""Bound interactions: C function and data of callbacks, expressions, forces between bodies and the thermostat."""

from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from ..kernels.abi.coupled cimport LIST_TOO_SHORT, PAIRS_AT_ONCE, Kernels, Pairs, offered_in
from ..kernels.abi.plan cimport Job
from ..kernels.simd.rounding cimport require_rounding
from .coefficients cimport space
from .formulas cimport BoundFormula
from .runner cimport SHARE, run_shared
from .slots cimport write_sources

import numpy as np

from .. import kernels
from ..constraints.broad_phase import Grid
from ..declaration import require_entries
from ..forces.base import Interaction

require_rounding(__name__)

# Cost estimates in nanoseconds, for the baseline instruction set in float64.
cdef enum:
    PER_SPRING = 15
    PER_PAIR = 2
    PER_OPERATION = 2

# Number of float32 lanes in the widest vector of any instruction set.
cdef enum:
    WIDEST = 16


cdef class BoundInteraction:
    """Base class: the C function of an interaction and its data; owns all memory that the data points to."""

    cdef int find_links(self, Links links) except -1:
        """Add to `links` the data that changes when bodies are removed."""
        return 0

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        """Bind the fields of an interaction."""
        raise NotImplementedError


cdef class PythonInteraction(BoundInteraction):
    """Python function that is called once for all bodies."""

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        self.term, self.call = interaction.term, interaction.term.function
        self.function, self.data = call_python, <void*> self
        self.whole, self.views = True, {}
        return 0

    cdef int show(self, list places, object out) except -1:
        """Create the arguments of the function for each state: read-only views (n, dim), and the output."""
        for planes in places:
            self.views[planes[0].ctypes.data] = (*[read_only(array) for array in planes[:2]], out)
        return 0

    cdef int show_tangent(self, list planes, object out) except -1:
        """Create the views for the user's jacobian, if there is one: position, velocity, dx, dv."""
        if self.term.jacobian is not None:
            self.tangent_views = (*[read_only(array) for array in planes], out)
            self.tangent, self.tangent_data = call_jacobian, <void*> self
        return 0


cdef object read_only(object array):
    """Return a view that cannot be made writable, because its buffer is read-only."""
    return np.asarray(memoryview(array).toreadonly())


cdef int call_python(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept with gil:
    cdef PythonInteraction interaction = <PythonInteraction> data
    try:
        position, velocity, to = interaction.views[<size_t> x]
        result = interaction.call(t, position, velocity, to)
        if result is not None:
            interaction.term.check_result(result)
        PyErr_CheckSignals()
    except BaseException as error:
        interaction.error = error
        return 1
    return 0


cdef int call_jacobian(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept with gil:
    cdef PythonInteraction interaction = <PythonInteraction> data
    try:
        interaction.term.evaluate_jacobian(t, *interaction.tangent_views)
        PyErr_CheckSignals()
    except BaseException as error:
        interaction.error = error
        return 1
    return 0


cdef class NativeInteraction(BoundInteraction):
    """Native callback, which may be called for a range of the bodies."""

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        self.keep = interaction.term
        self.function = <InteractionFunction> <size_t> interaction.term.pointer.address
        self.data = <void*> <size_t> interaction.term.data
        self.shared = interaction.term.threadsafe
        self.cost = 10.0 * plan.n
        return 0


cdef class FormulaInteraction(BoundInteraction):
    """Force given as an expression; its derivative and energy for the schemes that need them."""

    cdef int find_links(self, Links links) except -1:
        cdef BoundFormula bound
        for bound in (self.force, self.change, self.energy):
            if bound is not None:
                bound.formula.generation = links.slots.generation
        return 0

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        cdef InteractionFunction run
        coded = interaction.term.code(interaction.fields)
        self.force = BoundFormula.of(coded, plan.dtype)
        self.fills = len({index for kind, index in coded[0].operands if kind == "result"}) == plan.dim
        self.noisy = interaction.term.noisy
        self.by_position = not self.noisy and not {"time", "velocity"} & {kind for kind, _ in coded[0].operands}
        run = <InteractionFunction> table.noisy_formula if self.noisy else table.formula
        self.function, self.data = run, <void*> &self.force.formula
        self.shared = self.unfailing = True
        self.cost = <double> plan.n * PER_OPERATION * (self.force.formula.operations + 1)
        if plan.integrator.name == "implicit_euler":
            self.change = BoundFormula.of(interaction.term.code(interaction.fields, "changes"), plan.dtype)
            self.tangent, self.tangent_data = table.formula_tangent, <void*> &self.change.formula
            if self.noisy:
                self.tangent = <TangentFunction> table.noisy_formula_tangent
        if plan.integrator.name == "energy_euler":
            self.energy = BoundFormula.of(interaction.term.code(interaction.fields, "energy"), plan.dtype)
            self.potential, self.potential_data = table.formula, <void*> &self.energy.formula
        self.places = places_in([self.force, self.change, self.energy], interaction.fields)
        return 0


cdef dict places_in(list formulas, dict fields):
    """Return, per field name, the arrays in which expressions store the field; an empty list for unused fields."""
    cdef BoundFormula bound
    places = {name: [] for name in fields}
    names = [name for name, values in fields.items() if len(values) != 1]
    for bound in formulas:
        if bound is not None:
            for name, place in bound.places:
                places[name].append(place)
            _, rows = bound.arrays
            for n, name in enumerate(names):
                places[name].append(rows[n, None, : len(fields[name])])
    return places


cdef class PairsInteraction(BoundInteraction):
    """Pair potential between near bodies; owns the neighbour list."""

    def __dealloc__(self):
        PyMem_Free(self.pairs.partner)

    cdef int find_links(self, Links links) except -1:
        self.pairs.alive = links.slots.alive
        return 0

    cdef void* take(self, object count, object dtype) except NULL:
        array = kernels.aligned_zeros((1, count + PAIRS_AT_ONCE), np.dtype(dtype))
        self.arrays.append(array)
        return <void*> address(array)

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        cdef Pairs* pairs = &self.pairs
        cdef int64_t n = plan.n
        cdef int a, b
        self.arrays = []
        self.slope = BoundFormula.of(interaction.term.code(interaction.fields), plan.dtype)
        self.places = places_in([self.slope], interaction.fields)
        pairs.n, pairs.cutoff = n, interaction.fields["cutoff"][0]
        pairs.margin = pairs.cutoff / 8
        pairs.formula, pairs.slope = table.formula, <void*> &self.slope.formula
        grid = Grid(np.full(n, (pairs.cutoff + pairs.margin) * 0.4), plan.dim, plan.torus)
        self.arrays.append(space(&pairs.grid.torus, plan))
        for laid in grid.laid:
            for a, (count, per_width) in enumerate(laid):
                pairs.grid.cells[a], pairs.grid.per_width[a] = count, per_width
        pairs.grid.classes = 1
        pairs.grid.per_cell[0] = grid.per_cell[0] if grid.per_cell else 1.0
        pairs.grid.mask = grid.buckets - 1
        for a in range(plan.dim):
            pairs.grid.step[a] = grid.step[a]
        for a in range(-1 if plan.dim > 1 else 0, 2 if plan.dim > 1 else 1):
            for b in range(-1 if plan.dim > 2 else 0, 2 if plan.dim > 2 else 1):
                pairs.grid.row[pairs.grid.rows] = <uint64_t> (
                    <int64_t> (a * pairs.grid.step[1]) + <int64_t> (b * pairs.grid.step[2]) - 1
                )
                pairs.grid.rows += 1
        pairs.grid.radius = self.take(n, plan.dtype)
        pairs.grid.size_class = <const uint8_t*> self.take(n, np.uint8)
        pairs.grid.start = <int32_t*> self.take(grid.buckets + 2, np.int32)
        pairs.grid.bucket = <uint32_t*> self.take(n, np.uint32)
        pairs.grid.body = <int32_t*> self.take(n, np.int32)
        pairs.grid.place = self.take((plan.dim + 1) * n, plan.dtype)
        pairs.begin = <int64_t*> self.take(n + 1, np.int64)
        pairs.lived = <uint8_t*> self.take(n, np.uint8)
        pairs.was = self.take(plan.dim * n, plan.dtype)
        pairs.near = <int32_t*> self.take(n, np.int32)
        pairs.first = <int32_t*> self.take(0, np.int32)
        pairs.second = <int32_t*> self.take(0, np.int32)
        pairs.displacement = self.take(plan.dim * PAIRS_AT_ONCE, plan.dtype)
        pairs.distance = self.take(0, plan.dtype)
        pairs.pull = self.take(0, plan.dtype)
        pairs.most = 512 * n
        pairs.owner = <void*> self
        pairs.kernel = table.pairs
        self.function, self.data = find_pairs, <void*> pairs
        self.whole = self.repeatable = self.by_position = True
        self.cost = 200.0 * n
        return 0

    cdef void grow(self) noexcept:
        """Enlarge the neighbour list; without memory for a longer list, each evaluation searches all pairs."""
        cdef int64_t capacity = min(self.pairs.most, max(2 * self.pairs.capacity, 32 * self.pairs.n + 64))
        cdef void* longer = PyMem_Realloc(self.pairs.partner, capacity * sizeof(int32_t))
        if longer == NULL:
            self.pairs.most = self.pairs.capacity
            return
        self.pairs.partner, self.pairs.capacity = <int32_t*> longer, capacity


cdef void grow_list(void* owner) noexcept with gil:
    (<PairsInteraction> owner).grow()


cdef int find_pairs(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    """Run the kernel; enlarge the neighbour list and repeat while the list is too short."""
    cdef Pairs* pairs = <Pairs*> data
    cdef int code = pairs.kernel(t, first, count, dim, stride, x, v, out, data)
    while code == LIST_TOO_SHORT:
        grow_list(pairs.owner)
        code = pairs.kernel(t, first, count, dim, stride, x, v, out, data)
    return code


cdef int add_nothing(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept nogil:
    return 0


cdef int change_nothing(
    double t, int64_t n, int64_t dim, int64_t stride,
    const void* x, const void* v, const void* dx, const void* dv, void* out, void* data,
) noexcept nogil:
    return 0


cdef class LangevinInteraction(BoundInteraction):
    """Langevin thermostat: its force is zero; each step applies its friction and noise to the velocities."""

    cdef int find_links(self, Links links) except -1:
        self.noise.generation = links.slots.generation
        return 0

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        cdef const Kernels* offered = offered_in(kernels.offered())
        cdef Noise* noise = &self.noise
        self.arrays = [np.array(interaction.fields[name], np.float64) for name in ("friction", "heat")]
        self.places = {name: [array[None]] for name, array in zip(("friction", "heat"), self.arrays)}
        noise.seed = interaction.term.seed
        noise.friction = <const double*> address(self.arrays[0])
        noise.heat = <const double*> address(self.arrays[1])
        noise.friction_step, noise.heat_step = (1 if len(array) > 1 else 0 for array in self.arrays)
        noise.operate, noise.width = offered[1].formulas.operate, offered[1].formulas.width
        self.function, self.tangent = add_nothing, change_nothing
        self.shared = self.unfailing = True
        self.cost = 200.0 * plan.n
        return 0


cdef class SpringsInteraction(BoundInteraction):
    """Springs between pairs of bodies."""

    cdef int find_links(self, Links links) except -1:
        if self.ends is None:
            self.ends = Ends()
            self.ends.add(
                self.arrays[0], self.arrays[1], self.generations, self.springs.count, self.arrays, &self.springs.count,
            )
            write_sources(self.places, self.ends)
        links.ends.append(self.ends)
        return 0

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        cdef Springs* springs = &self.springs
        pairs = interaction.fields["pairs"]
        count = len(pairs)
        self.generations = interaction.fields.get("generations")
        self.arrays = [padded(column, count) for column in (pairs[:, 0], pairs[:, 1])]
        self.arrays += [padded(interaction.fields[name], count) for name in ("k", "rest", "c")]
        self.places = {name: [array[None, :count]] for name, array in zip(("k", "rest", "c"), self.arrays[2:])}
        springs.count = count
        springs.damped = interaction.term.velocity_dependent
        springs.first = <const int64_t*> address(self.arrays[0])
        springs.second = <const int64_t*> address(self.arrays[1])
        springs.k = address(self.arrays[2])
        springs.rest = address(self.arrays[3])
        springs.c = address(self.arrays[4])
        self.keep = space(&springs.torus, plan)
        self.function, self.data = table.springs, <void*> springs
        self.tangent, self.tangent_data = table.springs_tangent, <void*> springs
        self.whole = self.repeatable = True
        self.by_position = not springs.damped
        self.cost = count * PER_SPRING
        return 0


cdef object padded(object values, Py_ssize_t count):
    """Return one number per spring, padded with zeros to whole vectors."""
    array = kernels.aligned_zeros((1, (count + WIDEST - 1) // WIDEST * WIDEST), values.dtype)[0]
    array[:count] = values
    return array


cdef const void* address(object array) except *:
    return <const void*> <size_t> array.ctypes.data


cdef class NBodyInteraction(BoundInteraction):
    """N-body attraction, split among several threads if one evaluation is expensive enough."""

    cdef int find_links(self, Links links) except -1:
        self.bodies.alive = links.slots.alive
        return 0

    cdef int bind(self, object interaction, object plan, const CoupledTable* table, Py_ssize_t threads) except -1:
        self.arrays = [interaction.fields["mu"] + np.zeros(plan.n, plan.dtype), interaction.fields["e2"].copy()]
        self.places = {name: [array[None]] for name, array in zip(("mu", "e2"), self.arrays)}
        self.bodies.n = plan.n
        self.bodies.mu = address(self.arrays[0])
        self.bodies.e2 = address(self.arrays[1])
        self.function, self.data = table.n_body, <void*> &self.bodies
        self.tangent, self.tangent_data = table.n_body_tangent, <void*> &self.bodies
        self.whole = self.repeatable = self.by_position = True
        self.cost = <double> plan.n * plan.n * PER_PAIR
        if threads > 1 and self.cost >= SHARE:
            self.crowd.kernel, self.crowd.data, self.threads = self.function, self.data, threads
            self.function, self.data = share_n_body, <void*> self
        return 0


cdef void run_crowd(void* owner, Job* job) noexcept nogil:
    """Compute the attraction by all bodies on a range of bodies."""
    cdef Crowd* crowd = <Crowd*> owner
    crowd.kernel(0, job.first, job.last - job.first, crowd.dim, crowd.stride, crowd.x, NULL, crowd.out, crowd.data)


cdef int share_n_body(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const void* x, const void* v, void* out, void* data,
) noexcept with gil:
    cdef NBodyInteraction interaction = <NBodyInteraction> data
    cdef Crowd* crowd = &interaction.crowd
    crowd.dim, crowd.stride, crowd.x, crowd.out = dim, stride, x, out
    interaction.job.first, interaction.job.last = 0, count
    try:
        interaction.error = run_shared(run_crowd, crowd, &interaction.job, interaction.threads, interaction.cost)
    except BaseException as error:
        interaction.error = error
    return interaction.error is not None


# Bound class of each kind of interaction.
INTERACTIONS = {
    "python": PythonInteraction, "native": NativeInteraction, "formula": FormulaInteraction,
    "springs": SpringsInteraction, "n_body": NBodyInteraction,
    "pair_potential": PairsInteraction, "langevin": LangevinInteraction,
}
require_entries(__name__, INTERACTIONS, Interaction)


cdef BoundInteraction bind_interaction(object interaction, object plan, const CoupledTable* table, Py_ssize_t threads):
    """Bind an interaction of a plan."""
    cdef BoundInteraction bound = INTERACTIONS[interaction.kind]()
    bound.places = {}
    bound.bind(interaction, plan, table, threads)
    return bound
