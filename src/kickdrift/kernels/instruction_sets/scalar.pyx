"""Scalar kernels, shared by the modules of all instruction sets; compiled to run on any processor."""

from cpython.pycapsule cimport PyCapsule_New

from ..simd.rounding cimport require_rounding
from ..abi.coupled cimport KICKDRIFT_ABI, Constants, Kernels, ReportFunction, Turn
from ..abi.constraints cimport ConstraintFunction
from ..abi.plan cimport Run, Solve
from ..constraints.contact_events cimport report_events
from ..integrators.newton cimport energy_step
from ..integrators.steps cimport set_constants
from ..loops.slots cimport run_active
from ..rotation cimport begin_turning, complete_turning
from ..simd.vec cimport real
from .contacts_table cimport held

# Scalar code: no instruction set would make these kernels faster.

cdef inline void fill_scalar(Kernels* kernels, const real* like) noexcept:
    """Fill the function table for the number type of `like`."""
    kernels.abi = KICKDRIFT_ABI
    kernels.constants = <Constants> set_constants[real]
    kernels.living = <Run> run_active
    kernels.begin_turning = <Turn> begin_turning[real]
    kernels.complete_turning = <Turn> complete_turning[real]
    kernels.energy_euler = <Solve> energy_step[real]
    kernels.coupled.collide = <ConstraintFunction> held[real]
    kernels.coupled.report_events = <ReportFunction> report_events[real]


require_rounding(__name__)

cdef Kernels[2] kernels  # for float and double
fill_scalar(&kernels[0], <const float*> NULL)
fill_scalar(&kernels[1], <const double*> NULL)
KERNELS = PyCapsule_New(&kernels[0], "kickdrift.Kernels", NULL)
