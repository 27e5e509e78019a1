"""Bodies that slide and roll from shape to shape: energy, friction and rest do not depend on how ground is divided."""

import numpy as np
import pytest
from golden import terrain
from plans import INTEGRATORS

import kickdrift as kd
from kickdrift import reference

G, R = 9.81, 0.5
SECOND_ORDER = ("velocity_verlet", "leapfrog", "rk4", "midpoint", "groot_warren", "exact")


def segments(points, **options):
    return kd.Segments(np.stack([points[:-1], points[1:]], 1), radius=R, restitution=0, **options)


def bowl(pieces, hz, integrator, dtype=np.float64, spin=None, friction=0.0):
    """Return a ball that swings in a bowl of radius 5, and its energy above the lowest point per mass."""
    angle = np.linspace(-0.75 * np.pi, -0.25 * np.pi, pieces + 1)
    ground = segments(5 * np.stack([np.cos(angle), np.sin(angle)], 1), friction=friction)
    start = np.array([[np.sin(0.6), -np.cos(0.6)]], dtype) * (5 - R)
    ball = kd.Stepper(
        start, hz=hz, integrator=integrator, forces=[kd.Gravity((0, -G))], constraints=[ground], angular_velocity=spin
    )
    return ball, lambda: sum(ball.energy()) + G * (5 - R)


@pytest.mark.parametrize("integrator", SECOND_ORDER)
def test_a_bowl_takes_the_same_energy_at_any_rate(integrator):
    """Each kink of a polygon takes the part of the velocity across it, and nothing else does."""
    left = []
    for hz in (30, 60, 120):
        ball, energy = bowl(100, hz, integrator)
        ball.step(hz)
        start = energy()
        ball.step(15 * hz)
        left.append(energy() / start)
    assert left == pytest.approx([0.922] * 3, abs=4e-3)


@pytest.mark.parametrize("integrator", [each for each in INTEGRATORS if each.name != "explicit_euler"], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spin", [None, 0.0])
def test_a_bowl_gives_no_energy(integrator, dtype, spin):
    ball, energy = bowl(400, 60, integrator, dtype, spin, 0.0 if spin is None else 0.5)
    ball.step(60)
    start = energy()
    ball.step(20 * 60)
    assert energy() < 1.06 * start  # energies of first-order methods swing by 3 %


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("spin", [None, 0.0])
@pytest.mark.parametrize("friction", [0.1, 0.3])
def test_a_slope_of_many_pieces_is_a_slope(side, spin, friction):
    """Friction and spin in a step with a kink are those of both pieces, each for its share of the step."""
    found = []
    for pieces in (1, 2000):
        x = np.linspace(-50, 50, pieces + 1)
        y = -0.1 * x + (1e-5 * np.sin(7 * x) if pieces > 1 else 0)
        body = kd.Stepper(
            [[side * -39.95, 4.5]], [[side * 4, -0.4]], hz=60, forces=[kd.Gravity((0, -G))], angular_velocity=spin,
            constraints=[segments(np.stack([side * x, y], 1), friction=friction)],
        )  # fmt: skip
        body.step(120)
        found.append([*body.position[0], *body.velocity[0], *(() if spin is None else body.angular_velocity)])
    assert found[1] == pytest.approx(found[0], abs=0.03)


@pytest.mark.parametrize("integrator", SECOND_ORDER)
@pytest.mark.parametrize("slope", [0.05, 0.35, np.pi / 4])
def test_a_ball_rests_in_a_groove(integrator, slope):
    c, s = 20 * np.cos(slope), 20 * np.sin(slope)
    ground = segments(np.array([(-c, s), (0, 0), (c, s)]))
    ball = kd.Stepper(
        [[0.0, R / np.cos(slope)]], hz=60, integrator=integrator, forces=[kd.Gravity((0, -G))], constraints=[ground]
    )
    ball.step(3600)
    assert abs(ball.position[0, 0]) < 2e-3


@pytest.mark.parametrize("integrator", SECOND_ORDER)
def test_a_ball_rests_in_a_gap(integrator):
    boxes = kd.Boxes([(-9, -1), (0.1, -1)], [(0, 0), (9, 0)], radius=R, restitution=0)
    ball = kd.Stepper(
        [[0.05, np.sqrt(R * R - 0.0025)]], hz=60, integrator=integrator, forces=[kd.Gravity((0, -G))],
        constraints=[boxes],
    )  # fmt: skip
    ball.step(3600)
    assert abs(ball.position[0, 0] - 0.05) < 2e-3


@pytest.mark.parametrize("gap", [0, 1e-9, 1e-4, 1e-2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper])
def test_a_ball_falls_freely_through_a_slot_as_wide_as_itself(Stepper, dtype, gap):
    """Bounces between smooth sides conserve its energy, however many there are in a step."""
    r = 0.15
    left, right = [(0, 0), (0, -50)], [(2 * r + gap, 0), (2 * r + gap, -50)]
    sides = [
        lambda **more: kd.Segments([left, right], **more),
        lambda **more: kd.Boxes([(-5, -50), right[1]], [(0, 0), (9, 0)], **more),
    ]
    for hz in (30, 60, 240) if Stepper is kd.Stepper else (60,):
        for integrator in ("semi_implicit_euler", "velocity_verlet", "verlet"):
            for restitution in (0, 0.5, 1):
                for speed in (0.01, 0.7, 20):
                    for slot in sides:
                        start = np.array([[r + gap / 2, -1]], dtype), np.array([[speed, -3]], dtype)
                        ball, free = (
                            Stepper(*(a.copy() for a in start), hz=hz, integrator=integrator,
                                    forces=[kd.Gravity((0, -G))], constraints=constraints)
                            for constraints in ([slot(radius=r, restitution=restitution)], [])
                        )  # fmt: skip
                        ball.step(hz // 2)
                        free.step(hz // 2)
                        assert ball.position[0, 1] == pytest.approx(free.position[0, 1], abs=1e-5)
                        assert ball.velocity[0, 1] == pytest.approx(free.velocity[0, 1], abs=1e-5)
                        assert abs(ball.position[0, 0] - r - gap / 2) <= gap / 2 + 1e-6
                        assert restitution < 1 or abs(ball.velocity[0, 0]) == pytest.approx(speed, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bits_of_the_reference(isa, number, dtype):
    integrator = INTEGRATORS[number % len(INTEGRATORS)]
    assert terrain(integrator, dtype, number, kd) == terrain(integrator, dtype, number, kd.reference)
