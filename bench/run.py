"""The command line: check, measure, print."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from kickdrift import kernels

from . import footprint, ode, peers, roofline, table, together, users, ways
from .cases import CASES, Case
from .scene import Contestant, Scene
from .table import Row, bits, compare

# Peers may contract, reassociate or compute in float64; a wrong formula is off by far more.
TOLERANCE = {"float32": 1e-3, "float64": 1e-9}


def check(name: str, scene: Scene, ours: Contestant, theirs: Contestant, exact: bool) -> None:
    """Check that both computed the same result, after each ran once."""
    for what in ("position", "velocity"):
        mine, other = (np.asarray(getattr(contestant, what)()) for contestant in (ours, theirs))
        close = TOLERANCE[scene.dtype]
        equal = np.array_equal if exact else partial(np.allclose, rtol=close, atol=close)
        if not equal(mine, other):
            worst = np.abs(mine - other).max()
            raise SystemExit(f"{name} computes another {what} than ours in {scene}: they differ by up to {worst:g}")


def label(case: Case, scene: Scene) -> str:
    """Return a short description of a scene."""
    integrator = scene.integrator.replace("_", " ")
    bodies = "1 body" if scene.n == 1 else f"{scene.n:,} bodies"
    return f"{bodies}, {case.title}, {integrator}, step({scene.steps}), {scene.layout}-major, {bits(scene.dtype)}"


def rows(case: Case, scene: Scene, rounds: int) -> list[Row]:
    """Check and measure one scene with all its peers."""
    title = label(case, scene)
    rivals: dict[str, Contestant] = {}
    goals: dict[str, float | None] = {}
    missing = []
    for name, goal in case.peers.items():
        if not peers.installed(name):
            missing.append(name)
            continue
        rivals[name], goals[name] = peers.contestant(name, scene), goal
    for name, (changes, goal) in case.changes.items():
        rivals[name], goals[name] = replace(scene, **changes).ours(), goal
    for isa in kernels.isas:
        if isa != scene.isa:
            name = f"ours, {isa}"
            # No instruction set may be slower than the baseline, within noise.
            rivals[name], goals[name] = replace(scene, isa=isa).ours(), 0.97 if isa == "baseline" else None
    ours = scene.ours()
    ours.run()
    for name, rival in rivals.items():
        rival.run()
        check(name, scene, ours, rival, name in peers.EXACT or name.startswith("ours"))
    runs = {"ours": ours.run, **{name: rival.run for name, rival in rivals.items()}}
    compared = compare(title, runs, goals, rounds, missing)
    for row in compared:
        if row.ours_seconds is not None and scene.n >= 10_000:  # below that, call overhead dominates
            row.work = roofline.work(scene, row.ours_seconds)
    return compared


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute: float32 only, few rounds")
    parser.add_argument("--json", metavar="FILE", help="write everything to a file as well")
    parser.add_argument("--plot", metavar="FILE", help="draw the table, such as table.png; needs matplotlib")
    parser.add_argument("--note", default="", help="what to know about this run, such as who else is on the machine")
    parser.add_argument("--case", metavar="NAME", action="append", help="only this case; may be repeated")
    parser.add_argument("--rounds", type=int, help="how often each contestant has its turn")
    parser.add_argument("--list", action="store_true", help="print the cases and their goals")
    options = parser.parse_args()
    functions = together.CASES | ways.CASES | ode.CASES | users.CASES | footprint.CASES
    names = [case.name for case in CASES] + list(functions)
    for name in options.case or ():
        if name not in names:
            parser.error(f"--case {name}: expected one of {', '.join(names)}")
    if options.list:
        for case in CASES:
            print(f"{case.name:10} {case.title}: {len(case.scenes)} scenes against {', '.join(case.peers)}")
        for name, function in functions.items():
            print(f"{name:10} {function.__doc__}")
        return
    wanted = options.case or names
    rounds = options.rounds or (3 if options.quick else 11)
    about = table.machine(peers.versions())
    if options.note:
        about["note"] = options.note

    def measured() -> Iterator[Row]:
        for case in CASES:
            for scene in case.scenes if case.name in wanted else ():
                if not (options.quick and scene.dtype == "float64"):
                    yield from rows(case, scene, rounds)
        for name, function in functions.items():
            if name in wanted:
                yield from function(rounds)

    printed = table.report(about, measured(), options.json)
    if options.plot:
        table.plot(options.plot, about, printed)
