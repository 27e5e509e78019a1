"""Index and Nearest: spatial indices (grid and k-d tree) for `kickdrift.Neighbours`."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from ..kernels.abi.constraints cimport Torus
from ..kernels.neighbours.cells cimport (
    TESTS, Cells, List, find_ahead, find_around, find_along_ray, find_pairs_around, reserve, sort_by, sort_points,
)
from ..kernels.neighbours.tree cimport Box, Point, Tree, find_nearest, leaves_for, plant
from ..kernels.space cimport is_periodic
from ..kernels.simd.rounding cimport require_rounding
from .slots cimport address

import numpy as np

from ..constraints.broad_phase import fit, laid_around

require_rounding(__name__)


cdef class Found:
    def __dealloc__(self):
        free(self.lower.number)
        free(self.higher.number)


cdef void* keep(object array, list kept) except NULL:
    kept.append(array)
    return address(array)


cdef int bind_torus(Torus* to, object torus, list kept) except -1:
    to.lower = keep(torus.lower, kept)
    to.upper = keep(torus.upper, kept)
    to.width = keep(torus.width, kept)
    to.per_width = keep(torus.per_width, kept)
    return 0


cdef class Index:
    """Points sorted by grid cell. The index is immutable after construction: any number of threads may query it."""

    def __init__(self, object points, object rows, double radius, double per_cell, int64_t buckets, list step,
                 object torus, object size=None):
        """Sort the points by cell. size: radius of each point, which `cast` adds to `reach`; not in a periodic box."""
        cdef Cells* cells = &self.cells
        cdef int c
        self.rows = rows
        self.kept = []
        cells.n, cells.dim = points.shape
        cells.radius, cells.per_cell = radius, per_cell
        cells.mask = buckets - 1
        for c in range(cells.dim):
            cells.step[c] = step[c]
        if torus is not None:
            for c, (count, per_width) in enumerate(laid_around(torus.width.tolist(), per_cell, buckets)):
                cells.cells[c], cells.per_width[c] = count, per_width
            bind_torus(&cells.torus, torus, self.kept)
        cells.x = <const double*> keep(points, self.kept)
        cells.start = <int32_t*> keep(np.empty(buckets + 2, np.int32), self.kept)
        cells.bucket = <uint32_t*> keep(np.empty(cells.n, np.uint32), self.kept)
        cells.body = <int32_t*> keep(np.empty(cells.n, np.int32), self.kept)
        cells.place = <double*> keep(np.empty((cells.dim, cells.n)), self.kept)
        if size is not None:
            cells.size, cells.largest = <const double*> keep(size, self.kept), size.max(initial=0.0)
        with nogil:
            sort_points(cells)

    def pairs(self, object out):
        return self.sorted_pairs(self.unsorted_pairs(), out)

    cdef Found unsorted_pairs(self):
        """Return the pairs of points within the radius, each once, as indices of points."""
        cdef const Cells* cells = &self.cells
        cdef Found found = Found.__new__(Found)
        cdef List* lower = &found.lower
        cdef List* higher = &found.higher
        cdef uint64_t bucket = 0
        cdef int64_t failed = 0
        while bucket <= cells.mask and failed == 0:
            with nogil:
                if is_periodic(&cells.torus):
                    failed = find_pairs_around(cells.dim, &bucket, cells, lower, higher)
                elif cells.dim == 2:
                    failed = find_ahead(2, &bucket, cells, lower, higher)
                elif cells.dim == 3:
                    failed = find_ahead(3, &bucket, cells, lower, higher)
                else:
                    failed = find_ahead(1, &bucket, cells, lower, higher)
            PyErr_CheckSignals()
        if failed or lower.count >= 2**31:
            raise MemoryError(f"pairs: no room for {lower.count} of them")
        return found

    cdef object sorted_pairs(self, Found found, object out):
        cdef int64_t count = found.lower.count
        cdef int64_t n = self.cells.n
        cdef Found kept = Found.__new__(Found)
        cdef const int64_t* row = NULL
        i, j = fit(out, (count, count))
        cdef int64_t* first = <int64_t*> <size_t> i.ctypes.data
        cdef int64_t* second = <int64_t*> <size_t> j.ctypes.data
        start = np.empty(n, np.int32)
        cdef int32_t* counts = <int32_t*> <size_t> start.ctypes.data
        if self.rows is not None:
            row = <const int64_t*> <size_t> self.rows.ctypes.data
        if not (reserve(&kept.lower, count) and reserve(&kept.higher, count)):
            raise MemoryError(f"pairs: no room for {count} of them")
        with nogil:
            sort_by(
                found.higher.number, found.lower.number, count, n, counts, NULL, kept.higher.number, kept.lower.number,
            )
            sort_by(kept.lower.number, kept.higher.number, count, n, counts, row, first, second)
        return i, j

    def of(self, object places, object out):
        cdef const Cells* cells = &self.cells
        cdef Found found = Found.__new__(Found)
        cdef const double* x = <const double*> <size_t> places.ctypes.data
        cdef int64_t count = len(places)
        starts = np.empty(count + 1, np.int64)
        cdef int64_t* start = <int64_t*> <size_t> starts.ctypes.data
        cdef int64_t k = 0
        cdef int64_t tests
        cdef int64_t more = 0
        start[0] = 0
        while k < count and more >= 0:
            with nogil:
                tests = 0
                while k < count and tests < TESTS:
                    more = find_around(x + k * cells.dim, cells, &found.lower)
                    if more < 0:
                        break
                    tests += more + 30
                    k += 1
                    start[k] = found.lower.count
            PyErr_CheckSignals()
        if more < 0:
            raise MemoryError(f"of: no room for {found.lower.count} points")
        i, given = fit(out, (found.lower.count, count + 1))
        given[:] = starts
        if found.lower.count > 0:
            numbers = np.empty(found.lower.count, np.int32)
            memcpy(<void*> <size_t> numbers.ctypes.data, found.lower.number, found.lower.count * sizeof(int32_t))
            i[:] = numbers if self.rows is None else self.rows[numbers]
        return i, given

    def cast(self, object origins, object motions, double reach, object out, object shares, object skip=None):
        """Find the first point that each ray hits. skip: per ray, the index of a point to ignore, or -1."""
        cdef const Cells* cells = &self.cells
        cdef const double* x = <const double*> <size_t> origins.ctypes.data
        cdef const double* motion = <const double*> <size_t> motions.ctypes.data
        cdef int64_t* i = <int64_t*> <size_t> out.ctypes.data
        cdef double* share = <double*> <size_t> shares.ctypes.data
        cdef const int64_t* passed = NULL if skip is None else <const int64_t*> <size_t> skip.ctypes.data
        cdef int64_t count = len(out)
        cdef int64_t k = 0
        cdef int64_t tests
        while k < count:
            with nogil:
                tests = 0
                while k < count and tests < TESTS:
                    tests += find_along_ray(
                        x + k * cells.dim, motion + k * cells.dim, reach, -1 if passed == NULL else passed[k], cells,
                        i + k, share + k,
                    )
                    k += 1
            PyErr_CheckSignals()
        self.call_by_rows(out)

    cdef int call_by_rows(self, object i) except -1:
        """Replace each index i of a point by `rows[i]`; -1 (no hit) is unchanged."""
        if self.rows is not None and self.rows.size:
            i[...] = np.where(i < 0, -1, self.rows[i])
        return 0


cdef class Nearest:
    """Points in a k-d tree. The tree is immutable after construction: any number of threads may query it."""

    cdef Tree tree
    cdef list kept          # arrays that the tree points to

    def __init__(self, object points, object rows, object torus):
        """Build the tree. points: finite coordinates; rows: the number of each point in results."""
        cdef Tree* tree = &self.tree
        cdef const double* x = <const double*> <size_t> points.ctypes.data
        cdef const int64_t* row = <const int64_t*> <size_t> rows.ctypes.data
        cdef int64_t k
        cdef int c
        self.kept = []
        tree.n, tree.dim = points.shape
        tree.leaves = leaves_for(tree.n)
        if torus is not None:
            bind_torus(&tree.torus, torus, self.kept)
        tree.point = <Point*> keep(np.empty(tree.n * sizeof(Point), np.uint8), self.kept)
        tree.box = <Box*> keep(np.empty(2 * tree.leaves * sizeof(Box), np.uint8), self.kept)
        with nogil:
            for k in range(tree.n):
                for c in range(3):
                    tree.point[k].x[c] = x[k * tree.dim + c] if c < tree.dim else 0
                tree.point[k].body = row[k]
            plant(tree)

    def nearest(self, object places, object out, object distances):
        cdef const Tree* tree = &self.tree
        cdef const double* x = <const double*> <size_t> places.ctypes.data
        cdef int64_t* i = <int64_t*> <size_t> out.ctypes.data
        cdef double* distance = <double*> <size_t> distances.ctypes.data
        cdef int64_t count, each
        cdef int64_t k = 0
        cdef int64_t tests
        count, each = out.shape
        while k < count:
            with nogil:
                tests = 0
                while k < count and tests < TESTS:
                    tests += find_nearest(x + k * tree.dim, each, tree, i + k * each, distance + k * each)
                    k += 1
            PyErr_CheckSignals()
