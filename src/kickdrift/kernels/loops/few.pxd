# All steps of a few bodies with mutual attraction in one loop, with the state in local arrays or registers.
#
# Passes over planes (passes.pxd) have an overhead of some 60 ns per step, more than the step itself.
#
# Latency limits two or three bodies: square root, quotient and position depend on each other. So the state of three
# bodies is in registers, body i in lane i. Rotating the lanes gives the body ahead (i + 1) and behind (i - 1): three
# pairs share one root and need one quotient per direction. With two bodies the third lane is padding: it attracts
# none, is attracted by none, and only uniform gravity acts on it.

from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from ..abi.plan cimport (
    ALTERNATE, COMPOSITION, DRIFT_KICK, EXTRA, H, HALF, KICK_DRIFT, MAX_DIM, PER_KICK, V, VELOCITY_VERLET, X, Plan,
)
from ..abi.coupled cimport Coupling, NBody
from ..forces.fields cimport values
from ..simd.vec cimport f32vec, vec, width  # the block below also uses C macros of vec.pxd
from .planes cimport aligned

# Quads: vectors of four numbers, float or double, where registers hold four doubles.
#
# Narrower instruction sets alias quads to the vectors of vec.pxd, so that the loops over vectors compile. These need
# no rotation of lanes. The code that rotates lanes is not called there: see `three` of CoupledTable.

cdef extern from *:
    """
    #if defined(KD_LANE_BYTES)  /* KD_WHERE: a where q > 0, else 0 */
      #define KD_WHERE(q, a) (__typeof__(a))(((q) > 0) & (__typeof__((q) > 0))(a))
    #else
      #define KD_WHERE(q, a) ((q) > 0 ? (a) : 0)
    #endif
    #if defined(KD_LANE_BYTES) && KD_LANE_BYTES >= 32
      #define KD_QUADS 1
      typedef float kd_q32 __attribute__((vector_size(16), aligned(4), may_alias));
      typedef double kd_q64 __attribute__((vector_size(32), aligned(8), may_alias));
      #define kd_root_q32(q) (kd_q32)_mm_sqrt_ps(q)
      #define kd_root_q64(q) (kd_q64)_mm256_sqrt_pd(q)
      #define kd_spread_q32(a) ((a) - (kd_q32){0})
      #define kd_spread_q64(a) ((a) - (kd_q64){0})
      #if defined(__clang__)
        #define KD_TURN(a, whole, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
      #else
        typedef int kd_at_q32 __attribute__((vector_size(16)));
        typedef long long kd_at_q64 __attribute__((vector_size(32)));
        #define KD_TURN(a, whole, ...) __builtin_shuffle(a, (whole){__VA_ARGS__})
      #endif
      #define kd_ahead_q32(a) KD_TURN(a, kd_at_q32, 1, 2, 0, 3)
      #define kd_ahead_q64(a) KD_TURN(a, kd_at_q64, 1, 2, 0, 3)
      #define kd_behind_q32(a) KD_TURN(a, kd_at_q32, 2, 0, 1, 3)
      #define kd_behind_q64(a) KD_TURN(a, kd_at_q64, 2, 0, 1, 3)
    #else
      #define KD_QUADS 0
      #define kd_q32 kd_f32
      #define kd_q64 kd_f64
      #define kd_root_q32 kd_root_f32
      #define kd_root_q64 kd_root_f64
      #define kd_spread_q32 kd_spread_f32
      #define kd_spread_q64 kd_spread_f64
      #define kd_ahead_q32(a) (a)
      #define kd_ahead_q64(a) (a)
      #define kd_behind_q32(a) (a)
      #define kd_behind_q64(a) (a)
    #endif
    """
    enum:
        QUADS "KD_QUADS"    # True if quads have four lanes
    ctypedef float f32quad "kd_q32"
    ctypedef double f64quad "kd_q64"
    f32quad root_f32 "kd_root_q32"(f32quad q) noexcept nogil
    f64quad root_f64 "kd_root_q64"(f64quad q) noexcept nogil
    f32quad spread_f32 "kd_spread_q32"(float a) noexcept nogil
    f64quad spread_f64 "kd_spread_q64"(double a) noexcept nogil
    # Rotate lanes 0, 1, 2: ahead is lane i + 1, behind is lane i - 1 (modulo 3)
    f32quad ahead_f32 "kd_ahead_q32"(f32quad a) noexcept nogil
    f64quad ahead_f64 "kd_ahead_q64"(f64quad a) noexcept nogil
    f32quad behind_f32 "kd_behind_q32"(f32quad a) noexcept nogil
    f64quad behind_f64 "kd_behind_q64"(f64quad a) noexcept nogil
    # a where q > 0, and zero elsewhere
    f32quad where_f32 "KD_WHERE"(f32quad q, f32quad a) noexcept nogil
    f64quad where_f64 "KD_WHERE"(f64quad q, f64quad a) noexcept nogil

ctypedef fused quad:
    f32quad
    f64quad


cdef inline quad quad_root(quad q) noexcept nogil:
    if quad is f32quad:
        return root_f32(q)
    else:
        return root_f64(q)


cdef inline quad quad_where(quad q, quad a) noexcept nogil:
    if quad is f32quad:
        return where_f32(q, a)
    else:
        return where_f64(q, a)


cdef inline quad quad_spread(const void* number, const quad* like) noexcept nogil:
    """Broadcast a number; `like` only selects the type."""
    if quad is f32quad:
        return spread_f32((<const float*> number)[0])
    else:
        return spread_f64((<const double*> number)[0])


cdef inline quad quad_ahead(quad a) noexcept nogil:
    if quad is f32quad:
        return ahead_f32(a)
    else:
        return ahead_f64(a)


cdef inline quad quad_behind(quad a) noexcept nogil:
    if quad is f32quad:
        return behind_f32(a)
    else:
        return behind_f64(a)


cdef enum:
    PLACES = 3
    VECTORS = 4     # maximum number of vectors per component; 1, 2 or 4, as in `attract` of forces/interactions.pxd
    MOST = 16       # maximum number of quads per component


cdef inline bint take(const char* numbers, Py_ssize_t size, int quads, double wanted, quad* to) noexcept nogil:
    """Copy `size` bytes to a zeroed buffer; return True if all copied numbers equal `wanted`."""
    cdef Py_ssize_t i
    cdef bint same = True
    memset(to, 0, quads * sizeof(quad))
    memcpy(to, numbers, size)
    if quad is f32quad:
        for i in range(size // 4):
            same = same and (<const float*> to)[i] == wanted
    else:
        for i in range(size // 8):
            same = same and (<const double*> to)[i] == wanted
    return same


cdef inline void attract_three(
    bint deep, const quad* x, quad e2, quad mu_ahead, quad mu_behind, quad* a,
) noexcept nogil:
    """Compute bitwise the same sums as `attract` in forces/interactions.pxd: 0 + a + b equals 0 + b + a.

    deep: True in 3-D. Lane i of mu_ahead has G m of the body ahead, which attracts body i. Lane i of mu_behind has G m
    of body i, which attracts the body ahead; after a rotation the lane has G m of the body behind.
    """
    cdef quad d[MAX_DIM]
    cdef quad other[MAX_DIM]
    cdef quad zero = e2 - e2
    cdef quad q, s, t
    cdef int c
    for c in range(MAX_DIM):
        d[c] = quad_ahead(x[c]) - x[c]
        other[c] = quad_behind(x[c]) - x[c]
    q = d[0] * d[0]
    q = q + d[1] * d[1]
    if deep:
        q = q + d[2] * d[2]
    q = q + e2
    q = q * quad_root(q)
    s = quad_where(q, mu_ahead / q)
    t = quad_where(q, mu_behind / q)
    t = quad_behind(t)
    for c in range(MAX_DIM):
        a[c] = zero + s * d[c]
        a[c] = a[c] + t * other[c]


cdef inline void accelerate(
    bint three, int dim, int quads, bint plain, const Coupling* coupling, const quad* x, const quad* v,
    const quad* mu, const quad* g, const quad* share, quad* a,
) noexcept nogil:
    """Compute accelerations of the current state. plain: no gravity, and all factors are 1."""
    cdef const NBody* bodies = <const NBody*> coupling.interaction[0].data
    cdef int c, i
    cdef Py_ssize_t lanes = sizeof(quad) // (4 if quad is f32quad else 8)
    if three:
        attract_three(coupling.plan.dim == MAX_DIM, x, quad_spread(bodies.e2, x), mu[0], mu[1], a)
    else:
        coupling.interaction[0].function(
            0, 0, coupling.plan.n, dim, quads * lanes, x, v, a, coupling.interaction[0].data,
        )
    if not plain:
        for c in range(dim):
            for i in range(c * quads, (c + 1) * quads):
                a[i] = g[i] + share[i - c * quads] * a[i]


cdef inline void step_few(
    bint three, int dim, int quads, const Coupling* coupling, Py_ssize_t steps, int64_t tick,
    const char* source, char* to, const char* constants, Py_ssize_t size, Py_ssize_t item, quad* like,
) noexcept nogil:
    """Advance a state by `steps` steps; `source` and `to` may be the same.

    three: at most three bodies. quads: quads per component. constants: the scheme's, each a vector of `size` bytes.
    item: bytes of a number.
    """
    cdef const Plan* plan = coupling.plan
    cdef Py_ssize_t plane = coupling.padded * item
    cdef Py_ssize_t bytes_ = plan.n * item
    cdef Py_ssize_t speed = (V - X) * plan.dim * plane
    cdef quad x[MOST * MAX_DIM]
    cdef quad v[MOST * MAX_DIM]
    cdef quad a[MOST * MAX_DIM]
    cdef quad p[MOST * MAX_DIM]
    cdef quad g[MOST * MAX_DIM]
    cdef quad share[MOST]
    cdef quad mu[2]
    cdef quad buffer[3 * MOST * MAX_DIM]
    # Constants of the scheme are broadcast to whole vectors, of which a quad is a part.
    cdef quad h = (<const quad*> (constants + H * size))[0]
    cdef quad half = (<const quad*> (constants + HALF * size))[0]
    cdef quad opening = h
    cdef quad kick = h
    cdef quad drift = h
    cdef int scheme = plan.scheme
    cdef int kicks = plan.kicks if scheme == COMPOSITION else 1
    # Without gravity and with factors of 1, g + factor * a is bitwise a: 1 * a is a, and so is 0 + a, because the sums
    # of `attract` start from zero and are never -0.
    cdef bint plain = take(values(&coupling.interaction[0].factor, 0, 0), bytes_, quads, 1, buffer)
    cdef Py_ssize_t step, i
    cdef int number, c
    for i in range(quads):
        share[i] = buffer[i]
    memset(buffer, 0, 3 * dim * quads * sizeof(quad))
    for c in range(plan.dim):
        plain &= take(values(&plan.g, c, 0), bytes_, quads, 0, buffer + (2 * dim + c) * quads)
        memcpy(buffer + c * quads, source + c * plane, bytes_)
        memcpy(buffer + (dim + c) * quads, source + speed + c * plane, bytes_)
    for i in range(dim * quads):
        x[i], v[i], g[i] = buffer[i], buffer[dim * quads + i], buffer[2 * dim * quads + i]
    if three:
        weigh(plan.n, <const NBody*> coupling.interaction[0].data, mu)
    if scheme == VELOCITY_VERLET:
        accelerate(three, dim, quads, plain, coupling, x, v, mu, g, share, p)
    elif scheme == COMPOSITION:
        opening = (<const quad*> (constants + EXTRA * size))[0]
    for step in range(steps):
        if plan.scheme == ALTERNATE:
            scheme = KICK_DRIFT if (tick + step) % 2 == 0 else DRIFT_KICK
        if scheme == VELOCITY_VERLET:
            for i in range(dim * quads):
                x[i] = x[i] + h * (v[i] + half * p[i])
                v[i] = v[i] + h * p[i]
        elif scheme != KICK_DRIFT:
            for i in range(dim * quads):
                x[i] = x[i] + opening * v[i]
        for number in range(kicks):
            accelerate(three, dim, quads, plain, coupling, x, v, mu, g, share, a)
            if scheme == COMPOSITION:
                kick = (<const quad*> (constants + (EXTRA + 2 + PER_KICK * number) * size))[0]
                drift = (<const quad*> (constants + (EXTRA + 5 + PER_KICK * number) * size))[0]
            for i in range(dim * quads):
                if scheme == VELOCITY_VERLET:
                    v[i] = v[i] + half * (a[i] - p[i])
                    p[i] = a[i]
                else:
                    v[i] = v[i] + kick * a[i]
            if scheme != VELOCITY_VERLET and scheme != DRIFT_KICK:
                for i in range(dim * quads):
                    x[i] = x[i] + drift * v[i]
    # Via a copy: variables whose address is taken would not stay in registers.
    for i in range(dim * quads):
        buffer[i], buffer[dim * quads + i] = x[i], v[i]
    for c in range(plan.dim):
        memcpy(to + c * plane, buffer + c * quads, bytes_)
        memcpy(to + speed + c * plane, buffer + (dim + c) * quads, bytes_)


cdef inline void weigh(Py_ssize_t n, const NBody* bodies, quad* mu) noexcept nogil:
    """Fill mu for `attract_three`: G m of the bodies ahead, then of the bodies themselves; 0 without a third body."""
    cdef Py_ssize_t item = sizeof(quad) // 4
    cdef Py_ssize_t i
    memset(mu, 0, 2 * sizeof(quad))
    for i in range(n):
        if (i + 1) % PLACES < n:
            memcpy(<char*> mu + i * item, <const char*> bodies.mu + (i + 1) % PLACES * item, item)
            memcpy(<char*> (mu + 1) + i * item, <const char*> bodies.mu + i * item, item)


cdef inline int vectors_of(Py_ssize_t n, const vec* like) noexcept nogil:
    """Vectors per component: 1, 2 or 4, because `attract` processes pairs of vectors."""
    return 1 if n <= width(like) else 2 if n <= 2 * width(like) else VECTORS


cdef inline void run_few(
    bint three, const Coupling* coupling, Py_ssize_t steps, int64_t tick, const char* source, char* to,
    const vec* like,
) noexcept nogil:
    """Select quads of the state's dtype. three: at most three bodies, in registers; otherwise loops over vectors."""
    if vec is f32vec:
        run_quads(three, coupling, steps, tick, source, to, like, <f32quad*> NULL)
    else:
        run_quads(three, coupling, steps, tick, source, to, like, <f64quad*> NULL)


cdef inline void run_quads(
    bint three, const Coupling* coupling, Py_ssize_t steps, int64_t tick, const char* source, char* to,
    const vec* like, quad* kind,
) noexcept nogil:
    cdef const Plan* plan = coupling.plan
    cdef const vec* k = aligned(plan.prepared, like)
    cdef const char* constants = <const char*> k
    cdef Py_ssize_t size = sizeof(vec)
    cdef Py_ssize_t item = size // width(like)
    cdef int quads = vectors_of(plan.n, like) * <int> (sizeof(vec) // sizeof(quad))
    if three:
        step_few(True, MAX_DIM, 1, coupling, steps, tick, source, to, constants, size, item, kind)
    else:
        step_few(False, plan.dim, quads, coupling, steps, tick, source, to, constants, size, item, kind)
