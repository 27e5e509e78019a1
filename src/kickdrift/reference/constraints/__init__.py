"""The effect of each constraint on the bodies after a step.

A constraint is a function of the system, of where its bodies were before the step, and of the
coefficients in its plan. It may change the system's `x`, `v` and, under Verlet, its `history`, the
previous positions, which the next step continues from.
"""

from typing import Any

from ...constraints import Constraint
from ...declaration import require_entries
from .collisions import collisions
from .contacts import contacts
from .floor import floor_friction
from .joints import distance, pin
from .periodic import periodic
from .sensors import sensor
from .shapes import shapes
from .walls import WALLS, corners

CONSTRAINTS: dict[str, Any] = {
    "pin": pin,
    "distance": distance,
    "compliant_distance": distance,
    "collisions": collisions,
    "contacts": contacts,
    "corners": corners,
    "floor_friction": floor_friction,
    "periodic": periodic,
    "sensor": sensor,
    "shapes": shapes,
    **WALLS,
}
require_entries(__name__, CONSTRAINTS, Constraint)
