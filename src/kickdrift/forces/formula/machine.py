"""Formulas as the kernels run them: in which order, what stays in registers, and which row what is stored goes to.

Results that are the same for all bodies are worked out once per call, before the others. What one operation alone
reads is left in registers, where it finds it; of two such operands the longer one is worked out first, and waits in a
row (Sethi and Ullman 1970). Rows are given out in one pass over the list (linear scan: Poletto and Sarkar 1999): a row
is free again once its last reader has run. Pairs of operations that have one name together are one, with the rounding
of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .program import Program, operands

#: Where a name is: its kind as engine/formulas.pyx has it, and its number there; "load" for a component of a flow.
Place = tuple[str, Any]
_SAME = ("known", "time", "uniform")
_STILL = ("register", *_SAME)  #: operands that are at one place for all groups of bodies
_HELD = -1  #: in place of a node: what is in registers, in memory
_HELD_AT: Place = ("register", 0)
#: Operations on memory, when an operand is in registers: by its number, what they are called, and which of the others
#: remain. a b is b a, and a + b is b + a, to the bit.
_ON_HELD: dict[str, dict[int, tuple[str, tuple[int, ...]]]] = {
    "add": {0: ("and_add", (1,)), 1: ("and_add", (0,))},
    "sub": {0: ("and_sub", (1,)), 1: ("from", (0,))},
    "mul": {0: ("and_mul", (1,)), 1: ("and_mul", (0,))},
    "div": {0: ("and_div", (1,)), 1: ("into", (0,))},
    "neg": {0: ("and_neg", ())},
    "sqrt": {0: ("and_sqrt", ())},
    "mul_add": {0: ("and_mul_add", (1, 2)), 1: ("and_mul_add", (0, 2)), 2: ("add_product", (0, 1))},
    "mul_sub": {0: ("and_mul_sub", (1, 2)), 1: ("and_mul_sub", (0, 2)), 2: ("from_product", (0, 1))},
    "sub_mul": {0: ("mul_from", (1, 2)), 1: ("mul_from", (0, 2)), 2: ("sub_product", (0, 1))},
    "mul_mul": {0: ("and_mul_mul", (1, 2)), 1: ("and_mul_mul", (0, 2))},
}
#: One after the other as one, whose operands are those of both.
_JOINED = {
    ("mul", "and_add"): "mul_add",
    ("mul", "and_sub"): "mul_sub",
    ("mul", "from"): "sub_mul",
    ("mul", "and_mul"): "mul_mul",
    ("add", "and_mul"): "add_mul",
    ("sub", "and_mul"): "diff_mul",
    ("and_mul", "and_add"): "and_mul_add",
    ("and_mul", "and_sub"): "and_mul_sub",
    ("and_mul", "from"): "mul_from",
    ("and_mul", "and_mul"): "and_mul_mul",
}


_NUMBERED = ("load", "store", "noise")
#: What is done for all bodies of a block at once, from memory to memory.
_ASIDE = (*_NUMBERED, "sin", "cos", "tan", "exp", "log", "tanh", "cbrt", "pow", "atan2")


#: The first of two operands of which either may be the first: b a is a b, to the bit.
_FACTORS = dict.fromkeys(("add", "mul", "mul_add", "mul_sub", "sub_mul", "mul_mul", "add_product"), (0,))
_FACTORS |= {"sub_product": (0,), "from_product": (0,), "products_added": (0, 2), "products_subtracted": (0, 2)}


@dataclass
class Code:
    """The program as arrays, from which engine/formulas.pyx makes C structs."""

    operands: list[Place] = field(default_factory=list)
    still: int = 0  #: so many of them come first that are at one place for all groups of bodies
    #: What it is, where its result goes or -1, four operands, and how many from here on are done for a group of bodies
    #: before the next one: 0 where an operation is done for all.
    operations: list[tuple[str, int, int, int, int, int, int]] = field(default_factory=list)
    uniform: int = 0  #: so many operations come first
    columns: int = 0  #: of results that are stored row by row
    presets: list[Any] = field(default_factory=list)  #: constants, and names of parameters


class TooManyError(Exception):
    """More of something than the kernels have room for."""


@dataclass
class _Step:
    """An operation: nodes that it reads, and the one that it works out."""

    name: str
    given: list[int]
    node: int
    stored: bool = False
    number: int = 0  #: of a component, or of the noise


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
        self.same = self._same()
        self.results = [(results[name], n) for name, n in program.results]
        self.at: dict[int, Place] = {_HELD: _HELD_AT}
        self.direct: dict[int, int] = {}  # node: plane that it is written to
        if not rows:
            for plane, n in self.results:
                if not self._leaf(n) and not self.same[n]:
                    self.direct.setdefault(n, plane)
        #: The list in the making: operation, where its result goes, what it reads, a number.
        self.list: list[tuple[str, Place | None, list[Place], int]] = []
        self._uniform()
        self._scan(self._ended(self._ordered(), rows))
        if rows:
            self.code.columns = len(results)
        self._number()

    def _leaf(self, n: int) -> bool:
        return self.nodes[n][0] in ("const", "name")

    def _loaded(self, n: int) -> bool:
        return n >= 0 and self.nodes[n][0] == "name" and self.places[self.nodes[n][1]][0] == "load"

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

    def _of(self, n: int) -> Place:
        """Where a node is."""
        if n not in self.at:
            node = self.nodes[n]
            place = ("known", node[1]) if node[0] == "const" else self.places[node[1]]
            if place[0] == "known":  # a constant, or a parameter by its name
                self.code.presets.append(node[1])
                place = ("known", len(self.code.presets) - 1)
            self.at[n] = place
        return self.at[n]

    def _uniform(self) -> None:
        for n, (operation, *given) in enumerate(self.nodes):
            if self.same[n] and not self._leaf(n):
                read = [self._of(operand) for operand in given]
                self.at[n] = ("uniform", self.code.uniform)
                self.list.append((operation, self.at[n], read, 0))
                self.code.uniform += 1
        self._check("uniform", self.code.uniform)

    # The order of operations.

    def _ordered(self) -> list[_Step]:
        """What is not the same for all bodies."""
        readers: dict[int, int] = {}
        for n in [operand for node in self.nodes for operand in operands(node)] + [n for _, n in self.results]:
            readers[n] = readers.get(n, 0) + 1
        steps: list[_Step] = []
        # What works out a node, for the one who reads it; all else is in memory.
        parts: dict[int, list[_Step]] = {}
        results = {n for _, n in self.results}
        for n, (operation, *_) in enumerate(self.nodes):
            if self.same[n] or self._leaf(n):
                continue
            if operation == "noise":
                steps.append(_Step("noise", [], n, True, self.nodes[n][1]))
                continue
            given = operands(self.nodes[n])
            part = self._part(n, operation, given, [parts.pop(m, []) for m in given])
            if readers[n] > 1 or n in results or operation in _ASIDE:
                part[-1].stored = True
                steps += part
            else:
                parts[n] = part
        return steps

    def _part(self, n: int, operation: str, given: list[int], parts: list[list[_Step]]) -> list[_Step]:
        """What works out a node, from what works out its operands that are not in memory."""
        there = [i for i, part in enumerate(parts) if part]
        if not there:
            return [_Step(operation, given, n, operation in _ASIDE)]
        products = [len(part) == 1 and part[0].name == "mul" for part in parts]
        if operation in ("add", "sub") and len(there) == 2 and any(products):
            return self._with_product(n, operation, parts, products)
        there.sort(key=lambda i: -len(parts[i]))  # stable
        steps = parts[there[0]]
        for i in there[1:]:
            steps[-1].stored = True
            steps += parts[i]
        last = there[-1]
        if operation in _ASIDE:
            steps[-1].stored = True
            return [*steps, _Step(operation, given, n, True)]
        if operation not in _ON_HELD:
            return [*steps, _Step(operation, [_HELD if i == last else m for i, m in enumerate(given)], n)]
        name, others = _ON_HELD[operation][last]
        read = [given[i] for i in others]
        joined = _JOINED.get((steps[-1].name, name))
        if joined and not steps[-1].stored:
            read = steps.pop().given + read
        steps.append(_Step(joined or name, read, n))
        return steps

    def _with_product(
        self, n: int, operation: str, parts: list[list[_Step]], products: list[bool]
    ) -> list[_Step]:
        """Sums and differences of which one operand, at least, is no more than a product."""
        left, right = parts
        if all(products):
            read = left[0].given + right[0].given
            if operation == "add" and read[0] == read[1] and read[2] == read[3]:
                return [_Step("squares_added", read[::2], n)]
            return [_Step("products_added" if operation == "add" else "products_subtracted", read, n)]
        if products[1]:
            left.append(_Step("add_product" if operation == "add" else "sub_product", right[0].given, n))
            return left
        right.append(_Step("add_product" if operation == "add" else "from_product", left[0].given, n))
        return right

    def _ended(self, steps: list[_Step], rows: bool) -> list[_Step]:
        """With what is loaded, stored row by row and copied; and what is in registers is read from there."""
        done: list[_Step] = []
        loaded: set[int] = set()
        held = None  # node
        for place, n in self.results:
            if rows:
                steps.append(_Step("store", [n], n, number=place))
            elif self.direct.get(n) != place:
                steps.append(_Step("take", [n], n, number=place))
        for step in steps:
            for n in step.given:
                if self._loaded(n) and n not in loaded:
                    loaded.add(n)
                    held = None
                    done.append(_Step("load", [], n, True, self.places[self.nodes[n][1]][1]))
            if held in step.given and step.name in _ON_HELD:
                if step.name == "mul" and step.given == [held, held]:
                    step.name, step.given = "and_square", []
                else:
                    which = step.given.index(held)
                    if which in _ON_HELD[step.name]:
                        step.name, others = _ON_HELD[step.name][which]
                        step.given = [step.given[i] for i in others]
            # A number that is the same for all is read once where it comes first.
            for i in _FACTORS.get(step.name, ()):
                if self.same[step.given[i + 1]]:
                    step.given[i : i + 2] = step.given[i + 1], step.given[i]
            held = None if step.name in _ASIDE else step.node
            done.append(step)
        return done

    # Where results go.

    def _scan(self, steps: list[_Step]) -> None:
        last: dict[int, int] = {}  # node: its last reader
        for number, step in enumerate(steps):
            for n in step.given:
                last[n] = number
        free: list[int] = []
        rows = 0
        by_block = any(step.name in _ASIDE for step in steps)
        held: dict[int, int] = {}  # node: its row
        for number, step in enumerate(steps):
            read = [self._of(n) for n in step.given]
            free += [held.pop(n) for n in dict.fromkeys(step.given) if last[n] == number and n in held]
            to: Place | None = None
            if step.name == "take":
                to = ("result", step.number)
            elif step.name != "store" and step.node in self.direct:
                to = self.at[step.node] = ("result", self.direct[step.node])
            elif step.stored and step.node in last:
                if not free:
                    free.append(rows)
                    rows += 1
                    self._check("registers", rows)
                held[step.node] = free.pop()
                to = self.at[step.node] = ("row", held[step.node]) if by_block else ("register", held[step.node] + 1)
            self.list.append((step.name, to, read, step.number))

    def _number(self) -> None:
        """Operands by their numbers."""
        found = {_HELD_AT: None} | {place: None for _, to, read, _ in self.list for place in (*read, to) if place}
        self.code.operands = sorted(found, key=lambda place: place[0] not in _STILL)  # stable
        self.code.still = sum(kind in _STILL for kind, _ in self.code.operands)
        self._check("operands", len(self.code.operands))
        numbers: dict[Place | None, int] = {place: number for number, place in enumerate(self.code.operands)}
        numbers[None] = -1
        run = 0
        for k, (name, to, read, number) in reversed(list(enumerate(self.list))):
            run = 0 if name in _ASIDE else 1 if k == self.code.uniform - 1 else run + 1
            a, b, c, d = [*(numbers[place] for place in read), 0, 0, 0, 0][:4]
            self.code.operations.append((name, numbers[to], a, b, number if name in _NUMBERED else c, d, run))
        self.code.operations.reverse()

    def _check(self, what: str, number: int) -> None:
        if number > self.limits[what]:
            raise TooManyError(what)


