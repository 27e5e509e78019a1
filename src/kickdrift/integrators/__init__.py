"""HOW bodies move: one declaration per method."""

from __future__ import annotations

from .. import validation
from .base import Integrator
from .compositions import PEFRL, Composition, Leapfrog, Yoshida4, Yoshida6
from .euler import EnergyEuler, ExplicitEuler, ImplicitEuler, SemiImplicitEuler
from .exact import Exact
from .runge_kutta import RK4, Heun, Midpoint
from .verlet import GrootWarren, VelocityVerlet, Verlet

__all__ = [
    "INTEGRATORS",
    "PEFRL",
    "RK4",
    "Composition",
    "EnergyEuler",
    "Exact",
    "ExplicitEuler",
    "GrootWarren",
    "Heun",
    "ImplicitEuler",
    "Integrator",
    "Leapfrog",
    "Midpoint",
    "SemiImplicitEuler",
    "VelocityVerlet",
    "Verlet",
    "Yoshida4",
    "Yoshida6",
    "resolve",
]

INTEGRATORS: dict[str, type[Integrator]] = {
    cls.name: cls
    for cls in (
        ExplicitEuler,
        SemiImplicitEuler,
        ImplicitEuler,
        Midpoint,
        Heun,
        RK4,
        Verlet,
        VelocityVerlet,
        GrootWarren,
        Leapfrog,
        EnergyEuler,
        Yoshida4,
        PEFRL,
        Yoshida6,
        Exact,
    )
}


def resolve(integrator: str | Integrator | type[Integrator]) -> Integrator:
    """The integrator that a name, an instance or a class stands for."""
    if isinstance(integrator, str) and integrator in INTEGRATORS:
        return INTEGRATORS[integrator]()
    if isinstance(integrator, type) and integrator in INTEGRATORS.values():
        return integrator()
    if isinstance(integrator, Integrator) and getattr(integrator, "name", None) in INTEGRATORS:
        return integrator
    known = ", ".join(INTEGRATORS)
    kind = ValueError if isinstance(integrator, str) else TypeError
    raise kind(f"integrator: expected one of {known} or an instance of one, got {validation.show(integrator)}")
