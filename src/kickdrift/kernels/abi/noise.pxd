# Arguments of the kernel in noise.pxd.

from libc.stdint cimport int64_t, uint64_t

ctypedef void (*OperateWide)(
    int code, Py_ssize_t vectors, char* out,
    const char* a, Py_ssize_t a_step, const char* b, Py_ssize_t b_step,
) noexcept nogil

ctypedef struct Noise:
    uint64_t seed
    const int64_t* generation   # of the body in each slot; or NULL, for the first in all
    const double* friction      # 1/s, of each body or of all: then it is 0 to the next
    Py_ssize_t friction_step
    const double* heat          # temperature / mass
    Py_ssize_t heat_step
    OperateWide operate         # functions of float64
    Py_ssize_t width            # numbers in its vectors
