# Impacts of bodies on static walls and shapes: formulas of kickdrift/reference/constraints/walls.py.

from libc.stdint cimport int64_t

from .events cimport senses
from ..abi.constraints cimport Each, Wall
from ..forces.fields cimport magnitude, root
from ..simd.vec cimport real


cdef inline bint is_constrained(const Wall* wall, bint movable, int64_t body) noexcept nogil:
    """True if a wall constrains a body in this call, or records it as a sensor, which may be immovable."""
    if wall.only != NULL and not wall.only[body]:
        return False
    if wall.sensor == NULL or wall.sensor[body] == 0:
        return movable
    return senses(wall.sensor, body) and (wall.alive == NULL or wall.alive[body])


cdef inline real speed_at_wall(real depth, real fast, real pull, real h) noexcept nogil:
    """Speed at impact of a body that is `depth` beyond the wall now. fast: its current speed; pull: change of its
    velocity into the wall by the forces of a step."""
    cdef real one = 1
    cdef real two = 2
    cdef real share
    if pull < 0:
        return root(at_least_zero(fast * fast - two * pull / h * depth))
    share = two * pull / h * depth / fast / fast if fast > 0 else one
    return fast * root(one - share) if share < one else <real> 0


cdef inline real at_least_zero(real number) noexcept nogil:
    return number if number > 0 else <real> 0


cdef inline real at_most(real longest, real time) noexcept nogil:
    """Return the time since an impact; 0 if that exceeds `longest`, the age of the step, by more than rounding."""
    cdef real share = 1024
    if time <= longest:
        return time
    return longest if time <= longest + longest / share else <real> 0


cdef inline real arrival(real depth, real speed, real pull, real h, real longest, real* fast) noexcept nogil:
    """Return the time since the impact of a body `depth` beyond a wall, or 0 if it moves back or `longest` is exceeded.

    speed: the present one, > 0 if it moves deeper; pull: its change by the forces of a step; fast: set to the speed at
    the impact.
    """
    cdef real two = 2
    cdef real time
    fast[0] = 0
    if not speed > 0:
        return 0
    fast[0] = speed_at_wall(depth, speed, pull, h)
    time = two * depth / (fast[0] + speed)
    return at_most(longest, time)


cdef inline void bounce(
    real depth, real speed, real pull, real slow, real restitution, real h, real longest, real pressed,
    real* inside, real* inwards, real* time,
) noexcept nogil:
    """Bounce a body that is `depth` beyond a wall and moves outwards at `speed`: set its new distance `inside` of the
    wall, its new speed `inwards`, and `time`, for which friction acts on its position. slow: resting threshold."""
    cdef real two = 2
    cdef real fast = magnitude(speed)
    cdef real at_wall = speed_at_wall(depth, fast, pull, h)
    cdef real back
    inside[0] = 0 * depth
    inwards[0] = time[0] = 0
    if not speed > 0:
        inwards[0] = at_wall
        return
    if at_wall <= slow:
        time[0] = pressed
        return
    time[0] = at_most(longest, two * depth / (at_wall + fast))
    back = restitution * at_wall
    if back <= pull / h * time[0] / two:
        return
    inside[0] = (back - pull / h / two * time[0]) * time[0]
    inwards[0] = back - pull / h * time[0]


cdef inline bint collide_wall(
    real depth, real v, real delta_v, real restitution, real h, real lag, real* inside, real* inwards, real* time,
) noexcept nogil:
    """Return True if a body collides with a wall, and compute its new state as `bounce` does."""
    cdef real speed = v + lag * delta_v
    if not (depth > 0 or (depth == 0 and speed > 0)):
        return False
    if 0 < speed <= delta_v:
        # The impact was no faster than now, so below the resting threshold; `bounce` has the same result, but slower.
        inside[0], inwards[0], time[0] = 0 * depth, 0, pressed(h, lag)
        return True
    bounce(depth, speed, delta_v, at_least_zero(delta_v), restitution, h, h, pressed(h, lag), inside, inwards, time)
    inwards[0] = inwards[0] + lag * delta_v if inwards[0] > 0 else <real> 0
    return True


cdef inline real each(const Each* values, int64_t i, real like) noexcept nogil:
    """Coefficient of a body; `like` only selects the type."""
    return (<const real*> values.number)[i * values.body]


cdef inline void replace(
    int dim, real h, int64_t stride, int64_t i, const real* y, const real* u, real* x, real* v, real* s,
) noexcept nogil:
    """Set position and velocity of a body, and for Verlet the matching previous position."""
    cdef int j
    for j in range(dim):
        if s != NULL:
            s[j * stride + i] = s[j * stride + i] + (y[j] - x[j * stride + i]) - h * (u[j] - v[j * stride + i])
        x[j * stride + i] = y[j]
        v[j * stride + i] = u[j]


cdef inline real pressed(real h, real lag) noexcept nogil:
    """Effective time for which a velocity that is removed evenly during a step would have moved the position."""
    cdef real one = 1
    cdef real two = 2
    return h * (one / two + lag)
