"""Neighbour search: pairs, points near a position, nearest points, and casts of balls."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import validation
from .constraints.broad_phase import ring
from .constraints.periodic import Periodic
from .engine.neighbours import Index, Nearest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

#: Maximum length of a cast in widths of a periodic box: a cast tests all points once per width.
FARTHEST = 2**20


class Neighbours:
    """Neighbour search among points, with a grid that the constructor sorts once. `nearest` uses a tree, which its
    first call builds.

    position: m, shape (n, dim), dim 1 to 3, real numbers of any dtype, such as a stepper's `position`. It is copied,
    so later changes have no effect: make a new object for a new tick. radius: m, > 0, a number: the largest distance
    of near points. alive: a mask of shape (n,), such as a stepper's `alive`. Inactive points, and points with NaN, are
    ignored.

    periodic: a `Periodic`, such as that of a stepper. Distances are then minimum images. Positions outside the box are
    wrapped. A cast continues across the sides for the whole of its motion, and tests all points. The radius may be half
    of the width at most, a motion 2**20 widths.

    The results are indices of points, int64. They depend only on the input: ascending, ties by index. All is computed
    in float64. `out=` is two arrays to write to; views of the part written are returned.

    Raises TypeError or ValueError, naming the argument. Thread-safety: it never changes, so any number of threads may
    use it. Source: a counting sort into cells of the radius (Green 2010, Particle Simulation using CUDA); a k-d tree
    (Bentley 1975, Multidimensional binary search trees used for associative searching).

    >>> import kickdrift as kd
    >>> near = kd.Neighbours([[0.0, 0.0], [1.0, 0.0], [1.5, 0.0]], radius=1)
    >>> i, j = near.pairs()
    >>> i.tolist(), j.tolist()
    ([0, 1], [1, 2])
    """

    __module__ = "kickdrift"  # its public module

    _index_type: Any = Index

    def __init__(
        self, position: ArrayLike, radius: float, alive: ArrayLike | None = None, *, periodic: Periodic | None = None
    ) -> None:
        points = _points("position", position)
        self._n, self._dim = points.shape
        if not 1 <= self._dim <= 3:
            raise ValueError(f"position: expected shape (n, dim) with dim from 1 to 3, got {points.shape}")
        if self._n >= 2**31:
            raise ValueError(f"position: expected fewer than {2**31} points, got {self._n}")
        self._radius = validation.real("radius", radius, minimum=0.0)
        if self._radius == 0:
            raise ValueError("radius: expected a number above zero, got 0")
        self._torus = None
        if periodic is not None:
            if not isinstance(periodic, Periodic):
                raise TypeError(f"periodic: expected a kickdrift.Periodic, got {validation.show(periodic)}")
            self._torus = periodic.torus(self._dim)
            half = min((width for width in self._torus.width.tolist() if width > 0), default=math.inf) / 2
            if self._radius > half:
                raise ValueError(f"radius: expected at most half of the width of periodic, {half:g} m, got {radius:g}")
            points = self._torus.inside(points)
        rows = None if alive is None else np.flatnonzero(_mask(alive, self._n))
        self._points, self._rows = points if rows is None else points[rows], rows
        self._index = grid(self._index_type, self._points, rows, self._radius, self._torus)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_index", "_tree")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._index = grid(self._index_type, self._points, self._rows, self._radius, self._torus)

    @property
    def n(self) -> int:
        """Number of points, including inactive ones."""
        return self._n

    @property
    def radius(self) -> float:
        """Largest distance of near points, in m."""
        return self._radius

    def pairs(self, out: tuple[Ints, Ints] | None = None) -> tuple[Ints, Ints]:
        """Return (i, j): all pairs of points that are near each other, i < j, in ascending order.

        out: two int64 arrays with room for them.

        >>> import kickdrift as kd
        >>> i, j = kd.Neighbours([[0.0], [5.0], [0.5]], radius=1).pairs()
        >>> list(zip(i.tolist(), j.tolist()))
        [(0, 2)]
        """
        return self._index.pairs(_given(out, (np.int64, np.int64)))

    def of(self, points: ArrayLike, out: tuple[Ints, Ints] | None = None) -> tuple[Ints, Ints]:
        """Return (i, start): the points near each query point. For query k these are i[start[k]:start[k + 1]],
        ascending.

        points: m, shape (k, dim), or (dim,) for one. out: two int64 arrays, with room for them and for k + 1.

        >>> import kickdrift as kd
        >>> i, start = kd.Neighbours([[0.0], [5.0], [0.5]], radius=1).of([[0.25], [3.0], [5.5]])
        >>> i.tolist(), start.tolist()
        ([0, 2, 1], [0, 2, 2, 3])
        """
        places = self._places("points", points)
        return self._index.of(places, _given(out, (np.int64, np.int64)))

    def nearest(self, points: ArrayLike, k: int = 1, out: tuple[Ints, Floats] | None = None) -> tuple[Ints, Floats]:
        """Return (i, distance): the k points nearest to each query point, nearest first, at any distance.

        points: m, shape (m, dim), or (dim,) for one. k: how many. Both results have shape (m, k); if there are fewer
        points, i is -1 and the distance infinite. out: arrays of that shape, int64 and float64. `radius` is not
        used. The first call builds a tree of the points.

        >>> import kickdrift as kd
        >>> i, distance = kd.Neighbours([[0.0], [5.0], [0.5]], radius=1).nearest([[4.0]], k=2)
        >>> i.tolist(), distance.tolist()
        ([[1, 2]], [[1.0, 3.5]])
        """
        places, count = self._places("points", points), validation.integer("k", k, 1, 2**31 - 1)
        shape = len(places), count
        i, distance = _given(out, (np.int64, np.float64), shape) or (np.empty(shape, np.int64), np.empty(shape))
        self._tree.nearest(places, i, distance)
        return i, distance

    @cached_property
    def _tree(self) -> Any:
        """Build the tree lazily. Two threads may both build it on first use; the results are equal."""
        finite = np.flatnonzero(np.isfinite(self._points).all(axis=1))
        rows = finite if self._rows is None else self._rows[finite]
        return Nearest(self._points[finite], rows, self._torus)

    def cast(
        self, origin: ArrayLike, motion: ArrayLike, radius: float = 0.0, out: tuple[Ints, Floats] | None = None
    ) -> tuple[Any, Any]:
        """Return (i, share): the first point hit by a ball that moves from origin to origin + motion.

        A point is hit if its distance from the ball's center falls to the sum of both radii, the ball's and
        `self.radius`.
        share: the fraction of the motion before the hit, 0 to 1; 0 if the ball starts that near. Without a hit, i is -1
        and share is 1. The ball stops at origin + share * motion.

        origin: m, shape (dim,), which gives an int and a float, or (k, dim) for int64 and float64 arrays of shape (k,).
        motion: m, (dim,) or the shape of origin. radius: m, >= 0. out: arrays of shape (k,), int64 and float64.

        >>> import kickdrift as kd
        >>> kd.Neighbours([[0.0, 0.0], [9.0, 0.0]], radius=1).cast([5.0, 0.0], [-8.0, 0.0])
        (0, 0.5)
        """
        places, displacements = self._places("origin", origin), validation.numbers("motion", motion)
        single = np.ndim(origin) == 1 and out is None
        if displacements.shape not in ((self._dim,), places.shape):
            raise ValueError(f"motion: expected shape ({self._dim},) or {places.shape}, got {displacements.shape}")
        if self._torus is not None:
            with np.errstate(over="ignore"):
                far = abs(displacements * self._torus.per_width) > FARTHEST
            if far.any():
                raise ValueError(
                    f"motion: expected at most {FARTHEST} widths of periodic, got {validation.show(motion)}"
                )
        reach = self._radius + validation.real("radius", radius, minimum=0.0)
        shape = (len(places),)
        i, share = _given(out, (np.int64, np.float64), shape) or (np.empty(shape, np.int64), np.empty(shape))
        self._index.cast(places, np.ascontiguousarray(np.broadcast_to(displacements, places.shape)), reach, i, share)
        return (int(i[0]), float(share[0])) if single else (i, share)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__}: {self._n} points, dim {self._dim}, {self._radius:g} m>"

    def _places(self, name: str, given: ArrayLike) -> np.ndarray:
        places = _points(name, given)
        if places.shape[1] != self._dim:
            raise ValueError(f"{name}: expected shape (k, {self._dim}) or ({self._dim},), got {np.shape(given)}")
        return places if self._torus is None else self._torus.inside(places)


def grid(
    index_type: Any, points: np.ndarray, rows: Any, radius: float, torus: Any, size: np.ndarray | None = None
) -> Any:
    """Return a search grid of points for distances up to radius. size: the radius of each point, for casts."""
    buckets, step = ring(*points.shape)
    # The margin over the radius exceeds rounding errors.
    return index_type(points, rows, radius, min(1 / radius / (1 + 1 / 64), 1e300), buckets, step, torus, size=size)


def _points(name: str, given: ArrayLike) -> np.ndarray:
    """Return a copy as a contiguous float64 array of shape (n, dim)."""
    array = validation.plain(name, given)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name}: expected real numbers, got {validation.show(given)}")
    if array.ndim not in ((2,) if name == "position" else (1, 2)):
        raise ValueError(f"{name}: expected shape (n, dim), got {array.shape}")
    return np.ascontiguousarray(np.atleast_2d(validation.in_float64(array)))


def _mask(alive: ArrayLike, n: int) -> np.ndarray:
    mask = validation.plain("alive", alive)
    if mask.dtype != bool or mask.shape != (n,):
        raise ValueError(f"alive: expected a mask, bool of shape ({n},), got {mask.dtype} of shape {mask.shape}")
    return mask


def _given(out: Any, dtypes: tuple[type, type], shape: tuple[int, ...] | None = None) -> Any:
    """Check the arrays of `out`, if given; shape None accepts any length."""
    if out is None:
        return None
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(f"out: expected two arrays, got {validation.show(out)}")
    for array, dtype in zip(out, dtypes, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != dtype:
            raise TypeError(f"out: expected an array of {np.dtype(dtype)}, got {validation.show(array)}")
        if array.ndim != 1 if shape is None else array.shape != shape:
            raise ValueError(f"out: expected shape {'(room,)' if shape is None else shape}, got {array.shape}")
        if not array.flags.c_contiguous or not array.flags.writeable or not array.flags.aligned:
            raise ValueError("out: expected contiguous, aligned, writable arrays")
    if np.shares_memory(*out):
        raise ValueError("out: expected arrays of their own, got two that share memory")
    return tuple(out)
