# Work that several threads share in turns of a microsecond: too short for locks, which put threads to sleep.
#
# One leads. The others look for parts of its work, in a loop, until they are dismissed. Who comes late or is not there
# is not waited for: whoever is, takes all parts. The next turn begins when all parts of this one are done. So who has
# taken a part may read what it is about.

from libc.stdint cimport int64_t, uint64_t

from .abi.crew cimport MOST_IN_CREW, Crew, PartFunction

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
      static uint64_t kd_read(const uint64_t *p) { return _InterlockedOr64((volatile __int64 *)p, 0); }
      static void kd_write(uint64_t *p, uint64_t q) { _InterlockedExchange64((volatile __int64 *)p, q); }
      static void kd_increase(uint64_t *p) { _InterlockedIncrement64((volatile __int64 *)p); }
      static int kd_replace(uint64_t *p, uint64_t was, uint64_t q) {
          return (uint64_t)_InterlockedCompareExchange64((volatile __int64 *)p, q, was) == was;
      }
      #if defined(_M_X64)
        #define kd_pause() _mm_pause()
      #else
        #define kd_pause()
      #endif
    #else
      static inline uint64_t kd_read(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
      static inline void kd_write(uint64_t *p, uint64_t q) { __atomic_store_n(p, q, __ATOMIC_RELEASE); }
      static inline void kd_increase(uint64_t *p) { __atomic_add_fetch(p, 1, __ATOMIC_ACQ_REL); }
      static inline int kd_replace(uint64_t *p, uint64_t was, uint64_t q) {
          return __atomic_compare_exchange_n(p, &was, q, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
      }
      #if defined(__x86_64__)
        #define kd_pause() __builtin_ia32_pause()
      #elif defined(__aarch64__)
        #define kd_pause() __asm__ volatile("yield")
      #else
        #define kd_pause()
      #endif
    #endif
    """
    uint64_t read "kd_read"(const uint64_t*) noexcept nogil
    void write "kd_write"(uint64_t*, uint64_t) noexcept nogil
    void increase "kd_increase"(uint64_t*) noexcept nogil
    bint replace "kd_replace"(uint64_t*, uint64_t was, uint64_t q) noexcept nogil
    void pause "kd_pause"() noexcept nogil
    void give_way "kd_yield"() noexcept nogil

cdef enum:
    UPPER = 32          # bits of a turn's number
    PATIENT = 1 << 10   # pauses after which others may have the core


cdef inline uint64_t all_taken() noexcept nogil:
    return ((<uint64_t> 1) << MOST_IN_CREW) - 1


cdef inline uint64_t dismissed() noexcept nogil:
    return (<uint64_t> 1) << MOST_IN_CREW


cdef inline void muster(Crew* crew, int64_t parts) noexcept nogil:
    """Begin, with nothing to do yet."""
    crew.done = crew.due = 0
    crew.parts = min(parts, <int64_t> MOST_IN_CREW)
    write(&crew.turn, all_taken())


cdef inline bint take_part(Crew* crew, int64_t own) noexcept nogil:
    """Do a part that nobody has, `own` if it is one; is there any?"""
    cdef uint64_t turn = read(&crew.turn)
    cdef uint64_t bit
    cdef int64_t number, part
    if turn & all_taken() == all_taken():
        return False
    for number in range(crew.parts):
        part = (own + number) % crew.parts
        bit = (<uint64_t> 1) << part
        if turn & bit == 0:
            if replace(&crew.turn, turn, turn | bit):
                crew.work(crew.data, part, crew.parts)
                increase(&crew.done)
            return True
    return False


cdef inline void lead(Crew* crew, PartFunction work, const void* data) noexcept nogil:
    """Have all parts of some work done."""
    cdef uint64_t number = (read(&crew.turn) >> UPPER) + 1
    cdef int64_t pauses = 0
    crew.work, crew.data = work, data
    crew.due += crew.parts
    # Parts that are not there count as taken.
    write(&crew.turn, number << UPPER | (all_taken() & ~(((<uint64_t> 1) << crew.parts) - 1)))
    while take_part(crew, 0):
        pass
    while read(&crew.done) != crew.due:
        wait_a_little(&pauses)


cdef inline void wait_a_little(int64_t* pauses) noexcept nogil:
    pauses[0] += 1
    if pauses[0] % PATIENT == 0:
        give_way()
    else:
        pause()


cdef inline void help(Crew* crew, int64_t own) noexcept nogil:
    """Take parts until the leader dismisses all."""
    cdef int64_t pauses = 0
    while read(&crew.turn) & dismissed() == 0:
        if take_part(crew, own):
            pauses = 0
        else:
            wait_a_little(&pauses)


cdef inline void dismiss(Crew* crew) noexcept nogil:
    write(&crew.turn, all_taken() | dismissed())
