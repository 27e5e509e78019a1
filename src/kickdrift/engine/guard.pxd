# Non-blocking lock: `acquire` fails if another thread has the flag. For Python with and without the GIL.

cdef extern from *:
    """
    #if defined(Py_GIL_DISABLED) && defined(_MSC_VER)
      #include <intrin.h>
      static inline int kd_acquire(volatile long* flag) { return !_InterlockedExchange(flag, 1); }
      static inline void kd_release(volatile long* flag) { _InterlockedExchange(flag, 0); }
    #elif defined(Py_GIL_DISABLED)
      static inline int kd_acquire(volatile long* flag) { return !__atomic_exchange_n(flag, 1, __ATOMIC_ACQUIRE); }
      static inline void kd_release(volatile long* flag) { __atomic_store_n(flag, 0, __ATOMIC_RELEASE); }
    #else
      /* The thread has the GIL, so no other thread runs between test and set. */
      static inline int kd_acquire(volatile long* flag) { if (*flag) return 0; *flag = 1; return 1; }
      static inline void kd_release(volatile long* flag) { *flag = 0; }
    #endif
    #if defined(_MSC_VER) && !defined(__clang__)
      #include <intrin.h>
      static inline long kd_increase(volatile long* number) { return _InterlockedIncrement(number); }
    #else
      static inline long kd_increase(volatile long* number) { return __atomic_add_fetch(number, 1, __ATOMIC_ACQ_REL); }
    #endif
    """
    ctypedef long guard_t "volatile long"
    long increase "kd_increase"(guard_t*) noexcept nogil    # add 1 atomically; return the new number
    bint acquire "kd_acquire"(guard_t*) noexcept nogil
    void release "kd_release"(guard_t*) noexcept nogil
