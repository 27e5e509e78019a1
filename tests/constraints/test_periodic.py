"""Periodic boundary conditions against the reference, unwrapped copies of the box, and the literature."""

import pickle
from itertools import product

import numpy as np
import pytest
from plans import (
    INTEGRATORS,
    assert_same_bits,
    assert_same_state,
    compare_with_reference,
    each_isa,
    in_turn,
    outcome,
    said,
    wrapped_scene,
)

import kickdrift as kd
from kickdrift import kernels, reference

STEPPERS = pytest.mark.parametrize("stepper", [kd.Stepper, reference.Stepper])


@pytest.mark.parametrize("first", range(0, 210, 30))
def test_random_plans_equal_the_reference(monkeypatch, first):
    compare_with_reference(monkeypatch, in_turn(wrapped_scene), range(first, first + 30))


def test_layout_splitting_and_threads_do_not_change_results(isa):
    compared = 0
    for seed in range(63):
        with said(seed=seed):
            drawn = wrapped_scene(np.random.default_rng(seed), INTEGRATORS[seed % len(INTEGRATORS)], 60)
            whole, parts = drawn.make(kd.Stepper, "row"), drawn.make(kd.Stepper, "component", threads=2)
            if outcome(whole, 9):
                continue
            for steps in (1, 0, 4, 3, 1):
                parts.step(steps)
            assert parts.checksum() == whole.checksum()
            assert_same_bits(parts.position, whole.position)
            compared += 1
    assert compared > 50


def test_snapshots_restore_across_a_wrap(isa):
    for seed in range(21):
        with said(seed=seed):
            drawn = wrapped_scene(np.random.default_rng(seed), INTEGRATORS[seed])
            world = drawn.make(kd.Stepper)
            if outcome(world, 3):
                continue
            saved, other = world.snapshot(), drawn.make(kd.Stepper)
            assert outcome(world, 5) is None
            other.restore(saved)
            other.step(5)
            assert other.snapshot() == world.snapshot()
            other.restore(saved)
            for _ in range(5):
                other.step()
            assert other.checksum() == world.checksum()


def test_rows_of_dead_bodies_are_not_wrapped(monkeypatch):
    """Rows of dead bodies stay zero, even if the box does not contain the origin."""
    for many in (9, 700):
        twins = []
        for stepper in (kd.Stepper, reference.Stepper):
            rng = np.random.default_rng(3)
            position = rng.uniform(5, 7, (many, 2))
            velocity = rng.normal(0, 3, (many, 2))
            box = kd.Periodic(5.0, 7.0)
            world = stepper(position, velocity, dt=0.1, alive=rng.random(many) < 0.6, constraints=[box])
            world.step(4)
            world.kill(np.flatnonzero(world.alive)[::3])
            world.spawn(rng.uniform(4, 8, (2, 2)), (1.0, 2.0))
            world.step(3)
            assert not world.position[~world.alive].any()
            alive = world.position[world.alive]
            assert ((alive >= 5) & (alive < 7)).all()
            twins.append(world)
        assert_same_bits(twins[0].position, twins[1].position)
        assert twins[0].snapshot() == twins[1].snapshot()


@STEPPERS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bodies_are_wrapped_into_the_box_and_keep_their_velocity(stepper, dtype):
    rng = np.random.default_rng(1)
    places = np.concatenate([rng.uniform(-30, 30, 50), [0.1, 0.7, np.nextafter(dtype(0.1), dtype(0)), 1e9, -1e-30]])
    place = places.astype(dtype)[:, None]
    there = stepper(place.copy(), dt=1.0, integrator="explicit_euler", constraints=[kd.Periodic(0.1, 0.7)])
    there.step()
    assert (there.position >= dtype(0.1)).all()
    assert (there.position < dtype(0.7)).all()
    assert not there.velocity.any()
    inside = (place >= dtype(0.1)) & (place < dtype(0.7))
    assert (there.position[inside] == place[inside]).all()
    turns = (there.position.astype(float) - place.astype(float)) / 0.6
    near = np.abs(places) < 100
    assert np.abs(turns[near] - turns[near].round()).max() < (1e-4 if dtype is np.float32 else 1e-9)


@STEPPERS
def test_infinite_bounds_make_an_open_axis(stepper):
    world = stepper([[9.0, 9.0]], [[2.0, 2.0]], dt=1.0, constraints=[kd.Periodic((0, -np.inf), (10, np.inf))])
    world.step(3)
    assert world.position.tolist() == [[5.0, 15.0]]


@STEPPERS
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "rk4", "leapfrog", kd.Verlet(velocity="central")])
def test_a_wrapped_trajectory_equals_the_unwrapped_one(stepper, integrator):
    """The trajectories are equal modulo the width, whatever history the integrator keeps."""
    options = {"dt": 0.01, "integrator": integrator, "forces": [kd.Gravity((0.5, -2.0)), kd.LinearDrag(0.1)]}
    box = stepper([[0.5, 0.5]], [[3.0, 1.0]], **options, constraints=[kd.Periodic(0, 1)])
    free = stepper([[0.5, 0.5]], [[3.0, 1.0]], **options)
    for world in (box, free):
        world.step(150)
    assert np.allclose(box.position, free.position % 1.0, atol=1e-12)
    assert np.allclose(box.velocity, free.velocity, atol=1e-11)


@STEPPERS
@pytest.mark.parametrize("swept", [False, True])
def test_bodies_collide_across_a_side(stepper, swept):
    """The collision equals that of two discs with the same displacement in the middle of the box."""
    met = []
    for shift in (0.0, 5.0):
        position = np.array([[4.0 + shift, 5.0], [6.0 + shift, 5.25]])
        bounce = kd.ElasticCollisions(0.5, swept=swept)
        world = stepper(
            position % 10, [[3.0, 0.0], [-3.0, 0.0]], dt=0.125, constraints=[kd.Periodic(0, 10), bounce],
            events=kd.Events(),
        )  # fmt: skip
        world.step(4)
        met.append((world.position, world.velocity, world.events.take()))
    assert met[0][1][0, 0] < 0
    assert np.allclose((met[0][0] + (5.0, 0.0)) % 10, met[1][0], atol=1e-12)
    assert np.allclose(met[0][1], met[1][1], atol=1e-12)
    for name in ("time", "speed", "impulse", "normal", "kind", "slot_a", "slot_b"):
        assert np.allclose(met[0][2][name], met[1][2][name], atol=1e-12)
    assert list(met[1][2]["kind"]).count(kd.HIT) == 1


@STEPPERS
def test_springs_and_rods_use_the_minimum_image(stepper):
    place, speed = np.array([[0.25, 0.5], [9.75, 0.5], [9.75, 1.5]]), np.zeros((3, 2))
    box = kd.Periodic(0, 10)
    spring, rod = kd.Springs([(0, 1)], 40.0), kd.Distance([(1, 2)])
    world = stepper(place, speed, dt=0.01, forces=[spring], constraints=[rod, box])
    assert world.current(world.constraints[0]).length.tolist() == [1.0]
    assert world.current(world.forces[0]).rest_length.tolist() == [0.5]
    assert world.energy() == (0.0, 0.0)
    world.position[0, 0] = 0.75
    assert world.energy()[1] == pytest.approx(40 * 0.5**2 / 2)
    world.step(50)
    d = (world.position[2] - world.position[1] + 5) % 10 - 5
    assert np.hypot(*d) == pytest.approx(1.0, abs=1e-6)
    assert np.abs(world.velocity.sum(axis=0)).max() < 1e-10  # velocities are computed from rounded positions


def forces_of_images(place, width, cutoff=2.5):
    """Lennard-Jones forces, summed over all images within the cutoff."""
    total = np.zeros_like(place)
    for turn in np.ndindex(*[3] * place.shape[1]):
        d = place[None] + (np.array(turn) - 1) * width - place[:, None]
        square = (d * d).sum(axis=2)
        square[square == 0] = np.inf
        slope = np.where(square < cutoff**2, (24 * square**-3 - 48 * square**-6) / square, 0.0)
        total += (slope[:, :, None] * d).sum(axis=1)
    return total


def lattice(side, dim, spacing, seed=3):
    generator = np.random.default_rng(seed)
    places = np.stack(np.meshgrid(*[np.arange(side)] * dim, indexing="ij"), axis=-1).reshape(-1, dim) * spacing
    return generator.permutation(places + generator.uniform(-0.05, 0.05, places.shape))


@pytest.mark.parametrize(("dim", "side"), [(1, 6), (1, 40), (2, 5), (2, 12), (3, 5), (3, 7)])
def test_pair_forces_equal_the_sum_over_all_images(dim, side):
    """Test boxes of few cells and of many."""
    place, width = lattice(side, dim, 1.12) - 1.0, side * 1.12
    bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5)
    expected = 0.5 * forces_of_images(place, width)
    options = {"integrator": "explicit_euler", "dt": 0.5, "forces": [bond], "constraints": [kd.Periodic(0, width)]}
    world = kd.Stepper(place, **options)
    world.step()
    assert np.allclose(world.velocity, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "rk4", "verlet", kd.Verlet(velocity="central"), "leapfrog"])
def test_a_fluid_equals_the_reference(monkeypatch, integrator, dtype):
    place = lattice(5, 2, 1.2)
    velocity = np.random.default_rng(5).normal(0, 2, place.shape)
    bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5)
    options = {"dt": 0.004, "integrator": integrator, "forces": [bond], "constraints": [kd.Periodic(0, 6)]}
    evaluations = {"velocity_verlet": 31, "rk4": 120, "verlet": 31, "leapfrog": 30}  # central verlet: one more
    book = reference.Stepper(place.astype(dtype), velocity.astype(dtype), **options)
    book.step(10)
    early = book.checksum()
    book.step(20)
    for isa in each_isa(monkeypatch):
        ours = kd.Stepper(place.astype(dtype), velocity.astype(dtype), **options)
        ours.step(30)
        with said(isa=isa):
            assert early != ours.checksum()
            assert ours.force_evaluations == (32 if isinstance(integrator, kd.Verlet) else evaluations[integrator])
            assert_same_state(ours, book)


def test_single_steps_equal_one_call(isa):
    """An acceleration reused by the next step must be that of the wrapped position."""
    worlds = []
    for integrator in ("velocity_verlet", kd.Verlet(velocity="central")):
        for parts in ([200], [1] * 200, [7, 93, 100]):
            place = lattice(6, 2, 1.2)
            velocity = np.random.default_rng(5).normal(0, 2, place.shape)
            bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5)
            world = kd.Stepper(
                place, velocity, dt=0.004, integrator=integrator, forces=[bond, kd.Damping(0.01)],
                constraints=[kd.Periodic(0, 7.2)],
            )  # fmt: skip
            for count in parts:
                world.step(count)
            worlds.append(world.checksum())
    assert worlds[0] == worlds[1] == worlds[2]
    assert worlds[3] == worlds[4] == worlds[5]


def test_energy_uses_the_minimum_image():
    bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5, shift=True)
    r = 2 ** (1 / 6)
    world = kd.Stepper([[0.25], [9.25]], forces=[bond], constraints=[kd.Periodic(0, 9 + r)])
    lost = 4 * (2.5**-12 - 2.5**-6)
    assert world.energy()[1] == pytest.approx(-1 - lost)


def test_a_crowd_in_a_corner_equals_the_reference(monkeypatch):
    """Beyond the limit of near pairs, the first pairs of each cell are used, as in the reference."""
    for seed, dim in enumerate((1, 2, 3, 2, 3)):
        rng = np.random.default_rng(seed)
        place = rng.normal(0, 0.2, (120, dim)) % 6
        radius = rng.uniform(0.05, 0.3, 120) if seed % 2 else 0.2
        options = {"dt": 0.01, "constraints": [kd.ElasticCollisions(radius, 0.5, 2), kd.Periodic(0, 6)]}
        book = reference.Stepper(place.copy(), **options)
        book.step(2)
        for isa in each_isa(monkeypatch):
            ours = kd.Stepper(place.copy(), **options)
            ours.step(2)
            with said(seed=seed, isa=isa):
                assert_same_bits(ours.position, book.position)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_each_overlapping_pair_is_found_once(monkeypatch, dim, swept, dtype):
    """Boxes are one, two, three or many cells wide; radii are equal or different."""
    for seed, width in enumerate((2.0, 2.6, 3.9, 5.3, 40.0)):
        rng = np.random.default_rng(seed)
        place = rng.uniform(-width, 2 * width, (90, dim)).astype(dtype)
        velocity = rng.normal(size=(90, dim)).astype(dtype)
        radius = 0.05 + 0.45 * rng.random(90) ** 6 if seed % 2 else 0.1
        held = [kd.Periodic(0, width), kd.ElasticCollisions(radius, 1.0, 3, swept=swept)]
        book = reference.Stepper(place.copy(), velocity.copy(), dt=0.02, constraints=held)
        book.step(2)
        for isa in each_isa(monkeypatch):
            ours = kd.Stepper(place.copy(), velocity.copy(), dt=0.02, constraints=held)
            ours.step(2)
            with said(seed=seed, isa=isa):
                assert_same_state(ours, book)


# Interpolation.


@STEPPERS
@pytest.mark.parametrize("mode", ["linear", "hermite", "extrapolate"])
def test_interpolation_does_not_cross_the_box(stepper, mode):
    """A wrapping body is drawn slightly beyond one side or before the other, never across the screen."""
    world = stepper([[9.5, 5.0]], [[6.0, 0.0]], dt=0.1, constraints=[kd.Periodic(0, 10)])
    first, drawn = 9.5, []
    for frame in range(40):
        world.advance(0.025)
        x, y = world.interpolate(mode=mode)[0]
        assert 0 <= x < 10
        assert y == 5.0
        drawn.append(x)
        if mode != "extrapolate" and frame > 3:
            time = (frame + 1) * 0.025 - 0.1
            assert x == pytest.approx((first + 6 * time) % 10, abs=1e-9)
    jumps = (np.diff(drawn) + 5) % 10 - 5
    assert np.abs(jumps).max() < 0.7


def test_spawned_bodies_are_drawn_in_the_box(Stepper):
    world = Stepper([[5.0], [9.0]], [[6.0], [3.0]], dt=0.125, alive=[False, True], constraints=[kd.Periodic(0, 10)])
    world.step()
    world.spawn([[23.0]])
    assert world.interpolate(0.25)[0].tolist() == [3.0]
    assert world.position[0].tolist() == [23.0]
    world.step()
    assert world.position[0].tolist() == [3.0]


def test_interpolation_equals_the_reference(monkeypatch):
    compared = 0
    for seed in range(30):
        drawn = wrapped_scene(np.random.default_rng(seed), kd.VelocityVerlet())
        alpha = float(np.random.default_rng(seed).random())
        kinds = [*product(("linear", "hermite", "extrapolate"), (np.float32, np.float64))]

        def pictures(cls, drawn=drawn, alpha=alpha, kinds=kinds):
            """None if a step fails."""
            world = drawn.make(cls)
            if outcome(world, 2):
                return None
            world.advance(0.21)
            return [world.interpolate(alpha, np.zeros(world.position.shape, dtype), mode) for mode, dtype in kinds]

        book = pictures(reference.Stepper)
        for isa in each_isa(monkeypatch):
            with said(scene=drawn, seed=seed, isa=isa):
                ours = pictures(kd.Stepper)
                assert (ours is None) == (book is None)
                for one, other in zip(ours or [], book or [], strict=True):
                    assert_same_bits(one, other)
                    compared += 1
    print(f"seeds 0 to 29: {compared} pictures compared")
    assert compared > 100 * len(kernels.isas)


def test_a_teleport_out_of_the_box_is_wrapped_by_the_next_step():
    world = kd.Stepper([[1.0]], [[1.0]], dt=0.25, integrator="verlet", constraints=[kd.Periodic(0, 10)])
    world.advance(0.25)
    world.teleport(0, [25.0])
    assert world.interpolate().tolist() == [[5.0]]
    world.step()
    assert world.position.tolist() == [[5.25]]


def test_shift_moves_the_box():
    world = kd.Stepper([[9.0]], [[2.0]], dt=1.0, constraints=[kd.Periodic(0, 10)])
    world.shift((100.0,))
    world.step()
    assert world.position.tolist() == [[101.0]]
    assert world.constraints[0].lower.tolist() == [100.0]
    walled = kd.Stepper([[9.0, 0.0]], dt=1.0, constraints=[kd.Periodic((0, -np.inf), (10, np.inf))])
    walled.shift((5.0, 5.0))
    assert walled.constraints[0].upper.tolist() == [15.0, np.inf]


def test_changes_equal_a_newly_built_stepper():
    box, bounce = kd.Periodic(0, 10), kd.ElasticCollisions(0.5)
    rng = np.random.default_rng(4)
    place, speed = rng.uniform(0, 10, (30, 2)), rng.normal(0, 5, (30, 2))

    def made(*constraints):
        return kd.Stepper(place.copy(), speed.copy(), dt=0.05, constraints=constraints)

    world, other = made(bounce, box), made(bounce, kd.Periodic(0, (10, 8)))
    world.set(box, upper=(10, 8))
    world.step(5)
    other.step(5)
    assert_same_bits(world.position, other.position)
    world, other = made(bounce), made(bounce, box)
    world.add(box)
    world.step(5)
    other.step(5)
    assert_same_bits(world.position, other.position)
    world.enable(box, False)
    free = kd.Stepper(other.position.copy(), other.velocity.copy(), dt=0.05, constraints=[bounce])
    world.step(5)
    free.step(5)
    assert_same_bits(world.position, free.position)
    copied = pickle.loads(pickle.dumps(other))
    copied.step(3)
    other.step(3)
    assert copied.checksum() == other.checksum()


@pytest.mark.parametrize("integrator", [kd.Verlet(velocity="central"), kd.VelocityVerlet()], ids=repr)
def test_toggling_drag_equals_a_stepper_without_it(monkeypatch, integrator):
    """Drag determines whether the next step may reuse an evaluation; forces and constraints stay bound."""
    x, v = np.random.default_rng(1).uniform(-1, 1, (2, 9, 2))
    forces = [kd.LinearDrag(0.5), kd.PairPotential("e*(q/r)**4", cutoff=1.0, e=1.0, q=0.25)]

    def lived(cls):
        arguments = {"dt": 0.1, "integrator": integrator, "constraints": [kd.Periodic((-2, -2), (2, 2))]}
        world = cls(x.copy(), v.copy(), forces=forces, **arguments)
        world.enable(forces[0], False)
        world.step(3)
        without = cls(x.copy(), v.copy(), forces=forces[1:], **arguments)
        without.step(3)
        assert_same_bits(world.velocity, without.velocity)
        world.enable(forces[0], True)
        world.step(3)
        return world.checksum()

    book = lived(reference.Stepper)
    for _isa in each_isa(monkeypatch):
        assert lived(kd.Stepper) == book


def test_negative_dt_with_a_periodic_box():
    """Wrapping is reversible: dt may be negative if Periodic is the only constraint."""
    place, speed = lattice(4, 2, 1.3), np.random.default_rng(1).normal(size=(16, 2))
    bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5)
    world = kd.Stepper(place.copy(), speed, dt=0.002, forces=[bond], constraints=[kd.Periodic(0, 5.2)])
    world.step(1)
    before = world.position.copy()
    world.step(200)
    world.dt = -0.002
    world.step(200)
    assert np.abs((world.position - before + 2.6) % 5.2 - 2.6).max() < 1e-8


# Refusals.


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((1, 0), ValueError, "lower < upper"),
        ((1, 1), ValueError, "lower < upper"),
        ((0, np.inf), ValueError, "lower < upper"),
        ((np.inf, -np.inf), ValueError, "lower < upper"),
        ((np.nan, 1), ValueError, r"Periodic\(lower\): expected finite numbers"),
        (("a", 1), TypeError, r"Periodic\(lower\)"),
        (((0, 0), (1, 1, 1)), ValueError, "one shape"),
        ((-1e308, 1e308), ValueError, "lower < upper"),
    ],
)
def test_invalid_boxes_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        kd.Periodic(*given)


@STEPPERS
@pytest.mark.parametrize(
    ("forces", "constraints", "message"),
    [
        ((), [kd.Periodic(0, 1), kd.Periodic(0, 2)], "one Periodic at most"),
        ((), [kd.Periodic((0, 0, 0), 1)], r"Periodic\(lower\): expected a number or shape \(2,\)"),
        ([kd.NBody()], [kd.Periodic(0, 1)], "no NBody beside Periodic"),
        ((), [kd.Periodic(0, 1), kd.Contacts([0.3, 0.21, 0.1])], r"Contacts\(radius\): .* got 0.51"),
        ([kd.PairPotential("1/r", cutoff=0.6)], [kd.Periodic(0, 1)], r"PairPotential\(cutoff\): .* 0.5 m, got 0.6"),
        ((), [kd.ElasticCollisions([0.3, 0.21, 0.1]), kd.Periodic(0, 1)], r"ElasticCollisions\(radius\): .* got 0.51"),
    ],
)
def test_incompatible_forces_and_constraints_are_refused(stepper, forces, constraints, message):
    with pytest.raises(ValueError, match=message):
        stepper(np.zeros((3, 2)), forces=forces, constraints=constraints)


def test_a_refused_change_leaves_the_box_unchanged():
    box = kd.Periodic(0, 10)
    world = kd.Stepper([[1.0], [2.0]], dt=0.5, constraints=[box, kd.ElasticCollisions(0.5)])
    with pytest.raises(ValueError, match="ElasticCollisions"):
        world.set(box, upper=1.5)
    assert world.current(box).upper.tolist() == 10


# Comparison with the literature.


def test_pressure_of_hard_discs():
    """The pressure from impulses is within 1 % of Henderson (1975, Mol. Phys. 30, 971): Z = (1 + y²/8) / (1 - y)²."""
    for share in (0.2, 0.3):
        side, rng = 30, np.random.default_rng(1)
        n = side * side
        width = np.sqrt(n * np.pi * 0.25 / share)  # discs of diameter 1
        place = (np.stack(np.meshgrid(*[np.arange(side)] * 2), axis=-1).reshape(-1, 2) + 0.5) * width / side
        velocity = rng.normal(size=(n, 2))
        velocity -= velocity.mean(axis=0)
        world = kd.Stepper(
            place, velocity, dt=0.01, constraints=[kd.ElasticCollisions(0.5, swept=True), kd.Periodic(0, width)],
            events=kd.Events(2**16, hits_above=0, begin=False, end=False),
        )  # fmt: skip
        world.step(500)  # melts the lattice into a fluid
        world.events.take()
        kinetic, virial, blows = world.energy()[0], 0.0, 0
        for _ in range(40):
            world.step(200)
            hits = world.events.take()
            virial, blows = virial + hits["impulse"].sum(), blows + len(hits)  # times the diameter
        assert world.events.dropped == 0
        assert blows > 40_000
        z = 1 + virial / 80.0 / (2 * kinetic)
        henderson = (1 + share * share / 8) / (1 - share) ** 2
        print(f"packing {share}: Z = {z:.4f}, Henderson {henderson:.4f}, {z / henderson - 1:+.2%}")
        assert z == pytest.approx(henderson, rel=0.01)
        assert np.abs(world.velocity.sum(axis=0)).max() < 1e-10
        assert world.energy()[0] == pytest.approx(kinetic, rel=1e-10)
