"""The kernels of an instruction set.

setup.py compiles the same C for the other instruction sets. Each module is linked with its parts baseline_coupled.pyx
and baseline_formulas.pyx, which are compiled separately but are no modules.
"""

from cpython.pycapsule cimport PyCapsule_New

from .table cimport fill
from ..simd.rounding cimport require_rounding
from ..simd.vec cimport f32vec, f64vec
from ..abi.tables cimport Kernels, take_over

from . import scalar

cdef extern from *:
    """
    /* Loops over bodies are written as many small functions, whose constants become constant only by inlining. The
       compilers' own choice is half as fast. Kernels of coupled bodies do not need it. */
    #ifdef KICKDRIFT_INLINE  /* defined by setup.py in release builds */
      #undef CYTHON_INLINE
      #define CYTHON_INLINE KICKDRIFT_INLINE
    #endif
    int kickdrift_fill_coupled(void *);
    int kickdrift_fill_formulas(void *);
    """
    bint kickdrift_fill_coupled(void* kernels) noexcept
    bint kickdrift_fill_formulas(void* kernels) noexcept

cdef Kernels[2] kernels  # for float and double
take_over(kernels, scalar.KERNELS)
require_rounding(__name__, kickdrift_fill_formulas(&kernels[0]) and kickdrift_fill_coupled(&kernels[0]))
fill(&kernels[0], <const float*> NULL, <const f32vec*> NULL)
fill(&kernels[1], <const double*> NULL, <const f64vec*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
