/* Forces for test_native.py, for each type of numbers. */
#include <math.h>
#include <time.h>
#include "kickdrift/native.h"

#define FORCES(T, name) \
    int gravity_##name( \
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
        const T *x, const T *v, T *out, void *data) \
    { \
        const T *g = data; \
        for (int64_t j = 0; j < dim; j++) \
            for (int64_t i = 0; i < count; i++) out[j * stride + i] = g[j]; \
        return 0; \
    } \
    int drag_##name( \
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
        const T *x, const T *v, T *out, void *data) \
    { \
        const T c = *(const T *)data; \
        for (int64_t j = 0; j < dim; j++) \
            for (int64_t i = 0; i < count; i++) out[j * stride + i] = -(c * v[j * stride + i]); \
        return 0; \
    } \
    int spring_##name( \
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
        const T *x, const T *v, T *out, void *data) \
    { \
        const T k = ((const T *)data)[0], *p = (const T *)data + 1; \
        for (int64_t j = 0; j < dim; j++) \
            for (int64_t i = 0; i < count; i++) out[j * stride + i] = -(k * (x[j * stride + i] - p[j])); \
        return 0; \
    } \
    int well_##name( /* PointGravity about the origin */ \
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
        const T *x, const T *v, T *out, void *data) \
    { \
        const T mu = *(const T *)data; \
        for (int64_t i = 0; i < count; i++) { \
            T q = 0, r, f; \
            for (int64_t j = 0; j < dim; j++) q = q + x[j * stride + i] * x[j * stride + i]; \
            r = sizeof(T) == 4 ? (T)sqrtf(q) : (T)sqrt(q); \
            f = mu / (q * r); \
            for (int64_t j = 0; j < dim; j++) out[j * stride + i] = -(f * x[j * stride + i]); \
        } \
        return 0; \
    } \
    int which_##name( /* the number of the body and the time */ \
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
        const T *x, const T *v, T *out, void *data) \
    { \
        for (int64_t i = 0; i < count; i++) out[i] = (T)(first + i) + (T)t; \
        return 0; \
    } \
    int fail_##name( /* from a time on, in the tile of a body; or NaN for that body */ \
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
        const T *x, const T *v, T *out, void *data) \
    { \
        const double *when = data; \
        const int64_t body = (int64_t)when[1]; \
        if (t < when[0] || body < first || body >= first + count) return 0; \
        if (when[2] != 0) return (int)when[2]; \
        out[body - first] = (T)NAN; \
        return 0; \
    }

#define SLOW(T, name) \
    int slow_##name( /* a hundredth of a second */ \
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride, \
        const T *x, const T *v, T *out, void *data) \
    { \
        const clock_t until = clock() + CLOCKS_PER_SEC / 100; \
        while (clock() < until) continue; \
        return 0; \
    }

#define FLOWS(T, name) \
    int lorenz_##name( \
        double t, int64_t first, int64_t count, int64_t dim, const T *y, T *out, void *data) \
    { \
        const T sigma = 10, rho = 28, beta = (T)(8.0 / 3.0); \
        for (int64_t i = 0; i < count; i++, y += 3, out += 3) { \
            out[0] = sigma * (y[1] - y[0]); \
            out[1] = y[0] * (rho - y[2]) - y[1]; \
            out[2] = y[0] * y[1] - beta * y[2]; \
        } \
        return 0; \
    } \
    int stop_##name( /* from a time on; y' = t before */ \
        double t, int64_t first, int64_t count, int64_t dim, const T *y, T *out, void *data) \
    { \
        for (int64_t i = 0; i < count * dim; i++) out[i] = (T)t; \
        return t < *(const double *)data ? 0 : 9; \
    } \
    int wait_##name( /* a twentieth of a second */ \
        double t, int64_t first, int64_t count, int64_t dim, const T *y, T *out, void *data) \
    { \
        const clock_t until = clock() + CLOCKS_PER_SEC / 20; \
        while (clock() < until) continue; \
        return 0; \
    }

FORCES(float, f32)
FORCES(double, f64)
SLOW(float, f32)
SLOW(double, f64)
FLOWS(float, f32)
FLOWS(double, f64)
