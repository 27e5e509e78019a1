"""What holds the bodies after each step, bound: a C function and what it works on, for each kind of constraint."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from ..kernels.abi.constraints cimport (
    BOX, COLLISIONS, COMPLIANT_DISTANCE, DISTANCE, PAIRS_PER_BODY, PIN, PLANE, SENSOR, SHAPES, Collisions, Distance,
    Each, Hold, HoldKind, Pin, Sensor, Shapes, Wall,
)
from ..kernels.abi.events cimport Contact, Told
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.abi.coupled cimport SweptTable
from .sharing cimport look

import numpy as np

from .. import kernels
from ..constraints.broad_phase import Grid
from ..constraints.shapes import tree

require_rounding(__name__)

cdef dict KINDS = {
    "pin": PIN,
    "distance": DISTANCE,
    "compliant_distance": COMPLIANT_DISTANCE,
    "box": BOX,
    "plane": PLANE,
    "collisions": COLLISIONS,
    "sensor": SENSOR,
    "shapes": SHAPES,
}


cdef class BoundHold:
    """Base: a C function of a constraint; it holds on to all that its data points to."""

    cdef void* room(self, object shape, object dtype) except NULL:
        """An array of zeros that kernels work in, with a row to spare for vectors that reach beyond its end."""
        array = kernels.aligned_zeros((1, shape + 64), np.dtype(dtype))[0]
        self.kept.append(array)
        self.last = array
        return <void*> <size_t> array.ctypes.data

    cdef void* keep(self, object array, object dtype) except NULL:
        """Numbers that kernels read, copied to where vectors may reach beyond their end."""
        cdef void* place = self.room(array.size, dtype)
        self.last[: array.size] = array.ravel()
        return place

    cdef int each(self, Each* field, object values, object dtype) except -1:
        field.number = self.keep(values, dtype)
        field.body = len(values) > 1
        return 0

    cdef int listen(self, int64_t source, object kind, int64_t n) except -1:
        """Have it report, as a constraint of this number; kind: a `Reporting` of events.py."""
        cdef Told* told = &self.told
        told.source, told.region, told.room = source, kind.region, kind.room
        told.slots = kind.room // max(1, n) if kind.walls else 0
        told.places = told.slots * n if kind.walls else (PAIRS_PER_BODY + 1) * n
        told.mark = <int32_t*> self.room(told.places, np.int32)
        told.contact = <Contact*> self.room(told.places * sizeof(Contact), np.uint8)
        told.touching = <int64_t*> self.room(told.room, np.int64)
        told.next = <int64_t*> self.room(told.room, np.int64)
        self.hear(told)
        return 0

    cdef void hear(self, Told* told) noexcept:
        """Whom it reports to."""
        pass


cdef class BoundPin(BoundHold):
    cdef Pin pin

    cdef int bind(self, dict fields) except -1:
        self.hold.data = &self.pin
        self.pin.count = len(fields["indices"])
        self.pin.index = <const int64_t*> self.keep(fields["indices"], np.int64)
        self.cost = 10 * self.pin.count
        return 0


cdef class BoundDistance(BoundHold):
    cdef Distance distance

    cdef int bind(self, dict fields, object plan, Py_ssize_t padded) except -1:
        cdef Distance* distance = &self.distance
        cdef int64_t count = len(fields["first"])
        self.hold.data = distance
        stage = stages(fields["first"], fields["second"], plan.n)
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
            distance.total = self.keep(fields["total"][order], plan.dtype)
            distance.compliance = self.keep(fields["compliance"][order], plan.dtype)
            distance.force = self.room(count, plan.dtype)
        distance.was = self.room(plan.dim * padded, plan.dtype)
        distance.iterations = fields["iterations"][0]
        distance.look = look
        self.cost = 20 * count * distance.iterations + 2 * plan.n
        return 0


cdef object stages(object first, object second, int64_t n):
    """For each pair: how many others must come before it, one after the other, because they share bodies."""
    ready = [0] * n
    result = []
    for a, b in zip(first.tolist(), second.tolist()):
        stage = max(ready[a], ready[b])
        ready[a] = ready[b] = stage + 1
        result.append(stage)
    return np.array(result, np.int64)


cdef class BoundWall(BoundHold):
    cdef Wall wall

    cdef int bind(self, str lower, str upper, dict fields, object plan) except -1:
        self.hold.data = &self.wall
        self.wall.lower = self.keep(fields[lower], plan.dtype)
        self.wall.upper = self.keep(fields[upper], plan.dtype)
        self.each(&self.wall.restitution, fields["restitution"], plan.dtype)
        self.each(&self.wall.friction, fields["friction"], plan.dtype)
        self.each(&self.wall.radius, fields["radius"], plan.dtype)
        self.wall.weight = self.keep(fields["weight"], plan.dtype)
        self.wall.lag = fields["lag"][0]
        if "sensor" in fields:
            self.wall.sensor = <const uint8_t*> self.keep(fields["sensor"], np.uint8)
        self.cost = 10 * plan.n
        return 0

    cdef void hear(self, Told* told) noexcept:
        self.wall.told = told


cdef class BoundShapes(BoundHold):
    cdef Shapes shapes

    cdef int bind(self, dict fields, object plan) except -1:
        cdef Shapes* shapes = &self.shapes
        self.hold.data = shapes
        shapes.segments = fields["segments"][0]
        shapes.lower = self.keep(fields["lower"], plan.dtype)
        shapes.upper = self.keep(fields["upper"], plan.dtype)
        self.each(&shapes.reach, fields["reach"], plan.dtype)
        self.each(&shapes.wall.restitution, fields["restitution"], plan.dtype)
        self.each(&shapes.wall.friction, fields["friction"], plan.dtype)
        self.each(&shapes.wall.radius, fields["radius"], plan.dtype)
        shapes.wall.weight = self.keep(fields["weight"], plan.dtype)
        shapes.wall.lag = fields["lag"][0]
        if "sensor" in fields:
            shapes.wall.sensor = <const uint8_t*> self.keep(fields["sensor"], np.uint8)
        shapes.enabled = <const uint8_t*> self.keep(fields["enabled"], np.uint8)
        there = np.flatnonzero(fields["enabled"])
        shapes.count = len(there)
        if shapes.count > 0:
            ends = fields["lower"][there].astype(np.float64), fields["upper"][there].astype(np.float64)
            order, bounds, first, leaves = tree(np.minimum(*ends), np.maximum(*ends))
            shapes.number = <const int64_t*> self.keep(there[order], np.int64)
            shapes.bounds = <const double*> self.keep(bounds, np.float64)
            shapes.first = <const int64_t*> self.keep(first, np.int64)
            shapes.leaves = <const int64_t*> self.keep(leaves, np.int64)
        self.cost = 100 * plan.n
        return 0

    cdef void hear(self, Told* told) noexcept:
        self.shapes.wall.told = told


cdef class BoundSensor(BoundHold):
    cdef Sensor sensor

    cdef int bind(self, dict fields, object plan) except -1:
        self.hold.data = &self.sensor
        self.sensor.lower = self.keep(fields["lower"], plan.dtype)
        self.sensor.upper = self.keep(fields["upper"], plan.dtype)
        self.sensor.ball = fields["ball"][0]
        self.sensor.watched = <const uint8_t*> self.keep(fields["watched"], np.uint8)
        self.cost = 10 * plan.n
        return 0

    cdef void hear(self, Told* told) noexcept:
        self.sensor.told = told


cdef class BoundCollisions(BoundHold):
    cdef Collisions collisions

    cdef int bind(self, dict fields, object plan) except -1:
        cdef Collisions* data = &self.collisions
        cdef int64_t n = plan.n
        cdef int a, b
        self.hold.data = data
        radius = np.broadcast_to(fields["radius"], (n,))
        data.radius = self.keep(radius, plan.dtype)
        data.weight = self.keep(fields["weight"], plan.dtype)
        self.each(&data.restitution, fields["restitution"], plan.dtype)
        if "friction" in fields:
            self.each(&data.friction, fields["friction"], plan.dtype)
        if "category" in fields:
            data.category = <const uint64_t*> self.keep(np.broadcast_to(fields["category"], (n,)), np.uint64)
            data.mask_bits = <const uint64_t*> self.keep(np.broadcast_to(fields["mask"], (n,)), np.uint64)
        if "sensor" in fields:
            data.sensor = <const uint8_t*> self.keep(fields["sensor"], np.uint8)
        data.iterations = fields["iterations"][0]
        grid = Grid(radius, plan.dim)
        data.size_class = <const uint8_t*> self.keep(grid.size_class, np.uint8)
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
        data.start = <int32_t*> self.room(grid.buckets + 2, np.int32)
        data.bucket = <uint32_t*> self.room(n, np.uint32)
        data.body = <int32_t*> self.room(n, np.int32)
        data.place = self.room((plan.dim + 1) * n, plan.dtype)
        data.begin = <int64_t*> self.room(n, np.int64)
        data.count = <int32_t*> self.room(n, np.int32)
        data.partner = <int32_t*> self.room((PAIRS_PER_BODY + 1) * n, np.int32)
        data.next = <int32_t*> self.room(grid.buckets, np.int32)
        data.lower = <int32_t*> self.room(PAIRS_PER_BODY * n, np.int32)
        data.higher = <int32_t*> self.room(PAIRS_PER_BODY * n, np.int32)
        data.look = look
        self.cost = 200 * n
        if "swept" in fields and data.classes > 0:
            data.swept = True
            data.since = self.room(n, plan.dtype)
            data.earliest = self.room(n, plan.dtype)
            data.which = <int64_t*> self.room(n, np.int64)
            data.last = <int32_t*> self.room(n, np.int32)
            data.time = self.room((PAIRS_PER_BODY + 1) * n, plan.dtype)
            data.middle = self.room(plan.dim * n, plan.dtype)
            data.extent = self.room(n, plan.dtype)
            data.way_class = <uint8_t*> self.room(n, np.uint8)
        return 0

    cdef void hear(self, Told* told) noexcept:
        self.collisions.told = told

    cdef int see(self, list walls) except -1:
        cdef BoundHold wall
        cdef Hold* place
        self.kept.append(walls)
        self.collisions.walls = len(walls)
        place = <Hold*> self.room(len(walls) * sizeof(Hold), np.uint8)
        self.collisions.wall = place
        for number, wall in enumerate(walls):
            place[<Py_ssize_t> number] = wall.hold
        return 0


cdef list bind_constraints(object plan, const SweptTable* table, Py_ssize_t padded):
    """The constraints of a plan, for states in planes of so many numbers."""
    cdef BoundDistance distance
    bound = [bind_hold(hold, plan, table, padded) for hold in plan.holds]
    walls = [hold for hold in bound if isinstance(hold, BoundWall)]
    for hold in bound:
        if isinstance(hold, BoundCollisions):
            (<BoundCollisions> hold).see(walls)
        elif isinstance(hold, BoundDistance):
            distance = hold
            distance.distance.at_rest = distance.keep(plan.at_rest, plan.dtype)
    return bound


cdef BoundHold bind_hold(object hold, object plan, const SweptTable* table, Py_ssize_t padded):
    cdef int kind = KINDS[hold.kind]
    cdef BoundHold bound
    if kind == PIN:
        bound = BoundPin.__new__(BoundPin)
    elif kind == DISTANCE or kind == COMPLIANT_DISTANCE:
        bound = BoundDistance.__new__(BoundDistance)
    elif kind == COLLISIONS:
        bound = BoundCollisions.__new__(BoundCollisions)
    elif kind == SENSOR:
        bound = BoundSensor.__new__(BoundSensor)
    elif kind == SHAPES:
        bound = BoundShapes.__new__(BoundShapes)
    else:
        bound = BoundWall.__new__(BoundWall)
    bound.kept = []
    bound.hold.function = table.tie if kind <= COMPLIANT_DISTANCE else table.hold
    bound.hold.kind = <HoldKind> kind
    if kind == PIN:
        (<BoundPin> bound).bind(hold.fields)
    elif kind == DISTANCE or kind == COMPLIANT_DISTANCE:
        (<BoundDistance> bound).bind(hold.fields, plan, padded)
    elif kind == BOX:
        (<BoundWall> bound).bind("lower", "upper", hold.fields, plan)
    elif kind == PLANE:
        (<BoundWall> bound).bind("normal", "offset", hold.fields, plan)
    elif kind == SENSOR:
        (<BoundSensor> bound).bind(hold.fields, plan)
    elif kind == SHAPES:
        (<BoundShapes> bound).bind(hold.fields, plan)
    else:
        (<BoundCollisions> bound).bind(hold.fields, plan)
    return bound
