"""kickdrift in plain Python: the specification and the textbook.

Everything that the compiled kernels do is written here a second time, for people. Tests hold the
two equal to the last bit, so what is read here is what runs there. Start with `integrators`, where
each is a handful of lines, then `forces` and `stepper`; `ode` and `flows` are the same for
y' = f(t, y).
"""

from .clock import FixedClock
from .neighbours import Neighbours
from .ode import ODEStepper
from .stepper import Stepper
from .worlds import Worlds

__all__ = ["FixedClock", "Neighbours", "ODEStepper", "Stepper", "Worlds"]
