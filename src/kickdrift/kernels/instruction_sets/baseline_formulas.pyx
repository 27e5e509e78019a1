"""Part of an instruction set's module: kernels of formulas and of functions of arrays.

The linker keeps only `kickdrift_fill_formulas` and its callees; the module is never imported.
"""

from .formulas_table cimport fill_formulas
from ..simd.rounding cimport rounds
from ..simd.vec cimport f32vec, f64vec
from ..abi.tables cimport Kernels


cdef public bint kickdrift_fill_formulas(void* kernels) noexcept nogil:
    """Fill the tables for float and double; return whether this part rounds as IEEE 754 says."""
    fill_formulas(<Kernels*> kernels, <f32vec*> NULL)
    fill_formulas(<Kernels*> kernels + 1, <f64vec*> NULL)
    return rounds()
