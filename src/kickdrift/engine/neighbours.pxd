"""Spatial index of points, for `kickdrift.Neighbours` and for queries of steppers."""

from ..kernels.neighbours.cells cimport Cells, List


cdef class Found:
    """Pairs found, as two lists of indices; the destructor frees them."""

    cdef List lower, higher


cdef class Index:
    cdef Cells cells
    cdef list kept          # arrays that `cells` points to
    cdef object rows        # number of each point in results; None: its row in `points`

    cdef Found unsorted_pairs(self)
    cdef object sorted_pairs(self, Found found, object out)
    cdef int call_by_rows(self, object i) except -1
