"""WHAT holds the bodies: constraints, which follow each step. Each is imported when it is asked for."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from .base import Constraint

if _TYPE_CHECKING:
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

_HOMES = {
    "ElasticCollisions": "collisions",
    "Contacts": "contacts",
    **dict.fromkeys(("Distance", "Pin"), "joints"),
    "Periodic": "periodic",
    "Sensor": "sensors",
    **dict.fromkeys(("Boxes", "Segments"), "shapes"),
    **dict.fromkeys(("Box", "Plane"), "walls"),
}


def __getattr__(name: str) -> _Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f".{_HOMES[name]}", __name__), name)
