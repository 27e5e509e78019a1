"""Filters: which bodies meet each other."""

from __future__ import annotations


class Filter:
    """category, mask and sensor of bodies, as the fields of a constraint say; all meet all where they say nothing."""

    def __init__(self, n, fields):
        def each(name, default):
            values = [int(value) for value in fields.get(name, [default])]
            return values * (n if len(values) == 1 else 1)

        self.category, self.mask = each("category", 1), each("mask", 1)
        self.sensor = each("sensor", 0)

    def meet(self, i, j):
        """Both must agree."""
        return bool(self.category[i] & self.mask[j] and self.category[j] & self.mask[i])

    def senses(self, i, j):
        """Do they report, and push nothing?"""
        return bool(self.sensor[i] or self.sensor[j])
