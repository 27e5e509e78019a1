"""Numbers on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def count(of: str, like: int, least: int = 1) -> Callable[[str], int]:
    """An argparse type for a number of things."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            enough = f", at least {least}" if least > 1 else ""
            raise argparse.ArgumentTypeError(f"expected a number of {of}{enough}, such as {like}, got {text!r}")
        return int(text)

    return parse
