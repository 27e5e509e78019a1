"""Forces: fields on single bodies, interactions between bodies, and user callbacks."""

from .base import Term

__all__ = ["Term"]
