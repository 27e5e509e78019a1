# Arguments of the kernel in noise.pxd.

from libc.stdint cimport int64_t, uint64_t

ctypedef void (*OperateWide)(
    int code, Py_ssize_t vectors, char* out,
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step,
) noexcept nogil

ctypedef struct Noise:
    uint64_t seed
    const int64_t* generation   # generation of the body in each slot; NULL: 1
    const double* friction      # friction rate, 1/s; per body (step 1) or one for all (step 0)
    Py_ssize_t friction_step
    const double* heat          # temperature / mass, per body or one for all
    Py_ssize_t heat_step
    OperateWide operate         # evaluates float64 functions
    Py_ssize_t width            # lanes of a float64 vector
