"""Neighbour queries in plain Python, by brute force over all pairs."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from .. import neighbours
from ..constraints import broad_phase
from .space import space_of
from .vector import Vector, dot


class Index:
    """Index of points with the queries of `kickdrift.Neighbours`."""

    def __init__(
        self, points: np.ndarray, rows: np.ndarray | None, radius: float, *grid: Any, size: np.ndarray | None = None
    ) -> None:
        self._torus = grid[-1]
        self._space = space_of(self._torus, float)
        self._columns = Vector(points.astype(np.float64).T)
        self._points = [Vector(point) for point in points.tolist()]
        self._rows = list(range(len(points))) if rows is None else rows.tolist()
        self._radius = radius
        self._sizes = [0.0] * len(points) if size is None else size.tolist()

    @np.errstate(all="ignore")  # squares of large distances overflow
    def _squares(self, place):
        """Return the squared distance of each point."""
        d = self._space.nearest(self._columns - place)
        return dot(d, d)

    def _near(self, place, first=0):
        """Return the rows, from `first` on, of the points within the radius of a position."""
        near = np.flatnonzero(self._squares(place) <= self._radius * self._radius)
        return [self._rows[i] for i in near.tolist() if i >= first]

    def pairs(self, out):
        first: list[int] = []
        second: list[int] = []
        for i, x in enumerate(self._points):
            near = self._near(x, i + 1)
            first += [self._rows[i]] * len(near)
            second += near
        return filled(out, first, second)

    def of(self, places, out):
        near, start = [], [0]
        for place in map(Vector, places.tolist()):
            near += self._near(place)
            start.append(len(near))
        return filled(out, near, start)

    def nearest(self, places, i, distance):
        i[...], distance[...] = -1, math.inf
        for k, place in enumerate(map(Vector, places.tolist())):
            squares = zip(self._squares(place).tolist(), self._rows, strict=True)
            best = sorted(pair for pair in squares if pair[0] < math.inf)[: i.shape[1]]
            for rank, (square, row) in enumerate(best):
                i[k, rank], distance[k, rank] = row, math.sqrt(square)

    def cast(self, origins, motions, reach, i, share, skip=None):
        for k, (origin, motion) in enumerate(zip(origins.tolist(), motions.tolist(), strict=True)):
            displacement = Vector(motion)
            found = [
                (time, row)
                for number, (x, row, size) in enumerate(zip(self._points, self._rows, self._sizes, strict=True))
                if skip is None or skip[k] != number
                for image in self._images(x, Vector(origin), displacement, reach)
                if (time := first_contact(Vector(origin) - image, displacement, reach, size)) is not None
            ]
            share[k], i[k] = min(found, default=(1.0, -1))

    def _images(self, x, origin, motion, reach):
        """Return a point; in a periodic box, all of its images that the motion may touch."""
        if self._torus is None:
            return [x]
        places = []
        for c, o, m, (lower, upper, width, share) in zip(
            x, origin, motion, zip(*self._torus, strict=True), strict=True
        ):
            turns = range(1)
            if not math.isfinite(o + m):
                return []  # NaN and infinity have no neighbours
            if width > 0:
                first = math.floor((min(o, o + m) - reach - upper) * share)
                turns = range(first, math.floor((max(o, o + m) + reach - lower) * share) + 2)
            places.append([c + turn * width for turn in turns])
        return [Vector(place) for place in product(*places)]


def first_contact(d, motion, radius, size):
    """Return the fraction of a motion until a circle at separation d touches another of radius `size`, or None.

    A ray, whose radius is 0, hits a circle only if it enters it: a tangent does not.
    """
    ray = radius == 0 and size > 0
    reach = radius + size
    square, along, outside = dot(motion, motion), dot(d, motion), dot(d, d) - reach * reach
    if outside < 0 or (outside == 0 and not ray):
        return 0.0
    if not along < 0:
        return None
    under_root = along * along - square * outside
    if ray:
        # Rounding errors of this difference are large for a tangent, and for a small circle.
        if not square > 0:
            return None
        across = d - along / square * motion
        under_root = square * (reach * reach - dot(across, across))
        if not under_root > 0:
            return None
    if not under_root >= 0:
        return None
    time = outside / (math.sqrt(under_root) - along)
    return time if time <= 1 else None


def filled(out, first, second):
    """Copy lists to the output arrays, or to new ones."""
    i, j = broad_phase.fit(out, (len(first), len(second)))
    i[:], j[:] = first, second
    return i, j


class Neighbours(neighbours.Neighbours):
    """`kickdrift.Neighbours` in plain Python.

    >>> from kickdrift import reference
    >>> reference.Neighbours([[0.0], [0.5]], radius=1).nearest([[0.4]])[0].tolist()
    [[1]]
    """

    __module__ = "kickdrift.reference"

    _index_type = Index

    @property
    def _tree(self) -> Index:
        return self._index
