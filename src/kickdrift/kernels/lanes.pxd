# A lane is as many numbers as one register of the instruction set holds, stepped side by side.
#
# Cython takes lanes for plain numbers and writes ordinary C expressions; the compiler gives these
# expressions their vector meaning (GCC's and Clang's vector extensions). The same formula thus
# serves every width, and stays in registers where loops over arrays would only hope to. Where the
# extension is missing (MSVC) a lane is one number.
#
# Lanes may lie anywhere that their numbers may lie: the types ask for no more alignment.

cdef extern from *:
    """
    #if defined(__GNUC__)
      #if defined(__AVX512F__)
        #define KD_LANE_BYTES 64
      #elif defined(__AVX__)
        #define KD_LANE_BYTES 32
      #else
        #define KD_LANE_BYTES 16
      #endif
      typedef float kd_f32 __attribute__((vector_size(KD_LANE_BYTES), aligned(4), may_alias));
      typedef double kd_f64 __attribute__((vector_size(KD_LANE_BYTES), aligned(8), may_alias));
    #else
      typedef float kd_f32;
      typedef double kd_f64;
    #endif
    """
    ctypedef float f32lane "kd_f32"
    ctypedef double f64lane "kd_f64"

ctypedef fused lane:
    f32lane
    f64lane

ctypedef fused real:
    float
    double


cdef inline Py_ssize_t width(const lane* like) noexcept nogil:
    """Numbers in a lane; `like` only tells the type."""
    if lane is f32lane:
        return sizeof(f32lane) // sizeof(float)
    else:
        return sizeof(f64lane) // sizeof(double)
