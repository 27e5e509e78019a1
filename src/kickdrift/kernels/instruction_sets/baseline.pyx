"""The kernels of an instruction set.

setup.py makes the modules of the other instruction sets of the same C, and links each with its parts: what
baseline_coupled.pyx and baseline_formulas.pyx hold is compiled on its own, but is no module of its own.
"""

from cpython.pycapsule cimport PyCapsule_New

from .table cimport fill
from ..simd.rounding cimport require_rounding
from ..simd.vec cimport f32vec, f64vec
from ..abi.tables cimport Kernels, take_over

from . import scalar

cdef extern from *:
    """
    /* Each loop over bodies is written as many small functions: only inlining makes their constants constant. What
       compilers choose by themselves costs half of the speed. Kernels of coupled bodies do not need it. */
    #ifdef KICKDRIFT_INLINE  /* by setup.py, in a release */
      #undef CYTHON_INLINE
      #define CYTHON_INLINE KICKDRIFT_INLINE
    #endif
    int kickdrift_fill_coupled(void *);
    int kickdrift_fill_formulas(void *);
    """
    bint kickdrift_fill_coupled(void* kernels) noexcept
    bint kickdrift_fill_formulas(void* kernels) noexcept

cdef Kernels[2] kernels  # for float, for double
take_over(kernels, scalar.KERNELS)
require_rounding(__name__, kickdrift_fill_formulas(&kernels[0]) and kickdrift_fill_coupled(&kernels[0]))
fill(&kernels[0], <const float*> NULL, <const f32vec*> NULL)
fill(&kernels[1], <const double*> NULL, <const f64vec*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
