"""A part of the module of an instruction set: its kernels for formulas and functions of arrays.

Of its C the linker keeps the one function below, and what that needs: nobody imports it.
"""

from .formulas_table cimport fill_formulas
from ..simd.rounding cimport rounds
from ..simd.vec cimport f32vec, f64vec
from ..abi.tables cimport Kernels


cdef public bint kickdrift_fill_formulas(void* kernels) noexcept nogil:
    """Enter them for float and for double; does this part round as it should?"""
    fill_formulas(<Kernels*> kernels, <f32vec*> NULL)
    fill_formulas(<Kernels*> kernels + 1, <f64vec*> NULL)
    return rounds()
