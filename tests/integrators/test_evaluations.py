"""Number of force evaluations: as declared, and counted correctly."""

import numpy as np
import pytest
from plans import INTEGRATORS
from samples import TERMS

import kickdrift as kd
from kickdrift.declaration import known
from kickdrift.forces.base import Term
from kickdrift.reference.forces import Affine
from kickdrift.reference.system import System
from kickdrift.stepper.model import Plan

SPRING, DRAG = kd.AnchorSpring(3.0, anchor=(0.1, 0.2)), kd.LinearDrag(0.5)
QUADRATIC = kd.QuadraticDrag(0.3)
EXPLICIT = [integrator for integrator in INTEGRATORS if integrator.force_evaluations is not None]


def cases(integrators, *choices):
    """Return pytest parameters: integrators with forces that they support."""
    return [
        pytest.param(integrator, forces, id=f"{integrator}-{'+'.join(type(term).__name__ for term in forces)}")
        for integrator in integrators
        for forces in choices
        if not (isinstance(integrator, kd.Exact) and QUADRATIC in forces)
        if not (isinstance(integrator, kd.EnergyEuler) and len(forces) > 1)
    ]


def make(cls, integrator, forces):
    return cls(np.ones((3, 2)), np.ones((3, 2)), dt=0.01, integrator=integrator, forces=forces)


def opening(integrator, drag):
    """Return the extra evaluations (for the history, per call)."""
    central = isinstance(integrator, kd.Verlet) and integrator.velocity == "central"
    return int(bool(integrator.history)), int((isinstance(integrator, kd.VelocityVerlet) or central) and not drag)


@pytest.mark.parametrize(("integrator", "forces"), cases(EXPLICIT, [SPRING], [SPRING, DRAG], [SPRING, QUADRATIC]))
def test_evaluations_per_step_equal_the_declared_number(Stepper, integrator, forces):
    stepper = make(Stepper, integrator, forces)
    drag = len(forces) > 1
    declared = integrator.force_evaluations_with_drag if drag else integrator.force_evaluations
    once, each_call = opening(integrator, drag)
    assert stepper.force_evaluations == 0
    stepper.step(0)
    assert stepper.force_evaluations == 0
    stepper.step(5)
    assert stepper.force_evaluations == 5 * declared + once + each_call
    stepper.step(2)
    stepper.step()
    assert stepper.force_evaluations == 8 * declared + once + 3 * each_call


@pytest.mark.parametrize("constraints", [[], [kd.Plane([1.0], -9.0)]])
def test_a_call_interrupted_for_signal_checks_counts_as_one(constraints):
    """Large worlds check for Ctrl-C between steps; forces reused from the previous step count once."""
    counts = set()
    for n in (5, 2_000_000):
        world = kd.Stepper(np.zeros((n, 1), np.float32), forces=[kd.Gravity([-1.0])], constraints=constraints)
        world.step(12)
        counts.add(world.force_evaluations)
    assert len(counts) == 1


@pytest.mark.parametrize(("integrator", "forces"), cases(INTEGRATORS, [SPRING], [SPRING, DRAG], [SPRING, QUADRATIC]))
def test_force_evaluations_counts_the_evaluations_made(monkeypatch, integrator, forces):
    stepper = kd.reference.Stepper([[1.0, 2.0]], dt=0.01, integrator=integrator, forces=forces)
    made = []
    evaluate = Affine.acceleration
    monkeypatch.setattr(Affine, "acceleration", lambda self, x, v: made.append(v) or evaluate(self, x, v))
    stepper.step(4)
    # Potential differences of energy_euler also use accelerations, but without a velocity.
    assert stepper.force_evaluations == sum(v is not None for v in made)


def test_implicit_euler_solves_a_linear_problem_in_one_newton_step(Stepper):
    stepper = make(Stepper, "implicit_euler", [SPRING, DRAG])
    stepper.step(10)
    assert stepper.force_evaluations == 10 * 2


def test_implicit_euler_converges_quadratically_on_nonlinear_forces(Stepper):
    # A wrong Jacobian would converge too, but with many more iterations.
    forces = [kd.PointGravity(5.0, softening=0.1), kd.QuadraticDrag(2.0), kd.Vortex(3.0, (2, 2), softening=0.2)]
    stepper = make(Stepper, kd.ImplicitEuler(tolerance=1e-12), forces)
    stepper.step(10)
    assert stepper.force_evaluations <= 10 * 5


def test_declared_attributes_of_integrators():
    for name, cls in kd.INTEGRATORS.items():
        integrator = cls()
        assert cls.name == name == name.lower()
        assert cls.source
        assert cls.order > 0
        assert isinstance(cls.symplectic, bool)
        assert integrator.order_with_drag <= integrator.order
        if cls.force_evaluations is None:
            assert integrator.force_evaluations_with_drag is None
        else:
            assert integrator.force_evaluations_with_drag >= cls.force_evaluations >= 1


@pytest.mark.parametrize("term", TERMS, ids=lambda term: type(term).__name__)
def test_terms_declare_velocity_dependence(term):
    """The oracle is the reference: compare accelerations at different velocities."""
    position = np.array([[0.3, 0.7], [1.9, -0.4], [1.0, 1.5]])
    ends = []
    for velocity in ([[0.1, 0.2], [-0.3, 0.4], [0.5, 1.0]], [[1.1, -0.7], [0.9, 2.3], [-0.5, 0.25]]):
        stepper = kd.reference.Stepper(position.copy(), velocity, mass=2.0, forces=[term])
        system = System(stepper)
        ends.append(system.a(system.x, system.v))
    assert term.velocity_dependent == stepper._plan.velocity_dependent == (not np.array_equal(*ends))


def test_single_body_terms_declare_it():
    """A term with `alone` acts on each body as in a world of its own, bitwise equal."""
    position, velocity = np.array([[0.3, 0.7], [1.9, -0.4]]), np.array([[0.1, 0.2], [-0.3, 0.4]])
    for term in TERMS:
        if not term.alone:
            continue
        together = kd.Stepper(position.copy(), velocity.copy(), 2.0, dt=0.1, forces=[term])
        together.step(3)
        for i in range(2):
            single = kd.Stepper(position[i : i + 1].copy(), velocity[i : i + 1].copy(), 2.0, dt=0.1, forces=[term])
            single.step(3)
            assert single.position.tobytes() == together.position[i : i + 1].tobytes(), term
            assert single.velocity.tobytes() == together.velocity[i : i + 1].tobytes(), term
    couple = {kd.Springs, kd.NBody, kd.PairPotential}
    by_number = {kd.AppliedForce, kd.AppliedTorque, kd.NativeForce, kd.Langevin, kd.Expression, kd.Potential}
    assert {term for term in known(Term) if not term.alone} == couple | by_number


def test_records_use_the_declared_velocity_dependence_of_their_term():
    """The declaration of the term decides, not the kind of its record."""
    for term in (kd.PointGravity(1.0), kd.Vortex(1.0), kd.QuadraticDrag(1.0)):
        for word in (True, False):
            object.__setattr__(term, "velocity_dependent", word)
            made = Plan(1, 2, np.dtype(np.float64), np.ones(1), kd.RK4(), [term])
            assert made.velocity_dependent is word
