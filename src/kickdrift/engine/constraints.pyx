"""What holds the bodies after each step, bound: a C function and what it works on, for each kind of constraint."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from ..kernels.abi.constraints cimport (
    BOX, COLLISIONS, COMPLIANT_DISTANCE, CONTACT, CONTACTS, CORNERS, DISTANCE, MEETING, PAIRS_PER_BODY, PERIODIC, PIN,
    PLANE, SENSOR, SHAPES, SHAPES_PER_BODY, Collisions, Contacts, Corners, Distance, Each, ConstraintCall, Periodic, Pin,
    Sensor, Shapes, Wall,
)
from ..kernels.abi.events cimport Contact, Told
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.abi.coupled cimport CoupledTable
from .coefficients cimport space
from .runner cimport look
from .slots cimport address

import numpy as np

from .. import kernels
from ..constraints.base import Constraint
from ..constraints.broad_phase import Grid
from ..declaration import require_entries

require_rounding(__name__)


cdef class BoundConstraint:
    """Base: a C function of a constraint; it holds on to all that its data points to."""

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        """Take over what a plan says; states are in planes of `padded` numbers."""
        raise NotImplementedError

    cdef void* allocate(self, object shape, object dtype) except NULL:
        """An array of zeros that kernels work in, with a row to spare for vectors that reach beyond its end."""
        array = kernels.aligned_zeros((1, shape + 64), np.dtype(dtype))[0]
        self.kept.append(array)
        self.last = array
        return <void*> <size_t> array.ctypes.data

    cdef void* keep(self, object array, object dtype) except NULL:
        """Numbers that kernels read, copied to where vectors may reach beyond their end."""
        cdef void* place = self.allocate(array.size, dtype)
        self.last[: array.size] = array.ravel()
        return place

    cdef int each(self, Each* field, object values, object dtype) except -1:
        field.number = self.keep(values, dtype)
        field.body = len(values) > 1
        return 0

    cdef int lay_shapes(self, Shapes* shapes, dict fields, object dtype) except -1:
        """Where shapes are, which of them are there, and the tree in which they are found."""
        shapes.segments = fields["segments"][0]
        shapes.lower = self.keep(fields["lower"], dtype)
        shapes.upper = self.keep(fields["upper"], dtype)
        self.each(&shapes.reach, fields["reach"], dtype)
        shapes.enabled = <const uint8_t*> self.keep(fields["enabled"], np.uint8)
        there = np.flatnonzero(fields["enabled"])
        shapes.count = len(there)
        if shapes.count > 0:
            from ..constraints.shapes import tree
            ends = fields["lower"][there].astype(np.float64), fields["upper"][there].astype(np.float64)
            order, bounds, first, leaves = tree(np.minimum(*ends), np.maximum(*ends))
            shapes.number = <const int64_t*> self.keep(there[order], np.int64)
            shapes.bounds = <const double*> self.keep(bounds, np.float64)
            shapes.first = <const int64_t*> self.keep(first, np.int64)
            shapes.leaves = <const int64_t*> self.keep(leaves, np.int64)
        return 0

    cdef int listen(self, object kind, int64_t n) except -1:
        """Have it report; kind: a `Reporting` of events.py. What reports already goes on, as it may be in use."""
        cdef Told* told = &self.told
        if told.mark != NULL:
            return 0
        told.region, told.capacity = kind.region, kind.capacity
        told.slots = 0 if kind.pairs else kind.capacity // max(1, n)
        told.places = (PAIRS_PER_BODY + 1 + kind.at_once) * n if kind.pairs else told.slots * n
        told.contact = <Contact*> self.allocate(told.places * sizeof(Contact), np.uint8)
        told.touching = <int64_t*> self.allocate(told.capacity, np.int64)
        told.next = <int64_t*> self.allocate(told.capacity, np.int64)
        told.mark = <int32_t*> self.allocate(told.places, np.int32)
        self.hear(told)
        return 0

    cdef void hear(self, Told* told) noexcept:
        """Whom it reports to."""
        pass

    cdef int find_links(self, Links links) except -1:
        """What ends, or is otherwise, where bodies die."""
        return 0


cdef class BoundPin(BoundConstraint):
    cdef Pin pin

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.tie, &self.pin
        self.pin.count = len(fields["indices"])
        self.tenants = fields.get("tenants")
        self.pin.index = <const int64_t*> self.keep(fields["indices"], np.int64)
        self.cost = 10 * self.pin.count
        return 0

    cdef int find_links(self, Links links) except -1:
        index = self.kept[0]
        return links.add(index, None, self.tenants, self.pin.count, [index], &self.pin.count)


cdef class BoundDistance(BoundConstraint):
    cdef Distance distance
    cdef list pairs     # arrays of one item for each pair: first body, second body, and more
    cdef object first, second, stage    # its pairs, and in which stage each of them is
    cdef object at_rest, reads          # of the plan, and as kernels read it

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Distance* distance = &self.distance
        cdef BoundDistance other
        cdef int64_t count = len(fields["first"])
        self.constraint.function, self.constraint.data = table.tie, distance
        self.first, self.second = fields["first"], fields["second"]
        stage = None
        for other in self.tied:
            if np.array_equal(other.first, self.first) and np.array_equal(other.second, self.second):
                stage = other.stage
        if stage is None:
            stage = stages(self.first, self.second, plan.n)
        self.stage = stage
        order = np.argsort(stage, kind="stable")
        distance.stages = int(stage.max()) + 1 if count else 0
        ends = np.cumsum(np.bincount(stage, minlength=1))
        distance.stage = <const int64_t*> self.keep(np.concatenate([[0], ends]), np.int64)
        distance.first = <const int32_t*> self.keep(fields["first"][order], np.int32)
        distance.second = <const int32_t*> self.keep(fields["second"][order], np.int32)
        distance.length = self.keep(fields["length"][order], plan.dtype)
        distance.move_first = self.keep(fields["move_first"][order], plan.dtype)
        distance.move_second = self.keep(fields["move_second"][order], plan.dtype)
        if "compliance" in fields:
            distance.compliance = self.keep(fields["compliance"][order], plan.dtype)
            distance.drag_first = self.keep(fields["drag_first"][order], plan.dtype)
            distance.drag_second = self.keep(fields["drag_second"][order], plan.dtype)
        # What is kept from here on has no item for each pair, or is filled anew in each step.
        self.pairs = self.kept[1:]
        if "tenants" in fields:
            self.tenants = fields["tenants"][order]
        if "compliance" in fields:
            for number in range(4):
                distance.response[<int> number] = fields["response"][number]
            distance.share_first = self.allocate(count, plan.dtype)
            distance.share_second = self.allocate(count, plan.dtype)
            distance.alpha = self.allocate(count, plan.dtype)
        distance.force = self.allocate(count, plan.dtype)
        distance.pull = self.allocate(count, plan.dtype)
        distance.direction = fields["direction"][0]
        distance.was = self.allocate(plan.dim * padded, plan.dtype)
        distance.way = self.allocate(plan.dim * count, plan.dtype)
        distance.iterations = fields["iterations"][0]
        distance.look = look
        self.kept.append(space(&distance.torus, plan))
        self.cost = 20 * count * distance.iterations * max(1, distance.direction) + 2 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        stage = self.kept[0]
        links.add(self.pairs[0], self.pairs[1], self.tenants, stage[self.distance.stages], self.pairs, NULL)
        # With velocities at the end of a step, which is what a direction of 2 stands for, they read nothing at rest.
        return links.stages(stage, self.distance.stages, self.reads, self.distance.direction < 2)

    cdef BoundDistance reading(self, object plan):
        """The same, with the shares that links of this plan read at rest."""
        cdef BoundDistance other = self
        if self.at_rest is plan.at_rest:
            return self
        if self.reads is not None:
            other = BoundDistance.__new__(BoundDistance)
            other.constraint, other.cost, other.distance = self.constraint, self.cost, self.distance
            other.kept, other.first, other.second, other.stage = [*self.kept], self.first, self.second, self.stage
            other.constraint.data = &other.distance
            other.pairs, other.tenants = self.pairs, self.tenants
        other.at_rest = plan.at_rest
        other.distance.at_rest, other.reads = NULL, None
        if plan.at_rest is not None:
            other.distance.at_rest = other.keep(plan.at_rest, plan.dtype)
            other.reads = other.last
        return other


cdef object stages(object first, object second, int64_t n):
    """For each pair: how many others must come before it, one after the other, because they share bodies."""
    ready = [0] * n
    result = []
    for a, b in zip(first.tolist(), second.tolist()):
        stage = max(ready[a], ready[b])
        ready[a] = ready[b] = stage + 1
        result.append(stage)
    return np.array(result, np.int64)


cdef class BoundWall(BoundConstraint):
    cdef Wall wall
    cdef object weight

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.meet, &self.wall
        if "normal" in fields:
            self.wall.normal = self.keep(fields["normal"], plan.dtype)
            self.wall.offset = self.keep(fields["offset"], plan.dtype)
        else:
            self.wall.lower = self.keep(fields["lower"], plan.dtype)
            self.wall.upper = self.keep(fields["upper"], plan.dtype)
        self.each(&self.wall.restitution, fields["restitution"], plan.dtype)
        self.each(&self.wall.friction, fields["friction"], plan.dtype)
        self.each(&self.wall.radius, fields["radius"], plan.dtype)
        self.wall.weight = self.keep(fields["weight"], plan.dtype)
        self.weight = self.last
        self.wall.lag = fields["lag"][0]
        if "sensor" in fields:
            self.wall.sensor = <const uint8_t*> self.keep(fields["sensor"], np.uint8)
        self.by_tiles = "sensor" not in fields
        self.cost = 10 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        return links.weigh(self.weight, None, NULL)

    cdef void hear(self, Told* told) noexcept:
        self.wall.told = told


cdef class BoundShapes(BoundConstraint):
    cdef Shapes shapes
    cdef object weight

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Shapes* shapes = &self.shapes
        self.constraint.function, self.constraint.data = table.meet, shapes
        self.lay_shapes(shapes, fields, plan.dtype)
        self.each(&shapes.wall.restitution, fields["restitution"], plan.dtype)
        self.each(&shapes.wall.friction, fields["friction"], plan.dtype)
        self.each(&shapes.wall.radius, fields["radius"], plan.dtype)
        shapes.wall.weight = self.keep(fields["weight"], plan.dtype)
        self.weight = self.last
        shapes.wall.lag = fields["lag"][0]
        if "sensor" in fields:
            shapes.wall.sensor = <const uint8_t*> self.keep(fields["sensor"], np.uint8)
        self.cost = 100 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        return links.weigh(self.weight, None, NULL)

    cdef void hear(self, Told* told) noexcept:
        self.shapes.wall.told = told


cdef class BoundSensor(BoundConstraint):
    cdef Sensor sensor

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.meet, &self.sensor
        self.sensor.lower = self.keep(fields["lower"], plan.dtype)
        self.sensor.upper = self.keep(fields["upper"], plan.dtype)
        self.sensor.ball = fields["ball"][0]
        self.sensor.watched = <const uint8_t*> self.keep(fields["watched"], np.uint8)
        self.cost = 10 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        self.sensor.alive = links.slots.alive
        return 0

    cdef void hear(self, Told* told) noexcept:
        self.sensor.told = told


cdef class BoundPeriodic(BoundConstraint):
    cdef Periodic periodic

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.meet, &self.periodic
        self.kept.append(space(&self.periodic.torus, plan))
        self.periodic.weight = self.keep(np.ones(plan.n), plan.dtype)
        self.by_tiles = True
        self.cost = 4 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        self.periodic.weight = links.slots.weight
        return 0


cdef class BoundCorners(BoundConstraint):
    cdef Corners corners
    cdef object weight
    cdef list wall      # of each face: the number of its wall

    cdef int listen(self, object kind, int64_t n) except -1:
        """Have walls tell what is stopped here. kind: all of them."""
        cdef Told** told
        cdef BoundConstraint wall
        if self.corners.told != NULL:
            return 0
        told = <Told**> self.allocate(len(self.wall) * sizeof(Told*), np.uint8)
        for face, number in enumerate(self.wall):
            wall = kind[number]
            told[<Py_ssize_t> face] = &wall.told
        self.kept.append(kind)
        self.corners.told = told
        return 0

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Corners* data = &self.corners
        self.constraint.function, self.constraint.data = table.meet, data
        data.faces = len(fields["offset"])
        data.normal = self.keep(fields["normal"], plan.dtype)
        data.offset = self.keep(fields["offset"], plan.dtype)
        data.restitution = self.keep(fields["restitution"], plan.dtype)
        data.friction = self.keep(fields["friction"], plan.dtype)
        data.radius = self.keep(fields["radius"], plan.dtype)
        data.weight = self.keep(fields["weight"], plan.dtype)
        self.weight = self.last
        data.lag = fields["lag"][0]
        if "through" in fields:
            data.through = <const uint8_t*> self.keep(fields["through"], np.uint8)
        data.number = <const int64_t*> self.keep(fields["number"], np.int64)
        self.wall = fields["wall"].tolist()
        data.there = <int32_t*> self.allocate(data.faces, np.int32)
        data.size = self.allocate(data.faces, plan.dtype)
        data.push = self.allocate(data.faces, plan.dtype)
        self.cost = 3 * data.faces * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        return links.weigh(self.weight, None, NULL)


cdef class BoundGrid(BoundConstraint):
    """Base of what looks for pairs of bodies that are near."""

    cdef object weight, size_class

    cdef int lay_out(self, Collisions* data, dict fields, object plan) except -1:
        cdef int64_t n = plan.n
        cdef int a, b
        radius = np.broadcast_to(fields["radius"], (n,))
        data.radius = self.keep(radius, plan.dtype)
        data.weight = self.keep(fields["weight"], plan.dtype)
        self.weight = self.last
        grid = Grid(radius, plan.dim, plan.torus)
        self.kept.append(space(&data.torus, plan))
        for a, laid in enumerate(grid.laid):
            for b, (count, per_width) in enumerate(laid):
                data.cells[3 * a + b], data.per_width[3 * a + b] = count, per_width
        data.size_class = <const uint8_t*> self.keep(grid.size_class, np.uint8)
        self.size_class = self.last
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

    cdef int filter(self, Collisions* data, dict fields, int64_t n) except -1:
        """Who takes notice of whom."""
        if "category" in fields:
            data.category = <const uint64_t*> self.keep(np.broadcast_to(fields["category"], (n,)), np.uint64)
            data.mask_bits = <const uint64_t*> self.keep(np.broadcast_to(fields["mask"], (n,)), np.uint64)
        if "sensor" in fields:
            data.sensor = <const uint8_t*> self.keep(fields["sensor"], np.uint8)
        return 0


cdef class BoundContacts(BoundGrid):
    cdef Contacts contacts
    cdef list rods      # arrays of one item for each rod: first body, second body, and more
    cdef int64_t most   # contacts
    cdef int dim
    cdef object dtype

    cdef int listen(self, object kind, int64_t n) except -1:
        if self.told.mark != NULL:
            return 0
        self.contacts.meeting = self.allocate((2 * self.dim + MEETING) * self.most, self.dtype)
        return BoundConstraint.listen(self, kind, n)

    cdef void hear(self, Told* told) noexcept:
        self.contacts.grid.told = told

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Contacts* data = &self.contacts
        cdef int64_t n = plan.n
        cdef int64_t most
        cdef int place
        impulses, real = plan.impulses, plan.dtype
        self.constraint.function, self.constraint.data = table.meet, data
        self.lay_out(&data.grid, fields, plan)
        data.restitution = self.keep(fields["restitution"], real)
        data.friction = self.keep(fields["friction"], real)
        self.filter(&data.grid, fields, n)
        if "through" in fields:
            data.through = <const uint8_t*> self.keep(fields["through"], np.uint8)
        data.found = <int64_t*> self.allocate(3, np.int64)
        data.n = n
        if "shape_begin" in fields:
            self.lay_level(data, fields, plan)
        data.faces, data.rods, data.substeps = impulses.faces, impulses.rods, fields["substeps"][0]
        data.sweeps = fields["sweeps"][0]
        data.normal = self.keep(fields["normal"], real)
        data.offset = self.keep(fields["offset"], real)
        data.wall_friction = self.keep(fields["wall_friction"], real)
        data.declared = data.rods
        kept = len(self.kept)
        data.rod_first = <const int32_t*> self.keep(fields["first"], np.int32)
        data.rod_second = <const int32_t*> self.keep(fields["second"], np.int32)
        data.length = self.keep(fields["length"], real)
        data.compliance = self.keep(fields["compliance"], real)
        data.number = <const int32_t*> self.keep(fields["number"], np.int32)
        self.rods, self.tenants = self.kept[kept:], fields["tenants"]
        data.stiffness = self.keep(fields["stiffness"], real)
        data.moved = <uint8_t*> self.allocate(n, np.uint8)
        data.state = <int64_t*> address(impulses.state)
        for place in range(2):
            data.pair[place] = <int32_t*> address(impulses.pair[place])
            data.push[place] = address(impulses.push[place])
            data.pull[place] = address(impulses.pull[place])
        self.kept.append(impulses)
        most = impulses.capacity
        self.most, self.dim, self.dtype = most, plan.dim, real
        data.body = self.allocate(2 * plan.dim * (n + data.faces + 1), real)
        data.one = <int32_t*> self.allocate(most, np.int32)
        data.other = <int32_t*> self.allocate(most, np.int32)
        data.colour = <uint8_t*> self.allocate(most, np.uint8)
        data.place = <int32_t*> self.allocate(most, np.int32)
        data.first = <int32_t*> self.allocate(most, np.int32)
        data.second = <int32_t*> self.allocate(most, np.int32)
        data.contact = self.allocate((2 * plan.dim + CONTACT) * most, real)
        data.rod = self.allocate((plan.dim + 1) * data.rods, real)
        data.taken = <uint64_t*> self.allocate(n, np.uint64)
        data.touched = <uint8_t*> self.allocate(n + data.faces + 1, np.uint8)
        self.cost = 200 * n + (60 * n + 30 * data.rods * data.sweeps) * data.substeps
        return 0

    cdef int lay_level(self, Contacts* data, dict fields, object plan) except -1:
        """The shapes, in parts."""
        cdef Shapes* shapes
        cdef int64_t part, first, last
        data.parts = len(fields["shape_segments"])
        data.shape_begin = <const int64_t*> self.keep(fields["shape_begin"], np.int64)
        data.shape_friction = self.keep(fields["shape_friction"], plan.dtype)
        shapes = <Shapes*> self.allocate(data.parts * sizeof(Shapes), np.uint8)
        data.shapes = shapes
        for part in range(data.parts):
            first, last = data.shape_begin[part], data.shape_begin[part + 1]
            own = {name: fields[f"shape_{name}"][first:last] for name in ("lower", "upper", "enabled")}
            own["segments"] = fields["shape_segments"][part : part + 1]
            own["reach"] = fields["shape_reach"][part]
            self.lay_shapes(&shapes[part], own, plan.dtype)
            if fields["shape_through"][part].any():
                shapes[part].wall.sensor = <const uint8_t*> self.keep(fields["shape_through"][part], np.uint8)
        data.leaning = <int32_t*> self.allocate(SHAPES_PER_BODY * plan.n, np.int32)
        return 0

    cdef int find_links(self, Links links) except -1:
        links.weigh(self.weight, self.size_class, self.contacts.grid.count)
        links.add(self.rods[0], self.rods[1], self.tenants, self.contacts.declared, self.rods, &self.contacts.rods)
        links.contacts = &self.contacts
        return 0


cdef class BoundCollisions(BoundGrid):
    cdef Collisions collisions
    cdef list walls     # that bodies are kept off as they part, or None where these are not known yet

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Collisions* data = &self.collisions
        cdef int64_t n = plan.n
        self.constraint.function, self.constraint.data = table.meet, data
        self.each(&data.restitution, fields["restitution"], plan.dtype)
        if "friction" in fields:
            self.each(&data.friction, fields["friction"], plan.dtype)
        self.filter(data, fields, n)
        data.iterations = fields["iterations"][0]
        self.lay_out(data, fields, plan)
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
            data.way_class = <uint8_t*> self.allocate(n, np.uint8)
        return 0

    cdef void hear(self, Told* told) noexcept:
        self.collisions.told = told

    cdef int find_links(self, Links links) except -1:
        return links.weigh(self.weight, self.size_class, self.collisions.count)

    cdef BoundCollisions seeing(self, list walls):
        """The same, with these walls."""
        cdef BoundCollisions other = self
        cdef BoundConstraint wall
        cdef ConstraintCall* place
        if self.walls is not None:
            if list(map(id, self.walls)) == list(map(id, walls)):
                return self
            other = BoundCollisions.__new__(BoundCollisions)
            other.constraint, other.cost, other.collisions = self.constraint, self.cost, self.collisions
            other.kept = [*self.kept]
            other.constraint.data = &other.collisions
            other.weight, other.size_class = self.weight, self.size_class
            other.collisions.told = NULL
        other.walls = walls
        other.collisions.walls = len(walls)
        place = <ConstraintCall*> other.allocate(len(walls) * sizeof(ConstraintCall), np.uint8)
        other.collisions.wall = place
        for number, wall in enumerate(walls):
            place[<Py_ssize_t> number] = wall.constraint
        return other


# What kernels know each constraint as, and what binds it.
KINDS = {
    "pin": (PIN, BoundPin),
    "distance": (DISTANCE, BoundDistance),
    "compliant_distance": (COMPLIANT_DISTANCE, BoundDistance),
    "box": (BOX, BoundWall),
    "plane": (PLANE, BoundWall),
    "collisions": (COLLISIONS, BoundCollisions),
    "contacts": (CONTACTS, BoundContacts),
    "corners": (CORNERS, BoundCorners),
    "sensor": (SENSOR, BoundSensor),
    "shapes": (SHAPES, BoundShapes),
    "periodic": (PERIODIC, BoundPeriodic),
}
require_entries(__name__, KINDS, Constraint)


cdef list bind_constraints(object plan, const CoupledTable* table, Py_ssize_t padded, list known):
    """The constraints of a plan, for states in planes of so many numbers.

    known: (record of a plan, what it was bound to) for the same bodies; of these none is changed, they may be in use.
    """
    same = {id(constraint): bound for constraint, bound in known}
    tied = [bound for _, bound in known if isinstance(bound, BoundDistance)]
    bound = [same.get(id(constraint)) or bind_constraint(constraint, plan, table, padded, tied) for constraint in plan.constraint_records]
    walls = [constraint for constraint in bound if isinstance(constraint, BoundWall)]
    for number, constraint in enumerate(bound):
        if isinstance(constraint, BoundCollisions):
            bound[number] = (<BoundCollisions> constraint).seeing(walls)
        elif isinstance(constraint, BoundDistance):
            bound[number] = (<BoundDistance> constraint).reading(plan)
    return bound


cdef BoundConstraint bind_constraint(object constraint, object plan, const CoupledTable* table, Py_ssize_t padded, list tied):
    cdef BoundConstraint bound
    kind, binds = KINDS[constraint.kind]
    bound = binds()
    bound.kept = []
    bound.constraint.kind = kind
    bound.tied = tied
    bound.bind(constraint.fields, plan, table, padded)
    bound.tied = None
    return bound
