"""Where bodies that may meet are looked for: classes of size, each with cells of its own, and a ring of buckets.

The cells of a class are wider than any pair reaches whose larger body is in it, so that a body finds all partners of
its own class and of those that are larger in its own cell and in those around it. Cells are counted off along one
axis after the other into the ring, where far ones may share a bucket: what is there by chance is told apart by its
class and its distance.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .periodic import Torus

#: So many partners each body takes, of those that are larger, or as large and of higher index.
CROWD = 16
#: Classes of size at most; the last one takes all that is smaller still.
MOST_CLASSES = 15
#: Cells from the origin up to which rounding is small beside them. Farther out they become wider.
FAR = 2**46


class Grid:
    """The grid for bodies of such radii, and n of them; torus: the space of a periodic box."""

    def __init__(self, radius: np.ndarray, dim: int, torus: Torus | None = None):
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
        #: In a periodic box: of each class along each axis, how many cells, and 1 / width.
        self.laid: list[list[tuple[int, float]]] = []
        if torus is not None:
            self.lower, self.width = torus.lower.tolist(), torus.width.tolist()
            self.laid = [laid_around(self.width, per_cell, self.buckets) for per_cell in self.per_cell]

    def cells(self, place: list[float], size_class: int, body: int) -> list[int]:
        """The cells at a place, which is in the box if there is one."""
        if not self.laid:
            return [cell(number, self.per_cell[size_class], body) for number in place]
        found = []
        for number, low, width, (count, per_cell) in zip(
            place, self.lower, self.width, self.laid[size_class], strict=True
        ):
            if width > 0:
                at = (number - low) * per_cell
                found.append(int(min(max(at, 0), count - 1)) if math.isfinite(at) else 0)
            else:
                found.append(cell(number, per_cell, body) % count)
        return found

    def around(self, cells: list[int], size_class: int) -> list[list[int]]:
        """Along each axis the cells beside a cell, and itself."""
        if not self.laid:
            return [[number - 1, number, number + 1] for number in cells]
        return [
            sorted({(number + way) % count for way in (-1, 0, 1)})
            for number, (count, _) in zip(cells, self.laid[size_class], strict=True)
        ]

    def bucket(self, cell: Iterable[int], size_class: int) -> int:
        if not self.laid:
            return sum(step * number for step, number in zip(self.step, cell, strict=True)) % self.buckets
        bucket, step = 0, 1
        for number, (count, _) in zip(cell, self.laid[size_class], strict=True):
            bucket, step = bucket + step * number, step * count
        return bucket


#: Cells along an axis of a periodic box at most: rounding of places is small beside their width then, in float32 too.
MOST_CELLS = 2**16


def laid_around(width: list[float], per_cell: float, buckets: int) -> list[tuple[int, float]]:
    """Along each axis of a periodic box, how many cells, which fill it, and 1 / width; no more cells than buckets.

    Open axes, of width 0, have as many as there is room for: cells that are so far apart are one.
    """
    count = [int(min(max(w * per_cell, 1), MOST_CELLS)) if w > 0 else MOST_CELLS for w in width]
    while math.prod(count) > buckets:
        largest = count.index(max(count))
        count[largest] = (count[largest] + 1) // 2
    return [(c, c / w if w > 0 else per_cell) for c, w in zip(count, width, strict=True)]


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


def fit(out: Any, counts: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """As much of the arrays that were given, or of new ones, as is wanted."""
    if out is None:
        first, second = (np.empty(count, np.int64) for count in counts)
        return first, second
    for array, count in zip(out, counts, strict=True):
        if len(array) < count:
            raise ValueError(f"out: expected room for {count} numbers, got {len(array)}")
    return out[0][: counts[0]], out[1][: counts[1]]
