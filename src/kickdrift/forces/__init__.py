"""Forces: fields on single bodies, interactions between bodies, and callbacks of users."""

from .base import Term

__all__ = ["Term"]
