# Self-test of IEEE 754 rounding: each operation must round once, to the type of its operands.
#
# Only then are results bitwise equal on every machine. Contraction of a * b + c, x87 registers and -ffast-math violate
# this rule. Compiler flags are per module, so every module that computes tests itself when it is imported.

from .vec cimport f32vec  # unused, but it includes the C types of vec.pxd

cdef extern from *:
    """
    /* These differences must be 0 in all lanes: the last term of (1 + u)^2 = 1 + 2 u + u^2 is rounded away, and so
       is a small number added to a large one. Volatile, so that compilers cannot fold constants. */
    #define KD_AS_WRITTEN(name, vec, number, small, large) \
        static int name(void) { \
            static volatile number tiny = small, huge = large; \
            union { vec all; number each[sizeof(vec) / sizeof(number)]; } a, p, h, rest[3]; \
            int i, number_of = (int)(sizeof(vec) / sizeof(number)), exact = 1; \
            for (i = 0; i < number_of; i++) { \
                a.each[i] = 1 + tiny; \
                p.each[i] = 1 + 2 * tiny; \
                h.each[i] = huge; \
            } \
            rest[0].all = a.all * a.all - p.all; \
            rest[1].all = p.all - a.all * a.all; \
            rest[2].all = (a.all + h.all) - h.all; \
            for (i = 0; i < number_of; i++) \
                exact &= rest[0].each[i] == 0 && rest[1].each[i] == 0 && rest[2].each[i] == 0; \
            return exact; \
        }
    KD_AS_WRITTEN(kd_as_written_f32, float, float, 0x1p-12f, 0x1p60f)
    KD_AS_WRITTEN(kd_as_written_f64, double, double, 0x1p-27, 0x1p60)
    KD_AS_WRITTEN(kd_as_written_f32s, kd_f32, float, 0x1p-12f, 0x1p60f)
    KD_AS_WRITTEN(kd_as_written_f64s, kd_f64, double, 0x1p-27, 0x1p60)
    """
    bint as_written_f32 "kd_as_written_f32"() noexcept nogil
    bint as_written_f64 "kd_as_written_f64"() noexcept nogil
    bint as_written_f32s "kd_as_written_f32s"() noexcept nogil
    bint as_written_f64s "kd_as_written_f64s"() noexcept nogil


cdef inline bint rounds() noexcept nogil:
    return as_written_f32() and as_written_f64() and as_written_f32s() and as_written_f64s()


cdef inline int require_rounding(str module, bint parts_round=True) except -1:
    """Raise ImportError if this module, or a part linked to it, does not round as IEEE 754 says."""
    if not (parts_round and rounds()):
        raise ImportError(
            f"{module}: this build does not round after each operation (a * b + c is contracted, or registers are wider"
            " than their numbers), so that its results would not be those of other builds; build it with"
            " -ffp-contract=off or /fp:precise, and without -ffast-math"
        )
    return 0
