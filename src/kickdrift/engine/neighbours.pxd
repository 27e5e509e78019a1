"""Spatial index of points, for `kickdrift.Neighbours` and for queries of steppers."""

from ..kernels.neighbours.cells cimport Cells, List


cdef class Found:
    """Neighbour lists, freed with this object."""

    cdef List lower, higher


cdef class Index:
    cdef Cells cells
    cdef list kept          # arrays that the cells point to
    cdef object rows        # index of each point in results; None: its number in the index

    cdef Found unsorted_pairs(self)
    cdef object sorted_pairs(self, Found found, object out)
    cdef int call_by_rows(self, object i) except -1
