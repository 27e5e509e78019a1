"""Bound constraints between bodies: collisions and contacts, and the grid in which both find pairs."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ..kernels.abi.constraints cimport (
    COLLISIONS, COLOURS, CONTACT, CONTACT_EVENT, CONTACTS, MOST_CLASSES, PAIRS_PER_BODY, ROD, SHAPES_PER_BODY, SPIN,
    TRAITS, TWIST, Collisions, Contacts, Shapes,
)
from ..kernels.abi.coupled cimport CoupledTable
from ..kernels.abi.events cimport EventSource
from ..kernels.abi.plan cimport MAX_DIM, Plan
from ..kernels.constraints.motion cimport fit_level
from ..kernels.integrators.traits cimport verlet
from ..kernels.simd.rounding cimport require_rounding
from .coefficients cimport space
from .runner cimport look
from .slots cimport Ends, Links, address, write_sources
from .walls cimport BoundConstraint, Common, bind_spin, fitted, saves_loads

import numpy as np

from ..constraints.broad_phase import Grid
from .walls import KINDS

require_rounding(__name__)

cdef extern from "Python.h":
    int PyBUF_WRITE
    object PyMemoryView_FromMemory(char* place, Py_ssize_t size, int flags)


cdef object numbers_at(void* place, object like):
    """Return an array view of the numbers in a struct, with the shape and dtype of `like`."""
    memory = PyMemoryView_FromMemory(<char*> place, like.nbytes, PyBUF_WRITE)
    return np.frombuffer(memory, like.dtype).reshape(like.shape)


cdef class BoundGrid(BoundConstraint):
    """Base of constraints that search a grid for near pairs (broad phase)."""

    cdef Collisions* grid
    cdef object size_class, own_class

    cdef int lay_out(self, Collisions* data, dict fields, object plan, const CoupledTable* table) except -1:
        cdef int64_t n = plan.n
        cdef int a, b
        data.find_among_few = table.find_among_few
        data.find_uniform = table.find_in_plane if plan.dim == 2 else table.find_uniform
        radius = np.broadcast_to(fields["radius"], (n,))
        data.radius = self.field({"radius": radius}, "radius", plan.dtype)
        self.common = "radius"  # all worlds share one grid, which depends on the radii
        self.grid = data
        bind_spin(&data.spin, plan.rotating)
        self.kept.append(space(&data.torus, plan))
        data.size_class = <const uint8_t*> self.allocate(n, np.uint8)
        self.size_class = self.last[:n]
        self.own_class = self.size_class.copy()
        grid = Grid(radius, plan.dim, plan.torus)
        for place, _, numbers in self.sizes(radius, grid):
            place[...] = numbers
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

    cdef list sizes(self, object radius, object grid):
        """Return the writes of all data that depends on radii: cell sizes, and the size class of each body."""
        cdef Collisions* data = self.grid
        per_cell = np.zeros((1, MOST_CLASSES))
        per_cell[0, : len(grid.per_cell)] = grid.per_cell
        cells, per_width = np.zeros((1, 3 * MOST_CLASSES), np.int64), np.zeros((1, 3 * MOST_CLASSES))
        for a, laid in enumerate(grid.laid):
            for b, (count, width) in enumerate(laid):
                cells[0, 3 * a + b], per_width[0, 3 * a + b] = count, width
        classes, points = np.array([[len(grid.per_cell)]], np.int64), np.array([[(radius == 0).any()]], np.int32)
        return [
            (self.size_class[None], None, grid.size_class[None]), (self.own_class[None], None, grid.size_class[None]),
            (numbers_at(data.per_cell, per_cell), None, per_cell), (numbers_at(data.cells, cells), None, cells),
            (numbers_at(data.per_width, per_width), None, per_width),
            (numbers_at(&data.classes, classes), None, classes), (numbers_at(&data.points, points), None, points),
        ]

    cdef int derive(self, object plan, object old, object now, list writes) except -1:
        if not np.array_equal(old.fields["radius"], now.fields["radius"]):
            radius = np.broadcast_to(now.fields["radius"], (plan.n,))
            writes += self.sizes(radius, Grid(radius, plan.dim, plan.torus))
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
    cdef object motion  # array with the motion of all shapes that move, or None

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
        if "rolling" in fields:
            data.rolling = self.field(fields, "rolling", real)
        self.filter(&data.grid, fields, n)
        if "through" in fields:
            data.through = <const uint8_t*> self.field(fields, "through", np.uint8)
        data.found = <int64_t*> self.allocate(5, np.int64)
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
        data.length, data.compliance = self.field(fields, "length", real), self.field(fields, "compliance", real)
        data.number = <const int32_t*> self.keep(fields["number"], np.int32)
        if "upper" in fields:
            data.lower, data.upper = self.field(fields, "lower", real), self.field(fields, "upper", real)
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

    cdef void prepare(self, const Plan* plan) noexcept:
        cdef bint behind = verlet(plan.scheme) and self.contacts.lag > 0
        self.contacts.last_h = plan.last_h if behind and plan.last_h > 0 else plan.h

    cdef int lay_level(self, Contacts* data, dict fields, object plan) except -1:
        """Bind the shapes: one Shapes struct per declaration, and a tree over these structs."""
        cdef Shapes* shapes
        cdef int64_t dim = plan.dim
        cdef char* reach
        cdef char* lower
        cdef char* upper
        cdef char* belt = NULL
        cdef const uint8_t* enabled
        cdef const uint8_t* through
        cdef int64_t part, first, last, count
        cdef int64_t item = plan.dtype.itemsize
        data.parts = len(fields["shape_segments"])
        data.shape_begin = <const int64_t*> self.keep(fields["shape_begin"], np.int64)
        number = np.repeat(np.arange(data.parts), np.diff(fields["shape_begin"]))
        data.part = <const int32_t*> self.keep(number, np.int32)
        data.shape_friction = self.field(fields, "shape_friction", plan.dtype)
        reach, count = <char*> self.field(fields, "shape_reach", plan.dtype), fields["shape_reach"].shape[1]
        lower = <char*> self.keep(fields["shape_lower"], plan.dtype)
        upper = <char*> self.keep(fields["shape_upper"], plan.dtype)
        enabled = <const uint8_t*> self.field(fields, "shape_enabled", np.uint8)
        through = <const uint8_t*> self.field(fields, "shape_through", np.uint8)
        if "shape_belt" in fields:
            belt = <char*> self.field(fields, "shape_belt", plan.dtype)
        shapes = <Shapes*> self.allocate(data.parts * sizeof(Shapes), np.uint8)
        data.shapes = shapes
        for part in range(data.parts):
            first, last = data.shape_begin[part], data.shape_begin[part + 1]
            own = {name: fields[f"shape_{name}"][first:last] for name in ("lower", "upper")}
            own["segments"] = fields["shape_segments"][part : part + 1]
            if "shape_one_way" in fields and fields["shape_one_way"][first:last].any():
                shapes[part].one_way = self.keep(fields["shape_one_way"][first:last], plan.dtype)
            shapes[part].lower, shapes[part].upper = lower + first * dim * item, upper + first * dim * item
            shapes[part].enabled = enabled + first
            if belt != NULL:
                shapes[part].wall.belt = belt + part * (dim + 1) * item
            rows = None
            if "shape_far" in fields:
                own |= {name: fields[f"shape_{name}"][first:last] for name in ("center", "far")}
                if self.declaration.shapes[part].moves:
                    rows = plan.motion.of(self.declaration.shapes[part])
                    data.moves, self.motion = True, plan.motion.rows
            self.lay_shapes(&shapes[part], own, plan.dtype, rows)
            shapes[part].reach.number = reach + part * count * item
            shapes[part].reach.body = count > 1
            shapes[part].wall.sensor = through + part * <int64_t> plan.n
        self.each(&data.level.reach, {"level_reach": fields["shape_reach"].max(axis=0)}, "level_reach", plan.dtype)
        there = [part for part in range(data.parts) if shapes[part].count > 0]
        ends = np.stack([fields["shape_lower"], fields["shape_upper"]]).astype(np.float64)
        begin = fields["shape_begin"]
        boxes = [ends[:, begin[part] : begin[part + 1]].reshape(-1, plan.dim) for part in there]
        lower_corners, upper_corners = (
            np.array([extreme(box, axis=0) for box in boxes]).reshape(-1, plan.dim) for extreme in (np.min, np.max)
        )
        self.lay_tree(&data.level, np.array(there, np.int64), lower_corners, upper_corners)
        if data.level.count > 0:
            fit_level(plan.dim, data)
        data.shape_contacts = <int32_t*> self.allocate(SHAPES_PER_BODY * plan.n, np.int32)
        return 0

    cdef int derive(self, object plan, object old, object now, list writes) except -1:
        BoundGrid.derive(self, plan, old, now, writes)
        if "shape_reach" in now.fields and now.fields["shape_reach"] is not old.fields["shape_reach"]:
            writes.append((self.places["level_reach"][0], None, now.fields["shape_reach"].max(axis=0)[None]))
        if "shape_enabled" in now.fields and now.fields["shape_enabled"] is not old.fields["shape_enabled"]:
            self.fit_again(plan, old.fields["shape_enabled"], np.array(now.fields["shape_enabled"]), writes)
        return 0

    cdef int fit_again(self, object plan, object old, object now, list writes) except -1:
        """Append the writes of tree boxes that change because shapes are enabled or disabled."""
        cdef Contacts other = self.contacts
        cdef const uint8_t* enabled = <const uint8_t*> address(now)
        cdef Shapes* shapes
        cdef int64_t part, first, last
        copies = np.empty(other.parts * sizeof(Shapes), np.uint8)
        shapes = <Shapes*> address(copies)
        memcpy(shapes, other.shapes, other.parts * sizeof(Shapes))
        other.shapes = shapes
        places = iter(self.places["bounds"])    # one array per part that has shapes, then one for the level
        boxes = []      # keeps the new boxes alive: `fit_level` reads them
        for part in range(other.parts):
            first, last = other.shape_begin[part], other.shape_begin[part + 1]
            if first == last:
                continue
            place = next(places)
            if not np.array_equal(old[first:last], now[first:last]):
                shapes[part].enabled = enabled + first
                boxes.append((place, None, fitted(plan.dim, &shapes[part], plan.dtype)))
        if boxes:
            level = np.empty((1, 2 * plan.dim * other.level.nodes))
            other.level.bounds = <double*> address(level)
            fit_level(plan.dim, &other)
            writes += [*boxes, (next(places), None, level)]
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


KINDS["contacts"] = CONTACTS, BoundContacts


cdef class BoundCollisions(BoundGrid):
    cdef Collisions collisions

    cdef bint serves(self, object plan, object record):
        # If all radii were 0 (points do not collide), `bind` allocated no memory for continuous collision detection.
        return "swept" not in record.fields or bool(record.fields["radius"].any()) == (self.collisions.classes > 0)

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


KINDS["collisions"] = COLLISIONS, BoundCollisions
