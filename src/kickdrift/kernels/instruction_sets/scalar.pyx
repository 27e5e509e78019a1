"""The kernels that take one number after the other: for all instruction sets, compiled for any processor."""

from cpython.pycapsule cimport PyCapsule_New

from ..simd.rounding cimport require_rounding
from .scalar_table cimport fill_scalar
from ..abi.tables cimport Kernels

require_rounding(__name__)

cdef Kernels[2] kernels  # for float, for double
fill_scalar(&kernels[0], <const float*> NULL)
fill_scalar(&kernels[1], <const double*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
