"""The kernels for x86-64-v4, AVX-512: setup.py gives this module its flags."""

from cpython.pycapsule cimport PyCapsule_New

from .module cimport KernelTable, fill

cdef KernelTable table
fill(&table)
TABLE = PyCapsule_New(&table, "kickdrift.KernelTable", NULL)
