"""A Lennard-Jones fluid in a periodic box: energy, momentum, and the equation of state.

`python tools/prove.py fluid` compares longer runs, with a longer cutoff, within error bars.
"""

import numpy as np
import pytest
from lennard_jones import equation_of_state, error_of_mean, fluid, temperature, virial_and_energy

DENSITY = 0.8


def test_the_equation_of_state_equals_published_values():
    """Values of teqp 0.23.2 (LJ126_Johnson1993), and NIST's Monte Carlo result at T = 0.85, density 0.86."""
    for density, t, *expected in [
        (0.8, 1.495, 3.258342428077337, -5.140074961029852),
        (0.776, 0.85, 0.012610174280901, -5.517979402345697),
        (0.3, 1.5, 0.228750749409614, -2.097155559191202),
    ]:
        assert equation_of_state(density, t) == pytest.approx(expected, rel=1e-9, abs=1e-11)
    pressure, energy = equation_of_state(0.86, 0.85)
    assert pressure == pytest.approx(1.266, rel=0.01)
    assert energy == pytest.approx(-6.0305, rel=0.005)


def test_pressure_and_energy_of_a_simulated_fluid():
    world = fluid(8, DENSITY, 2.6, 2.5)
    world.step(1500)
    for _ in range(5):
        world.velocity[:] *= (1.5 / temperature(world.velocity)) ** 0.5
        world.step(100)
    momentum = np.abs(world.velocity.sum(axis=0)).max()
    seen, total = [], sum(world.energy())
    for _ in range(200):
        world.step(20)
        t = temperature(world.velocity)
        virial, energy = virial_and_energy(world)
        seen.append((t, DENSITY * t + virial, energy))
    seen = np.array(seen)
    _, p_error, u_error = (error_of_mean(column, 10) for column in seen.T)
    t, p, u = seen.mean(axis=0)
    expected = equation_of_state(DENSITY, t)
    print(f"T {t:.4f}, pressure {p:.4f} +- {p_error:.4f}: expected {expected[0]:.4f}")
    print(f"energy {u:.4f} +- {u_error:.4f}: expected {expected[1]:.4f}")
    # The equation of state is accurate to 1 % in pressure and 0.5 % in energy.
    assert abs(p - expected[0]) < 3 * p_error + 0.01 * expected[0]
    assert abs(u - expected[1]) < 3 * u_error + 0.005 * abs(expected[1])
    assert abs(sum(world.energy()) - total) / world.n < 4e-4
    assert momentum < 1e-11
    assert np.abs(world.velocity.sum(axis=0)).max() < 1e-10
