"""Interpolation of positions between two states, in plain Python."""

from .space import space_of
from .vector import Vector


def draw(x, v, x_new, v_new, weights, real, out, torus=None):
    """Write x + (wx (x' - x) + (wv v + wv' v')) to out, for each body; skip velocities with zero weights.

    In a periodic box x' - x is the minimum-image displacement, and results are wrapped into the box.
    """
    space = space_of(torus, real)
    wx, wv, wv_new = map(real, weights)
    curved = bool(weights.v or weights.v_new)
    for i in range(len(x)):
        a, a_new, u, u_new = (Vector(map(real, row[i])) for row in (x, x_new, v, v_new))
        b = wx * space.nearest(a_new - a)
        if curved:
            b = b + (wv * u + wv_new * u_new)
        out[i] = space.inside(a + b)
