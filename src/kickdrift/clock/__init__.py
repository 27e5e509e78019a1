"""The fixed-step clock."""

from .fixed_clock import FixedClock

__all__ = ["FixedClock"]
