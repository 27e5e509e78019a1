"""kickdrift in plain Python: the specification of the compiled kernels.

Every computation of the kernels is written here a second time, to be read. Tests require bitwise equal
results. Start with `integrators`, where each scheme is a few lines, then `forces` and `stepper`. `ode` and
`flows` do it for y' = f(t, y).
"""

from .clock import FixedClock
from .neighbours import Neighbours
from .ode import ODEStepper
from .stepper import Stepper
from .worlds import Worlds

__all__ = ["FixedClock", "Neighbours", "ODEStepper", "Stepper", "Worlds"]
