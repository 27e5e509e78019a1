"""Physics of pins, distances and walls, on the reference and on every instruction set."""

import numpy as np
import pytest
from plans import AT_WALLS, INTEGRATORS

import kickdrift as kd

G = 9.81
GRAVITY = kd.Gravity((0, -G))


def ids(integrator):
    return repr(integrator)


# Pins.


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=ids)
def test_a_pinned_body_stays_and_can_be_moved(Stepper, integrator):
    forces = [GRAVITY] if integrator.name in ("exact", "energy_euler") else [GRAVITY, kd.LinearDrag(0.1)]
    world = Stepper(
        [[0.0, 1.0], [1.0, 1.0]], [[3.0, 0.0], [0.0, 0.0]], integrator=integrator, forces=forces,
        constraints=[kd.Pin([0])],
    )  # fmt: skip
    world.step(5)
    assert world.position[0].tolist() == [0.0, 1.0]
    assert world.velocity[0].tolist() == [0.0, 0.0]
    assert world.position[1, 1] < 1
    world.position[0] = [5.0, 5.0]
    world.step(3)
    assert world.position[0].tolist() == [5.0, 5.0]


@pytest.mark.parametrize("first", [True, False], ids=["pin first", "pin last"])
def test_a_pin_acts_at_any_position_in_the_list(Stepper, first):
    held = [kd.Distance([(0, 1)], 1.0), kd.Plane((0, 1), 5.0), kd.ElasticCollisions(0.7)]
    constraints = [kd.Pin(0), *held] if first else [*held, kd.Pin(0)]
    world = Stepper([[0.0, 0.0], [1.2, 0.0]], forces=[GRAVITY], constraints=constraints)
    world.step(20)
    assert world.position[0].tolist() == [0.0, 0.0]  # pinned bodies ignore walls: this one is below the plane
    assert world.position[1, 1] >= 5


# Distances.


def test_corrections_are_weighted_by_inverse_mass(Stepper):
    for integrator, velocity in (
        ("semi_implicit_euler", [[1.5], [-0.5]]),  # momentum: 1.5 - 3 * 0.5
        ("velocity_verlet", [[0.0], [0.0]]),  # corrections of lengths that were wrong move positions alone
    ):
        pair = Stepper(
            [[0.0], [4.0]], mass=[1.0, 3.0], dt=1, integrator=integrator,
            constraints=[kd.Distance([(0, 1)], 2.0, iterations=1)],
        )  # fmt: skip
        pair.step()
        assert pair.position.tolist() == [[1.5], [3.5]]
        assert pair.velocity.tolist() == velocity


def test_stiffness_is_the_fraction_of_each_correction(Stepper):
    pair = Stepper(
        [[0.0], [4.0]], dt=1, constraints=[kd.Distance([(0, 1)], 2.0, stiffness=0.5, iterations=2)],
    )  # fmt: skip
    pair.step()
    assert pair.position.tolist() == [[0.75], [3.25]]


def test_length_defaults_to_the_initial_distance(Stepper):
    rod = Stepper([[0.0, 0.0], [3.0, 4.0]], constraints=[kd.Distance([(0, 1)])])
    assert np.asarray(rod.constraints[0].length).tolist() == [5.0]
    rod.position[1] = [30.0, 40.0]
    rod.step()
    assert np.linalg.norm(rod.position[1] - rod.position[0]) == pytest.approx(5)


def test_immovable_and_coincident_pairs_are_skipped(Stepper):
    position = [[0.0, 0.0], [1.0, 0.0], [7.0, 7.0], [7.0, 7.0]]
    world = Stepper(
        position, mass=[np.inf, np.inf, 1, 1],
        constraints=[kd.Distance([(0, 1), (2, 3)], 3.0), kd.Distance([(0, 1), (2, 3)], 3.0, compliance=0.1)],
    )  # fmt: skip
    world.step(3)
    assert world.position.tolist() == position


@pytest.mark.parametrize("integrator", ["verlet", "semi_implicit_euler", "velocity_verlet"])
def test_a_pendulum_swings_with_its_period(Stepper, integrator):
    bob = Stepper(
        [[0.0, 0.0], [0.05, -1.0]], dt=1 / 200, integrator=integrator, forces=[GRAVITY],
        constraints=[kd.Pin(0), kd.Distance([(0, 1)])],
    )  # fmt: skip
    crossings = np.flatnonzero(np.diff(np.sign(bob.record(1000).position[:, 1, 0])))
    assert np.diff(crossings).mean() / 200 == pytest.approx(np.pi / np.sqrt(G), rel=0.01)


@pytest.mark.parametrize("dt", [1 / 60, 1 / 240])
@pytest.mark.parametrize("iterations", [1, 20])
@pytest.mark.parametrize("compliance", [0.01, 0])
def test_compliance_is_that_of_a_spring_for_any_dt_and_iterations(Stepper, dt, iterations, compliance):
    # At rest, a weight of 1 kg stretches the joint by m g compliance.
    hanging = -1 - G * compliance
    bob = Stepper(
        [[0.0, 0.0], [0.0, hanging]], dt=dt, integrator="semi_implicit_euler", forces=[GRAVITY],
        constraints=[kd.Pin(0), kd.Distance([(0, 1)], 1.0, compliance=compliance, iterations=iterations)],
    )  # fmt: skip
    bob.step(200)
    assert bob.position[1, 1] == pytest.approx(hanging, abs=1e-12)


@pytest.mark.parametrize("hz", [30, 60, 120, 240])
@pytest.mark.parametrize("integrator", ["verlet", "semi_implicit_euler", "velocity_verlet", "leapfrog", "rk4"])
@pytest.mark.parametrize("link", [{"compliance": 0.01}, {"compliance": 0.0}, {"stiffness": 1.0}], ids=str)
@pytest.mark.parametrize("damping", [kd.Damping(3), kd.LinearDrag(3)], ids=repr)
def test_a_body_on_a_damped_link_hangs_at_its_equilibrium(integrator, hz, link, damping):
    bob = kd.Stepper(
        [[0.0, 0.0], [0.0, -1.0]], dt=1 / hz, integrator=integrator, forces=[GRAVITY, damping],
        constraints=[kd.Pin(0), kd.Distance([(0, 1)], 1.0, **link)],
    )  # fmt: skip
    bob.step(10 * hz)
    pulled = G * link.get("compliance", 0.0)
    assert -bob.position[1, 1] == pytest.approx(1 + pulled, abs=0.01 * pulled + 1e-9)
    assert bob.position[1, 0] == 0


def sag(iterations, dt=1 / 60, **how):
    """Return how far a chain of 12 bodies of 1 kg hangs below its length, starting at the equilibrium of springs."""
    compliance = how.get("compliance", 0)
    lengths = 1 + G * compliance * np.arange(11, 0, -1)  # each link carries the bodies below
    chain = np.stack([np.zeros(12), -np.concatenate([[0], np.cumsum(lengths)])], axis=1)
    pairs = np.stack([np.arange(11), np.arange(1, 12)], axis=1)
    rope = kd.Stepper(
        chain, dt=dt, integrator="semi_implicit_euler", forces=[GRAVITY],
        constraints=[kd.Pin(0), kd.Distance(pairs, 1.0, iterations=iterations, **how)],
    )  # fmt: skip
    rope.step(600)
    return -11 - rope.position[11, 1]


def test_the_stiffness_depends_on_iterations_with_relaxation_and_not_with_compliance():
    assert sag(2) > 1.5 * sag(8) > 0
    for iterations in (100, 200):
        for dt in (1 / 60, 1 / 240):
            assert sag(iterations, dt, compliance=1e-3) == pytest.approx(66e-3 * G, rel=0.01)


def test_distances_conserve_momentum(Stepper):
    rng = np.random.default_rng(3)
    mass = rng.uniform(0.5, 3, 12)
    pairs = [(i, (i * 5 + 1) % 12) for i in range(12) if i != (i * 5 + 1) % 12]
    for how in ({}, {"compliance": 0.01}):
        body = Stepper(
            rng.normal(size=(12, 3)), rng.normal(size=(12, 3)), mass, constraints=[kd.Distance(pairs, 1.0, **how)],
        )  # fmt: skip
        before = mass @ body.velocity
        body.step(50)
        assert np.abs(mass @ body.velocity - before).max() < 1e-11


def cloth(size, integrator="verlet"):
    index = np.arange(size * size).reshape(size, size)
    rows = np.stack([index[:, :-1], index[:, 1:]], axis=-1).reshape(-1, 2)
    columns = np.stack([index[:-1], index[1:]], axis=-1).reshape(-1, 2)
    y, x = np.divmod(np.arange(size * size), size)
    return kd.Stepper(
        np.stack([0.1 * x, 0.0 * x, 0.1 * y], axis=1), dt=1 / 60, integrator=integrator,
        forces=[kd.Gravity((0, -G, 0)), kd.Damping(0.5)],
        constraints=[kd.Distance(np.concatenate([rows, columns]), iterations=16), kd.Pin([0, size - 1])],
    )  # fmt: skip


@pytest.mark.parametrize("integrator", ["verlet", "semi_implicit_euler", "velocity_verlet"])
def test_a_cloth_hangs_at_rest_for_ten_minutes(integrator):
    sheet = cloth(16, integrator)
    sheet.step(60 * 120)
    hanging = sheet.position.copy()
    sheet.step(60 * 480)
    assert np.isfinite(sheet.position).all()
    assert np.abs(sheet.position - hanging).max() < 1e-3
    assert hanging[0].tolist() == [0, 0, 0]


# Walls.


def drop(Stepper, integrator="velocity_verlet", height=1.0, wall=None, dtype=np.float64, dt=1 / 60, **how):
    wall = wall or kd.Box((-1, 0), (1, 3), **how)
    return Stepper(
        np.array([[0.3, height]], dtype), dt=dt, integrator=integrator, forces=[GRAVITY], constraints=[wall],
    )  # fmt: skip


@pytest.mark.parametrize("integrator", AT_WALLS, ids=ids)
def test_elastic_bounces_conserve_energy_for_ten_minutes(integrator):
    ball = drop(kd.Stepper, integrator)
    # Some integrators store the velocity half a step early or late: correct for that before comparing energies.
    lag = integrator.velocity_lag / 60

    def energy():
        y, v = ball.position[0, 1], ball.velocity[0, 1] - lag * G
        return v * v / 2 + G * y

    ball.step(2)
    first = energy()
    highest = 0
    for _ in range(600):
        ball.step(60)
        assert energy() == pytest.approx(first, rel=2e-3 if integrator.name == "semi_implicit_euler" else 1e-10)
        highest = max(highest, ball.record(50).position[:, 0, 1].max())
    assert 0.9 < highest < 1 + 2 * G / 60**2


@pytest.mark.parametrize("wall", [kd.Box((-1, 0), (1, 3)), kd.Plane((0, 1), 0)], ids=["box", "plane"])
def test_a_bouncing_ball_follows_the_analytic_solution(Stepper, wall):
    ball = drop(Stepper, wall=wall)
    flight = np.sqrt(2 / G)
    for second in range(1, 11):
        ball.step(60)
        t = (second + flight) % (2 * flight) - flight
        assert ball.position[0, 1] == pytest.approx(1 - G * t * t / 2, abs=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=ids)
@pytest.mark.parametrize("wall", [kd.Box((-1, 0), (1, 3), 0.5), kd.Plane((0, 2), 0, 0.5)], ids=["box", "plane"])
def test_a_ball_comes_to_rest(Stepper, integrator, wall):
    ball = drop(Stepper, integrator, wall=wall)
    for _ in range(3):
        ball.step(120)
    assert ball.velocity[0].tolist() == [0, 0]
    resting = ball.position.tolist()
    assert resting[0][1] == pytest.approx(0, abs=1e-12)
    checksum = []
    for _ in range(5):
        ball.step(7)
        checksum.append(ball.checksum())
        assert ball.position.tolist() == resting
    assert len(set(checksum)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("far", [0, 1e5])
def test_a_ball_rests_exactly_far_from_the_origin(Stepper, dtype, far):
    wall = kd.Box((-1, far), (1, far + 9), 0.3)
    ball = Stepper(np.array([[0.0, far + 0.5]], dtype), dt=1 / 60, forces=[GRAVITY], constraints=[wall])
    ball.step(300)
    assert ball.position.tolist() == [[0, far]]
    assert ball.velocity.tolist() == [[0, 0]]


@pytest.mark.parametrize("restitution", [0, 0.25, 1])
def test_restitution_scales_the_normal_velocity(Stepper, restitution):
    ball = Stepper([[0.0, 0.0]], [[3.0, 4.0]], dt=0.25, constraints=[kd.Box((-9, -9), (9, 0.5), restitution)])
    ball.step()
    assert ball.velocity.tolist() == [[3.0, -4.0 * restitution]]
    assert ball.position.tolist() == [[0.75, 0.5 - 0.5 * restitution]]


@pytest.mark.parametrize("speed", [1e3, 1e6, 1e9, 1e150])
def test_fast_bodies_do_not_leave_a_box(Stepper, speed):
    rng = np.random.default_rng(int(np.log10(speed)))
    velocity, radius = speed * rng.normal(size=(40, 2)), rng.uniform(0, 1, 40)
    world = Stepper(np.zeros((40, 2)), velocity.copy(), constraints=[kd.Box((-1, -2), (3, 2), radius=radius)])
    for _ in range(20):
        world.step()
        assert (world.position >= np.array([-1, -2]) + radius[:, None]).all()
        assert (world.position <= np.array([3, 2]) - radius[:, None]).all()
    assert np.abs(world.velocity) == pytest.approx(np.abs(velocity), rel=1e-15)


@pytest.mark.parametrize("speed", [1e3, 1e6, 1e9])
def test_fast_bodies_do_not_pass_a_plane(Stepper, speed):
    rng = np.random.default_rng(int(np.log10(speed)))
    velocity = speed * rng.normal(size=(40, 3))
    world = Stepper(np.zeros((40, 3)), velocity, constraints=[kd.Plane((2, 1, 2), -30, radius=0.5)])
    for _ in range(5):
        world.step()
        assert (world.position @ [2, 1, 2] / 3 >= -10 + 0.5 - 1e-14 * speed).all()
    assert np.abs(world.velocity).max() > speed / 2


def test_a_body_outside_is_moved_onto_the_wall_and_keeps_its_inward_velocity(Stepper):
    walls = [kd.Box((0, 0), (5, 5))]
    world = Stepper([[-2.0, 1.0], [7.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]], dt=0.5, constraints=walls)
    world.step()
    assert world.position.tolist() == [[0.0, 1.0], [5.0, 1.0]]
    assert world.velocity.tolist() == [[1.0, 0.0], [-1.0, 0.0]]


def test_friction_decelerates_by_the_normal_force_and_never_reverses(Stepper):
    world = Stepper(
        [[0.0, 0.0], [0.0, 0.0]], [[3.0, 0.0], [0.05, 0.0]], dt=1 / 60, forces=[GRAVITY],
        constraints=[kd.Plane((0, 1), 0, friction=0.5)],
    )  # fmt: skip
    world.step(30)
    assert world.velocity[0, 0] == pytest.approx(3 - 0.5 * G * 0.5)
    assert world.velocity[1].tolist() == [0, 0]
    world.step(60)
    assert world.velocity.tolist() == [[0, 0], [0, 0]]
    assert world.position[0, 0] == pytest.approx(9 / G, rel=0.02)  # v² / (2 mu g)


@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "semi_implicit_euler", "rk4"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_friction_prevents_sliding_on_a_slope_up_to_its_angle(Stepper, integrator, dtype):
    slope = [(-1.0, 2.0), 0.0]
    crates = [
        Stepper(np.array([[2.0, 1.0]], dtype), dt=1 / 60, integrator=integrator, forces=[GRAVITY],
                constraints=[kd.Plane(*slope, 0, friction)])
        for friction in (0.51, 0.4)
    ]  # fmt: skip
    for crate in crates:
        crate.step(120)
    assert np.abs(crates[0].position - [[2, 1]]).max() < (1e-4 if dtype == np.float32 else 1e-12)
    # The acceleration is g (sin - mu cos) on a slope of tangent 1/2.
    slid = np.linalg.norm(crates[1].position - [[2, 1]])
    assert slid == pytest.approx(G * (1 - 0.4 * 2) / np.sqrt(5) * 2**2 / 2, rel=0.05)


def test_walls_ignore_infinitely_heavy_bodies(Stepper):
    lift = Stepper([[0.0, 0.0]], [[0.0, -6.0]], np.inf, dt=0.5, constraints=[kd.Plane((0, 1), -1)])
    lift.step(2)
    assert lift.position.tolist() == [[0.0, -6.0]]


def test_shift_moves_walls(Stepper):
    walls = [kd.Box((-1, 0), (1, 3)), kd.Plane((1, 3), -1), kd.Distance([(0, 1)]), kd.ElasticCollisions(0.1), kd.Pin(2)]
    position = np.array([[0.25, 1.0], [0.5, 1.5], [0.0, 2.0]])
    here = Stepper(position.copy(), forces=[GRAVITY], constraints=walls)
    there = Stepper(position.copy(), forces=[GRAVITY], constraints=walls)
    for _ in range(5):
        there.shift((64.0, -32.0))
        here.step(20)
        there.step(20)
        there.shift((-64.0, 32.0))
        assert there.position == pytest.approx(here.position, abs=1e-11)


def test_nan_velocities_are_reported(Stepper):
    walls = [kd.Box((-1, 0), (1, 3), 1, 0.5), kd.Plane((1, 3), -1, 1, 0.5), kd.ElasticCollisions(0.1)]
    world = Stepper([[0.0, 1.0], [0.5, 1.0]], constraints=[*walls, kd.Distance([(0, 1)])])
    world.velocity[1, 0] = np.nan
    with pytest.raises(kd.NonFiniteError):
        world.step()


def test_constraints_without_contacts_have_no_state():
    rng = np.random.default_rng(1)
    for integrator in ("velocity_verlet", "verlet"):
        world = kd.Stepper(
            rng.uniform(1, 9, (60, 2)), rng.normal(size=(60, 2)), integrator=integrator, forces=[GRAVITY],
            constraints=[
                kd.Distance([(i, i + 1) for i in range(20)], 0.5, compliance=1e-4), kd.ElasticCollisions(0.4, 0.7),
                kd.Box((0, 0), (10, 10), 0.6, 0.3, 0.4), kd.Pin([3]),
            ],
        )  # fmt: skip
        kd.sync_test(world, 60, distance=5)


# Bad input.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kd.Pin([0, 0]), r"Pin\(indices\): expected each body once in all pins, got 0 twice"),
        (lambda: kd.Pin([0, 4]), r"Pin\(indices\): expected indices from 0 to 3, got 4"),
        (lambda: kd.Pin([-1]), r"Pin\(indices\): expected indices from 0 to 3, got -1"),
        (lambda: kd.Pin([[0, 1]]), r"Pin\(indices\): expected an int or shape \(k,\), got \(1, 2\)"),
        (lambda: kd.Distance([(0, 4)]), r"Distance\(pairs\): expected indices from 0 to 3, got \[0, 4\] as pair 0"),
        (lambda: kd.Distance([(-1, 2)]), r"Distance\(pairs\): expected indices from 0 to 3, got \[-1, 2\]"),
        (lambda: kd.Distance([(2, 2)]), r"Distance\(pairs\): expected two bodies in a pair, got \[2, 2\]"),
        (
            lambda: kd.Distance([0, 1]),
            r"Distance\(pairs\): expected shape \(pairs, 2\), got \(2,\); one pair is \[\(0, 1\)\]",
        ),
        (
            lambda: kd.Segments([(0, 0), (1, 1)]),
            r"Segments\(points\): .*, got \(2, 2\); a line through points is list\(zip",
        ),
        (lambda: kd.Boxes((0, 0), (1, 1)), r"Boxes\(lower, upper\): .*; one box is Boxes\(\[lower\], \[upper\]\)"),
        (lambda: kd.Distance([(0, 1)], -1), r"Distance\(length\): expected numbers of at least 0, got -1"),
        (lambda: kd.Distance([(0, 1)], [1, 2]), r"Distance\(length\): .*\(1,\), one value per pair, got shape \(2,\)"),
        (lambda: kd.Distance([(0, 1)], stiffness=-0.1), r"Distance\(stiffness\): expected numbers of at least 0"),
        (
            lambda: kd.Distance([(0, 1)], stiffness=1.5),
            r"Distance\(stiffness\): expected numbers of at most 1, got 1.5",
        ),
        (lambda: kd.Distance([(0, 1)], compliance=-1), r"Distance\(compliance\): expected numbers of at least 0"),
        (lambda: kd.Distance([(0, 1)], stiffness=0.5, compliance=1), r"expected stiffness or compliance, got both"),
        (lambda: kd.Distance([(0, 1)], iterations=0), r"Distance\(iterations\): expected an int of at least 1, got 0"),
        (lambda: kd.Box(1, 0), r"Box\(lower, upper\): expected lower <= upper, got 1.0 and 0.0"),
        (lambda: kd.Box((0, 0), (1, 4), radius=0.6), r"Box\(radius\): expected at most half the width of 1 m, got 0.6"),
        (
            lambda: kd.Box((0, 0, 0), 1),
            r"Box\(lower\): expected a number or a vector of shape \(2,\), got shape \(3,\)",
        ),
        (lambda: kd.Box((0, 0), (1, 1, 1)), r"Box\(lower, upper\): expected numbers or vectors of one shape"),
        (lambda: kd.Box(0, 1, 1.1), r"Box\(restitution\): expected numbers of at most 1, got 1.1"),
        (lambda: kd.Box(0, 1, friction=-1), r"Box\(friction\): expected numbers of at least 0, got -1"),
        (lambda: kd.Box(0, 1, radius=[0.1] * 3), r"Box\(radius\): expected a scalar or shape \(4,\)"),
        (lambda: kd.Plane((0, 0), 1), r"Plane\(normal\): expected a direction of shape \(dim,\) other than zero"),
        (lambda: kd.Plane((0, 0, 1), 1), r"Plane\(normal\): expected shape \(2,\), got \(3,\)"),
        (lambda: kd.Plane((0, 1), (0, 1)), r"Plane\(offset\): expected a number, got shape \(2,\)"),
        (lambda: kd.Plane((0, 1), 0, radius=-1), r"Plane\(radius\): expected numbers of at least 0, got -1"),
        (lambda: kd.ElasticCollisions(-1), r"ElasticCollisions\(radius\): expected numbers of at least 0, got -1"),
        (lambda: kd.ElasticCollisions([1, 2]), r"ElasticCollisions\(radius\): expected a scalar or shape \(4,\)"),
        (lambda: kd.ElasticCollisions(1, 2), r"ElasticCollisions\(restitution\): expected numbers of at most 1, got 2"),
        (lambda: kd.ElasticCollisions(1, [1, 1]), r"ElasticCollisions\(restitution\): expected a scalar or shape"),
        (lambda: kd.ElasticCollisions(1, 1, 0), r"ElasticCollisions\(iterations\): expected an int of at least 1"),
    ],
)
def test_invalid_values_are_refused(Stepper, make, message):
    with pytest.raises(ValueError, match=message):
        Stepper(np.zeros((4, 2)), constraints=[make()])


def test_invalid_types_are_refused(Stepper):
    with pytest.raises(TypeError, match=r"Pin\(indices\): expected ints, got"):
        kd.Pin([0.5])
    with pytest.raises(TypeError, match=r"Pin\(indices\): expected ints, got"):
        kd.Pin([True])
    with pytest.raises(TypeError, match=r"Distance\(pairs\): expected ints, got"):
        kd.Distance([(0.0, 1.0)])
    with pytest.raises(TypeError, match=r"Distance\(iterations\): expected an int"):
        kd.Distance([(0, 1)], iterations=2.5)
    with pytest.raises(TypeError, match=r"constraints: got Gravity.* expected constraints"):
        Stepper(np.zeros((2, 2)), constraints=[GRAVITY])
    with pytest.raises(ValueError, match=r"Pin.*once in all pins, got 1 twice"):
        Stepper(np.zeros((2, 2)), constraints=[kd.Pin(1), kd.Pin([0, 1])])


def test_empty_constraints_do_nothing(Stepper):
    world = Stepper(np.zeros((2, 2)), [[1.0, 0.0]] * 2, dt=1, constraints=[kd.Pin([]), kd.Distance([])])
    world.step()
    assert world.position.tolist() == [[1, 0], [1, 0]]
    empty = Stepper(np.zeros((0, 2)), constraints=[kd.ElasticCollisions(1), kd.Box(0, 1), kd.Distance([])])
    empty.step(3)
    assert empty.tick == 3


# Users may move constrained bodies.


def test_a_pin_moved_by_hand_transfers_no_momentum_and_an_infinite_mass_does(Stepper):
    ball = {"position": [[0.0], [1.05]], "dt": 0.125, "integrator": "semi_implicit_euler"}
    bounce = kd.ElasticCollisions(0.5)
    moved = Stepper(**ball, constraints=[bounce, kd.Pin(0)])
    for _ in range(4):
        moved.position[0] += 0.125
        moved.step()
    assert moved.position[1, 0] > 1.05
    assert moved.velocity[1, 0] == 0
    heavy = Stepper(**ball, velocity=[[1.0], [0.0]], mass=[np.inf, 1.0], constraints=[bounce])
    heavy.step(4)
    assert heavy.velocity.tolist() == [[1.0], [2.0]]
