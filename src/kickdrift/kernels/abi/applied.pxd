# Forces that users write into arrays of their own, as the kernels read them.

from .plan cimport Array, Field

ctypedef struct Applied:
    int dim, count
    bint flat                   # do the coefficients lie side by side, as rows of bodies do?
    const Array* force          # the users' arrays, (n, dim) in the dtype of the state
    Field inverse_mass          # 1/m for each component
    bint light                  # is it one number for all, and above 0?
    Field g                     # what the other terms come to
