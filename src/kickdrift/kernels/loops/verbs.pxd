# The loops of kick, drift and damp: of rows of items, any bytes apart, which share no memory.

from libc.stdint cimport int64_t

from ..abi.tables cimport Grid
from ..simd.vec cimport f32vec, f64vec, real, spread, vec, width

cdef enum:
    FEW = 16        # items in a row: of fewer no vectors are made


cdef inline int64_t add_vectors(vec* target, const vec* source, int64_t count, const void* h) noexcept nogil:
    """target += h source, four vectors in a turn; how many items these were."""
    cdef vec by = spread(h, 0, target)
    cdef int64_t turns = count // (4 * width(target))
    cdef int64_t _turn
    for _turn in range(turns):
        target[0] = target[0] + by * source[0]
        target[1] = target[1] + by * source[1]
        target[2] = target[2] + by * source[2]
        target[3] = target[3] + by * source[3]
        target += 4
        source += 4
    return turns * 4 * width(target)


cdef inline void add_scaled(
    const Grid* grid, char* target, const char* source, double h, const real* like,
) noexcept nogil:
    """target += h source"""
    cdef real by = <real> h
    cdef int64_t count = grid.count
    cdef int64_t step = grid.step[0]
    cdef int64_t other_step = grid.step[1]
    cdef bint packed = step == sizeof(real) and other_step == sizeof(real) and count >= FEW
    cdef int64_t row, _item, done
    cdef char* to
    cdef const char* other
    for row in range(grid.rows):
        to = target + row * grid.row[0]
        other = source + row * grid.row[1]
        done = 0
        if packed:
            if real is float:
                done = add_vectors(<f32vec*> to, <const f32vec*> other, count, &by)
            else:
                done = add_vectors(<f64vec*> to, <const f64vec*> other, count, &by)
            to += done * step
            other += done * step
        for _item in range(count - done):
            (<real*> to)[0] = (<real*> to)[0] + by * (<const real*> other)[0]
            to += step
            other += other_step


cdef inline void scale(const Grid* grid, char* target, const char* source, double h, const real* like) noexcept nogil:
    """target *= source"""
    cdef int64_t step = grid.step[0]
    cdef int64_t other_step = grid.step[1]
    cdef int64_t row, _item
    cdef char* to
    cdef const char* other
    for row in range(grid.rows):
        to = target + row * grid.row[0]
        other = source + row * grid.row[1]
        for _item in range(grid.count):
            (<real*> to)[0] = (<const real*> other)[0] * (<real*> to)[0]
            to += step
            other += other_step
