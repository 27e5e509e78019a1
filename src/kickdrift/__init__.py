"""Fixed-step integrators for Python games and simulations, in compiled code."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .errors import (
    CallbackError,
    ConvergenceError,
    DesyncError,
    KickdriftError,
    NonFiniteError,
    OverloadError,
    SnapshotError,
)
from .forces import AnchorSpring, Damping, Gravity, LinearDrag, PointGravity, QuadraticDrag, Vortex
from .integrators import (
    INTEGRATORS,
    PEFRL,
    RK4,
    EnergyEuler,
    Exact,
    ExplicitEuler,
    GrootWarren,
    Heun,
    ImplicitEuler,
    Leapfrog,
    Midpoint,
    SemiImplicitEuler,
    VelocityVerlet,
    Verlet,
    Yoshida4,
    Yoshida6,
)
from .kernels import build_info
from .stepper import Stepper
from .trajectory import Trajectory
from .verbs import damp, drift, kick

if _TYPE_CHECKING:
    from . import reference

    __version__: str


def __getattr__(name: str) -> _Any:
    # What few programs ask for and what takes as long as all the rest of the import.
    if name == "__version__":
        return _import_module("importlib.metadata").version("kickdrift")
    if name == "reference":
        return _import_module(".reference", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
