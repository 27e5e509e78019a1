"""The kernels for x86-64-v4, AVX-512: setup.py gives this module its flags."""

from cpython.pycapsule cimport PyCapsule_New

from .module cimport Kernels, fill
from .rounding cimport require_rounding

require_rounding(__name__)

cdef Kernels[2] kernels  # for float, for double
fill(&kernels[0], &kernels[1])
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
