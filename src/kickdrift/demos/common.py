"""Numbers on the command line, and plain-text tables: ASCII only, whatever the locale."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence


def count(of: str, like: int, least: int = 1) -> Callable[[str], int]:
    """An argparse type for a number of things."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            enough = f", at least {least}" if least > 1 else ""
            raise argparse.ArgumentTypeError(f"expected a number of {of}{enough}, such as {like}, got {text!r}")
        return int(text)

    return parse


def listed(items: Sequence[object]) -> str:
    *first, last = map(str, items or ["none"])
    return f"{', '.join(first)} and {last}" if first else last


def table(rows: Sequence[Sequence[str]], labels: int = 1, gap: str = "  ") -> str:
    """A header and rows; the columns of labels flush left, the others, numbers, flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        gap.join(
            cell.ljust(width) if column < labels else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([lines[0], gap.join("-" * width for width in widths), *lines[1:]])


def abreast(blocks: Sequence[tuple[str, str]]) -> str:
    """Titled tables of equal height, side by side."""
    columns = []
    for title, block in blocks:
        lines = [title, *block.splitlines()]
        width = max(map(len, lines))
        columns.append([line.ljust(width) for line in lines])
    return "\n".join(" | ".join(row).rstrip() for row in zip(*columns, strict=True))


def fixed(value: float, digits: int = 3) -> str:
    """With so many decimals, or in powers of ten where that would take too much room."""
    if abs(value) >= 1e4:
        return f"{value:.1e}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: no minus sign before a zero


def percent(share: float) -> str:
    """A signed share in percent, from tiny to exploding; what is rounding alone is zero."""
    value = 100 * share
    if abs(value) < 1e-9:
        return "0"
    return f"{value:+.2f}%" if 0.005 <= abs(value) < 1e4 else f"{value:+.0e}%"
