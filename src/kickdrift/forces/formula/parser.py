"""Parse expressions: Python's parser, then a whitelist of syntax nodes. Nothing is evaluated as Python.

An expression has numbers, names, + - * / **, comparisons (with and, or, not, inside of `where`) and calls
of the functions below. Anything else is a ValueError that shows the column. Strings that are too long, nested too
deeply, or contain other characters are rejected before they are parsed.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .program import Builder, TooLongError

LONGEST = 4000  # maximal length of an expression in characters
DEEPEST = 60  # maximal nesting depth of brackets in the text, and of the syntax tree
MOST_LEVELS = 120  # maximal depth of nested definitions
LARGEST_POWER = 64  # largest exponent that is expanded to products
MOST_NOISE = 2**31 - 1
_STRANGE = re.compile(r"[^A-Za-z0-9_ .,+\-*/()<>=!]")
_SIGNS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}

#: Functions of expressions: least and largest number of arguments.
FUNCTIONS = {
    "sin": (1, 1),
    "cos": (1, 1),
    "tan": (1, 1),
    "exp": (1, 1),
    "log": (1, 1),
    "sqrt": (1, 1),
    "tanh": (1, 1),
    "cbrt": (1, 1),
    "abs": (1, 1),
    "floor": (1, 1),
    "pow": (2, 2),
    "atan2": (2, 2),
    "min": (2, 8),
    "max": (2, 8),
    "clamp": (3, 3),
    "norm": (1, 8),
    "dot": (2, 16),
    "where": (3, 3),
    "noise": (1, 1),
}
CONSTANTS = {"pi": math.pi}


class Parser:
    """Parser of the expressions of one declaration, which share their operations.

    title: name of the declaration in errors. names: available variables and parameters. definitions: names
    with expressions of their own. noisy: whether noise(k) is available, as for bodies.
    """

    def __init__(self, title: str, names: Collection[str], definitions: Mapping[str, str], noisy: bool = False) -> None:
        self.title, self.names, self.definitions, self.noisy = title, names, definitions, noisy
        self.builder = Builder()
        self.defined: dict[str, int] = {}
        self.open: list[str] = []  # definitions being parsed, to detect cycles

    def read(self, label: str, text: Any, level: int = 0) -> int:
        """Parse an expression at this nesting depth, and return its node."""
        return _Text(self, label, text, level).read()

    def look_up(self, name: str, level: int, fail: Callable[[str], ValueError]) -> int:
        if name in self.definitions:
            if name in self.open:
                raise fail(f"{name} is defined by itself")
            if name not in self.defined:
                if level >= MOST_LEVELS:
                    raise fail(f"definitions in each other, more than {MOST_LEVELS} levels deep")
                self.open.append(name)
                self.defined[name] = self.read(name, self.definitions[name], level + 1)
                self.open.pop()
            return self.defined[name]
        if name in self.names:
            return self.builder.node("name", name)
        if name in CONSTANTS:
            return self.builder.const(CONSTANTS[name])
        if name in FUNCTIONS:
            raise fail(f"{name} is a function: expected {name}(...)")
        known = ", ".join(sorted({*self.names, *self.definitions, *CONSTANTS}))
        raise fail(f"unknown name {name[:40]!r}; known are {known}")


class _Text:
    def __init__(self, parser: Parser, label: str, text: Any, level: int) -> None:
        self.parser, self.builder, self.level = parser, parser.builder, level
        self.label = f"{parser.title}({label})"
        if not isinstance(text, str):
            raise TypeError(f"{self.label}: expected an expression as a string, got {type(text).__name__}")
        self.text = str(text)

    def fail(self, what: str, column: int) -> ValueError:
        """Return an error that shows the column, counted from 1."""
        first = max(0, column - 41)
        part = self.text[first : first + 60]
        part = "".join(character if character.isprintable() else "?" for character in part)
        part = part.encode("ascii", "replace").decode()
        return ValueError(f"{self.label}: {what}, at column {column}:\n  {part}\n  {' ' * (column - 1 - first)}^")

    def read(self) -> int:
        text = self.text
        if len(text) > LONGEST:
            raise self.fail(f"expected at most {LONGEST} characters, got {len(text)}", LONGEST + 1)
        if strange := _STRANGE.search(text):
            raise self.fail(f"unexpected character {strange.group()!a}", strange.start() + 1)
        depth = 0
        for column, character in enumerate(text, 1):
            depth += (character == "(") - (character == ")")
            if depth > DEEPEST:
                raise self.fail(f"more than {DEEPEST} brackets inside each other", column)
        blank = len(text) - len(text.lstrip())
        if not text.strip():
            raise self.fail("expected an expression, got nothing", 1)
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            column = error.offset + blank if error.offset else len(text)
            raise self.fail(f"invalid expression: {error.msg}", min(len(text), column)) from None
        except (MemoryError, RecursionError, ValueError, OverflowError):
            raise self.fail("nested too deeply, or a number too long", 1) from None
        self.blank = blank
        try:
            return self.number(tree, 0)
        except TooLongError:
            raise self.fail(f"more than {self.builder.most} operations", len(text)) from None
        except RecursionError:  # the caller's stack may already be deep
            raise self.fail("nested too deeply", 1) from None

    def failed(self, what: str, node: ast.AST) -> ValueError:
        return self.fail(what, getattr(node, "col_offset", 0) + 1 + self.blank)

    def number(self, node: ast.expr, depth: int) -> int:
        """Return the node of a numeric subexpression."""
        # Long sums and products are deep left-associative trees: iterate over them.
        right: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
            right.append(node)
            node = node.left
        if depth > DEEPEST:
            raise self.failed(f"nested more than {DEEPEST} deep", node)
        result = self.operand(node, depth)
        for sign in reversed(right):
            result = self.builder.apply(_SIGNS[type(sign.op)], result, self.number(sign.right, depth + 1))
        return result

    def operand(self, node: ast.expr, depth: int) -> int:
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.Name):
            return self.parser.look_up(node.id, self.level + depth, lambda what: self.failed(what, node))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            operand = self.number(node.operand, depth + 1)
            return self.builder.apply("neg", operand) if isinstance(node.op, ast.USub) else operand
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return self.power(self.number(node.left, depth + 1), self.number(node.right, depth + 1), node.right)
        if isinstance(node, ast.Call):
            return self.call(node, depth)
        if isinstance(node, (ast.Compare, ast.BoolOp)) or (isinstance(node, ast.UnaryOp) and type(node.op) is ast.Not):
            raise self.failed("a comparison is no number: expected where(comparison, number, number)", node)
        if isinstance(node, ast.IfExp):
            raise self.failed("expected where(test, a, b) in place of `a if test else b`", node)
        raise self.failed(f"{type(node).__name__} is not allowed in expressions", node)

    def constant(self, node: ast.Constant) -> int:
        given: Any = node.value
        if type(given) not in (int, float):
            raise self.failed(f"expected a real number, got {type(given).__name__}", node)
        try:
            value = float(given)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self.failed("a number too large for float64", node)
        return self.builder.const(value)

    def power(self, base: int, exponent: int, node: ast.expr) -> int:
        value = self.builder.value(exponent)
        if value is not None and not math.isfinite(value):
            raise self.failed(f"expected a finite exponent, got {value}", node)
        if value is not None and value.is_integer() and abs(value) <= LARGEST_POWER:
            return self.builder.power(base, int(value))
        return self.builder.apply("pow", base, exponent)

    def call(self, node: ast.Call, depth: int) -> int:
        if not isinstance(node.func, ast.Name):
            raise self.failed("expected a function by its name", node.func)
        name = node.func.id
        if name not in FUNCTIONS or name in self.parser.names or name in self.parser.definitions:
            raise self.failed(f"no function {name[:40]!r}; known are {', '.join(sorted(FUNCTIONS))}", node)
        if node.keywords:
            raise self.failed(f"{name} takes no arguments by name", node.keywords[0].value)
        least, most = FUNCTIONS[name]
        if not least <= len(node.args) <= most or (name == "dot" and len(node.args) % 2):
            expected = f"{least}" if least == most else f"{least} to {most}"
            even = ", an even number of them" if name == "dot" else ""
            raise self.failed(f"{name} takes {expected} arguments{even}, got {len(node.args)}", node)
        if name == "where":
            test = self.test(node.args[0], depth + 1)
            return self.builder.apply("where", test, *(self.number(argument, depth + 1) for argument in node.args[1:]))
        values = [self.number(argument, depth + 1) for argument in node.args]
        if name == "noise":
            return self.noise(values[0], node)
        apply = self.builder.apply
        if name in ("min", "max"):
            result = values[0]
            for value in values[1:]:
                result = apply(name, result, value)
            return result
        if name == "clamp":  # limits a number to a range
            return apply("min", apply("max", values[0], values[1]), values[2])
        if name == "norm":
            return apply("sqrt", self.products(values, values)) if len(values) > 1 else apply("abs", values[0])
        if name == "dot":
            half = len(values) // 2
            return self.products(values[:half], values[half:])
        if name == "pow":
            return self.power(values[0], values[1], node.args[1])
        return apply(name, *values)

    def noise(self, argument: int, node: ast.Call) -> int:
        if not self.parser.noisy:
            raise self.failed(f"{self.parser.title} has no noise", node)
        k = self.builder.value(argument)
        if k is None or not k.is_integer() or not 0 <= k <= MOST_NOISE:
            raise self.failed(f"noise(k) expects a whole number k from 0 to {MOST_NOISE}, written out", node.args[0])
        return self.builder.node("noise", int(k))

    def products(self, a: list[int], b: list[int]) -> int:
        """Return the scalar product, summed from the first component on."""
        apply = self.builder.apply
        total = apply("mul", a[0], b[0])
        for pair in zip(a[1:], b[1:], strict=True):
            total = apply("add", total, apply("mul", *pair))
        return total

    def test(self, node: ast.expr, depth: int) -> int:
        """Return the node of a condition, 1 or 0."""
        apply = self.builder.apply
        if depth > DEEPEST:
            raise self.failed(f"nested more than {DEEPEST} deep", node)
        if isinstance(node, ast.BoolOp):
            tests = [self.test(value, depth + 1) for value in node.values]
            result = tests[0]
            for test in tests[1:]:
                result = apply("min" if isinstance(node.op, ast.And) else "max", result, test)
            return result
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return apply("sub", self.builder.const(1), self.test(node.operand, depth + 1))
        if isinstance(node, ast.Compare):
            values = [self.number(value, depth + 1) for value in (node.left, *node.comparators)]
            steps = zip(values, node.ops, values[1:], strict=False)
            first, *others = [self.compared(a, sign, b, node) for a, sign, b in steps]
            for other in others:
                first = apply("min", first, other)
            return first
        raise self.failed("expected a comparison, as in where(x < 0, a, b)", node)

    def compared(self, a: int, sign: ast.cmpop, b: int, node: ast.Compare) -> int:
        apply = self.builder.apply
        if isinstance(sign, ast.Lt):
            return apply("less", a, b)
        if isinstance(sign, ast.Gt):
            return apply("less", b, a)
        if isinstance(sign, ast.GtE):
            return apply("not_less", a, b)
        if isinstance(sign, ast.LtE):
            return apply("not_less", b, a)
        if isinstance(sign, ast.Eq):
            return apply("equal", a, b)
        if isinstance(sign, ast.NotEq):
            return apply("sub", self.builder.const(1), apply("equal", a, b))
        raise self.failed("expected one of < <= > >= == !=", node)
