"""Instruction sets of this processor and options of this build. This module is compiled to run on any processor."""

cdef extern from *:
    """
    #ifndef KICKDRIFT_FLAGS  /* defined by setup.py, like KICKDRIFT_BUILD */
      #define KICKDRIFT_FLAGS "unknown"
    #endif
    #ifndef KICKDRIFT_BUILD
      #define KICKDRIFT_BUILD "unknown"
    #endif

    #if defined(__clang__)
      #define KD_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
      #define KD_COMPILER "gcc " __VERSION__
    #elif defined(_MSC_VER)
      #define KD_STRING(x) #x
      #define KD_VALUE(x) KD_STRING(x)
      #define KD_COMPILER "msvc " KD_VALUE(_MSC_FULL_VER)
    #else
      #define KD_COMPILER "unknown"
    #endif

    /* Both checks also ask the operating system, which must save the vector registers of threads. */
    #if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
      static int kd_avx2(void) { __builtin_cpu_init(); return __builtin_cpu_supports("avx2"); }
      static int kd_avx512(void) {
          __builtin_cpu_init();
          return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")
              && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
              && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
              && __builtin_cpu_supports("avx512vl");
      }
    #elif defined(_M_X64)
      #include <immintrin.h>
      #include <intrin.h>
      static int kd_features(unsigned first, unsigned seventh, unsigned long long saved) {
          int r[4];
          first |= 1u << 27;  /* OSXSAVE: XGETBV is available */
          __cpuid(r, 1);
          if (((unsigned)r[2] & first) != first || (_xgetbv(0) & saved) != saved) return 0;
          __cpuidex(r, 7, 0);
          return ((unsigned)r[1] & seventh) == seventh;
      }
      static int kd_avx2(void) { return kd_features(0, 1u << 5, 0x06); }
      static int kd_avx512(void) {
          const unsigned fma = 1u << 12, bmi = (1u << 3) | (1u << 8), avx2 = 1u << 5;
          const unsigned f = 1u << 16, dq = 1u << 17, cd = 1u << 28, bw = 1u << 30, vl = 1u << 31;
          return kd_features(fma, bmi | avx2 | f | dq | cd | bw | vl, 0xe6);
      }
    #else
      static int kd_avx2(void) { return 0; }
      static int kd_avx512(void) { return 0; }
    #endif
    """
    const char* KD_COMPILER
    const char* KICKDRIFT_FLAGS
    const char* KICKDRIFT_BUILD
    bint kd_avx2()
    bint kd_avx512()

COMPILER = KD_COMPILER.decode()
FLAGS = KICKDRIFT_FLAGS.decode()
BUILD = KICKDRIFT_BUILD.decode()
SUPPORTED = ("baseline",) + (("avx2",) if kd_avx2() else ()) + (("avx512",) if kd_avx512() else ())
