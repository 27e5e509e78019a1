# Copies between a row of numbers and memory of any stride: the one kind of loop that is not written in vectors.
#
# With the usual strides as constants compilers find better ways than number by number, if they may vectorise,
# which elsewhere makes code large and no faster.

cdef extern from *:
    """
    #include <string.h>
    #if defined(__GNUC__) && !defined(__clang__)
      #define KD_VECTORISED static __attribute__((noinline, optimize("tree-vectorize")))
    #else
      #define KD_VECTORISED static
    #endif
    #define KD_EACH(number, distance) \
        if (out) for (i = 0; i < count; i++) *(number *)(place + i * (distance)) = row[i]; \
        else for (i = 0; i < count; i++) row[i] = *(const number *)(place + i * (distance));
    #define KD_MOVE(name, number) \
        KD_VECTORISED void name(int out, number *row, char *place, Py_ssize_t stride, Py_ssize_t count) { \
            Py_ssize_t i; \
            const Py_ssize_t size = sizeof(number); \
            if (stride == size && out) memcpy(place, row, count * size); \
            else if (stride == size) memcpy(row, place, count * size); \
            else if (stride == 3 * size) { KD_EACH(number, 3 * size) } \
            else if (stride == 2 * size) { KD_EACH(number, 2 * size) } \
            else { KD_EACH(number, stride) } \
        }
    KD_MOVE(kd_move_f32, float)
    KD_MOVE(kd_move_f64, double)
    """
    void move_f32 "kd_move_f32"(bint out, float* row, char* place, Py_ssize_t stride, Py_ssize_t count) noexcept nogil
    void move_f64 "kd_move_f64"(bint out, double* row, char* place, Py_ssize_t stride, Py_ssize_t count) noexcept nogil
