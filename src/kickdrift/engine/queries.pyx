"""Level: the shapes of a stepper as rays and points find them, through the trees of its constraints."""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ..kernels.abi.constraints cimport SHAPES, Contacts, Shapes
from ..kernels.abi.plan cimport MAX_DIM
from ..kernels.constraints.queries cimport Near, first_shape, shapes_near
from ..kernels.simd.rounding cimport require_rounding
from .bodies cimport Core
from .slots cimport address

import numpy as np

from .neighbours import Index

require_rounding(__name__)

cdef enum:
    TESTS = 1_000_000   # between two checks for Ctrl-C: some milliseconds

NEAR = np.dtype(
    [("row", np.int64), ("number", np.int64), ("distance", np.float64), ("normal", np.float64, (MAX_DIM,))]
)


cdef class Level:
    """Valid until the stepper changes. Each method takes the number of a record of the plan, and that of a part."""

    cdef Core core

    index_type = Index

    def __init__(self, Core stepper):
        self.core = stepper

    cdef object find(self, Shapes* shapes, Py_ssize_t record, Py_ssize_t part):
        """Copy the description of a part, with coordinates in float64; return the arrays that it points to."""
        fields = self.core._plan.constraint_records[record].fields
        if self.core.coupled.constraint[record].kind == SHAPES:
            shapes[0] = (<const Shapes*> self.core.coupled.constraint[record].data)[0]
            count = len(fields["lower"])
        else:
            shapes[0] = (<const Contacts*> self.core.coupled.constraint[record].data).shapes[part]
            begin = fields["shape_begin"]
            count = begin[part + 1] - begin[part]
        arrays = [as_doubles(shapes.lower, self.core, count), as_doubles(shapes.upper, self.core, count)]
        shapes.lower, shapes.upper = address(arrays[0]), address(arrays[1])
        return arrays

    def cast(
        self, Py_ssize_t record, Py_ssize_t part, object origins, object motions, double reach, object shares,
        object normals,
    ):
        """Return the shape that each ray hits before its share, or -1; update the shares and normals."""
        cdef Shapes shapes
        cdef const double* x = <const double*> address(origins)
        cdef const double* motion = <const double*> address(motions)
        cdef double* share = <double*> address(shares)
        cdef double* normal = <double*> address(normals)
        cdef int dim = origins.shape[1]
        cdef int64_t count = len(origins)
        cdef int64_t k = 0
        cdef int64_t tests
        _arrays = self.find(&shapes, record, part)
        result = np.empty(count, np.int64)
        cdef int64_t* number = <int64_t*> address(result)
        while k < count:
            with nogil:
                tests = 0
                while k < count and tests < TESTS:
                    number[k] = first_shape(
                        dim, x + k * dim, motion + k * dim, reach, &shapes, share + k, normal + k * dim, &tests,
                    )
                    k += 1
            PyErr_CheckSignals()
        return result

    def near(self, Py_ssize_t record, Py_ssize_t part, object points, object reaches):
        """Return (row, number, distance, outward normal) of all shapes within reach of each point, in this order."""
        cdef Shapes shapes
        cdef const double* x = <const double*> address(points)
        cdef const double* reach = <const double*> address(reaches)
        cdef int dim = points.shape[1]
        cdef int64_t count = len(points)
        cdef int64_t k = 0
        cdef int64_t found = 0
        cdef int64_t room = count + 64
        cdef int64_t tests, more
        cdef Near* at
        _arrays = self.find(&shapes, record, part)
        result = np.zeros(room, NEAR)
        while k < count:
            at = <Near*> address(result)
            with nogil:
                tests = more = 0
                while k < count and tests < TESTS:
                    more = shapes_near(dim, x + k * dim, reach[k], k, &shapes, at + found, room - found, &tests)
                    if found + more > room:
                        break
                    found += more
                    k += 1
            if found + more > room and k < count:
                room = 2 * (found + more)
                result = np.concatenate([result[:found], np.zeros(room - found, NEAR)])
            PyErr_CheckSignals()
        result = result[:found]
        result = result[np.lexsort((result["number"], result["row"]))]
        return result["row"], result["number"], result["distance"], result["normal"][:, :dim]


cdef object as_doubles(const void* numbers, Core core, Py_ssize_t count):
    """Copy vectors of the state's dtype."""
    values = np.empty(count * core._plan.dim, core._plan.dtype)
    if count > 0:
        memcpy(address(values), numbers, values.nbytes)
    return values.astype(np.float64)
