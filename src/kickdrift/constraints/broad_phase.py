"""Where bodies that may meet are looked for: classes of size, each with cells of its own, and a ring of buckets.

The cells of a class are wider than any pair reaches whose larger body is in it, so that a body finds all partners of
its own class and of those that are larger in its own cell and in those around it. Cells are counted off along one
axis after the other into the ring, where far ones may share a bucket: what is there by chance is told apart by its
class and its distance.
"""

from __future__ import annotations

import math
import struct

import numpy as np

#: So many near pairs there may be for each body; of a larger crowd each body looks for so many partners.
CROWD = 16
#: Classes of size at most; the last one takes all that is smaller still.
MOST_CLASSES = 15
#: Cells from the origin up to which rounding is small beside them. Farther out they become wider.
FAR = 2**46


class Grid:
    """The grid for bodies of such radii, and n of them."""

    def __init__(self, radius: np.ndarray, dim: int):
        radius = np.asarray(radius, np.float64)
        #: Of each body: 0 for the largest. Points, which have no size, meet none of their own: theirs is the last.
        self.size_class = np.zeros(len(radius), np.uint8)
        #: 1 / width of the cells of each class but that of the points.
        self.per_cell: list[float] = []
        rest = radius > 0
        while rest.any():
            number, widest = len(self.per_cell), float(radius[rest].max())
            self.size_class[rest] = number
            rest &= (radius <= widest / 4) & (number + 1 < MOST_CLASSES)
            # Wider than any reach, 5/4 of two radii, by more than rounding can hide.
            self.per_cell.append(min(1 / widest / (2.5 * (1 + 1 / 64)), 1e300))
        self.size_class[radius == 0] = len(self.per_cell)
        self.buckets, self.step = ring(len(radius), dim)

    def bucket(self, cell: list[int]) -> int:
        return sum(step * number for step, number in zip(self.step, cell, strict=True)) % self.buckets


def ring(count: int, dim: int) -> tuple[int, list[int]]:
    """How many buckets so many bodies have, and from a cell to the next along each axis, in buckets."""
    buckets = 256
    while buckets < 2 * count:
        buckets *= 2
    # Whole cells around a body share no bucket: the steps spread them evenly (Roberts 2018, The unreasonable
    # effectiveness of quasirandom sequences).
    shares = {1: (), 2: (0.6180339887498949,), 3: (0.7548776662466927, 0.5698402909980532)}[dim]
    return buckets, [1, *(int(share * buckets) | 1 for share in shares)]


def cell(place: float, per_cell: float, body: int) -> int:
    """The number of the cell at a coordinate. What is no number is near nothing, and is spread by index."""
    c = place * per_cell
    if -FAR <= c <= FAR:
        return math.floor(c)
    if math.isfinite(c):
        # Cells of 2^-46 of the coordinate, at least: 46 of the 52 digits of a float64.
        number = FAR + ((_bits(abs(c)) - _bits(float(FAR))) >> 6)
        return number if c > 0 else -1 - number
    return _bits(place) if math.isfinite(place) else body


def _bits(number: float) -> int:
    return struct.unpack("<q", struct.pack("<d", number))[0]
