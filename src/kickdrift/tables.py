"""Plain-text tables: ASCII only, whatever the locale."""

from __future__ import annotations

from collections.abc import Sequence


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


def percent(share: float) -> str:
    """Format a signed share in percent; rounding errors become zero."""
    value = 100 * share
    if abs(value) < 1e-9:
        return "0"
    return f"{value:+.2f}%" if 0.005 <= abs(value) < 1e4 else f"{value:+.0e}%"
