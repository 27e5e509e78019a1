"""The simulation space: open, or a periodic box in which separations are those of the minimum image."""

from __future__ import annotations

import numpy as np

from ..constraints.periodic import FAR_OUT, WHOLE, Torus
from .vector import Vector


class Space:
    """Open space."""

    torus: Torus | None = None

    def nearest(self, d: Vector) -> Vector:
        """Return the minimum-image displacement."""
        return d

    def inside(self, x: Vector) -> Vector:
        """Wrap a position into the box."""
        return x

    def seen(self, x: Vector) -> np.ndarray:
        """Return a mask of the bodies with valid positions for the broad phase; components of x are arrays."""
        return np.array(True)


class Box(Space):
    """A periodic box; real: the scalar type."""

    def __init__(self, torus: Torus, real):
        self.torus = torus
        self.axes = [tuple(map(real, axis)) for axis in zip(*torus, strict=True)]
        size = 4 if real is np.float32 else 8
        self.much, self.far = real(WHOLE[size]), real(FAR_OUT[size])

    def nearest(self, d):
        return Vector([c - width * self.whole(c * share) for c, (_, _, width, share) in zip(d, self.axes, strict=True)])

    def whole(self, turns):
        """Round half to even, by adding a number so large that the sum has no fractional digits."""
        return (turns + self.much) - self.much

    def inside(self, x):
        return Vector([self.wrapped(c, *axis) for c, axis in zip(x, self.axes, strict=True)])

    def seen(self, x):
        turns = [(c - lower) * share for c, (lower, _, _, share) in zip(x, self.axes, strict=True)]
        return ~np.any([(turn > self.far) | (turn < -self.far) for turn in turns], axis=0)

    def wrapped(self, c, lower, upper, width, share):
        if not width > 0 or lower <= c < upper:
            return c
        turns = (c - lower) * share
        whole = self.whole(turns)
        if whole > turns:
            whole = whole - 1
        c = c - width * whole
        return lower if c < lower or c >= upper else c


def space_of(torus: Torus | None, real) -> Space:
    return Space() if torus is None else Box(torus, real)
