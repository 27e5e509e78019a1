"""Random sums of forces against C code generated for each of them. `python -m bench.random_plans`

Draws one to four of gravity, linear drag, quadratic drag, a well and an anchored spring, in two or three dimensions,
in float32 or float64, with some coefficients per body. The C code is a plain loop over bodies that makes a whole
step of each, over tiles that fit the cache, compiled by `cc -O3` for the instruction set in use: with and without
permission to contract a * b + c. It is measured in turns with kickdrift, in processor time.
"""

import argparse
import ctypes
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

import kickdrift as kd
from kickdrift import kernels

from . import table
from .peers.limit import COMPILER
from .table import Row, seconds
from .timing import measure, ratio

FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
#: With KICKDRIFT_ISA=avx2 C has no AVX-512, either.
MARCH = {"avx2": "x86-64-v3"}.get(kernels.isa, "native")
BUILDS: dict[str, tuple[str, ...]] = {"C": (), "C, no contraction": ("-ffp-contract=off",)}
FORCES = ("gravity", "linear drag", "quadratic drag", "well", "spring")
SCHEMES = ("velocity_verlet", "leapfrog", "semi_implicit_euler")
TOLERANCE = {"float32": 1e-3, "float64": 1e-9}
N, STEPS, H, SOFTENING = 100_000, 64, 1 / 60, 0.5


@dataclass
class Plan:
    """A random plan; a coefficient is a number, or an array per body, per component or both."""

    dim: int
    dtype: str
    scheme: str
    forces: dict[str, tuple[np.ndarray, ...]]
    n: int

    def __str__(self) -> str:
        named = [f"{name}{' per body' * any(a.shape[:1] == (self.n,) for a in c)}" for name, c in self.forces.items()]
        return f"{' + '.join(named)}, {self.dim}-D, {self.scheme.replace('_', ' ')}, {table.bits(self.dtype)}"

    def state(self) -> list[np.ndarray]:
        rng = np.random.default_rng(1)
        return [np.asfortranarray(rng.normal(size=(self.n, self.dim)).astype(self.dtype)) for _ in range(2)]


def draw(rng: np.random.Generator, n: int) -> Plan:
    dim = int(rng.integers(2, 4))
    forces = {}
    for name in sorted(rng.choice(FORCES, rng.integers(1, 5), replace=False), key=FORCES.index):
        each = rng.random() < 0.3
        number = rng.uniform(0.05, 0.2, n if each else ())
        vector = rng.normal(size=dim)
        if name == "gravity":
            forces[name] = (rng.normal(size=(n, dim) if each else dim),)
        elif name.endswith("drag"):
            forces[name] = (number, vector * rng.integers(0, 2))  # half of them without wind
        else:
            forces[name] = (10 * number, vector)
    return Plan(dim, str(rng.choice(["float32", "float64"])), str(rng.choice(SCHEMES)), forces, n)


def ours(plan: Plan) -> tuple[list[np.ndarray], Callable[[], object]]:
    make = {
        "gravity": kd.Gravity,
        "linear drag": kd.LinearDrag,
        "quadratic drag": kd.QuadraticDrag,
        "well": partial(kd.PointGravity, softening=SOFTENING),
        "spring": lambda stiffness, anchor: kd.AnchorSpring(stiffness, anchor=anchor),
    }
    forces = [make[name](*coefficients) for name, coefficients in plan.forces.items()]
    state = plan.state()
    stepper = kd.Stepper(*state, dt=H, integrator=plan.scheme, forces=forces)
    return state, partial(stepper.step, STEPS)


class Writer:
    """Generator of C for a plan: statements for one body i, and the coefficient arrays that they read."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.arrays: list[np.ndarray] = []
        self.a = self.acceleration()

    def coefficient(self, values: np.ndarray, j: int) -> str:
        """Return a literal, or an array element."""
        per_body = values.shape[:1] == (self.plan.n,)
        if values.ndim > per_body:
            values = values[..., j]
        if not per_body:
            return f"((REAL){float(values)!r})"
        self.arrays.append(np.ascontiguousarray(values, self.plan.dtype))
        return f"k{len(self.arrays) - 1}[i]"

    def each(self, pattern: str) -> str:
        """Return a statement for each component."""
        return " ".join(pattern.replace("#", str(j)) for j in range(self.plan.dim))

    def acceleration(self) -> str:
        """a = all forces at x, v; masses are 1."""
        lines = [self.each("REAL a# = 0;")]
        dim = range(self.plan.dim)
        for name, (first, *rest) in self.plan.forces.items():
            if name == "gravity":
                lines += [f"a{j} += {self.coefficient(first, j)};" for j in dim]
                continue
            body = "x" if name in ("well", "spring") else "v"
            strength = self.coefficient(first, 0)
            lines.append("{ " + " ".join(f"REAL d{j} = {body}{j} - {self.coefficient(rest[0], j)};" for j in dim))
            q = " + ".join(f"d{j} * d{j}" for j in dim)
            if name == "quadratic drag":
                lines.append(f"REAL f = {strength} * SQRT({q});")
            elif name == "well":
                lines.append(f"REAL q = {q} + (REAL){SOFTENING**2}, f = {strength} / (q * SQRT(q));")
            else:
                lines.append(f"REAL f = {strength};")
            lines.append(self.each("a# -= f * d#;") + " }")
        return "\n".join(lines)

    def step(self) -> str:
        """Return the statements of a step of one body, in the order of the scheme."""
        a, drag = self.a, any(name.endswith("drag") for name in self.plan.forces)
        if self.plan.scheme == "semi_implicit_euler":
            return f"{a} {self.each('v# += h * a#; x# += h * v#;')}"
        if self.plan.scheme == "leapfrog":
            kick = f"{{ {a} {self.each('v# += h * a#;')} }}"
            if drag:
                half = f"{{ {a} {self.each('v# = u# + half * a#;')} }}"
                kick = f"{self.each('REAL u# = v#;')} {half} {{ {a} {self.each('v# = u# + h * a#;')} }}"
            return f"{self.each('x# += half * v#;')} {kick} {self.each('x# += half * v#;')}"
        ahead = self.each("x# += h * (v# + half * b#); v# += h * b#;")
        end = f"{{ {a} {self.each('v# += half * (a# - b#); b# = a#;')} }}"
        begin = f"{{ {a} {self.each('b# = a#;')} }}" if drag else ""
        kept = "REAL b#;" if drag else "REAL b# = p#[i];"
        return f"{self.each(kept)} {begin} {ahead} {end} {'' if drag else self.each('p#[i] = b#;')}"

    def source(self) -> str:
        step, load = self.step(), self.each("REAL x# = X#[i], v# = V#[i];")
        fsal = self.plan.scheme == "velocity_verlet" and "p0[i]" in step
        start = f"for (long i = 0; i < m; i++) {{ {load} {self.a} {self.each('p#[i] = a#;')} }}"
        real = {"float32": "float", "float64": "double"}[self.plan.dtype]
        places = " ".join(f"const REAL *restrict k{i} = given[{i}] + first;" for i in range(len(self.arrays)))
        return f"""
#include <math.h>
typedef {real} REAL;
#define SQRT {"sqrtf" if real == "float" else "sqrt"}
enum {{ TILE = 256 }};

void run(REAL **state, REAL **given, long n, long steps)
{{
    const REAL h = (REAL){H!r}, half = h / 2;
    for (long first = 0; first < n; first += TILE) {{
        const long m = n - first < TILE ? n - first : TILE;
        {" ".join(f"REAL *restrict X{j} = state[{j}] + first;" for j in range(self.plan.dim))}
        {" ".join(f"REAL *restrict V{j} = state[{j + self.plan.dim}] + first;" for j in range(self.plan.dim))}
        {places}
        {self.each("REAL p#[TILE];") if fsal else ""}
        {start if fsal else ""}
        for (long s = 0; s < steps; s++)
#pragma GCC ivdep
            for (long i = 0; i < m; i++) {{
                {load}
                {step}
                {self.each("X#[i] = x#; V#[i] = v#;")}
            }}
    }}
}}
"""


def theirs(plan: Plan, flags: tuple[str, ...], folder: str) -> tuple[list[np.ndarray], Callable[[], object]]:
    writer = Writer(plan)
    source, target = Path(folder, "plan.c"), str(Path(folder, f"plan{len(list(Path(folder).iterdir()))}.so"))
    source.write_text(writer.source())
    subprocess.run([COMPILER, *FLAGS, f"-march={MARCH}", *flags, str(source), "-o", target, "-lm"], check=True)
    state = plan.state()
    columns = [array[:, j] for array in state for j in range(plan.dim)]
    pointers = [
        (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))
        for arrays in (columns, writer.arrays)
    ]
    run = partial(ctypes.CDLL(target).run, *pointers, ctypes.c_long(plan.n), ctypes.c_long(STEPS))
    run.keep = writer.arrays, state  # type: ignore[attr-defined]  # their memory
    return state, run


def race(plan: Plan, rounds: int) -> list[Row]:
    """Return a row for each build of the C, after a check of its results."""
    mine, step = ours(plan)
    step()
    runs = {"ours": step}
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in BUILDS.items():
            state, run = theirs(plan, flags, folder)
            run()
            close = TOLERANCE[plan.dtype]
            if not all(np.allclose(a, b, rtol=close, atol=close) for a, b in zip(mine, state, strict=True)):
                raise SystemExit(f"{plan}: {name} computes something else than ours")
            runs[name] = run
        times = measure(runs, rounds, 1e-3, process_time)
    middle = {name: statistics.median(values) for name, values in times.items()}
    return [
        Row(str(plan), seconds(middle["ours"]), name, seconds(middle[name]), *ratio(times[name], times["ours"]))
        for name in BUILDS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.random_plans", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many plans are drawn")
    parser.add_argument("--seed", type=int, help="of the draws; a new one each time if left out")
    parser.add_argument("--quick", action="store_true", help="some seconds: six plans, few rounds, fewer bodies")
    parser.add_argument("--rows", action="store_true", help="print each plan")
    parser.add_argument("--json", metavar="FILE", help="write everything to a file as well")
    options = parser.parse_args()
    count, rounds, n = (6, 3, 10_000) if options.quick else (options.count, 5, N)
    seed = int(np.random.default_rng().integers(10**6)) if options.seed is None else options.seed
    rng = np.random.default_rng(seed)
    about = table.machine({"numpy": np.__version__, "seed": str(seed)})
    for key, value in about.items():
        print(f"- {key}: {value}")
    rows = sorted((row for _ in range(count) for row in race(draw(rng, n), rounds)), key=lambda row: row.ratio or 0.0)
    if options.rows:
        print(f"\n{table.header()}")
        for row in rows:
            print(table.line(row.cells()))
    for name in BUILDS:
        found = [row.ratio for row in rows if row.peer == name and row.ratio is not None]
        tenth, middle = found[len(found) // 10], statistics.median(found)
        print(f"\n{name} / ours: median {middle:.2f}, a tenth below {tenth:.2f}, least {found[0]:.2f}, {count} plans")
    if options.json:
        table.save(options.json, about, rows)


if __name__ == "__main__":
    main()
