"""Broad phase: a hierarchical grid with one cell size per size class, hashed into buckets.

The cell width of a class exceeds the reach of any pair whose larger body is in it. A body therefore finds all
candidates of its own and larger size classes in its own cell and the adjacent ones. The hash is linear in the cell
coordinates. Distant cells may share a bucket: such false candidates are rejected by size class and distance.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .periodic import Torus

#: Maximal number of pairs per body with larger bodies, or equal ones of higher index. It bounds the cost of a crowd.
CROWD = 16
#: Maximal number of size classes; the last one includes all smaller sizes.
MOST_CLASSES = 15
#: Cell number up to which rounding is small relative to a cell. More distant cells are wider.
FAR = 2**46


class Grid:
    """Cell sizes and hash for bodies of these radii. torus: geometry of a periodic box, or None."""

    def __init__(self, radius: np.ndarray, dim: int, torus: Torus | None = None):
        radius = np.asarray(radius, np.float64)
        #: Size class of each body: 0 for the largest. Points cannot overlap each other: they have the last class.
        self.size_class = np.zeros(len(radius), np.uint8)
        #: 1 / cell width of each size class, except that of points.
        self.per_cell: list[float] = []
        widest = float(radius.max(initial=0))
        while widest > 0:
            # Pairs reach 5/4 of two radii, at most 2.5 times the largest. The margin of 1/64 exceeds rounding errors.
            self.per_cell.append(min(1 / widest / (2.5 * (1 + 1 / 64)), 1e300))
            if len(self.per_cell) == MOST_CLASSES:
                break
            rest = (radius <= widest / 4) & (radius > 0)
            self.size_class[rest] = len(self.per_cell)
            widest = float(radius[rest].max(initial=0))
        self.size_class[radius == 0] = len(self.per_cell)
        self.buckets, self.step = ring(len(radius), dim)
        #: In a periodic box: the number of cells and 1 / cell width, per size class and axis.
        self.laid: list[list[tuple[int, float]]] = []
        if torus is not None:
            self.lower, self.width = torus.lower.tolist(), torus.width.tolist()
            self.laid = [laid_around(self.width, per_cell, self.buckets) for per_cell in self.per_cell]

    def cells(self, place: list[float], size_class: int, body: int) -> list[int]:
        """Return the cell coordinates of a position, which must be inside a periodic box."""
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
        """Return the cell itself and its neighbours, along each axis."""
        if not self.laid:
            return [[number - 1, number, number + 1] for number in cells]
        return [
            sorted({(number + displacement) % count for displacement in (-1, 0, 1)})
            for number, (count, _) in zip(cells, self.laid[size_class], strict=True)
        ]

    def bucket(self, cell: Iterable[int], size_class: int) -> int:
        if not self.laid:
            return sum(step * number for step, number in zip(self.step, cell, strict=True)) % self.buckets
        bucket, step = 0, 1
        for number, (count, _) in zip(cell, self.laid[size_class], strict=True):
            bucket, step = bucket + step * number, step * count
        return bucket


#: Maximal number of cells along an axis of a periodic box: rounding stays below a cell width, even in float32.
MOST_CELLS = 2**16


def laid_around(width: list[float], per_cell: float, buckets: int) -> list[tuple[int, float]]:
    """Return (number of cells, 1 / cell width) along each axis of a periodic box, with at most `buckets` cells.

    Open axes, of width 0, have the largest number of cells; cells farther apart than that share a number.
    """
    count = [int(min(max(w * per_cell, 1), MOST_CELLS)) if w > 0 else MOST_CELLS for w in width]
    while math.prod(count) > buckets:
        largest = count.index(max(count))
        count[largest] = (count[largest] + 1) // 2
    return [(c, c / w if w > 0 else per_cell) for c, w in zip(count, width, strict=True)]


def ring(count: int, dim: int) -> tuple[int, list[int]]:
    """Return the number of buckets and the hash multiplier of each axis."""
    buckets = 64  # with fewer, two neighbours of a cell would share a bucket
    while buckets < 2 * count:
        buckets *= 2
    # These multipliers spread adjacent cells over different buckets (Roberts 2018, The unreasonable
    # effectiveness of quasirandom sequences).
    shares = {1: (), 2: (0.6180339887498949,), 3: (0.7548776662466927, 0.5698402909980532)}[dim]
    return buckets, [1, *(int(share * buckets) | 1 for share in shares)]


def cell(place: float, per_cell: float, body: int) -> int:
    """Return the cell number of a coordinate; NaN and infinity are spread over cells by the index of the body."""
    c = place * per_cell
    if -FAR <= c <= FAR:
        return math.floor(c)
    if math.isfinite(c):
        # Cells in proportion to the coordinate, about 2^-46 of it: the leading 46 of 52 mantissa bits of a float64.
        number = FAR + ((_bits(abs(c)) - _bits(float(FAR))) >> 6)
        return number if c > 0 else -1 - number
    return _bits(place) if math.isfinite(place) else body


def _bits(number: float) -> int:
    return struct.unpack("<q", struct.pack("<d", number))[0]


def fit(out: Any, counts: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return views of the given output arrays, or new arrays, of the required lengths."""
    if out is None:
        first, second = (np.empty(count, np.int64) for count in counts)
        return first, second
    for array, count in zip(out, counts, strict=True):
        if len(array) < count:
            raise ValueError(f"out: expected room for {count} numbers, got {len(array)}")
    return out[0][: counts[0]], out[1][: counts[1]]
