"""Pressure and energy of a Lennard-Jones fluid, against the literature, within the error bars of both.

    python tools/prove.py fluid [SHARE]     SHARE: fraction of the steps to run, such as 0.1 for a quick look

The equations of state are for infinitely many atoms. The runs compared with them conserve energy, by leapfrog steps of
0.004. Velocities half a step off the positions have the temperature of the positions, up to the fourth power of the
step. (Velocities at whole steps have a temperature that is too low, by 0.13 % here, or 0.03 % with steps of 0.002.)
Pressure and energy are extrapolated to the requested temperature along the slopes of the equation. The cutoff is 4:
beyond 2.5 the atoms are not distributed evenly enough for the usual long-range correction. At density 0.8 and T =
1.495 this correction gave a pressure too low by 0.02 and an energy too low by 0.005, with 4,096 atoms and with 1,728.

NIST's Monte Carlo runs have 500 atoms at constant temperature, with a cutoff of 3 and that correction. The
comparison uses the same setup with `Langevin`.

The results are bitwise reproducible on every platform, and so is the outcome.
"""

import sys
import time

import common

sys.path.insert(0, str(common.ROOT / "tests"))
import numpy as np
from lennard_jones import equation_of_state, error_of_mean, fluid, temperature, virial_and_energy

import kickdrift as kd

DT = 0.004
#: Permitted difference, in standard errors.
MOST = 2.5

#: Pressure and energy per atom at a density and a temperature, by three independently fitted equations, as computed by
#: teqp 0.23.2: Johnson, Zollweg and Gubbins (1993, Mol. Phys. 78, 591); Kolafa and Nezbeda (1994, Fluid Phase
#: Equilibria 100, 1); Thol et al. (2016, J. Phys. Chem. Ref. Data 45, 023101). The error bars are their root mean
#: square differences at densities from 0.7 to 0.85 and T from 1.2 to 1.6: of the first from the mean of the others, of
#: the others from each other over sqrt(2).
EQUATIONS = {
    "Johnson, Zollweg, Gubbins 1993": (0.0050, 0.0097),
    "Kolafa, Nezbeda 1994": (0.0033, 0.0006),
    "Thol et al. 2016": (0.0033, 0.0006),
}
POINTS = [
    (0.8, 1.3, 2500, [(2.41236, -5.28352), (2.41064, -5.28174), (2.41411, -5.28162)]),
    (0.8, 1.495, 2000, [(3.25834, -5.14007), (3.25689, -5.12686), (3.25854, -5.12685)]),
]
#: Lennard-Jones fluid properties, Monte Carlo: mmlapps.nist.gov/srs/LJ_PURE/mc.htm
NIST = ("NIST, Monte Carlo", (0.24056, -5.4689), (0.00274, 0.00042))


def at_constant_energy(side, density, wanted, cutoff, count):
    """Return temperatures, and pressures and energies per atom extrapolated to the wanted temperature."""
    warm = fluid(side, density, 1.8 * wanted, cutoff, seed=1, dt=DT, integrator="velocity_verlet")
    warm.add(kd.Langevin(friction=2.0, temperature=wanted, seed=1))
    warm.step(2500)
    world = fluid(side, density, wanted, cutoff, dt=DT, integrator="semi_implicit_euler")
    world.position[:] = warm.position
    world.velocity[:] = warm.velocity - warm.velocity.mean(axis=0)
    for _ in range(3):
        seen = []
        for _ in range(60):
            world.step(10)
            seen.append(temperature(world.velocity))
        world.velocity[:] *= (1 + 2 * (wanted - np.mean(seen)) / wanted) ** 0.5
    world.step(250)
    found = []
    for _ in range(count):
        world.step(11)
        before = temperature(world.velocity)
        measured = virial_and_energy(world)
        world.step(1)
        found.append(((before + temperature(world.velocity)) / 2, *measured))
    t, virial, energy = np.array(found).T
    mean = t.mean()
    slopes = (np.array(equation_of_state(density, mean)) - equation_of_state(density, wanted)) / (mean - wanted)
    return t, density * t + virial - slopes[0] * (t - wanted), energy - slopes[1] * (t - wanted)


def at_constant_temperature(side, density, wanted, cutoff, count):
    """Return temperatures, pressures and energies per atom with a Langevin thermostat."""
    world = fluid(side, density, 1.8 * wanted, cutoff, seed=side, dt=DT, integrator="velocity_verlet")
    world.add(kd.Langevin(friction=1.0, temperature=wanted, seed=5))
    world.step(4000)
    found = []
    for _ in range(count):
        world.step(15)
        found.append((temperature(world.velocity), *virial_and_energy(world)))
    t, virial, energy = np.array(found).T
    return t, density * wanted + virial, energy


def compare(sample, side, density, wanted, cutoff, count, sources):
    """Print the results and each source; return how many sources differ by more than the error bars allow."""
    begun = time.perf_counter()
    t, pressure, energy = sample(side, density, wanted, cutoff, count)
    found = [(values.mean(), error_of_mean(values)) for values in (pressure, energy)]
    print(f"\ndensity {density}, T {wanted}; {side**3} atoms, cutoff {cutoff}, {count} samples, mean T {t.mean():.4f}")
    print(f"{f'{time.perf_counter() - begun:.0f} s':<32}{'pressure':>20}{'energy per atom':>22}")
    print(f"{'kickdrift':<32}" + "".join(f"{mean:>12.4f} +- {error:.4f}" for mean, error in found))
    failed = 0
    for name, expected, errors in sources:
        bars = [np.hypot(ours, theirs) for (_, ours), theirs in zip(found, errors, strict=True)]
        off = [abs(mean - other) / bar for (mean, _), other, bar in zip(found, expected, bars, strict=True)]
        failed += max(off) > MOST
        said = "".join(f"{value:>12.4f} +- {error:.4f}" for value, error in zip(expected, errors, strict=True))
        verdict = "FAIL" if max(off) > MOST else "pass"
        print(f"{name:<32}{said}   {off[0]:.1f} and {off[1]:.1f} sigma: {verdict}", flush=True)
    return failed


def main(share="1"):
    failed = 0
    for density, wanted, count, expected in POINTS:
        sources = [(name, *rest) for name, *rest in zip(EQUATIONS, expected, EQUATIONS.values(), strict=True)]
        failed += compare(at_constant_energy, 12, density, wanted, 4.0, int(float(share) * count), sources)
    failed += compare(at_constant_temperature, 8, 0.776, 0.9, 3.0, int(float(share) * 8000), [NIST])
    return failed
