"""Langevin: noise of the correct magnitude, reproducible for any splitting of steps."""

from functools import partial

import numpy as np
import pytest
from plans import assert_same_state, assert_twins

import kickdrift as kd
from kickdrift import reference
from kickdrift.reference.noise import normals, philox


def bodies(stepper=kd.Stepper, n=70, dim=2, dtype=np.float64, terms=(), **options):
    generator = np.random.default_rng(2)
    place, speed = generator.normal(size=(2, n, dim)).astype(dtype)
    options = {"dt": 0.05} | options
    thermostat = kd.Langevin(options.pop("friction", 1.0), options.pop("temperature", 0.5), options.pop("seed", 9))
    return stepper(place, speed, forces=[kd.AnchorSpring(2.0), *terms, thermostat], **options)


def test_philox_equals_the_published_values():
    """Compare with the known answers of Random123 (kat_vectors)."""
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 0xFFFFFFFF
    assert philox([ones] * 4, [ones] * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    counter = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    assert philox(counter, [0xA4093822, 0x299F31D0]) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def test_noise_is_normally_distributed():
    z = np.array([normals(1, tick, body, 0) for tick in range(40) for body in range(250)])
    assert np.abs(z.mean(axis=0)).max() < 4 / 100
    assert np.abs(z.var(axis=0) - 1).max() < 4 * 2**0.5 / 100
    assert abs((z[:, 0] * z[:, 1]).mean()) < 4 / 100
    assert abs((z**4).mean() - 3) < 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", sorted(set(kd.INTEGRATORS) - {"dopri8", "exact", "energy_euler"}))
def test_kernels_equal_the_reference(integrator, dtype):
    for dim in (1, 2, 3):
        make = partial(bodies, n=9, dim=dim, dtype=dtype, integrator=integrator, seed=2**63)
        assert_twins(make, 12)


@pytest.mark.parametrize("terms", [[kd.QuadraticDrag(0.1)], [kd.Damping(0.2)], [kd.Magnetic(1.0, 2.0)]])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "semi_implicit_euler"])
def test_langevin_with_other_terms_equals_the_reference(integrator, terms):
    mass = np.linspace(1, 2, 9)
    mass[4] = np.inf
    given = {"integrator": integrator, "mass": mass, "constraints": [kd.Box((-2, -2), (2, 2))]}
    assert_twins(partial(bodies, n=9, terms=terms, **given), 30)


def test_another_seed_gives_other_noise():
    one, other = bodies(n=5000), bodies(n=5000, seed=10)
    one.step(20)
    other.step(20)
    assert (other.velocity != one.velocity).all()


def test_dead_bodies_get_no_noise():
    pair = [bodies(each, 30, alive=25) for each in (kd.Stepper, reference.Stepper)]
    for each in pair:
        each.step(5)
        each.kill([0, 7])
        each.step(5)
    assert_same_state(pair[0], pair[1])
    assert not pair[0].velocity[[0, 7]].any()


def settled(k, dt, integrator="velocity_verlet", samples=400, n=5000, **options):
    """Measure the variances of position and velocity of bodies in a spring, after equilibration."""
    thermostat = kd.Langevin(friction=1.0, temperature=1.0, seed=4)
    there = kd.Stepper(
        np.zeros((n, 1)), dt=dt, forces=[kd.AnchorSpring(k), thermostat], integrator=integrator, **options
    )
    there.step(int(10 / dt))
    squares = np.zeros(2)
    for _ in range(samples):
        there.step(int(1 / dt))
        squares += (there.position**2).mean(), (there.velocity**2).mean()
    return squares / samples


def test_variances_in_a_spring_are_those_of_equilibrium():
    position, velocity = settled(1.0, 0.05)
    assert position == pytest.approx(1, rel=0.005)
    assert velocity == pytest.approx(1, rel=0.005)


def test_position_variance_is_correct_for_large_steps():
    """omega dt = 1: velocity Verlet alone gives 1 / (1 - 1/4), BAOAB 1 (Leimkuhler and Matthews 2013, 3.1)."""
    position, _ = settled(4.0, 0.5)
    assert 4 * position == pytest.approx(1, rel=0.005)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "leapfrog", "verlet", "rk4"])
def test_variances_with_other_integrators(integrator):
    position, velocity = settled(1.0, 0.05, integrator, samples=100)
    assert position == pytest.approx(1, rel=0.06 if integrator in ("semi_implicit_euler", "verlet") else 0.02)
    if integrator not in ("verlet", "semi_implicit_euler"):
        assert velocity == pytest.approx(1, rel=0.02)


def test_diffusion_coefficient():
    """<x²> = 2 D t with D = temperature / (m friction) (Einstein 1905), corrected for the initial ballistic phase."""
    thermostat = kd.Langevin(friction=2.0, temperature=3.0, seed=1)
    there = kd.Stepper(np.zeros((20000, 1)), dt=0.1, mass=1.5, forces=[thermostat])
    there.step(100)  # until velocities are equilibrated
    there.position[...] = 0
    there.step(200)
    t = 20.0
    expected = 2 * 3 / (1.5 * 2) * (t - (1 - np.exp(-2 * t)) / 2)
    assert (there.position**2).mean() == pytest.approx(expected, rel=0.03)


def test_without_friction_there_is_no_noise():
    still, calm = bodies(friction=0.0), bodies(friction=0.0, temperature=9.0)
    for each in (still, calm):
        each.step(10)
    assert (still.position == calm.position).all()
    assert calm.energy()[0] > 0


def test_friction_and_temperature_can_be_set():
    thermostat = kd.Langevin(0.0, 0.0, seed=3)
    there = kd.Stepper([[0.0]] * 3, dt=0.1, forces=[thermostat])
    there.step()
    assert not there.velocity.any()
    there.set(thermostat, friction=1.0, temperature=[0.0, 1.0, 2.0])
    there.step()
    assert there.velocity[0] == 0
    assert (there.velocity[1:] != 0).all()


def test_invalid_parameters_are_refused():
    for wrong in ({"friction": -1.0}, {"temperature": -1.0}, {"seed": -1}, {"seed": 2**64}):
        with pytest.raises(ValueError, match=f"Langevin.{next(iter(wrong))}"):
            bodies(**wrong)
    with pytest.raises(TypeError, match=r"Langevin\(seed\)"):
        kd.Langevin(1.0, 1.0, seed=0.5)
    with pytest.raises(ValueError, match="at most one Langevin"):
        bodies(terms=[kd.Langevin(1.0, 1.0)])
    for integrator in ("exact", "energy_euler"):
        with pytest.raises(ValueError, match="integrator"):
            bodies(integrator=integrator)
    saved = bodies(n=3).snapshot()
    with pytest.raises(kd.SnapshotError):
        bodies(n=3, seed=1).restore(saved)
