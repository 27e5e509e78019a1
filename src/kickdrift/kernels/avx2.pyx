"""The kernels for x86-64 with AVX2: setup.py gives this module its flags."""

from cpython.pycapsule cimport PyCapsule_New

from .module cimport KernelTable, fill

cdef KernelTable[2] table  # for float, for double
fill(&table[0], &table[1])
TABLE = PyCapsule_New(&table[0], "kickdrift.KernelTable", NULL)
