# What the module for bodies that are not left alone offers, for each instruction set.

from .lanes cimport f32lane, f64lane
from .plan cimport Job
from .swept cimport run
from .sweptplan cimport Sweep, SweptTable


cdef inline void run_f32(const Sweep* sweep, Job* job) noexcept nogil:
    cdef f32lane* like = NULL
    run(sweep, job, like)


cdef inline void run_f64(const Sweep* sweep, Job* job) noexcept nogil:
    cdef f64lane* like = NULL
    run(sweep, job, like)


cdef inline void fill(SweptTable* f32, SweptTable* f64) noexcept:
    f32.run = run_f32
    f64.run = run_f64
