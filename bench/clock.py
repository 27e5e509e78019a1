"""Measures the fixed-step clock beside the float accumulator that every tutorial shows.

Prints Markdown: what each clock does where others go wrong, and what a call costs.
Run as `python bench/clock.py`; it takes about 15 seconds.
"""

import math
import platform
import sys
import timeit
from collections import Counter
from fractions import Fraction

import numpy as np

from kickdrift import FixedClock


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
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def irregular_frames():
    print("\n## Steps per frame, 60 Hz physics, 36,000 frames\n")
    row("display", "float accumulator", "`FixedClock(60)`", '`FixedClock(60, policy="match")`')
    row("---", "---", "---", "---")
    for hz, noise in [
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
    ]:
        frames = display(hz, 36_000, noise)
        clocks = FloatAccumulator(60), FixedClock(60), FixedClock(60, policy="match")
        row(f"{hz} Hz, {noise * 1e6:g} us of noise", *(steps_per_frame(clock, frames) for clock in clocks))
    print("\nUnavoidable at 59.94 Hz: 36,000 x (60/59.94 - 1) = 36 frames of 2 steps, less the slack")
    print("at the start.")


def totals():
    print("\n## Totals\n")
    row("case", "truth", "float accumulator", "`FixedClock`")
    row("---", "---", "---", "---")

    day = np.full(86_400 * 144, 1 / 144)
    for hz in 60, Fraction(60000, 1001), 64, 120, 1000:
        naive, clock = FloatAccumulator(float(hz)), FixedClock(hz)
        naive.plan(day)
        for k in range(0, len(day), len(day) // 24):
            clock.plan(day[k : k + len(day) // 24])
        absolute = FixedClock(hz)
        for k in range(86_400 * 144 + 1):
            absolute.advance_to(k * 10**9 // 144)
        row(
            f"86,400 s of 1/144 s frames at {hz} Hz",
            f"{86_400 * hz // 1:,} steps",
            f"{naive.tick:,}",
            f"{clock.tick:,} (`advance`, {clock.fed_ns - 86_400 * 10**9:+d} ns fed), {absolute.tick:,} (`advance_to`)",
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


def costs():
    print("\n## Cost of a call\n")
    row("call", "ns")
    row("---", "---")
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
        row(label, f"{best(f'clock.{call}', clock=clock):.0f}")
    loop = "for tick in clock.steps(0.05): pass"
    row(f"`{loop}`, 3 steps", f"{best(loop, clock=FixedClock(60)):.0f}")
    frames, clock = display(144, 100_000, 1e-4), FixedClock(60)
    counts, alphas = clock.plan(frames)
    seconds = min(timeit.repeat(lambda: clock.plan(frames, counts, alphas), number=1, repeat=20))
    row("`plan(...)`, for each frame", f"{seconds / len(frames) * 1e9:.1f}")
    naive = best("clock.advance(0.007)", clock=FloatAccumulator(60))
    row("float accumulator in Python, `advance(0.007)`", f"{naive:.0f}")


def best(statement, number=200_000, repeat=7, **names):
    return min(timeit.repeat(statement, globals=names, number=number, repeat=repeat)) / number * 1e9


def machine():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    print(f"# The fixed-step clock, measured\n\nPython {sys.version.split()[0]}, {machine()}.")
    irregular_frames()
    totals()
    costs()
