"""Fixed-step integrators for Python games and simulations, in compiled code."""

from . import reference
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


def __getattr__(name: str) -> str:
    # Reading the metadata takes longer than all the rest of the import.
    if name == "__version__":
        from importlib.metadata import version

        return version("kickdrift")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
