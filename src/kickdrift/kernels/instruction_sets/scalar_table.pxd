# Scalar kernels, which no instruction set makes faster.

from ..abi.constraints cimport ConstraintFunction
from ..abi.coupled cimport ReportFunction
from ..abi.plan cimport Run, Solve
from ..abi.tables cimport KICKDRIFT_ABI, Constants, Kernels
from ..constraints.reporting cimport report_events
from ..integrators.newton cimport energy_step
from ..integrators.steps cimport set_constants
from ..abi.rotation cimport Turn
from ..loops.slots cimport run_active
from ..rotation cimport begin_turning, complete_turning
from ..simd.vec cimport real
from .contacts_table cimport held


cdef inline void fill_scalar(Kernels* kernels, const real* like) noexcept:
    """Fill the table for the number type of `like`."""
    kernels.abi = KICKDRIFT_ABI
    kernels.constants = <Constants> set_constants[real]
    kernels.living = <Run> run_active
    kernels.begin_turning = <Turn> begin_turning[real]
    kernels.complete_turning = <Turn> complete_turning[real]
    kernels.energy_euler = <Solve> energy_step[real]
    kernels.coupled.collide = <ConstraintFunction> held[real]
    kernels.coupled.report_events = <ReportFunction> report_events[real]
