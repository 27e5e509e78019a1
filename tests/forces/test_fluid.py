"""A Lennard-Jones fluid in a periodic box: energy, momentum, and the equation of state."""

import numpy as np
import pytest

import kickdrift as kd

CUTOFF, DENSITY = 2.5, 0.8


def fluid(side, temperature, dtype=np.float64, **options):
    count = side**3
    width = (count / DENSITY) ** (1 / 3)
    place = (np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) + 0.5) * width / side
    velocity = np.random.default_rng(0).normal(0, temperature**0.5, (count, 3))
    velocity -= velocity.mean(axis=0)
    bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=CUTOFF, shift=True)
    options = {"dt": 0.002, "forces": [bond], "constraints": [kd.Periodic(0, width)]} | options
    return kd.Stepper(place.astype(dtype), velocity.astype(dtype), **options)


def temperature(world):
    return float((world.velocity**2).sum() / (3 * world.n - 3))


def pressure_and_energy(world):
    """By the virial; both with what pairs beyond the cutoff would add where they are evenly spread."""
    width, rc = float(world.constraints[0].upper), CUTOFF
    i, j = kd.Neighbours(world.position, rc, periodic=world.constraints[0]).pairs()
    d = world.position[j] - world.position[i]
    d -= width * np.rint(d / width)
    i6 = (d * d).sum(axis=1) ** -3.0
    pressure = DENSITY * temperature(world) + (24 * (2 * i6 * i6 - i6)).sum() / (3 * width**3)
    pressure += 16 / 3 * np.pi * DENSITY**2 * (2 / 3 * rc**-9 - rc**-3)
    energy = (4 * (i6 * i6 - i6)).sum() / world.n + 8 / 3 * np.pi * DENSITY * (1 / 3 * rc**-9 - rc**-3)
    return pressure, energy


#: Johnson, Zollweg, Gubbins (1993), The Lennard-Jones equation of state revisited, Mol. Phys. 78, 591, table 10.
X = [
    0.8623085097507421, 2.976218765822098, -8.402230115796038, 0.1054136629203555, -0.8564583828174598,
    1.582759470107601, 0.7639421948305453, 1.753173414312048, 2.798291772190376e3, -4.8394220260857657e-2,
    0.9963265197721935, -3.698000291272493e1, 2.084012299434647e1, 8.305402124717285e1, -9.574799715203068e2,
    -1.477746229234994e2, 6.398607852471505e1, 1.603993673294834e1, 6.805916615864377e1, -2.791293578795945e3,
    -6.245128304568454, -8.116836104958410e3, 1.488735559561229e1, -1.059346754655084e4, -1.131607632802822e2,
    -8.867771540418822e3, -3.986982844450543e1, -4.689270299917261e3, 2.593535277438717e2, -2.694523589434903e3,
    -7.218487631550215e2, 1.721802063863269e2,
]  # fmt: skip
#: Which of them belong to the powers of the density, without and with the exponential, and the powers of T they go by.
PLAIN = [(1, 0.5, 0, -1, -2), (1, 0, -1, -2), (1, 0, -1), (0,), (-1, -2), (-1,), (-1, -2), (-2,)]
DAMPED = [(-2, -3), (-2, -4), (-2, -3), (-2, -4), (-2, -3), (-2, -3, -4)]


def equation_of_state(density, t):
    """Pressure and energy per atom: P = rho T + sum a_i rho^(i+1) + F sum b_i rho^(2i+1), F = exp(-3 rho²)."""
    rest = iter(X)
    # What T^p adds to the pressure, (1 - p) T^p adds to the energy: U = A - T dA/dT.
    terms = [[(next(rest), power) for power in powers] for powers in (*PLAIN, *DAMPED)]
    a = [sum(x * t**power for x, power in term) for term in terms]
    c = [sum(x * (1 - power) * t**power for x, power in term) for term in terms]
    damp = np.exp(-3 * density**2)
    pressure = density * t + sum(a[i] * density ** (i + 2) for i in range(8))
    pressure += damp * sum(a[8 + i] * density ** (2 * i + 3) for i in range(6))
    g = [(1 - damp) / 6]
    for i in range(1, 6):
        g.append(-(damp * density ** (2 * i) - 2 * i * g[-1]) / 6)
    energy = sum(c[i] * density ** (i + 1) / (i + 1) for i in range(8)) + sum(c[8 + i] * g[i] for i in range(6))
    return pressure, energy


def test_the_equation_of_state_is_that_of_the_literature():
    """Monte Carlo at T = 0.85, density 0.86: NIST, Lennard-Jones fluid, standard reference simulation website."""
    pressure, energy = equation_of_state(0.86, 0.85)
    assert pressure == pytest.approx(1.266, rel=0.01)
    assert energy == pytest.approx(-6.0305, rel=0.005)


def test_pressure_and_energy():
    world = fluid(8, 2.6)
    world.step(1500)
    for _ in range(5):
        world.velocity[:] *= (1.5 / temperature(world)) ** 0.5
        world.step(100)
    momentum = np.abs(world.velocity.sum(axis=0)).max()
    seen, total = [], sum(world.energy())
    for _ in range(200):
        world.step(20)
        seen.append((temperature(world), *pressure_and_energy(world)))
    seen = np.array(seen)
    error = seen.reshape(10, -1, 3).mean(axis=1).std(axis=0, ddof=1) / 10**0.5
    t, p, u = seen.mean(axis=0)
    expected = equation_of_state(DENSITY, t)
    print(f"T {t:.4f}, pressure {p:.4f} +- {error[1]:.4f}: expected {expected[0]:.4f}")
    print(f"energy {u:.4f} +- {error[2]:.4f}: expected {expected[1]:.4f}")
    # The equation is good to 1 % and 0.5 %.
    assert abs(p - expected[0]) < 3 * error[1] + 0.01 * expected[0]
    assert abs(u - expected[1]) < 3 * error[2] + 0.005 * abs(expected[1])
    assert abs(sum(world.energy()) - total) / world.n < 4e-4
    assert momentum < 1e-11
    assert np.abs(world.velocity.sum(axis=0)).max() < 1e-10
