"""The effect of each constraint on the bodies after a step.

A constraint is a function of the system, the positions before the step, and the coefficients in its plan. It may change
the system's `x` and `v`, and under Verlet its `history`: the previous positions, from which the next step continues.
"""

from ...constraints.base import AfterStep
from ...declaration import kinds_of, known, require_entries
from . import collisions, contacts, floor, joints, periodic, sensors, shapes, walls

_MODULES = (collisions, contacts, floor, joints, periodic, sensors, shapes, walls)
_KINDS = {kind for cls in known(AfterStep) for kind in kinds_of(cls)} | {"corners"}
#: Constraint functions by kind; each function has the name of its kind.
CONSTRAINTS = {kind: getattr(module, kind) for module in _MODULES for kind in _KINDS if hasattr(module, kind)}
require_entries(__name__, CONSTRAINTS, AfterStep)
