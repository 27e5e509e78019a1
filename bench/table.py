"""Output: one row per comparison, as Markdown or JSON."""

import json
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from time import perf_counter

import kickdrift as kd

from .timing import measure, ratio

HEADER = ("case", "ours", "against", "theirs", "theirs / ours", "middle half", "goal", "met", "roofline")


@dataclass
class Row:
    """One comparison; `goal` and `met` are empty if it is for information."""

    case: str
    ours: str
    peer: str
    theirs: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    goal: str = ""
    met: bool | None = None
    ours_seconds: float | None = None  #: the median
    work: dict[str, float] | None = None  #: of kickdrift: bytes and operations per second, share of the limit

    def cells(self) -> tuple[str, ...]:
        median = "" if self.ratio is None else f"{self.ratio:.2f}"
        spread = "" if self.low is None else f"{self.low:.2f} to {self.high:.2f}"
        met = {None: "", True: "yes", False: "**no**"}[self.met]
        return self.case, self.ours, self.peer, self.theirs, median, spread, self.goal, met, self.roofline()

    def roofline(self) -> str:
        if self.work is None:
            return ""
        moved, operations = self.work["bytes"] / 1e9, self.work["operations"] / 1e9
        return f"{moved:.3g} GB/s ({self.work['share']:.0%}), {operations:.3g} Gop/s"


def compare(
    title: str, runs: dict[str, Callable[[], object]], goals: dict[str, float | None], rounds: int, missing: list[str],
    clock: Callable[[], float] = perf_counter,
) -> list[Row]:  # fmt: skip
    """Measure "ours" and the peers in turns; return a row for each goal, and for each peer not installed."""
    times = measure(runs, rounds, clock=clock)
    median = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
    middle = {name: seconds(value) for name, value in median.items()}
    rows = []
    for name, goal in goals.items():
        if name in runs:
            r = ratio(times[name], times["ours"])
            met = None if goal is None else r.median >= goal
            wanted = "" if goal is None else f"≥ {goal:.3g}"
            row = Row(title, middle["ours"], name, middle[name], r.median, r.low, r.high, wanted, met)
            row.ours_seconds = median["ours"]
            rows.append(row)
    return rows + [Row(title, "", name, "not installed") for name in missing]


def at_most(
    title: str, times: dict[str, list[float]], most: float | None, spare: float = 0.0,
) -> Row:  # fmt: skip
    """Compare the first of two with the second: the limit is `most` times its time plus `spare` seconds."""
    (_, ours), (peer, theirs) = times.items()
    r = ratio(ours, theirs)
    middle = [sorted(values)[len(values) // 2] for values in (ours, theirs)]
    more = f" + {seconds(spare)}" if spare else ""
    goal = "" if most is None else f"≤ {most:.3g} times as long{more}"
    met = None if most is None else r.median <= most + spare / middle[1]
    return Row(title, seconds(middle[0]), peer, seconds(middle[1]), *r, goal, met)


def bits(dtype: str) -> str:
    """Return f32 or f64."""
    return dtype.replace("loat", "")


def seconds(value: float) -> str:
    """Format a time in a suitable unit."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def header() -> str:
    return line(HEADER) + "\n" + "|---" * len(HEADER) + "|"


def machine(versions: dict[str, str]) -> dict[str, str]:
    """Return processor, versions and instruction set."""
    info = kd.build_info()
    return {
        "processor": processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "kickdrift": f"{info['version']}, {info['compiler']}, {info['isa']}",
        **versions,
    }


def processor() -> str:
    """Return maker, family and name of the processor, if the system provides them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(part.split("\t: ", 1) for part in lines if "\t: " in part)
    keys = ("vendor_id", "cpu family", "model\t", "model name")
    return ", ".join(f"{key.strip()} {found[key]}" for key in keys if key in found) or platform.machine()


def report(about: dict[str, str], rows: Iterable[Row], path: str | None) -> list[Row]:
    """Print the machine, each row as it comes, and the number of goals met; save all to a file, if one is given."""
    for key, value in about.items():
        print(f"- {key}: {value}")
    print(f"\n{header()}")
    printed = []
    for row in rows:
        printed.append(row)
        print(line(row.cells()), flush=True)
    met, missed = (sum(row.met is outcome for row in printed) for outcome in (True, False))
    print(f"\n{met} goals met, {missed} missed.")
    if path:
        save(path, about, printed)
    return printed


def save(path: str, about: dict[str, str], rows: list[Row]) -> None:
    """Save all rows as JSON, with the command that produced them."""
    written = [asdict(row) for row in rows]
    content = {"command": sys.argv, "date": str(date.today()), "machine": about, "rows": written}
    Path(path).write_text(json.dumps(content, indent=1) + "\n")


def plot(path: str, about: dict[str, str], rows: list[Row]) -> None:
    """Plot the ratio of times for each row."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [row for row in rows if row.ratio is not None][::-1]
    figure, axes = pyplot.subplots(figsize=(14, 1 + 0.2 * len(shown)), layout="constrained")
    colors = {None: "tab:gray", True: "tab:green", False: "tab:red"}
    for place, row in enumerate(shown):
        axes.barh(place, row.ratio, color=colors[row.met])
        if row.low is not None:
            axes.plot([row.low, row.high], [place, place], color="black", linewidth=1)
    axes.set_yticks(range(len(shown)), [f"{row.case}: {row.peer}" for row in shown], fontsize=6)
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.5)
    axes.set_xlabel("their time / ours; green: goal met, red: missed, gray: no goal; lines: middle half")
    axes.set_title(about["processor"])
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
