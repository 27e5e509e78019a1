/* Types of native callbacks. kickdrift calls them without the GIL, except for small work.
 *
 * They return 0. Any other number ends the step: CallbackError then contains it. T is float or double.
 */
#ifndef KICKDRIFT_NATIVE_H
#define KICKDRIFT_NATIVE_H

#include <stdint.h>

/* For kickdrift.NativeForce: write the forces on bodies first to first + count, once or more per step.
 *
 * Component j of body first + i is at [j * stride + i] of position (m), velocity (m/s) and out, which
 * starts at zero. Numbers past `count` may be read and written; they are ignored. t: s.
 */
typedef int (*kickdrift_force_f32)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const float *position, const float *velocity, float *out, void *user_data);
typedef int (*kickdrift_force_f64)(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const double *position, const double *velocity, double *out, void *user_data);

/* For kickdrift.flows.Native: the right-hand side of y' = f(t, y) for trajectories first to first + count.
 *
 * Component j of trajectory first + i is at [i * dim + j] of y and of out, which starts at zero.
 */
typedef int (*kickdrift_flow_f32)(
    double t, int64_t first, int64_t count, int64_t dim, const float *y, float *out, void *user_data);
typedef int (*kickdrift_flow_f64)(
    double t, int64_t first, int64_t count, int64_t dim, const double *y, double *out, void *user_data);

/* Names of PyCapsules that contain such a function; their context is the user data. */
#define KICKDRIFT_FORCE_F32 "kickdrift_force_f32"
#define KICKDRIFT_FORCE_F64 "kickdrift_force_f64"
#define KICKDRIFT_FLOW_F32 "kickdrift_flow_f32"
#define KICKDRIFT_FLOW_F64 "kickdrift_flow_f64"

#endif
