# Interpolated positions between two states, for drawing: same as kickdrift/reference/interpolation.py.

from .simd.vec cimport real
from .abi.constraints cimport Torus
from .abi.plan cimport Array
from .space cimport inside, is_periodic, nearest

ctypedef fused target:
    float
    double

# Weights wx, wv, wv' of x + (wx (x' - x) + (wv v + wv' v')), from states x, v and x', v'. In a periodic box, x' - x is
# the minimum image.
ctypedef struct Weights:
    double x, v, v_new
    bint curved         # True: a weight of the velocities is not 0


cdef inline void draw(
    const Array* x, const Array* v, const Array* x_new, const Array* v_new, const Array* out,
    Py_ssize_t n, int dim, const Weights* weights, const Torus* torus, real* like, target* to,
) noexcept nogil:
    """Interpolate (n, dim) numbers; the last two arguments only select types."""
    cdef real wx = <real> weights.x
    cdef real wv = <real> weights.v
    cdef real wv_new = <real> weights.v_new
    cdef real a, b
    cdef Py_ssize_t i
    cdef int j
    cdef const real* flat
    cdef const real* flat_new
    cdef target* flat_out
    if is_periodic(torus):
        for i in range(n):
            for j in range(dim):
                a = at(x, i, j, like)
                b = wx * nearest(at(x_new, i, j, like) - a, j, torus)
                if weights.curved:
                    b = b + (wv * at(v, i, j, like) + wv_new * at(v_new, i, j, like))
                a = inside(a + b, j, torus)
                (<target*> (out.data + i * out.body + j * out.component))[0] = <target> a
        return
    if not weights.curved and packed(x, dim, like) and packed(x_new, dim, like) and packed(out, dim, to):
        flat, flat_new, flat_out = <const real*> x.data, <const real*> x_new.data, <target*> out.data
        for i in range(n * dim):
            flat_out[i] = <target> (flat[i] + wx * (flat_new[i] - flat[i]))
        return
    if not weights.curved:
        for j in range(dim):
            for i in range(n):
                a = at(x, i, j, like)
                b = wx * (at(x_new, i, j, like) - a)
                (<target*> (out.data + i * out.body + j * out.component))[0] = <target> (a + b)
        return
    for i in range(n):
        for j in range(dim):
            a = at(x, i, j, like)
            b = wx * (at(x_new, i, j, like) - a)
            b = b + (wv * at(v, i, j, like) + wv_new * at(v_new, i, j, like))
            (<target*> (out.data + i * out.body + j * out.component))[0] = <target> (a + b)


cdef inline bint packed(const Array* array, int dim, real* like) noexcept nogil:
    return array.component == sizeof(real) and array.body == dim * <Py_ssize_t> sizeof(real)


cdef inline real at(const Array* array, Py_ssize_t i, int j, real* like) noexcept nogil:
    return (<const real*> (array.data + i * array.body + j * array.component))[0]
