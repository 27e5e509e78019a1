/* What the machine gives: its units for additions and products, and passes over arrays that any step has to make.
   VEC is a vector of REAL of BYTES bytes. Each function does its work `times` times. */

#include <stdint.h>

typedef REAL VEC __attribute__((vector_size(BYTES), aligned(BYTES)));
#define AGAIN __asm__ volatile("" ::: "memory")

/* Eight chains of additions or of products, or four of each: vectors per call. */
static VEC sink;
#define UNITS(name, A, B)                                                                                             \
    void name(long times) {                                                                                           \
        VEC a, b, c, d, e, f, g, h, k = (VEC){0} + (REAL)1.0000001;                                                   \
        a = b = c = d = e = f = g = h = k;                                                                            \
        for (long i = 0; i < times; i++) {                                                                            \
            a = a A k, b = b B k, c = c A k, d = d B k, e = e A k, f = f B k, g = g A k, h = h B k;                   \
            __asm__ volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h));            \
        }                                                                                                             \
        sink = a + b + c + d + e + f + g + h;                                                                         \
    }
UNITS(additions, +, +)
UNITS(products, *, *)
UNITS(both, +, *)

/* A dependent addition of integers takes one cycle. */
void cycles(long times) {
    for (long i = 0, a = 0; i < times; i++) __asm__ volatile("add $1, %0" : "+r"(a));
}

/* What surrounds the evaluation of a function of all bodies, gravity and `out` in: an array of zeros, and a step of
   semi-implicit Euler in its place. */
void euler(long times, long n, VEC *restrict out, VEC *restrict x, VEC *restrict v) {
    const REAL h = (REAL)1e-4;
    for (; times > 0; times--) {
        for (long i = 0; i < n; i++) out[i] = (VEC){0};
        AGAIN;
        for (long i = 0; i < n; i++) {
            v[i] = v[i] + h * (h + h * out[i]);
            x[i] = x[i] + h * v[i];
        }
        AGAIN;
    }
}

/* The same with velocity Verlet, beside the last completed step (x, v) and with the last accelerations (p). */
void verlet(
    long times, long n, VEC *restrict out, VEC *restrict x, VEC *restrict v, VEC *restrict y, VEC *restrict u,
    VEC *restrict p
) {
    const REAL h = (REAL)1e-4, half = h / 2;
    for (; times > 0; times--) {
        VEC *swap;
        for (long i = 0; i < n; i++) {
            y[i] = x[i] + h * (v[i] + half * p[i]);
            u[i] = v[i] + h * p[i];
        }
        AGAIN;
        for (long i = 0; i < n; i++) out[i] = (VEC){0};
        AGAIN;
        for (long i = 0; i < n; i++) {
            VEC a = h + h * out[i];
            u[i] = u[i] + half * (a - p[i]);
            p[i] = a;
        }
        AGAIN;
        swap = x, x = y, y = swap;
        swap = v, v = u, u = swap;
    }
}

/* A step of semi-implicit Euler under gravity, and the same that keeps the state before it. */
void step(long times, long n, VEC *restrict x, VEC *restrict v) {
    const REAL h = (REAL)1e-4;
    for (; times > 0; times--) {
        for (long i = 0; i < n; i++) {
            v[i] = v[i] + h;
            x[i] = x[i] + h * v[i];
        }
        AGAIN;
    }
}

void kept(long times, long n, VEC *restrict x, VEC *restrict v, VEC *restrict y, VEC *restrict u) {
    const REAL h = (REAL)1e-4;
    for (; times > 0; times--) {
        for (long i = 0; i < n; i++) {
            y[i] = x[i], u[i] = v[i];
            v[i] = v[i] + h;
            x[i] = x[i] + h * v[i];
        }
        AGAIN;
    }
}

/* What surrounds a function of forces.c: `out` full of zeros, the call, and semi-implicit Euler, for so many steps of
   each tile, which lies in planes and stays in the first-level cache. */
typedef int FORCE(double, int64_t, int64_t, int64_t, int64_t, const void *, const void *, void *, void *);
enum { TILE = 192, TILE_VECTORS = 3 * TILE * sizeof(REAL) / BYTES };

void own(long times, long tiles, VEC *restrict x, VEC *restrict v, FORCE *force, void *data) {
    const REAL h = (REAL)1e-4;
    VEC out[TILE_VECTORS];
    for (; tiles > 0; tiles--, x += TILE_VECTORS, v += TILE_VECTORS)
        for (long step = 0; step < times; step++) {
            for (long i = 0; i < TILE_VECTORS; i++) out[i] = (VEC){0};
            AGAIN;
            force(0, 0, TILE, 3, TILE, x, v, out, data);
            for (long i = 0; i < TILE_VECTORS; i++) {
                v[i] = v[i] + h * out[i];
                x[i] = x[i] + h * v[i];
            }
            AGAIN;
        }
}

/* What a wall that all bodies touch has at least to read and write in each step: it compares the velocity before the
   step with that after it, and changes both places and velocities. */
void wall(long times, long tiles, VEC *restrict x, VEC *restrict v, const VEC *restrict old) {
    for (; tiles > 0; tiles--, x += TILE_VECTORS, v += TILE_VECTORS, old += TILE_VECTORS)
        for (long step = 0; step < times; step++) {
            for (long i = 0; i < TILE_VECTORS; i++) {
                const VEC gain = v[i] - old[i];
                x[i] = x[i] - gain;
                v[i] = v[i] - gain;
            }
            AGAIN;
        }
}
