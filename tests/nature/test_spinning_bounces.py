"""Bounces with friction between bodies that spin, against formulas; benchmarks of particle impacts."""

import itertools
import math

import numpy as np
import pytest
from rolling_worlds import BETA, GROUNDS, MASS, R, about_z, angular_momentum, ground, has_ground

import kickdrift as kd

PLACES = [*GROUNDS, "collisions", "swept collisions"]


def rebound(dim, place, speed=3.9, degrees=45.0, e=0.8, mu=0.3, spin=0.0, hz=60, integrator="velocity_verlet"):
    """Return velocity along and off the surface, and spin, after a bounce without gravity. degrees: from the normal."""
    a = math.radians(degrees)
    velocity = np.zeros((1, dim))
    velocity[0, :2] = speed * math.sin(a), -speed * math.cos(a)
    position = np.zeros((1, dim))
    position[0, :2] = np.array([0, R]) - 0.4 / hz * velocity[0, :2]
    mass, w = [MASS], np.zeros((1, 3))
    w[0, 2] = spin
    if "collisions" in place:  # with a body of infinite mass, whose centre is below the point of impact
        constraints = [kd.ElasticCollisions(R, e, friction=mu, swept=place.startswith("swept"))]
        position, velocity = (np.concatenate([rows, 0 * rows]) for rows in (position, velocity))
        position[1, 1] = -R
        mass, w = [MASS, np.inf], np.concatenate([w, 0 * w])
    else:
        constraints = ground(dim, place, mu, e)
    how = {"angular_velocity": w if dim == 3 else w[:, 2].copy(), "integrator": integrator}
    ball = kd.Stepper(position, velocity, mass=mass, hz=hz, constraints=constraints, **how)
    ball.step(3)
    return float(ball.velocity[0, 0]), float(ball.velocity[0, 1]), float(about_z(ball)[0])


def after_bounce(dim, speed=3.9, degrees=45.0, e=0.8, mu=0.3, spin=0.0):
    """Return the results of `rebound` by theory: the slip ends, or friction is mu times the normal impulse."""
    a, beta = math.radians(degrees), BETA[dim]
    across, along = speed * math.cos(a), speed * math.sin(a)
    slip = along + R * spin
    lost = math.copysign(min(abs(slip) * beta / (1 + beta), mu * (1 + e) * across), slip)
    return along - lost, e * across, spin - lost / (beta * R)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dim", [2, 3])
def test_a_bounce_grips_or_slips(place, dim):
    if not has_ground(dim, place):
        return
    for degrees, mu, spin, e in itertools.product([5, 20, 40, 60, 85], [0.05, 0.3, 1.0], [0, 5, -9], [0.0, 0.5, 1.0]):
        expected = after_bounce(dim, 3.9, degrees, e, mu, spin)
        assert rebound(dim, place, 3.9, degrees, e, mu, spin) == pytest.approx(expected, abs=1e-9), (
            degrees,
            mu,
            spin,
            e,
        )


@pytest.mark.parametrize("integrator", kd.INTEGRATORS)
def test_a_bounce_is_the_same_under_every_integrator(integrator):
    for dim, place, degrees in itertools.product([2, 3], PLACES, [10, 70]):
        if has_ground(dim, place):
            found = rebound(dim, place, degrees=degrees, spin=4.0, integrator=integrator)
            assert found == pytest.approx(after_bounce(dim, degrees=degrees, spin=4.0), abs=1e-9), place


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dim", [2, 3])
def test_a_spinning_ball_that_is_dropped_goes_off(place, dim):
    if has_ground(dim, place):
        share = {2: 1 / 3, 3: 2 / 7}[dim]
        along, _, spin = rebound(dim, place, degrees=0.0, mu=3.0, spin=8.0)
        assert along == pytest.approx(-share * R * 8.0, rel=1e-9)
        assert spin == pytest.approx(share * 8.0, rel=1e-9)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0.6, 0, -0.8), (0.3, 0.9, 0.1)])
@pytest.mark.parametrize("place", [name for name in PLACES if has_ground(3, name) and "collisions" not in name])
def test_in_space_friction_acts_against_the_slip(axis, place):
    """The friction limit is a cone, not a pyramid. Spin about the normal stays: friction has no lever arm for it."""
    w, v = 20 * np.array(axis, float), np.array([1.5, -3.0, 0.7])
    for mu in (0.1, 2.0):
        ball = kd.Stepper(
            [[0.0, R + 0.01, 0.0]], [v], hz=60, constraints=ground(3, place, mu, 0.5), angular_velocity=[w.copy()]
        )
        ball.step(2)
        n = np.array([0, 1.0, 0])
        slip = v - (v @ n) * n - R * np.cross(w, n)
        lost = slip * min(2 / 7, mu * 1.5 * 3.0 / np.linalg.norm(slip))
        assert ball.velocity[0] == pytest.approx(v * [1, -0.5, 1] - lost, abs=1e-9)
        assert ball.angular_velocity[0] == pytest.approx(w + np.cross(n, lost) / (0.4 * R), abs=1e-9)


def two_bodies(rng, dim):
    """Draw two bodies that touch after 0.4 of a step; return them, and their velocities after the impact by theory."""
    radius, mass = rng.uniform(0.3, 1, 2), rng.uniform(0.5, 3, 2)
    e, mu = rng.uniform(0, 1), rng.choice([0.1, 0.5, 2.0])
    n, v, w = np.zeros(3), np.zeros((2, 3)), np.zeros((2, 3))
    n[:dim] = rng.normal(size=dim)
    n /= np.linalg.norm(n)
    v[:, :dim] = rng.normal(size=(2, dim))
    v += np.outer([3, -3], n)
    w[:, 2 if dim == 2 else slice(None)] = 5 * rng.normal(size=2 if dim == 2 else (2, 3))
    inertia = BETA[dim] * mass * radius**2
    between = v[1] - v[0]
    normal_impulse = -(1 + e) * (between @ n) / sum(1 / mass)
    friction = -(between - (between @ n) * n - np.cross(radius @ w, n)) / sum(1 / mass + radius**2 / inertia)
    friction *= min(1, mu * normal_impulse / np.linalg.norm(friction))
    change = np.outer([-1, 1] / mass, normal_impulse * n + friction)
    turn = -np.outer(radius / inertia, np.cross(n, friction))
    return radius, mass, e, mu, n, v, w, v + change, w + turn


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("swept", [False, True])
def test_two_bodies_collide_by_the_formulas(dim, swept):
    """Velocities equal theory, also across a periodic side; momentum and angular momentum are conserved."""
    rng, hz = np.random.default_rng(8), 60
    for trial in range(40):
        radius, mass, e, mu, n, v, w, expected, turned = two_bodies(rng, dim)
        position = np.outer([0.0, radius.sum()], n) - 0.4 / hz * v
        constraints = [kd.ElasticCollisions(radius, e, friction=[mu, mu], swept=swept)]
        if trial % 2:
            middle = position.mean(axis=0)[:dim]
            constraints.append(kd.Periodic(middle, middle + 9))
            position[:, :dim] = middle + (position[:, :dim] - middle) % 9
        pair = kd.Stepper(
            position[:, :dim].copy(), v[:, :dim].copy(), mass=mass, hz=hz, constraints=constraints,
            angular_velocity=w[:, 2].copy() if dim == 2 else w.copy(),
        )  # fmt: skip
        before = angular_momentum(pair)
        pair.step(2)
        assert pair.velocity == pytest.approx(expected[:, :dim], abs=1e-9)
        assert pair.angular_velocity == pytest.approx(turned[:, 2] if dim == 2 else turned, abs=1e-9)
        if not trial % 2:
            assert angular_momentum(pair) == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_bodies_in_contacts_collide_by_the_formulas_where_steps_are_small(dim):
    """Bodies stay in contact until the step ends, and turn about each other meanwhile: a first-order error."""
    errors = {}
    for hz in (240, 960, 3840):
        rng, errors[hz] = np.random.default_rng(8), 0.0
        for _ in range(10):
            radius, mass, e, mu, n, v, w, expected, turned = two_bodies(rng, dim)
            pair = kd.Stepper(
                (np.outer([0.0, radius.sum()], n) - 0.4 / hz * v)[:, :dim], v[:, :dim].copy(), mass=mass, hz=hz,
                constraints=[kd.Contacts(radius, e, friction=[mu, mu])],
                angular_velocity=w[:, 2].copy() if dim == 2 else w.copy(),
            )  # fmt: skip
            pair.step(4)
            spin = pair.angular_velocity - (turned[:, 2] if dim == 2 else turned)
            errors[hz] = max(errors[hz], abs(pair.velocity - expected[:, :dim]).max(), abs(spin).max())
    assert errors[3840] < 5e-3
    assert 3 < errors[240] / errors[960] < 5
    assert 3 < errors[960] / errors[3840] < 5


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("e", [1.0, 0.7])
def test_bodies_that_rub_keep_their_angular_momentum(dim, e):
    """500 bodies collide some thousand times in 10,000 steps, and conserve angular momentum to rounding."""
    rng, n = np.random.default_rng(dim), 500
    side = round(n ** (1 / dim)) + 1
    x = np.stack(np.meshgrid(*[np.arange(side) - side / 2] * dim), axis=-1).reshape(-1, dim)[:n]
    x = x + 0.05 * rng.normal(size=x.shape)
    w = 5 * rng.normal(size=n if dim == 2 else (n, 3))
    crowd = kd.Stepper(
        x, rng.normal(size=x.shape) - 0.5 * x, hz=240, angular_velocity=w,
        constraints=[kd.ElasticCollisions(0.4, e, friction=0.6)], events=kd.Events(10**6, begin=False, end=False),
    )  # fmt: skip
    first = angular_momentum(crowd)
    scale = np.abs(crowd.inertia[:, None] * w.reshape(n, -1)).sum()
    scale += np.linalg.norm(crowd.position, axis=1) @ np.linalg.norm(crowd.velocity, axis=1)
    before = np.array(crowd.angular_velocity)
    crowd.step(10_000)
    assert len(crowd.events.take()) > 2500
    assert abs(crowd.angular_velocity - before).max() > 1
    assert angular_momentum(crowd) == pytest.approx(first, abs=1e-12 * scale)


@pytest.mark.parametrize("kind", [kd.ElasticCollisions, kd.Contacts])
def test_two_discs_on_axles_share_what_they_have(kind):
    """Friction turns spins of w0 and 0 into w0 / 2 and -w0 / 2; discs of such mass do not move aside."""
    discs = kd.Stepper(
        [[0.0, 0.0], [0.999, 0.0]],
        [[1e-3, 0.0], [-1e-3, 0.0]],
        mass=1e12,
        inertia=0.25,
        hz=60,
        angular_velocity=[6.0, 0.0],
        constraints=[kind(0.5, friction=1.0)],
    )
    discs.step(60)
    assert discs.angular_velocity == pytest.approx([3.0, -3.0])
    assert discs.position[:, 1] == pytest.approx(0, abs=1e-9)


#: Chung and Ooi, Granular Matter 13, 643 (2011), test 4, aluminium oxide: angle of incidence in degrees, tangential
#: restitution, spin in rad/s, rebound angle in degrees. The authors of Kratos read them from the paper's figures.
IMPACTS = [
    (40, 0.781, -545, 11.6),
    (50, 0.845, -457, 29.4),
    (60, 0.893, -357, 47.8),
    (70, 0.932, -246, 64.6),
    (80, 0.966, -126, 78.7),
    (85, 0.983, -63, 84.5),
]


def impact(radius, e, mu, across, along=0.0, spin=0.0, second=None):
    """Return velocity along and off the surface, and spin, of a sphere after an impact.

    second: (relative radius, relative density, velocity, spin) of a sphere that is hit instead of a plane.
    """
    hz = across / radius  # the sphere moves by its radius in a step
    position = np.array([[0.0, radius, 0.0]]) - 0.4 / hz * np.array([along, -across, 0.0])
    v, w, mass = np.array([[along, -across, 0.0]]), np.array([[0.0, 0.0, spin]]), [radius**3]
    constraints = [kd.Plane((0, 1, 0), 0.0, e, mu, radius)]
    if second is not None:
        other, density, speed, turns = second
        position = np.concatenate([position, [[0.0, -other - 0.4 / hz * speed, 0.0]]])
        v, w = np.concatenate([v, [[0.0, speed, 0.0]]]), np.concatenate([w, [[0.0, 0.0, turns]]])
        mass = [radius**3, density * other**3]
        constraints = [kd.ElasticCollisions([radius, other], e, friction=mu)]
    ball = kd.Stepper(position, v, mass=mass, hz=hz, constraints=constraints, angular_velocity=w)
    ball.step(2)
    return ball.velocity[0, 0], ball.velocity[0, 1], ball.angular_velocity[0, 2]


def test_chung_and_ooi_4_impacts_at_constant_speed():
    """Spheres of 2.5 mm at 3.9 m/s, e = 0.98, mu = 0.092: e_t = 1 - mu (1 + e) / tan, spin 5/2 mu (1 + e) v_n / r."""
    r, e, mu = 0.0025, 0.98, 0.092
    for degrees, tangential, spin, angle in IMPACTS:
        a = math.radians(degrees)
        v, off, w = impact(r, e, mu, 3.9 * math.cos(a), 3.9 * math.sin(a))
        assert v / (3.9 * math.sin(a)) == pytest.approx(1 - mu * (1 + e) / math.tan(a), abs=1e-9)
        assert w == pytest.approx(-2.5 * mu * (1 + e) * 3.9 * math.cos(a) / r, rel=1e-9)
        assert v / (3.9 * math.sin(a)) == pytest.approx(tangential, abs=5e-3)
        assert w == pytest.approx(spin, abs=5)
        assert math.degrees(math.atan((v + r * w) / off)) == pytest.approx(angle, abs=1)


def test_chung_and_ooi_5_impacts_at_constant_normal_speed():
    """Spheres of 10 um, 5 m/s, e = 1, mu = 0.3: sliding takes 7 off v_s / (mu v_n), and r w / (mu v_n) becomes -5."""
    r, mu, normal = 1e-5, 0.3, 5.0
    for incident, recoil, spin in ((9.99, 3.013, -5.004), (12.96, 6.013, -5.0)):
        v, off, w = impact(r, 1.0, mu, normal, incident * mu * normal)
        assert (v + r * w) / (mu * off) == pytest.approx(incident - 7, abs=1e-9)
        assert r * w / (mu * normal) == pytest.approx(-5, abs=1e-9)
        assert (incident - 7, -5) == pytest.approx((recoil, spin), abs=0.06)


@pytest.mark.parametrize("second", [None, (0.5, 1000.0, 0.0, 0.0)], ids=["test 6: a plane", "test 8: a large sphere"])
def test_chung_and_ooi_6_and_8_impacts_of_spinning_spheres(second):
    """Spheres of 0.1 m at 0.2 m/s, e = 0.5, mu = 0.4: the slip decreases by 7/2 mu (1 + e) v_n, or ends.

    In test 8 the second sphere is 5 times as large and 1000 times as dense: 125,000 times as heavy.
    """
    r, e, mu, normal = 0.1, 0.5, 0.4, 0.2
    exact = 1e-9 if second is None else 3e-5  # theory takes the second sphere as immovable
    for incident, recoil in ((2.75, 1.31), (3.72, 3.27), (5.66, 7.15)):
        v, off, w = impact(r, e, mu, normal, spin=incident * normal / r, second=second)
        assert off == pytest.approx(e * normal, rel=exact)
        assert (v + r * w) / off == pytest.approx((incident - 3.5 * mu * (1 + e)) / e, rel=10 * exact)
        assert (incident - 3.5 * mu * (1 + e)) / e == pytest.approx(recoil, abs=0.05)
    for incident in (0.5, 2.0):  # no slip remains; the tangentially elastic spheres of the paper recoil by -0.4 to 0.1
        v, off, w = impact(r, e, mu, normal, spin=incident * normal / r, second=second)
        assert (v + r * w) / off == pytest.approx(0, abs=1e-3)


def test_chung_and_ooi_7_spheres_that_spin_against_each_other():
    """Spheres that spin against each other do not slip: their spins stay, and they do not move aside."""
    for spin in (0.175, 2.0, 22.86):
        v, off, w = impact(0.1, 0.5, 0.4, 0.2, spin=spin, second=(0.1, 1.0, 0.2, -spin))
        assert (v, off, w) == pytest.approx((0, 0.1, spin), abs=1e-9)
