"""Benchmark cases: scenes, peers and goals."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

from .scene import Scene

EULER, VERLET, LEAPFROG, RK4 = "semi_implicit_euler", "velocity_verlet", "leapfrog", "rk4"
DTYPES = ("float32", "float64")


@dataclass(frozen=True)
class Case:
    """Scenes, and for each peer the goal: the least ratio of its time to ours (None: for information).

    `changes` are variants of kickdrift: the same scene with other settings.
    """

    name: str
    title: str
    scenes: list[Scene]
    peers: dict[str, float | None] = field(default_factory=dict)
    changes: dict[str, tuple[dict[str, Any], float | None]] = field(default_factory=dict)


def scenes(**choices: Any) -> list[Scene]:
    """Return a scene for each combination of choices; a choice that is not a tuple is a single value."""
    lists = [choice if isinstance(choice, tuple) else (choice,) for choice in choices.values()]
    return [Scene(**dict(zip(choices, combination, strict=True))) for combination in product(*lists)]


CASES = [
    Case(
        "drag",
        "gravity + linear drag",
        scenes(integrator=(EULER, VERLET), dtype=DTYPES),
        {"C": 0.7, "numba expert": 1, "numba": 1, "jax.jit": 1, "NumPy": 1},
    ),
    Case(
        "drag-rows",
        "gravity + linear drag",
        scenes(integrator=(EULER, VERLET), dtype=DTYPES, layout="row"),
        {"C": 0.6, "numba": 4, "NumPy": 15},
    ),
    Case(
        "well",
        "PointGravity",
        scenes(integrator=(EULER, VERLET), layout=("component", "row"), dtype=DTYPES, force="well"),
        {"C": 0.9, "numba": None, "jax.jit": None, "NumPy": None},
    ),
    Case(
        "well-more",
        "PointGravity",
        scenes(integrator=(LEAPFROG, RK4), dtype=DTYPES, force="well"),
        {"C": 0.9},
    ),
    Case(
        "wind",
        "QuadraticDrag",
        scenes(integrator=(EULER, VERLET, LEAPFROG, RK4), dtype=DTYPES, force="wind"),
        {"C": 0.9},
    ),
    Case(
        "vortex",
        "Vortex",
        scenes(integrator=(EULER, VERLET, LEAPFROG, RK4), dtype=DTYPES, force="vortex"),
        {"C": 0.9},
    ),
    Case(
        "rk4",
        "gravity + linear drag",
        scenes(integrator=RK4, layout=("component", "row"), dtype=DTYPES),
        {"numba": 5, "C": None, "numba expert": None, "jax.jit": None, "NumPy": None},
    ),
    Case(
        "streaming",
        "gravity + linear drag",
        scenes(n=2_000_000, steps=1, layout=("component", "row"), dtype=DTYPES),
        {"C": 0.75, "numba expert": None, "numba": None, "jax.jit": None, "NumPy": None},
    ),
    Case(
        "per-body",
        "one drag per body",
        scenes(per_body="drag", layout=("component", "row"), dtype=DTYPES),
        changes={"ours, one drag for all": ({"per_body": ""}, 1 / 1.6)},
    ),
    Case(
        "per-mass",
        "one mass per body",
        scenes(per_body="mass", layout=("component", "row"), dtype=DTYPES),
        changes={"ours, one mass for all": ({"per_body": ""}, 1 / 1.6)},
    ),
    Case(
        "threads",
        "gravity + linear drag, 2 threads",
        scenes(n=1_000_000, layout=("component", "row"), dtype=DTYPES, threads=2),
        changes={"ours, 1 thread": ({"threads": 1}, 1.85)},
    ),
    Case(
        "hundred",
        "gravity + linear drag",
        scenes(n=100, steps=1, layout="row", dtype=DTYPES),
        {"NumPy": 20, "numba": None, "plain Python": None, "pygame-ce": None},
    ),
    Case(
        "one",
        "gravity + linear drag",
        scenes(n=1, steps=1, layout="row", dtype=DTYPES),
        {"plain Python": 3, "pygame-ce": None, "NumPy": None},
    ),
]
