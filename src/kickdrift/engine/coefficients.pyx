"""Coefficients as the kernels read them: rows that are padded to whole tiles and vectors."""

from ..kernels.abi.plan cimport FLAT, MAX_DIM, ROW, Field, Plan
from ..kernels.simd.rounding cimport require_rounding

import numpy as np

from .. import kernels

require_rounding(__name__)


cdef Field field(const Plan* plan, object values, list arrays) except *:
    """A coefficient, (1|n,) or (1|n, dim), in whole rows; `arrays` keeps them alive."""
    cdef Field field
    cdef bint flat = plan.layout == FLAT
    cdef int j
    n, dim = plan.n, plan.dim
    if n == 0:
        values = np.zeros((1, *values.shape[1:]), values.dtype)
    each = len(values) > 1
    rows = (n + ROW - 1) // ROW * ROW if each else ROW
    bodies = n if each else rows
    columns = values.reshape(len(values), -1)
    if flat:
        padded = kernels.aligned_zeros((rows, dim), values.dtype)
        padded[:bodies] = columns
    else:
        # One value for all components is written out for each: kernels need not know.
        padded = kernels.aligned_zeros((max(dim, columns.shape[1]), rows), values.dtype)
        padded[:, :bodies] = columns.T
    arrays.append(padded)
    start = padded.ctypes.data
    for j in range(MAX_DIM):
        # Flat rows hold all components.
        field.component[j] = <const char*> <size_t> (start + (0 if flat else j * padded.strides[0]))
    field.body = padded.strides[0 if flat else 1] if each else 0
    return field
