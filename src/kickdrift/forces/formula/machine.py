"""Code generation for expressions: order of operations, register use and memory allocation.

Uniform operations run once per call, before the others. A value with a single reader stays in registers until it is
read. Of two such operands the one with more operations comes first, and is then stored in a row (Sethi and Ullman
1970). Rows are allocated in one pass over the list (linear scan: Poletto and Sarkar 1999): a row is free again after
its last reader. Fused operations round the result of each part, as separate operations do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .program import Program, operands

#: Address of a value: (kind, number) as in engine/formulas.pyx, or ("load", column) for a column of the state of an
#: `ODEStepper`.
Place = tuple[str, Any]
_SAME = ("known", "time", "uniform")
_STILL = ("register", "spread", *_SAME)  #: operands whose address does not depend on the group of bodies
#: Variants of operations that read one operand from registers: {index of this operand: (name of the variant, indices of
#: the operands in memory)}. Sums and products are bitwise commutative.
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
#: Fused operations by pairs of operations: they have the operands of both.
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
#: Fused operations to split before a sum or difference, which is then fused with the product instead. The number of
#: operations is equal, but only this fusion has a variant that reads a uniform factor once.
_PARTED = {"add_mul": "add", "diff_mul": "sub"}
#: Operations whose first two operands may be swapped: the result is bitwise equal.
_FACTORS = {"add", "mul", "mul_add", "mul_sub", "sub_mul", "mul_mul", "add_product", "sub_product", "from_product"}
#: Operations that read an operand from registers.
_GOES_ON = {"and_add", "and_sub", "from", "and_mul", "and_div", "into", "and_neg", "and_square", "and_sqrt"}
_GOES_ON |= {"and_mul_add", "and_mul_sub", "mul_from", "and_mul_mul", "add_product", "sub_product", "from_product"}
#: Operations with a variant for a uniform first operand, which is read once.
_SAME_FIRST = _GOES_ON - {"and_neg", "and_square", "and_sqrt", "and_mul_mul"}
_SAME_FIRST |= {"take", "add", "sub", "mul", "div", "mul_add", "mul_sub", "sub_mul", "mul_mul"}
_SAME_FIRST |= {"products_added", "products_subtracted"}  # require a uniform third operand, too
_NUMBERED = ("load", "store", "noise")
#: After this many stored nodes, also store the nodes that still wait for their single reader.
_PATIENCE = 8
#: Operations on all bodies of a block at once, from memory to memory.
_ASIDE = (*_NUMBERED, "spread", "sin", "cos", "tan", "exp", "log", "tanh", "cbrt", "pow", "atan2")


@dataclass
class Code:
    """The program as arrays, which engine/formulas.pyx converts to C structs."""

    operands: list[Place] = field(default_factory=list)
    still: int = 0  #: number of leading operands with a constant address for all groups of bodies
    #: (name, address of the result or -1, four operands, number). Operations of a run are executed group by group: the
    #: number is that of the remaining operations of the run, including "end". It is 0 for operations on a whole block.
    operations: list[tuple[str, int, int, int, int, int, int]] = field(default_factory=list)
    uniform: int = 0  #: number of uniform operations, which come first
    columns: int = 0  #: number of results stored as array of structures
    presets: list[Any] = field(default_factory=list)  #: constants, and names of parameters with one number


class TooManyError(Exception):
    """The code exceeds a limit of the kernels."""


@dataclass
class _Step:
    """An operation: the nodes that it reads, and its result."""

    name: str
    given: list[int]
    node: int
    stored: bool = False
    number: int = 0  #: index of a component, or the k of noise(k)


def translate(
    program: Program,
    places: Mapping[str, Place],
    limits: Mapping[str, int],
    results: Mapping[str, int],
    rows: bool = False,
) -> Code:
    """Return a program's code. places: address of each name; results: plane of each result, or column if `rows`."""
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
        self.at: dict[int, Place] = {}
        self.spread: dict[int, int] = {}  # {uniform node: address of its broadcast copy}
        self.direct: dict[int, int] = {}  # {node: output component to which its value is written}
        if not rows:
            for plane, n in self.results:
                if not self._leaf(n) and not self.same[n]:
                    self.direct.setdefault(n, plane)
        #: The operations so far: (name, address of the result, addresses of the operands, number).
        self.list: list[tuple[str, Place | None, list[Place], int]] = []
        self._uniform()
        steps = self._ended(self._ordered(), rows)
        self.list += [("spread", ("spread", place), [self._of(n)], 0) for n, place in self.spread.items()]
        before = len(self.list)
        self._scan(steps)
        if rows:
            self.code.columns = len(results)
        self._number(before)

    def _leaf(self, n: int) -> bool:
        return self.nodes[n][0] in ("const", "name")

    def _loaded(self, n: int) -> bool:
        return self.nodes[n][0] == "name" and self.places[self.nodes[n][1]][0] == "load"

    def _same(self) -> list[bool]:
        """Return whether a node is uniform."""
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
        """Return the address of a node."""
        if n not in self.at:
            node = self.nodes[n]
            place = ("known", node[1]) if node[0] == "const" else self.places[node[1]]
            if place[0] == "known":  # a constant, or a parameter by its name
                self.code.presets.append(node[1])
                place = ("known", len(self.code.presets) - 1)
            self.at[n] = place
        return self.at[n]

    def _uniform(self) -> None:
        done = 0
        for n, (operation, *given) in enumerate(self.nodes):
            if self.same[n] and not self._leaf(n):
                read = [self._of(operand) for operand in given]
                self.at[n] = ("uniform", done)
                self.list.append((operation, self.at[n], read, 0))
                done += 1
        self._check("uniform", done)

    # The order of operations.

    def _ordered(self) -> list[_Step]:
        """Order the operations that are not uniform."""
        readers: dict[int, int] = {}
        for n in [operand for node in self.nodes for operand in operands(node)] + [n for _, n in self.results]:
            readers[n] = readers.get(n, 0) + 1
        steps: list[_Step] = []
        # Pending operations that compute a node with a single reader. Other nodes are stored.
        parts: dict[int, list[_Step]] = {}
        results = {n for _, n in self.results}
        stored = 0
        for n, (operation, *_) in enumerate(self.nodes):
            if self.same[n] or self._leaf(n):
                continue
            if operation == "noise":
                part = [_Step("noise", [], n, True, self.nodes[n][1])]
            else:
                given = operands(self.nodes[n])
                part = self._part(n, operation, given, [parts.pop(m, []) for m in given])
            if operation not in _ASIDE and readers[n] == 1 and n not in results:
                parts[n] = part
                continue
            part[-1].stored = True
            steps += part
            stored += 1
            if stored == _PATIENCE:
                # Pending operations keep the rows of their operands occupied: store their results after a while.
                for part in parts.values():
                    part[-1].stored = True
                    steps += part
                parts.clear()
                stored = 0
        return steps

    def _part(self, n: int, operation: str, given: list[int], parts: list[list[_Step]]) -> list[_Step]:
        """Return the operations that compute a node. parts: the pending operations of its operands."""
        there = [i for i, part in enumerate(parts) if part]
        if not there:
            return [_Step(operation, given, n, operation in _ASIDE)]
        products = [len(part) == 1 and part[0].name == "mul" for part in parts]
        if operation in ("add", "sub") and len(there) == 2 and any(products):
            return self._with_product(n, operation, parts, products)
        there.sort(key=lambda i: -len(parts[i]))  # longest first; a stable order
        steps = parts[there[0]]
        for i in there[1:]:
            steps[-1].stored = True
            steps += parts[i]
        if operation not in _ON_HELD:
            steps[-1].stored = True
            return [*steps, _Step(operation, given, n, operation in _ASIDE)]
        name, others = _ON_HELD[operation][there[-1]]
        read = [given[i] for i in others]
        before = steps[-1]
        if before.name in _PARTED and name in ("and_add", "and_sub", "from") and not before.stored:
            before.name, read = _PARTED[before.name], [before.given.pop(), *read]
            name = _JOINED["and_mul", name]
        joined = _JOINED.get((before.name, name))
        if joined in _PARTED and self.same[read[0]]:
            joined = None  # do not fuse: the separate operation reads a uniform operand once
        if joined and not before.stored:
            read = steps.pop().given + read
        steps.append(_Step(joined or name, read, n))
        return steps

    def _with_product(self, n: int, operation: str, parts: list[list[_Step]], products: list[bool]) -> list[_Step]:
        """Compute a sum or difference, at least one of whose operands is a plain product."""
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
        """Add loads, stores of rows and copies of results; read operands from registers if possible."""
        for place, n in self.results:
            if rows:
                steps.append(_Step("store", [n], n, number=place))
            elif self.direct.get(n) != place:
                steps.append(_Step("take", [n], n, number=place))
        held = -1  # node whose value is in registers
        steps = self._with_loads(steps)
        for step in steps:
            if held in step.given and step.name in _ON_HELD:
                if step.name == "mul" and step.given == [held, held]:
                    step.name, step.given = "and_square", []
                else:
                    which = step.given.index(held)
                    if which in _ON_HELD[step.name]:
                        step.name, others = _ON_HELD[step.name][which]
                        step.given = [step.given[i] for i in others]
            self._read_once(step)
            held = -1 if step.name in _ASIDE else step.node
        return steps

    def _with_loads(self, steps: list[_Step]) -> list[_Step]:
        """Load each column before its first use, but not while a value is in registers."""
        done: list[_Step] = []
        loaded: set[int] = set()
        start = 0
        for step in steps:
            if step.name not in _GOES_ON:
                start = len(done)
            for n in step.given:
                if self._loaded(n) and n not in loaded:
                    loaded.add(n)
                    done.insert(start, _Step("load", [], n, True, self.places[self.nodes[n][1]][1]))
                    start += 1
            done.append(step)
        return done

    def _read_once(self, step: _Step) -> None:
        """Move uniform operands to the front, where they are read once; read others from a broadcast copy."""
        given = step.given
        products = step.name.startswith("products")
        for i in (0, 2) if products else (0,) if step.name in _FACTORS else ():
            if self.same[given[i + 1]]:
                given[i], given[i + 1] = given[i + 1], given[i]
        if step.name in _SAME_FIRST and given and self.same[given[0]] and (not products or self.same[given[2]]):
            step.name = f"same_{step.name}"
        for i in self._by_group(step):
            if self.same[given[i]] and self._of(given[i])[0] != "known":
                self.spread.setdefault(given[i], len(self.spread))
        self._check("spread", len(self.spread))

    def _by_group(self, step: _Step) -> list[int]:
        """Return the operands that are read again for each vector of a group."""
        once = (0, 2) if step.name.startswith("same_products") else (0,) if step.name.startswith("same_") else ()
        return [i for i in range(len(step.given)) if step.name not in _ASIDE and i not in once]

    # Allocation of results.

    def _scan(self, steps: list[_Step]) -> None:
        last: dict[int, int] = {}  # {node: index of its last reader}
        parts = self._parts(steps)
        found: dict[int, int] = {}  # {node: run in which it is stored}
        rows: set[int] = set()  # nodes read by another run: stored for all bodies of a block
        for number, step in enumerate(steps):
            for n in step.given:
                last[n] = number
                if found.get(n, parts[number]) != parts[number]:
                    rows.add(n)
            if step.stored:
                found[step.node] = parts[number]
        free: dict[str, list[int]] = {"row": [], "register": []}
        taken = {"row": 0, "register": 0}
        waiting: list[int] = []
        held: dict[int, Place] = {}
        for number, step in enumerate(steps):
            aside = step.name in _ASIDE
            read = [self._of(n) for n in step.given]
            for i in self._by_group(step):
                if step.given[i] in self.spread:
                    read[i] = ("spread", self.spread[step.given[i]])
            if aside:
                free["row"] += waiting
                waiting.clear()
            for n in dict.fromkeys(step.given):
                if last[n] == number and n in held:
                    kind, place = held.pop(n)
                    # The last group overlaps the one before: do not reuse rows that it reads again.
                    (waiting if kind == "row" and not aside else free[kind]).append(place)
            to: Place | None = None
            if step.name in ("take", "same_take"):
                to = ("result", step.number)
            elif step.name != "store" and step.node in self.direct:
                to = self.at[step.node] = ("result", self.direct[step.node])
            elif step.stored and step.node in last:
                kind = "row" if step.node in rows else "register"
                if not free[kind]:
                    free[kind].append(taken[kind])
                    taken[kind] += 1
                    self._check("registers", taken["row"] + -(-taken["register"] // self.limits["parts"]))
                to = self.at[step.node] = held[step.node] = (kind, free[kind].pop())
            self.list.append((step.name, to, read, step.number))

    def _parts(self, steps: list[_Step]) -> list[int]:
        """Return the run of each operation: runs execute group by group, operations in `_ASIDE` on a whole block."""
        parts: list[int] = []
        for number, step in enumerate(steps):
            parts.append(0)
            if number > 0:
                parts[number] = parts[number - 1] + (step.name in _ASIDE or steps[number - 1].name in _ASIDE)
        return parts

    def _number(self, before: int) -> None:
        """Number the operands. before: number of uniform operations."""
        found = {place: None for _, to, read, _ in self.list for place in (*read, to) if place}
        self.code.operands = sorted(found, key=lambda place: place[0] not in _STILL)  # constant addresses first; stable
        self.code.still = sum(kind in _STILL for kind, _ in self.code.operands)
        self._check("operands", len(self.code.operands))
        numbers: dict[Place | None, int] = {place: number for number, place in enumerate(self.code.operands)}
        numbers[None] = -1
        run: list[tuple[str, int, int, int, int, int]] = []

        def end() -> None:
            if run:
                run.append(("end", -1, 0, 0, 0, 0))
                self.code.operations += [(*operation, len(run) - i) for i, operation in enumerate(run)]
                run.clear()

        for k, (name, to, read, number) in enumerate(self.list):
            a, b, c, d = [*(numbers[place] for place in read), 0, 0, 0, 0][:4]
            if name in _ASIDE or k == before:
                end()
            if k == before:
                self.code.uniform = len(self.code.operations)
            if name in _ASIDE:
                self.code.operations.append((name, numbers[to], a, b, number if name in _NUMBERED else c, d, 0))
            else:
                run.append((name, numbers[to], a, b, c, d))
        end()
        if before == len(self.list):
            self.code.uniform = len(self.code.operations)

    def _check(self, what: str, number: int) -> None:
        if number > self.limits[what]:
            raise TooManyError(what)
