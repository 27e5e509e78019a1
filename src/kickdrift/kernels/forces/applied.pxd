# What users' forces make of the constant acceleration: kickdrift/stepper/model.py says the same, as `held`.

from ..abi.applied cimport Applied
from ..abi.plan cimport MAX_DIM, ROW, Array
from ..simd.vec cimport load_part, store_part, vec, where_positive, width
from .fields cimport values


cdef inline void merge(
    const Applied* applied, Py_ssize_t first, Py_ssize_t count, char** out, const vec* like,
) noexcept nogil:
    """g + F / m of so many bodies, of one row at most; `like` only tells the type."""
    cdef double room[ROW * MAX_DIM]
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef const Array* force
    cdef const char* base
    cdef int number, j
    cdef int planes = 1 if applied.flat else applied.dim
    cdef int components = applied.dim if applied.flat else 1
    for number in range(applied.count):
        force = &applied.force[number]
        for j in range(planes):
            if number > 0:
                base = out[j]
            else:
                base = values(&applied.g, j, first)
            add(
                base, values(&applied.inverse_mass, j, first),
                row_of(force, first, count, j, components, item, <char*> room), out[j], count * components, like,
            )


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
