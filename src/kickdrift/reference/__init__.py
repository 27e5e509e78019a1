"""kickdrift in plain Python: the specification of the compiled kernels.

Each computation of the kernels has a readable counterpart here. Tests require bitwise equal results. Start with
`integrators`, where each scheme is a few lines, then `forces` and `stepper`. For y' = f(t, y), read `ode` and `flows`.
"""

from .clock import FixedClock
from .neighbours import Neighbours
from .ode import ODEStepper
from .stepper import Stepper
from .worlds import Worlds

__all__ = ["FixedClock", "Neighbours", "ODEStepper", "Stepper", "Worlds"]
