"""Expressions: valid ones equal Python's own evaluation, everything else is refused.

A text is either accepted or raises a ValueError that points at a column. No other exception is raised, nothing is
executed, and time and memory are bounded.
"""

import builtins
import math
import random
import re
import time

import kickdrift as kd
from kickdrift.forces.formula.program import MOST
from kickdrift.reference import floats, formulas, functions

from .common import check, tally

SOON = 3.0  # seconds of processor time
NAMES = {"x": 0.75, "y": -1.25, "t": 2.0, "vx": 0.5, "m": 3.0, "a": 1.5, "pi": math.pi}
ONE = ("sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "cbrt", "abs", "floor")
PIECES = [
    "(", ")", "((", "))", "+", "-", "*", "/", "**", "//", "%", "@", "<", "<=", "==", "!=", ",", ".", "..",
    "...", ":=", "=", "[", "]", "{", "}", ":", ";", "\\", "'", '"', "'''", "#", "\n", "\r", "\t", "\0", "\x0c",
    "\x7f", "~", "&", "|", "^", "!", "?", "$", "`", " ", "  ", "_", "__", "x", "y", "a", "t", "m", "vx", "pi",
    "1", "0", "1e999", "1e-999", "1j", "0x10", "0b1", "0o7", "1_0", "1__0", "007", "1.", ".5", "1e", "1e+",
    "9" * 400, "9" * 5000, "0." + "1" * 3000, "nan", "inf", "True", "None", "not", "and", "or", "if", "else",
    "for", "in", "is", "lambda", "lambda:0", "yield", "await", "async", "print", "import", "del", "sin", "sin(",
    "where(", "norm(", "noise(", "noise(0)", "max(", "f'{bomb()}'", "b'x'", "bomb()", "bomb", "().__class__",
    "__import__('os')", "x.__class__", "x.real", "x[0]", "[x for x in y]", "{x:y}", "(x for x in y)", "*x",
    "**x", "sin(x=1)", "sin(*x)", "open('f')", "eval('bomb()')", "exec", "globals()", "__builtins__",
    "__class__", "breakpoint()", "\u0445", "\u03c0", "\uff58", "\u2212", "\u00d7", "\u00b2", "\u0661", "\u200b",
    "\u00a0", "\u2028", "\ufeff", "\ud800", "\U0001d465", "si\u0307n", "\u017fin(x)", "1\u0660", "x\u0301",
    "\u00e9", "é", "ⅷ", "½",
]  # fmt: skip


def formula(rng, depth):
    """Draw a valid expression."""
    kind = rng.randrange(10) if depth else rng.randrange(3)
    if kind == 0:
        return rng.choice(["1", "2.5", ".5", "3.", "1e-3", "0", "7", "0.1", "12e1"])
    if kind < 3:
        return rng.choice([*NAMES])
    if kind == 3:
        return f"-{formula(rng, depth - 1)}" if rng.random() < 0.5 else f"+{formula(rng, depth - 1)}"
    if kind == 4:
        return f"({formula(rng, depth - 1)})"
    if kind == 5:
        return f"{rng.choice(ONE)}({formula(rng, depth - 1)})"
    if kind == 6:
        name, count = rng.choice([("min", 2), ("max", 3), ("atan2", 2), ("clamp", 3), ("norm", 2), ("dot", 4)])
        return f"{name}({', '.join(formula(rng, depth - 1) for _ in range(count))})"
    if kind == 7:
        test = f"{formula(rng, depth - 1)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {formula(rng, depth - 1)}"
        test = rng.choice([test, f"not {test}", f"{test} and {test}", f"{test} or x < 1"])
        return f"where({test}, {formula(rng, depth - 1)}, {formula(rng, depth - 1)})"
    if kind == 8:
        return f"({formula(rng, depth - 1)})**{rng.choice(['2', '3', '-1', '(-2)', '0', '5'])}"
    blank = rng.choice(["", " "])
    return f"{formula(rng, depth - 1)}{blank}{rng.choice('+-*/')}{blank}{formula(rng, depth - 1)}"


class Number(float):
    """A float whose operations return what expressions return where Python's operations raise."""

    def __truediv__(self, other):
        return Number(floats.divided(float(self), float(other)))

    def __rtruediv__(self, other):
        return Number(floats.divided(float(other), float(self)))

    def __pow__(self, n):
        total = Number(1)
        for _ in range(abs(int(n))):
            total = total * self
        return total if n >= 0 else 1 / total


def number_operation(operation):
    """Turn an operation on floats into one on Numbers."""
    return lambda *given: Number(operation(*map(float, given)))


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "neg", "pos", "abs"):
    setattr(Number, f"__{_name}__", number_operation(getattr(float, f"__{_name}__")))


def evaluate(text):
    """Evaluate a trusted expression with Python."""
    known = {name: Number(value) for name, value in NAMES.items()}
    known |= {
        name: lambda *a, name=name: Number(formulas.operate(name, float, *map(float, a))) for name in (*ONE, "atan2")
    }
    known["min"] = lambda *a: folded(lambda u, v: v if v < u else u, a)
    known["max"] = lambda *a: folded(lambda u, v: v if u < v else u, a)
    known["clamp"] = lambda a, low, high: known["min"](known["max"](a, low), high)
    known["norm"] = lambda a, b: Number(functions.sqrt(float(a * a + b * b)))
    known["dot"] = lambda a, b, c, d: a * c + b * d
    known["where"] = lambda test, a, b: a if test else b
    numbers = re.sub(r"(?<![\w.])(\d+\.?\d*(?:e-?\d+)?|\.\d+)", r"Number(\1)", text)
    return float(eval(numbers, {"__builtins__": {}, "Number": Number}, known))


def folded(function, values):
    total = values[0]
    for value in values[1:]:
        total = function(total, value)
    return total


def arbitrary_text(rng):
    """Draw an arbitrary text."""
    kind = rng.randrange(8)
    if kind == 0:
        return "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 12)))
    if kind == 1:
        n = rng.choice([59, 60, 61, 200, 3000, 100_000])
        left, right = rng.choice(
            [("(", ")"), ("-", ""), ("sin(", ")"), ("1+(", ")"), ("not ", ""), ("x**", ""), ("[", "]"), ("+", "")]
        )
        return left * n + "x" + right * (n - rng.randrange(2))
    if kind == 2:
        return rng.choice(["+", "*", " - ", "**", "<", ",", " and "]).join(["x"] * rng.choice([10, 999, 2001, 100_000]))
    if kind == 3:
        return "".join(chr(rng.choice([rng.randrange(128), rng.randrange(0x110000)])) for _ in range(rng.randrange(30)))
    if kind == 4:
        return rng.choice(["max", "norm", "dot", "where", "noise"]) + "(" + "x, " * rng.choice([1, 9, 5000]) + ")"
    text = list(formula(rng, rng.randrange(1, 5)))
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(text) + 1)
        if kind == 5:
            text[place:place] = rng.choice(PIECES)
        elif kind == 6:
            del text[place : place + rng.randrange(1, 4)]
        else:
            text[place : place + 1] = chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x3000)]))
    return "".join(text)


def read(text):
    """Parse a text; return the expression, or the column that its error points at."""
    began = time.process_time()
    try:
        result = kd.Expression(x=text, a=1.5)
    except ValueError as error:
        said = str(error)
        column = re.search(r"at column (\d+):\n  (.*)\n  ( *)\^\Z", said, re.DOTALL)
        check(column is not None, f"{text[:200]!a}: no place in {said[:300]!a}")
        check(1 <= int(column[1]) <= len(text) + 1, f"{text[:200]!a}: column {column[1]} of {len(text)}")
        check(len(said) < 1000 and said.isascii(), f"{text[:200]!a}: {said[:300]!a}")
        result = int(column[1])
    except BaseException as error:
        raise AssertionError(f"{text[:200]!a}: {type(error).__name__}: {error}") from error
    check(time.process_time() - began < SOON, f"{text[:200]!a}: {time.process_time() - began:.1f} s")
    return result


def texts(seed):
    """Test twenty valid expressions and eighty arbitrary texts."""
    rng = random.Random(seed)
    called = []
    builtins.bomb = lambda *given: called.append(given)
    try:
        for number in range(100):
            tally.operations += 1
            text = formula(rng, rng.randrange(1, 5)) if number % 5 == 0 else arbitrary_text(rng)
            term = read(text)
            if not isinstance(term, int):
                check(
                    len(term.operations.nodes) <= 4 * MOST, f"{text[:200]!a}: {len(term.operations.nodes)} operations"
                )
            if number % 5 == 0:
                check(not isinstance(term, int) or len(text) > 4000, f"{text!a} was refused at column {term}")
                if not isinstance(term, int):
                    ours, theirs = float(formulas.evaluate(term.operations, float, NAMES)["x"]), evaluate(text)
                    near = ours == theirs or abs(ours - theirs) <= 1e-9 * abs(theirs)
                    near = near or (not math.isfinite(ours) and not math.isfinite(theirs))
                    check(near, f"{text!a}: {ours}, not {theirs}")
        check(not called, "something was evaluated")
    finally:
        del builtins.bomb
