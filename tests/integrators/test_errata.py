"""What is wrong in the texts that the methods come from, a test for each.

Two more are elsewhere: the Notes' RK4 in test_tables, Gravity Q&A's symplecticity in test_symplectic.
"""

import math

import pytest

import kickdrift as kd

G = 9.81


def test_energys_last_formula_has_the_wrong_sign_with_z_up(Stepper):
    # It says v(t + dt)² = v² + 2 g v dt: that speeds up what rises.
    ball = Stepper([[0.0]], [[20.0]], dt=0.01, integrator="energy_euler", forces=[kd.Gravity(-G)])
    ball.step()
    v2 = ball.velocity.item() ** 2
    assert v2 == pytest.approx(20**2 - 2 * G * 20 * 0.01, rel=1e-12)
    assert v2 < 20**2


def test_energys_square_root_loses_the_sign_of_v_and_nothing_falls_back(Stepper):
    ball = Stepper([[0.0]], [[2.0]], dt=0.01, integrator="energy_euler", forces=[kd.Gravity(-G)])
    height, v, heights = 0.0, 2.0, []
    for _ in range(60):
        ball.step()
        height, v = height + 0.01 * v, math.sqrt(max(v * v - 2 * G * v * 0.01, 0))
        heights.append(height)
    assert heights == sorted(heights)  # the text's ball hangs at the top
    assert ball.velocity.item() < -2
    assert ball.position.item() < -0.5


def test_dickinsons_rk4_integrates_acceleration_where_it_should_velocity(Stepper):
    x, h, g = 1.0, 0.5, -10.0
    as_printed = x + h / 6 * (g + 2 * g + 2 * g + g)
    ball = Stepper([[x]], [[3.0]], dt=h, integrator="rk4", forces=[kd.Gravity(g)])
    ball.step()
    assert ball.position.item() == pytest.approx(x + 3 * h + g * h**2 / 2, rel=1e-15)
    assert abs(as_printed - ball.position.item()) > 4


def test_dickinsons_new_velocity_is_that_of_half_a_step_ago(Stepper):
    # (x_n - x_{n-1}) / h, of a fall: exact at n - 1/2, and h g / 2 off at n; the central one is not.
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
    # Motion says it is. A Runge-Kutta step depends on the state alone, Verlet's on the step before:
    # the same position and velocity, reached in different ways, go different ways on.
    travelled, fresh = (
        Stepper([[0.0]], [[0.0]], dt=0.1, integrator="verlet", forces=[kd.Gravity(-G)]) for _ in range(2)
    )
    travelled.step(5)
    fresh.position[...] = travelled.position
    fresh.velocity[...] = travelled.velocity
    travelled.step()
    fresh.step()
    assert abs(travelled.position.item() - fresh.position.item()) > 0.01


def test_verlet_with_a_varying_step_is_right_where_dickinson_says_it_breaks(Stepper):
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
