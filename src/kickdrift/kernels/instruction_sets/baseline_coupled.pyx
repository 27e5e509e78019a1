"""Part of an instruction set's module: kernels of coupled bodies, and of implicit steps of flows.

The linker keeps only `kickdrift_fill_coupled` and its callees; this is never imported as a module.
"""

from .coupled_table cimport fill_coupled
from ..simd.rounding cimport rounds
from ..simd.vec cimport f32vec, f64vec
from ..abi.coupled cimport Kernels

cdef extern from *:
    """
    /* Forced inlining of large functions takes 50 % longer to compile and is no faster. */
    #ifdef KICKDRIFT_INLINE  /* defined by setup.py in release builds */
      #undef CYTHON_INLINE
      #define CYTHON_INLINE
    #endif
    """

cdef public bint kickdrift_fill_coupled(void* kernels) noexcept nogil:
    """Fill the tables for float and double; return whether this part rounds as IEEE 754 says."""
    fill_coupled(<Kernels*> kernels, <const float*> NULL, <const f32vec*> NULL)
    fill_coupled(<Kernels*> kernels + 1, <const double*> NULL, <const f64vec*> NULL)
    return rounds()
