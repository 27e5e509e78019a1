"""The kernels of an instruction set for coupled bodies, and for implicit steps of flows.

setup.py makes the modules of the other instruction sets of the same C.
"""

from cpython.pycapsule cimport PyCapsule_New

from .coupled_table cimport fill_coupled
from ..simd.rounding cimport require_rounding
from ..simd.vec cimport f32vec, f64vec
from ..abi.tables cimport Kernels, take_over

from importlib import import_module

require_rounding(__name__)

cdef Kernels[2] kernels  # for float, for double
take_over(kernels, import_module(__name__.replace("_coupled", "_formulas")).KERNELS)
fill_coupled(&kernels[0], <const float*> NULL, <const f32vec*> NULL)
fill_coupled(&kernels[1], <const double*> NULL, <const f64vec*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
