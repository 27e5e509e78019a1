"""Pins: for all forces, also within a step, a pinned body is one of infinite mass."""

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.integrators import INTEGRATORS


def chain(Stepper, held, integrator, dtype=np.float64, forces=(), dt=0.02, steps=40, slots=False):
    """Return a chain of four bodies on stiff springs after some steps; the first one pinned, or infinitely heavy."""
    place = np.array([[0.0, 0.0], [1.1, 0.1], [2.0, 0.3], [2.9, -0.2]], dtype)
    mass = [np.inf if held == "heavy" else 0.5, 1.0, 2.0, 0.5]
    springs = kd.Springs([(0, 1), (1, 2), (2, 3)], 60.0, rest_length=1.0)
    constraints = [kd.Pin(0)] if held == "pinned" else []
    world = Stepper(
        place, mass=mass, dt=dt, integrator=integrator, forces=[springs, kd.Gravity((0.0, -9.81)), *forces],
        constraints=constraints, alive=np.ones(4, bool) if slots else None,
    )  # fmt: skip
    world.step(steps)
    return world


@pytest.mark.parametrize("integrator", [name for name in INTEGRATORS if name not in ("exact", "energy_euler")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pinned_body_is_a_hook_of_infinite_mass(Stepper, integrator, dtype):
    pinned, heavy = (chain(Stepper, held, integrator, dtype, dt=0.01) for held in ("pinned", "heavy"))
    if "implicit" in integrator:  # the solver's norms are weighted by mass
        assert pinned.position == pytest.approx(heavy.position, rel=1e-5)
    else:
        np.testing.assert_array_equal(pinned.position, heavy.position)
        np.testing.assert_array_equal(pinned.velocity, heavy.velocity)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "velocity_verlet", "leapfrog", "verlet", "rk4"])
def test_a_thermostat_does_not_move_a_hook_within_a_step(Stepper, integrator):
    bath = kd.Langevin(friction=2.0, temperature=3.0, seed=4)
    pinned, heavy = (chain(Stepper, held, integrator, forces=[bath], dt=0.01) for held in ("pinned", "heavy"))
    np.testing.assert_array_equal(pinned.position, heavy.position)


@pytest.mark.parametrize(("integrator", "order"), [("velocity_verlet", 2), ("rk4", 4), ("pefrl", 4), ("yoshida6", 6)])
def test_integrators_keep_their_order_beside_a_pin(Stepper, integrator, order):
    """A bob of mass 1 on a spring of 40 N/m whose hook, of mass 1, is pinned: x = 1 + 0.3 cos(sqrt(40) t)."""
    errors = []
    for steps in (30, 60):
        spring = kd.Springs([(0, 1)], 40.0, rest_length=1.0)
        bob = Stepper([[0.0], [1.3]], hz=steps, integrator=integrator, forces=[spring], constraints=[kd.Pin(0)])
        bob.step(steps)
        errors.append(abs(bob.position[1, 0] - 1 - 0.3 * np.cos(np.sqrt(40.0))))
    assert np.log2(errors[0] / errors[1]) > order - 0.4


def test_functions_and_thermostats_do_not_move_a_pinned_body(Stepper):
    """Force functions see the pinned body at its place; noise moves the other bodies only."""
    seen = []

    def watch(t, x, v, out):
        seen.append(np.array(x[0]))
        out[...] = 5.0

    for force in (kd.Force(watch), kd.Langevin(friction=2.0, temperature=3.0, seed=4)):
        for integrator in ("velocity_verlet", "rk4", "verlet", "implicit_euler"):
            world = chain(Stepper, "pinned", integrator, forces=[force], steps=3)
            assert world.position[0].tolist() == [0, 0] == world.velocity[0].tolist()
            watched = chain(Stepper, "pinned", integrator, forces=[force, kd.Force(watch)], steps=3)
            assert watched.position[0].tolist() == [0, 0]
    assert (np.array(seen) == 0).all()


def test_a_body_in_the_row_of_a_pinned_one_is_free(Stepper):
    """A pin ends with its body: a body spawned later in the same slot falls."""
    world = chain(Stepper, "pinned", "velocity_verlet", slots=True, steps=2)
    world.kill(world.ids[0])
    world.step(2)
    world.spawn([[0.0, 0.0]], mass=1.0)
    world.step(10)
    assert world.position[0, 1] == pytest.approx(-9.81 * (10 * 0.02) ** 2 / 2)
