"""Formulas as the kernels run them: which row each result goes to, and what is done once for all bodies.

Results that are the same for all bodies are worked out once per call, before the others. Rows are given out in one
pass over the list (linear scan: Poletto and Sarkar 1999): a row is free again once its last reader has run. Sums and
products that only one other reads are part of it, with the rounding of each: what is no row is not stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .program import Program, operands

#: Where a name is: its kind as engine/formulas.pyx has it, and its number there; "load" for a component of a flow.
Place = tuple[str, Any]
_SAME = ("known", "time", "uniform")
#: Several operations as one, each of them rounded: by the last one and what its operands are themselves, of those that
#: nobody else reads. Where only the second is something, its operands come first: a b + c is c + a b, to the bit.
_JOINED = {
    "add": {
        ("mul_mul", ""): "mul_mul_add",
        ("", "mul_mul"): "mul_mul_add",
        ("diff_mul", ""): "diff_mul_add",
        ("", "diff_mul"): "diff_mul_add",
        ("mul", "mul"): "products_added",
        ("mul_add", ""): "mul_add_add",
        ("mul_sub", ""): "mul_sub_add",
        ("", "mul_add"): "mul_add_add",
        ("", "mul_sub"): "mul_sub_add",
        ("mul", ""): "mul_add",
        ("", "mul"): "mul_add",
        ("add", ""): "add_add",
        ("sub", ""): "diff_add",
        ("", "add"): "add_add",
        ("", "sub"): "diff_add",
    },
    "sub": {
        ("mul_mul", ""): "mul_mul_sub",
        ("", "mul_mul"): "sub_mul_mul",
        ("diff_mul", ""): "diff_mul_sub",
        ("mul", "mul"): "products_subtracted",
        ("mul_add", ""): "mul_add_sub",
        ("mul_sub", ""): "mul_sub_sub",
        ("mul", ""): "mul_sub",
        ("", "mul"): "sub_mul",
        ("add", ""): "add_sub",
        ("sub", ""): "diff_sub",
    },
    "mul": {
        ("mul", ""): "mul_mul",
        ("", "mul"): "mul_mul",
        ("add", ""): "add_mul",
        ("", "add"): "add_mul",
        ("sub", ""): "diff_mul",
        ("", "sub"): "diff_mul",
    },
}
_PRODUCTS = ("mul", "sub_mul")  #: how the names of those begin whose first two operands are factors


@dataclass
class Code:
    """The program as arrays, from which engine/formulas.pyx makes C structs."""

    operands: list[Place] = field(default_factory=list)
    operations: list[tuple[str, int, int, int, int, int]] = field(default_factory=list)
    uniform: int = 0  #: so many operations come first
    columns: int = 0  #: of results that are stored row by row
    presets: list[Any] = field(default_factory=list)  #: constants, and names of parameters


class TooManyError(Exception):
    """More of something than the kernels have room for."""


def translate(
    program: Program,
    places: Mapping[str, Place],
    limits: Mapping[str, int],
    results: Mapping[str, int],
    rows: bool = False,
) -> Code:
    """places: where each name is; results: the plane of each result, or, of rows, its column."""
    return _Translation(program, places, limits, results, rows).code


class _Translation:
    def __init__(
        self,
        program: Program,
        places: Mapping[str, Place],
        limits: Mapping[str, int],
        results: Mapping[str, int],
        rows: bool,
    ) -> None:
        self.nodes, self.places, self.limits = program.nodes, places, limits
        self.code = Code()
        self.numbers: dict[Place, int] = {}
        self.same = self._same()
        # The operations in order: operation, result, operands.
        self.steps: list[tuple[str, int, list[int]]] = self._fused(program)
        self.results = [(results[name], n) for name, n in program.results]
        self.direct: dict[int, int] = {}  # node: plane that it is written to
        if not rows:
            for plane, n in self.results:
                if not self._leaf(n) and not self.same[n]:
                    self.direct.setdefault(n, plane)
        self.at: dict[int, int] = {}  # node: operand
        self._uniform()
        self._scan(rows)
        if rows:
            self.code.columns = len(results)
        self._check("operands", len(self.code.operands))

    def _leaf(self, n: int) -> bool:
        return self.nodes[n][0] in ("const", "name")

    def _loaded(self, n: int) -> bool:
        return self.nodes[n][0] == "name" and self.places[self.nodes[n][1]][0] == "load"

    def _same(self) -> list[bool]:
        """Is a node the same for all bodies?"""
        same: list[bool] = []
        for node in self.nodes:
            if node[0] == "const":
                same.append(True)
            elif node[0] == "name":
                same.append(self.places[node[1]][0] in _SAME)
            elif node[0] == "noise":
                same.append(False)
            else:
                same.append(all(same[n] for n in node[1:]))
        return same

    def _fused(self, program: Program) -> list[tuple[str, int, list[int]]]:
        readers: dict[int, int] = {}
        for n in [operand for node in self.nodes for operand in operands(node)] + [n for _, n in program.results]:
            readers[n] = readers.get(n, 0) + 1

        part: dict[int, tuple[str, list[int]]] = {}  # node: what it is as one operation of several, and its operands
        gone: set[int] = set()
        for n, (operation, *given) in enumerate(self.nodes):
            if operation not in ("add", "sub", "mul") or self.same[n]:
                continue
            inner = [
                part.get(m, (self.nodes[m][0], operands(self.nodes[m])))
                if readers[m] == 1 and not self.same[m] and not self._leaf(m)
                else ("", [])
                for m in given
            ]
            for (first, second), joined in _JOINED[operation].items():
                if first in ("", inner[0][0]) and second in ("", inner[1][0]):
                    left = inner[0][1] if first else given[:1]
                    right = inner[1][1] if second else given[1:]
                    part[n] = (joined, [*left, *right] if first else [*right, *left])
                    gone |= {m for m, kind in zip(given, (first, second), strict=True) if kind}
                    break
        for n, (joined, read) in part.items():
            if joined == "products_added" and read[0] == read[1] and read[2] == read[3]:
                part[n] = ("squares_added", read[::2])
        steps = []
        for n, (operation, *_) in enumerate(self.nodes):
            if not self._leaf(n) and n not in gone:
                name, given = part.get(n, (operation, operands(self.nodes[n])))
                read = list(given)
                # A number that is the same for all is read once where it comes first: b a is a b, to the bit.
                for a in (0, 2) if name.startswith("products") else (0,) if name.startswith(_PRODUCTS) else ():
                    if self.same[read[a + 1]]:
                        read[a], read[a + 1] = read[a + 1], read[a]
                steps.append((name, n, read))
        return steps

    def _operand(self, place: Place) -> int:
        if place not in self.numbers:
            self.numbers[place] = len(self.code.operands)
            self.code.operands.append(place)
        return self.numbers[place]

    def _preset(self, value: Any) -> int:
        """An operand that is known before: a constant, or a parameter by its name."""
        self.code.presets.append(value)
        return self._operand(("known", len(self.code.presets) - 1))

    def _of(self, n: int) -> int:
        """The operand where a node is."""
        if n not in self.at:
            node = self.nodes[n]
            if node[0] == "const" or self.places[node[1]][0] == "known":
                self.at[n] = self._preset(node[1])
            else:
                self.at[n] = self._operand(self.places[node[1]])
        return self.at[n]

    def _emit(self, operation: str, to: int, given: Iterable[int]) -> None:
        a, b, c, d = [*given, 0, 0, 0, 0][:4]
        self.code.operations.append((operation, to, a, b, c, d))

    def _uniform(self) -> None:
        for operation, n, given in self.steps:
            if self.same[n]:
                read = [self._of(operand) for operand in given]
                self.at[n] = self._operand(("uniform", self.code.uniform))
                self._emit(operation, self.at[n], read)
                self.code.uniform += 1
        self._check("uniform", self.code.uniform)

    def _scan(self, by_rows: bool) -> None:
        steps = [step for step in self.steps if not self.same[step[1]]]
        last: dict[int, int] = {}  # node: its last reader
        for number, (_, _, given) in enumerate(steps):
            for n in given:
                last[n] = number
        for _, n in self.results:
            last[n] = len(steps)
        free: list[int] = []
        rows = 0

        def take() -> int:
            nonlocal rows
            if not free:
                rows += 1
                self._check("registers", rows)
                return rows - 1
            return free.pop()

        held: dict[int, int] = {}  # node: its row

        def load(n: int) -> None:
            if self._loaded(n) and n not in held:
                held[n] = take()
                self.at[n] = self._operand(("register", held[n]))
                self.code.operations.append(("load", self.at[n], self.places[self.nodes[n][1]][1], 0, 0, 0))

        for number, (operation, n, given) in enumerate(steps):
            for operand in given:
                load(operand)
            read = [self._of(operand) for operand in given]
            done = [operand for operand in dict.fromkeys(given) if last[operand] == number and operand in held]
            free += [held.pop(operand) for operand in done]
            if n in self.direct:
                self.at[n] = self._operand(("result", self.direct[n]))
            else:
                held[n] = take()
                self.at[n] = self._operand(("register", held[n]))
            self._emit(operation, self.at[n], [self.nodes[n][1]] if operation == "noise" else read)
        for place, n in self.results:
            load(n)
            if by_rows:
                self.code.operations.append(("store", place, self._of(n), 0, 0, 0))
            elif self.direct.get(n) != place:
                self._emit("copy", self._operand(("result", place)), [self._of(n)])

    def _check(self, what: str, number: int) -> None:
        if number > self.limits[what]:
            raise TooManyError(what)
