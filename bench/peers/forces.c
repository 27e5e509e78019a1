/* Forces in C for bench/functions.py, written for compilers to vectorise. REAL is float or double. */
#include <math.h>
#include <stdint.h>

#define FORCE(name) int name(double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
    const REAL *restrict x, const REAL *restrict v, REAL *restrict out, void *data)

FORCE(nothing) { return 0; }

FORCE(gravity) {
    const REAL *g = data;
    for (int64_t j = 0; j < dim; j++)
        for (int64_t i = 0; i < count; i++) out[j * stride + i] = g[j];
    return 0;
}

FORCE(drag) {
    const REAL c = *(const REAL *)data;
    for (int64_t j = 0; j < dim; j++)
        for (int64_t i = 0; i < count; i++) out[j * stride + i] = -(c * v[j * stride + i]);
    return 0;
}

FORCE(spring) {
    const REAL k = *(const REAL *)data;
    for (int64_t j = 0; j < dim; j++)
        for (int64_t i = 0; i < count; i++) out[j * stride + i] = -(k * x[j * stride + i]);
    return 0;
}

FORCE(well) {
    const REAL mu = ((const REAL *)data)[0], e2 = ((const REAL *)data)[1];
    const REAL *restrict y = x + stride, *restrict z = x + 2 * stride;
    for (int64_t i = 0; i < count; i++) {
        const REAL q = x[i] * x[i] + y[i] * y[i] + z[i] * z[i] + e2;
        const REAL f = mu / (q * (sizeof(REAL) == 4 ? (REAL)sqrtf(q) : (REAL)sqrt(q)));
        out[i] = -(f * x[i]);
        out[stride + i] = -(f * y[i]);
        out[2 * stride + i] = -(f * z[i]);
    }
    return 0;
}
