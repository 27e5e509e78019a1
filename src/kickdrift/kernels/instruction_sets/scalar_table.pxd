# The kernels that take one number after the other, for which no instruction set is better than the baseline.

from .contacts_table cimport hold_f32, hold_f64, tell_f32, tell_f64
from ..abi.tables cimport Kernels


cdef inline void fill_scalar(Kernels* f32, Kernels* f64) noexcept:
    f32.swept.hold = hold_f32
    f64.swept.hold = hold_f64
    f32.swept.tell = tell_f32
    f64.swept.tell = tell_f64
