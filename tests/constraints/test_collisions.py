"""Physics of colliding bodies, on the reference and on every instruction set."""

from functools import cache

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state, said

import kickdrift as kd


def momentum(world):
    return np.broadcast_to(world.mass, world.n) @ world.velocity


def angular_momentum(world):
    x, v = world.position, world.velocity
    turning = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0] if world.dim == 2 else np.cross(x, v)
    return np.broadcast_to(world.mass, world.n) @ turning


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_velocities_after_a_collision_equal_the_textbook_formula(Stepper, dim, restitution):
    rng = np.random.default_rng(10 * dim + round(10 * restitution))
    h, tested = 1 / 16, 0
    while tested < 40:
        mass, radius = rng.uniform(0.1, 10, 2), rng.uniform(0.2, 1, 2)
        normal = rng.normal(size=dim)
        normal /= np.sqrt(normal @ normal)
        velocity = 2 * rng.normal(size=(2, dim))
        speed = (velocity[0] - velocity[1]) @ normal
        if speed <= 0:
            normal, speed = -normal, -speed
        touching = np.stack([np.zeros(dim), radius.sum() * normal]) + rng.normal(size=dim)
        time = rng.uniform(0, h)
        # Skip grazing collisions, in which the discs separate again before the step ends.
        way = touching + velocity * (h - time)
        if np.linalg.norm(way[1] - way[0]) > 0.999 * radius.sum():
            continue
        impulse = (1 + restitution) * speed / (1 / mass).sum()
        after = velocity + np.stack([-impulse / mass[0] * normal, impulse / mass[1] * normal])
        pair = Stepper(
            touching - velocity * time, velocity, mass, dt=h, constraints=[kd.ElasticCollisions(radius, restitution)],
        )  # fmt: skip
        pair.step()
        assert pair.velocity == pytest.approx(after, abs=1e-12)
        assert pair.position == pytest.approx(touching + after * (h - time), abs=1e-12)
        tested += 1


def test_an_infinitely_heavy_body_acts_like_a_wall(Stepper):
    pair = Stepper(
        [[0.0, 0.0], [3.0, 0.0]], [[0.0, 1.0], [-8.0, 0.0]], [np.inf, 2.0], dt=0.125,
        constraints=[kd.ElasticCollisions(1.0)],
    )  # fmt: skip
    pair.step()
    pair.step()
    assert pair.position[0].tolist() == [0, 0.25]
    assert pair.velocity[0].tolist() == [0, 1]
    relative = pair.velocity[1] - pair.velocity[0]
    assert relative @ relative == pytest.approx(65)
    assert relative[0] > 0


def test_bounces_off_pinned_bodies_and_walls_do_not_gain_energy():
    ball = kd.Stepper(
        [[0.0, 0.0], [0.0, 2.0]], dt=1 / 60, forces=[kd.Gravity((0, -9.81))],
        constraints=[kd.Pin(0), kd.ElasticCollisions([0.4, 0.1])],
    )  # fmt: skip
    first = sum(ball.energy())
    highest = max(ball.record(200).position[:, 1, 1].max() for _ in range(100))
    assert highest <= 2
    assert sum(ball.energy()) == pytest.approx(first, rel=1e-9)


def gas(cls, n=400, dim=2, mixed=False, restitution=1.0, layout="C", seed=1, **how):
    """Create balls that fill 30 % of a square or cube, in random order."""
    rng = np.random.default_rng(seed)
    side = round(n ** (1 / dim))
    spacing = 1.0 * (np.pi / 4 / 0.3) ** 0.5
    lattice = np.stack(np.meshgrid(*[np.arange(side)] * dim), axis=-1).reshape(-1, dim)
    position = (rng.permutation(lattice) + 0.5) * spacing
    n = len(position)
    radius = rng.uniform(0.2, 0.5, n) if mixed else 0.5
    mass = rng.uniform(0.5, 2, n) if mixed else 1.0
    velocity = 2 * rng.normal(size=(n, dim))
    return cls(
        np.asarray(position, order=layout), np.asarray(velocity, order=layout), mass,
        **{"dt": 1 / 120, "constraints": [kd.ElasticCollisions(radius, restitution)], **how},
    )  # fmt: skip


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("mixed", [False, True])
def test_momentum_energy_and_angular_momentum_are_conserved(Stepper, dim, mixed):
    world = gas(Stepper, {1: 20, 2: 36, 3: 27}[dim], dim, mixed)
    p, e = momentum(world), world.energy()[0]
    spin = angular_momentum(world) if dim > 1 else 0
    started = world.velocity.copy()
    world.step(60)
    assert np.count_nonzero(world.velocity != started) > world.n // 4
    assert momentum(world) == pytest.approx(p, abs=1e-11)
    assert world.energy()[0] == pytest.approx(e, rel=1e-13)
    if dim > 1:
        assert angular_momentum(world) == pytest.approx(spin, abs=1e-10)


@pytest.mark.parametrize("mixed", [False, True])
def test_kinetic_energy_is_conserved_over_ten_thousand_collisions(mixed):
    world = gas(kd.Stepper, 400, 2, mixed)
    walls = kd.Box(0, 20 * (np.pi / 4 / 0.3) ** 0.5, radius=world.constraints[0].radius)
    world = gas(kd.Stepper, 400, 2, mixed, constraints=[*world.constraints, walls])
    first, collisions = world.energy()[0], 0
    while collisions < 10_000:
        before = world.velocity.copy()
        world.step()
        turned = (world.velocity != before).all(axis=1)  # bodies collided here: walls reverse one component only
        collisions += turned.sum() // 2
    assert world.energy()[0] == pytest.approx(first, rel=1e-12)


def test_restitution_loses_energy_and_overlaps_do_not_grow():
    world = gas(kd.Stepper, 400, 2, True, 0.5)
    walls = kd.Box(0, 20 * (np.pi / 4 / 0.3) ** 0.5, 0.5, 0.2, world.constraints[0].radius)
    world = gas(kd.Stepper, 400, 2, True, 0.5, constraints=[*world.constraints, walls])
    radius, energy = world.constraints[0].radius, world.energy()[0]
    for _ in range(40):
        world.step(25)
        assert world.energy()[0] < energy
        energy = world.energy()[0]
        d = world.position[:, None] - world.position
        gap = np.sqrt((d * d).sum(axis=-1)) - (radius[:, None] + radius)
        np.fill_diagonal(gap, 1)
        assert gap.min() > -0.05


def test_overlapping_bodies_are_separated_in_one_step(Stepper):
    pair = Stepper([[0.0, 0.0], [0.3, 0.4]], mass=[1.0, 3.0], constraints=[kd.ElasticCollisions(0.5)])
    pair.step()
    d = pair.position[1] - pair.position[0]
    assert np.sqrt(d @ d) == pytest.approx(1)
    assert pytest.approx([0.225, 0.3]) == pair.position.T @ [1, 3] / 4
    assert pair.velocity.tolist() == [[0, 0], [0, 0]]


def test_separating_an_overlap_conserves_energy_and_angular_momentum(Stepper):
    pair = Stepper(
        [[0.0, 0.0], [0.6, 0.0]], [[0.0, -1.0], [0.0, 1.0]], dt=1 / 100, constraints=[kd.ElasticCollisions(0.5)],
    )  # fmt: skip
    spin, energy = angular_momentum(pair), pair.energy()[0]
    pair.step()
    assert np.linalg.norm(pair.position[1] - pair.position[0]) == pytest.approx(1)
    assert angular_momentum(pair) == pytest.approx(spin)
    assert pair.energy()[0] == pytest.approx(energy)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("thrown", [1, 2, 3])
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet"])
def test_newtons_cradle(Stepper, dim, thrown, side, integrator):
    """As many balls leave as arrive, with the same speed; the others stay at rest."""
    position, velocity = np.zeros((5, dim)), np.zeros((5, dim))
    position[:, 0] = np.arange(5.0)
    position[:thrown, 0] -= 2
    velocity[:thrown, 0] = 4
    if side < 0:
        position, velocity = -position, -velocity
    row = Stepper(
        position.copy(), velocity.copy(), dt=1 / 64, integrator=integrator, constraints=[kd.ElasticCollisions(0.5)]
    )
    row.step(64)  # they collide after 2 m, then 2 m remain
    expected = np.arange(5.0)
    expected[5 - thrown :] += 2
    # The arriving balls end where the leaving ones were.
    expected[: 5 - thrown] = np.arange(5.0 - thrown)
    assert side * row.position[:, 0] == pytest.approx(expected, abs=1e-9)
    speeds = np.where(np.arange(5) >= 5 - thrown, 4.0, 0.0)
    assert side * row.velocity[:, 0] == pytest.approx(speeds, abs=1e-9)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("walls_first", [False, True])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "semi_implicit_euler"])
def test_a_stack_comes_to_rest(Stepper, restitution, walls_first, integrator):
    held = [kd.ElasticCollisions(0.5, restitution), kd.Box((-5, 0), (5, 20), restitution, 0, 0.5)]
    stack = Stepper(
        [[0.0, 0.5 + 1.02 * k] for k in range(3)], dt=1 / 60, integrator=integrator, forces=[kd.Gravity((0, -9.81))],
        constraints=held[::-1] if walls_first else held,
    )  # fmt: skip
    stack.step(240)
    assert stack.position[:, 1] == pytest.approx([0.5, 1.5, 2.5], abs=0.003)
    standing = stack.position.copy()
    stack.step(60)
    assert np.abs(stack.position - standing).max() < 1e-9


def test_far_huge_and_coincident_bodies_neither_hang_nor_fail():
    n = 10_000
    for dim in (1, 2, 3):
        heap = kd.Stepper(np.zeros((n, dim)), dt=1 / 60, constraints=[kd.ElasticCollisions(0.1)])
        heap.step(2)
        assert np.isfinite(heap.position).all()
        assert np.ptp(heap.position[:, 0]) > 0.2
    rng = np.random.default_rng(0)
    far = 10.0 ** rng.uniform(-300, 300, (n, 3)) * rng.choice([-1, 1], (n, 3))
    world = kd.Stepper(far, constraints=[kd.ElasticCollisions(rng.uniform(0, 1, n))])
    world.step(3)
    assert np.isfinite(world.position).all()


@pytest.mark.parametrize("place", [0.0, 1e7, -3e13, 1e16])
def test_pairs_are_found_at_any_coordinates(isa, place):
    """Compare the pairs of the grid with all pairs, at coordinates whose rounding error is near the cell size."""
    rng = np.random.default_rng(7)
    size = max(1.0, abs(place) * 2.0**-44)
    position = place + size * rng.uniform(0, 12, (300, 3))
    arguments = {"dt": 1 / 60, "constraints": [kd.ElasticCollisions(size * rng.uniform(0, 0.5, 300), 0.5)]}
    ours = kd.Stepper(position.copy(), size * rng.normal(size=(300, 3)), **arguments)
    book = kd.reference.Stepper(position.copy(), ours.velocity.copy(), **arguments)
    ours.step(2)
    book.step(2)
    assert_same_state(ours, book)


@pytest.mark.parametrize("n", [33, 34, 40])
def test_more_pairs_than_the_limit_equal_the_reference(isa, n):
    """Dense crowds use at most 16 pairs per body, a number that 33 coincident bodies reach exactly."""
    rng = np.random.default_rng(n)
    position = rng.uniform(0, 0.01, (n, 2))
    arguments = {"constraints": [kd.ElasticCollisions(0.5, 0.8), kd.Box(-2, 2, radius=0.5)]}
    ours = kd.Stepper(position.copy(), **arguments)
    book = kd.reference.Stepper(position.copy(), **arguments)
    for _ in range(3):
        ours.step()
        book.step()
        assert_same_bits(ours.position, book.position)


def everything(cls, dtype, layout, integrator, threads=1):
    rng = np.random.default_rng(2)
    n = 48
    pairs = [(i, i + 1) for i in range(11)] + [(i, i + 12) for i in range(12)]
    return cls(
        np.asarray(rng.uniform(1, 9, (n, 2)), dtype, order=layout),
        np.asarray(rng.normal(size=(n, 2)), dtype, order=layout),
        np.where(np.arange(n) == 30, np.inf, rng.uniform(0.5, 2, n)),
        integrator=integrator, threads=threads, forces=[kd.Gravity((0, -9.81)), kd.QuadraticDrag(0.1), kd.Damping(0.1)],
        constraints=[
            kd.Distance(pairs, 0.9, stiffness=0.7, iterations=4),
            kd.Distance([(40, 41), (41, 42)], 1.0, compliance=1e-3),
            kd.ElasticCollisions(rng.uniform(0.1, 0.5, n), 0.6),
            kd.Box((0, 0), (10, 12), 0.5, 0.4, 0.5),
            kd.Plane((1, 2), 3, 0.3, 0.6, 0.2),
            kd.Pin([0, 11]),
        ],
    )  # fmt: skip


@cache  # the reference is slow: computed once for all instruction sets
def reference_checksum(dtype, integrator):
    book = everything(kd.reference.Stepper, dtype, "C", integrator)
    book.step(60)
    return book.checksum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "semi_implicit_euler", "rk4", "implicit_euler"])
def test_all_constraints_at_once_give_one_checksum(isa, dtype, integrator):
    for layout in ("C", "F"):
        for threads in (1, 2, 8):
            ours = everything(kd.Stepper, dtype, layout, integrator, threads)
            ours.step(60)
            assert ours.checksum() == reference_checksum(dtype, integrator)


def bodies_above_walls(rng, wall, dtype):
    """Create bodies that fall on walls, some of them overlapping deeply."""
    n = int(rng.integers(2, 14))
    position = rng.uniform((-2, 0.2), (2, 3), (n, 2)).astype(dtype)
    velocity = (rng.normal(size=(n, 2)) * rng.choice([0.1, 1, 30], (n, 1))).astype(dtype)
    return position, velocity, rng.uniform(0.5, 2, n), rng.uniform(0.2, 0.5, n)


@pytest.mark.parametrize("wall", ["plane", "box", "segments", "boxes"])
@pytest.mark.parametrize("swept", [False, True])
def test_far_apart_halves_over_walls_are_independent(Stepper, wall, swept):
    """Two far-apart groups have equal states and events in one world and in a world for each."""
    walls = {
        "plane": lambda **given: kd.Plane((0, 1), 0, **given),
        "box": lambda **given: kd.Box((-3, 0), (4096, 5), **given),
        "segments": lambda **given: kd.Segments([[(-9, 0), (9, 0)], [(4000, 0), (4100, 0)]], **given),
        "boxes": lambda **given: kd.Boxes([(-9, -1), (4000, -1)], [(9, 0), (4100, 0)], **given),
    }
    for seed in range(40 if Stepper is kd.Stepper else 3):
        rng = np.random.default_rng(seed)
        dtype = [np.float32, np.float64][seed % 2]
        e, mu = float(rng.choice([0, 0.5, 0.9, 1])), float(rng.choice([0, 0.4]))
        solid_e = float(rng.choice([0, 0.5, 1]))
        integrator = str(rng.choice(["semi_implicit_euler", "velocity_verlet", "verlet", "rk4"]))
        first = bool(rng.integers(2))  # whether walls are declared before collisions
        halves = [bodies_above_walls(rng, wall, dtype) for _ in range(2)]
        halves[1][0][:, 0] += 4080
        states, events = [], []
        both = [np.concatenate(each) for each in zip(*halves, strict=True)]
        for position, velocity, mass, radius in (*halves, both):
            constraints = [
                walls[wall](restitution=solid_e, friction=mu, radius=radius),
                kd.ElasticCollisions(radius, e, friction=mu, swept=swept),
            ]
            world = Stepper(
                position.copy(),
                velocity.copy(),
                mass=mass,
                hz=60,
                integrator=integrator,
                forces=[kd.Gravity((0, -9.81))],
                constraints=constraints if first else constraints[::-1],
                events=kd.Events(),
            )
            world.step(20 if Stepper is kd.Stepper else 5)
            states.append(np.concatenate([world.position, world.velocity], axis=1))
            events.append(world.events.take())
        n = len(halves[0][0])
        here = events[2]["slot_a"] < n
        with said(seed=seed, wall=wall, e=e, mu=mu, integrator=integrator, first=first):
            assert_same_bits(states[2], np.concatenate(states[:2]))
            for own, together in zip(events, (events[2][here], events[2][~here]), strict=False):
                for name in ("tick", "time", "kind", "speed", "impulse", "point"):
                    assert own[name].tobytes() == together[name].tobytes(), name
