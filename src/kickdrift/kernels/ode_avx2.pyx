"""The kernels for y' = f(t, y) for processors with AVX2: setup.py gives this module its flags."""

from cpython.pycapsule cimport PyCapsule_New

from .odemodule cimport ODETable, fill
from .rounding cimport require_rounding

require_rounding(__name__)

cdef ODETable[2] table  # for float, for double
fill(&table[0], &table[1])
TABLE = PyCapsule_New(&table[0], "kickdrift.ODETable", NULL)
