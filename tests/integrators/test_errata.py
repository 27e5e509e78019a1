"""Errors in the texts that the methods come from, with one test each.

Two more are elsewhere: RK4 of the Notes in test_tables, symplecticity of Gravity Q&A in test_symplectic.
"""

import math

import pytest

import kickdrift as kd

G = 9.81


def test_last_formula_of_energy_has_the_wrong_sign_with_z_up(Stepper):
    # The text has v(t + dt)² = v² + 2 g v dt, which accelerates a rising body.
    ball = Stepper([[0.0]], [[20.0]], dt=0.01, integrator="energy_euler", forces=[kd.Gravity(-G)])
    ball.step()
    v2 = ball.velocity.item() ** 2
    assert v2 == pytest.approx(20**2 - 2 * G * 20 * 0.01, rel=1e-12)
    assert v2 < 20**2


def test_the_square_root_of_energy_loses_the_sign_of_v(Stepper):
    ball = Stepper([[0.0]], [[2.0]], dt=0.01, integrator="energy_euler", forces=[kd.Gravity(-G)])
    height, v, heights = 0.0, 2.0, []
    for _ in range(60):
        ball.step()
        height, v = height + 0.01 * v, math.sqrt(max(v * v - 2 * G * v * 0.01, 0))
        heights.append(height)
    assert heights == sorted(heights)  # by the formula of the text, the ball stays at the top
    assert ball.velocity.item() < -2
    assert ball.position.item() < -0.5


def test_rk4_of_dickinson_integrates_acceleration_instead_of_velocity(Stepper):
    x, h, g = 1.0, 0.5, -10.0
    as_printed = x + h / 6 * (g + 2 * g + 2 * g + g)
    ball = Stepper([[x]], [[3.0]], dt=h, integrator="rk4", forces=[kd.Gravity(g)])
    ball.step()
    assert ball.position.item() == pytest.approx(x + 3 * h + g * h**2 / 2, rel=1e-15)
    assert abs(as_printed - ball.position.item()) > 4


def test_new_velocity_of_dickinson_is_half_a_step_late(Stepper):
    # In free fall (x_n - x_{n-1}) / h is exact at n - 1/2 and wrong by h g / 2 at n; the central difference is exact.
    h, n = 0.1, 10
    backward, central = (
        Stepper([[0.0]], dt=h, integrator=kd.Verlet(velocity=form), forces=[kd.Gravity(-G)])
        for form in ("backward", "central")
    )
    backward.step(n)
    central.step(n)
    assert backward.velocity.item() == pytest.approx(-G * (n - 0.5) * h, rel=1e-12)
    assert central.velocity.item() == pytest.approx(-G * n * h, rel=1e-12)


def test_stoermer_verlet_is_not_a_runge_kutta_method(Stepper):
    # The text Motion claims that Verlet is one. A Runge-Kutta step depends on the state only, but Verlet's also on the
    # step before: equal positions and velocities with different histories continue differently.
    travelled, fresh = (
        Stepper([[0.0]], [[0.0]], dt=0.1, integrator="verlet", forces=[kd.Gravity(-G)]) for _ in range(2)
    )
    travelled.step(5)
    fresh.position[...] = travelled.position
    fresh.velocity[...] = travelled.velocity
    travelled.step()
    fresh.step()
    assert abs(travelled.position.item() - fresh.position.item()) > 0.01


def test_verlet_with_a_varying_step_is_correct_unlike_dickinson_claims(Stepper):
    steps = [0.1, 0.05, 0.2, 0.1]
    ball = Stepper([[0.0]], [[5.0]], dt=steps[0], integrator="verlet", forces=[kd.Gravity(-G)])
    x, previous = 0.0, 0.0 - 5.0 * steps[0] - G * steps[0] ** 2 / 2
    for h in steps:
        ball.dt = h
        ball.step()
        x, previous = 2 * x - previous - G * h * h, x
    t = sum(steps)
    exact = 5 * t - G * t * t / 2
    assert ball.position.item() == pytest.approx(exact, rel=1e-12)
    assert abs(x - exact) > 0.1  # without the correction
