/* The limit: each case fused by hand, for exactly this case. No general library can beat it by much.

   REAL and BYTES (of a vector) come from the command line; flags and instruction set are those of kickdrift's
   kernels, and so is the order of operations: the bits have to be the same.

   Vectors of GCC's extension, B of them side by side to hide the latency of additions, held in registers through
   all steps. Plain loops with restrict over blocks in the first-level cache take 1.3 times as long (Euler, AVX-512). */

#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

typedef REAL lane __attribute__((vector_size(BYTES), aligned(sizeof(REAL)), may_alias));
enum { W = BYTES / sizeof(REAL) };

#define EACH _Pragma("GCC unroll 24") for (int i = 0; i < B; i++)
#define INLINE static inline __attribute__((always_inline))

INLINE lane root(lane q)
{
#if defined(__AVX512F__)
    return sizeof(REAL) == 4 ? (lane)_mm512_sqrt_ps((__m512)q) : (lane)_mm512_sqrt_pd((__m512d)q);
#elif defined(__AVX__)
    return sizeof(REAL) == 4 ? (lane)_mm256_sqrt_ps((__m256)q) : (lane)_mm256_sqrt_pd((__m256d)q);
#elif defined(__SSE2__)
    return sizeof(REAL) == 4 ? (lane)_mm_sqrt_ps((__m128)q) : (lane)_mm_sqrt_pd((__m128d)q);
#else
    for (int i = 0; i < W; i++) q[i] = sizeof(REAL) == 4 ? sqrtf(q[i]) : sqrt(q[i]);
    return q;
#endif
}

/* Gravity and linear drag: components do not see each other, so a row-major array is a row of numbers as well as a
   plane of a component-major one; only the pattern of g differs. g: W * B numbers. */

INLINE void drag_euler(lane *x, lane *v, const lane *g, lane c, lane h, long steps, const int B)
{
    while (steps--) EACH {
        v[i] += h * (g[i] - c * v[i]);
        x[i] += h * v[i];
    }
}

INLINE void drag_verlet(lane *x, lane *v, const lane *g, lane c, lane h, long steps, const int B)
{
    const lane half = h / 2;
    while (steps--) EACH {
        lane a = g[i] - c * v[i];
        x[i] += h * (v[i] + half * a);
        v[i] += h * a;
        v[i] += half * ((g[i] - c * v[i]) - a);
    }
}

INLINE void drag_rk4(lane *x, lane *v, const lane *g, lane c, lane h, long steps, const int B)
{
    const lane half = h / 2, sixth = h / 6;
    while (steps--) EACH {
        lane v1 = v[i], a1 = g[i] - c * v1;
        lane v2 = v1 + half * a1, a2 = g[i] - c * v2;
        lane v3 = v1 + half * a2, a3 = g[i] - c * v3;
        lane v4 = v1 + h * a3, a4 = g[i] - c * v4;
        x[i] += sixth * (((v1 + 2 * v2) + 2 * v3) + v4);
        v[i] += sixth * (((a1 + 2 * a2) + 2 * a3) + a4);
    }
}

#define ROW(name, scheme, lanes)                                                                          \
void name(REAL *x, REAL *v, long count, const REAL *gravity, REAL drag, REAL dt, long steps)              \
{                                                                                                         \
    enum { B = lanes };                                                                                   \
    const lane c = drag - (lane){}, h = dt - (lane){};                                                    \
    lane g[B], p[B], u[B];                                                                                \
    memcpy(g, gravity, sizeof g);                                                                         \
    for (; count > 0; count -= B * W, x += B * W, v += B * W) {                                           \
        const long size = (count < B * W ? count : B * W) * sizeof(REAL);                                 \
        if (size == sizeof p) {                                                                           \
            EACH p[i] = ((lane *)x)[i], u[i] = ((lane *)v)[i];                                            \
            scheme(p, u, g, c, h, steps, B);                                                              \
            EACH ((lane *)x)[i] = p[i], ((lane *)v)[i] = u[i];                                            \
        } else {                                                                                          \
            memset(p, 0, sizeof p), memset(u, 0, sizeof u);                                               \
            memcpy(p, x, size), memcpy(u, v, size);                                                       \
            scheme(p, u, g, c, h, steps, B);                                                              \
            memcpy(x, p, size), memcpy(v, u, size);                                                       \
        }                                                                                                 \
    }                                                                                                     \
}

/* Rows of 3 components need a pattern of 3 vectors: B is a multiple of it. */
ROW(component_drag_euler, drag_euler, PLANE_LANES)
ROW(row_drag_euler, drag_euler, ROW_LANES)
ROW(component_drag_verlet, drag_verlet, PLANE_LANES)
ROW(row_drag_verlet, drag_verlet, ROW_LANES)
ROW(component_drag_rk4, drag_rk4, RK4_LANES)
ROW(row_drag_rk4, drag_rk4, RK4_LANES)

/* One force that looks at all components: B vectors of bodies, three components each. */

typedef struct { lane x, y, z; } triple;

enum { WELL, QUADRATIC, VORTEX };

INLINE lane dot(triple a) { return (a.x * a.x + a.y * a.y) + a.z * a.z; }
INLINE triple scaled(lane f, triple a) { return (triple){f * a.x, f * a.y, f * a.z}; }
INLINE triple plus(triple a, triple b) { return (triple){a.x + b.x, a.y + b.y, a.z + b.z}; }
INLINE triple minus(triple a, triple b) { return (triple){a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE triple cross(const lane *u, triple d)
{
    return (triple){u[1] * d.z - u[2] * d.y, u[2] * d.x - u[0] * d.z, u[0] * d.y - u[1] * d.x};
}

/* WHOLE: also what our terms do for any gravity and softening: it is added, and where there is no direction is no force. */
lane gravity[3];

INLINE lane quotient(lane a, lane q)
{
    typedef __typeof__(q > q) mask;
    const lane f = a / q;
    return WHOLE ? (lane)((mask)f & (q > (lane){0})) : f;
}

/* Minus the acceleration. k: a center or the wind, then mu and the softening squared, or the coefficient of drag, or
   minus the strength, the softening squared and the axis. */
INLINE triple alone(const int force, const triple *x, const triple *v, const lane *k)
{
    const triple from = {k[0], k[1], k[2]};
    if (force == QUADRATIC) {
        const triple u = minus(*v, from);
        return scaled(k[3] * root(dot(u)), u);
    }
    const triple d = minus(*x, from), t = cross(k + 5, d);
    if (force == VORTEX)
        return scaled(quotient(k[3], dot(t) + k[4]), t);
    const lane q = dot(d) + k[4];
    return scaled(quotient(k[3], q * root(q)), d);
}

INLINE triple pull(const int force, const triple *x, const triple *v, const lane *k)
{
    const triple a = alone(force, x, v, k);
    return WHOLE ? minus(a, (triple){gravity[0], gravity[1], gravity[2]}) : a;
}

INLINE void euler(const int force, triple *x, triple *v, const lane *k, lane h, long steps, const int B)
{
    while (steps--) EACH {
        v[i] = minus(v[i], scaled(h, pull(force, &x[i], &v[i], k)));
        x[i] = plus(x[i], scaled(h, v[i]));
    }
}

INLINE void verlet(const int force, triple *x, triple *v, const lane *k, lane h, long steps, const int B)
{
    const lane half = h / 2;
    triple a[B];
    EACH a[i] = pull(force, &x[i], &v[i], k);
    while (steps--) EACH {
        if (force == QUADRATIC) a[i] = pull(force, &x[i], &v[i], k); /* the velocity has changed since */
        x[i] = plus(x[i], scaled(h, minus(v[i], scaled(half, a[i]))));
        v[i] = minus(v[i], scaled(h, a[i]));
        const triple b = pull(force, &x[i], &v[i], k);
        v[i] = plus(v[i], scaled(half, minus(a[i], b)));
        a[i] = b;
    }
}

INLINE void leapfrog(const int force, triple *x, triple *v, const lane *k, lane h, long steps, const int B)
{
    const lane half = h / 2;
    while (steps--) EACH {
        x[i] = plus(x[i], scaled(half, v[i]));
        triple u = v[i];
        if (force == QUADRATIC) u = minus(u, scaled(half, pull(force, &x[i], &u, k))); /* by the midpoint rule */
        v[i] = minus(v[i], scaled(h, pull(force, &x[i], &u, k)));
        x[i] = plus(x[i], scaled(half, v[i]));
    }
}

INLINE triple weighted(triple a, triple b, triple c, triple d)
{
    const lane two = 2 - (lane){};
    return plus(plus(plus(a, scaled(two, b)), scaled(two, c)), d);
}

INLINE void rk4(const int force, triple *x, triple *v, const lane *k, lane h, long steps, const int B)
{
    const lane half = h / 2, sixth = h / 6;
    while (steps--) EACH {
        const triple v1 = v[i], a1 = pull(force, &x[i], &v1, k);
        const triple x2 = plus(x[i], scaled(half, v1)), v2 = minus(v[i], scaled(half, a1));
        const triple a2 = pull(force, &x2, &v2, k);
        const triple x3 = plus(x[i], scaled(half, v2)), v3 = minus(v[i], scaled(half, a2));
        const triple a3 = pull(force, &x3, &v3, k);
        const triple x4 = plus(x[i], scaled(h, v3)), v4 = minus(v[i], scaled(h, a3));
        const triple a4 = pull(force, &x4, &v4, k);
        x[i] = plus(x[i], scaled(sixth, weighted(v1, v2, v3, v4)));
        v[i] = minus(v[i], scaled(sixth, weighted(a1, a2, a3, a4)));
    }
}

INLINE void take(triple *to, const REAL *from, long first, long count, long body, long component, const int B)
{
    REAL room[3][B * W];
    for (int j = 0; j < 3; j++)
        for (long i = 0; i < B * W; i++) room[j][i] = i < count ? from[(first + i) * body + j * component] : 1;
    EACH memcpy(&to[i].x, room[0] + i * W, BYTES), memcpy(&to[i].y, room[1] + i * W, BYTES),
        memcpy(&to[i].z, room[2] + i * W, BYTES);
}

INLINE void give(const triple *from, REAL *to, long first, long count, long body, long component, const int B)
{
    REAL room[3][B * W];
    EACH memcpy(room[0] + i * W, &from[i].x, BYTES), memcpy(room[1] + i * W, &from[i].y, BYTES),
        memcpy(room[2] + i * W, &from[i].z, BYTES);
    for (int j = 0; j < 3; j++)
        for (long i = 0; i < count; i++) to[(first + i) * body + j * component] = room[j][i];
}

#define BODIES(name, scheme, force, lanes)                                                                \
void name(REAL *x, REAL *v, long n, long body, long component, const REAL *constants, REAL dt, long steps) \
{                                                                                                         \
    enum { B = lanes };                                                                                   \
    const lane h = dt - (lane){};                                                                         \
    lane k[8];                                                                                            \
    triple p[B], u[B];                                                                                    \
    for (int i = 0; i < 8; i++) k[i] = constants[i] - (lane){};                                           \
    for (long first = 0; first < n; first += B * W) {                                                     \
        const long count = n - first < B * W ? n - first : B * W;                                         \
        take(p, x, first, count, body, component, B), take(u, v, first, count, body, component, B);       \
        scheme(force, p, u, k, h, steps, B);                                                              \
        give(p, x, first, count, body, component, B), give(u, v, first, count, body, component, B);       \
    }                                                                                                     \
}

BODIES(well_euler, euler, WELL, BODY_LANES)
BODIES(well_verlet, verlet, WELL, BODY_LANES)
BODIES(well_leapfrog, leapfrog, WELL, BODY_LANES)
BODIES(well_rk4, rk4, WELL, BODY_RK4_LANES)
BODIES(wind_euler, euler, QUADRATIC, BODY_LANES)
BODIES(wind_verlet, verlet, QUADRATIC, BODY_LANES)
BODIES(wind_leapfrog, leapfrog, QUADRATIC, BODY_LANES)
BODIES(wind_rk4, rk4, QUADRATIC, BODY_RK4_LANES)
BODIES(vortex_euler, euler, VORTEX, BODY_LANES)
BODIES(vortex_verlet, verlet, VORTEX, BODY_LANES)
BODIES(vortex_leapfrog, leapfrog, VORTEX, BODY_LANES)
BODIES(vortex_rk4, rk4, VORTEX, BODY_RK4_LANES)
