"""Fixed-step integrators for Python games and simulations, in compiled code."""

from importlib.metadata import version as _version

from . import flows, reference
from .clock import FixedClock
from .errors import (
    CallbackError,
    ConvergenceError,
    DesyncError,
    KickdriftError,
    NonFiniteError,
    OverloadError,
    SnapshotError,
)
from .forces import Acceleration, AnchorSpring, Damping, Force, Gravity, LinearDrag, PointGravity, QuadraticDrag, Vortex
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
from .ode import ODEStepper
from .rollback import Rollback, sync_test
from .stepper import Stepper
from .trajectory import ODETrajectory, Trajectory
from .verbs import damp, drift, kick

__version__ = _version("kickdrift")

__all__ = [
    "INTEGRATORS",
    "PEFRL",
    "RK4",
    "Acceleration",
    "AnchorSpring",
    "CallbackError",
    "ConvergenceError",
    "Damping",
    "DesyncError",
    "EnergyEuler",
    "Exact",
    "ExplicitEuler",
    "FixedClock",
    "Force",
    "Gravity",
    "GrootWarren",
    "Heun",
    "ImplicitEuler",
    "KickdriftError",
    "Leapfrog",
    "LinearDrag",
    "Midpoint",
    "NonFiniteError",
    "ODEStepper",
    "ODETrajectory",
    "OverloadError",
    "PointGravity",
    "QuadraticDrag",
    "Rollback",
    "SemiImplicitEuler",
    "SnapshotError",
    "Stepper",
    "Trajectory",
    "VelocityVerlet",
    "Verlet",
    "Vortex",
    "Yoshida4",
    "Yoshida6",
    "__version__",
    "build_info",
    "damp",
    "drift",
    "flows",
    "kick",
    "reference",
    "sync_test",
]
