"""WHAT pushes the bodies: fields on single bodies, interactions between them, and functions of users."""

from .base import Term

__all__ = ["Term"]
