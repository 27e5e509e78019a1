"""Scalar kernels, shared by all instruction sets and compiled for any processor."""

from cpython.pycapsule cimport PyCapsule_New

from ..simd.rounding cimport require_rounding
from .scalar_table cimport fill_scalar
from ..abi.tables cimport Kernels

require_rounding(__name__)

cdef Kernels[2] kernels  # for float and double
fill_scalar(&kernels[0], <const float*> NULL)
fill_scalar(&kernels[1], <const double*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
