# Fixed timestep with accumulator, in 64-bit integers. `reference/clock.py` has the same rules in fractions.

from libc.math cimport floor
from libc.stdint cimport int64_t

# The same constants as in clock/rates.py.
cdef extern from *:
    const int64_t NANO "(int64_t) 1000000000"  # nanoseconds per second
    const int64_t LONGEST_FRAME_NS "(int64_t) 1000000000000000"
    const int64_t LEDGER_FULL "((int64_t) 1 << 62)"  # totals stop growing here
    const double BELOW_ONE "(1.0 - 0x1p-53)"  # largest double below 1

cdef enum:
    SCALE_BITS = 20
    SCALE_MASK = 1048575

# Branches of `take_in`. The policy "locked" uses EXACT with `ignores_time`: each frame counts as `policy_value` steps.
cdef enum:
    EXACT, MATCH, VARIABLE

cdef enum:
    DROP, BACKLOG, RESYNC, RAISE, BUDGET

# All state of a clock: settings first, then variables.
ctypedef struct Clock:
    int policy, rule            # codes of their branches
    bint ignores_time, measures_step, runs_early, waits     # properties of the policy
    int64_t policy_value, rule_value, max_steps, max_frame_ns, substeps
    bint carry

    # One unit of time is 1/(num * 10**9) seconds; a step has `size` = den * 10**9 units.
    int64_t num, den, size
    int64_t tolerance, low, high    # policy "match": tolerance, and bounds of the accumulator after the steps, in units

    int64_t acc                 # accumulator: time fed but not simulated yet, in units; below 0 only under "match"
    int64_t tick
    int64_t due, backlog        # whole steps in acc: due in this frame, and kept for later frames
    int64_t step_ns             # measured length of a "variable" step; -1: a step is dt

    # time = origin + (tick - origin_tick) * dt; origin is `_origin` of Clockwork, in seconds.
    # Under "variable": time = origin + varied_s seconds + varied_ns nanoseconds.
    int64_t origin_tick, varied_s, varied_ns

    int64_t scale, scale_rest   # time scale in multiples of 2**-20; remainder of scaled nanoseconds in 2**-20 ns
    double float_rest           # remainder of frame times in seconds (floats), in ns, below 1
    bint paused

    int64_t fed_ns, clamped_ns, paused_ns, backwards, quiet_ns
    int64_t dropped_steps, dropped_rest

    int64_t next_num, next_den  # rate set inside a frame, effective after it; 0: none
    bint next_keep
    bint open
    int64_t taken               # due steps that a stepper is running; counted when they are done
    int64_t handed              # counted integrator steps of this frame that its stepper has not run yet


cdef inline int64_t to_ns(const Clock* clock, double seconds, double *rest) noexcept nogil:
    """Split seconds into whole nanoseconds and a remainder for the next frame."""
    if seconds * 1e9 >= <double>LONGEST_FRAME_NS:
        rest[0] = clock.float_rest
        return LONGEST_FRAME_NS
    cdef double exact = seconds * 1e9 + clock.float_rest
    cdef double whole = floor(exact)
    rest[0] = exact - whole
    return <int64_t>whole


cdef inline int64_t early(const Clock* clock, double float_rest, int64_t scale_rest) noexcept nogil:
    """Return the number of units by which the accumulator may fall short of a whole step that is due all the same.

    This tolerance is a nanosecond plus the remainders carried to the next frame, at most half a step.
    """
    if not clock.waits:
        return 0
    cdef double carried = (float_rest * <double>clock.scale + <double>scale_rest) / (SCALE_MASK + 1)
    return min(clock.num + <int64_t>(carried * <double>clock.num), clock.size // 2)


cdef inline int64_t take_in(Clock* clock, int64_t ns, double float_rest) noexcept nogil:
    """Add one frame; return the number of due steps, or a negative number if overload="raise" refuses them.

    No sum or product overflows 64 bits, because Settings.check_range bounds all settings together.
    """
    clock.handed = 0
    if clock.paused:
        clock.backlog += clock.due
        clock.due = 0
        enter(clock, ns, 0, ns)
        return 0

    # Real time is clamped, then scaled, then added; with `ignores_time`, a fixed number of steps is added instead.
    cdef int64_t used = ns, scale_rest = clock.scale_rest, frame, lost = 0
    if clock.ignores_time:
        frame = clock.policy_value * clock.size
    else:
        used = min(ns, clock.max_frame_ns)
        scale_rest += (used & SCALE_MASK) * clock.scale
        frame = ((used >> SCALE_BITS) * clock.scale + (scale_rest >> SCALE_BITS)) * clock.num
        scale_rest &= SCALE_MASK
    cdef int64_t acc = clock.acc + frame

    # Number and length of steps.
    cdef int64_t size = clock.size, backlog = 0, m, step_ns = -1
    # `soon` is an upper bound of `early`, which is slow: it is called only if the rest is within `soon` of a limit.
    cdef int64_t n = acc // size if acc > 0 else 0, soon = clock.num * ((clock.scale >> SCALE_BITS) + 3)
    cdef int64_t rest = acc - n * size
    if rest >= size - soon:
        n += rest >= size - early(clock, float_rest, scale_rest)
    if clock.policy == MATCH:
        m = (frame + size // 2) // size
        rest = acc - m * size
        if m >= 1 and -clock.tolerance <= frame - m * size <= clock.tolerance and (
            clock.low <= rest < clock.high - soon
            or clock.low <= rest + early(clock, float_rest, scale_rest) < clock.high
        ):
            n = m
    elif clock.policy == VARIABLE:
        lost = max(acc - clock.policy_value * clock.num, 0)
        acc -= lost
        step_ns = acc // clock.num
        size = step_ns * clock.num
        n = size > 0

    # Overload. `lost` is 0 here: policies lose time only if n <= max_steps, see clock/options.py.
    cdef int64_t excess = n - clock.max_steps
    if excess > 0:
        if clock.rule == RAISE:
            return -n
        if clock.rule == RESYNC:
            n, lost = 0, acc
        else:
            if clock.rule == BACKLOG:
                backlog = min(excess, clock.rule_value)
            n, lost = clock.max_steps, (excess - backlog) * size
        acc -= lost

    rest = acc - (n + backlog) * size
    cdef int64_t thrown_away = 0 if clock.carry else max(rest, 0)

    clock.acc = acc - thrown_away
    if lost + thrown_away > 0:
        drop(clock, lost + thrown_away)
    clock.scale_rest = scale_rest
    clock.float_rest = float_rest
    clock.due = n
    clock.backlog = backlog
    clock.open = True
    clock.step_ns = step_ns
    enter(clock, ns, ns - used, 0)
    clock.quiet_ns = 0 if lost > 0 or used < ns else min(clock.quiet_ns + ns, NANO)
    return n


cdef inline void enter(Clock* clock, int64_t ns, int64_t clamped, int64_t paused) noexcept nogil:
    """Add a frame to the totals of real time. All freeze together at LEDGER_FULL, so that differences stay valid."""
    if clock.fed_ns < LEDGER_FULL:
        clock.fed_ns += ns
        clock.clamped_ns += clamped
        clock.paused_ns += paused


cdef inline void drop(Clock* clock, int64_t units) noexcept nogil:
    # A frame drops fewer than 2**33 steps: the total cannot overflow if it is not changed from 2**62 on.
    if clock.dropped_steps < LEDGER_FULL:
        clock.dropped_rest += units % clock.size
        clock.dropped_steps += units // clock.size + clock.dropped_rest // clock.size
        clock.dropped_rest %= clock.size


cdef inline void count_steps(Clock* clock, int64_t n) noexcept nogil:
    # No overflow: 2**62 ticks of a nanosecond take 146 years.
    clock.tick += n
    clock.due -= n
    if clock.step_ns < 0:
        clock.acc -= n * clock.size
    else:
        clock.acc -= n * clock.step_ns * clock.num
        clock.varied_ns += n * clock.step_ns
        clock.varied_s += clock.varied_ns // NANO
        clock.varied_ns %= NANO


cdef inline double step_length(const Clock* clock) noexcept nogil:
    # Numerator and denominator are integers below 2**53, so that the quotient is rounded once.
    if clock.step_ns < 0:
        return <double>clock.den / <double>clock.num
    return <double>clock.step_ns / 1e9


cdef inline double fraction(const Clock* clock) noexcept nogil:
    if not clock.waits:
        return 1.0
    cdef int64_t rest = clock.acc - (clock.due + clock.backlog) * clock.size
    if rest <= 0:
        return 0.0
    if rest >= clock.size:
        return 1.0
    return min(<double>rest / <double>clock.size, BELOW_ONE)  # rounded operands beyond 2**53 could give 1
