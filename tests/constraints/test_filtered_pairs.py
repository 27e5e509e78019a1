"""The broad phase skips pairs by category: equal to the reference, and complete compared with brute force."""

import numpy as np
import pytest
from plans import assert_same_bits, each_isa, said

import kickdrift as kd


def scene(seed):
    """Draw bodies of several categories, in open space or a periodic box, of one size class or several."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(20, 70)), 1 + seed % 3
    side = float(rng.choice([3.0, 9.0]) if dim > 1 else 30.0)
    radius = [0.3, rng.uniform(0.05, 0.5, n), np.where(rng.random(n) < 0.7, 0.5, 0.0)][int(rng.integers(3))]
    kinds = int(rng.integers(1, 5))
    kind = rng.integers(0, kinds, n)
    category, mask = 1 << rng.permutation(64)[:kinds].astype(np.uint64), rng.integers(0, 2**63, kinds, np.uint64)
    mask |= np.bitwise_or.reduce(category[rng.random(kinds) < 0.7], initial=np.uint64(0))
    how = {"category": category[kind], "mask": mask[kind], "sensor": rng.random(n) < 0.3}
    if rng.random() < 0.6:
        pairs = kd.ElasticCollisions(radius, 0.5, swept=bool(rng.integers(2)), **how)
    else:
        pairs = kd.Contacts(radius, **how)
    space = [kd.Periodic(0, side)] if rng.integers(2) else []
    arguments = {"constraints": [pairs, *space], "events": kd.Events(), "alive": rng.random(n) < 0.9}
    return rng.uniform(0, side, (n, dim)), rng.normal(size=(n, dim)), arguments


def run(stepper_type, position, velocity, arguments):
    world = stepper_type(position.copy(), velocity.copy(), **arguments)
    world.step(3)
    return world, world.events.take()


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_filtered_pairs_equal_the_reference(monkeypatch, first):
    met = 0
    for seed in range(first, first + 10):
        drawn = scene(seed)
        book, expected = run(kd.reference.Stepper, *drawn)
        met += len(expected)
        for isa in each_isa(monkeypatch):
            ours, events = run(kd.Stepper, *drawn)
            with said(seed=seed, isa=isa):
                assert_same_bits(ours.position, book.position)
                assert events.tobytes() == expected.tobytes()
    assert met > 20


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("sizes", [1, 2])
@pytest.mark.parametrize("space", [[], [kd.Periodic(0, 50)]])
def test_all_pairs_of_kinds_that_collide_are_found(Stepper, sizes, space, swept):
    rng = np.random.default_rng(sizes)
    n = 150 if Stepper is kd.reference.Stepper else 500
    x, kind = rng.uniform(0, 50, (n, 2)), rng.integers(0, 3, n)
    radius = np.array([1.5, 1.5 if sizes == 1 else 0.2, 1.5])[kind]
    category, mask = np.array([1, 2, 4])[kind], np.array([2, 1, 0])[kind]
    hits = kd.ElasticCollisions(radius, category=category, mask=mask, sensor=True, swept=swept)
    world = Stepper(x, constraints=[hits, *space], events=kd.Events(end=False))
    world.step()
    begun = world.events.take()
    d = x[:, None] - x
    d -= 50 * np.round(d / 50) if space else 0
    near = np.sqrt((d * d).sum(axis=2)) < radius[:, None] + radius
    near &= (category[:, None] & mask != 0) & (category & mask[:, None] != 0)
    expected = np.argwhere(np.triu(near, 1))
    begun = begun[begun["kind"] == kd.BEGIN]
    assert np.stack([begun["slot_a"], begun["slot_b"]], axis=1).tolist() == expected.tolist()
    assert len(expected) > 3


@pytest.mark.parametrize("constraint", ["collisions", "swept", "contacts"])
def test_a_heap_of_bullets_does_not_hide_the_ship(Stepper, constraint):
    """Only pairs that the filter lets collide count towards the limit of partners."""
    n = 60
    ship = np.arange(n) == n - 1
    how = {"category": np.where(ship, 1, 2), "mask": np.where(ship, 2, 1), "sensor": True}
    if constraint == "contacts":
        hits = kd.Contacts(1.0, **how)
    else:
        hits = kd.ElasticCollisions(1.0, swept=constraint == "swept", **how)
    world = Stepper(np.zeros((n, 2)), constraints=[hits], events=kd.Events(end=False))
    world.step()
    begun = world.events.take()
    assert begun[begun["kind"] == kd.BEGIN]["slot_a"].tolist() == [*range(n - 1)]
