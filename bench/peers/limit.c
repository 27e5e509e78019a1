/* The limit: each case fused by hand, for exactly this case. No general library can beat it by much.

   REAL and BYTES (of a vector) come from the command line; flags and instruction set are those of kickdrift's
   kernels, and so is the order of operations: the bits have to be the same.

   Vectors of GCC's extension, B of them side by side to hide the latency of additions, held in registers through
   all steps. Plain loops with restrict over blocks in the first-level cache came out 1.5 to 3 times slower. */

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

/* A point mass: B vectors of bodies, three components each. */

typedef struct { lane x, y, z; } triple;

INLINE triple pull(const triple *x, const lane *k)
{
    const lane dx = x->x - k[0], dy = x->y - k[1], dz = x->z - k[2];
    const lane q = ((dx * dx + dy * dy) + dz * dz) + k[4];
    const lane f = k[3] / (q * root(q));
    return (triple){f * dx, f * dy, f * dz};
}

INLINE void point_euler(triple *x, triple *v, const lane *k, lane h, long steps, const int B)
{
    while (steps--) EACH {
        const triple a = pull(&x[i], k);
        v[i].x -= h * a.x, v[i].y -= h * a.y, v[i].z -= h * a.z;
        x[i].x += h * v[i].x, x[i].y += h * v[i].y, x[i].z += h * v[i].z;
    }
}

INLINE void kick(lane *x, lane *v, lane a, lane h, lane half)
{
    *x += h * (*v - half * a);
    *v -= h * a;
}

INLINE void point_verlet(triple *x, triple *v, const lane *k, lane h, long steps, const int B)
{
    const lane half = h / 2;
    triple a[B];
    EACH a[i] = pull(&x[i], k);
    while (steps--) EACH {
        kick(&x[i].x, &v[i].x, a[i].x, h, half);
        kick(&x[i].y, &v[i].y, a[i].y, h, half);
        kick(&x[i].z, &v[i].z, a[i].z, h, half);
        const triple b = pull(&x[i], k);
        v[i].x += half * (a[i].x - b.x), v[i].y += half * (a[i].y - b.y), v[i].z += half * (a[i].z - b.z);
        a[i] = b;
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

/* k: center, mu, softening squared. */
#define BODIES(name, scheme, lanes)                                                                       \
void name(REAL *x, REAL *v, long n, long body, long component, const REAL *constants, REAL dt, long steps) \
{                                                                                                         \
    enum { B = lanes };                                                                                   \
    const lane h = dt - (lane){};                                                                         \
    lane k[5];                                                                                            \
    triple p[B], u[B];                                                                                    \
    for (int i = 0; i < 5; i++) k[i] = constants[i] - (lane){};                                           \
    for (long first = 0; first < n; first += B * W) {                                                     \
        const long count = n - first < B * W ? n - first : B * W;                                         \
        take(p, x, first, count, body, component, B), take(u, v, first, count, body, component, B);       \
        scheme(p, u, k, h, steps, B);                                                                     \
        give(p, x, first, count, body, component, B), give(u, v, first, count, body, component, B);       \
    }                                                                                                     \
}

BODIES(well_euler, point_euler, BODY_LANES)
BODIES(well_verlet, point_verlet, BODY_LANES)
