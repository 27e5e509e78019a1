"""Derivatives of expressions, by rule on lists of operations (Griewank and Walther 2008, Evaluating Derivatives).

Conventions for missing derivatives: those of abs, sqrt and norm at 0 are 0, min and max have that of the
selected operand, and steps (floor, comparisons) have none.
"""

from __future__ import annotations

from .program import Builder, operands

_STEPS = ("floor", "less", "not_less", "equal")
_CHOICES = ("where", "min", "max")


def gradient(builder: Builder, node: int, names: list[str]) -> list[int | None]:
    """Return the derivative of a node by each name (reverse mode); None where the node does not depend on it."""
    seeds = [builder.node("name", name) for name in names]
    active = _active(builder, node, set(seeds))
    if any(builder.nodes[n][0] in _CHOICES for n in active):
        # Forward mode: reverse mode would multiply unselected branches by 0, which gives NaN if they are infinite.
        return [tangent(builder, node, {seed: builder.const(1)}) for seed in seeds]
    slopes: dict[int, int] = {node: builder.const(1)} if node in active else {}
    for n in sorted(active, reverse=True):
        if n not in slopes:
            continue
        for k, operand in enumerate(operands(builder.nodes[n])):
            if operand in active:
                more = through(builder, n, k, slopes[n])
                if more is not None:
                    slopes[operand] = builder.apply("add", slopes[operand], more) if operand in slopes else more
    return [slopes.get(seed) for seed in seeds]


def tangent(builder: Builder, node: int, changes: dict[int, int]) -> int | None:
    """Return the first-order change of a node for given changes of others (forward mode); None if it is 0."""
    change: dict[int, int] = dict(changes)
    for n in sorted(_active(builder, node, set(changes))):
        if n in changes:
            continue
        total = None
        for k, operand in enumerate(operands(builder.nodes[n])):
            if operand in change:
                more = through(builder, n, k, change[operand])
                if more is not None:
                    total = more if total is None else builder.apply("add", total, more)
        if total is not None:
            change[n] = total
    return change.get(node)


def _active(builder: Builder, node: int, seeds: set[int]) -> set[int]:
    """Return the nodes on paths from the seeds to a node."""
    needed: set[int] = set()
    open_ = [node]
    while open_:
        n = open_.pop()
        if n not in needed:
            needed.add(n)
            open_ += operands(builder.nodes[n])
    active: set[int] = set()
    for n in sorted(needed):
        if n in seeds or any(operand in active for operand in operands(builder.nodes[n])):
            active.add(n)
    return active


def through(builder: Builder, n: int, k: int, d: int) -> int | None:
    """Return d times the derivative of node n by its operand k, or None if it is 0."""
    apply, const = builder.apply, builder.const
    operation, *rest = builder.nodes[n]
    a = rest[0]

    def times(u: int, v: int) -> int:
        return v if builder.value(u) == 1 else u if builder.value(v) == 1 else apply("mul", u, v)

    def minus(u: int) -> int:
        return int(builder.nodes[u][1]) if builder.nodes[u][0] == "neg" else apply("neg", u)

    if operation in _STEPS:
        return None
    if operation == "add":
        return d
    if operation == "sub":
        return d if k == 0 else minus(d)
    if operation == "mul":
        return times(d, rest[1 - k])
    if operation == "div":
        share = apply("div", d, rest[1])
        return share if k == 0 else minus(times(share, n))
    if operation == "neg":
        return minus(d)
    if operation == "abs":
        above = apply("where", apply("less", const(0), a), d, const(0))
        return apply("where", apply("less", a, const(0)), minus(d), above)
    if operation in ("min", "max"):
        b = rest[1]
        second = apply("less", b, a) if operation == "min" else apply("less", a, b)
        return apply("where", second, *((const(0), d) if k == 0 else (d, const(0))))
    if operation == "where":
        if k == 0:
            return None
        return apply("where", a, *((d, const(0)) if k == 1 else (const(0), d)))
    if operation == "sqrt":
        return apply("where", apply("less", const(0), n), apply("div", d, apply("add", n, n)), const(0))
    if operation == "sin":
        return times(d, apply("cos", a))
    if operation == "cos":
        return minus(times(d, apply("sin", a)))
    if operation == "tan":
        return times(d, apply("add", const(1), apply("mul", n, n)))
    if operation == "exp":
        return times(d, n)
    if operation == "log":
        return apply("div", d, a)
    if operation == "tanh":
        return times(d, apply("sub", const(1), apply("mul", n, n)))
    if operation == "cbrt":
        return apply("div", d, apply("mul", const(3), apply("mul", n, n)))
    if operation == "power":
        exponent = rest[1]
        return times(d, times(const(exponent), builder.power(a, exponent - 1)))
    if operation == "pow":
        b = rest[1]
        if k == 0:
            return times(d, times(b, apply("pow", a, apply("sub", b, const(1)))))
        return times(d, times(n, apply("log", a)))
    if operation == "atan2":
        x = rest[1]
        square = apply("add", apply("mul", x, x), apply("mul", a, a))
        share = apply("div", d, square)
        return times(share, x) if k == 0 else minus(times(share, a))
    raise AssertionError(operation)
