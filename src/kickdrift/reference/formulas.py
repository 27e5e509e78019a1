"""Expressions in plain Python: lists of operations (forces/formula/program.py), run in order.

Comparisons return 1 or 0; with NaN only != returns 1. `min(a, b)` is b where b < a, else a; `max(a, b)` is b
where a < b, else a; `where(test, a, b)` is a where test > 0, else b. `floor` keeps the sign of zero.
"""

from __future__ import annotations

import math
from typing import Any

from . import functions
from .floats import divided
from .vector import Vector, sqrt


def operate(operation: str, real: Any, *a: Any) -> Any:
    """Apply one operation to numbers of a type: float, or a NumPy scalar."""
    if operation == "add":
        return a[0] + a[1]
    if operation == "sub":
        return a[0] - a[1]
    if operation == "mul":
        return a[0] * a[1]
    if operation == "div":
        return divided(*a) if real is float else a[0] / a[1]
    if operation == "neg":
        return -a[0]
    if operation == "abs":
        return abs(a[0])
    if operation == "min":
        return a[1] if a[1] < a[0] else a[0]
    if operation == "max":
        return a[1] if a[0] < a[1] else a[0]
    if operation == "floor":
        return floor(real, a[0])
    if operation == "less":
        return real(1 if a[0] < a[1] else 0)
    if operation == "not_less":
        return real(1 if a[0] >= a[1] else 0)
    if operation == "equal":
        return real(1 if a[0] == a[1] else 0)
    if operation == "where":
        return a[1] if a[0] > 0 else a[2]
    if operation == "sqrt":
        return sqrt(a[0])
    return functions.call(operation, real, *a)


def floor(real: Any, a: Any) -> Any:
    return real(math.copysign(math.floor(a), a)) if abs(a) < 2.0**52 else a


def evaluate(program: Any, real: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a program for the given inputs."""
    seen: list[Any] = []
    for operation, *operands in program.nodes:
        if operation == "const":
            seen.append(real(operands[0]))
        elif operation == "name":
            seen.append(values[operands[0]])
        elif operation == "noise":
            seen.append(values["noise"](operands[0]))
        else:
            seen.append(operate(operation, real, *(seen[n] for n in operands)))
    return {name: seen[n] for name, n in program.results}


def formula(system: Any, interaction: Any, t: float, x: list[Vector], v: list[Vector]) -> list[Vector]:
    """Return the acceleration of each body by an expression."""
    return run(system, interaction, interaction.term.operations, t, {"": x, "v": v})


def formula_energy(system: Any, interaction: Any, t: float, x: list[Vector]) -> list[Any]:
    """Return the potential energy of each body."""
    return [energy[0] for energy in run(system, interaction, interaction.term.energy, t, {"": x})]


def formula_tangent(system: Any, interaction: Any, t: float, x: Any, v: Any, far: Any, fast: Any) -> Any:
    """Return the tangent by the derivatives of the expression."""

    def change(dx: list[Vector], dv: list[Vector]) -> list[Vector]:
        return run(system, interaction, interaction.term.changes, t, {"": x, "v": v, "d ": dx, "d v": dv})

    return change


def run(system: Any, interaction: Any, program: Any, t: float, vectors: dict[str, list[Vector]]) -> list[Vector]:
    """Run a program for each body; components without a result are 0."""
    real, axes = system.real, "xyz"[: system.dim]
    out = []
    for i in range(len(vectors[""])):
        values: dict[str, Any] = {"t": real(t), "noise": lambda k, i=i: system.noise(k, i)}
        for prefix, rows in vectors.items():
            values.update({prefix + axis: number for axis, number in zip(axes, rows[i], strict=True)})
        for name, field in interaction.fields.items():
            values[name] = real(field[i if len(field) > 1 else 0])
        results = evaluate(program, real, values)
        out.append(Vector([results.get(axis, real(0)) for axis in axes]))
    return out
