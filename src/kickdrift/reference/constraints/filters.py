"""Collision filtering by category, mask and sensor."""

from __future__ import annotations


class Filter:
    """Category, mask and sensor flag of each body; by default all bodies collide."""

    def __init__(self, n, fields):
        def each(name, default):
            values = [int(value) for value in fields.get(name, [default])]
            return values * (n if len(values) == 1 else 1)

        self.category, self.mask = each("category", 1), each("mask", 1)
        self.sensor = each("sensor", 0)

    def collide(self, i, j):
        """Return whether the masks of both bodies accept the other's category."""
        return bool(self.category[i] & self.mask[j] and self.category[j] & self.mask[i])

    def senses(self, i, j):
        """Return whether the pair is a sensor contact: recorded, without impulses."""
        return bool(self.sensor[i] or self.sensor[j])
