# Rotation of discs and spheres, before and after a step of their bodies: kickdrift/reference/rotation.py.
#
# Rotation is a pass of its own over all bodies. Tried: rotation inside the loops over bodies, which slows down bodies
# that do not rotate. Scalar code is enough, since contacts take many times as long.

from .abi.plan cimport Array
from .abi.coupled cimport Turning
from .forces.fields cimport root
from .simd.vec cimport real


cdef inline real* number(const Array* array, Py_ssize_t i, int j, const real* like) noexcept nogil:
    return <real*> (array.data + i * array.body + j * array.component)


cdef inline bint lives(const Turning* turning, Py_ssize_t i) noexcept nogil:
    return turning.alive == NULL or turning.alive[i]


cdef inline Py_ssize_t begin_turning(const Turning* turning, const real* like) noexcept nogil:
    """Copy angular velocities to `turning.spin`, which the step reads and writes, and add the effect of torques."""
    cdef int axes = 1 if turning.dim == 2 else 3
    cdef const real* inverse_inertia = <const real*> turning.spin.inverse_inertia
    cdef real h = <real> turning.h
    cdef real acceleration, w
    cdef Py_ssize_t i
    cdef int j, k
    for j in range(axes):
        for i in range(turning.n):
            w = 0
            if lives(turning, i):
                w = number(&turning.velocity, i, j, like)[0]
                if turning.torques > 0 and inverse_inertia[i] > 0:
                    acceleration = inverse_inertia[i] * number(turning.torque, i, j, like)[0]
                    for k in range(1, turning.torques):
                        acceleration = acceleration + inverse_inertia[i] * number(&turning.torque[k], i, j, like)[0]
                    w = w + h * acceleration
            (<real*> turning.spin.w + j * turning.spin.stride)[i] = w
    return -1


cdef inline Py_ssize_t complete_turning(const Turning* turning, const real* like) noexcept nogil:
    """Rotate bodies, damp their angular velocities, and store both in the caller's arrays."""
    cdef int axes = 1 if turning.dim == 2 else 3
    cdef real h = <real> turning.h
    cdef real[3] w
    cdef real* angle
    cdef real decay
    cdef real sound
    cdef Py_ssize_t i
    cdef Py_ssize_t bad = -1
    cdef int j
    for i in range(turning.n):
        if not lives(turning, i):
            continue
        for j in range(axes):
            w[j] = (<real*> turning.spin.w + j * turning.spin.stride)[i]
        if axes == 1:
            angle = number(&turning.turned, i, 0, like)
            angle[0] = angle[0] + h * w[0]
            sound = angle[0] - angle[0]
        else:
            sound = turn(&turning.turned, i, w, h)
        if turning.decay != NULL:
            decay = (<const real*> turning.decay)[i * turning.decay_body]
            for j in range(axes):
                w[j] = decay * w[j]
        for j in range(axes):
            number(&turning.velocity, i, j, like)[0] = w[j]
            sound = sound + (w[j] - w[j])   # NaN if angle or angular velocity is not finite
        if bad < 0 and sound != 0:
            bad = i
    return bad


cdef inline real turn(const Array* turned, Py_ssize_t i, const real* w, real h) noexcept nogil:
    """Rotate a body's quaternion by angular velocity w for time h, both in world axes; return NaN if it overflows."""
    cdef real half = h / 2
    cdef real x2 = half * half * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    cdef real one = 1   # the literal 1 would be a double
    cdef real two = 2
    cdef real seventeen = 17
    # Taylor series of (tan x) / x, up to x**6
    cdef real series = one + x2 * (one / <real> 3 + x2 * (two / <real> 15 + x2 * (seventeen / <real> 315)))
    cdef real a = number(turned, i, 0, w)[0]
    cdef real b = number(turned, i, 1, w)[0]
    cdef real c = number(turned, i, 2, w)[0]
    cdef real d = number(turned, i, 3, w)[0]
    cdef real[3] u
    cdef real[4] q
    cdef real length
    cdef real sound = 0
    cdef int j
    for j in range(3):
        u[j] = half * series * w[j]
    q[0] = a - (u[0] * b + u[1] * c + u[2] * d)
    q[1] = b + (u[0] * a + (u[1] * d - u[2] * c))
    q[2] = c + (u[1] * a + (u[2] * b - u[0] * d))
    q[3] = d + (u[2] * a + (u[0] * c - u[1] * b))
    length = root(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    for j in range(4):
        q[j] = q[j] / length
        number(turned, i, j, w)[0] = q[j]
        sound = sound + (q[j] - q[j])
    return sound
