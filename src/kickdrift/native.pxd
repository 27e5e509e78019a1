# Forces in Cython: `from kickdrift.native cimport f64`, with kickdrift.get_include() on the include path.
#
#     cdef int pull(
#         double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
#         const double* position, const double* velocity, double* out, void* user_data,
#     ) noexcept nogil:
#         ...
#     PULL = f64(pull, NULL)      # for kd.NativeForce(PULL)
#
# What the arguments are is told in include/kickdrift/force.h.

from cpython.pycapsule cimport PyCapsule_New, PyCapsule_SetContext
from libc.stdint cimport int64_t

cdef extern from "kickdrift/force.h" nogil:
    ctypedef int (*force_f32 "kickdrift_force_f32")(
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
        const float* position, const float* velocity, float* out, void* user_data,
    ) noexcept nogil
    ctypedef int (*force_f64 "kickdrift_force_f64")(
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
        const double* position, const double* velocity, double* out, void* user_data,
    ) noexcept nogil
    const char* KICKDRIFT_FORCE_F32
    const char* KICKDRIFT_FORCE_F64


cdef inline object f32(force_f32 function, void* user_data):
    """A function for float32 arrays as NativeForce takes it; what user_data points to must outlive it."""
    capsule = PyCapsule_New(<void*> function, KICKDRIFT_FORCE_F32, NULL)
    PyCapsule_SetContext(capsule, user_data)
    return capsule


cdef inline object f64(force_f64 function, void* user_data):
    """The same for float64 arrays."""
    capsule = PyCapsule_New(<void*> function, KICKDRIFT_FORCE_F64, NULL)
    PyCapsule_SetContext(capsule, user_data)
    return capsule
