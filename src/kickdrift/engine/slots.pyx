"""Compiled spawn and kill of bodies; springs and constraints of a removed body are removed with the body."""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memchr, memcpy, memmove, memset

from ..kernels.abi.constraints cimport NOWHERE
from ..kernels.abi.plan cimport MAX_DIM, ROW, Array, Plan
from ..kernels.loops.slots cimport clear
from ..kernels.simd.rounding cimport require_rounding

import numpy as np

from ..errors import CapacityError
from ..stepper import slots as slots_

require_rounding(__name__)

cdef object ndarray = np.ndarray
cdef int64_t LAST_GENERATION = slots_.LAST_GENERATION
cdef object LARGEST = 2**63
cdef object EXACT = 2**53   # up to here every int is exact in float64


cdef void* address(object array) except NULL:
    """Return the address of the items of an array; the caller keeps the array alive."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_STRIDES | PyBUF_WRITABLE)
    PyBuffer_Release(&view)
    return view.buf


# Positions or velocities of new bodies: one vector per body, or a single vector for all.
ctypedef struct Given:
    Py_ssize_t rows         # or -1 for a single vector
    Array at
    double[MAX_DIM] number  # components of a vector of Python numbers, in the dtype of the state


cdef bint write_number(object value, Given* given, int place, Py_ssize_t item) except -1:
    """Write a Python number to a vector; return False for anything else."""
    if type(value) is float or (type(value) is int and -EXACT <= value <= EXACT):
        if item == 4:
            (<float*> given.number)[place] = <float> <double> value
        else:
            given.number[place] = value
        return True
    return False


cdef bint simple(object array, int dim, Py_ssize_t item, Given* given) except -1:
    """Return whether `array` has vectors in the dtype of the state, or is a vector of Python numbers or one number for
    all components; if so, set the address and strides of `given`."""
    cdef Py_buffer view
    cdef char kind
    cdef char wanted = c"f" if item == 4 else c"d"
    cdef int c
    given.rows, given.at.body, given.at.component, given.at.data = -1, 0, item, <char*> given.number
    if type(array) is tuple or type(array) is list:
        if len(array) != dim:
            return False
        for c in range(dim):
            if not write_number(array[c], given, c, item):
                return False
        return True
    if type(array) is not ndarray:
        given.at.component = 0
        return write_number(array, given, 0, item)
    try:
        PyObject_GetBuffer(array, &view, PyBUF_STRIDES | PyBUF_FORMAT)
    except (BufferError, ValueError):
        return False
    kind = view.format[0] if view.format != NULL and view.format[1] == 0 else 0
    cdef bint right = kind == wanted and 1 <= view.ndim <= 2
    right = right and view.shape[view.ndim - 1] == dim
    if right:
        given.at.data = <char*> view.buf
        given.at.component = view.strides[view.ndim - 1]
        given.at.body = view.strides[0] if view.ndim == 2 else 0
        given.rows = view.shape[0] if view.ndim == 2 else -1
    PyBuffer_Release(&view)
    return right


cdef bint finite(const Given* given, int dim, Py_ssize_t item) noexcept nogil:
    cdef Py_ssize_t i
    cdef int j
    cdef const char* at
    cdef float single
    cdef double number
    for i in range(1 if given.rows < 0 else given.rows):
        for j in range(dim):
            at = given.at.data + i * given.at.body + j * given.at.component
            if item == 4:
                memcpy(&single, at, 4)
                number = single
            else:
                memcpy(&number, at, 8)
            if number - number != 0:
                return False
    return True


cdef bint apart(const Given* given, int dim, const Array* array, Py_ssize_t n) noexcept nogil:
    """Return whether the memory ranges of the vectors and of an array are disjoint."""
    cdef Py_ssize_t rows = 1 if given.rows < 0 else given.rows
    cdef const char* low = given.at.data
    cdef const char* high = low
    cdef const char* floor = array.data
    cdef const char* top = floor
    reach(&low, &high, given.at.body, rows)
    reach(&low, &high, given.at.component, dim)
    reach(&floor, &top, array.body, n)
    reach(&floor, &top, array.component, dim)
    return high + 8 <= floor or top + 8 <= low


cdef void reach(const char** low, const char** high, Py_ssize_t stride, Py_ssize_t count) noexcept nogil:
    if count > 0 and stride < 0:
        low[0] += stride * (count - 1)
    elif count > 0:
        high[0] += stride * (count - 1)


cdef void put(
    const Array* to, Py_ssize_t row, const Given* given, Py_ssize_t i, int dim, Py_ssize_t item,
) noexcept nogil:
    cdef int j
    for j in range(dim):
        memcpy(
            to.data + row * to.body + j * to.component,
            given.at.data + i * given.at.body + j * given.at.component, item,
        )


cdef class Slots:
    @staticmethod
    cdef Slots of(object book, object dtype):
        """Create compiled slots that point into the arrays of the Python slots, which are never reallocated."""
        cdef Slots slots = Slots.__new__(Slots)
        rows = len(book.mask)
        slots.book, slots.n = book, book.n
        slots.weights = slots_.kernels.aligned_zeros((1, rows), dtype)[0]
        slots.spans = np.zeros(rows // ROW + 2, np.intp)
        slots.alive, slots.needs_start = <uint8_t*> address(book.mask), <uint8_t*> address(book.needs_start)
        slots.generation, slots.id = <int64_t*> address(book.generation), <int64_t*> address(book.id)
        slots.weight, slots.span = <char*> address(slots.weights), <Py_ssize_t*> address(slots.spans)
        slots.data.alive, slots.data.needs_start = slots.alive, slots.needs_start
        slots.data.weight, slots.data.span = slots.weight, slots.span
        slots.data.item = dtype.itemsize
        slots.follow()
        return slots

    cdef void follow(self) noexcept nogil:
        """Recompute counts and weights from the masks."""
        cdef Py_ssize_t i
        self.count = 0
        for i in range(self.n):
            self.count += self.alive[i]
            self.weigh(i)
        self.any_needs_start = memchr(self.needs_start, 1, self.n) != NULL
        self.stale = True

    cdef void weigh(self, Py_ssize_t i) noexcept nogil:
        if self.data.item == 4:
            (<float*> self.weight)[i] = self.alive[i]
        else:
            (<double*> self.weight)[i] = self.alive[i]

    cdef int layout(self, Links links) except -1:
        """Find the spans of rows that have active bodies, and drop the pairs of removed bodies."""
        cdef Py_ssize_t first = 0
        cdef Py_ssize_t last, stepped = 0
        cdef Py_ssize_t spans = 0
        while first < self.n:
            last = min(first + ROW, self.n)
            if memchr(self.alive + first, 1, last - first) != NULL:
                if spans > 0 and self.span[2 * spans - 1] == first:
                    self.span[2 * spans - 1] = last
                else:
                    self.span[2 * spans] = first
                    self.span[2 * spans + 1] = last
                    spans += 1
            first = last
        last = self.span[2 * spans - 1] if spans > 0 else 0
        while last > 0 and not self.alive[last - 1]:
            last -= 1
        if spans > 0:
            self.span[2 * spans - 1] = last
        for first in range(spans):
            stepped += self.span[2 * first + 1] - self.span[2 * first]
        self.data.spans, self.data.end = spans, last
        self.share = <double> stepped / max(self.n, <Py_ssize_t> 1)
        if links is not None:
            links.layout()
        self.stale = False
        return 0

    cdef void clear_needs_start(self) noexcept nogil:
        memset(self.needs_start, 0, self.n)
        self.any_needs_start = False

    cdef void clear_histories(self, const Plan* plan) noexcept nogil:
        """Zero the histories of bodies spawned since the last step: other operations may have changed them."""
        cdef Py_ssize_t i
        if self.any_needs_start and plan.s.data != NULL:
            for i in range(self.n):
                if self.needs_start[i]:
                    clear(plan, &plan.s, i, i + 1)

    cdef object spawn(self, const Plan* plan, object position, object velocity, object among):
        """Add bodies in the lowest free slots of `among`, a range or an ascending array; an error changes nothing."""
        cdef int dim = plan.dim
        cdef Py_ssize_t item = self.data.item
        cdef bint adjacent = type(among) is range
        cdef Py_ssize_t k, i, row = among.start if adjacent else 0
        cdef Given x, v
        cdef int64_t* ids
        cdef const int64_t* chosen = NULL if adjacent else <const int64_t*> address(among)
        cdef Py_ssize_t count = among.stop if adjacent else len(among)
        cdef bint easy = simple(position, dim, item, &x) and x.at.component != 0  # a single number is no position
        easy = easy and simple(velocity, dim, item, &v)
        if easy and v.rows == 1:  # one vector for all
            v.rows, v.at.body = -1, 0
        # All other arguments are converted by Python code, which also raises their errors.
        easy = easy and (x.rows == v.rows or x.rows < 0 or v.rows < 0)
        easy = easy and finite(&x, dim, item) and finite(&v, dim, item)
        easy = easy and apart(&x, dim, &plan.x, self.n) and apart(&x, dim, &plan.v, self.n)
        easy = easy and apart(&v, dim, &plan.x, self.n) and apart(&v, dim, &plan.v, self.n)
        if not easy:
            position, velocity, _ = slots_.spawned(position, velocity, None, dim, self.weights.dtype)
            if not simple(position, dim, item, &x) or not simple(velocity, dim, item, &v):
                raise AssertionError("vectors that are none")
        k = x.rows if x.rows >= 0 else v.rows if v.rows >= 0 else 1
        result = np.empty(k, np.int64)
        if k == 0:
            return result
        ids = <int64_t*> address(result)
        for i in range(k):
            row = self.next_free(row, chosen, count)
            if row == count:
                raise CapacityError(k, i)
            ids[i] = row if chosen == NULL else chosen[row]
            row += 1
        # No Python code runs from here on: a signal handler could raise between two changes.
        for i in range(k):
            row = ids[i]
            put(&plan.x, row, &x, i, dim, item)
            put(&plan.v, row, &v, i, dim, item)
            if plan.s.data != NULL:
                clear(plan, &plan.s, row, row + 1)
            self.generation[row] += 1
            self.alive[row] = self.needs_start[row] = 1
            self.weigh(row)
            ids[i] = self.id[row] = self.generation[row] << 32 | row
        self.count += k
        self.any_needs_start = self.stale = True
        return result

    cdef Py_ssize_t next_free(self, Py_ssize_t place, const int64_t* chosen, Py_ssize_t count) noexcept nogil:
        """Return the index of the first free slot from `place` on in `chosen` (NULL: all slots); `count` if none is."""
        cdef const uint8_t* found
        cdef int64_t row
        while place < count:
            if chosen == NULL:
                found = <const uint8_t*> memchr(self.alive + place, 0, count - place)
                if found == NULL:
                    return count
                place = found - self.alive
            row = place if chosen == NULL else chosen[place]
            if not self.alive[row] and self.generation[row] < LAST_GENERATION:
                return place
            place += 1
        return count

    cdef int kill(self, const Plan* plan, object ids) except -1:
        """Remove bodies; an error changes nothing."""
        cdef Py_buffer view
        cdef Py_ssize_t i
        cdef bint known = False
        cdef char kind
        if type(ids) is int and 0 <= ids < LARGEST and self.slot_of(ids) >= 0:
            self.end(plan, self.slot_of_any(ids))
            known = True
        elif type(ids) is ndarray and ids.ndim == 1:
            PyObject_GetBuffer(ids, &view, PyBUF_STRIDES | PyBUF_FORMAT)
            kind = view.format[0] if view.format != NULL and view.format[1] == 0 else 0
            if view.itemsize == 8 and (kind == c"l" or kind == c"q"):
                known = True
                for i in range(view.shape[0]):
                    known = known and self.slot_of(int64_at(&view, i)) >= 0
                if known:
                    for i in range(view.shape[0]):
                        self.end(plan, self.slot_of_any(int64_at(&view, i)))
            elif kind == c"?" and view.shape[0] == self.n:
                known = True
                for i in range(self.n):
                    if (<const char*> view.buf)[i * view.strides[0]] and self.alive[i]:
                        self.end(plan, i)
            PyBuffer_Release(&view)
        if not known:
            rows = slots_.chosen(self.book, ids)
            PyObject_GetBuffer(rows, &view, PyBUF_STRIDES)
            for i in range(view.shape[0]):
                self.end(plan, int64_at(&view, i))
            PyBuffer_Release(&view)
        return 0

    cdef int64_t slot_of(self, int64_t id) noexcept nogil:
        """Return the slot of an active body, given its id or slot; -1 if it is not active."""
        cdef int64_t slot = self.slot_of_any(id)
        if id < 0 or slot >= self.n or not self.alive[slot]:
            return -1
        return slot if id == slot or self.id[slot] == id else -1

    cdef object find(self, object ids):
        """Return the slots of bodies given by id or slot, int64 of any shape; -1 for those that are not active."""
        found = np.empty(ids.shape, np.int64)
        cdef Py_ssize_t count = found.size
        cdef Py_ssize_t i
        ids = np.ascontiguousarray(ids)
        cdef const int64_t* id = <const int64_t*> address(ids)
        cdef int64_t* slot = <int64_t*> address(found)
        for i in range(count):
            slot[i] = self.slot_of_any(id[i]) if self.slot_of(id[i]) >= 0 else -1
        return found

    cdef int64_t slot_of_any(self, int64_t id) noexcept nogil:
        return <int64_t> (<uint32_t> id)

    cdef void end(self, const Plan* plan, int64_t row) noexcept nogil:
        self.stale = True
        self.count -= self.alive[row]  # subtracts 0 for a body that `ids` contains twice
        self.alive[row] = self.needs_start[row] = 0
        self.id[row] = -1
        self.weigh(row)
        clear(plan, &plan.x, row, row + 1)
        clear(plan, &plan.v, row, row + 1)
        if plan.s.data != NULL:
            clear(plan, &plan.s, row, row + 1)


cdef inline int64_t int64_at(const Py_buffer* view, Py_ssize_t i) noexcept nogil:
    cdef int64_t number
    memcpy(&number, <const char*> view.buf + i * view.strides[0], 8)
    return number


cdef class Ends:
    cdef const void* keep(self, object array) except NULL:
        if self.kept is None:
            self.kept = []
        self.kept.append(array)
        return address(array)

    cdef int add(
        self, object first, object second, object generations, Py_ssize_t count, list columns, int64_t* left,
    ) except -1:
        """Set the constrained bodies or pairs; `columns`: arrays that kernels read, one item per body or pair."""
        self.count, self.left = count, left
        self.first = <const int64_t*> self.keep(first.astype(np.int64))
        if generations is not None and count:
            self.generations = <const int64_t*> self.keep(generations.astype(np.int64))
        if second is not None:
            self.second = <const int64_t*> self.keep(second.astype(np.int64))
        if len(columns) > MOST_COLUMNS:
            raise AssertionError("more columns than there is room for")
        for array in columns:
            self.column[self.columns].to = <char*> self.keep(array)
            self.column[self.columns].source = <const char*> self.keep(array.copy())
            self.column[self.columns].item = array.itemsize
            self.columns += 1
        return 0


cdef int write_sources(dict places, Ends ends) except -1:
    """Add the declared copy of each column to `places`: `set` must write both, because `layout` reads the copy."""
    copies = {<size_t> address(column): copy for column, copy in zip(ends.kept, ends.kept[1:])}
    for found in places.values():
        for place in [*found]:
            copy = copies.get(<size_t> address(place))
            if copy is not None:
                found.append(copy[None, : place.shape[1]])
    return 0


cdef class Links:
    """Data of a binding that changes when bodies are removed: springs, distances, pins, weights of constraints."""

    def __cinit__(self, Slots slots, model, Links previous):
        self.slots, self.ends, self.dim, self.mass = slots, [], model.dim, model.inverse_mass
        if previous is not None and previous.mass is self.mass:
            self.masses = previous.masses
        else:
            self.masses = (self.mass + np.zeros(model.n)).astype(model.dtype)
        self.inverse_mass = <const char*> address(self.masses)

    cdef bint uncut(self, Ends ends, Py_ssize_t k) noexcept nogil:
        """Return whether the slots still contain the bodies for which item k was declared."""
        cdef int count = 1 if ends.second == NULL else 2
        cdef int64_t body, generation_then
        cdef int end
        for end in range(count):
            body = ends.second[k] if end else ends.first[k]
            generation_then = 1 if ends.generations == NULL else ends.generations[count * k + end]
            if not self.slots.alive[body] or self.slots.generation[body] != generation_then:
                return False
        return True

    cdef int layout(self) except -1:
        """Compact each Ends to the pairs and bodies whose bodies still exist, in the declared order."""
        if self.at_rest != NULL:
            memset(self.at_rest, 0, self.slots.n * self.slots.data.item)
        if self.weight != NULL:
            self.weigh_bodies()
        if self.contacts != NULL:
            self.end_impulses()
        for ends in self.ends:
            self.lay(ends)
        return 0

    cdef void lay(self, Ends ends) noexcept nogil:
        cdef Py_ssize_t item = self.slots.data.item
        cdef Py_ssize_t k
        cdef Py_ssize_t left = 0
        cdef int64_t stage = 0
        cdef const Column* column
        cdef int c
        if ends.size_class != NULL:
            for k in range(self.slots.n):
                ends.size_class[k] = ends.own_class[k] if self.slots.alive[k] else NOWHERE
                ends.partners[k] = 0
        for k in range(ends.count):
            while stage < ends.stages and ends.stage[stage] == k:
                ends.to_stage[stage] = left
                stage += 1
            if not self.uncut(ends, k):
                continue
            for c in range(ends.columns):
                column = &ends.column[c]
                memcpy(column.to + left * column.item, column.source + k * column.item, column.item)
            left += 1
            if ends.reads != NULL and self.at_rest != NULL and ends.reads[k]:
                memcpy(self.at_rest + ends.first[k] * item, self.at_rest_declared + ends.first[k] * item, item)
                memcpy(self.at_rest + ends.second[k] * item, self.at_rest_declared + ends.second[k] * item, item)
            if ends.second == NULL and self.weight != NULL:  # pins
                memset(self.weight + ends.first[k] * item, 0, item)
        while stage <= ends.stages and ends.to_stage != NULL:
            ends.to_stage[stage] = left
            stage += 1
        if ends.left != NULL:
            ends.left[0] = left

    cdef void end_impulses(self) noexcept nogil:
        """Drop the stored (warm-start) impulses of contacts whose bodies were removed. `lay` drops those of rods."""
        cdef Contacts* contacts = self.contacts
        cdef int place = <int> contacts.state[0]
        cdef int32_t* pair = contacts.pair[place]
        cdef Py_ssize_t size = (2 + self.dim + <Py_ssize_t> contacts.axes) * self.slots.data.item
        cdef char* push = <char*> contacts.push[place]
        cdef int64_t kept = 0
        cdef int64_t k
        for k in range(contacts.state[1 + place]):
            if self.ended(pair[2 * k]) or self.ended(pair[2 * k + 1]):
                continue
            pair[2 * kept] = pair[2 * k]
            pair[2 * kept + 1] = pair[2 * k + 1]
            memmove(push + kept * size, push + k * size, size)
            kept += 1
        contacts.state[1 + place] = kept

    cdef bint ended(self, int32_t body) noexcept nogil:
        """Return whether a body was removed or replaced since the last step. Numbers from n on are walls and shapes."""
        return body < self.slots.n and (not self.slots.alive[body] or self.slots.needs_start[body])

    cdef void weigh_bodies(self) noexcept nogil:
        cdef Py_ssize_t item = self.slots.data.item
        cdef Py_ssize_t i
        memcpy(self.weight, self.inverse_mass, self.slots.n * item)
        for i in range(self.slots.n):
            if not self.slots.alive[i]:
                memset(self.weight + i * item, 0, item)
