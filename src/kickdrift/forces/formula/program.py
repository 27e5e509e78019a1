"""Programs: lists of operations, each on results of earlier ones.

Equal operations on equal operands are merged. Operations on constants are done once, in float64, as in the
reference. Nothing else is rearranged: sums are added in the order in which they are written; x * 0 is not 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: Names of operations, and their notation in listings. Comparisons return 1 or 0.
OPERATIONS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "abs": "abs({})",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "floor": "floor({})",
    "less": "{} < {}",
    "not_less": "{} >= {}",
    "equal": "{} == {}",
    "where": "where({}, {}, {})",
    "sqrt": "sqrt({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "tan": "tan({})",
    "exp": "exp({})",
    "log": "log({})",
    "tanh": "tanh({})",
    "cbrt": "cbrt({})",
    "pow": "pow({}, {})",
    "atan2": "atan2({}, {})",
}
MOST = 2000  # limit of operations per expression
#: Nodes without operands.
LEAVES = ("const", "name", "noise")


class TooLongError(Exception):
    """More operations than the limit, `Builder.most`."""


@dataclass(frozen=True)
class Program:
    """Nodes in topological order, and the nodes of the results.

    A node is ("const", number), ("name", name), ("noise", k), ("power", node, n) or an operation and its
    operands.
    """

    nodes: tuple[tuple[Any, ...], ...]
    results: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        shown: list[str] = []
        lines: list[str] = []
        for operation, *operands in self.nodes:
            if operation == "const":
                shown.append(repr(operands[0]))
            elif operation == "name":
                shown.append(str(operands[0]))
            elif operation == "noise":
                shown.append(f"noise({operands[0]})")
            else:
                text = OPERATIONS[operation].format(*(shown[n] for n in operands))
                shown.append(f"_{len(lines)}")
                lines.append(f"{shown[-1]} = {text}")
        return "\n".join([*lines, *(f"{name} = {shown[n]}" for name, n in self.results)])

    @property
    def digest(self) -> str:
        """Digest of the program, equal on every platform."""
        import hashlib  # slow to import

        return hashlib.blake2b(str(self).encode(), digest_size=16).hexdigest()

    @property
    def names(self) -> set[str]:
        """The inputs of the program."""
        return {node[1] for node in self.nodes if node[0] == "name"}


class Builder:
    """Builder of nodes with common subexpression elimination."""

    def __init__(self, most: int = MOST) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.known: dict[tuple[Any, ...], int] = {}
        self.most = most

    def node(self, *node: Any) -> int:
        # 0.0 and -0.0 compare as equal but are different constants.
        key = (*node, math.copysign(1, node[1])) if node[0] == "const" else node
        if key not in self.known:
            if len(self.nodes) >= self.most:
                raise TooLongError
            self.known[key] = len(self.nodes)
            self.nodes.append(node)
        return self.known[key]

    def const(self, value: float) -> int:
        return self.node("const", float(value))

    def value(self, n: int) -> float | None:
        """Return the value of a constant node, else None."""
        return self.nodes[n][1] if self.nodes[n][0] == "const" else None

    def apply(self, operation: str, *operands: int) -> int:
        values = [self.value(n) for n in operands]
        if all(value is not None for value in values):
            return self.const(folded(operation, values))
        if operation == "where" and values[0] is not None:
            return operands[1] if values[0] > 0 else operands[2]
        return self.node(operation, *operands)

    def power(self, base: int, n: int) -> int:
        """Return base**n for an integer n; `chain` expands it to products after differentiation."""
        if n == 0:
            return self.const(1)
        if n == 1:
            return base
        value = self.value(base)
        if value is not None:
            other = Builder()
            return self.const(other.value(chain(other, other.const(value), n)) or 0.0)
        return self.node("power", base, n)


def folded(operation: str, values: list[Any]) -> float:
    from ...reference.formulas import operate  # imported late: `reference` imports most of this package

    return float(operate(operation, float, *values))


def chain(builder: Builder, base: int, n: int) -> int:
    """Return base**n by squares and products, from the leading bit of n to the last; 1 / base**-n for n < 0."""
    result = base
    for digit in f"{abs(n):b}"[1:]:
        result = builder.apply("mul", result, result)
        if digit == "1":
            result = builder.apply("mul", result, base)
    return result if n > 0 else builder.apply("div", builder.const(1), result)


def finished(builder: Builder, results: dict[str, int]) -> Program:
    """Return the program for the results, with powers expanded to products."""
    needed, open_ = set(), list(results.values())
    while open_:
        n = open_.pop()
        if n not in needed:
            needed.add(n)
            open_ += operands(builder.nodes[n])
    final, place = Builder(4 * MOST), {}
    for n in sorted(needed):
        node = builder.nodes[n]
        if node[0] in LEAVES:
            place[n] = final.node(*node)
        elif node[0] == "power":
            place[n] = chain(final, place[node[1]], node[2])
        else:
            place[n] = final.apply(node[0], *(place[operand] for operand in node[1:]))
    return Program(tuple(final.nodes), tuple((name, place[n]) for name, n in results.items()))


def operands(node: tuple[Any, ...]) -> list[int]:
    if node[0] in LEAVES:
        return []
    return [node[1]] if node[0] == "power" else list(node[1:])
