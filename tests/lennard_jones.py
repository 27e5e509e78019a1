"""A Lennard-Jones fluid: the world, its observables, and the equation of state.

Reduced units: lengths in sigma, energies in epsilon, masses in atomic masses.
"""

import numpy as np

import kickdrift as kd


def fluid(side, density, temperature, cutoff, dtype=np.float64, seed=0, **options):
    """Create side**3 atoms with zero total momentum on a cubic lattice in a periodic box."""
    width = (side**3 / density) ** (1 / 3)
    place = (np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) + 0.5) * width / side
    velocity = np.random.default_rng(seed).normal(0, temperature**0.5, place.shape)
    velocity -= velocity.mean(axis=0)
    bond = kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=cutoff, shift=True)
    options = {"dt": 0.002, "forces": [bond], "constraints": [kd.Periodic(0, width)]} | options
    return kd.Stepper(place.astype(dtype), velocity.astype(dtype), **options)


def temperature(velocity):
    """Kinetic temperature of atoms with zero total momentum."""
    return float((velocity**2).sum() / (3 * len(velocity) - 3))


def virial_and_energy(world):
    """Return the virial part of the pressure (without density * temperature) and the potential energy per atom.

    Both include the long-range correction for uniformly distributed pairs beyond the cutoff.
    """
    box, rc = next(part for part in world.constraints if isinstance(part, kd.Periodic)), world.forces[0].cutoff
    width = float(box.upper)
    density = world.n / width**3
    i, j = kd.Neighbours(world.position, rc, periodic=box).pairs()
    d = world.position[j] - world.position[i]
    d -= width * np.rint(d / width)
    i6 = (d * d).sum(axis=1) ** -3.0
    virial = (24 * (2 * i6 * i6 - i6)).sum() / (3 * width**3)
    virial += 16 / 3 * np.pi * density**2 * (2 / 3 * rc**-9 - rc**-3)
    energy = (4 * (i6 * i6 - i6)).sum() / world.n + 8 / 3 * np.pi * density * (1 / 3 * rc**-9 - rc**-3)
    return virial, energy


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
#: Powers of T in the coefficient of each power of the density: in the plain sum, and in that with the factor F.
PLAIN = [(1, 0.5, 0, -1, -2), (1, 0, -1, -2), (1, 0, -1), (0,), (-1, -2), (-1,), (-1, -2), (-2,)]
DAMPED = [(-2, -3), (-2, -4), (-2, -3), (-2, -4), (-2, -3), (-2, -3, -4)]


def equation_of_state(density, t):
    """Pressure and energy per atom: P = rho T + sum a_i rho^(i+1) + F sum b_i rho^(2i+1), F = exp(-3 rho²)."""
    rest = iter(X)
    # A term T^p of the pressure becomes (1 - p) T^p in the energy: U = A - T dA/dT.
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


def error_of_mean(values, blocks=16):
    """Standard error of a mean, from nearly independent block means."""
    length = len(values) // blocks
    return values[: blocks * length].reshape(blocks, length).mean(axis=1).std(ddof=1) / blocks**0.5
