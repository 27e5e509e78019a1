"""Symplecticity: phase-space volume, time reversal and bounded energy errors."""

import itertools
import math

import numpy as np
import pytest
from plans import INTEGRATORS, assert_same_bits

import kickdrift as kd
from kickdrift import reference

WELL = kd.PointGravity(1.0, center=3.0, softening=0.5)


def volume(integrator, *forces, h=0.5):
    """Determinant of the Jacobian of a step, by central differences: 1 if volume is conserved."""
    d = 1e-5
    start = np.array([0.7, 0.4]) + d * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    x, v = (np.ascontiguousarray(column[:, None]) for column in start.T)
    reference.Stepper(x, v, dt=h, integrator=integrator, forces=forces).step()
    ends = np.hstack([x, v])
    return np.linalg.det(np.array([ends[0] - ends[1], ends[2] - ends[3]]) / (2 * d))


@pytest.mark.parametrize("name", sorted(set(kd.INTEGRATORS) - {"verlet", "energy_euler"}))
def test_only_symplectic_integrators_conserve_phase_space_volume(name):
    # Verlet is excluded: it steps pairs of positions, and its first step changes the definition of the velocity.
    force = kd.AnchorSpring(1.0) if name == "exact" else WELL
    kept = abs(volume(name, force) - 1) < 1e-8
    assert kept == kd.INTEGRATORS[name].symplectic


def test_velocity_verlet_is_symplectic_only_without_velocity_dependence():
    # Gravity Q&A claims that it always is. Under drag, a conformally symplectic scheme shrinks volume by exactly
    # exp(-c h); the step with predicted velocity does not.
    assert volume("velocity_verlet", WELL) == pytest.approx(1, abs=1e-9)
    assert volume("exact", kd.LinearDrag(1.0)) == pytest.approx(math.exp(-0.5), abs=1e-9)
    assert abs(volume("velocity_verlet", kd.LinearDrag(1.0)) - math.exp(-0.5)) > 1e-2


# Time reversal.

REVERSIBLE = [
    kd.SemiImplicitEuler(form="alternate"),
    kd.Verlet(velocity="central"),
    kd.VelocityVerlet(),
    kd.GrootWarren(),
    kd.GrootWarren(lam=1),
    kd.Leapfrog(),
    kd.Yoshida4(),
    kd.PEFRL(),
    kd.Yoshida6(),
    kd.Exact(),
]


def there_and_back(cls, integrator, back=None, steps=100):
    """Distance between the start and the end of a trajectory that is reversed half-way."""
    forces = [kd.AnchorSpring(2.0, anchor=(0.3, 0.1)), kd.Gravity((0, -1))]
    if not isinstance(integrator, kd.Exact):
        forces.append(kd.PointGravity(1.0, softening=0.3))
    start = np.array([[1.0, 0.2]]), np.array([[0.1, 0.9]])
    position, velocity = (array.copy() for array in start)
    stepper = cls(position, velocity, dt=0.05, integrator=integrator, forces=forces)
    stepper.step(steps)
    travelled = np.abs(position - start[0]).max()
    assert travelled > 0.1
    np.negative(velocity, out=velocity)
    if back is not None:
        stepper = cls(position, velocity, dt=0.05, integrator=back, forces=forces)
    if isinstance(integrator, kd.Verlet):
        stepper.restart()  # verlet stores the velocity as a previous position
    stepper.step(steps)
    return max(np.abs(position - start[0]).max(), np.abs(velocity + start[1]).max())


@pytest.mark.parametrize("integrator", REVERSIBLE, ids=repr)
def test_time_reversal(Stepper, integrator):
    assert there_and_back(Stepper, integrator) < 1e-12


@pytest.mark.parametrize(("there", "back"), [("kick_drift", "drift_kick"), ("drift_kick", "kick_drift")])
def test_semi_implicit_euler_is_reversed_by_its_other_form(Stepper, there, back):
    there, back = kd.SemiImplicitEuler(form=there), kd.SemiImplicitEuler(form=back)
    assert there_and_back(Stepper, there, back) < 1e-12
    assert there_and_back(Stepper, there) > 1e-3


@pytest.mark.parametrize("name", ["explicit_euler", "implicit_euler", "midpoint", "heun", "rk4"])
def test_irreversible_integrators_do_not_return(name):
    assert there_and_back(kd.Stepper, kd.INTEGRATORS[name]()) > 1e-7


def test_verlet_backward_has_the_positions_of_central_verlet(Stepper):
    # The backward velocity is half a step old and cannot be negated; the positions are reversible.
    backward, central = (
        Stepper(
            [[1.0, 0.2]], [[0.1, 0.9]], dt=0.05, integrator=kd.Verlet(velocity=velocity), forces=[kd.PointGravity(1.0)]
        )
        for velocity in ("backward", "central")
    )
    backward.step(50)
    central.step(50)
    assert_same_bits(backward.position, central.position)


# A million steps around the sun: eccentricity 0.5, energy -1/2, about 630 steps per orbit.

KEPLER = [each for each in INTEGRATORS if each.symplectic and each.name != "exact"]


def kepler_errors(integrator, chunks, dt=0.01):
    """Relative energy errors after each chunk of 1009 steps (a prime: all phases of the orbit)."""
    stepper = kd.Stepper(
        [[0.5, 0.0]], [[0.0, math.sqrt(3)]], dt=dt, integrator=integrator, forces=[kd.PointGravity(1.0)]
    )
    errors = []
    for _ in range(chunks):
        stepper.step(1009)
        errors.append(abs(sum(stepper.energy()) / -0.5 - 1))
    return np.array(errors)


@pytest.mark.parametrize("integrator", KEPLER, ids=repr)
def test_energy_error_stays_bounded_over_a_million_steps(integrator):
    errors = kepler_errors(integrator, 1000)
    bound = {1: 0.02, 2: 2e-3, 4: 2e-7, 6: 1e-11}[integrator.order]
    if isinstance(integrator, kd.Verlet) and integrator.velocity == "backward":
        bound = 0.02  # a first-order velocity gives a first-order energy error
    assert errors.max() < bound
    assert errors[-100:].max() < 1.2 * errors[:100].max()


def test_every_symplectic_integrator_is_tested_on_kepler_orbits():
    gone = {type(integrator).name for integrator in KEPLER}
    assert gone == {name for name, cls in kd.INTEGRATORS.items() if cls.symplectic} - {"exact"}


def test_exact_conserves_the_energy_of_a_spring_over_a_million_steps(isa):
    stepper = kd.Stepper([[1.0]], dt=0.7, integrator="exact", forces=[kd.AnchorSpring(3.0)])
    stepper.step(10**6)
    assert sum(stepper.energy()) == pytest.approx(1.5, rel=1e-9)


def test_explicit_euler_gains_energy():
    errors = kepler_errors("explicit_euler", 50)
    assert errors[0] > 0.1
    assert errors[-1] > 0.8  # nearly unbound: the energy rose from -1/2 towards 0
    spring = kd.Stepper([[1.0]], dt=0.1, integrator="explicit_euler", forces=[kd.AnchorSpring(1.0)])
    energies = []
    for _ in range(20):
        spring.step(10)
        energies.append(sum(spring.energy()))
    assert energies == pytest.approx([0.5 * 1.01 ** (10 * n) for n in range(1, 21)], rel=1e-12)


@pytest.mark.parametrize("name", ["midpoint", "heun", "rk4"])
def test_energy_errors_of_other_integrators_grow(name):
    errors = kepler_errors(name, 100, dt=0.02)
    assert errors[-1] > 5 * errors[0]


def test_implicit_euler_loses_energy():
    spring = kd.Stepper([[1.0]], dt=0.1, integrator="implicit_euler", forces=[kd.AnchorSpring(1.0)])
    for n in range(1, 21):
        spring.step(10)
        assert sum(spring.energy()) == pytest.approx(0.5 / 1.01 ** (10 * n), rel=1e-9)


# Error constants of compositions.


def product(p, q):
    """Product of two polynomials in non-commuting letters, up to degree five."""
    result = {}
    for (left, x), (right, y) in itertools.product(p.items(), q.items()):
        if len(left + right) <= 5:
            result[left + right] = result.get(left + right, 0) + x * y
    return result


def commutator(p, q):
    one, other = product(p, q), product(q, p)
    return {word: one.get(word, 0) - other.get(word, 0) for word in {*one, *other}}


def error_constant(integrator):
    """Sum of the squared coefficients of the independent fifth-order commutators in the error of a step.

    A step is exp(c1 A) exp(d1 B) exp(c2 A) ..., and its logarithm is the flow that it solves exactly. Omelyan,
    Mryglod, Folk 2002.
    """
    drifts, kicks = integrator.coefficients()
    step = {"": 1.0}
    factors = [("AB"[i % 2], (drifts, kicks)[i % 2][i // 2]) for i in range(len(drifts) + len(kicks))]
    for letter, size in factors:
        step = product(step, {letter * k: float(size) ** k / math.factorial(k) for k in range(6)})
    less_one = {word: x for word, x in step.items() if word}
    logarithm, power = {}, {"": 1.0}
    for k in range(1, 6):
        power = product(power, less_one)
        for word, x in power.items():
            logarithm[word] = logarithm.get(word, 0) - (-1) ** k * x / k
    a, b = {"A": 1.0}, {"B": 1.0}
    aab, bab = commutator(a, commutator(a, b)), commutator(b, commutator(a, b))
    aaab, baab, bbab = commutator(a, aab), commutator(b, aab), commutator(b, bab)
    basis = [commutator(a, aaab), commutator(b, aaab), commutator(a, baab), commutator(b, baab)]
    basis += [commutator(a, bbab), commutator(b, bbab)]  # zero, because kinetic energies are quadratic
    words = ["".join(word) for word in itertools.product("AB", repeat=5)]
    matrix = np.array([[element.get(word, 0) for element in basis] for word in words])
    parts = np.linalg.lstsq(matrix, np.array([logarithm.get(word, 0) for word in words]), rcond=None)[0]
    return math.sqrt(sum(parts[:4] ** 2))


def test_error_constants_of_pefrl_and_yoshida4():
    yoshida, pefrl = error_constant(kd.Yoshida4), error_constant(kd.PEFRL)
    assert yoshida == pytest.approx(0.0283, rel=0.01)
    assert pefrl == pytest.approx(6.1e-4, rel=0.01)
    assert round(yoshida / pefrl) == 46
    assert round(yoshida / pefrl / (4 / 3) ** 4) == 15
    for text in ("46 times", "15 times", "6.1e-4", "0.0283"):
        assert text in kd.PEFRL.__doc__
