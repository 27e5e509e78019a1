/* A force in machine code, for kickdrift.NativeForce.
 *
 * Called for the bodies first to first + count, once or more per step, without the GIL. Component j of
 * body first + i is at [j * stride + i] of position (m), velocity (m/s) and out, which is full of zeros
 * and takes what the bodies are pushed with. The numbers behind `count` may be read and written; they
 * mean nothing. t: s. Return 0, or any other number to end the step: CallbackError then tells it.
 */
#ifndef KICKDRIFT_FORCE_H
#define KICKDRIFT_FORCE_H

#include <stdint.h>

typedef int (*kickdrift_force_f32)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const float *position, const float *velocity, float *out, void *user_data);

typedef int (*kickdrift_force_f64)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const double *position, const double *velocity, double *out, void *user_data);

/* What a PyCapsule with such a function is named; its context is the user data. */
#define KICKDRIFT_FORCE_F32 "kickdrift_force_f32"
#define KICKDRIFT_FORCE_F64 "kickdrift_force_f64"

#endif
