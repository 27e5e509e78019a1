"""Constraints, which are applied after each step."""

from .base import Constraint

__all__ = ["Constraint"]
