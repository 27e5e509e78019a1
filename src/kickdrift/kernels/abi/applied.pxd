# Arguments of the kernels that add forces from users' arrays.

from .plan cimport Array, Field

ctypedef struct Applied:
    int dim, count
    bint flat                   # True if coefficients lie body by body (layout FLAT)
    const Array* force          # users' arrays, shape (n, dim), dtype of the state
    Field inverse_mass          # 1/m per component
    bint light                  # True if 1/m is one positive number for all bodies
    Field g                     # acceleration by all other affine forces
