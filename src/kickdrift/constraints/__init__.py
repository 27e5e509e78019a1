"""WHAT holds the bodies: constraints, which follow each step."""

from .base import Constraint
from .collisions import ElasticCollisions
from .contacts import Contacts
from .joints import Distance, Pin
from .periodic import Periodic
from .sensors import Sensor
from .shapes import Boxes, Segments
from .walls import Box, Plane

__all__ = [
    "Box",
    "Boxes",
    "Constraint",
    "Contacts",
    "Distance",
    "ElasticCollisions",
    "Periodic",
    "Pin",
    "Plane",
    "Segments",
    "Sensor",
]
