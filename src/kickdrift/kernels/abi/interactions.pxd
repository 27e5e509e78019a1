# What the kernels of interactions.pxd are told.

from libc.stdint cimport int64_t, uint8_t

from .constraints cimport Torus

cdef enum:
    BOTH_WAYS = 32      # bodies from which on it pays to work out a pair's attraction once for both

ctypedef struct NBody:
    int64_t n           # bodies, all of which attract
    const void* mu      # G m of each
    const void* e2
    const uint8_t* alive    # which of them do, where bodies come and go; else NULL

# Numbers of springs are padded to whole vectors of any kind; what pads them joins body 0 to itself.
ctypedef struct Springs:
    Torus torus
    int64_t count
    bint damped
    const int64_t* first
    const int64_t* second
    const void* k
    const void* rest
    const void* c
