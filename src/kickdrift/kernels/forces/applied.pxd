# Forces in users' arrays, added to the constant acceleration g: the formula of `held` in kickdrift/stepper/model.py.

from ..abi.plan cimport MAX_DIM, ROW, Applied, Array
from ..simd.masks cimport positive, select_or_zero
from ..simd.vec cimport load_part, vec, width
from .fields cimport values


cdef enum:
    TOGETHER = 4    # vectors per loop iteration: the latencies of their operations overlap


cdef inline void merge(
    const Applied* applied, Py_ssize_t first, Py_ssize_t count, char** out, const vec* like,
) noexcept nogil:
    """Write g + F / m of up to ROW bodies to `out`; `like` only selects the type."""
    cdef int j
    for j in range(1 if applied.flat else applied.dim):
        merge_row(applied, j, first, count, out[j], like)


cdef inline void merge_row(
    const Applied* applied, int j, Py_ssize_t first, Py_ssize_t count, char* out, const vec* like,
) noexcept nogil:
    """Write g + F / m of component j, or of all components if they are contiguous (`applied.flat`)."""
    cdef double buffer[ROW * MAX_DIM]
    cdef Py_ssize_t item = sizeof(vec) // width(like)
    cdef const char* base = values(&applied.g, j, first)
    cdef const char* force
    cdef int number
    cdef int components = applied.dim if applied.flat else 1
    # True if all vectors of g are equal
    cdef bint even = applied.g.body == 0 and width(like) % components == 0
    for number in range(applied.count):
        force = row_of(&applied.force[number], first, count, j, components, item, <char*> buffer)
        if not applied.light:
            add(False, False, base, values(&applied.inverse_mass, j, first), force, out, count * components, like)
        elif even and number == 0:
            add(True, True, base, values(&applied.inverse_mass, j, first), force, out, count * components, like)
        else:
            add(True, False, base, values(&applied.inverse_mass, j, first), force, out, count * components, like)
        base = out


cdef inline const char* row_of(
    const Array* force, Py_ssize_t first, Py_ssize_t count, int component, int components, Py_ssize_t item,
    char* buffer,
) noexcept nogil:
    """Return forces as a contiguous row: in place, or copied to the buffer."""
    cdef const char* start = force.data + first * force.body + component * force.component
    cdef Py_ssize_t i
    cdef int j
    if force.body == components * item and (components == 1 or force.component == item):
        return start
    for i in range(count):
        for j in range(components):
            copy_number(start + i * force.body + j * force.component, buffer + (i * components + j) * item, item)
    return buffer


cdef inline void copy_number(const char* source, char* to, Py_ssize_t item) noexcept nogil:
    if item == 4:
        (<float*> to)[0] = (<const float*> source)[0]
    else:
        (<double*> to)[0] = (<const double*> source)[0]


cdef inline void add(
    bint light, bint even, const char* base, const char* inverse_mass, const char* force, char* out, Py_ssize_t count,
    const vec* like,
) noexcept nogil:
    """out = base + F / m, in whole vectors. Results for bodies of infinite mass are not used.

    light: 1/m is uniform, as in `Applied`; even: all vectors of `base` are equal. Both save loads.
    """
    cdef vec g = (<const vec*> base)[0]
    cdef vec q = (<const vec*> inverse_mass)[0]
    cdef vec f
    cdef int i
    while count >= TOGETHER * width(like):
        for i in range(TOGETHER):
            f = (<const vec*> force)[i]
            (<vec*> out)[i] = accelerated(light, even, f, g, q, <const vec*> base + i, <const vec*> inverse_mass + i)
        base += TOGETHER * sizeof(vec)
        inverse_mass += TOGETHER * sizeof(vec)
        force += TOGETHER * sizeof(vec)
        out += TOGETHER * sizeof(vec)
        count -= TOGETHER * width(like)
    while count > 0:
        load_part(&f, force, min(count, <Py_ssize_t> width(like)))
        (<vec*> out)[0] = accelerated(light, even, f, g, q, <const vec*> base, <const vec*> inverse_mass)
        base += sizeof(vec)
        inverse_mass += sizeof(vec)
        force += sizeof(vec)
        out += sizeof(vec)
        count -= width(like)


cdef inline vec accelerated(
    bint light, bint even, vec f, vec g, vec q, const vec* base, const vec* inverse_mass,
) noexcept nogil:
    if not even:
        g = base[0]
    if light:
        return g + f * q
    return g + select_or_zero(positive(inverse_mass[0]), f * inverse_mass[0])
