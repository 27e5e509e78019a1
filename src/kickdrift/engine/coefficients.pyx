"""Coefficients of bodies in the layout of kernels, and the forces in users' arrays.

Rows of coefficients are padded to whole tiles and vectors. Each call adds the forces in users' arrays to the
coefficient g (constant acceleration) of the plan.
"""

from cpython.buffer cimport PyBUF_STRIDES, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memcpy, memset

from ..kernels.abi.plan cimport FLAT, MAX_DIM, ROW, Applied, Array, Field, Job, Plan
from ..kernels.abi.constraints cimport Torus
from ..kernels.simd.rounding cimport require_rounding
from .views cimport View, locate, views

import numpy as np

from .. import kernels as kernels_

require_rounding(__name__)


cdef class Block:
    """Memory aligned to a cache line: vectors across two lines take twice as long to load."""

    cdef void* memory
    cdef char* data

    def __dealloc__(self):
        PyMem_Free(self.memory)

    @staticmethod
    cdef Block of(size_t size):
        cdef Block block = Block.__new__(Block)
        block.memory = PyMem_Malloc(size + 63)
        if block.memory == NULL:
            raise MemoryError
        block.data = <char*> block.memory + (-<size_t> block.memory) % 64
        return block


cdef Field uniform(const Plan* plan, object values, bint flat, list arrays) except *:
    """Lay out a coefficient that is uniform over bodies, (1,) or (1, dim)."""
    cdef double numbers[MAX_COLUMNS]
    cdef int count = numbers_of(values, numbers)
    return of_numbers(plan, numbers, count, values.itemsize, flat, arrays)


cdef int numbers_of(object values, double* numbers) except -1:
    """Read a uniform coefficient; return the number of its components."""
    cdef Py_buffer view
    cdef const char* source
    cdef Py_ssize_t count, step, item
    cdef int j
    PyObject_GetBuffer(values, &view, PyBUF_STRIDES)
    source, item = <const char*> view.buf, view.itemsize
    count = view.shape[1] if view.ndim > 1 else 1
    step = view.strides[1] if view.ndim > 1 else 0
    if count <= MAX_COLUMNS:
        for j in range(<int> count):
            if item == 4:
                numbers[j] = (<const float*> (source + j * step))[0]
            else:
                numbers[j] = (<const double*> (source + j * step))[0]
    PyBuffer_Release(&view)
    if count > MAX_COLUMNS:
        raise AssertionError(f"a coefficient with {count} components")
    return <int> count


cdef Field of_numbers(
    const Plan* plan, const double* numbers, int count, Py_ssize_t item, bint flat, list arrays,
) except *:
    """Lay out a uniform coefficient from its components, already rounded to the dtype of the state."""
    cdef Field field
    cdef Py_ssize_t i
    cdef int j
    cdef int columns = plan.dim if flat or count < plan.dim else count
    cdef Block block = Block.of(columns * ROW * item)
    arrays.append(block)
    for j in range(MAX_DIM):
        i = 0 if flat else j * ROW * item
        field.component[j] = block.data + i
    field.body = 0
    fill(&field, plan.dim, numbers, count, item, flat)
    return field


cdef void fill(
    const Field* field, int dim, const double* numbers, int count, Py_ssize_t item, bint flat,
) noexcept nogil:
    """Write the numbers of a uniform coefficient.

    A flat row is an array of structures: all components of a body, then the next body. Other rows have one component.
    A single value is broadcast to all components, because kernels expect one number per component.
    """
    cdef char* row = <char*> field.component[0]
    cdef int columns = dim if flat or count < dim else count
    cdef int j
    for j in range(columns):
        if not flat:
            row = <char*> field.component[0] + j * ROW * item
        put(row, j if flat else 0, numbers[j if count > 1 else 0], item)
        if not flat:
            repeat(row, item, ROW * item)
    if flat:
        repeat(row, columns * item, columns * ROW * item)


cdef inline void put(char* row, int place, double number, Py_ssize_t item) noexcept nogil:
    if item == 4:
        (<float*> row)[place] = <float> number
    else:
        (<double*> row)[place] = number


cdef inline void repeat(char* row, Py_ssize_t known, Py_ssize_t size) noexcept nogil:
    """Fill a row with copies of its first `known` bytes."""
    while known < size:
        memcpy(row + known, row, min(known, size - known))
        known *= 2


cdef Field field(const Plan* plan, object values, list arrays) except *:
    """Lay out a coefficient, (1|n,) or (1|n, dim), in whole rows; append their memory to `arrays`."""
    cdef Field field
    cdef bint flat = plan.layout == FLAT
    cdef int j
    if len(values) == 1 and values.ndim < 3:
        return uniform(plan, values, flat, arrays)
    n, dim = plan.n, plan.dim
    if n == 0:
        values = np.zeros((1, *values.shape[1:]), values.dtype)
    each = len(values) > 1
    rows = (n + ROW - 1) // ROW * ROW if each else ROW
    bodies = n if each else rows
    columns = values.reshape(len(values), -1)
    if flat:
        padded = kernels_.aligned_zeros((rows, dim), values.dtype)
        padded[:bodies] = columns
    else:
        # Broadcast a single value to all components, because kernels expect one number per component.
        padded = kernels_.aligned_zeros((max(dim, columns.shape[1]), rows), values.dtype)
        padded[:, :bodies] = columns.T
    arrays.append(padded)
    start = padded.ctypes.data
    for j in range(MAX_DIM):
        # A flat row is an array of structures: all components point into the same row.
        field.component[j] = <const char*> <size_t> (start + (0 if flat else j * padded.strides[0]))
    field.body = padded.strides[0 if flat else 1] if each else 0
    return field


cdef object space(Torus* torus, object model):
    """Lay out the periodic box of a model for kernels; return the array that owns its numbers, or None without box."""
    cdef Array rows
    if model.torus is None:
        torus.lower = torus.upper = torus.width = torus.per_width = NULL
        return None
    numbers = np.array(model.torus, model.dtype)
    locate(&rows, numbers)
    torus.lower, torus.upper = rows.data, rows.data + rows.body
    torus.width, torus.per_width = rows.data + 2 * rows.body, rows.data + 3 * rows.body
    return numbers


cdef enum:
    SPAN = ROW          # number of bodies per pass of merging forces and stepping: more would overflow the L1 cache


cdef class AppliedForces:
    @staticmethod
    cdef AppliedForces of(object model, const Plan* plan):
        """Bind the users' force arrays of a model, for a plan whose g has a number per body and component."""
        cdef AppliedForces forces = AppliedForces.__new__(AppliedForces)
        cdef Applied* applied = &forces.applied
        cdef Array* places
        arrays = forces.arrays = views(model.applied)
        workspace = np.zeros(len(arrays) * sizeof(Array), np.uint8)
        places = <Array*> <size_t> workspace.ctypes.data
        for number, view in enumerate(arrays):
            places[<int> number] = (<View> view).place
        arrays.append(workspace)
        applied.dim, applied.count, applied.force = plan.dim, len(model.applied), places
        applied.flat = plan.layout == FLAT
        applied.g = field(plan, model.g, arrays)
        inverse_mass = model.applied_share[:, None]
        applied.light = len(model.applied_share) == 1 and model.applied_share[0] > 0
        applied.inverse_mass = field(plan, np.broadcast_to(inverse_mass, (len(inverse_mass), plan.dim)), arrays)
        return forces


cdef void merge_all(const Kernels* kernels, const Applied* applied, const Plan* plan) noexcept nogil:
    """Merge the forces on all bodies into the plan's own g."""
    merge_range(kernels, applied, plan, 0, plan.n)


cdef void merge_range(
    const Kernels* kernels, const Applied* applied, const Plan* plan, Py_ssize_t first, Py_ssize_t last,
) noexcept nogil:
    """Merge the forces on a range of bodies into g; `first` is a multiple of ROW."""
    cdef char* out[MAX_DIM]
    cdef int j
    while first < last:
        for j in range(plan.dim):
            out[j] = <char*> plan.g.component[j] + first * plan.g.body
        kernels.merge(applied, first, min(last - first, <Py_ssize_t> ROW), out, NULL)
        first += ROW


cdef void run_applied(const Kernels* kernels, const Applied* applied, const Plan* plan, Job* job) noexcept nogil:
    """Run a job a few rows at a time, so that merged forces are read while they are in the L1 cache."""
    cdef char workspace[(SPAN * MAX_DIM + 8) * 8]
    cdef char* start = workspace + (64 - <size_t> workspace % 64) % 64
    cdef char* out[MAX_DIM]
    # Vectors in the plan are aligned to cache lines: copy the plan to an address with the same offset in a line.
    cdef Plan place[2]
    cdef Plan* own = <Plan*> (<char*> place + (<size_t> plan - <size_t> place) % 64)
    cdef Job part
    cdef Py_ssize_t first = job.first
    cdef int j
    cdef Py_ssize_t plane
    if plan.n <= ROW:
        merge_all(kernels, applied, plan)
        plan.run(plan, job, NULL)
        return
    memset(workspace, 0, sizeof(workspace))   # vectors extend past the last body, where the numbers must be finite
    own[0] = plan[0]
    plane = 0 if applied.flat else SPAN * own.g.body     # flat: one row has all components
    for j in range(own.dim):
        out[j] = start + j * plane
    part = job[0]
    job.bad_body, job.code, job.failed_step, job.evaluations = -1, 0, job.steps, 0
    while first < job.last:
        for j in range(own.dim):
            own.g.component[j] = out[j] - first * own.g.body
            own.row[j].g = own.g.component[j]   # kernels also read g through this pointer of the first row
        part.first, part.last = first, min(job.last, first + SPAN)
        merge_range(kernels, applied, own, part.first, part.last)
        own.run(own, &part, NULL)
        if job.bad_body < 0:
            job.bad_body = part.bad_body
        if part.failed_step < job.failed_step:
            job.failed_step, job.failed_body, job.residual = part.failed_step, part.failed_body, part.residual
        job.evaluations = max(job.evaluations, part.evaluations)
        first += SPAN
