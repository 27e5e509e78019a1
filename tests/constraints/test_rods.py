"""Distances corrected along the direction before the step: swinging bodies keep their energy."""

import numpy as np
import pytest

import kickdrift as kd

G = 9.81
SYNCHRONOUS = ["velocity_verlet", "leapfrog"]
SWINGING = [*SYNCHRONOUS, "verlet", "semi_implicit_euler"]


def pendulum(integrator, hz=60, dtype=np.float64, cls=kd.Stepper, **how):
    """Create a pendulum of 1 kg on a rod of 1 m, released at 60 degrees."""
    bob = np.array([[0, 0], [np.sqrt(0.75), -0.5]], dtype)
    return cls(
        bob, hz=hz, integrator=integrator, forces=[kd.Gravity((0, -G))],
        constraints=[kd.Pin(0), kd.Distance([(0, 1)], 1.0, **how)],
    )  # fmt: skip


def height_lost(bob, seconds):
    """Return the fraction of its height that the pendulum has lost, measured in its next swings."""
    bob.step(60 * seconds)
    return (0.5 - (1 + bob.record(180).position[:, 1, 1].max())) / 0.5


@pytest.mark.parametrize("integrator", SWINGING)
def test_a_pendulum_keeps_its_height(integrator):
    assert abs(height_lost(pendulum(integrator), 10)) < 0.01
    assert abs(height_lost(pendulum(integrator), 60)) < 0.03
    assert height_lost(pendulum(integrator, direction="after"), 10) > 0.5  # like Jakobsen's


@pytest.mark.parametrize("compliance", [None, 0.0])
def test_a_rigid_rod_with_compliance_keeps_its_height(compliance):
    assert abs(height_lost(pendulum("velocity_verlet", compliance=compliance), 10)) < 0.01


@pytest.mark.parametrize("integrator", [*SYNCHRONOUS, "verlet"])
def test_rods_converge_with_second_order(integrator):
    ends = []
    for hz in (60, 120, 240, 3840):
        bob = pendulum(integrator, hz)
        bob.step(2 * hz)
        ends.append(bob.position[1].copy())
    errors = [np.linalg.norm(end - ends[-1]) for end in ends[:-1]]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("integrator", SYNCHRONOUS)
def test_rods_are_time_reversible(integrator):
    bob = pendulum(integrator)
    start = bob.position.copy()
    bob.step(600)
    bob.velocity[:] *= -1
    bob.step(600)
    assert np.abs(bob.position - start).max() < 1e-11


@pytest.mark.parametrize("integrator", SYNCHRONOUS)
@pytest.mark.parametrize("count", [10, 200])
def test_chains_conserve_energy(integrator, count):
    rng = np.random.default_rng(1)
    position = np.zeros((count, 3))
    position[:, 0], position[1::2, 1] = np.arange(count), 0.7
    links = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    chain = kd.Stepper(
        position, 0.5 * rng.normal(size=(count, 3)), dt=0.002, integrator=integrator,
        constraints=[kd.Distance(links)],
    )  # fmt: skip
    chain.step()  # removes the initial velocity components along the links
    first = sum(chain.energy())
    for _ in range(20):
        chain.step(50)
        assert sum(chain.energy()) == pytest.approx(first, rel=0.01)
    lengths = np.linalg.norm(np.diff(chain.position, axis=0), axis=1)
    assert lengths == pytest.approx(np.linalg.norm(np.diff(position, axis=0)[0]), rel=1e-6)


def test_velocities_along_rods_are_removed_by_the_step(Stepper):
    bob = pendulum("velocity_verlet", cls=Stepper)
    bob.step(20)
    assert abs(bob.velocity[1] @ bob.position[1]) < 1e-12
    hanging = Stepper(
        [[0.0, 0.0], [0.0, -1.0]], forces=[kd.Gravity((0, -G))], constraints=[kd.Pin(0), kd.Distance([(0, 1)])]
    )
    hanging.step(10)
    assert np.abs(hanging.velocity).max() < 1e-15


@pytest.mark.parametrize("integrator", SWINGING)
def test_rods_that_turn_by_more_than_60_degrees_keep_their_length(Stepper, integrator):
    bob = pendulum(integrator, cls=Stepper)
    bob.velocity[1] = [60.0, -90.0]
    bob.step(3)
    for _ in range(30):
        bob.step()
        assert np.linalg.norm(bob.position[1]) == pytest.approx(1, abs=1e-9)


def test_unknown_directions_are_refused():
    with pytest.raises(ValueError, match=r"Distance\(direction\): expected one of 'before', 'after', got 'both'"):
        kd.Distance([(0, 1)], direction="both")
