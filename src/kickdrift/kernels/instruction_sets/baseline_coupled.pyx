"""The kernels of an instruction set for what is no long loop over single bodies.

setup.py makes the modules of the other instruction sets of the same C.
"""

from cpython.pycapsule cimport PyCapsule_New

from .newton_table cimport fill_bodies
from .ode_table cimport fill_ode
from ..simd.rounding cimport require_rounding
from .coupled_table cimport fill_swept
from ..abi.tables cimport Kernels, take_over

from importlib import import_module

require_rounding(__name__)

cdef Kernels[2] kernels  # for float, for double
take_over(kernels, import_module(__name__.replace("_coupled", "_formulas")).KERNELS)
fill_bodies(&kernels[0], &kernels[1])
fill_swept(&kernels[0].swept, &kernels[1].swept)
fill_ode(&kernels[0].ode, &kernels[1].ode)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
