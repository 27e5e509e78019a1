"""Charges and rotating frames beside rods, walls and shapes: a force across the velocity does no work."""

import math
from itertools import product

import numpy as np
import pytest
from plans import INTEGRATORS, uses_old_velocity

import kickdrift as kd

G = 9.81  # m/s²
R = 0.125  # radius of bodies on floors
DOWN = [k * np.pi / 4 for k in range(8)]  # directions of the force, as angles: each wall is floor, ceiling and side
#: Integrators of order 2 and above beside a magnetic field, see kickdrift/forces/rotations.py.
SECOND = [
    each
    for each in INTEGRATORS
    if each.order > 1 and each.name not in ("verlet", "exact", "energy_euler") and repr(each) != "GrootWarren(lam=0.65)"
]
#: Without the alternating form of semi-implicit Euler: bodies at rest fall in every other step, and rotate meanwhile.
ON_FLOORS = [each for each in SECOND if not uses_old_velocity(each)]
RESTING = [*ON_FLOORS, kd.SemiImplicitEuler(), kd.ImplicitEuler(), kd.Verlet(start="backward")]
HELD = pytest.mark.parametrize("integrator", SECOND, ids=repr)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
FIELD = np.array([0.5, -1.0, 2.0])  # T
OMEGA = np.array([0.3, 0.2, 0.9])  # rad/s


def integrated(acceleration, x, v, duration, steps=4000):
    """Integrate x'' = acceleration(x, v) by a Runge-Kutta method of order 4 with small steps."""
    y, h = np.array([x, v], float), duration / steps

    def slope(y):
        return np.array([y[1], acceleration(*y)])

    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def on_a_rod(force):
    """Return the acceleration of a bob on a rod from the origin: Lagrange's first kind."""

    def acceleration(x, v):
        a = force(x, v)
        return a - (v @ v + a @ x) / (x @ x) * x

    return acceleration


def bob(forces, x, v, integrator, dt, dtype=np.float64):
    """Create a stepper of a bob on a rod from the origin."""
    position, velocity = (np.array([np.zeros(len(x)), row], dtype) for row in (x, v))
    rod = kd.Distance([[0, 1]], math.sqrt(np.dot(x, x)))
    return kd.Stepper(
        position, velocity, mass=[np.inf, 1.0], dt=dt, integrator=integrator, forces=forces, constraints=[rod]
    )


def turned(angle, vectors):
    """Rotate vectors from a world where down is -y to one where down is `angle`."""
    c, s = np.cos(angle + np.pi / 2), np.sin(angle + np.pi / 2)
    return np.asarray(vectors, float) @ np.array([[c, s], [-s, c]])


def plane(angle, **more):
    return kd.Plane(tuple(turned(angle, (0, 1))), 0.0, **more)


def segment(angle, **more):
    return kd.Segments([turned(angle, [(-50, 0), (50, 0)])], **more)


def room(angle, **more):
    ends = turned(angle, [(-50, 0), (50, 90)])
    return kd.Box(ends.min(0), ends.max(0), **more) if np.isclose(np.cos(2 * angle) ** 2, 1) else None


def orders(error, counts=(100, 200, 400)):
    errors = np.array([error(steps) for steps in counts])
    return np.log2(errors[:-1] / errors[1:]), errors


@HELD
def test_a_charged_pendulum_swings_as_an_uncharged_one(integrator):
    """In the plane the magnetic force is along the rod. Order 2, in position and velocity."""
    start = math.sin(1), -math.cos(1)
    end = integrated(on_a_rod(lambda x, v: np.array([0, -G])), start, (0, 0), 2)

    def error(steps):
        forces = [kd.Gravity((0, -G)), kd.Magnetic(3.0, 1.0)]
        stepper = bob(forces, start, (0, 0), integrator, 2 / steps)
        stepper.step(steps)
        return [math.dist(stepper.position[1], end[0]), math.dist(stepper.velocity[1], end[1])]

    found, errors = orders(error)
    assert np.all(found > 1.75), found
    assert np.all(errors[-1] < [2e-4, 1e-3])


@HELD
@pytest.mark.parametrize("kind", ["Magnetic", "RotatingFrame"])
def test_a_spherical_pendulum_is_of_order_2(integrator, kind):
    """A charge in an oblique field, and Foucault's pendulum with a fast earth, against Lagrange's equations."""
    start, speed = np.array([0.6, 0.0, -0.8]), np.array([0.0, 0.7, 0.0])
    down = np.array([0, 0, -G])
    if kind == "Magnetic":
        force = kd.Magnetic(1.0, FIELD)
        end = integrated(on_a_rod(lambda x, v: down + np.cross(v, FIELD)), start, speed, 2)
    else:
        force = kd.RotatingFrame(OMEGA)
        end = integrated(
            on_a_rod(lambda x, v: down + 2 * np.cross(v, OMEGA) + np.cross(np.cross(OMEGA, x), OMEGA)), start, speed, 2
        )

    def error(steps):
        stepper = bob([kd.Gravity(down), force], start, speed, integrator, 2 / steps)
        stepper.step(steps)
        return [math.dist(stepper.position[1], end[0]), math.dist(stepper.velocity[1], end[1])]

    found, errors = orders(error)
    assert np.all(abs(found - 2) < 0.15), found
    assert np.all(errors[-1] < [2e-4, 2e-3])


@pytest.mark.parametrize("integrator", ON_FLOORS, ids=repr)
@DTYPES
def test_a_charge_slides_on_a_floor_in_a_cycloid(integrator, dtype):
    """Gravity is oblique. In the floor's plane only the normal component of the field acts: order 2."""
    g, start = np.array([0.3, 0.2, -G]), np.array([1.0, 0.5, 0.0])
    b = FIELD[2]
    w, v0 = (g[0] + 1j * g[1]) / (1j * b), start[0] + 1j * start[1]  # u' = g - i b u, w: drift
    turn = np.exp(-2j * b)
    place, speed = 2 * w + (v0 - w) * (1 - turn) / (1j * b), w + (v0 - w) * turn
    exact = np.array([[place.real, place.imag, 0], [speed.real, speed.imag, 0]])

    def error(steps):
        stepper = kd.Stepper(np.zeros((1, 3), dtype), start[None].astype(dtype), dt=2 / steps, integrator=integrator,
                             forces=[kd.Gravity(g), kd.Magnetic(1.0, FIELD)],
                             constraints=[kd.Plane((0, 0, 1), 0.0, restitution=0.5)])  # fmt: skip
        stepper.step(steps)
        assert stepper.position[0, 2] == stepper.velocity[0, 2] == 0
        return [math.dist(stepper.position[0], exact[0]), math.dist(stepper.velocity[0], exact[1])]

    found, errors = orders(error, (25, 50, 100))
    assert np.all(abs(found - 2) < 0.1), found
    assert np.all(errors[-1] < 2e-3)


@pytest.mark.parametrize("integrator", RESTING, ids=repr)
@pytest.mark.parametrize("floor", [plane, segment, room])
def test_a_charge_on_a_floor_keeps_its_speed(integrator, floor):
    """On floor, ceiling and sides: a body at rest stays, one that slides keeps its speed, if pressed down or lifted."""
    speeds = np.array([0.0, 2.0, -2.0])
    for down, dtype in product(DOWN, (np.float32, np.float64)):
        ground = floor(down, restitution=0.5, radius=R)
        if ground is None:
            continue
        along = turned(down, (1, 0))
        start = np.tile(turned(down, (0, R)), (3, 1)).astype(dtype)
        forces = [kd.Gravity(tuple(turned(down, (0, -G)))), kd.Magnetic(2.0, 1.0)]
        charges = kd.Stepper(start, (speeds[:, None] * along).astype(dtype), hz=60, integrator=integrator,
                             forces=forces, constraints=[ground])  # fmt: skip
        charges.step(600)
        # Verlet's velocities are differences of positions: rounding of float32 counts more.
        rounding = (1e-2 if integrator.name == "verlet" else 1e-4) if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(charges.velocity @ along, speeds, atol=rounding)
        np.testing.assert_allclose(charges.velocity @ turned(down, (0, 1)), 0, atol=rounding)
        np.testing.assert_allclose(charges.position @ along, 10 * speeds, atol=0.05)


@pytest.mark.parametrize("integrator", ON_FLOORS, ids=repr)
def test_a_charge_that_friction_holds_has_no_velocity(integrator):
    """Friction of some bodies only: both rest."""
    floor = kd.Plane((0, 1), 0.0, restitution=0.5, friction=[0.0, 0.5])
    forces = [kd.Gravity((0, -G)), kd.Magnetic(2.0, 1.0)]
    charges = kd.Stepper(np.zeros((2, 2)), hz=60, integrator=integrator, forces=forces, constraints=[floor])
    charges.step(600)
    assert abs(charges.velocity).max() < 1e-12


@pytest.mark.parametrize("frame", [0.0, 2.0])
@HELD
def test_a_bob_at_rest_on_a_rod_stays(integrator, frame):
    """The rod balances the centrifugal force; the bob of a charged pendulum hangs still."""
    forces = [kd.RotatingFrame(frame)] if frame else [kd.Gravity((9.0, 0)), kd.Magnetic(3.0, 1.0)]
    still = bob(forces, (1.0, 0.0), (0.0, 0.0), integrator, 1 / 60)
    still.step(6000)
    assert abs(still.velocity).max() < 1e-12
    assert abs(still.position[1] - (1, 0)).max() < 1e-12


@HELD
@DTYPES
def test_a_bob_on_a_rod_keeps_its_speed(integrator, dtype):
    """No force acts along the circle. The error per step is of order 4: 1/256 of it remains after 4 times the steps."""
    lost = []
    for hz in (60, 240):
        circling = bob([kd.Magnetic(3.0, 1.0)], (1.0, 0.0), (0.0, 2.0), integrator, 1 / hz, dtype=dtype)
        circling.step(10 * hz)
        lost.append(abs(2 - math.hypot(*circling.velocity[1])))
    assert lost[0] < 2e-3
    assert lost[1] < 2e-3 if dtype == np.float32 else lost[1] < lost[0] / 50


@pytest.mark.parametrize("integrator", [*RESTING, kd.Verlet(), kd.ExplicitEuler()], ids=repr)
def test_charges_in_an_elastic_box_keep_their_energy(integrator):
    """Also those that skip along a wall, always round in the same sense."""
    rng = np.random.default_rng(1)
    position, velocity = rng.uniform(0.1, 0.9, (20, 2)), rng.normal(size=(20, 2))
    charge = rng.uniform(-4, 4, 20)
    gas = kd.Stepper(position, velocity, hz=60, integrator=integrator, forces=[kd.Magnetic(charge, 1.5)],
                     constraints=[kd.Box(0, 1)])  # fmt: skip
    before = (gas.velocity**2).sum(axis=1)
    gas.step(3600)
    np.testing.assert_allclose((gas.velocity**2).sum(axis=1), before, rtol=1e-9)


@pytest.mark.parametrize("field", [0.0, 3.0])
def test_charged_chains_keep_their_energy(field):
    """Three charges of different sign on a chain in space: after 30 s at 240 Hz the energy is as without a field."""
    joints = np.array([[0, 0, 0], [0.5, 0, -0.1], [1, 0, -0.2], [1.5, 0, -0.3]])
    rods = kd.Distance([[0, 1], [1, 2], [2, 3]], iterations=40)
    forces = [kd.Gravity((0, 0, -G)), kd.Magnetic([0.0, 1.0, -0.5, 2.0], field * np.array([0.3, 0.5, 1.0]))]
    chain = kd.Stepper(joints, mass=[np.inf, 1.0, 2.0, 0.7], hz=240, forces=forces, constraints=[rods])
    before = sum(chain.energy())
    chain.step(7200)
    assert abs(sum(chain.energy()) - before) < 0.01 * 3.7 * G  # J: the energy of sinking by 1 cm
