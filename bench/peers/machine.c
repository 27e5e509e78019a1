/* What the machine gives: its units for additions and products, and passes over arrays that any step has to make.
   VEC is a vector of REAL of BYTES bytes. Each function does its work `times` times. */

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
