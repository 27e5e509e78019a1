"""The kernels for bodies that are not left alone, for processors with AVX-512: setup.py gives this module its flags."""

from cpython.pycapsule cimport PyCapsule_New

from .rounding cimport require_rounding
from .sweptmodule cimport SweptTable, fill

require_rounding(__name__)

cdef SweptTable[2] table  # for float, for double
fill(&table[0], &table[1])
TABLE = PyCapsule_New(&table[0], "kickdrift.SweptTable", NULL)
