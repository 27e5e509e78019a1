"""Bound constraints on single bodies (walls, shapes, sensors, periodic boxes); base class of all bound constraints."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from ..kernels.abi cimport constraints as abi
from ..kernels.abi.constraints cimport Each, LoadCell, Shapes, Spin, Wall
from ..kernels.abi.coupled cimport CoupledTable
from ..kernels.abi.events cimport Contact, EventSource
from ..kernels.abi.plan cimport Plan
from ..kernels.constraints.motion cimport refit
from ..kernels.simd.rounding cimport require_rounding
from .coefficients cimport space
from .slots cimport Links, address

import numpy as np

from ..constraints.base import ABSENT


require_rounding(__name__)

#: NumPy dtype of the struct LoadCell in kernels/abi/constraints.pxd.
CELL = np.dtype([
    ("owner", np.uint64), ("cell", np.uint64), ("limit", np.float64), ("unit", np.float64), ("first", np.int32),
    ("second", np.int32), ("rank", np.int64),
])


#: Kind of constraint -> (kernel constant, bound class). Each class is followed by its entries.
KINDS: dict = {}


cdef class BoundConstraint:
    """Base class of bound constraints: a C function, its data, and the arrays that the data points to."""

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        """Bind the fields of a constraint, for states with `padded` items per component."""
        raise NotImplementedError

    cdef void* allocate(self, object shape, object dtype) except NULL:
        """Allocate zeros for kernels, with 64 extra items, because vector accesses may run past the end."""
        memory = np.zeros(shape + 64 + 64, dtype)
        # Align to a cache line. The item size divides the offset, as it divides 64 and the address of the memory.
        array = memory[(-<size_t> address(memory)) % 64 // memory.itemsize:][: shape + 64]
        self.kept.append(array)
        self.last = array
        return address(array)

    cdef void* keep(self, object array, object dtype) except NULL:
        """Copy an array for kernels, padded because vector loads may run past the end."""
        cdef void* place = self.allocate(array.size, dtype)
        self.last[: array.size] = array.ravel()
        return place

    cdef void* field(self, dict fields, str name, object dtype) except NULL:
        """Copy a writable field for kernels, and add the copy to `places`."""
        values = fields[name]
        cdef void* place = self.keep(values, dtype)
        self.places[name] = [self.last[None, : values.size]]
        return place

    cdef int each(self, Each* each, dict fields, str name, object dtype) except -1:
        each.number = self.field(fields, name, dtype)
        each.body = len(fields[name]) > 1
        return 0

    cdef int lay_shapes(self, Shapes* shapes, dict fields, object dtype, object rows) except -1:
        """Bind the bounding-volume tree and the motion of shapes whose positions and flags are already bound.

        rows: array with the motion of the shapes (`Motion` of motion.py); None if they do not move.
        """
        shapes.segments = fields["segments"][0]
        if rows is not None:
            shapes.motion.state, shapes.motion.count = <const double*> address(rows), len(rows)
            shapes.motion.lower = <const double*> self.keep(fields["lower"], np.float64)
            shapes.motion.upper = <const double*> self.keep(fields["upper"], np.float64)
            shapes.motion.center = <const double*> self.keep(fields["center"], np.float64)
            shapes.motion.far = <const double*> self.keep(fields["far"], np.float64)
        ends = fields["lower"].astype(np.float64), fields["upper"].astype(np.float64)
        self.lay_tree(shapes, np.arange(len(ends[0])), np.minimum(*ends), np.maximum(*ends))
        fit(fields["lower"].shape[1], shapes, dtype)
        return 0

    cdef int lay_tree(self, Shapes* shapes, object numbers, object lower, object upper) except -1:
        """Build and bind a bounding-volume tree of boxes. numbers: index of the shape or struct in each box."""
        shapes.count = len(numbers)
        if shapes.count > 0:
            from ..constraints.shapes import tree
            order, bounds, first, leaves = tree(lower, upper)
            shapes.number = <const int64_t*> self.keep(numbers[order], np.int64)
            shapes.bounds = <double*> self.keep(bounds, np.float64)
            self.places.setdefault("bounds", []).append(self.last[None, : bounds.size])
            shapes.nodes = len(first)
            shapes.first = <const int64_t*> self.keep(first, np.int64)
            shapes.leaves = <const int64_t*> self.keep(leaves, np.int64)
        return 0

    cdef int listen(self, object kind, int64_t n) except -1:
        """Allocate an event recorder. kind: a `Reporting` of events.py. A second call does nothing."""
        cdef EventSource* events = &self.events
        if events.mark != NULL:
            return 0
        events.region, events.capacity = kind.region, kind.capacity
        events.slots = 0 if kind.pairs else kind.capacity // max(1, n)
        events.places = (abi.PAIRS_PER_BODY + 1 + kind.at_once) * n if kind.pairs else events.slots * n
        events.contact = <Contact*> self.allocate(events.places * sizeof(Contact), np.uint8)
        events.touching = <int64_t*> self.allocate(events.capacity, np.int64)
        events.next = <int64_t*> self.allocate(events.capacity, np.int64)
        events.mark = <int32_t*> self.allocate(events.places, np.int32)
        self.bind_events(events)
        return 0

    cdef void bind_events(self, EventSource* events) noexcept:
        """Set the pointer to the event recorder in the data of the kernel."""
        pass

    cdef int find_links(self, Links links) except -1:
        """Add to `links` the data that changes when bodies are removed."""
        return 0

    cdef bint serves(self, object plan, object record):
        """Return whether a record of another plan fits apart from its fields: load arrays must be the same objects."""
        if not self.owners:
            return True
        owners = plan.owners(record)
        return len(owners) == len(self.owners) and all([mine is its for mine, its in zip(self.owners, owners)])

    cdef int derive(self, object plan, object old, object now, list writes) except -1:
        """Append to `writes` the data derived from those fields that differ between the records `old` and `now`."""
        return 0

    cdef const LoadCell* lay_loads(self, dict fields, object order) except? NULL:
        """Allocate a LoadCell per pair: the address where its load is stored. order: permutation of the pairs."""
        count = len(fields["pair"])
        cells = np.zeros(count + 1, CELL)
        pairs = cells[:count]
        owner = np.array([<size_t> address(array) for array in self.owners] + [0], np.uint64)
        rows = fields["pair"].astype(np.uint64) + np.uint64(1)
        pairs["owner"] = owner[fields.get("member", np.zeros(len(rows), np.int64))][order]
        pairs["cell"] = pairs["owner"] + np.uint64(16) * rows[order]
        pairs["limit"] = fields["limit"][order] if "limit" in fields else -1
        pairs["unit"] = fields["unit"][order] if "unit" in fields else 1
        pairs["first"], pairs["second"] = fields["first"][order], fields["second"][order]
        pairs["rank"] = np.arange(len(rows))[order]
        self.kept.append(cells)
        return <const LoadCell*> address(cells)

    cdef void join(self, const Common* common) noexcept:
        """Set the pointers to data that all constraints of a binding share; a previous binding may have set others."""
        pass

    cdef void prepare(self, const Plan* plan) noexcept:
        """Set the numbers that depend on dt and on that of the last step."""
        pass

    cdef int bind_wall(self, Wall* wall, dict fields, object plan) except -1:
        """Bind the fields that walls and shapes share."""
        dtype = plan.dtype
        self.each(&wall.restitution, fields, "restitution", dtype)
        self.each(&wall.friction, fields, "friction", dtype)
        self.each(&wall.radius, fields, "radius", dtype)
        wall.lag = fields["lag"][0]
        if "sensor" in fields:
            wall.sensor = <const uint8_t*> self.field(fields, "sensor", np.uint8)
        if "belt" in fields:
            wall.belt = self.field(fields, "belt", dtype)
        bind_spin(&wall.spin, plan.rotating)
        return 0


cdef void fit(int dim, Shapes* shapes, object dtype):
    """Fit the boxes of a tree to its shapes."""
    if shapes.count > 0 and dtype.itemsize == sizeof(double):
        refit(dim, shapes, <const double*> shapes.lower, <const double*> shapes.upper)
    elif shapes.count > 0:
        refit(dim, shapes, <const float*> shapes.lower, <const float*> shapes.upper)


cdef object fitted(int dim, Shapes* shapes, object dtype):
    """Return new tree boxes for `shapes`, a copy of a Shapes struct in which shapes were enabled or disabled."""
    bounds = np.empty((1, 2 * dim * shapes.nodes))
    shapes.bounds = <double*> address(bounds)
    fit(dim, shapes, dtype)
    return bounds


cdef bint saves_loads(dict fields) except -1:
    """Return whether any pair was declared with `breaks_at`, including `breaks_at=inf`."""
    return "limit" in fields and (fields["limit"] != ABSENT["limit"]).any()


cdef int bind_spin(Spin* spin, object memory) except -1:
    """Bind the work memory of the rotation, a `Spin` of rotation.py; None if bodies do not rotate."""
    if memory is not None:
        spin.w, spin.stride = address(memory.planes), memory.planes.shape[1]
        spin.inverse_inertia = address(memory.inverse_inertia)
    return 0


cdef class BoundWall(BoundConstraint):
    cdef Wall wall

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.wall, &self.wall
        if "normal" in fields:
            self.wall.normal = self.field(fields, "normal", plan.dtype)
            self.wall.offset = self.field(fields, "offset", plan.dtype)
        else:
            self.wall.lower = self.field(fields, "lower", plan.dtype)
            self.wall.upper = self.field(fields, "upper", plan.dtype)
        self.bind_wall(&self.wall, fields, plan)
        self.cost = 10 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        self.wall.alive = links.slots.alive
        return 0

    cdef void bind_events(self, EventSource* events) noexcept:
        self.wall.events = events

    cdef void join(self, const Common* common) noexcept:
        self.wall.weight = common.weight


KINDS["box"] = abi.BOX, BoundWall
KINDS["plane"] = abi.PLANE, BoundWall


cdef class BoundShapes(BoundConstraint):
    cdef Shapes shapes
    cdef object motion      # array with the motion of all shapes that move, or None

    cdef bint serves(self, object plan, object record):
        return self.motion is None or (plan.motion is not None and self.motion is plan.motion.rows)

    cdef int derive(self, object plan, object old, object now, list writes) except -1:
        cdef Shapes other = self.shapes
        if self.shapes.count > 0 and old.fields["enabled"] is not now.fields["enabled"]:
            enabled = np.array(now.fields["enabled"])
            other.enabled = <const uint8_t*> address(enabled)
            writes.append((self.places["bounds"][0], None, fitted(plan.dim, &other, plan.dtype)))
        return 0

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Shapes* shapes = &self.shapes
        self.constraint.function, self.constraint.data = table.collide, shapes
        rows = None
        if "far" in fields:
            self.constraint.kind, self.motion = abi.MOVING, plan.motion.rows
            rows = plan.motion.of(self.declaration)
        if "one_way" in fields:
            shapes.one_way = self.field(fields, "one_way", plan.dtype)
        shapes.lower, shapes.upper = self.keep(fields["lower"], plan.dtype), self.keep(fields["upper"], plan.dtype)
        shapes.enabled = <const uint8_t*> self.field(fields, "enabled", np.uint8)
        self.lay_shapes(shapes, fields, plan.dtype, rows)
        self.each(&shapes.reach, fields, "reach", plan.dtype)
        self.bind_wall(&shapes.wall, fields, plan)
        self.cost = 100 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        self.shapes.wall.alive = links.slots.alive
        return 0

    cdef void bind_events(self, EventSource* events) noexcept:
        self.shapes.wall.events = events

    cdef void join(self, const Common* common) noexcept:
        self.shapes.wall.weight = common.weight


KINDS["shapes"] = abi.SHAPES, BoundShapes


cdef class BoundSensor(BoundConstraint):
    cdef abi.Sensor sensor

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.collide, &self.sensor
        self.sensor.lower = self.field(fields, "lower", plan.dtype)
        self.sensor.upper = self.field(fields, "upper", plan.dtype)
        self.sensor.ball = fields["ball"][0]
        self.sensor.watched = <const uint8_t*> self.field(fields, "watched", np.uint8)
        self.cost = 10 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        self.sensor.alive = links.slots.alive
        return 0

    cdef void bind_events(self, EventSource* events) noexcept:
        self.sensor.events = events


KINDS["sensor"] = abi.SENSOR, BoundSensor


cdef class BoundPeriodic(BoundConstraint):
    cdef abi.Periodic periodic

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.collide, &self.periodic
        self.kept.append(space(&self.periodic.torus, plan))
        self.periodic.weight = self.keep(np.ones(plan.n), plan.dtype)
        self.cost = 4 * plan.n
        return 0

    cdef int find_links(self, Links links) except -1:
        self.periodic.weight = links.slots.weight
        return 0


KINDS["periodic"] = abi.PERIODIC, BoundPeriodic


cdef class BoundFloor(BoundConstraint):
    cdef abi.Floor floor

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        self.constraint.function, self.constraint.data = table.collide, &self.floor
        self.each(&self.floor.deceleration, fields, "deceleration", plan.dtype)
        self.cost = 10 * plan.n
        return 0


KINDS["floor_friction"] = abi.FLOOR, BoundFloor


cdef enum:
    LANES = 16      # float32 lanes of the widest vectors


cdef class BoundCorners(BoundConstraint):
    cdef abi.Corners corners
    cdef const int64_t* wall        # index of the wall of each face

    cdef void join(self, const Common* common) noexcept:
        cdef int64_t number = 0     # index of the wall among boxes and planes, as in the record
        cdef int64_t face = 0
        cdef Py_ssize_t k
        self.corners.weight = common.weight
        for k in range(common.walls):
            if common.wall[k].kind == abi.BOX or common.wall[k].kind == abi.PLANE:
                while face < self.corners.faces and self.wall[face] == number:
                    self.corners.wall[face] = <const Wall*> common.wall[k].data
                    face += 1
                number += 1

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef abi.Corners* data = &self.corners
        self.constraint.function, self.constraint.data = table.wall, data
        data.faces = len(fields["offset"])
        self.shares = True
        data.normal = self.field(fields, "normal", plan.dtype)
        data.offset = self.field(fields, "offset", plan.dtype)
        data.lag = fields["lag"][0]
        data.number = <const int64_t*> self.keep(fields["number"], np.int64)
        self.wall = <const int64_t*> self.keep(fields["wall"], np.int64)
        data.wall = <const Wall**> self.allocate(data.faces * sizeof(Wall*), np.uint8)
        data.face = <int32_t*> self.allocate(data.faces, np.int32)
        data.there = self.allocate(data.faces * LANES, plan.dtype)
        data.size = self.allocate(data.faces * LANES, plan.dtype)
        data.push = self.allocate(2 * data.faces * LANES, plan.dtype)
        self.cost = 3 * data.faces * plan.n
        return 0


KINDS["corners"] = abi.CORNERS, BoundCorners
