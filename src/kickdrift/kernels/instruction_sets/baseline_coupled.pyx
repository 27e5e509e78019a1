"""A part of the module of an instruction set: its kernels for coupled bodies, and for implicit steps of flows.

Of its C the linker keeps the one function below, and what that needs: nobody imports it.
"""

from .coupled_table cimport fill_coupled
from ..simd.rounding cimport rounds
from ..simd.vec cimport f32vec, f64vec
from ..abi.tables cimport Kernels

cdef extern from *:
    """
    /* Inlining large functions wherever they are called takes half as long again to compile, and is no faster. */
    #ifdef KICKDRIFT_INLINE  /* by setup.py, in a release */
      #undef CYTHON_INLINE
      #define CYTHON_INLINE
    #endif
    """

cdef public bint kickdrift_fill_coupled(void* kernels) noexcept nogil:
    """Enter them for float and for double; does this part round as it should?"""
    fill_coupled(<Kernels*> kernels, <const float*> NULL, <const f32vec*> NULL)
    fill_coupled(<Kernels*> kernels + 1, <const double*> NULL, <const f64vec*> NULL)
    return rounds()
