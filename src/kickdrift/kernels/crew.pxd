# Thread team for work of about a microsecond: too short for locks, which put threads to sleep.
#
# Work-sharing barrier: the leader waits only for parts already claimed. Helpers claim parts in a loop; a helper that
# has not started delays nothing, because the running threads claim all parts. The work description does not change
# until all parts are done: a thread with a claimed part may read it.

from libc.stdint cimport int64_t, uint32_t

from .abi.crew cimport DISMISSED, MOST_IN_CREW, NOTHING, Crew, PartFunction

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(_WIN32)
      __declspec(dllimport) int __stdcall SwitchToThread(void);
      #define kd_yield() SwitchToThread()
    #else
      #include <sched.h>
      #define kd_yield() sched_yield()
    #endif
    #if defined(_MSC_VER) && !defined(__clang__)
      #include <intrin.h>
      static uint32_t kd_read(const uint32_t *p) { return _InterlockedOr((volatile long *)p, 0); }
      static void kd_write(uint32_t *p, uint32_t q) { _InterlockedExchange((volatile long *)p, q); }
      static uint32_t kd_increase(uint32_t *p) { return _InterlockedIncrement((volatile long *)p); }
      static uint32_t kd_mark(uint32_t *p, uint32_t bit) { return _InterlockedOr((volatile long *)p, bit); }
      #if defined(_M_X64)
        #define kd_pause() _mm_pause()
      #else
        #define kd_pause()
      #endif
    #else
      static inline uint32_t kd_read(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
      static inline void kd_write(uint32_t *p, uint32_t q) { __atomic_store_n(p, q, __ATOMIC_RELEASE); }
      static inline uint32_t kd_increase(uint32_t *p) { return __atomic_add_fetch(p, 1, __ATOMIC_ACQ_REL); }
      static inline uint32_t kd_mark(uint32_t *p, uint32_t bit) { return __atomic_fetch_or(p, bit, __ATOMIC_ACQ_REL); }
      #if defined(__x86_64__)
        #define kd_pause() __builtin_ia32_pause()
      #elif defined(__aarch64__)
        #define kd_pause() __asm__ volatile("isb")  /* which takes as long as it does on x86-64 */
      #else
        #define kd_pause()
      #endif
    #endif
    """
    uint32_t read "kd_read"(const uint32_t*) noexcept nogil
    void write "kd_write"(uint32_t*, uint32_t) noexcept nogil
    uint32_t increase "kd_increase"(uint32_t*) noexcept nogil           # returns the new number
    uint32_t mark "kd_mark"(uint32_t*, uint32_t bit) noexcept nogil     # returns the bits before
    void pause "kd_pause"() noexcept nogil
    void give_way "kd_yield"() noexcept nogil

cdef enum:
    PATIENT = 1 << 10   # pauses before the core is yielded
    IDLE = 1 << 16      # pauses before an idle helper exits: some milliseconds


cdef inline void muster(Crew* crew, int64_t parts) noexcept nogil:
    """Initialize the team without work."""
    crew.done = crew.due = crew.here = 0
    crew.parts = min(parts, <int64_t> MOST_IN_CREW)
    write(&crew.taken, NOTHING)


cdef inline bint take_part(Crew* crew, int64_t own) noexcept nogil:
    """Run one unclaimed part, trying `own` first; False if all are claimed."""
    cdef int64_t number, part
    cdef uint32_t bit
    for number in range(crew.parts):
        part = (own + number) % crew.parts
        bit = (<uint32_t> 1) << part
        if read(&crew.taken) & bit == 0 and mark(&crew.taken, bit) & bit == 0:
            crew.work(crew.data, part, crew.parts)
            increase(&crew.done)
            return True
    return False


cdef inline void lead(Crew* crew, PartFunction work, const void* data) noexcept nogil:
    """Run all parts of some work and wait for them."""
    cdef int64_t pauses = 0
    crew.work, crew.data = work, data
    crew.due += <uint32_t> crew.parts
    write(&crew.taken, NOTHING & ~(((<uint32_t> 1) << crew.parts) - 1))
    while take_part(crew, 0):
        pass
    while read(&crew.done) != crew.due:
        wait_a_little(&pauses)


cdef inline void help(Crew* crew) noexcept nogil:
    """Worker loop: run parts until shutdown, or until idle for too long."""
    cdef int64_t own = increase(&crew.here)
    cdef int64_t pauses = 0
    while read(&crew.taken) != DISMISSED and pauses < IDLE:
        if take_part(crew, own):
            pauses = 0
        else:
            wait_a_little(&pauses)


cdef inline void wait_a_little(int64_t* pauses) noexcept nogil:
    pauses[0] += 1
    if pauses[0] % PATIENT == 0:
        give_way()
    else:
        pause()


cdef inline void dismiss(Crew* crew) noexcept nogil:
    write(&crew.taken, DISMISSED)
