"""Names that `__init__.py` imports lazily, for type checkers."""

from . import flows as flows
from . import math as math
from . import reference as reference
from .clock import FixedClock as FixedClock
from .clock.options import (
    Backlog as Backlog,
    Budget as Budget,
    Drop as Drop,
    ExactSteps as ExactSteps,
    Locked as Locked,
    Match as Match,
    Raise as Raise,
    Resync as Resync,
    Variable as Variable,
)
from .comparison import Comparison as Comparison, compare as compare
from .constraints.collisions import ElasticCollisions as ElasticCollisions
from .constraints.contacts import Contacts as Contacts
from .constraints.joints import Distance as Distance, Pin as Pin
from .constraints.periodic import Periodic as Periodic
from .constraints.sensors import Sensor as Sensor
from .constraints.shapes import Boxes as Boxes, Segments as Segments
from .constraints.walls import Box as Box, Plane as Plane
from .errors import (
    CallbackError as CallbackError,
    CapacityError as CapacityError,
    ConvergenceError as ConvergenceError,
    DeadBodyError as DeadBodyError,
    DesyncError as DesyncError,
    KickdriftError as KickdriftError,
    NonFiniteError as NonFiniteError,
    OverloadError as OverloadError,
    SnapshotError as SnapshotError,
)
from .forces.applied import AppliedForce as AppliedForce, AppliedTorque as AppliedTorque
from .forces.callbacks import Acceleration as Acceleration, Force as Force, NativeForce as NativeForce
from .forces.fields import (
    AnchorSpring as AnchorSpring,
    Damping as Damping,
    FloorFriction as FloorFriction,
    Gravity as Gravity,
    LinearDrag as LinearDrag,
    PointGravity as PointGravity,
    QuadraticDrag as QuadraticDrag,
    Vortex as Vortex,
)
from .forces.formulas import Expression as Expression, Potential as Potential
from .forces.interactions import NBody as NBody, Springs as Springs
from .forces.langevin import Langevin as Langevin
from .forces.native import get_include as get_include
from .forces.pairs import PairPotential as PairPotential
from .forces.rotations import Magnetic as Magnetic, RotatingFrame as RotatingFrame
from .integrators import INTEGRATORS as INTEGRATORS
from .integrators.compositions import Leapfrog as Leapfrog, PEFRL as PEFRL, Yoshida4 as Yoshida4, Yoshida6 as Yoshida6
from .integrators.euler import (
    EnergyEuler as EnergyEuler,
    ExplicitEuler as ExplicitEuler,
    ImplicitEuler as ImplicitEuler,
    SemiImplicitEuler as SemiImplicitEuler,
)
from .integrators.exact import Exact as Exact
from .integrators.runge_kutta import Dopri8 as Dopri8, Heun as Heun, Midpoint as Midpoint, RK4 as RK4
from .integrators.verlet import GrootWarren as GrootWarren, VelocityVerlet as VelocityVerlet, Verlet as Verlet
from .kernels import build_info as build_info
from .neighbours import Neighbours as Neighbours
from .ode.stepper import ODEStepper as ODEStepper
from .rollback.inputs import Inputs as Inputs
from .rollback.rollback import Rollback as Rollback, sync_test as sync_test
from .rollback.tape import Tape as Tape
from .stepper.events import (
    BEGIN as BEGIN,
    BREAK as BREAK,
    END as END,
    ENTER as ENTER,
    HIT as HIT,
    LEAVE as LEAVE,
    Events as Events,
)
from .stepper.stepper import Stepper as Stepper
from .stepper.trajectory import ODETrajectory as ODETrajectory, Trajectory as Trajectory
from .verbs import damp as damp, drift as drift, kick as kick

__version__: str
