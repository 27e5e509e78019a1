# Functions of rows of numbers: of float64 as they are; of float32 quickly, or else by way of float64.

from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from .elementary cimport atan2, cbrt, cos, exp, log, pow, sin, tan, tanh
from .nearest cimport NEAR_COS, NEAR_LOG, NEAR_SIN, NearTie
from .quick cimport CHUNK, quick
from ..abi.formulas cimport ATAN2, CBRT, COS, EXP, LOG, POW, SIN, TAN, TANH
from ..simd.bits cimport narrow, widen
from ..simd.vec cimport f32vec, f64vec, width


cdef inline void functions(
    int code, Py_ssize_t vectors, f64vec* out, const f64vec* a, Py_ssize_t i, const f64vec* b, Py_ssize_t j,
) noexcept nogil:
    """out = f(a) or f(a, b), for so many vectors; i and j are the steps of a and b."""
    cdef Py_ssize_t n
    if code == SIN:
        for n in range(vectors):
            out[n] = sin(a[n * i])
    elif code == COS:
        for n in range(vectors):
            out[n] = cos(a[n * i])
    elif code == TAN:
        for n in range(vectors):
            out[n] = tan(a[n * i])
    elif code == EXP:
        for n in range(vectors):
            out[n] = exp(a[n * i])
    elif code == LOG:
        for n in range(vectors):
            out[n] = log(a[n * i])
    elif code == TANH:
        for n in range(vectors):
            out[n] = tanh(a[n * i])
    elif code == CBRT:
        for n in range(vectors):
            out[n] = cbrt(a[n * i])
    elif code == POW:
        for n in range(vectors):
            out[n] = pow(a[n * i], b[n * j])
    elif code == ATAN2:
        for n in range(vectors):
            out[n] = atan2(a[n * i], b[n * j])


cdef inline void widen_row(
    Py_ssize_t first, Py_ssize_t count, double* to, const f32vec* row, Py_ssize_t step,
) noexcept nogil:
    """Numbers from `first` on of a row, or of its first vector again and again."""
    cdef const float* numbers = <const float*> row
    cdef f64vec* wide = <f64vec*> to
    cdef Py_ssize_t w = width(wide)
    cdef Py_ssize_t n
    for n in range(count // w):
        wide[n] = widen(numbers + (first + n * w if step else n * w % width(row)))


cdef inline const f32vec* whole_chunk(
    float* buffer, const f32vec* row, Py_ssize_t step, Py_ssize_t count,
) noexcept nogil:
    """The last numbers of a row, and ones after them; unless it is one vector again and again."""
    cdef Py_ssize_t n
    if row == NULL or step == 0:
        return row
    memcpy(buffer, row, count * sizeof(float))
    for n in range(count, CHUNK):
        buffer[n] = 1
    return <const f32vec*> buffer


cdef inline void functions_of_floats(
    int code, Py_ssize_t vectors, f32vec* out, const f32vec* a, Py_ssize_t i, const f32vec* b, Py_ssize_t j,
) noexcept nogil:
    cdef double wide[3 * CHUNK]
    cdef float near[CHUNK]
    cdef float rest[2 * CHUNK]
    cdef const f32vec* x
    cdef const f32vec* y
    cdef f64vec* result = <f64vec*> (wide + 2 * CHUNK)
    cdef Py_ssize_t total = vectors * width(out)
    cdef Py_ssize_t w = width(result)
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t count, n
    while first < total:
        count = min(<Py_ssize_t> CHUNK, total - first)
        x = a + first // width(out) * i
        y = b + first // width(out) * j if b != NULL else NULL
        if count < CHUNK:
            x = whole_chunk(rest, x, i, count)
            y = whole_chunk(rest + CHUNK, y, j, count)
        if quick(code, near, x, i, y, j):
            memcpy(<float*> out + first, near, count * sizeof(float))
            first += CHUNK
            continue
        widen_row(first, count, wide, a, i)
        if b != NULL:
            widen_row(first, count, wide + CHUNK, b, j)
        functions(code, count // w, result, <const f64vec*> wide, 1, <const f64vec*> (wide + CHUNK), 1)
        nudge(code, count, wide, wide + 2 * CHUNK)
        for n in range(count // w):
            narrow(<float*> out + first + n * w, result[n])
        first += CHUNK


cdef inline void nudge(int code, Py_ssize_t count, const double* a, double* result) noexcept nogil:
    """Results that float64 cannot tell from the middle of two floats are moved to their side of it."""
    cdef const NearTie* tie = NULL
    cdef Py_ssize_t n
    if code == COS:
        tie = NEAR_COS
    elif code == LOG:
        tie = NEAR_LOG
    elif code == SIN:
        tie = NEAR_SIN
    if tie == NULL:
        return
    while tie.share != 0:
        for n in range(count):
            if a[n] == tie.argument or (tie.even and a[n] == -tie.argument):
                result[n] = result[n] * tie.share
        tie += 1
