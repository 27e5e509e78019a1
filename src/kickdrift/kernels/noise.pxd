# Langevin thermostat: kickdrift/reference/noise.py, and `apply_thermostat` and `thermostatted` of
# kickdrift/reference/system.py.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from .abi.coupled cimport Coupling, Workspace
from .abi.formulas cimport COS, EXP, LOG, SIN
from .abi.plan cimport MAX_DIM, S, V, Noise, Plan
from .forces.fields cimport root
from .integrators.traits cimport verlet
from .simd.vec cimport f64vec, real, root_f64, vec, width
from .functions.elementary cimport cos, log

# Standard normal numbers as a function of seed, tick and body: kickdrift/reference/noise.py.

cdef enum:
    AT_ONCE = 64    # bodies per call
    NOISE_K = 2     # random stream of noise(k); streams 0 and 1 belong to the thermostat


cdef inline void philox(uint32_t* word, uint32_t k, uint32_t m) noexcept nogil:
    """Ten rounds of Philox 4x32."""
    cdef uint64_t p, q
    cdef uint32_t b, d
    cdef int _round
    for _round in range(10):
        p = <uint64_t> 0xD2511F53u * word[0]
        q = <uint64_t> 0xCD9E8D57u * word[2]
        b = word[1]
        d = word[3]
        word[0] = <uint32_t> (q >> 32) ^ b ^ k
        word[1] = <uint32_t> q
        word[2] = <uint32_t> (p >> 32) ^ d ^ m
        word[3] = <uint32_t> p
        k += 0x9E3779B9u
        m += 0xBB67AE85u


cdef inline void draw(
    uint64_t seed, int64_t tick, int64_t first, Py_ssize_t count, uint32_t which, const int64_t* generation,
    double* u, double* angle,
) noexcept nogil:
    """Draw uniform 0 < u <= 1 and 0 <= angle < 2 pi for up to AT_ONCE bodies, to be transformed to normal numbers.

    generation: of the body in each slot; NULL: 1.
    """
    cdef uint32_t word[4]
    cdef double turn = 6.283185307179586
    cdef double step = 1.0 / 9007199254740992.0
    cdef Py_ssize_t n
    for n in range(AT_ONCE):
        u[n] = 1
        angle[n] = 0
    for n in range(count):
        word[0] = <uint32_t> <uint64_t> tick
        word[1] = <uint32_t> (<uint64_t> tick >> 32)
        word[2] = <uint32_t> (first + n)
        word[3] = which
        if generation != NULL:
            word[3] |= <uint32_t> (<uint64_t> (generation[first + n] - 1) << 8)
        philox(word, <uint32_t> seed, <uint32_t> (seed >> 32))
        u[n] = <double> ((((<uint64_t> word[0] << 32) | word[1]) >> 11) + 1) * step
        angle[n] = turn * (<double> (((<uint64_t> word[2] << 32) | word[3]) >> 11) * step)


cdef inline void noise_row(
    int k, int64_t tick, int64_t first, Py_ssize_t count, const int64_t* generation, void* out, bint single,
) noexcept nogil:
    """noise(k) of `count` bodies, as floats or doubles."""
    cdef double u[AT_ONCE]
    cdef double angle[AT_ONCE]
    cdef f64vec* a = <f64vec*> u
    cdef f64vec* b = <f64vec*> angle
    cdef f64vec minus_two
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t n, some
    while begin < count:
        some = min(<Py_ssize_t> AT_ONCE, count - begin)
        draw(k, tick, first + begin, some, NOISE_K, generation, u, angle)
        for n in range((some + width(a) - 1) // width(a)):
            minus_two = log(a[n])
            minus_two = -2 * minus_two
            a[n] = root_f64(minus_two) * cos(b[n])
        for n in range(some):
            if single:
                (<float*> out)[begin + n] = <float> u[n]
            else:
                (<double*> out)[begin + n] = u[n]
        begin += some


cdef inline void apply(const Noise* noise, int code, double* out, const double* a) noexcept nogil:
    noise.operate(code, AT_ONCE // noise.width, <char*> out, <const char*> a, 1, NULL, 1)


cdef inline void normals(
    const Noise* noise, int64_t tick, int64_t first, Py_ssize_t count, uint32_t which, double* z, double* angle,
) noexcept nogil:
    """Two rows of normal numbers for `count` bodies (Box-Muller); angle: workspace of a row."""
    cdef double minus_two = -2
    cdef Py_ssize_t n
    cdef double radius
    draw(noise.seed, tick, first, count, which, noise.generation, z, angle)
    apply(noise, LOG, z + AT_ONCE, z)
    apply(noise, COS, z, angle)
    for n in range(count):
        radius = root(minus_two * z[AT_ONCE + n])
        z[n] = radius * z[n]
        z[AT_ONCE + n] = radius
    apply(noise, SIN, angle, angle)
    for n in range(count):
        z[AT_ONCE + n] = z[AT_ONCE + n] * angle[n]


cdef inline void apply_thermostats(
    const Coupling* coupling, const Workspace* workspace, int64_t tick, bint midway, Py_ssize_t begin,
    Py_ssize_t count, double* memory,
    const real* like, Py_ssize_t row,
) noexcept nogil:
    cdef const Plan* plan = coupling.plan
    cdef const Noise* noise = coupling.noise
    cdef double* c = memory
    cdef double* wide = memory + AT_ONCE
    cdef double* z = memory + 2 * AT_ONCE   # dim rows of normal numbers, and one to spare
    cdef real* x = <real*> workspace.next
    cdef real* v = x + V * row
    cdef real* s = x + S * row
    cdef const real* a = <const real*> workspace.start
    cdef const real* moves = <const real*> coupling.moves
    cdef real h = <real> plan.h
    cdef real half = h / 2
    cdef real keep, kick, u, w
    cdef double minus, one = 1
    cdef int64_t body
    cdef Py_ssize_t n, i
    cdef uint32_t which
    cdef int j
    for n in range(AT_ONCE):
        wide[n] = 0
    for n in range(count):
        minus = noise.friction[(workspace.first + begin + n) * noise.friction_step] * <double> h
        wide[n] = -minus
    apply(noise, EXP, c, wide)
    for n in range(count):
        minus = one - c[n]
        wide[n] = root(minus * (one + c[n]) * noise.heat[(workspace.first + begin + n) * noise.heat_step])
        if moves != NULL and not moves[begin + n] > 0:
            wide[n] = 0
    for which in range(<uint32_t> (plan.dim + 1) // 2):
        normals(
            noise, tick, workspace.first + begin, count, which, z + 2 * which * AT_ONCE,
            memory + (2 + MAX_DIM + 1) * AT_ONCE
        )
    for j in range(plan.dim):
        for n in range(count):
            body = workspace.first + begin + n
            if plan.slots != NULL and not plan.slots.alive[body]:
                continue
            i = j * workspace.plane + begin + n
            keep = <real> c[n]
            kick = <real> (wide[n] * z[j * AT_ONCE + n])
            if midway:
                u = v[i] - half * a[i]
                w = keep * u + kick
                x[i] = x[i] + half * (w - u)
                v[i] = w + half * a[i]
                continue
            v[i] = keep * v[i] + kick
            if verlet(plan.scheme):
                u = keep * (x[i] - s[i])
                s[i] = x[i] - (u + h * kick)


cdef inline void apply_thermostat(
    const Coupling* coupling, const Workspace* workspace, int64_t tick, bint midway, const vec* like,
) noexcept nogil:
    """Apply friction and noise to the next state; midway: after the opening of `velocity_verlet`."""
    cdef double room_for_rows[(3 + MAX_DIM + 1) * AT_ONCE + 8]
    cdef double* memory = <double*> (<size_t> (<char*> room_for_rows + 63) & ~<size_t> 63)
    cdef const float* narrow = NULL
    cdef const double* wide = NULL
    cdef Py_ssize_t begin = 0
    cdef Py_ssize_t count
    while begin < workspace.count:
        count = min(<Py_ssize_t> AT_ONCE, workspace.count - begin)
        if sizeof(vec) // width(like) == sizeof(float):
            apply_thermostats(coupling, workspace, tick, midway, begin, count, memory, narrow, workspace.row)
        else:
            apply_thermostats(coupling, workspace, tick, midway, begin, count, memory, wide, workspace.row)
        begin += AT_ONCE
