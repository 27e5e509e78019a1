# What the kernels are told of the rotation of bodies, around a step.

from libc.stdint cimport uint8_t

from .constraints cimport Spin
from .plan cimport Array

ctypedef struct Turning:
    Py_ssize_t n
    int dim
    double h
    const uint8_t* alive        # of each body; NULL: all are
    Array velocity              # the caller's: (n, 1) or (n, 3), and
    Array turned                # angles (n, 1), or orientations (n, 4)
    Spin spin                   # velocities while a step runs
    int torques
    const Array* torque         # the users' arrays, (n, 1) or (n, 3)
    const void* decay           # what damping leaves of velocities; NULL: all
    Py_ssize_t decay_body       # 0 where it is one number for all, else 1

# What is done before a step, or behind it. Returns the first body whose numbers are not finite then, or -1.
ctypedef Py_ssize_t (*Turn)(const Turning*, const void* like) noexcept nogil
