"""WHAT holds the bodies: constraints, which follow each step."""

from .base import Constraint

__all__ = ["Constraint"]
