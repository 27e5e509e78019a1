"""Bound rotation: the arrays of angular velocities, of angles or orientations, and of torques, for kernels."""

from libc.stdint cimport uint8_t

from ..kernels.abi.plan cimport Array
from ..kernels.abi.coupled cimport Turn
from ..kernels.loops.slots cimport zero_inactive_rotation
from ..kernels.simd.rounding cimport require_rounding
from .slots cimport address
from .views cimport View, views
from .walls cimport bind_spin

import numpy as np

from ..validation import as_rows

require_rounding(__name__)


cdef class Torques:
    def __cinit__(self, torques):
        cdef Array* places
        self.arrays = views([as_rows(torque) for torque in torques])
        self.count = len(torques)
        memory = np.zeros(self.count * sizeof(Array), np.uint8)
        places = <Array*> address(memory)
        for number, view in enumerate(self.arrays):
            places[<int> number] = (<View> view).place
        self.arrays.append(memory)
        self.torque = places


cdef class BoundRotation:
    @staticmethod
    cdef BoundRotation of(object rotation):
        """Bind a `Rotation` of rotation.py."""
        cdef BoundRotation bound = BoundRotation.__new__(BoundRotation)
        bound.rotation = rotation
        bound.arrays = views([rotation.velocity, rotation.turned])
        bound.turning.n, bound.turning.dim = len(rotation.velocity), rotation.dim
        bound.turning.velocity = (<View> bound.arrays[0]).place
        bound.turning.turned = (<View> bound.arrays[1]).place
        bind_spin(&bound.turning.spin, rotation.spin)
        return bound

    cdef Py_ssize_t run(self, Turn turn) noexcept nogil:
        """Run a pass over all bodies; return the first body whose rotation is non-finite afterwards, or -1."""
        return turn(&self.turning, NULL)

    cdef void zero_inactive(self, const uint8_t* alive, Py_ssize_t item) noexcept:
        """Zero the rotations of inactive rows."""
        self.turning.alive = alive
        zero_inactive_rotation(&self.turning, item)
