"""What is printed: one row for each comparison, as Markdown or JSON."""

import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import kickdrift as kd

from .timing import measure, ratio

HEADER = ("case", "ours", "against", "theirs", "theirs / ours", "middle half", "goal", "met")


@dataclass
class Row:
    """One comparison; `goal` and `met` stay empty where it is for information."""

    case: str
    ours: str
    peer: str
    theirs: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    goal: str = ""
    met: bool | None = None

    def cells(self) -> tuple[str, ...]:
        median = "" if self.ratio is None else f"{self.ratio:.2f}"
        spread = "" if self.low is None else f"{self.low:.2f} to {self.high:.2f}"
        met = {None: "", True: "yes", False: "**no**"}[self.met]
        return self.case, self.ours, self.peer, self.theirs, median, spread, self.goal, met


def compare(
    title: str, runs: dict[str, Callable[[], object]], goals: dict[str, float | None], rounds: int, missing: list[str]
) -> list[Row]:
    """Measure "ours" and the rivals in turns: a row for each with a goal, and for each that is not installed."""
    times = measure(runs, rounds)
    middle = {name: seconds(sorted(values)[len(values) // 2]) for name, values in times.items()}
    rows = []
    for name, goal in goals.items():
        if name in runs:
            r = ratio(times[name], times["ours"])
            met = None if goal is None else r.median >= goal
            wanted = "" if goal is None else f"≥ {goal:.3g}"
            rows.append(Row(title, middle["ours"], name, middle[name], r.median, r.low, r.high, wanted, met))
    return rows + [Row(title, "", name, "not installed") for name in missing]


def seconds(value: float) -> str:
    """A time in the unit that suits it."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def header() -> str:
    return line(HEADER) + "\n" + "|---" * len(HEADER) + "|"


def machine(versions: dict[str, str]) -> dict[str, str]:
    """Processor, versions and instruction set."""
    info = kd.build_info()
    return {
        "processor": processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "kickdrift": f"{info['version']}, {info['compiler']}, {info['isa']}",
        **versions,
    }


def processor() -> str:
    """Its maker, family and name, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(part.split("\t: ", 1) for part in lines if "\t: " in part)
    keys = ("vendor_id", "cpu family", "model\t", "model name")
    return ", ".join(f"{key.strip()} {found[key]}" for key in keys if key in found) or platform.machine()


def save(path: str, about: dict[str, str], rows: list[Row]) -> None:
    """Everything as JSON, with the command that produced it."""
    content = {"command": sys.argv, "machine": about, "rows": [asdict(row) for row in rows]}
    Path(path).write_text(json.dumps(content, indent=1) + "\n")
