"""Shapes along a ray and around a point in plain Python, by brute force, in float64."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .constraints.shapes import Shapes
from .constraints.touching import fields_of
from .neighbours import Index
from .vector import Vector, dot


class Level:
    """The shapes of a stepper. Each method takes the number of a record of the plan, and that of a part."""

    index_type = Index

    def __init__(self, stepper: Any) -> None:
        self._plan = stepper._plan

    def _shapes(self, record, part):
        record = self._plan.constraint_records[record]
        fields = fields_of(record.fields, part) if record.kind == "contacts" else record.fields
        return Shapes(SimpleNamespace(real=np.float64, alive=()), fields)

    @np.errstate(all="ignore")  # squares of large distances overflow
    def cast(self, record, part, origins, motions, reach, shares, normals):
        """Return the shape that each ray hits before its share, or -1; update the shares and normals.

        A ray that begins in a shape hits it with a share of 0.
        """
        shapes, numbers = self._shapes(record, part), np.full(len(origins), -1)
        for k, (y, way) in enumerate(zip(map(Vector, origins), map(Vector, motions), strict=True)):
            for number, a, b in shapes.ends:
                inside = shapes.away(y, a, b)[0] < reach
                share = 0.0 if inside else shapes.touch(y, way, reach, a, b, False)
                if share is None or not share < shares[k]:
                    continue
                shares[k], numbers[k] = share, number
                n = shapes.away(y + share * way, a, b)[1]
                # Beside a thin segment the sign of the normal is that of a rounding error.
                normals[k] = -1 * n if shapes.segments and share > 0 and dot(n, way) > 0 else n
        return numbers

    @np.errstate(all="ignore")
    def near(self, record, part, points, reaches):
        """Return (row, number, distance, outward normal) of all shapes within reach of each point, in this order."""
        shapes, found = self._shapes(record, part), []
        for row, (point, reach) in enumerate(zip(map(Vector, points), reaches, strict=True)):
            for number, a, b in shapes.ends:
                distance, n = shapes.away(point, a, b)
                if distance <= reach:
                    found.append((row, number, distance, list(n)))
        rows, numbers, distances, normals = zip(*found, strict=True) if found else ((),) * 4
        whole = np.array(rows, np.int64), np.array(numbers, np.int64)
        return *whole, np.array(distances, np.float64), np.array(normals, np.float64).reshape(-1, points.shape[1])
