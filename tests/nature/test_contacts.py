"""`Contacts` against analytic results: bounces, impacts, friction on slopes, and independence of distant bodies."""

import itertools

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import reference

G = 9.81
R = 1.0
RATES = [30, 60, 240]

#: name -> (earlier constraints, walls and shapes of `Contacts`, mass of the body) that the ball falls on.
GROUNDS = {
    "plane": ([], {"walls": [kd.Plane((0, 1), 0.0)]}, None),
    "box": ([], {"walls": [kd.Box((-1e3, 0), (1e3, 1e3))]}, None),
    "boxes": ([], {"shapes": [kd.Boxes([(-9, -5)], [(9, 0)])]}, None),
    "segments": ([], {"shapes": [kd.Segments([[(-9, 0), (9, 0)]])]}, None),
    "pinned": ([kd.Pin(1)], {}, 1.0),
    "fixed": ([], {}, np.inf),
    "heavy": ([], {"walls": [kd.Plane((0, 1), -2 * R)]}, 1e6),
}


def drop(Stepper, ground, restitution, height, hz, substeps, integrator, dtype=np.float64):
    """Height above the ground that a ball reaches after a fall from `height`."""
    first, how, mass = GROUNDS[ground]
    position = np.array([[0.0, height + R]] + ([] if mass is None else [[0.0, -R]]), dtype)
    contacts = kd.Contacts(R, restitution=restitution, substeps=substeps, **how)
    world = Stepper(
        position,
        hz=hz,
        integrator=integrator,
        mass=1.0 if mass is None else [1.0, mass],
        forces=[kd.Gravity((0, -G))],
        constraints=[*first, contacts],
    )
    y = []
    for _ in range(int(2.5 * hz * np.sqrt(2 * height / G) * (1 + restitution)) + 9):
        world.step()
        y.append(float(world.position[0, 1] - (0 if mass is None else world.position[1, 1] + R)) - R)
    y = np.array(y)
    bottom = next(k for k in range(1, len(y)) if y[k] <= y[k - 1] and y[k + 1] > y[k])
    top = next(k for k in range(bottom + 1, len(y)) if y[k + 1] < y[k])
    # The highest point is the vertex of the parabola through three positions.
    curve, slope = (y[top - 1] - 2 * y[top] + y[top + 1]) / 2, (y[top + 1] - y[top - 1]) / 2
    return y[top] - slope * slope / (4 * curve)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "rk4", "leapfrog"])
def test_a_ball_rebounds_to_e_squared_times_its_height(ground, integrator):
    for e, height, hz, substeps in itertools.product([0.3, 0.7, 1.0], [0.5, 50.0], RATES, [1, 4, 8]):
        found = drop(kd.Stepper, ground, e, height, hz, substeps, integrator)
        assert found == pytest.approx(e * e * height, rel=0.01), (e, height, hz, substeps)


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_ball_rebounds_to_its_height_in_the_reference(ground):
    found = drop(reference.Stepper, ground, 0.7, 0.5, 60, 4, "velocity_verlet")
    assert found == pytest.approx(0.49 * 0.5, rel=0.01)


@pytest.mark.parametrize("form", ["kick_drift", "drift_kick"])
def test_the_rebound_height_under_semi_implicit_euler(form):
    """The first step acts like an initial speed of half a step: the height increases by up to (g dt / 2)^2 / 2 g."""
    for e, hz in itertools.product([0.5, 1.0], RATES):
        found = drop(kd.Stepper, "plane", e, 2.0, hz, 4, kd.SemiImplicitEuler(form))
        assert found == pytest.approx(e * e * (2 + G / hz**2 / 8), rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eight_elastic_bounces_conserve_energy(dtype):
    world = kd.Stepper(
        np.array([[0.0, 0.6]], dtype),
        hz=60,
        integrator="velocity_verlet",
        forces=[kd.Gravity((0, -G))],
        constraints=[kd.Contacts(0.1, restitution=1, walls=[kd.Plane((0, 1), 0.0)])],
    )
    bounces, speed = 0, 0.0
    while bounces < 8:
        world.step()
        bounces, speed = bounces + (world.velocity[0, 1] > 0 > speed), float(world.velocity[0, 1])
    energy = speed * speed / 2 + G * (float(world.position[0, 1]) - 0.1)
    assert energy == pytest.approx(G * 0.5, rel=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("masses", [(1.0, 1.0), (1.0, 3.0)])
@pytest.mark.parametrize("pull", [0.0, -9.81])
def test_an_impact_between_two_falling_bodies(restitution, masses, pull):
    """By theory u = (m v + m' v' -+ m' e (v - v')) / (m + m'); both bodies continue to fall."""
    (m, n), v, steps = masses, 3.0, 20
    world = kd.Stepper(
        [[0.0, 0.0], [1.0, 0.0]],
        [[v, 0.0], [0.0, 0.0]],
        hz=60,
        mass=[m, n],
        forces=[kd.Gravity((0, pull))],
        constraints=[kd.Contacts(0.25, restitution=restitution, friction=0.0)],
    )
    world.step(steps)
    after = [(m * v - n * restitution * v) / (m + n), (m * v + m * restitution * v) / (m + n)]
    assert world.velocity[:, 0] == pytest.approx(after, rel=1e-9, abs=1e-9)
    assert world.velocity[:, 1] == pytest.approx([pull * steps / 60] * 2)
    assert [m, n] @ world.velocity[:, 0] == pytest.approx(m * v, rel=1e-12)


def test_momentum_is_conserved():
    """A heap flies apart, with simultaneous impacts of many bodies."""
    rng = np.random.default_rng(1)
    mass = rng.uniform(0.5, 2, 40)
    world = kd.Stepper(
        rng.uniform(-2, 2, (40, 2)),
        rng.normal(size=(40, 2)),
        hz=60,
        mass=mass,
        constraints=[kd.Contacts(0.3, restitution=0.6)],
    )
    before = mass @ world.velocity
    world.step(120)
    assert mass @ world.velocity == pytest.approx(before, abs=1e-12 * mass.sum())


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("mass", [0.1, 10.0])
def test_an_impact_right_after_another_has_its_own_speed(Stepper, substeps, mass):
    """A ball at 5 m/s follows one that the floor has just stopped: at any gap, no impact is faster than 5 m/s."""
    step, speed = 1 / 60, 5.0
    for gap in np.linspace(0.1, 4.1, 17) * speed * step / substeps:
        place = np.array([[0.0, R + 1.5 * speed * step], [0.0, 3 * R + 1.5 * speed * step + gap]])
        world = Stepper(
            place, [[0.0, -speed]] * 2, [1.0, mass], dt=step,
            constraints=[
                kd.Contacts(R, restitution=[0.0, 0.8], friction=0.0, walls=[kd.Plane((0, 1), 0.0)], substeps=substeps)
            ],
            events=kd.Events(hits_above=0.0),
        )  # fmt: skip
        world.step(8)
        hits = world.events.take()
        pair = hits["speed"][(hits["kind"] == kd.HIT) & (hits["slot_b"] == 1)]
        assert len(pair) >= 1, gap
        assert (pair <= speed * (1 + 1e-9)).all(), gap
        assert world.velocity[1, 1] <= 0.8 * speed * (1 + 1e-9), gap


@pytest.mark.parametrize("shapes", [False, True])
@pytest.mark.parametrize("friction", [0.2, 0.5, 1.0])
def test_friction_prevents_sliding_up_to_its_angle(friction, shapes):
    """Below atan(mu) a body rests; above, it slides down with g (sin a - mu cos a)."""
    for degrees in (np.degrees(np.arctan(friction)) - 2, np.degrees(np.arctan(friction)) + 8):
        angle = np.radians(degrees)
        along, normal = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        slope = {"shapes": [kd.Segments([[50 * along, -50 * along]])]} if shapes else {"walls": [kd.Plane(normal, 0.0)]}
        world = kd.Stepper(
            [0.5 * normal],
            hz=60,
            forces=[kd.Gravity((0, -G))],
            constraints=[kd.Contacts(0.5, friction=friction, **slope)],
        )
        world.step(30)
        first = world.velocity[0] @ along
        world.step(60)
        speed = first - world.velocity[0] @ along
        pull = G * (np.sin(angle) - friction * np.cos(angle))
        assert speed == pytest.approx(max(pull, 0), abs=2e-3)


def test_a_pile_with_restitution_comes_to_rest():
    """Balls with e = 0.5 fall into a box and come to rest: boundaries between steps must not cause impacts."""
    rng = np.random.default_rng(2)
    position = np.stack([np.tile(np.arange(8.0), 5) + rng.uniform(0, 0.1, 40), np.repeat(np.arange(5.0), 8) + 0.6], 1)
    world = kd.Stepper(
        position,
        hz=60,
        forces=[kd.Gravity((0, -G))],
        constraints=[kd.Contacts(0.5, restitution=0.5, walls=[kd.Box((-0.6, 0), (8.2, 99))])],
    )
    world.step(900)
    assert abs(world.velocity).max() < G / 60


# Distant bodies.


def half(rng, heavy):
    """Create balls on a platform, some of them overlapping deeply, one of them optionally heavy."""
    n = int(rng.integers(4, 24))
    position = np.stack([rng.uniform(-2, 2, n), rng.uniform(0.5, 4, n)], axis=1)
    mass = rng.uniform(0.5, 2, n)
    mass[0] = 3000.0 if heavy else 1.0
    rods = [(k, k + 1) for k in range(0, min(n - 1, 6), 3)]
    return position, rng.normal(size=(n, 2)), mass, rng.uniform(0.3, 0.5, n), rods


@pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["compiled", "reference"])
def test_distant_bodies_do_not_change_results(Stepper):
    """Two halves, 1,024 m apart, have equal results in one world and in a world for each."""
    level = kd.Boxes([(-4, -1), (1020, -1)], [(4, 0), (1028, 0)])
    for seed in range(24 if Stepper is kd.Stepper else 3):
        rng = np.random.default_rng(seed)
        first, second = half(rng, False), half(rng, True)
        if seed % 3 == 2:  # one half is a crowd
            second[0][:] = (0.0, 2.0)
            second = tuple(np.repeat(each, 3, axis=0) if i < 4 else each for i, each in enumerate(second))
        second[0][:, 0] += 1024
        n = len(first[0])
        both = [np.concatenate([a, b]) for a, b in zip(first[:4], second[:4], strict=True)]
        both.append(first[4] + [(i + n, j + n) for i, j in second[4]])
        states = []
        for position, velocity, mass, radius, rods in (first, second, both):
            contacts = kd.Contacts(
                radius, restitution=0.3, shapes=[level], walls=[kd.Plane((0, 1), -3.0)], joints=[kd.Distance(rods, 0.9)]
            )
            world = Stepper(
                position.copy(), velocity.copy(), hz=60, mass=mass, forces=[kd.Gravity((0, -G))], constraints=[contacts]
            )
            world.step(40 if Stepper is kd.Stepper else 6)
            states.append(np.concatenate([world.position, world.velocity], axis=1))
        assert states[2][:n].tobytes() == states[0].tobytes(), seed
        assert states[2][n:].tobytes() == states[1].tobytes(), seed


# Joints.


@pytest.mark.parametrize("iterations", [1, 2, 4, 16])
@pytest.mark.parametrize("side", [1, -1])
def test_nearly_straight_rods_come_to_rest(iterations, side):
    """Two rods of 1 m between pins, bent by 5.5 degrees, carry a body, as an arch or hanging."""
    half = np.radians(5.5 / 2)
    x = np.array([[0, 0], [np.cos(half), side * np.sin(half)], [2 * np.cos(half), 0.0]])
    rods = kd.Distance([(0, 1), (1, 2)], 1.0, iterations=iterations)
    world = kd.Stepper(
        x, hz=60, mass=[np.inf, 1.0, np.inf], forces=[kd.Gravity((0, -G))],
        constraints=[kd.Contacts(0.0, substeps=8, joints=[rods])],
    )  # fmt: skip
    world.step(600)
    start = world.position.copy()
    assert start[1, 1] == pytest.approx(side * np.sin(half), abs=1e-3)
    world.step(60)
    assert abs(world.position - start).max() < 1e-6
    assert abs(world.velocity).max() < 1e-7


@pytest.mark.parametrize("up", [1, -1], ids=["floor", "ceiling"])
@pytest.mark.parametrize("hz", RATES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper])
def test_a_squeezed_body_does_not_follow_the_piston(Stepper, dtype, hz, up):
    """A piston that retreats pulls nothing: the body stays on the floor, or falls freely from the ceiling.

    A pinned body as piston acts like a shape.
    """
    r, g, v = 10.0, 900.0, 30.0
    cases = itertools.product(("plane", "boxes", "body"), (1, 2, 4), (30, 60, 300) if up > 0 else (300,))
    for ground, overlap, away in cases if Stepper is kd.Stepper else [("plane", 2, 300), ("body", 2, 300)]:
        low, high = sorted([up * (2 * r + 5), up * (2 * r + 45)])
        piston = kd.Boxes([(-50, low)], [(50, high)], velocity=(0, -up * v))
        shapes = [] if ground == "body" else [piston]
        if ground == "boxes":
            shapes.append(kd.Boxes([(-99, min(0, -50 * up))], [(99, max(0, -50 * up))]))
        contacts = kd.Contacts(r, walls=[] if ground == "boxes" else [kd.Plane((0, up), 0)], shapes=shapes)
        place, velocity, mass = [(0, up * r)], [(0, 0)], [1]
        if ground == "body":
            place, velocity, mass = [*place, (0, up * (3 * r + 5))], [*velocity, (0, -up * v)], [1, np.inf]
        world = Stepper(
            np.array(place, dtype), np.array(velocity, dtype), mass=mass, hz=hz, forces=[kd.Gravity((0, -g))],
            constraints=[contacts],
        )  # fmt: skip

        def move(speed, world=world, ground=ground, piston=piston):
            if ground == "body":
                world.velocity[1, 1] = up * speed
            else:
                world.set(piston, velocity=(0, up * speed))

        world.step(round((5 + overlap) / v * hz))
        move(0)
        world.step(hz // 2)
        move(away)
        for tick in range(1, hz // 3):
            world.step()
            assert up * world.velocity[0, 1] < (g / hz / 10 if up > 0 else g / hz * (tick + 1))
        assert up < 0 or abs(world.position[0, 1] - r) < 0.1


@pytest.mark.parametrize("hz", [30, 60])
@pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper])
def test_two_squeezed_bodies_do_not_follow_the_piston(Stepper, hz):
    """The stress between them ends, too, in the extra sweeps of their group."""
    r, g = 10.0, 900.0
    piston = kd.Boxes([(-50, 45)], [(50, 85)], velocity=(0, -30))
    contacts = kd.Contacts(r, walls=[kd.Plane((0, 1), 0)], shapes=[piston])
    world = Stepper([(0, r), (0, 3 * r)], hz=hz, forces=[kd.Gravity((0, -g))], constraints=[contacts])
    world.step(round(7 / 30 * hz))
    for speed in (0, 300):
        world.set(piston, velocity=(0, speed))
        fastest = []
        for _ in range(hz // 3):
            world.step()
            fastest.append(world.velocity[:, 1].max())
    assert max(fastest) < g / hz / 10
