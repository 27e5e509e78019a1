"""WHAT pushes the bodies: fields on single bodies, interactions between them, and functions of users."""

from .base import Term
from .fields import AnchorSpring, Damping, Gravity, LinearDrag, PointGravity, QuadraticDrag, Vortex

__all__ = ["AnchorSpring", "Damping", "Gravity", "LinearDrag", "PointGravity", "QuadraticDrag", "Term", "Vortex"]
