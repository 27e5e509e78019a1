"""Bound constraints: a C function and its data for each kind of constraint."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from ..kernels.abi.constraints cimport DISTANCE, LIMITED, PAIR_ROW, PIN, SOFT, Distance, Pin
from ..kernels.abi.plan cimport Plan
from ..kernels.simd.rounding cimport require_rounding
from ..kernels.abi.coupled cimport CoupledTable
from .coefficients cimport space
from .runner cimport look
from .slots cimport Ends, Links, address, write_sources
from .walls cimport BoundConstraint, Common, saves_loads

import numpy as np

from .. import validation
from ..constraints.base import AfterStep
from ..declaration import require_entries
from .touching import KINDS

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


KINDS["pin"] = PIN, BoundPin


cdef enum:
    PAGE = 4096     # bytes of body rows after which the layout leaves a cache line unused
    LINE = 64       # bytes of a cache line


cdef object stages(object first, object second, int64_t n):
    """Return the level of each pair: the length of the longest chain of earlier pairs, linked by shared bodies."""
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


cdef class BoundDistance(BoundConstraint):
    cdef Distance distance
    cdef list pairs     # arrays with one item per pair, in kernel order (sorted by level)
    cdef object bodies  # first and second body of each pair, in kernel order
    cdef object first, second           # first and second body of each pair, in the order of the record's fields
    cdef object reading_pairs           # mask of the pairs that read `at_rest` of their bodies
    cdef object limited                 # mask of the pairs with limits, which have levels of their own; or None

    cdef bint serves(self, object plan, object record):
        # Limited pairs have levels of their own: if the set of limited pairs changes, bind anew.
        upper = record.fields.get("upper")
        same = self.limited is None or upper is None or np.array_equal(self.limited, upper >= 0)
        return same and BoundConstraint.serves(self, plan, record)

    cdef int bind(self, dict fields, object plan, const CoupledTable* table, Py_ssize_t padded) except -1:
        cdef Distance* distance = &self.distance
        cdef int64_t count = len(fields["first"])
        self.constraint.function, self.constraint.data = table.tie, distance
        self.first, self.second = fields["first"], fields["second"]
        # `members`: the bodies of all pairs, ascending. `places`: indices of the bodies of each pair in `members`.
        ends = np.concatenate([self.first, self.second])
        members = validation.distinct(ends)
        places = np.searchsorted(members, ends)
        stage = stages(places[:count], places[count:], len(members))
        # A level is split into parts of equal `how`: a code of direction, compliance and limits.
        # Sorting by body keeps pairs that are processed in one vector close in memory.
        direction = fields["direction"] + np.zeros(count, np.int64)
        how = direction + (SOFT * (fields["compliance"] >= 0) if "compliance" in fields else 0)
        self.limited = fields["upper"] >= 0 if "upper" in fields else None
        how = how + (0 if self.limited is None else LIMITED * self.limited)
        order = self.order = np.lexsort((self.first, how, stage))
        part = (2 * LIMITED * stage + how)[order]
        begins = np.flatnonzero(np.concatenate([[True], part[1:] != part[: count - 1]])[:count])
        distance.stages = len(begins)
        edges = np.concatenate([begins, [count]])
        distance.stage = <const int64_t*> self.keep(edges, np.int64)
        self.bodies = self.first[order], self.second[order]
        # Rows that are a power of two apart fall into few cache sets. A skipped cache line per page spreads the rows.
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
            # Writable, because the drag of a force changes them: worlds may have a drag of their own.
            distance.drag_first = self.ordered(fields, "drag_first", plan.dtype)
            distance.drag_second = self.ordered(fields, "drag_second", plan.dtype)
        # `pairs`: arrays with one item per pair, which `Ends` compacts. Arrays kept later are refilled in each step, or
        # have no item per pair.
        self.pairs = self.kept[1:]
        distance.how = <const uint8_t*> self.keep(part[begins] % (2 * LIMITED), np.uint8)
        # With direction 2, velocities are at the end of the step, thus 0 for bodies at rest: `at_rest` is not needed.
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
        # Nanoseconds per pair: in long levels a pair costs less, because vectors are full.
        pair = 5 if (edges[1:] - begins).max(initial=0) >= 512 else 20
        self.cost = pair * count * distance.iterations * max(1, distance.direction)
        return 0

    cdef void* ordered(self, dict fields, str name, object dtype) except NULL:
        """Copy a field of pairs in kernel order, for a field that `set` may change."""
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

    cdef void prepare(self, const Plan* plan) noexcept:
        self.distance.last_h = plan.last_h if self.distance.from_positions and plan.last_h > 0 else plan.h


KINDS["distance"] = KINDS["compliant_distance"] = DISTANCE, BoundDistance


require_entries(__name__, KINDS, AfterStep)


cdef BoundConstraint bind_constraint(object constraint, object plan, const CoupledTable* table, Py_ssize_t padded):
    """Bind a constraint of a plan to states of `padded` items per component."""
    cdef BoundConstraint bound
    kind, binds = KINDS[constraint.kind]
    bound = binds()
    # `weight` is writable, but all constraints share one array: see `bind_common`.
    bound.kept, bound.places = [], {"weight": []}
    bound.owners = plan.owners(constraint) if "pair" in constraint.fields else []
    bound.declaration = constraint.constraint
    bound.constraint.kind = kind
    bound.bind(constraint.fields, plan, table, padded)
    return bound
