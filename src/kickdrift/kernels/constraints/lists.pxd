# Lists of partners, in ascending order.

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from ..abi.constraints cimport PAIRS_PER_BODY, Collisions

cdef enum:
    SHORT = 24              # up to this length, insertion sort is faster


cdef inline void sort(int32_t* a, int32_t count) noexcept nogil:
    """Sort ascending: insertion sort if short, else heapsort."""
    cdef int32_t i, j, value
    cdef bint sorted = True
    for i in range(1, count):
        sorted = sorted and a[i - 1] < a[i]
    if sorted:
        return
    if count <= SHORT:
        for i in range(1, count):
            value = a[i]
            j = i
            while j > 0 and a[j - 1] > value:
                a[j] = a[j - 1]
                j -= 1
            a[j] = value
        return
    for i in range(count // 2 - 1, -1, -1):
        sift(a, i, count)
    for i in range(count - 1, 0, -1):
        value = a[0]
        a[0] = a[i]
        a[i] = value
        sift(a, 0, i)


cdef inline void sift(int32_t* a, int32_t i, int32_t count) noexcept nogil:
    """Sift a number down a heap."""
    cdef int32_t value = a[i]
    cdef int32_t child = 2 * i + 1
    while child < count:
        if child + 1 < count and a[child + 1] > a[child]:
            child += 1
        if a[child] <= value:
            break
        a[i] = a[child]
        i = child
        child = 2 * i + 1
    a[i] = value


cdef inline int32_t keep_lowest(int32_t* a, int32_t count, int32_t value) noexcept nogil:
    """Insert a number into an ascending list of the lowest PAIRS_PER_BODY ones; return its length."""
    cdef int32_t j
    if count == PAIRS_PER_BODY:
        if value > a[count - 1]:
            return count
        count -= 1
    j = count
    while j > 0 and a[j - 1] > value:
        a[j] = a[j - 1]
        j -= 1
    a[j] = value
    return count + 1


cdef inline void sort_pairs(int64_t n, int64_t total, const Collisions* data) noexcept nogil:
    """Group pairs by lower body: partners of each body in ascending order."""
    cdef int64_t i, k, end
    memset(data.count, 0, n * sizeof(int32_t))
    for k in range(total):
        data.count[data.lower[k]] += 1
    end = 0
    for i in range(n):
        data.begin[i] = end
        end += data.count[i]
        data.count[i] = 0
    for k in range(total):
        i = data.lower[k]
        data.partner[data.begin[i] + data.count[i]] = data.higher[k]
        data.count[i] += 1
    for i in range(n):
        sort(data.partner + data.begin[i], data.count[i])
