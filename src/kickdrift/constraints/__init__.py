"""WHAT holds the bodies: constraints, which follow each step."""

from .base import Constraint
from .collisions import ElasticCollisions
from .joints import Distance, Pin
from .sensors import Sensor
from .walls import Box, Plane

__all__ = ["Box", "Constraint", "Distance", "ElasticCollisions", "Pin", "Plane", "Sensor"]
