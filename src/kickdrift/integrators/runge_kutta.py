"""Runge and Kutta: midpoint, Heun, and the classical method of fourth order."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Integrator


@dataclass(frozen=True)
class Midpoint(Integrator):
    """Explicit midpoint rule: an Euler half-step, then a full step with the slope found there."""

    name = "midpoint"
    source = "Runge 1895; Hairer, Norsett, Wanner 1993, Solving ODEs I, II.1.2"
    evaluation_shares = ((0, 0.5), (0, 0.5))
    order = 2
    force_evaluations = 2


@dataclass(frozen=True)
class Heun(Integrator):
    """Heun's method: the average of the slopes at both ends of an Euler step."""

    name = "heun"
    source = "Heun 1900; Hairer, Norsett, Wanner 1993, Solving ODEs I, II.1"
    evaluation_shares = ((0, 1), (0, 1))
    order = 2
    force_evaluations = 2


@dataclass(frozen=True)
class RK4(Integrator):
    """The classical Runge-Kutta method for (x, v), weights 1/6, 1/3, 1/3, 1/6."""

    name = "rk4"
    source = "Kutta 1901; Hairer, Norsett, Wanner 1993, Solving ODEs I, table II.1.2"
    evaluation_shares = ((0, 0.5, 0.5, 1), (0, 0.5, 0.5, 1))
    order = 4
    force_evaluations = 4
