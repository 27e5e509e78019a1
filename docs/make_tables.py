"""Write the figures of speed.md and README.md from bench/results: python docs/make_tables.py. A test compares them."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parent
SPEED, README = DOCS / "speed.md", DOCS.parent / "README.md"
RESULTS = DOCS.parent / "bench" / "results" / "epyc-zen4.json"

SINGLE = {  # title of a row in the first table: its case
    "100,000 bodies, semi-implicit Euler, `step(64)`, float32, component-major":
        "100,000 bodies, gravity + linear drag, semi implicit euler, step(64), component-major, f32",
    "the same in float64, rows of (x, y, z)":
        "100,000 bodies, gravity + linear drag, semi implicit euler, step(64), row-major, f64",
    "velocity Verlet, float64, rows":
        "100,000 bodies, gravity + linear drag, velocity verlet, step(64), row-major, f64",
    "`rk4`, float64, component-major": "100,000 bodies, gravity + linear drag, rk4, step(64), component-major, f64",
    "`PointGravity`, velocity Verlet, float64, component-major":
        "100,000 bodies, PointGravity, velocity verlet, step(64), component-major, f64",
    "2,000,000 bodies, `step(1)`, float64, rows":
        "2,000,000 bodies, gravity + linear drag, semi implicit euler, step(1), row-major, f64",
    "100 bodies, `step()`, float32": "100 bodies, gravity + linear drag, semi implicit euler, step(1), row-major, f32",
    "one body, `step()`": "1 body, gravity + linear drag, semi implicit euler, step(1), row-major, f32",
}  # fmt: skip
PEERS = {"NumPy": "NumPy in place", "numba": "numba, plain loop", "numba expert": "numba, fastmath", "C": "C, by hand"}
OTHERS = {  # title of a row in the second table: its case and peer
    "1,000 bodies that attract each other, 10 leapfrog steps": (
        "n-body gravity, 1,000 bodies, leapfrog, step(10), f64", "REBOUND"),
    "3 of them, 1,000 steps": ("n-body gravity, 3 bodies, leapfrog, step(1000), f64", "REBOUND"),
    "2,000 elastic circles in a box, a step": (
        "2,000 elastic circles in a box, 30 % of its area, step(), f64", "pymunk"),
    "5,000 elastic circles in a box, a step": (
        "5,000 elastic circles in a box, 30 % of its area, step(), f64", "pymunk"),
    "a cloth of 64 × 64, 16 relaxations, a step, float32": (
        "a cloth of 64 x 64, Verlet, 16 relaxations, given, step(1), f32", "numba, pair by pair"),
    'the same with `order="coloured"`': (
        "a cloth of 64 x 64, Verlet, 16 relaxations, coloured, step(1), f32", "numba, pair by pair"),
    "1,000 Lorenz trajectories, 200 steps of `rk4`": (
        "1,000 Lorenz trajectories, 200 steps of rk4, f64", "numba, planes"),
    "1,000 orbits, once round to 1e-6": (
        "1,000 orbits of period 1, once round to 1e-6, f64", "SciPy, solve_ivp DOP853"),
}  # fmt: skip


def tables():
    """Return {page: {name: Markdown}} of the generated parts."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = {(row["case"], row["peer"]): row for row in results["rows"]}
    machine, versions = results["machine"], ("numpy", "numba", "scipy", "rebound", "pymunk")
    processor = machine["processor"].partition("model name ")[2] or machine["processor"]
    said = ", ".join(f"{name} {machine[name]}" for name in versions)
    note = f"; {machine['note']}" if "note" in machine else ""
    first = ["| work | kickdrift | " + " | ".join(PEERS.values()) + " |", "|---" * (2 + len(PEERS)) + "|"]
    for name, case in SINGLE.items():
        cells = [times(rows.get((case, peer))) for peer in PEERS]
        first.append(f"| {name} | {rows[case, 'NumPy']['ours']} | {' | '.join(cells)} |")
    second = ["| work | kickdrift | beside | takes |", "|---|---|---|---|"]
    for name, (case, peer) in OTHERS.items():
        second.append(f"| {name} | {rows[case, peer]['ours']} | {peer} | {times(rows[case, peer])} |")
    one, many = rows[SINGLE["one body, `step()`"], "NumPy"]["ours"], "100,000 bodies, gravity + linear drag"
    gains = [row["ratio"] for (case, peer), row in rows.items() if case.startswith(many) and peer == "NumPy"]
    headline = (
        f"A step of one body takes {one}. Steps of 100,000 bodies are {min(gains):.0f} to {max(gains):.0f} times\n"
        f"as fast as with NumPy in place ({processor}, {results['date']}; [performance](docs/speed.md))."
    )
    speed = {
        "machine": f"Measured on {results['date']} on an {processor} (Zen 4, AVX-512), one thread, with Python "
        f"{machine['python']}, kickdrift {machine['kickdrift']}, {said}{note}.",
        "single": "\n".join(first),
        "others": "\n".join(second),
    }
    return {SPEED: speed, README: {"headline": headline}}


def times(row):
    return "–" if row is None or row["ratio"] is None else f"{row['ratio']:.2g} ×"


def filled(page):
    """Return the text of a page with its generated parts updated."""
    text = page.read_text(encoding="utf-8")
    for name, part in tables()[page].items():
        text, found = re.subn(
            rf"(<!-- generated: {name} -->\n\n).*?(\n\n<!-- end -->)",
            lambda match, part=part: match[1] + part + match[2],
            text,
            flags=re.DOTALL,
        )
        assert found == 1, name
    return text


if __name__ == "__main__":
    for page in (SPEED, README):
        page.write_text(filled(page), encoding="utf-8")
