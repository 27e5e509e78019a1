"""Measure the fixed-step clock and the float accumulator of common tutorials.

Prints Markdown: the behaviour of both in difficult cases, the cost of calls, frames and snapshots, and the goals
that are met. `python -m bench.clock` takes about half a minute on an idle machine, with `--quick` a fifth.
"""

import argparse
import math
import statistics
import sys
import timeit
from collections import Counter
from fractions import Fraction

import numpy as np

import kickdrift as kd
from kickdrift import FixedClock

from .table import processor
from .timing import measure


class FloatAccumulator:
    """The usual loop: `accumulator += frame; while accumulator >= dt: ...`."""

    def __init__(self, hz, max_steps=None):
        self.dt, self.accumulator, self.tick, self.max_steps = 1 / hz, 0.0, 0, max_steps

    def advance(self, seconds):
        self.accumulator += seconds
        n = 0
        while self.accumulator >= self.dt and n != self.max_steps:
            self.accumulator -= self.dt
            n += 1
        self.tick += n
        return n

    @property
    def alpha(self):
        return self.accumulator / self.dt

    def plan(self, frames):
        counts, alphas = [], []
        for seconds in frames.tolist():
            counts.append(self.advance(seconds))
            alphas.append(self.alpha)
        return np.array(counts), np.array(alphas)


def display(hz, frames, noise=0.0, seed=1):
    """Frame times of an ideal display seen through noisy timestamps."""
    stamps = np.arange(frames + 1) / hz + np.random.default_rng(seed).normal(0, noise, frames + 1)
    return np.diff(stamps)


def steps_per_frame(clock, frames):
    counts = Counter(clock.plan(frames)[0].tolist())
    return ", ".join(f"{counts[n]:,} x {n}" for n in sorted(counts))


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(title, *cells):
    print(f"\n## {title}\n")
    row(*cells)
    row(*["---"] * len(cells))


class Goals:
    """Goals and measured values, in the order of measurement."""

    def __init__(self):
        self.rows = []

    def add(self, what, goal, got, met):
        self.rows.append((what, goal, got, "yes" if met else "**no**"))

    def show(self):
        head("Goals", "what", "goal", "measured", "met")
        for cells in self.rows:
            row(*cells)


DISPLAYS = [
    (60, 50e-6),
    (60, 300e-6),
    (59.94, 0),
    (59.94, 50e-6),
    (59.94, 300e-6),
    (30, 300e-6),
    (50, 300e-6),
    (72, 300e-6),
    (75, 300e-6),
    (120, 300e-6),
    (144, 300e-6),
    (165, 300e-6),
    (240, 300e-6),
]


def irregular_frames(goals):
    head(
        "Steps per frame, 60 Hz physics, 36,000 frames",
        "display",
        "float accumulator",
        "`FixedClock(60)`",
        '`FixedClock(60, policy="match")`',
    )
    for hz, noise in DISPLAYS:
        frames = display(hz, 36_000, noise)
        name = f"{hz} Hz, {noise * 1e6:g} µs of noise"
        clocks = FloatAccumulator(60), FixedClock(60), FixedClock(60, policy="match")
        row(name, *(steps_per_frame(clock, frames) for clock in clocks))
        if hz in (60, 59.94) and noise > 0:
            counts = FixedClock(60, policy="match").plan(frames)[0]
            irregular, most = int(np.count_nonzero(counts != 1)), 0 if hz == 60 else 36
            goals.add(
                f"{name}, `match`: frames of 0 or 2 steps, of 36,000", f"at most {most}", irregular, irregular <= most
            )
    print("\n59.94 Hz: 36,000 × (60/59.94 - 1) = 36 frames of 2 steps cannot be avoided, less the slack at the start.")


def totals(goals, seconds):
    head("Totals", "case", "truth", "float accumulator", "`FixedClock`")
    day = np.full(seconds * 144, 1 / 144)
    for hz in 60, Fraction(60000, 1001), 64, 120, 1000:
        naive, clock = FloatAccumulator(float(hz)), FixedClock(hz)
        naive.plan(day)
        for k in range(0, len(day), len(day) // 24):
            clock.plan(day[k : k + len(day) // 24])
        absolute = FixedClock(hz)
        for k in range(seconds * 144 + 1):
            absolute.advance_to(k * 10**9 // 144)
        truth, name = seconds * hz // 1, f"{seconds:,} s of 1/144 s frames at {hz} Hz"
        row(
            name,
            f"{truth:,} steps",
            f"{naive.tick:,}",
            f"{clock.tick:,} (`advance`, {clock.fed_ns - seconds * 10**9:+d} ns fed), {absolute.tick:,} (`advance_to`)",
        )
        goals.add(f"{name}, `advance_to`: steps", f"{truth:,}", f"{absolute.tick:,}", absolute.tick == truth)
    # The exact sum of the floats; the clock may lag by less than the nanosecond that is not yet counted.
    behind = Fraction(1 / 144) * len(day) * 10**9 - clock.fed_ns
    goals.add(
        f"{seconds:,} s of 1/144 s frames, `advance`: behind the exact sum of the floats",
        "below 1 ns",
        f"{math.floor(behind * 10**6) / 10**6} ns",
        0 <= behind < 1,
    )

    hour = np.full(3600 * 60, 1 / 60)
    row(
        "1 h of perfect 1/60 s frames at 60 Hz",
        "216,000 x 1",
        steps_per_frame(FloatAccumulator(60), hour),
        steps_per_frame(FixedClock(60, policy="match"), hour) + ' ("match")',
    )

    for hz in 1000, 240, 144, 60:
        noise = np.random.default_rng(1).normal(1, 0.02, 60 * hz) / hz
        clock = FixedClock(60)
        clock.plan(noise)
        row(f"steps per s at 60 Hz, {hz} Hz loop, 2 % jitter", 60, "", f"{clock.tick / noise.sum():.2f}")

    frames = np.concatenate([[1.0], np.full(60, 1 / 60)])
    capped, clock = FloatAccumulator(60, max_steps=5), FixedClock(60, max_steps=5)
    (naive_counts, naive_alphas), (counts, alphas) = capped.plan(frames), clock.plan(frames)
    largest = math.floor(alphas.max() * 1000) / 1000
    row(
        "1 s hitch, cap of 5: most steps; largest fraction",
        "5; < 1",
        f"{naive_counts.max()}; {naive_alphas.max():.1f}",
        f"{counts.max()}; {largest} ({clock.dropped_steps} steps dropped and counted)",
    )

    time, ticks = 0.0, 36_000 * 60
    for _ in range(ticks):
        time += 1 / 60
    clock = FixedClock(60)
    clock.set_tick(ticks)
    row("error of the time after 10 h", "0", f"{time - 36_000:.1e} s", f"{clock.time - 36_000:g} s")
    print(
        "\nThe float 1/144 is 3.9e-19 s short, a day of them 0.005 ns: by their exact sum the last step is"
        "\nnot due yet, and `advance` says so. `advance_to` knows no rounding."
    )


def costs(goals):
    head("Cost of a call", "call", "ns")
    now = 10**9
    setups = {
        "advance(0.007)": FixedClock(60),
        "advance(0.0166)": FixedClock(60, policy="match"),
        "advance_ns(7_000_000)": FixedClock(60),
        "advance_ms(7)": FixedClock(60),
        f"advance_to({now})": FixedClock(60),
        "alpha": FixedClock(60),
        "time": FixedClock(60),
    }
    for call, clock in setups.items():
        label = f"`{call}`" + (f" under {clock.policy}" if clock.policy != "exact" else "")
        ns = best(f"clock.{call}", clock=clock)
        row(label, f"{ns:.0f}")
        if call.startswith("advance("):
            goals.add(f"`clock.{call}`{label.partition('`')[2].partition('`')[2]}", "150 ns", f"{ns:.0f} ns", ns < 150)
    loop = "for tick in clock.steps(0.05): pass"
    row(f"`{loop}`, 3 steps", f"{best(loop, clock=FixedClock(60)):.0f}")
    frames, clock = display(144, 100_000, 1e-4), FixedClock(60)
    counts, alphas = clock.plan(frames)
    seconds = min(timeit.repeat(lambda: clock.plan(frames, counts, alphas), number=1, repeat=20))
    row("`plan(...)`, for each frame", f"{seconds / len(frames) * 1e9:.1f}")
    naive = best("clock.advance(0.007)", clock=FloatAccumulator(60))
    row("float accumulator in Python, `advance(0.007)`", f"{naive:.0f}")


def best(statement, number=100_000, repeat=7, **names):
    return min(timeit.repeat(statement, globals=names, number=number, repeat=repeat)) / number * 1e9


def bodies(n, dim, dtype, layout="row", **arguments):
    """Make bodies under gravity and drag, with a fixed seed."""
    rng = np.random.default_rng(1)
    lay_out = np.asfortranarray if layout == "component" else np.ascontiguousarray
    position, velocity = (lay_out(rng.normal(size=(n, dim)).astype(dtype)) for _ in range(2))
    gravity = (0.5, -9.81, 0.25)[:dim]
    return kd.Stepper(position, velocity, forces=[kd.Gravity(gravity), kd.LinearDrag(0.1)], **arguments)


def frames_drawn(goals, rounds):
    """Compare a frame of one step with interpolation to the step alone."""
    head(
        "A frame of 1,000 bodies: `advance` of 1 step, and `interpolate(out=float32)`",
        "bodies",
        "frame",
        "step",
        "more",
    )
    for dim, dtype, layout in [
        (2, "float32", "row"),
        (2, "float64", "row"),
        (3, "float32", "row"),
        (3, "float64", "row"),
        (3, "float32", "component"),
        (3, "float64", "component"),
    ]:
        game, twin = (bodies(1000, dim, dtype, layout, clock=FixedClock(60, policy="locked(1)")) for _ in range(2))
        vertices = np.empty((1000, dim), np.float32)

        def frame(game=game, vertices=vertices):
            game.advance(1 / 60)
            game.interpolate(out=vertices)

        times = measure({"frame": frame, "step": twin.step}, rounds)
        more = statistics.median(a - b for a, b in zip(times["frame"], times["step"], strict=True))
        name = f"({1000}, {dim}) {dtype}, {layout}-major"
        row(name, *(us(statistics.median(times[which])) for which in ("frame", "step")), us(more))
        goals.add(f"frame of {name}: more than its step", "5 µs", us(more), more <= 5e-6)


def saving(goals, rounds):
    """Compare snapshot and restore to copies of equally many bytes."""
    head(
        "`snapshot` and `restore` of 10,000 bodies against copies of the same bytes",
        "bodies",
        "snapshot",
        "restore",
        "copy, same array",
        "copy, new bytes",
        "copy, from memory",
        "both / copy, same array",
        "both / copy, from memory",
    )
    for dim, dtype in (2, "float32"), (3, "float32"), (2, "float64"), (3, "float64"):
        world = bodies(10_000, dim, dtype)
        saved = world.snapshot()
        source, target = np.frombuffer(saved, np.uint8), np.empty(len(saved), np.uint8)
        # Cycle through enough copies to exceed the caches.
        many = np.ones((max(2, 2**28 // len(saved)), len(saved)), np.uint8)
        place = [0]

        def from_memory(many=many, place=place):
            k = place[0] = (place[0] + 2) % (len(many) - 1)
            many[k + 1] = many[k]

        times = measure(
            {
                "snapshot": world.snapshot,
                "restore": lambda world=world, saved=saved: world.restore(saved),
                "same": lambda target=target, source=source: np.copyto(target, source),
                "new": source.tobytes,
                "memory": from_memory,
            },
            rounds,
        )
        both = [a + b for a, b in zip(times["snapshot"], times["restore"], strict=True)]
        warm, cold = (
            statistics.median(a / b for a, b in zip(both, times[which], strict=True)) for which in ("same", "memory")
        )
        name = f"({10_000:,}, {dim}) {dtype}, {len(saved) / 1e3:.0f} kB"
        row(name, *(us(statistics.median(values)) for values in times.values()), f"{warm:.1f}", f"{cold:.1f}")
        goals.add(
            f"snapshot + restore of {name}, by a copy within the cache", "3 times", f"{warm:.1f} times", warm <= 3
        )
    print("\nThe digest that guards a snapshot is computed twice, once on either side; the copies compute nothing.")


def us(seconds):
    return f"{seconds * 1e6:.1f} µs"


def main():
    parser = argparse.ArgumentParser(prog="python -m bench.clock", description="Measure the clock, frames, snapshots.")
    parser.add_argument("--quick", action="store_true", help="an hour instead of a day, few rounds")
    options = parser.parse_args()
    rounds = 5 if options.quick else 31
    info = kd.build_info()
    print(f"# The fixed-step clock, measured\n\nPython {sys.version.split()[0]}, {processor()}, {info['isa']}.")
    goals = Goals()
    irregular_frames(goals)
    totals(goals, 3600 if options.quick else 86_400)
    costs(goals)
    frames_drawn(goals, rounds)
    saving(goals, rounds)
    goals.show()
    missed = sum(cells[-1] != "yes" for cells in goals.rows)
    print(f"\n{len(goals.rows) - missed} goals met, {missed} missed.")


if __name__ == "__main__":
    main()
