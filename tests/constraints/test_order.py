"""Order in which pairs are solved: as given, or by graph colouring."""

from itertools import product

import numpy as np
import pytest
from plans import DISTANCES, LAYOUTS, assert_same_bits, assert_same_state, each_isa, lay_out, mesh, random_pairs

import kickdrift as kd
from kickdrift import kernels
from kickdrift.constraints.joints import colours


def in_colours(pairs):
    return np.argsort(colours(np.asarray(pairs)), kind="stable")


def stepped(stepper, steps=3):
    stepper.step(steps)
    return stepper


@pytest.mark.parametrize("pairs", [mesh(9), random_pairs(np.random.default_rng(1), 30, 400), np.zeros((0, 2), int)])
def test_colouring_is_greedy_and_proper(pairs):
    found = colours(pairs)
    for pair, colour in enumerate(found):
        beside = np.isin(pairs[:pair], pairs[pair]).any(axis=1)
        assert colour == min(set(range(len(pairs) + 1)) - set(found[:pair][beside].tolist()))


def test_a_grid_has_four_colours_and_a_star_one_per_edge():
    assert np.bincount(colours(mesh(64))).tolist() == [2048, 2048, 2046, 1922]
    hub = np.stack([np.zeros(300, np.int64), np.arange(1, 301)], axis=1)
    assert colours(hub).tolist() == list(range(300))


@pytest.mark.parametrize("how", DISTANCES)
def test_coloured_order_equals_sorting_the_pairs_by_colour(Stepper, how):
    """Coefficients per pair are sorted together with the pairs."""
    rng = np.random.default_rng(2)
    x, v, pairs = rng.normal(size=(40, 3)), rng.normal(size=(40, 3)), random_pairs(rng, 40, 120)
    each = {"length": rng.uniform(0.1, 2, 120)} | {
        name: rng.uniform(0.1, 1, 120) for name in ("stiffness", "compliance") if name in DISTANCES[how]
    }
    mass = np.where(np.arange(40) == 5, np.inf, rng.uniform(0.5, 2, 40))
    order = in_colours(pairs)

    def world(chosen, **more):
        told = {**DISTANCES[how], **{name: values[chosen] for name, values in each.items()}, **more}
        constraints = [kd.Pin([3, 7]), kd.Distance(pairs[chosen], **told)]
        return stepped(Stepper(x.copy(), v.copy(), mass, constraints=constraints))

    coloured = world(slice(None), order="coloured")
    assert_same_state(coloured, world(order))
    given = world(slice(None))
    assert coloured.position.tobytes() != given.position.tobytes()
    assert_same_state(given, world(slice(None), order="given"))


@pytest.mark.parametrize("how", DISTANCES)
@pytest.mark.parametrize(("dtype", "dim"), list(product([np.float32, np.float64], [1, 2, 3])))
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "rk4"])
def test_coloured_equals_the_reference(monkeypatch, how, dtype, dim, integrator):
    rng = np.random.default_rng(dim)
    n = 60
    x, v = (0.7 * rng.normal(size=(n, dim)).astype(dtype) for _ in range(2))
    # Many unconstrained bodies, so that rows of pairs differ from body indices; one colour of one pair, others of many.
    pairs = np.concatenate([random_pairs(rng, 33, 100), [(40, 59)]])
    box = [kd.Periodic(-2.0, 2.0)] if dim == 2 else []

    def world(cls, layout="row"):
        held = kd.Distance(pairs, 0.4, order="coloured", iterations=3, **DISTANCES[how])
        return stepped(
            cls(
                lay_out(x, layout), lay_out(v, layout), dt=0.02, integrator=integrator,
                forces=[kd.Gravity(-1.0 * np.arange(dim))], constraints=[kd.Pin([4]), held, *box],
            )
        )  # fmt: skip

    book = world(kd.reference.Stepper)
    for isa, layout in product(kernels.isas, LAYOUTS[:2]):
        monkeypatch.setattr(kernels, "isa", isa)
        assert_same_state(world(kd.Stepper, layout), book)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", ["before", "after", "compliant"])
def test_a_cloth_of_several_memory_pages_equals_the_reference(monkeypatch, dtype, how):
    """The cloth has enough bodies that their rows are padded with unused cache lines."""
    side = 24
    x = np.zeros((side * side, 3), dtype)
    x[:, 0], x[:, 2] = (0.1 * axis.ravel() for axis in np.divmod(np.arange(side * side), side))

    def world(cls, order, **more):
        held = kd.Distance(mesh(side), iterations=3, order=order, **DISTANCES[how])
        return stepped(
            cls(
                x.copy(), dt=1 / 60, integrator="velocity_verlet", forces=[kd.Gravity((0, -9.81, 0))],
                constraints=[kd.Pin([0, side - 1]), held], **more,
            ),
            2,
        )  # fmt: skip

    for order in ("given", "coloured"):
        book = world(kd.reference.Stepper, order)
        for isa, threads in product(kernels.isas, (1, 4)):
            monkeypatch.setattr(kernels, "isa", isa)
            assert_same_state(world(kd.Stepper, order, threads=threads), book)


def test_coefficients_are_set_in_the_order_of_the_given_pairs(Stepper):
    rng = np.random.default_rng(5)
    x, pairs = rng.normal(size=(20, 2)), random_pairs(rng, 20, 50)
    rods = kd.Distance(pairs, 1.0, order="coloured")
    world = Stepper(x.copy(), constraints=[rods])
    saved = world.snapshot()
    for change in ({"length": rng.uniform(0, 2, 50)}, {"length": 0.5}, {"stiffness": rng.uniform(0.1, 1, 50)}):
        world.set(rods, **change)
        assert world.current(rods).pairs.tolist() == pairs.tolist()
        now = world.current(rods)
        order = in_colours(pairs)
        told = {name: np.broadcast_to(getattr(now, name), 50)[order] for name in ("length", "stiffness")}
        twin = Stepper(world.position.copy(), world.velocity.copy(), constraints=[kd.Distance(pairs[order], **told)])
        for each in (world, twin):
            each.step(2)
        assert_same_state(world, twin)
    world.restore(saved)
    assert world.snapshot() == saved


def test_order_can_be_set(Stepper):
    rng = np.random.default_rng(6)
    x, rods = rng.normal(size=(20, 2)), kd.Distance(random_pairs(rng, 20, 50), 1.0)
    world = Stepper(x.copy(), constraints=[rods])
    world.set(rods, order="coloured")
    twin = Stepper(x.copy(), constraints=[kd.Distance(rods.pairs, 1.0, order="coloured")])
    assert_same_state(stepped(world), stepped(twin))
    now = world.current(rods)
    world.set(rods, iterations=3)
    assert world.current(rods)._colours is now._colours  # colours are computed once
    world.set(rods, order="given")
    assert world.current(rods).order == "given"


@pytest.mark.parametrize("how", DISTANCES)
def test_coloured_pairs_are_removed_with_their_bodies(monkeypatch, how):
    rng = np.random.default_rng(7)
    n = 40
    x, v, pairs = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)), random_pairs(rng, n, 120)

    def world(cls, alive, pairs=pairs, order="coloured", x=x, v=v):
        held = kd.Distance(pairs, 1.0, order=order, iterations=2, **DISTANCES[how])
        return cls(
            x.copy(), v.copy(), dt=0.01, integrator="verlet", forces=[kd.Gravity((0, -1))],
            constraints=[kd.Pin([2]), held], alive=alive,
        )  # fmt: skip

    def lived(stepper):
        seen = []
        for turn in range(4):
            stepper.step(2)
            stepper.kill([4 * turn, 4 * turn + 1])
            stepper.spawn(np.full((1, 2), turn), np.ones(2))
            saved = stepper.snapshot()
            stepper.step(2)
            seen.append(stepper.checksum())
            stepper.restore(saved)
            stepper.step(2)
            assert stepper.checksum() == seen[-1]
        return seen

    most = np.arange(n) % 7 != 3
    book = lived(world(kd.reference.Stepper, most))
    for _isa in each_isa(monkeypatch):
        assert lived(world(kd.Stepper, most)) == book
        # Removed pairs do not change the colours of the others.
        killed = world(kd.Stepper, np.full(n, True))
        killed.kill(np.flatnonzero(~most))
        lasting = [pair for pair in in_colours(pairs) if most[pairs[pair]].all()]
        left = world(kd.Stepper, most, pairs[lasting], "given")
        for stepper in (killed, left):
            stepper.step(3)
        assert_same_bits(killed.position[most], left.position[most])
        assert_same_bits(killed.velocity[most], left.velocity[most])


def test_snapshots_of_another_order_are_refused(Stepper):
    x, pairs = np.random.default_rng(8).normal(size=(4, 2)), [(0, 1), (1, 2), (2, 3)]
    given, coloured = (Stepper(x.copy(), constraints=[kd.Distance(pairs, order=o)]) for o in ("given", "coloured"))
    with pytest.raises(kd.SnapshotError):
        given.restore(coloured.snapshot())


def test_contacts_solve_joints_in_their_order(Stepper):
    rng = np.random.default_rng(9)
    x, pairs, length = 3 * rng.normal(size=(12, 2)), random_pairs(rng, 12, 24), rng.uniform(0.5, 2, 24)
    order = in_colours(pairs)

    def world(chosen, **how):
        joints = [kd.Distance(pairs[chosen], length[chosen], **how)]
        return stepped(Stepper(x.copy(), constraints=[kd.Contacts(0.2, joints=joints)]))

    assert_same_state(world(slice(None), order="coloured"), world(order))


def test_unknown_orders_are_refused():
    with pytest.raises(ValueError, match=r"Distance\(order\): expected one of 'given', 'coloured', got 'random'"):
        kd.Distance([(0, 1)], order="random")
    assert kd.Distance([(0, 1)]).order == "given"
