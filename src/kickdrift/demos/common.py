"""Numbers on the command line, and plain-text tables: ASCII only, whatever the locale."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence


def count(of: str, like: int, least: int = 1) -> Callable[[str], int]:
    """Make an argparse type for a count."""

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
    """Format a header and rows, with label columns aligned left and numbers right."""
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
    """Join titled tables of equal height side by side."""
    columns = []
    for title, block in blocks:
        lines = [title, *block.splitlines()]
        width = max(map(len, lines))
        columns.append([line.ljust(width) for line in lines])
    return "\n".join(" | ".join(row).rstrip() for row in zip(*columns, strict=True))


def fixed(value: float, digits: int = 3) -> str:
    """Format with fixed decimals, or with an exponent if that is too wide."""
    if abs(value) >= 1e4:
        return f"{value:.1e}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: no minus sign before a zero


def percent(share: float) -> str:
    """Format a signed share in percent; rounding errors become zero."""
    value = 100 * share
    if abs(value) < 1e-9:
        return "0"
    return f"{value:+.2f}%" if 0.005 <= abs(value) < 1e4 else f"{value:+.0e}%"
