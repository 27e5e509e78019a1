"""WHEN the bodies move: the fixed-step clock."""

from .fixed_clock import FixedClock

__all__ = ["FixedClock"]
