# Example of a user's extension module; test_native.py builds it against the installed package.

from libc.stdint cimport int64_t

from kickdrift.native cimport force_f32, force_f64


cdef int heavier(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const double* position, const double* velocity, double* out, void* user_data,
) noexcept nogil:
    cdef int64_t i, j
    for j in range(dim):
        for i in range(count):
            out[j * stride + i] = -(3.0 * (position[j * stride + i] - 0.5))
    return 0


cdef int lighter(
    double t, int64_t first, int64_t count, int64_t dim, int64_t stride,
    const float* position, const float* velocity, float* out, void* user_data,
) noexcept nogil:
    cdef int64_t i, j
    cdef float k = 3, half = 0.5
    for j in range(dim):
        for i in range(count):
            out[j * stride + i] = -(k * (position[j * stride + i] - half))
    return 0


FORCES = {"float32": force_f32(lighter, NULL), "float64": force_f64(heavier, NULL)}
