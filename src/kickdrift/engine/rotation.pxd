"""Rotation of a stepper's bodies: data for the kernels."""

from libc.stdint cimport uint8_t

from ..kernels.abi.plan cimport Array
from ..kernels.abi.coupled cimport Turn, Turning


cdef class Torques:
    """Addresses of the users' torque arrays of a model, for kernels."""

    cdef list arrays        # views of the torques, and the memory of `torque`
    cdef const Array* torque
    cdef int count


cdef class BoundRotation:
    cdef Turning turning
    cdef object rotation    # the owner of the arrays
    cdef list arrays        # views of angular velocities, and of angles or orientations

    @staticmethod
    cdef BoundRotation of(object rotation)

    cdef Py_ssize_t run(self, Turn turn) noexcept nogil
    cdef void zero_inactive(self, const uint8_t* alive, Py_ssize_t item) noexcept
