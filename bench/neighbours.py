"""Nearest points compared with SciPy's cKDTree, including the construction of both.

    python -m bench.neighbours [--rounds R] [count ...]      default: 10,000 points; needs SciPy

A query has 2,000 places, on one thread: among the points, next to single points, outside of all and far outside.
Points are uniform or in twenty clusters; the radius of `Neighbours` is the mean spacing or a thousandth of it. Both
are measured in turns, and the best round counts.
"""

import argparse
import statistics
from functools import partial
from itertools import product

import numpy as np

import kickdrift as kd

from .timing import measure

PLACES = 2000


def clouds(rng, dim, count):
    yield "even", rng.random((count, dim))
    yield "clusters", rng.random((20, dim))[rng.integers(20, size=count)] + rng.normal(size=(count, dim)) * 1e-3


def places(rng, points):
    """Return query points."""
    dim = points.shape[1]
    yield "inside", rng.random((PLACES, dim))
    yield "beside", rng.choice(points, PLACES) + rng.normal(size=(PLACES, dim)) * 1e-4
    yield "outside", rng.random((PLACES, dim)) + 1.1
    yield "far", rng.normal(size=(PLACES, dim)) * 100


def row(name, ours, theirs, rounds, each, unit):
    """Print a row of the table; return the ratio of speeds."""
    times = measure({"ours": ours, "theirs": theirs}, rounds, least=0)
    mine, other = (min(seconds) * each for seconds in times.values())
    print(f"{name:50} {mine:8.3f} {other:8.3f} {unit} {other / mine:6.2f}", flush=True)
    return other / mine


def compare(dim, count, rounds):
    """Return the speed of each row relative to cKDTree."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(1)
    for cloud, points in clouds(rng, dim, count):
        tree, apart = cKDTree(points), count ** (-1 / dim)

        def made(points=points, apart=apart):
            near = kd.Neighbours(points, apart)
            near.nearest(points[:1])
            return near

        row(f"{dim}-D {count} {cloud}, made", made, partial(cKDTree, points), rounds, 1e3, "ms")
        for (where, asked), k, share in product(list(places(rng, points)), (1, 6), (1, 1e-3)):
            near = kd.Neighbours(points, apart * share)
            assert np.allclose(near.nearest(asked, k)[1], tree.query(asked, [*range(1, k + 1)])[0], rtol=1e-12, atol=0)
            name = f"{dim}-D {count} {cloud}, {where}, k={k}" + ("" if share == 1 else ", small radius")
            ours, theirs = partial(near.nearest, asked, k), partial(tree.query, asked, k)
            yield row(name, ours, theirs, rounds, 1e6 / PLACES, "us")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=int, nargs="*", default=[10_000], metavar="count")
    parser.add_argument("--rounds", type=int, default=40, help="in which each has its turn")
    asked = parser.parse_args(arguments)
    print(f"{'':50} {'ours':>8} {'cKDTree':>8}    {'speed':>6}")
    speeds = [speed for dim in (1, 2, 3) for count in asked.counts for speed in compare(dim, count, asked.rounds)]
    print(
        f"{len(speeds)} rows, at least {min(speeds):.2f} times as fast, {statistics.median(speeds):.2f} in the median"
    )


if __name__ == "__main__":
    main()
