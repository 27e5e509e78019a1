"""The kernels for what every processor of this architecture runs: setup.py gives this module its flags."""

from cpython.pycapsule cimport PyCapsule_New

from .module cimport KernelTable, fill
from .rounding cimport require_rounding

require_rounding(__name__)

cdef KernelTable[2] table  # for float, for double
fill(&table[0], &table[1])
TABLE = PyCapsule_New(&table[0], "kickdrift.KernelTable", NULL)
