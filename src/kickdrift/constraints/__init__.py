"""WHAT holds the bodies: constraints, which follow each step."""

from .collisions import ElasticCollisions
from .joints import Distance, Pin
from .walls import Box, Plane

__all__ = ["Box", "Distance", "ElasticCollisions", "Pin", "Plane"]
