"""Positions between two states, in plain Python."""

from .vector import Vector


def draw(x, v, x_new, v_new, weights, real, out):
    """out[i] = x + (wx (x' - x) + (wv v + wv' v')) for each body; velocities take part if they weigh."""
    wx, wv, wv_new = map(real, weights)
    curved = bool(weights.v or weights.v_new)
    for i in range(len(x)):
        a, a_new, u, u_new = (Vector(map(real, row[i])) for row in (x, x_new, v, v_new))
        b = wx * (a_new - a)
        if curved:
            b = b + (wv * u + wv_new * u_new)
        out[i] = a + b
