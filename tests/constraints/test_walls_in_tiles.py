"""Walls that act on single bodies are computed in vectors: bitwise equal to one body after the other."""

from itertools import product

import numpy as np
import pytest
from plans import (
    INTEGRATORS,
    LAYOUTS,
    assert_same_bits,
    assert_same_state,
    compare_with_reference,
    outcome,
    said,
    scene,
    turned_scene,
)

import kickdrift as kd
from kickdrift import kernels

DTYPES = (np.float32, np.float64)


def walls(rng, n, dim):
    """Draw single-body walls: a plane, axis-aligned or not, or nested boxes."""

    def each(low, high):
        return rng.uniform(low, high, n) if rng.integers(3) == 0 else float(rng.uniform(low, high))

    def wall():
        found = {"restitution": each(0, 1), "friction": each(0, 1) * int(rng.integers(2)), "radius": each(0, 0.4)}
        return {name: value for name, value in found.items() if rng.integers(4)}

    if rng.integers(2):
        normal = rng.normal(size=dim) if rng.integers(2) else np.eye(dim)[rng.integers(dim)] * rng.choice([-2, 1])
        return [kd.Plane(normal, -float(rng.random()), **wall())]
    return [kd.Box(-1 - rng.random(dim), 1 + rng.random(dim), **wall()) for _ in range(int(rng.integers(1, 4)))]


def held(rng, integrator, n=None, dtype=None, dim=None):
    drawn = scene(rng, integrator, n, dtype, dim)
    n, dim = drawn.position.shape
    drawn.arguments["constraints"] = walls(rng, n, dim)
    terms = drawn.arguments["forces"]
    drawn.arguments["forces"] = [term for term in terms if not isinstance(term, kd.Force | kd.NBody)]
    return drawn


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_random_walls_equal_the_reference(monkeypatch, first):
    def make(seed, rng):
        integrator = INTEGRATORS[seed % len(INTEGRATORS)]
        n = int(rng.choice([1, 2, 5, 8, 17, 33]))
        if seed % 5 == 4 and not isinstance(integrator, kd.Exact):
            drawn = turned_scene(rng, integrator, dim=int(rng.integers(2, 4)))
            drawn.arguments["constraints"] = walls(rng, *drawn.position.shape)
            return drawn
        return held(rng, integrator, n)

    compare_with_reference(monkeypatch, make, range(first, first + 40))


def shots(rng, n, dim, dtype, wall):
    """Create bodies that fly, bounce, slide and rest, some with infinite mass."""
    position = rng.uniform(-3, 3, (n, dim)).astype(dtype)
    velocity = rng.normal(0, 2, (n, dim)).astype(dtype)
    mass = rng.uniform(0.5, 2, n)
    mass[::17] = np.inf
    velocity[::17] = 0
    gravity = np.zeros(dim)
    gravity[-1] = -9.81
    found = {"restitution": rng.uniform(0, 0.6, n), "friction": 0.3, "radius": rng.uniform(0, 0.1, n)}
    one = {"restitution": 0.3}
    up = np.zeros(dim)
    up[-1] = 1.0
    level, left = up.copy(), -np.eye(dim)[0]
    up[0] += 0.3
    if wall in ("floor", "side"):
        position[:, -1] += 5  # all bodies start far from the wall
    constraints = {
        "plane": [kd.Plane(up, -2.0, **one)],
        "rough plane": [kd.Plane(up, -2.0, **found)],
        "floor": [kd.Plane(level, -2.0, radius=0.05, **one)],
        "side": [kd.Plane(left, -3.5, radius=0.25, friction=0.2)],
        "box": [kd.Box(-2.5, 2.5, **found)],
        "boxes": [kd.Box(-2.5, 2.5, **one), kd.Box(-2.0, 3.0, friction=rng.uniform(0, 1, n))],
    }[wall]
    return position, velocity, {
        "mass": mass, "dt": 1 / 60, "constraints": constraints, "forces": [kd.Gravity(gravity), kd.QuadraticDrag(0.02)],
    }  # fmt: skip


SCHEMES = ["semi_implicit_euler", "velocity_verlet", "leapfrog", "rk4", "verlet", "yoshida4", "heun"]


@pytest.mark.parametrize("wall", ["plane", "rough plane", "floor", "side", "box", "boxes"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_vectorized_walls_equal_those_with_events(isa, scheme, wall):
    """With events, walls process one body at a time. Tiles end within vectors; all bodies reach the wall at last."""
    for number, (dtype, dim, n) in enumerate(product(DTYPES, (1, 2, 3), (1, 191, 193, 770))):
        rng = np.random.default_rng(number)
        position, velocity, arguments = shots(rng, n, dim, dtype, wall)
        if number % 4 == 1:
            arguments["forces"].append(kd.Damping(0.5))
        layout = LAYOUTS[number % len(LAYOUTS)]
        with said(dtype=dtype.__name__, dim=dim, n=n, layout=layout):
            told = kd.Stepper(position.copy(), velocity.copy(), events=kd.Events(8), integrator=scheme, **arguments)
            order = "F" if layout == "component" else "C"
            alone = [
                kd.Stepper(position.copy(order), velocity.copy(order), integrator=scheme, threads=threads, **arguments)
                for threads in (1, 2)
            ]
            for steps in (1, 5, 2, 120, 1):
                told.step(steps)
                for stepper in alone:
                    stepper.step(steps)
                    assert_same_state(stepper, told)
                assert alone[0].checksum() == alone[1].checksum()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scheme", ["semi_implicit_euler", "velocity_verlet", "leapfrog", "rk4", "verlet"])
@pytest.mark.parametrize("wall", ["rough plane", "floor"])
def test_spawns_and_despawns_at_a_wall(isa, wall, scheme, dtype):
    rng = np.random.default_rng(5)
    position, velocity, arguments = shots(rng, 400, 2, dtype, wall)
    arguments["mass"] = 1.0
    arguments |= {"integrator": scheme, "alive": rng.random(400) < 0.6}
    steppers = [
        kd.Stepper(position.copy(), velocity.copy(), **arguments),
        kd.Stepper(position.copy(), velocity.copy(), events=kd.Events(8), **arguments),
    ]
    for turn in range(8):
        dying = rng.permutation(np.flatnonzero(steppers[0].alive))[:50]
        born = rng.uniform(-1, 3, (40, 2)).astype(dtype)
        for stepper in steppers:
            stepper.kill(dying)
            stepper.spawn(born, (1.0, -2.0))
            stepper.step(1 + 7 * turn)
        assert_same_state(steppers[0], steppers[1])
        assert not steppers[0].position[~steppers[0].alive].any()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_splitting_calls_and_instruction_sets_do_not_change_results(monkeypatch, integrator):
    for seed in range(6):
        drawn = held(np.random.default_rng(seed), integrator, 400)
        whole = drawn.make(kd.Stepper, "row")
        if outcome(whole, 12):
            continue
        for name in kernels.isas:
            monkeypatch.setattr(kernels, "isa", name)
            with said(scene=drawn, seed=seed, isa=name):
                parts = drawn.make(kd.Stepper, LAYOUTS[seed % len(LAYOUTS)], threads=2)
                for steps in (1, 0, 4, 6, 1):
                    parts.step(steps)
                assert_same_state(parts, whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_resting_is_detected_equally_at_any_scale(isa, dtype):
    """The fast test compares squares, not square roots; it must fall back where squares overflow or underflow."""
    n = 64
    for number, power in enumerate(range(-42, 43, 6) if dtype == np.float32 else range(-320, 300, 40)):
        rng = np.random.default_rng(number)
        with np.errstate(over="ignore", under="ignore"):
            scale = dtype(10.0) ** dtype(power / 2)
            position = (rng.choice([0, 1e-6, 1, 3], (n, 2)) * scale).astype(dtype)
            velocity = (rng.normal(size=(n, 2)) * scale * rng.choice([0, 1e-3, 1], (n, 1))).astype(dtype)
        arguments = {
            "dt": 1 / 64, "forces": [kd.Gravity((0, -float(scale)))], "integrator": "semi_implicit_euler",
            "constraints": [kd.Plane((0, 1), 0, restitution=0.5, friction=0.1)],
        }  # fmt: skip
        told = kd.Stepper(position.copy(), velocity.copy(), events=kd.Events(8), **arguments)
        alone = kd.Stepper(position.copy(), velocity.copy(), **arguments)
        for _ in range(200):
            with said(power=power, isa=isa, tick=told.tick):
                assert outcome(told, 1) == outcome(alone, 1)
                assert_same_state(alone, told)


def far_out(dim, far=1e5):
    """Create all static constraints out of reach of bodies near the origin, and sensors between them."""
    up = np.eye(dim)[dim - 1]
    found = [kd.Plane(up, -far), kd.Plane(-up, -far), kd.Box(-far, far), kd.Periodic(-far, far)]
    found += [
        kd.Sensor(np.full(dim, far), np.full(dim, 2 * far)),
        kd.Sensor(center=np.full(dim, -far), radius=0.5 * far),
    ]
    if dim > 1:
        found.append(kd.Boxes([np.full(dim, far), np.full(dim, -2 * far)], [np.full(dim, 2 * far), np.full(dim, -far)]))
    if dim == 2:
        found.append(kd.Segments([[(-far, -far), (far, -far)], [(far, far), (far, 2 * far)]]))
    return found


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_distant_constraints_do_not_change_results(isa, integrator):
    for seed, (dtype, dim) in enumerate(product(DTYPES, (1, 2, 3))):
        rng = np.random.default_rng(seed)
        drawn = scene(rng, integrator, int(rng.choice([1, 5, 400])), dtype, dim)
        n = len(drawn.position)
        terms = [term for term in drawn.arguments["forces"] if not isinstance(term, kd.Force | kd.NBody)]
        drawn.arguments["forces"] = terms
        far = far_out(dim)
        alive = rng.random(n) < 0.7 if n > 5 and rng.integers(2) else None
        for constraints, events in product((far, [far[seed % len(far)]]), (None, kd.Events(8))):
            free = drawn.make(kd.Stepper, alive=alive)
            held = drawn.make(kd.Stepper, constraints=constraints, events=events, alive=alive)
            for steps in (1, 4, 20):
                ended = outcome(free, steps)
                with said(scene=drawn, seed=seed, isa=isa, events=events, steps=steps):
                    assert outcome(held, steps) == ended
                    assert_same_state(held, free)
                    assert events is None or len(held.events.take()) == 0
                if ended:
                    break


#: Walls at exactly coordinate 1, which each body reaches at a different tick or never; some bodies rest on the wall.
BORDERS = {
    "plane": lambda: [kd.Plane((0, 1), 1.0)],
    "wide bodies": lambda: [kd.Plane((0, 1), 0.5, radius=0.5)],
    "oblique": lambda: [kd.Plane((0, 2), 1.0), kd.Plane((3, 4), -50.0)],
    "box": lambda: [kd.Box((-100, 1), (100, 200), radius=0.0)],
    "torus": lambda: [kd.Periodic((-128, 1), (128, 129))],
    "boxes": lambda: [kd.Boxes([(-100, -5)], [(100, 1)])],
    "segments": lambda: [kd.Segments([[(-100, 1), (100, 1)]], radius=0.0)],
    "sensor": lambda: [kd.Sensor((-100, -5), (100, 1))],
    "ball": lambda: [kd.Sensor(center=(0, -63), radius=64)],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("border", BORDERS)
def test_bodies_that_reach_a_wall_exactly(isa, border, dtype):
    """In each tile a body reaches 1 at its own tick: in the last step of a call, in the next call, or never."""
    n = 400
    position = np.zeros((n, 2), dtype)
    velocity = np.zeros((n, 2), dtype)
    position[:, 1] = 40.0
    arrival = {0: 8, 1: 9, 195: 16, 383: 7, 384: 17, 399: 24}
    for body, ticks in arrival.items():
        position[body, 1], velocity[body, 1] = 1 + 0.25 * ticks, -0.25
    position[3, 1], velocity[3, 1] = 1.0, 0.0  # on the wall
    position[4, 1] = np.nextafter(dtype(1), dtype(2))
    for events, forces in product((None, kd.Events(64, begin=True, end=True)), ([], [kd.PointGravity(0.0)])):
        arguments = {
            "dt": 1.0, "integrator": "semi_implicit_euler", "forces": forces, "constraints": BORDERS[border](),
            "events": events,
        }  # fmt: skip
        book = kd.reference.Stepper(position.copy(), velocity.copy(), **arguments)
        ours = [kd.Stepper(position.copy(order), velocity.copy(order), **arguments) for order in "CF"]
        for steps in (8, 8, 1, 7):
            book.step(steps)
            for world in ours:
                world.step(steps)
                with said(border=border, events=events, tick=world.tick, isa=isa):
                    assert_same_state(world, book)
                    assert world.force_evaluations == book.force_evaluations
        if events is not None:
            expected = book.events.take().tobytes()
            assert expected or border == "torus"
            assert all(world.events.take().tobytes() == expected for world in ours)


def test_all_tiles_stop_at_the_tick_of_an_overflow():
    """If a body overflows during a call, all tiles stop at that tick, as with single steps."""

    def world():
        position, velocity = np.zeros((600, 2)), np.ones((600, 2))
        position[400], velocity[400] = 1e300, 1e307
        constraints = [kd.Plane((0, 1), -1e3)]
        return kd.Stepper(position, velocity, dt=1.0, constraints=constraints, events=kd.Events(8))

    whole, parts = world(), world()
    failed = outcome(whole, 40)
    ended = None
    while ended is None:
        ended = outcome(parts, 1)
    assert failed == ended
    assert whole.tick == parts.tick < 40
    assert_same_bits(whole.position, parts.position)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("away", [(0.0, 0.0), (0.25, 0.0), (3.0, 0.0), (3.0, 3.0)], ids=str)
def test_corners_act_on_tiles_within_reach_of_both_walls(dtype, away):
    """The first tile touches the corner, one of its walls or neither; the second is far away."""
    n = 1100  # several tiles
    rng = np.random.default_rng(5)
    position = np.array(away) + rng.choice([0.0, 0.5, 1.0], (n, 2))
    position[n // 2 :] += 50
    velocity = rng.uniform(-4, 1, (n, 2))
    made = [
        make(
            position.astype(dtype), velocity.astype(dtype), hz=30, forces=[kd.Gravity((-3.0, -9.81))],
            constraints=[kd.Plane((1, 0.5), 0, friction=0.3, restitution=0.0), kd.Plane((0, 1), 0, friction=0.2)],
        )
        for make in (kd.Stepper, kd.reference.Stepper)
    ]  # fmt: skip
    for world in made:
        world.step(4)
    np.testing.assert_array_equal(*(world.position for world in made))
    np.testing.assert_array_equal(*(world.velocity for world in made))
