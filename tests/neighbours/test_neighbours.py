"""Neighbour queries: the compiled index, the reference, and SciPy if available."""

import copy
import pickle
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from plans import said

import kickdrift as kd


@pytest.fixture(params=[kd.Neighbours, kd.reference.Neighbours], ids=["compiled", "reference"])
def Neighbours(request):  # noqa: N802
    return request.param


def clouds(count):
    """Yield point sets: few and many, dense, on lattices, far from the origin, with NaN and infinity."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        dim = seed % 3 + 1
        n = int(rng.choice([0, 1, 2, 7, 40, 120]))
        radius = float(rng.choice([1.0, 0.1, 3.0]))
        position = rng.normal(size=(n, dim)) * float(rng.choice([0.1, 1, 10, 1000]))
        kind = rng.integers(5)
        if kind == 0:
            position = np.round(position)
        elif kind == 1:
            position[:, 0] += 1e17
        elif kind == 2 and n:
            position[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf])
        elif kind == 3:
            position = position.astype(np.float32)
        alive = None if rng.integers(2) else rng.random(n) < 0.7
        yield seed, rng, position, radius, alive


def test_compiled_and_reference_agree():
    found = 0
    for seed, rng, position, radius, alive in clouds(300):
        with said(seed=seed):
            ours = kd.Neighbours(position, radius, alive)
            book = kd.reference.Neighbours(position, radius, alive)
            dim = position.shape[1]
            places = position[rng.permutation(len(position))][:5] + rng.normal(size=dim) * radius
            places = np.concatenate([places, rng.normal(size=(3, dim)) * 20, position[:3]])
            places = places[np.isfinite(places).all(axis=1)]
            motions = rng.normal(size=places.shape) * float(rng.choice([0, 0.5, 5, 100]))
            size = float(rng.choice([0, 0.3, 4]))
            for name, given in [
                ("pairs", ()),
                ("of", (places,)),
                ("nearest", (places, 1)),
                ("nearest", (places, 6)),
                ("cast", (places, motions, size)),
                ("cast", (places, np.eye(dim)[0] * -30, size)),
            ]:
                actual, expected = getattr(ours, name)(*given), getattr(book, name)(*given)
                for a, e in zip(actual, expected, strict=True):
                    assert a.dtype == e.dtype
                    np.testing.assert_array_equal(a, e, name)
                    found += a.size
    assert found > 20_000


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_queries_equal_scipy(dim):
    spatial = pytest.importorskip("scipy.spatial")
    rng = np.random.default_rng(dim)
    position = rng.random((2000, dim)) * {1: 500, 2: 30, 3: 10}[dim]
    near, tree = kd.Neighbours(position, 1.0), spatial.cKDTree(position)
    expected = tree.query_pairs(1.0, output_type="ndarray")
    i, j = near.pairs()
    assert np.stack([i, j], axis=1).tolist() == sorted(np.sort(expected, axis=1).tolist())
    places = rng.random((100, dim)) * 30
    i, start = near.of(places)
    balls = tree.query_ball_point(places, 1.0)
    assert [i[a:b].tolist() for a, b in pairwise(start)] == [sorted(ball) for ball in balls]
    i, distance = near.nearest(places, 4)
    assert distance == pytest.approx(tree.query(places, 4)[0], rel=1e-12)
    assert (i == tree.query(places, 4)[1]).all()


def shapes(rng, dim, n):
    """Yield (name, points): distributions of typical worlds, and coordinates near the float spacing."""
    drawn = rng.normal(size=(n, dim))
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)[:, None]
    yield "even", rng.random((n, dim))
    yield "clusters", rng.normal(size=(5, dim))[rng.integers(5, size=n)] + drawn * 1e-4
    yield "a lattice", np.round(drawn * 5)
    yield "one place", np.full((n, dim), 0.3)
    yield "a circle", np.cos(angle - np.arange(dim))
    yield "a line", np.arange(n)[:, None] * np.ones(dim)
    yield "far out", drawn + 1e16
    yield "huge", drawn * 1e154
    yield "without squares", drawn * 1e200
    yield "tiny", drawn * 1e-310
    yield "of all sizes", drawn * 10.0 ** rng.integers(-160, 160, (n, dim))
    yield "no numbers among them", np.where(rng.random((n, dim)) < 0.1, np.inf, drawn)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("periodic", [None, kd.Periodic(-0.5, 1.25)], ids=["open", "periodic"])
def test_nearest_equals_an_exhaustive_search(dim, periodic):
    rng = np.random.default_rng(dim)
    for n in (1, 17, 700):
        for name, position in shapes(rng, dim, n):
            with said(shape=name, n=n):
                alive = rng.random(n) < 0.9
                given = position, float(rng.choice([1e-9, 0.1, 0.8])), alive
                ours, book = (each(*given, periodic=periodic) for each in (kd.Neighbours, kd.reference.Neighbours))
                size = np.abs(position[np.isfinite(position)]).max()
                beside = position + np.spacing(position) * rng.integers(-9, 9, (n, dim))
                places = np.concatenate([
                    position[:8], beside[:8], position[:8] + rng.normal(size=dim) * size * 1e-3,
                    rng.normal(size=(8, dim)) * size, rng.normal(size=(8, dim)) * size * 1e3, np.zeros((1, dim)),
                ])  # fmt: skip
                places = places[np.isfinite(places).all(axis=1)]
                for k in (1, 5, n + 2):
                    for a, e in zip(ours.nearest(places, k), book.nearest(places, k), strict=True):
                        np.testing.assert_array_equal(a, e)


def test_nearest_takes_equal_time_at_any_distance():
    rng = np.random.default_rng(0)
    position, places = rng.random((5000, 2)), rng.random((300, 2))
    seconds = {}
    for _ in range(7):
        for radius, off in [(0.01, 0), (0.01, 2), (0.01, 1000), (1e-5, 0), (0.4, 0)]:
            near = kd.Neighbours(position, radius)
            near.nearest(places)
            begin = time.perf_counter()
            near.nearest(places + off)
            taken = time.perf_counter() - begin
            seconds[radius, off] = min(taken, seconds.get((radius, off), taken))
    assert max(seconds.values()) < 5 * seconds[0.01, 0]


def test_the_radius_is_inclusive(Neighbours):
    i, j = Neighbours([[0.0], [2.0], [4.5]], 2.0).pairs()
    assert (i.tolist(), j.tolist()) == ([0], [1])


def test_many_pairs_are_sorted():
    position = np.random.default_rng(0).random((3000, 2))
    i, j = kd.Neighbours(position, 0.2).pairs()
    d = position[i] - position[j]
    assert ((d * d).sum(axis=1) <= 0.2 * 0.2).all()
    keys = i * 3000 + j
    assert (i < j).all()
    assert (np.diff(keys) > 0).all()
    far = position[:, None] - position[None]
    assert len(keys) == (((far * far).sum(axis=2) <= 0.2 * 0.2).sum() - 3000) // 2


def test_later_changes_of_positions_have_no_effect(Neighbours):
    position = np.array([[0.0], [0.5]])
    near = Neighbours(position, 1)
    position[1] = 9
    assert near.pairs()[0].tolist() == [0]


def test_dead_bodies_are_ignored(Neighbours):
    near = Neighbours([[0.0], [0.1], [np.nan], [0.3]], 1, alive=np.array([True, False, True, True]))
    assert [a.tolist() for a in near.pairs()] == [[0], [3]]
    assert near.of([[0.1]])[0].tolist() == [0, 3]
    assert near.nearest([0.1], 3)[0].tolist() == [[0, 3, -1]]
    assert near.cast([-3.0], [9.0])[0] == 0
    assert (near.n, near.radius) == (4, 1)


def test_ties_are_ordered_by_row(Neighbours):
    near = Neighbours([[1.0], [-1.0], [1.0], [0.0]], 1)
    assert near.nearest([[0.0]], 4)[0].tolist() == [[3, 0, 1, 2]]
    assert near.cast([3.0], [-9.0]) == (0, pytest.approx(1 / 9))


def test_cast(Neighbours):
    near = Neighbours([[0.0, 0.0], [9.0, 0.0], [5.0, 40.0]], 1)
    assert near.cast([5.0, 0.0], [-8.0, 0.0], radius=1) == (0, 0.375)
    assert near.cast([0.5, 0.0], [-8.0, 0.0]) == (0, 0.0)
    assert near.cast([0.5, 0.0], [0.0, 0.0]) == (0, 0.0)
    assert near.cast([5.0, 0.0], [0.0, -90.0]) == (-1, 1.0)
    i, share = near.cast([[5.0, 0.0], [5.0, 1.0]], [[-8.0, 0.0], [0.0, 76.0]])
    assert (i.tolist(), share.tolist()) == ([0, 2], [0.5, 0.5])


def test_out(Neighbours):
    near = Neighbours([[0.0], [0.5], [0.75]], 1)
    room = np.full(8, -7), np.full(8, -7)
    i, j = near.pairs(out=room)
    assert np.shares_memory(i, room[0])
    assert (i.tolist(), j.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert room[0][3:].tolist() == [-7] * 5
    i, start = near.of([[0.0], [2.0]], out=room)
    assert (i.tolist(), start.tolist()) == ([0, 1, 2], [0, 3, 3])
    with pytest.raises(ValueError, match="out: expected room for 3 numbers, got 2"):
        near.pairs(out=(np.zeros(2, np.int64), np.zeros(8, np.int64)))
    given = np.zeros((1, 2), np.int64), np.zeros((1, 2))
    assert near.nearest([0.6], 2, out=given)[0] is given[0]
    assert given[0].tolist() == [[1, 2]]
    with pytest.raises(TypeError, match="out: expected an array of int64"):
        near.pairs(out=(np.zeros(8), np.zeros(8, np.int64)))
    with pytest.raises(TypeError, match="out: expected two arrays"):
        near.pairs(out=np.zeros(8, np.int64))
    with pytest.raises(ValueError, match="out: expected shape"):
        near.nearest([0.6], 3, out=given)
    with pytest.raises(ValueError, match="out: expected arrays of their own"):
        near.pairs(out=(room[0], room[0]))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (([[0.0]], 0.0), ValueError, "radius: expected a number above zero"),
        (([[0.0]], -1.0), ValueError, "radius"),
        (([[0.0]], "1"), TypeError, "radius"),
        (([0.0], 1.0), ValueError, r"position: expected shape \(n, dim\)"),
        (([[0.0] * 4], 1.0), ValueError, "position: expected shape"),
        (([["a"]], 1.0), TypeError, "position: expected real numbers"),
        (([[0.0], [1.0]], 1.0, [True]), ValueError, "alive: expected a mask"),
        (([[0.0], [1.0]], 1.0, [1, 0]), ValueError, "alive: expected a mask"),
    ],
)
def test_invalid_arguments_are_refused(Neighbours, given, error, message):
    with pytest.raises(error, match=message):
        Neighbours(*given)


def test_invalid_queries_are_refused(Neighbours):
    near = Neighbours([[0.0, 0.0]], 1)
    with pytest.raises(ValueError, match=r"points: expected shape \(k, 2\)"):
        near.of([[0.0]])
    with pytest.raises(ValueError, match="k: expected"):
        near.nearest([[0.0, 0.0]], 0)
    with pytest.raises(ValueError, match="motion: expected shape"):
        near.cast([0.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="radius"):
        near.cast([0.0, 0.0], [1.0, 0.0], radius=-1)


def test_positions_of_a_stepper(Stepper):
    world = Stepper([[0.0], [3.0]], [[1.0], [0.0]], dt=1)
    assert not len(kd.Neighbours(world.position, 1).pairs()[0])
    world.step(2)
    assert len(kd.Neighbours(world.position, 1).pairs()[0]) == 1


def test_queries_from_several_threads():
    position = np.random.default_rng(3).random((2000, 3))
    near = kd.Neighbours(position, 0.1)
    expected, results = near.pairs(), []
    threads = [threading.Thread(target=lambda: results.append(near.pairs())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all((i == expected[0]).all() and (j == expected[1]).all() for i, j in results)


def boxes(count):
    """Yield periodic boxes with few and many cells, some of them open along an axis."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        dim = 1 + seed % 3
        lower, width, is_open = rng.normal(size=dim) * 5, rng.uniform(2, 12, dim), rng.random(dim) < 0.2
        box = kd.Periodic(np.where(is_open, -np.inf, lower), np.where(is_open, np.inf, lower + width))
        least = min(np.where(is_open, 20.0, width))
        yield seed, rng, box, dim, float(rng.uniform(0.02, 0.5)) * least


def test_queries_in_a_periodic_box_equal_the_reference():
    found = 0
    for seed, rng, box, dim, radius in boxes(60):
        with said(seed=seed):
            n = int(rng.choice([0, 1, 5, 60, 130]))
            position = rng.normal(size=(n, dim)) * 6
            position[2:3] = np.nan
            places, motions = rng.normal(size=(20, dim)) * 8, rng.normal(size=(20, dim))
            motions *= float(rng.choice([0.5, 5, 20]))
            alive = rng.random(n) < 0.8
            ours, book = (
                each(position, radius, alive, periodic=box) for each in (kd.Neighbours, kd.reference.Neighbours)
            )
            for name, given in [
                ("pairs", ()),
                ("of", (places,)),
                ("nearest", (places, 3)),
                ("nearest", (places[:5], n + 2)),
                ("cast", (places, motions, 0.3)),
            ]:
                actual, expected = getattr(ours, name)(*given), getattr(book, name)(*given)
                for a, e in zip(actual, expected, strict=True):
                    np.testing.assert_array_equal(a, e, name)
                    found += a.size
    assert found > 20_000


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_queries_in_a_periodic_box_equal_scipy(dim):
    spatial = pytest.importorskip("scipy.spatial")
    points = np.random.default_rng(dim).uniform(0, 10, (2000, dim))
    tree, near = spatial.cKDTree(points, boxsize=10.0), kd.Neighbours(points, 0.2, periodic=kd.Periodic(0, 10))
    expected = tree.query_pairs(0.2, output_type="ndarray")
    expected = expected[np.lexsort(expected.T[::-1])]
    assert np.array_equal(np.stack(near.pairs(), axis=1), expected)
    i, distance = near.nearest(points[:100] + 0.03, 4)
    distances, rows = tree.query((points[:100] + 0.03) % 10, 4)
    assert np.allclose(distance, distances, atol=1e-12)
    assert (i == rows).mean() > 0.99


def test_queries_in_a_periodic_box(Neighbours):
    near = Neighbours([[0.25], [9.75], [5.0]], 1, periodic=kd.Periodic(0, 10))
    assert [each.tolist() for each in near.pairs()] == [[0], [1]]
    assert near.of([[20.1]])[0].tolist() == [0, 1]
    assert near.nearest([[-0.5]])[1].tolist() == [[0.25]]
    i, share = near.cast([7.5], [40.0])
    assert (i, share) == (1, 1.25 / 40)
    i, share = near.cast([4.25], [-40.0])
    assert (i, share) == (2, 0.0)
    assert near.cast([[np.nan], [np.inf], [8.0]], [[1.0], [1.0], [2.5]])[0].tolist() == [-1, -1, 1]
    with pytest.raises(ValueError, match="motion: expected at most 1048576 widths of periodic, got"):
        near.cast([0.0], [1e308])
    with pytest.raises(ValueError, match="radius: expected at most half of the width of periodic, 5 m, got 6"):
        Neighbours([[0.0]], 6, periodic=kd.Periodic(0, 10))
    with pytest.raises(TypeError, match=r"periodic: expected a kickdrift\.Periodic, got"):
        Neighbours([[0.0]], 1, periodic=(0, 10))


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda near: pickle.loads(pickle.dumps(near))])
@pytest.mark.parametrize("periodic", [None, kd.Periodic(0, 10.0)])
def test_copies_find_the_same(Neighbours, twin, periodic):
    points = np.random.default_rng(1).uniform(0, 10, (60, 2))
    near = Neighbours(points, 1.0, np.arange(60) % 3 > 0, periodic=periodic)
    near.nearest(points)
    other = twin(near)
    assert (other.n, other.radius) == (60, 1.0)
    for query in (lambda near: near.pairs(), lambda near: near.of(points), lambda near: near.nearest(points, 3)):
        for found, expected in zip(query(other), query(near), strict=True):
            assert np.array_equal(found, expected)
