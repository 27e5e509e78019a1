"""Integrators, one declaration per method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .. import validation
from . import compositions, euler, exact, runge_kutta, verlet
from .base import Integrator

Name = Literal[
    "explicit_euler", "semi_implicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "verlet", "velocity_verlet",
    "groot_warren", "leapfrog", "energy_euler", "yoshida4", "pefrl", "yoshida6", "exact",
]  # fmt: skip
EquationName = Literal["explicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "dopri8"]

#: Integrators of `Stepper`. Keys are typed Any, so that type checkers accept them as Name.
INTEGRATORS: dict[Any, type[Integrator]] = {
    cls.name: cls
    for cls in (
        euler.ExplicitEuler,
        euler.SemiImplicitEuler,
        euler.ImplicitEuler,
        runge_kutta.Midpoint,
        runge_kutta.Heun,
        runge_kutta.RK4,
        verlet.Verlet,
        verlet.VelocityVerlet,
        verlet.GrootWarren,
        compositions.Leapfrog,
        euler.EnergyEuler,
        compositions.Yoshida4,
        compositions.PEFRL,
        compositions.Yoshida6,
        exact.Exact,
    )
}

#: Kinds of schemes: keys of the tables of `Stepper` and the reference.
KINDS = {cls.kind for cls in INTEGRATORS.values()}

#: Integrators of `ODEStepper`.
EQUATION_INTEGRATORS: dict[Any, type[Integrator]] = {
    cls.name: cls
    for cls in (
        euler.ExplicitEuler,
        euler.ImplicitEuler,
        runge_kutta.Midpoint,
        runge_kutta.Heun,
        runge_kutta.RK4,
        runge_kutta.Dopri8,
    )
}


def resolve(
    integrator: str | Integrator | type[Integrator], known: Mapping[Any, type[Integrator]], place: str = ""
) -> Integrator:
    """Return the integrator for a name, an instance or a class, from the table of a stepper."""
    if isinstance(integrator, str) and integrator in known:
        return known[integrator]()
    if isinstance(integrator, type) and integrator in known.values():
        return integrator()
    if isinstance(integrator, Integrator) and getattr(integrator, "name", None) in known:
        return integrator
    named = isinstance(integrator, str) or (isinstance(integrator, Integrator) and hasattr(integrator, "name"))
    raise (ValueError if named else TypeError)(
        f"integrator: got {validation.show(integrator)}{validation.meant(integrator, known)}; "
        f"expected one of {', '.join(known)}{place} or an instance of one"
    )
