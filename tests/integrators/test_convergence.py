"""Measured order of every integrator: the ratio of errors when the step is halved."""

import cmath
import math

import numpy as np
import pytest
from plans import INTEGRATORS

import kickdrift as kd

SCHEMES = [
    *(each for each in INTEGRATORS if each.name not in ("implicit_euler", "groot_warren", "exact")),
    kd.ImplicitEuler(tolerance=1e-13),
    *(kd.GrootWarren(lam=lam) for lam in (0, 0.5, 1)),
]
POSITION_FORCES = [
    kd.PointGravity(1.0, softening=0.5),
    kd.AnchorSpring(0.4, anchor=(0.3, 0.1)),
    kd.Gravity((0.1, -0.2)),
]
#: Winds whose velocity no body reaches: at zero airspeed, |u| u has no second derivative.
DRAGS = [kd.LinearDrag(0.2, wind=(0.5, 0.0)), kd.QuadraticDrag(0.1, wind=(-1.5, -2.0))]
#: Steps per second for each order: few enough that errors stay well above rounding.
RATE = {1: 4000, 2: 600, 4: 120, 6: 24}
#: Three bodies, so that the error is not small by chance.
X0 = np.array([[1.0, 0.0], [0.0, 1.2], [-0.8, 0.6]])
V0 = np.array([[0.0, 1.1], [-0.9, 0.3], [-0.6, -0.8]])
SECONDS = 2


def run(integrator, forces, rate):
    stepper = kd.Stepper(X0.copy(), V0.copy(), hz=rate, integrator=integrator, forces=forces)
    stepper.step(SECONDS * rate)
    return stepper.position, stepper.velocity


@pytest.fixture(scope="module", params=["position", "drag"])
def case(request):
    """Return forces and their solution by tiny steps of RK4, which is tested against cos below."""
    forces = POSITION_FORCES + (DRAGS if request.param == "drag" else [])
    return request.param, forces, run("rk4", forces, 8000)


def orders(integrator, forces, exact, rate):
    """Measured order of position and velocity."""
    coarse, fine = run(integrator, forces, rate), run(integrator, forces, 2 * rate)
    errors = [[np.linalg.norm(end - truth) for end, truth in zip(run, exact, strict=True)] for run in (coarse, fine)]
    assert min(errors[1]) > 1e-12, "too close to rounding to be measured"
    return np.log2(np.array(errors[0]) / errors[1])


@pytest.mark.parametrize("integrator", SCHEMES, ids=repr)
def test_measured_order_equals_the_declared_one(isa, case, integrator):
    kind, forces, exact = case
    if kind == "drag" and isinstance(integrator, kd.EnergyEuler):
        with pytest.raises(ValueError, match="energy_euler takes forces on single bodies with a potential"):
            kd.Stepper(X0, V0, integrator=integrator, forces=forces)
        return
    declared = integrator.order if kind == "position" else integrator.order_with_drag
    position, velocity = orders(integrator, forces, exact, RATE[declared])
    assert position == pytest.approx(declared, abs=0.1)
    if isinstance(integrator, kd.Verlet):
        # The backward difference is the velocity half a step earlier.
        declared = 1 if "backward" in (integrator.velocity, integrator.start) else 2
    assert velocity == pytest.approx(declared, abs=0.1)


def test_every_integrator_is_measured():
    assert {type(scheme).name for scheme in SCHEMES} == set(kd.INTEGRATORS) - {"exact"}


@pytest.mark.parametrize("name", ["rk4", "pefrl", "yoshida6"])
def test_the_solution_used_as_exact_converges_to_cos(name):
    stepper = kd.Stepper([[1.0]], hz=8000, integrator=name, forces=[kd.AnchorSpring(2.25)])
    stepper.step(8000)
    assert stepper.position.item() == pytest.approx(math.cos(1.5), abs=1e-13)
    assert stepper.velocity.item() == pytest.approx(-1.5 * math.sin(1.5), abs=1e-13)


# The scheme `exact` has rounding errors only, for any step.

DAMPINGS = {"undamped": 0.0, "under": 0.3, "critical": 2.0, "almost critical": 2.0 + 1e-9, "over": 5.0}


def oscillator(x, v, c, k, g, t):
    """Solution of x'' = g - c x' - k x by its characteristic roots, for k > 0."""
    x = x - g / k
    root = cmath.sqrt(c * c / 4 - k)
    if abs(root) < 1e-3:
        # Power series of cosh and sinh(root t) / root, where the formula is 0 / 0.
        ch, sh = (sum((root * t) ** (2 * n) / math.factorial(2 * n + odd) for n in range(30)) for odd in (0, 1))
        sh *= t
    else:
        ch, sh = cmath.cosh(root * t), cmath.sinh(root * t) / root
    fade = math.exp(-c * t / 2)
    now = fade * (x * ch + (v + c / 2 * x) * sh)
    speed = fade * (v * ch - (k * x + c / 2 * v) * sh)
    return (now + g / k).real, speed.real


@pytest.mark.parametrize("damping", DAMPINGS)
@pytest.mark.parametrize("dt", [1e-3, 0.3, 7.0])
def test_exact_equals_the_analytic_solution_at_any_step(Stepper, damping, dt):
    c = DAMPINGS[damping]
    spring = kd.AnchorSpring(2.0, damping=2 * c)
    stepper = Stepper([[1.5]], [[-0.7]], 2.0, dt=dt, integrator="exact", forces=[spring, kd.Gravity(-3)])
    for n in range(1, 5):
        stepper.step()
        x, v = oscillator(1.5, -0.7, c, 1.0, -3.0, n * dt)
        assert stepper.position.item() == pytest.approx(x, rel=1e-13, abs=1e-14)
        assert stepper.velocity.item() == pytest.approx(v, rel=1e-13, abs=1e-14)


def test_exact_without_springs(Stepper):
    gravity = kd.Gravity(-9.81)
    free, falling, dragged = (
        Stepper([[1.0]], [[2.0]], hz=3, integrator="exact", forces=forces)
        for forces in ([], [gravity], [gravity, kd.LinearDrag(0.5, wind=1.0)])
    )
    for stepper in (free, falling, dragged):
        stepper.step(30)
    assert free.position.item() == pytest.approx(21, rel=1e-14)
    assert falling.position.item() == pytest.approx(1 + 20 - 9.81 * 50, rel=1e-14)
    final = 1.0 - 9.81 / 0.5  # terminal velocity
    assert dragged.velocity.item() == pytest.approx(final + (2 - final) * math.exp(-5), rel=1e-13)
    expected = 1 + final * 10 + (2 - final) * (1 - math.exp(-5)) / 0.5
    assert dragged.position.item() == pytest.approx(expected, rel=1e-13)


def test_exact_refuses_terms_that_are_not_affine():
    for term in (kd.PointGravity(1), kd.QuadraticDrag(1), kd.Vortex(1), kd.Damping(1)):
        with pytest.raises(
            ValueError, match=f"exact takes Gravity, LinearDrag and AnchorSpring, got {type(term).__name__}"
        ):
            kd.Stepper(X0, integrator="exact", forces=[kd.Gravity((0, 1)), term])
