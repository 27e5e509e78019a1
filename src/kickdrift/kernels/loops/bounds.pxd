# Bounds of the region that bodies can reach in a number of steps, under affine forces.

from libc.math cimport fabs

from ..abi.plan cimport COMPOSITION, COMPOSITION_RK4, MAX_DIM, Plan, Row
from ..constraints.static cimport HIGH
from ..forces.fields cimport affine
from ..integrators.traits cimport verlet
from ..simd.masks cimport absolute, all_true, all_zero, less, maximum, minimum
from ..simd.vec cimport f32vec, filled, vec

cdef enum:          # bounds of the motion: one vector for each axis, with maxima over the bodies in each lane
    SPEED = 0
    ACCELERATION = MAX_DIM
    DRAG = 2 * MAX_DIM          # 1/s
    SPRING = 3 * MAX_DIM        # 1/s2
    MOTION = 4 * MAX_DIM


cdef inline vec numbers_at(
    const char* row, Py_ssize_t body, Py_ssize_t at, int component, const vec* like,
) noexcept nogil:
    """Load coefficients from byte `at` of a row, or from the start of the row if bodies share them (`body`, a stride,
    is 0)."""
    return (<const vec*> (row + (at if body else component * <Py_ssize_t> sizeof(vec))))[0]


cdef inline void find_motion(
    const Plan* plan, const Row* row, int numbers, Py_ssize_t groups, vec* motion, const vec* like,
) noexcept nogil:
    """Raise the bounds in `motion` to the largest magnitudes in a row, except for |v|, which `find_extent` covers.

    Terms (forces that are not affine) are left out. For Verlet, |x - s| / last_h counts as a speed. groups: number of
    groups of as many bodies as a vector has lanes; numbers: components of each body in the row.
    """
    cdef const vec* x = <const vec*> row.x
    cdef const vec* v = <const vec*> row.v
    cdef const vec* s = <const vec*> row.s
    cdef vec per_h = filled(1 / plan.last_h, like)
    cdef vec a, c, k, w, p, speed, acceleration, drag, spring
    cdef Py_ssize_t vectors, n, at
    cdef int m
    for m in range(numbers):
        speed, acceleration = motion[SPEED + m], motion[ACCELERATION + m]
        drag, spring = motion[DRAG + m], motion[SPRING + m]
        c = k = w = p = filled(0, like)
        vectors = groups * numbers
        n = m
        while verlet(plan.scheme) and n < vectors:
            speed = maximum(absolute((x[n] - s[n]) * per_h), speed)
            n += numbers
        if not (plan.drag or plan.spring or plan.g.body):
            vectors = numbers   # the acceleration of all bodies is that of the first group
        n = m
        while n < vectors:
            at = n * sizeof(vec)
            if plan.drag:
                c = numbers_at(row.c, plan.c.body, at, m, like)
                w = numbers_at(row.w, plan.w.body, at, m, like)
                drag = maximum(absolute(c), drag)
            if plan.spring:
                k = numbers_at(row.k, plan.k.body, at, m, like)
                p = numbers_at(row.p, plan.p.body, at, m, like)
                spring = maximum(absolute(k), spring)
            a = affine(
                plan.drag, True, plan.spring, x[n], v[n], numbers_at(row.g, plan.g.body, at, m, like), c, w, k, p,
            )
            acceleration = maximum(absolute(a), acceleration)
            n += numbers
        motion[SPEED + m], motion[ACCELERATION + m] = speed, acceleration
        motion[DRAG + m], motion[SPRING + m] = drag, spring


cdef inline double longest_time(const Plan* plan, Py_ssize_t steps) noexcept nogil:
    """Upper bound of the total length of all drifts, or of all kicks, in `steps` + 1 steps. Negative lengths, which
    compositions have, count as positive."""
    cdef double drift = fabs(plan.h)
    cdef double kick = 0
    cdef int i
    if plan.scheme == COMPOSITION or plan.scheme == COMPOSITION_RK4:
        drift = fabs(plan.constants[0])
        for i in range(plan.kicks):
            kick += fabs(plan.constants[1 + 2 * i])
            drift += fabs(plan.constants[2 + 2 * i])
    return (steps + 1) * max(max(drift, kick), fabs(plan.last_h))


cdef inline bint extend(
    const Plan* plan, Py_ssize_t steps, const vec* motion, const vec* now, vec* there,
) noexcept nogil:
    """Bound the extent of a tile over `steps` steps; return False if there is no bound.

    With largest speed W and acceleration A during time T: W <= V + T A, the displacement is at most T W, and
    A <= a + c (W + V) + k T W. V and a are the initial values, c and k the rates of drag and springs.
    """
    cdef double epsilon = 1.2e-7 if vec is f32vec else 2.3e-16
    cdef vec t = filled(longest_time(plan, steps), now)
    cdef vec least = filled(1e-30 if vec is f32vec else 1e-290, now)     # keeps bounds above 0 where products underflow
    cdef vec rounding = filled(16 * epsilon * (steps + 8), now)
    cdef vec share, speed, displacement
    cdef int j
    for j in range(plan.dim):
        share = t * (motion[DRAG + j] + motion[SPRING + j] * t)
        if not all_true(less(share, filled(0.5, now)), now):
            return False
        speed = motion[SPEED + j] + t * (motion[ACCELERATION + j] + motion[DRAG + j] * motion[SPEED + j])
        speed = filled(1.01, now) * speed / (filled(1, now) - share)
        displacement = t * speed + least
        displacement = displacement + rounding * (maximum(absolute(now[j]), absolute(now[HIGH + j])) + displacement)
        there[j], there[HIGH + j] = now[j] - displacement, now[HIGH + j] + displacement
        if not all_zero(displacement - displacement):
            return False    # not finite; a finite displacement proves that speeds are finite, too
    return True


cdef inline void find_extent(
    const Row* row, int numbers, Py_ssize_t groups, vec* extent, vec* speeds, vec* check, const vec* like,
) noexcept nogil:
    """Widen the extent and raise the largest speeds by a row, and add all its numbers to `check`; see `find_motion`.

    Even and odd groups have separate minima, maxima and sums, so that their latencies overlap.
    """
    cdef Py_ssize_t last = (groups - 1) * numbers
    cdef const vec* x
    cdef const vec* v
    cdef vec low, high, speed, total, low_, high_, speed_, total_
    cdef Py_ssize_t n, other
    cdef int m
    total = total_ = filled(0, like)
    for m in range(numbers):
        x, v = <const vec*> row.x + m, <const vec*> row.v + m
        low = low_ = extent[m]
        high = high_ = extent[HIGH + m]
        speed = speed_ = speeds[m]
        n = 0
        while n <= last:
            other = min(n + numbers, last)
            low, low_ = minimum(x[n], low), minimum(x[other], low_)
            high, high_ = maximum(x[n], high), maximum(x[other], high_)
            speed, speed_ = maximum(absolute(v[n]), speed), maximum(absolute(v[other]), speed_)
            total, total_ = total + (x[n] + v[n]), total_ + (x[other] + v[other])
            n += 2 * numbers
        extent[m], extent[HIGH + m] = minimum(low, low_), maximum(high, high_)
        speeds[m] = maximum(speed, speed_)
    check[0] = check[0] + (total + total_)


cdef inline void survey(
    const Plan* plan, const Row* row, int numbers, Py_ssize_t groups, vec* extent, vec* motion, vec* check,
    const vec* like,
) noexcept nogil:
    """Widen the extent and raise the bounds of the motion by a row, and add all its numbers to `check`."""
    find_extent(row, numbers, groups, extent, motion + SPEED, check, like)
    find_motion(plan, row, numbers, groups, motion, like)
