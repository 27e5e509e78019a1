"""Coefficients in the layout of kernels. Forces in users' arrays are added to g, the constant acceleration."""

from ..kernels.abi.plan cimport Applied, Field, Job, Plan
from ..kernels.abi.constraints cimport Torus
from ..kernels.abi.coupled cimport Kernels

cdef enum:
    MAX_COLUMNS = 8     # maximum number of components of a coefficient

cdef Field of_numbers(
    const Plan* plan, const double* numbers, int count, Py_ssize_t item, bint flat, list arrays,
) except *
cdef int numbers_of(object values, double* numbers) except -1
cdef void fill(const Field* field, int dim, const double* numbers, int count, Py_ssize_t item, bint flat) noexcept nogil
cdef Field field(const Plan* plan, object values, list arrays) except *
cdef object space(Torus* torus, object model)


cdef class AppliedForces:
    cdef Applied applied
    cdef list arrays        # memory that the pointers of `applied` refer to

    @staticmethod
    cdef AppliedForces of(object model, const Plan* plan)


cdef void merge_all(const Kernels* kernels, const Applied* applied, const Plan* plan) noexcept nogil
cdef void run_applied(const Kernels* kernels, const Applied* applied, const Plan* plan, Job* job) noexcept nogil
