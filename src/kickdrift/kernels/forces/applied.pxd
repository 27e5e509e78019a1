# What users' forces make of the constant acceleration: kickdrift/stepper/model.py says the same, as `held`.

from ..abi.applied cimport Applied
from ..abi.plan cimport MAX_DIM, ROW, Array
from ..simd.vec cimport load_part, store_part, vec, where_positive, width
from .fields cimport values


cdef enum:
    TOGETHER = 4    # vectors whose work overlaps


cdef inline void merge(
    const Applied* applied, Py_ssize_t first, Py_ssize_t count, char** out, const vec* like,
) noexcept nogil:
    """g + F / m of so many bodies, of one row at most; `like` only tells the type."""
    cdef int j
    for j in range(1 if applied.flat else applied.dim):
        merge_row(applied, j, first, count, out[j], like)


cdef inline void merge_row(
    const Applied* applied, int j, Py_ssize_t first, Py_ssize_t count, char* out, const vec* like,
) noexcept nogil:
    """Of one component, or of all where they lie side by side."""
    cdef double room[ROW * MAX_DIM]
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef const char* base = values(&applied.g, j, first)
    cdef int number
    cdef int components = applied.dim if applied.flat else 1
    for number in range(applied.count):
        add(
            base, values(&applied.inverse_mass, j, first),
            row_of(&applied.force[number], first, count, j, components, item, <char*> room), out, count * components,
            like,
        )
        base = out


cdef inline const char* row_of(
    const Array* force, Py_ssize_t first, Py_ssize_t count, int component, int components, Py_ssize_t item, char* room,
) noexcept nogil:
    """Numbers of an array in a row: where they are, or in the room."""
    cdef const char* start = force.data + first * force.body + component * force.component
    cdef Py_ssize_t i
    cdef int j
    if force.body == components * item and (components == 1 or force.component == item):
        return start
    for i in range(count):
        for j in range(components):
            copy_number(start + i * force.body + j * force.component, room + (i * components + j) * item, item)
    return room


cdef inline void copy_number(const char* source, char* to, Py_ssize_t item) noexcept nogil:
    if item == 4:
        (<float*> to)[0] = (<const float*> source)[0]
    else:
        (<double*> to)[0] = (<const double*> source)[0]


cdef inline void add(
    const char* base, const char* inverse_mass, const char* force, char* out, Py_ssize_t count, const vec* like,
) noexcept nogil:
    """out = base + F / m; whatever is written for a body of infinite mass, it is not moved."""
    cdef vec f, q
    cdef int i
    while count >= TOGETHER * width(like):
        for i in range(TOGETHER):
            q = (<const vec*> inverse_mass)[i]
            (<vec*> out)[i] = (<const vec*> base)[i] + where_positive(q, (<const vec*> force)[i] * q)
        base += TOGETHER * sizeof(vec)
        inverse_mass += TOGETHER * sizeof(vec)
        force += TOGETHER * sizeof(vec)
        out += TOGETHER * sizeof(vec)
        count -= TOGETHER * width(like)
    while count >= width(like):
        q = (<const vec*> inverse_mass)[0]
        (<vec*> out)[0] = (<const vec*> base)[0] + where_positive(q, (<const vec*> force)[0] * q)
        base += sizeof(vec)
        inverse_mass += sizeof(vec)
        force += sizeof(vec)
        out += sizeof(vec)
        count -= width(like)
    if count > 0:
        load_part(&f, force, count)
        q = (<const vec*> inverse_mass)[0]
        f = (<const vec*> base)[0] + where_positive(q, f * q)
        store_part(&f, out, count)
