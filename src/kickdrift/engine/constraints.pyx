"""Bound constraints: a C function and its data for each kind of constraint."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from ..kernels.abi.constraints cimport (
    BOX, COLLISIONS, COLOURS, CONTACT, CONTACTS, CORNERS, DISTANCE, FLOOR, PAIR_ROW, CONTACT_EVENT,
    LIMITED, PAIRS_PER_BODY, PERIODIC, PIN, PLANE, ROD, SENSOR, SHAPES, SHAPES_PER_BODY, SOFT, SPIN, TRAITS,
    TWIST, Collisions, Contacts, Distance, Pin, Shapes,
)
from ..kernels.abi.events cimport EventSource
from ..kernels.abi.plan cimport MAX_DIM
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.abi.coupled cimport CoupledTable
from .coefficients cimport space
from .runner cimport look
from .slots cimport Ends, Links, address, write_sources
from .walls cimport BoundConstraint, Common, bind_spin

import numpy as np

from ..constraints.base import ABSENT, Constraint
from ..constraints.broad_phase import Grid
from ..declaration import require_entries
from .walls import BoundCorners, BoundFloor, BoundPeriodic, BoundSensor, BoundShapes, BoundWall

require_rounding(__name__)


cdef class BoundPin(BoundConstraint):
    cdef Pin pin

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.tie, &self.pin
        self.pin.count = len(fields["indices"])
        self.generations = fields.get("generations")
        self.pin.index = <const int64_t*> self.keep(fields["indices"], np.int64)
        self.cost = 10 * self.pin.count
        return 0

    cdef int find_links(self, Links links) except -1:
        index = self.kept[0]
        if self.ends is None:
            self.ends = Ends()
            self.ends.add(index, None, self.generations, self.pin.count, [index], &self.pin.count)
        links.ends.append(self.ends)
        return 0


cdef enum:
    PAGE = 4096     # bytes of body rows after which a cache line is skipped
    LINE = 64       # bytes of a cache line


cdef object stages(object first, object second, int64_t n):
    """Return the level of each pair: length of the longest chain of earlier pairs that share bodies with it."""
    ones, others = first.astype(np.int64), second.astype(np.int64)
    result, ready = np.zeros(len(ones), np.int64), np.zeros(n, np.int64)
    cdef const int64_t* one = <const int64_t*> address(ones)
    cdef const int64_t* other = <const int64_t*> address(others)
    cdef int64_t* stage = <int64_t*> address(result)
    cdef int64_t* next = <int64_t*> address(ready)
    cdef Py_ssize_t p
    for p in range(<Py_ssize_t> len(ones)):
        stage[p] = max(next[one[p]], next[other[p]])
        next[one[p]] = next[other[p]] = stage[p] + 1
    return result


cdef bint saves_loads(dict fields) except -1:
    """Return whether a pair has breaks_at, which may be infinite."""
    return "limit" in fields and (fields["limit"] != ABSENT["limit"]).any()


cdef class BoundDistance(BoundConstraint):
    cdef Distance distance
    cdef list pairs     # arrays with one item per pair, in kernel order
    cdef object bodies  # first and second bodies in kernel order
    cdef object first, second           # its pairs in the order of the fields
    cdef object reading_pairs           # 1 for pairs that read `at_rest`
    cdef object limited                 # True for pairs with limits, which are in levels of their own; or None

    cdef bint serves(self, object plan, object record):
        # A pair that becomes limited, or ceases to be, needs another layout of the levels.
        upper = record.fields.get("upper")
        same = self.limited is None or upper is None or np.array_equal(self.limited, upper >= 0)
        return same and BoundConstraint.serves(self, plan, record)

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Distance* distance = &self.distance
        cdef int64_t count = len(fields["first"])
        self.constraint.function, self.constraint.data = table.tie, distance
        self.first, self.second = fields["first"], fields["second"]
        # The bodies of pairs in ascending order, and of each pair the numbers of its bodies among these.
        ends = np.concatenate([self.first, self.second])
        members = np.unique(ends)
        places = np.searchsorted(members, ends)
        stage = stages(places[:count], places[count:], len(members))
        # A level is split into parts of equal direction and kind (rigid or soft).
        # Sorting by body keeps the pairs of a vector close in memory.
        direction = fields["direction"] + np.zeros(count, np.int64)
        how = direction + (SOFT * (fields["compliance"] >= 0) if "compliance" in fields else 0)
        self.limited = fields["upper"] >= 0 if "upper" in fields else None
        how = how + (0 if self.limited is None else LIMITED * self.limited)
        order = self.order = np.lexsort((self.first, how, stage))
        part = (2 * LIMITED * stage + how)[order]
        begins = np.flatnonzero(np.concatenate([[True], part[1:] != part[: count - 1]])[:count])
        distance.stages = len(begins)
        distance.stage = <const int64_t*> self.keep(np.concatenate([begins, [count]]), np.int64)
        self.bodies = self.first[order], self.second[order]
        # Rows a power of two apart would share few cache sets. Skipping cache lines spreads them.
        item = plan.dtype.itemsize
        row = PAIR_ROW * np.arange(len(members))
        row += row * item // PAGE * (LINE // item)
        distance.first = <const int32_t*> self.keep(row[places[:count][order]], np.int32)
        distance.second = <const int32_t*> self.keep(row[places[count:][order]], np.int32)
        distance.length = self.ordered(fields, "length", plan.dtype)
        if "upper" in fields:
            distance.lower = self.ordered(fields, "lower", plan.dtype)
            distance.upper = self.ordered(fields, "upper", plan.dtype)
        distance.cell = self.lay_loads(fields, order)
        distance.saves_loads = saves_loads(fields)
        distance.from_positions = plan.integrator.history == "previous position"
        distance.move_first = self.keep(fields["move_first"][order], plan.dtype)
        distance.move_second = self.keep(fields["move_second"][order], plan.dtype)
        if "compliance" in fields:
            distance.compliance = self.keep(fields["compliance"][order], plan.dtype)
            distance.drag_first = self.keep(fields["drag_first"][order], plan.dtype)
            distance.drag_second = self.keep(fields["drag_second"][order], plan.dtype)
        # Arrays kept from here on have no item per pair, or are refilled in each step.
        self.pairs = self.kept[1:]
        distance.how = <const uint8_t*> self.keep(part[begins] % (2 * LIMITED), np.uint8)
        # A direction of 2 stands for velocities at the end of a step. Such pairs do not read `at_rest`.
        self.reading_pairs = (direction[order] < 2).astype(np.uint8)
        if "generations" in fields:
            self.generations = fields["generations"][order]
        if "compliance" in fields:
            for number in range(4):
                distance.response[<int> number] = fields["response"][number]
            distance.share_first = self.allocate(count, plan.dtype)
            distance.share_second = self.allocate(count, plan.dtype)
            distance.alpha = self.allocate(count, plan.dtype)
        distance.members = len(members)
        distance.member = <const int32_t*> self.keep(members, np.int32)
        distance.place = <const int32_t*> self.keep(row, np.int32)
        distance.row = self.allocate(int(row.max(initial=0)) + PAIR_ROW, plan.dtype)
        distance.force = self.allocate(count, plan.dtype)
        distance.slowed = self.allocate(count, plan.dtype)
        distance.load = self.allocate(count, plan.dtype)
        if "upper" in fields:
            distance.low, distance.high = self.allocate(count, plan.dtype), self.allocate(count, plan.dtype)
            distance.least, distance.most = self.allocate(count, plan.dtype), self.allocate(count, plan.dtype)
        distance.pull = self.allocate(count, plan.dtype)
        distance.direction = direction.max(initial=0)
        distance.displacement = self.allocate(plan.dim * count, plan.dtype)
        distance.iterations = fields["iterations"][0]
        distance.look = look
        self.kept.append(space(&distance.torus, plan))
        # Nanoseconds per pair: pairs of long levels cost less, because they fill vectors.
        pair = 5 if np.diff(begins, append=count).max(initial=0) >= 512 else 20
        self.cost = pair * count * distance.iterations * max(1, distance.direction)
        return 0

    cdef void* ordered(self, dict fields, str name, object dtype) except NULL:
        """Copy a field of pairs in kernel order; it may be written again."""
        cdef void* place = self.field(fields, name, dtype)
        self.last[: len(self.order)] = fields[name][self.order]
        return place

    cdef int find_links(self, Links links) except -1:
        cdef Ends ends
        stage = self.kept[0]
        if self.ends is None:
            ends = self.ends = Ends()
            ends.add(self.bodies[0], self.bodies[1], self.generations, stage[self.distance.stages], self.pairs, NULL)
            write_sources(self.places, self.ends)
            ends.stages = self.distance.stages
            ends.to_stage = <int64_t*> ends.keep(stage)
            ends.stage = <const int64_t*> ends.keep(stage.copy())
            ends.reads = <const uint8_t*> ends.keep(self.reading_pairs)
        links.ends.append(self.ends)
        return 0

    cdef void join(self, const Common* common) noexcept:
        self.distance.at_rest = common.at_rest


cdef class BoundGrid(BoundConstraint):
    """Base of constraints that search near pairs in a grid (broad phase)."""

    cdef Collisions* grid
    cdef object size_class, own_class

    cdef int lay_out(self, Collisions* data, dict fields, object plan, const CoupledTable* table) except -1:
        cdef int64_t n = plan.n
        cdef int a, b
        data.find_among_few = table.find_among_few
        data.find_uniform = table.find_in_plane if plan.dim == 2 else table.find_uniform
        radius = np.broadcast_to(fields["radius"], (n,))
        data.radius = self.keep(radius, plan.dtype)
        self.grid = data
        bind_spin(&data.spin, plan.rotating)
        grid = Grid(radius, plan.dim, plan.torus)
        self.kept.append(space(&data.torus, plan))
        for a, laid in enumerate(grid.laid):
            for b, (count, per_width) in enumerate(laid):
                data.cells[3 * a + b], data.per_width[3 * a + b] = count, per_width
        data.size_class = <const uint8_t*> self.keep(grid.size_class, np.uint8)
        self.size_class, self.own_class = self.last, self.last.copy()
        data.points = radius.size > 0 and radius.min() == 0
        data.classes = len(grid.per_cell)
        for a in range(data.classes):
            data.per_cell[a] = grid.per_cell[a]
        data.mask = grid.buckets - 1
        for a in range(plan.dim):
            data.step[a] = grid.step[a]
        data.rows = 0
        for a in range(-1 if plan.dim > 1 else 0, 2 if plan.dim > 1 else 1):
            for b in range(-1 if plan.dim > 2 else 0, 2 if plan.dim > 2 else 1):
                data.row[data.rows] = <uint64_t> (<int64_t> (a * data.step[1]) + <int64_t> (b * data.step[2]) - 1)
                data.rows += 1
        data.start = <int32_t*> self.allocate(grid.buckets + 2, np.int32)
        data.bucket = <uint32_t*> self.allocate(n, np.uint32)
        data.body = <int32_t*> self.allocate(n, np.int32)
        data.place = self.allocate((plan.dim + 1) * n, plan.dtype)
        data.begin = <int64_t*> self.allocate(n, np.int64)
        data.count = <int32_t*> self.allocate(n, np.int32)
        data.partner = <int32_t*> self.allocate((PAIRS_PER_BODY + 1) * n, np.int32)
        data.next = <int32_t*> self.allocate(grid.buckets, np.int32)
        data.lower = <int32_t*> self.allocate(PAIRS_PER_BODY * n, np.int32)
        data.higher = <int32_t*> self.allocate(PAIRS_PER_BODY * n, np.int32)
        data.look = look
        return 0

    cdef int find_links(self, Links links) except -1:
        cdef Ends ends
        if self.ends is None:
            ends = self.ends = Ends()
            ends.size_class = <uint8_t*> ends.keep(self.size_class)
            ends.own_class = <const uint8_t*> ends.keep(self.own_class)
            ends.partners = self.grid.count
        links.ends.append(self.ends)
        return 0

    cdef void join(self, const Common* common) noexcept:
        self.grid.weight = common.weight

    cdef int filter(self, Collisions* data, dict fields, int64_t n) except -1:
        """Bind the collision filter: category, mask and sensor flag of each body."""
        if "category" in fields:
            each = {name: np.broadcast_to(fields[name], (n,)) for name in ("category", "mask")}
            data.category = <const uint64_t*> self.field(each, "category", np.uint64)
            data.mask_bits = <const uint64_t*> self.field(each, "mask", np.uint64)
            data.filters = <uint64_t*> self.allocate(data.mask + 1, np.uint64)
        if "sensor" in fields:
            data.sensor = <const uint8_t*> self.field(fields, "sensor", np.uint8)
        return 0


cdef class BoundContacts(BoundGrid):
    cdef Contacts contacts
    cdef list rods      # arrays with one item per rod: first body, second body, and more
    cdef int64_t most   # capacity of the contact arrays, padded to whole vectors
    cdef int dim
    cdef object dtype
    cdef object impulses
    cdef object motion  # the rows of all shapes that move, or None

    cdef bint serves(self, object plan, object record):
        rows = None if plan.motion is None else plan.motion.rows
        return (
            self.impulses is plan.impulses and (not self.contacts.moves or self.motion is rows)
            and BoundConstraint.serves(self, plan, record)
        )

    cdef int listen(self, object kind, int64_t n) except -1:
        if self.events.mark != NULL:
            return 0
        self.contacts.contact_event = self.allocate((2 * self.dim + CONTACT_EVENT) * self.most, self.dtype)
        return BoundConstraint.listen(self, kind, n)

    cdef void bind_events(self, EventSource* events) noexcept:
        self.contacts.grid.events = events

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Contacts* data = &self.contacts
        cdef int64_t n = plan.n
        cdef int64_t most, places
        cdef int place
        impulses, real = plan.impulses, plan.dtype
        self.constraint.function, self.constraint.data = table.collide, data
        self.lay_out(&data.grid, fields, plan, table)
        data.restitution = self.field(fields, "restitution", real)
        data.friction = self.field(fields, "friction", real)
        self.filter(&data.grid, fields, n)
        if "through" in fields:
            data.through = <const uint8_t*> self.keep(fields["through"], np.uint8)
        data.found = <int64_t*> self.allocate(4, np.int64)
        data.n = n
        if "shape_begin" in fields:
            self.lay_level(data, fields, plan)
        data.faces, data.rods, data.substeps = impulses.faces, impulses.rods, fields["substeps"][0]
        data.lag = fields["lag"][0]
        data.sleep = "sleep" in fields
        data.rested, data.held = <uint8_t*> self.allocate(n, np.uint8), <uint8_t*> self.allocate(n, np.uint8)
        self.rested = data.rested
        data.last = self.allocate(4 * plan.dim * n if data.sleep else 0, real)
        data.sweeps = fields["sweeps"][0]
        data.normal = self.keep(fields["normal"], real)
        data.offset = self.keep(fields["offset"], real)
        data.wall_friction = self.field(fields, "wall_friction", real)
        if "wall_belt" in fields:
            data.wall_belt = self.field(fields, "wall_belt", real)
        data.declared = data.rods
        kept = len(self.kept)
        data.rod_first = <const int32_t*> self.keep(fields["first"], np.int32)
        data.rod_second = <const int32_t*> self.keep(fields["second"], np.int32)
        data.length = self.keep(fields["length"], real)
        data.compliance = self.keep(fields["compliance"], real)
        data.number = <const int32_t*> self.keep(fields["number"], np.int32)
        if "upper" in fields:
            data.lower, data.upper = self.keep(fields["lower"], real), self.keep(fields["upper"], real)
        data.cell = self.lay_loads(fields, slice(None))
        data.saves_loads = saves_loads(fields)
        self.rods, self.generations = self.kept[kept:], fields["generations"]
        data.stiffness = self.field(fields, "stiffness", real)
        data.moved = <uint8_t*> self.allocate(n, np.uint8)
        data.state = <int64_t*> address(impulses.state)
        for place in range(2):
            data.pair[place] = <int32_t*> address(impulses.pair[place])
            data.push[place] = address(impulses.push[place])
            data.pull[place] = address(impulses.pull[place])
        self.impulses = impulses
        most = impulses.capacity
        places = most + (COLOURS + 2) * (table.lanes - 1)
        self.most, self.dim, self.dtype = places, plan.dim, real
        data.lanes, data.press = table.lanes, table.press
        data.body = self.allocate(2 * plan.dim * (n + data.faces + 2), real)
        data.traits = self.allocate(TRAITS * (n + data.faces + 2), real)
        data.lack = self.allocate(plan.dim * n, real)
        data.one = <int32_t*> self.allocate(most, np.int32)
        data.other = <int32_t*> self.allocate(most, np.int32)
        data.colour = <uint8_t*> self.allocate(most, np.uint8)
        data.known = <int32_t*> self.allocate(most, np.int32)
        data.place = <int32_t*> self.allocate(most, np.int32)
        data.first = <int32_t*> self.allocate(places, np.int32)
        data.second = <int32_t*> self.allocate(places, np.int32)
        data.first_row = <int32_t*> self.allocate(places, np.int32)
        data.second_row = <int32_t*> self.allocate(places, np.int32)
        data.contact = self.allocate((2 * plan.dim + CONTACT) * places, real)
        if plan.rotating is not None:
            data.axes = len(plan.rotating.planes)
            spins = np.zeros((n + data.faces + 2, SPIN), real)
            spins[n:, 7] = np.inf  # a wall has an infinite rolling radius
            data.spin = self.keep(spins, real)
            data.twist = self.allocate(TWIST * places, real)
            if "rolling" in fields:
                data.rolling = self.field(fields, "rolling", real)
        if "wall_belt" in fields or "shape_belt" in fields or "shape_far" in fields:
            data.surface = self.allocate(MAX_DIM * places, real)
        data.rod = self.allocate((plan.dim + <int> ROD) * data.rods, real)
        data.load = self.allocate(data.rods, real)
        data.group = <int32_t*> self.allocate(n, np.int32)
        data.deep = <uint8_t*> self.allocate(n, np.uint8)
        data.taken = <uint64_t*> self.allocate(n, np.uint64)
        data.touched = <uint8_t*> self.allocate(n + data.faces + 1, np.uint8)
        self.cost = 200 * n + (60 * n + 30 * data.rods * data.sweeps) * data.substeps
        return 0

    cdef int lay_level(self, Contacts* data, dict fields, object plan) except -1:
        """Bind the shapes, one Shapes struct per declaration."""
        cdef Shapes* shapes
        cdef int64_t part, first, last
        data.parts = len(fields["shape_segments"])
        data.shape_begin = <const int64_t*> self.keep(fields["shape_begin"], np.int64)
        number = np.repeat(np.arange(data.parts), np.diff(fields["shape_begin"]))
        data.part = <const int32_t*> self.keep(number, np.int32)
        data.shape_friction = self.field(fields, "shape_friction", plan.dtype)
        shapes = <Shapes*> self.allocate(data.parts * sizeof(Shapes), np.uint8)
        data.shapes = shapes
        for part in range(data.parts):
            first, last = data.shape_begin[part], data.shape_begin[part + 1]
            own = {name: fields[f"shape_{name}"][first:last] for name in ("lower", "upper", "enabled")}
            own["segments"] = fields["shape_segments"][part : part + 1]
            own["reach"] = fields["shape_reach"][part]
            if "shape_one_way" in fields and fields["shape_one_way"][first:last].any():
                own["one_way"] = fields["shape_one_way"][first:last]
            if "shape_belt" in fields:
                shapes[part].wall.belt = self.keep(fields["shape_belt"][part], plan.dtype)
            rows = None
            if "shape_far" in fields:
                own |= {name: fields[f"shape_{name}"][first:last] for name in ("center", "far")}
                if self.declaration.shapes[part].moves:
                    rows = plan.motion.of(self.declaration.shapes[part])
                    data.moves, self.motion = True, plan.motion.rows
            self.lay_shapes(&shapes[part], own, plan.dtype, rows)
            if fields["shape_through"][part].any():
                shapes[part].wall.sensor = <const uint8_t*> self.keep(fields["shape_through"][part], np.uint8)
        self.each(&data.level.reach, {"reach": fields["shape_reach"].max(axis=0)}, "reach", plan.dtype)
        there = [part for part in range(data.parts) if shapes[part].count > 0]
        corners = np.array([shapes[part].bounds[k] for part in there for k in range(2 * plan.dim)])
        lower, upper = corners.reshape(-1, 2, plan.dim).transpose(1, 0, 2)
        self.lay_tree(&data.level, np.array(there, np.int64), lower, upper)
        data.shape_contacts = <int32_t*> self.allocate(SHAPES_PER_BODY * plan.n, np.int32)
        return 0

    cdef int find_links(self, Links links) except -1:
        cdef bint first = self.ends is None
        BoundGrid.find_links(self, links)
        if first:
            self.ends.add(
                self.rods[0], self.rods[1], self.generations, self.contacts.declared, self.rods, &self.contacts.rods,
            )
            write_sources(self.places, self.ends)
        links.contacts = &self.contacts
        return 0


cdef class BoundCollisions(BoundGrid):
    cdef Collisions collisions

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Collisions* data = &self.collisions
        cdef int64_t n = plan.n
        self.constraint.function, self.constraint.data = table.collide, data
        self.each(&data.restitution, fields, "restitution", plan.dtype)
        if "friction" in fields:
            self.each(&data.friction, fields, "friction", plan.dtype)
        data.iterations = fields["iterations"][0]
        data.lag = fields["lag"][0]
        data.moved = <uint8_t*> self.allocate(n, np.uint8)
        self.lay_out(data, fields, plan, table)
        self.filter(data, fields, n)
        self.cost = 200 * plan.n
        if "swept" in fields and data.classes > 0:
            data.swept = True
            data.since = self.allocate(n, plan.dtype)
            data.earliest = self.allocate(n, plan.dtype)
            data.which = <int64_t*> self.allocate(n, np.int64)
            data.last = <int32_t*> self.allocate(n, np.int32)
            data.time = self.allocate((PAIRS_PER_BODY + 1) * n, plan.dtype)
            data.middle = self.allocate(plan.dim * n, plan.dtype)
            data.extent = self.allocate(n, plan.dtype)
            data.swept_class = <uint8_t*> self.allocate(n, np.uint8)
        return 0

    cdef void bind_events(self, EventSource* events) noexcept:
        self.collisions.events = events

    cdef void join(self, const Common* common) noexcept:
        self.collisions.weight, self.collisions.walls, self.collisions.wall = common.weight, common.walls, common.wall


# Kernel constant and bound class of each kind of constraint.
KINDS = {
    "pin": (PIN, BoundPin),
    "distance": (DISTANCE, BoundDistance),
    "compliant_distance": (DISTANCE, BoundDistance),
    "box": (BOX, BoundWall),
    "plane": (PLANE, BoundWall),
    "collisions": (COLLISIONS, BoundCollisions),
    "contacts": (CONTACTS, BoundContacts),
    "corners": (CORNERS, BoundCorners),
    "sensor": (SENSOR, BoundSensor),
    "shapes": (SHAPES, BoundShapes),
    "periodic": (PERIODIC, BoundPeriodic),
    "floor_friction": (FLOOR, BoundFloor),
}
require_entries(__name__, KINDS, Constraint)


cdef BoundConstraint bind_constraint(
    object constraint, object plan, const CoupledTable* table, Py_ssize_t padded,
):
    """Bind a constraint of a plan to states of `padded` items per component."""
    cdef BoundConstraint bound
    kind, binds = KINDS[constraint.kind]
    bound = binds()
    bound.kept, bound.places, bound.owners = [], {}, plan.owners(constraint) if "pair" in constraint.fields else []
    bound.declaration = constraint.constraint
    bound.constraint.kind = kind
    bound.bind(constraint.fields, plan, table, padded)
    return bound
