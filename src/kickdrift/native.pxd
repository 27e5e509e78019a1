# Functions in Cython for kd.NativeForce and kd.flows.Native, with kickdrift.get_include() on the include path:
#
#     from kickdrift.native cimport force_f64
#
#     cdef int pull(
#         double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
#         const double* position, const double* velocity, double* out, void* user_data,
#     ) noexcept nogil:
#         ...
#     PULL = force_f64(pull, NULL)      # for kd.NativeForce(PULL)
#
# Arguments are described in include/kickdrift/native.h. The memory of user_data must outlive the
# capsule.

from cpython.pycapsule cimport PyCapsule_New, PyCapsule_SetContext
from libc.stdint cimport int64_t

cdef extern from "kickdrift/native.h" nogil:
    ctypedef int (*kickdrift_force_f32)(
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
        const float* position, const float* velocity, float* out, void* user_data,
    ) noexcept nogil
    ctypedef int (*kickdrift_force_f64)(
        double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
        const double* position, const double* velocity, double* out, void* user_data,
    ) noexcept nogil
    ctypedef int (*kickdrift_flow_f32)(
        double t, int64_t first, int64_t count, int64_t dim, const float* y, float* out, void* user_data,
    ) noexcept nogil
    ctypedef int (*kickdrift_flow_f64)(
        double t, int64_t first, int64_t count, int64_t dim, const double* y, double* out, void* user_data,
    ) noexcept nogil
    const char* KICKDRIFT_FORCE_F32
    const char* KICKDRIFT_FORCE_F64
    const char* KICKDRIFT_FLOW_F32
    const char* KICKDRIFT_FLOW_F64


cdef inline object capsule(void* function, const char* name, void* user_data):
    made = PyCapsule_New(function, name, NULL)
    PyCapsule_SetContext(made, user_data)
    return made


cdef inline object force_f32(kickdrift_force_f32 function, void* user_data):
    return capsule(<void*> function, KICKDRIFT_FORCE_F32, user_data)


cdef inline object force_f64(kickdrift_force_f64 function, void* user_data):
    return capsule(<void*> function, KICKDRIFT_FORCE_F64, user_data)


cdef inline object flow_f32(kickdrift_flow_f32 function, void* user_data):
    return capsule(<void*> function, KICKDRIFT_FLOW_F32, user_data)


cdef inline object flow_f64(kickdrift_flow_f64 function, void* user_data):
    return capsule(<void*> function, KICKDRIFT_FLOW_F64, user_data)
