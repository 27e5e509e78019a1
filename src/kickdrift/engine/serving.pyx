"""Decide which bound objects can be reused when the model changes, and which numbers to write into them.

Every change of a coefficient creates a new plan and a new binding. The plan reuses unchanged parts and columns, and
the binding reuses the data bound to unchanged records. A changed record keeps its `lineage`. If only numbers in its
fields differ, the new numbers are written into the arrays that kernels read (`places` of the bound object).
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.sequence cimport PySequence_Fast, PySequence_Fast_GET_ITEM, PySequence_Fast_GET_SIZE
from libc.string cimport memcmp

from .interactions cimport BoundInteraction, PythonInteraction
from .walls cimport BoundConstraint
from ..kernels.simd.rounding cimport require_rounding

require_rounding(__name__)


def common_ends(before, now):
    """Return the lengths of the common prefix and of the common suffix of two sequences, compared by identity."""
    before, now = PySequence_Fast(before, "a sequence"), PySequence_Fast(now, "a sequence")
    cdef Py_ssize_t a = PySequence_Fast_GET_SIZE(before)
    cdef Py_ssize_t b = PySequence_Fast_GET_SIZE(now)
    cdef Py_ssize_t most = min(a, b)
    cdef Py_ssize_t head = 0
    cdef Py_ssize_t tail = 0
    while head < most and PySequence_Fast_GET_ITEM(before, head) == PySequence_Fast_GET_ITEM(now, head):
        head += 1
    most -= head
    while tail < most and (
        PySequence_Fast_GET_ITEM(before, a - tail - 1) == PySequence_Fast_GET_ITEM(now, b - tail - 1)
    ):
        tail += 1
    return head, tail


def between(before, now):
    """Return the parts of two sequences between their common prefix and their common suffix."""
    head, tail = common_ends(before, now)
    return before[head : len(before) - tail], now[head : len(now) - tail]


cdef bint is_served(object bound, object old, object now, object model, dict taken, list writes) except -1:
    """Return whether the object bound to record `old` can serve `now`; if so, append the changed fields to `writes`.

    taken: lineages that are already bound.
    """
    cdef BoundConstraint constraint
    if isinstance(bound, BoundConstraint):
        constraint = bound
        if not (
            constraint.serves(model, now)
            and can_be_written(old, now, constraint.places, constraint.order, taken, writes)
        ):
            return False
        if old is not now:
            constraint.derive(model, old, now, writes)
        return True
    # Python functions have views of the workspace of their binding: another binding cannot reuse them.
    return not isinstance(bound, PythonInteraction) and can_be_written(
        old, now, (<BoundInteraction> bound).places, None, taken, writes
    )


cdef dict continued(dict bound, object mine, object model, list writes):
    """Return `known` of a Coupled for a changed model, if all its bound objects can be reused; else None.

    bound: the current `known`, lineage -> (record, bound object). Bound objects can be reused if only writable numbers
    differ; `writes` receives these numbers.
    """
    cdef dict known = {}
    cdef list found = []
    if not (
        mine.at_rest is model.at_rest and mine.inverse_mass is model.inverse_mass
        and mine.impulses is model.impulses and rows_of(mine) is rows_of(model)
        and mine.events_enabled == model.events_enabled and mine.velocity_dependent == model.velocity_dependent
        and all_served(bound, mine.interactions, model.interactions, model, known, found)
        and all_served(bound, mine.constraint_records, model.constraint_records, model, known, found)
    ):
        return None
    if not numbered_alike(mine, model):
        return None  # recorded events and breaks contain the numbers of constraints
    keep_idle(model, bound, known)
    writes += found
    return known


cdef bint all_served(dict bound, list olds, list nows, object model, dict known, list writes) except -1:
    """Return whether the objects bound to the records `olds` can serve `nows`; add (record, object) to `known`."""
    if len(olds) != len(nows):
        return False
    for old, now in zip(olds, nows):
        if old.lineage is not now.lineage:
            return False
        entry = bound[now.lineage]
        if old is not now:
            if not is_served(entry[1], old, now, model, known, writes):
                return False
            entry = now, entry[1]
        known[now.lineage] = entry
    return True


cdef object rows_of(object model):
    """Return the array with the motion of all moving shapes, or None."""
    return None if model.motion is None else model.motion.rows


cdef bint numbered_alike(object mine, object model) except -1:
    """Return whether constraints have equal numbers in two models whose records have the same lineages."""
    olds, nows = between(mine.constraints, model.constraints)
    if len(olds) != len(nows):
        return False
    for old, now in zip(olds, nows):
        before, after = mine._parts[id(old)].constraint_records, model._parts[id(now)].constraint_records
        if len(before) != len(after) or any([a.lineage is not b.lineage for a, b in zip(before, after)]):
            return False
    return True


cdef int keep_idle(object model, dict before, dict known) except -1:
    """Keep the bound objects of disabled forces and constraints, for reuse when they are enabled again."""
    for part in model.idle:
        for record in (*part.interactions, *part.constraint_records):
            if record.lineage not in known and record.lineage in before:
                known[record.lineage] = before[record.lineage]
    return 0


cdef bint can_be_written(object old, object now, dict places, object order, dict taken, list writes) except -1:
    """Return whether all fields that differ are writable (in `places`); if so, append their new values to `writes`.

    order: permutation from the items of the record to those of the bound arrays, or None.
    """
    cdef dict mine = old.fields
    cdef dict its = now.fields
    cdef list found = []
    if old is now:
        return True
    if old.kind != now.kind or now.lineage in taken or mine.keys() != its.keys():
        return False
    for name, values in its.items():
        before = mine[name]
        if values is before or same_items(values, before):
            continue
        if name not in places:
            return False
        for place in places[name]:
            # A single number is broadcast to the array.
            if values.size == 1:
                found.append((place, None, values.reshape(1, 1)))
            elif values.size == place.shape[1]:
                found.append((place, None, (values if order is None else values[order]).reshape(place.shape)))
            else:
                return False
    writes += found
    return True


cpdef bint same_items(object one, object other) except -1:
    """Return whether two arrays have the same shape and bits."""
    cdef Py_buffer here, there
    cdef bint same
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not (one.flags.c_contiguous and other.flags.c_contiguous):
        return one.tobytes() == other.tobytes()
    PyObject_GetBuffer(one, &here, PyBUF_SIMPLE)
    PyObject_GetBuffer(other, &there, PyBUF_SIMPLE)
    same = memcmp(here.buf, there.buf, here.len) == 0
    PyBuffer_Release(&here)
    PyBuffer_Release(&there)
    return same
