"""The kernels of an instruction set for formulas and functions of arrays.

setup.py makes the modules of the other instruction sets of the same C.
"""

from cpython.pycapsule cimport PyCapsule_New

from .formulas_table cimport fill_formulas
from ..simd.rounding cimport require_rounding
from ..simd.vec cimport f32vec, f64vec
from ..abi.tables cimport Kernels, take_over

from . import scalar

require_rounding(__name__)

cdef Kernels[2] kernels  # for float, for double
take_over(kernels, scalar.KERNELS)
fill_formulas(&kernels[0], <f32vec*> NULL)
fill_formulas(&kernels[1], <f64vec*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
