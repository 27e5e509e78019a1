# Arguments of the kernels that rotate bodies before and after a step.

from libc.stdint cimport uint8_t

from .constraints cimport Spin
from .plan cimport Array

ctypedef struct Turning:
    Py_ssize_t n
    int dim
    double h
    const uint8_t* alive        # per body: 1 if active; NULL: all are
    Array velocity              # angular velocity of the caller, (n, 1) or (n, 3), rad/s
    Array turned                # angles (n, 1) in rad, or orientations (n, 4)
    Spin spin                   # angular velocities while a step runs
    int torques
    const Array* torque         # users' arrays of torques, (n, 1) or (n, 3)
    const void* decay           # factor of angular damping per step; NULL: 1
    Py_ssize_t decay_body       # stride of `decay`: 0 for one number for all bodies, else 1

# Work before or after a step. Returns the first body with a non-finite number, or -1.
ctypedef Py_ssize_t (*Turn)(const Turning*, const void* like) noexcept nogil
