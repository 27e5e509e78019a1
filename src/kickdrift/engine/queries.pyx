"""Level: queries of the bodies, walls and shapes of a stepper (rays, near shapes, contacts), in float64."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, sqrt
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memcpy

from ..kernels.abi.constraints cimport CONTACTS, Contacts, Shapes
from ..kernels.abi.plan cimport MAX_DIM
from ..kernels.constraints.motion cimport lay
from ..kernels.constraints.outlines cimport passes
from ..kernels.constraints.queries cimport Near, first_shape, is_first, shapes_near
from ..kernels.forces.fields cimport dot, magnitude
from ..kernels.neighbours.cells cimport time_of_hit
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.space cimport turn_to_image
from .bodies cimport Core
from .neighbours cimport Found, Index
from .slots cimport address

import numpy as np

require_rounding(__name__)

cdef enum:
    TESTS = 1_000_000   # number of tests (some milliseconds) between two checks for Ctrl-C
    BESIDE = 1024       # a gap of up to 1/1024 of the radius (of bodies: of both radii together) counts as contact
    FEW = 64            # capacity of the stack buffer for shapes near one body

NEAR = np.dtype([("row", np.int64), ("number", np.int64), ("distance", np.float64), ("normal", np.float64, (MAX_DIM,))])

# Contact at the current positions, computed by a query, not by a step.
ctypedef struct Touch:
    int64_t source          # number of the constraint
    int64_t first, second   # row of a body; for a wall or shape: -1 - number
    int64_t shape           # number of the shape within its part
    bint sensed             # True if one of the two is a sensor
    bint below, began       # True if the body is below a one-way shape now, or was before the last step
    double point[MAX_DIM]
    double normal[MAX_DIM]


cdef class Touches:
    """Growable array of contacts."""

    cdef Touch* at
    cdef int64_t count, room
    cdef bint full      # True if memory ran out

    def __dealloc__(self):
        free(self.at)

    cdef void add(self, const Touch* touch) noexcept nogil:
        cdef void* place
        if self.count == self.room:
            place = realloc(self.at, (2 * self.room + 64) * sizeof(Touch))
            if place == NULL:
                self.full = True
                return
            self.at, self.room = <Touch*> place, 2 * self.room + 64
        self.at[self.count] = touch[0]
        self.count += 1


cdef int compare(const void* one, const void* other) noexcept nogil:
    cdef const Touch* a = <const Touch*> one
    cdef const Touch* b = <const Touch*> other
    if a.source != b.source:
        return -1 if a.source < b.source else 1
    if a.first != b.first:
        return -1 if a.first < b.first else 1
    return -1 if a.second < b.second else a.second > b.second


cdef class Level:
    """Bodies, walls and shapes of a stepper, for queries. A Level is valid until the stepper changes.

    Arguments: `record` is the index of a constraint record of the plan, `part` the index of a part of its shapes,
    `scene` the `Scene` of the plan, and `x` the positions of all rows.
    """

    cdef Core core
    cdef int dim
    cdef const uint8_t* alive   # mask of active rows; NULL: all are

    index_type = Index

    def __init__(self, Core stepper):
        self.core, self.dim, self.alive = stepper, stepper._plan.dim, NULL
        if stepper.slots is not None:
            self.alive = stepper.slots.alive

    cdef object find(self, Shapes* shapes, Py_ssize_t record, Py_ssize_t part):
        """Copy the Shapes struct of a part to `shapes`, in float64; return the owners of converted arrays, or None."""
        cdef const void* data = self.core.coupled.constraint[record].data
        cdef const Shapes* own = <const Shapes*> data
        if self.core.coupled.constraint[record].kind == CONTACTS:
            own = &(<const Contacts*> data).shapes[part]
        # Moving shapes: `lower` and `upper` may belong to another time. Recompute them for the current time.
        if not self.core.single:
            lay[double](self.dim, 0, own, NULL)
            shapes[0] = own[0]
            return None
        lay[float](self.dim, 0, own, NULL)
        shapes[0] = own[0]
        fields = self.core._plan.constraint_records[record].fields
        if self.core.coupled.constraint[record].kind == CONTACTS:
            begin = fields["shape_begin"]
            count = begin[part + 1] - begin[part]
        else:
            count = len(fields["lower"])
        arrays = [as_doubles(shapes.lower, self.core, count), as_doubles(shapes.upper, self.core, count)]
        shapes.lower, shapes.upper = address(arrays[0]), address(arrays[1])
        if shapes.one_way != NULL:
            arrays.append(as_doubles(shapes.one_way, self.core, count))
            shapes.one_way = address(arrays[2])
        return arrays

    cdef int64_t id_of(self, int64_t row) noexcept nogil:
        if row < 0:
            return row
        return row | <int64_t> 1 << 32 if self.alive == NULL else self.core.slots.id[row]

    # Ray casts.

    def first_bodies(self, object scene, object x, object origins, object motions, double reach, uint64_t seen,
                     object skip):
        """Test all bodies; return for each ray the row of the first body hit (-1: none) and the fraction of the ray."""
        cdef const double* place = <const double*> address(x)
        cdef const double* origin = <const double*> address(origins)
        cdef const double* motion = <const double*> address(motions)
        cdef const double* radius = <const double*> address(scene.radius)
        cdef const uint64_t* category = <const uint64_t*> address(scene.category)
        cdef const uint8_t* sensor = <const uint8_t*> address(scene.sensor)
        cdef const int64_t* passed = NULL if skip is None else <const int64_t*> address(skip)
        cdef int64_t n = len(x)
        cdef int64_t count = len(origins)
        cdef double d[MAX_DIM]
        cdef double r, t
        cdef int64_t i, k
        cdef int c
        rows, times = np.empty(count, np.int64), np.empty(count)
        cdef int64_t* row = <int64_t*> address(rows)
        cdef double* time = <double*> address(times)
        with nogil:
            for k in range(count):
                row[k], time[k] = -1, 1
                for i in range(n):
                    r = reach + radius[i]
                    if not r > 0 or not category[i] & seen or sensor[i] or (passed != NULL and passed[k] == i):
                        continue
                    if self.alive != NULL and not self.alive[i]:
                        continue
                    for c in range(self.dim):
                        d[c] = origin[k * self.dim + c] - place[i * self.dim + c]
                    t = time_of_hit(self.dim, d, motion + k * self.dim, reach, radius[i])
                    if t <= 1 and (row[k] < 0 or t < time[k]):
                        row[k], time[k] = i, t
        return rows, times

    def cast(self, object scene, object x, object origins, object motions, double reach, uint64_t seen, object rows,
             object times):
        """Return the first hit of each ray. rows, times: the hits of bodies, as returned by `first_bodies`."""
        cdef const double* place = <const double*> address(x)
        cdef const double* origin = <const double*> address(origins)
        cdef const double* motion = <const double*> address(motions)
        cdef const int64_t* row = <const int64_t*> address(rows)
        cdef const double* time = <const double*> address(times)
        cdef int64_t count = len(origins)
        cdef int64_t words = 6 + 2 * self.dim
        cdef double r
        cdef double* normal
        cdef double* share
        cdef int64_t* what
        cdef int64_t k
        cdef int c
        cdef int dim = self.dim
        hits = np.zeros(count, scene.hit)
        cdef double* hit = <double*> address(hits)
        for k in range(count):
            share = hit + k * words
            what, normal = <int64_t*> (share + 1), share + 5 + dim
            share[0], what[1], what[2], what[3] = INFINITY, row[k], -1, -1
            (<int64_t*> (normal + dim))[0] = k
            if row[k] >= 0:
                share[0], what[0] = time[k], self.id_of(row[k])
                for c in range(dim):
                    normal[c] = origin[k * dim + c] + share[0] * motion[k * dim + c] - place[row[k] * dim + c]
                r = sqrt(dot(dim, normal, normal))
                for c in range(dim):
                    normal[c] = normal[c] / r if r > 0 else 0
        for side in scene.sides:
            if side.mask & seen:
                if side.normals is None:
                    self.cast_at_shapes(side, hit, words, origin, motion, count, reach)
                else:
                    self.cast_at_planes(side, hit, words, origin, motion, count, reach)
        for k in range(count):
            share = hit + k * words
            what, normal = <int64_t*> (share + 1), share + 5 + dim
            share[0] = share[0] if what[0] != 0 else 1
            for c in range(dim):
                share[5 + c] = origin[k * dim + c] + share[0] * motion[k * dim + c]
                if what[0] != 0:
                    share[5 + c] -= reach * normal[c]
        return hits

    cdef int cast_at_planes(self, object side, double* hit, int64_t words, const double* origin, const double* motion,
                            int64_t count, double reach) except -1:
        cdef const double* normal = <const double*> address(side.normals)
        cdef const double* offset = <const double*> address(side.offsets)
        cdef int64_t planes = len(side.offsets)
        cdef int64_t first = side.first, source = side.source
        cdef double gap, speed, time
        cdef int64_t* what
        cdef int64_t k, p
        cdef bint inside
        cdef int c
        for k in range(count):
            what = <int64_t*> (hit + 1)
            for p in range(planes):
                gap = dot(self.dim, normal + p * self.dim, origin + k * self.dim) - offset[p] - reach
                speed = -dot(self.dim, normal + p * self.dim, motion + k * self.dim)
                inside = gap <= 0 if reach > 0 else gap < 0
                time = 0 if inside else (gap / speed if speed > 0 else INFINITY)
                if time <= 1 and is_first(
                    self.dim, time, normal + p * self.dim, motion + k * self.dim, hit[0], hit + 5 + self.dim,
                ):
                    hit[0], what[0], what[1], what[2], what[3] = time, -1 - first - p, -1, p, source
                    for c in range(self.dim):
                        hit[5 + self.dim + c] = normal[p * self.dim + c]
            hit += words
        return 0

    cdef int cast_at_shapes(self, object side, double* hit, int64_t words, const double* origin, const double* motion,
                            int64_t count, double radius) except -1:
        cdef Shapes shapes
        cdef int64_t first = side.first, source = side.source
        cdef double half = side.half
        cdef int64_t k = 0
        cdef int64_t number, tests
        cdef int64_t* what
        _arrays = self.find(&shapes, side.record, side.part)
        while k < count:
            with nogil:
                tests = 0
                while k < count and tests < TESTS:
                    number = first_shape(
                        self.dim, origin + k * self.dim, motion + k * self.dim, radius, half, &shapes, hit,
                        hit + 5 + self.dim, &tests,
                    )
                    if number >= 0:
                        what = <int64_t*> (hit + 1)
                        what[0], what[1], what[2], what[3] = -1 - first - number, -1, number, source
                    hit += words
                    k += 1
            PyErr_CheckSignals()
        return 0

    # Contacts.

    def touching(self, object scene, object x, object displacement, list pairs, object known):
        """Return the contacts, sorted, and a mask of those with a sensor. displacement: that of each row in the last
        step; pairs: per part, None or (Index, further pairs of rows that the index lacks); known: (constraint number,
        stored pairs, stored impulses) of the `Contacts`, or None."""
        cdef Touches found = Touches.__new__(Touches)
        for number, part in enumerate(scene.contacts):
            if part.side is None:
                if pairs[number] is not None:
                    self.pairs_touching(found, part, x, pairs[number])
            elif part.side.normals is not None:
                self.planes_touching(found, part, x)
            else:
                self.shapes_touching(found, part, x, displacement)
            PyErr_CheckSignals()
        if found.full:
            raise MemoryError(f"touching: no room for more than {found.count} contacts")
        result, sensed = np.empty(found.count, scene.contact), np.empty(found.count, np.bool_)
        if found.count > 0:  # qsort must not get NULL
            qsort(found.at, found.count, sizeof(Touch), compare)
            count = self.write(found, <double*> address(result), <uint8_t*> address(sensed), known)
            result, sensed = result[:count], sensed[:count]
        return result, sensed

    cdef int pairs_touching(self, Touches found, object part, object x, tuple some) except -1:
        cdef Index index = some[0]
        cdef Found pairs = index.unsorted_pairs()
        cdef const int64_t* more = <const int64_t*> address(some[1])
        cdef int64_t count = pairs.lower.count
        cdef int64_t total = count + len(some[1])
        cdef const double* place = <const double*> address(x)
        cdef const double* radius = <const double*> address(part.radius)
        cdef const uint64_t* category = <const uint64_t*> address(part.category)
        cdef const uint64_t* mask = <const uint64_t*> address(part.mask)
        cdef const uint8_t* sensor = <const uint8_t*> address(part.through)
        cdef const uint8_t* moves = <const uint8_t*> address(part.moves)
        cdef const int64_t* row = NULL if index.rows is None else <const int64_t*> address(index.rows)
        cdef int dim = self.dim
        cdef double distance, r
        cdef int64_t i, j, k
        cdef Touch touch
        cdef int c
        touch.source, touch.shape, touch.below, touch.began = part.source, -1, False, False
        with nogil:
            for k in range(total):
                if k >= count:
                    i, j = more[2 * (k - count)], more[2 * (k - count) + 1]
                elif row != NULL:
                    i, j = row[pairs.lower.number[k]], row[pairs.higher.number[k]]
                else:
                    i, j = pairs.lower.number[k], pairs.higher.number[k]
                touch.sensed = sensor[i] or sensor[j]
                if not (category[i] & mask[j] and category[j] & mask[i] and (touch.sensed or moves[i] or moves[j])):
                    continue
                for c in range(dim):
                    touch.normal[c] = place[j * dim + c] - place[i * dim + c]
                turn_to_image(dim, touch.normal, &index.cells.torus)
                distance, r = sqrt(dot(dim, touch.normal, touch.normal)), radius[i] + radius[j]
                if not distance <= r * (1 + 1.0 / BESIDE):
                    continue
                for c in range(dim):
                    touch.normal[c] = touch.normal[c] / distance if distance > 0 else 0
                    touch.point[c] = place[i * dim + c] + radius[i] * touch.normal[c]
                touch.first, touch.second = i, j
                found.add(&touch)
        return 0

    cdef int planes_touching(self, Touches found, object part, object x) except -1:
        cdef const double* place = <const double*> address(x)
        cdef const double* radius = <const double*> address(part.radius)
        cdef const uint8_t* through = <const uint8_t*> address(part.through)
        cdef const double* normal = <const double*> address(part.side.normals)
        cdef const double* offset = <const double*> address(part.side.offsets)
        cdef const double* y
        cdef int64_t planes = len(part.side.offsets)
        cdef int64_t n = len(x)
        cdef int64_t first = part.side.first
        cdef int dim = self.dim
        cdef double slack = part.slack
        cdef double gap, large
        cdef int64_t i, p
        cdef Touch touch
        cdef int c
        touch.source, touch.below, touch.began = part.source, False, False
        with nogil:
            for p in range(planes):
                touch.second, touch.shape = -1 - first - p, p
                for i in range(n):
                    if through[p * n + i] == 2 or (self.alive != NULL and not self.alive[i]):
                        continue
                    y = place + i * dim
                    gap = dot(dim, normal + p * dim, y) - offset[p] - radius[i]
                    large = magnitude(y[0]) * magnitude(normal[p * dim])
                    for c in range(1, dim):
                        large = large + magnitude(y[c]) * magnitude(normal[p * dim + c])
                    large = magnitude(offset[p]) + large
                    if not (gap <= radius[i] / BESIDE + slack * large and large < INFINITY):
                        continue
                    touch.first, touch.sensed = i, through[p * n + i] == 1
                    for c in range(dim):
                        touch.normal[c] = 0.0 - normal[p * dim + c]
                        touch.point[c] = y[c] + radius[i] * touch.normal[c]
                    found.add(&touch)
        return 0

    cdef int shapes_touching(self, Touches found, object part, object x, object displacement) except -1:
        cdef Shapes shapes
        cdef Near near[FEW]
        cdef double before[MAX_DIM]
        cdef const double* place = <const double*> address(x)
        cdef const double* moved = <const double*> address(displacement)
        cdef const double* radius = <const double*> address(part.radius)
        cdef const double* reach = <const double*> address(part.reach)
        cdef const uint8_t* through = <const uint8_t*> address(part.through)
        cdef int64_t n = len(x)
        cdef int64_t first = part.side.first
        cdef int dim = self.dim
        cdef double slack = part.slack
        cdef int64_t tests = 0
        cdef int64_t i, k, count
        cdef double large
        cdef Near* at
        cdef Touch touch
        cdef int c
        _arrays = self.find(&shapes, part.side.record, part.side.part)
        touch.source = part.source
        with nogil:
            for i in range(n):
                if through[i] == 2 or (self.alive != NULL and not self.alive[i]):
                    continue
                large = magnitude(place[i * dim])
                for c in range(1, dim):
                    large = large + magnitude(place[i * dim + c])
                large = reach[i] + large
                if not large < INFINITY:
                    continue
                large = reach[i] + reach[i] / BESIDE + slack * large
                at = near
                count = shapes_near(dim, place + i * dim, large, i, &shapes, at, FEW, &tests)
                if count > FEW:
                    at = <Near*> realloc(NULL, count * sizeof(Near))
                    if at == NULL:
                        found.full = True
                        break
                    shapes_near(dim, place + i * dim, large, i, &shapes, at, count, &tests)
                touch.first, touch.sensed, touch.below, touch.began = i, through[i] == 1, False, False
                for c in range(dim):
                    before[c] = place[i * dim + c] - moved[i * dim + c]
                for k in range(count):
                    touch.second, touch.shape = -1 - first - at[k].number, at[k].number
                    if shapes.one_way != NULL:
                        touch.below = passes[double](dim, place + i * dim, reach[i], at[k].number, &shapes)
                        touch.began = passes[double](dim, before, reach[i], at[k].number, &shapes)
                    for c in range(dim):
                        touch.normal[c] = 0.0 - at[k].normal[c]
                        touch.point[c] = place[i * dim + c] + radius[i] * touch.normal[c]
                    found.add(&touch)
                if at != near:
                    free(at)
        return 0

    cdef int64_t write(self, Touches found, double* to, uint8_t* sensed, object known) except -1:
        """Write contacts as rows of numbers, and return the number of rows. known: as for `touching`, pairs sorted.

        Skip contacts without impulse of bodies that are passing through one-way shapes.
        """
        cdef const int64_t* pair = NULL
        cdef const double* push = NULL
        cdef int64_t n = self.core._plan.n
        cdef int64_t count = 0
        cdef int64_t source = -1
        cdef int64_t written = 0
        cdef int64_t k, low, high, middle, second
        cdef double impulse
        cdef int64_t* whole = <int64_t*> to
        cdef const Touch* touch
        cdef int dim = self.dim
        cdef int c
        if known is not None:
            source, pairs, pushes = known
            count, pair, push = len(pairs), <const int64_t*> address(pairs), <const double*> address(pushes)
        for k in range(found.count):
            touch = &found.at[k]
            impulse = NAN if touch.source != source else 0
            whole[0], whole[1], whole[2] = touch.source, self.id_of(touch.first), self.id_of(touch.second)
            whole[3], whole[4] = touch.first, touch.second
            for c in range(dim):
                to[5 + c], to[5 + dim + c] = touch.point[c], touch.normal[c]
            whole[6 + 2 * dim] = touch.shape
            sensed[written] = touch.sensed
            low, high = 0, count if touch.source == source else 0
            second = n - 1 - touch.second if touch.second < 0 else touch.second
            while low < high:
                middle = (low + high) // 2
                if pair[2 * middle] < touch.first or (
                    pair[2 * middle] == touch.first and pair[2 * middle + 1] < second
                ):
                    low = middle + 1
                else:
                    high = middle
            if low < count and touch.source == source and pair[2 * low] == touch.first and pair[2 * low + 1] == second:
                impulse = push[low]
            to[5 + 2 * dim] = impulse
            if (touch.below and not impulse > 0) or (touch.began and impulse == 0):
                continue
            written += 1
            to += 7 + 2 * dim
            whole += 7 + 2 * dim
        return written

    def near(self, Py_ssize_t record, Py_ssize_t part, object points, object reaches):
        """Return arrays (point, shape, distance, outward normal) of the shapes within reach of each point, sorted."""
        cdef Shapes shapes
        cdef const double* x = <const double*> address(points)
        cdef const double* reach = <const double*> address(reaches)
        cdef int dim = points.shape[1]
        cdef int64_t count = len(points)
        cdef int64_t k = 0
        cdef int64_t found = 0
        cdef int64_t room = count + 64
        cdef int64_t tests, more
        cdef Near* at
        _arrays = self.find(&shapes, record, part)
        result = np.zeros(room, NEAR)
        while k < count:
            at = <Near*> address(result)
            with nogil:
                tests = more = 0
                while k < count and tests < TESTS:
                    more = shapes_near(dim, x + k * dim, reach[k], k, &shapes, at + found, room - found, &tests)
                    if found + more > room:
                        break
                    found += more
                    k += 1
            if found + more > room and k < count:
                room = 2 * (found + more)
                result = np.concatenate([result[:found], np.zeros(room - found, NEAR)])
            PyErr_CheckSignals()
        result = result[:found]
        result = result[np.lexsort((result["number"], result["row"]))]
        return result["row"], result["number"], result["distance"], result["normal"][:, :dim]


cdef object as_doubles(const void* numbers, Core core, Py_ssize_t count):
    """Copy `count` vectors from the dtype of the state to float64."""
    values = np.empty(count * core._plan.dim, core._plan.dtype)
    if count > 0:
        memcpy(address(values), numbers, values.nbytes)
    return values.astype(np.float64)
