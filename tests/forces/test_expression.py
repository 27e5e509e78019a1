"""Expressions: their syntax, their evaluation, and bitwise equality across implementations."""

import copy
import math
import pickle
import sys
import time

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state, each_isa, said

import kickdrift as kd
from kickdrift.engine.formulas import CODES
from kickdrift.forces import formulas
from kickdrift.forces.formula import machine
from kickdrift.forces.formula.parser import LONGEST

SCHEMES = [kd.RK4(), kd.VelocityVerlet(), kd.SemiImplicitEuler(), kd.ImplicitEuler(), kd.Yoshida4(), kd.Verlet()]


def drawn(rng, n, dim):
    """Draw terms that use all operations."""
    axes = "xyz"[:dim]
    last = axes[-1]

    def each():
        return rng.uniform(0.1, 2, n) if rng.integers(2) else float(rng.uniform(0.1, 2))

    r = f"norm({', '.join(axes)})"
    terms = [
        kd.Expression(x="-a*x + b*sin(w*t)", a=each(), b=each(), w=2.0),
        kd.Potential("k/2*r**2 + A*exp(-r/s)", r=r, k=each(), A=each(), s=0.7),
        kd.Potential("m*where(x < c and not x == 0.5, x**4, cos(x))/(1 + r)", r=r, c=each()),
        kd.Expression(**{last: f"clamp(-a*v{last}*abs(v{last}), -1, 1) + floor(x*4)/3 - m*pow(abs(x), 1.3)"}, a=each()),
        kd.Expression(x="tanh(x)*atan2(x, t + 1) + cbrt(x) + tan(x/9) + log(2 + x*x) + max(x, 0.1, vx) - min(x, vx)"),
        kd.Potential("sqrt(1 + x*x) - log(2 + cos(x)) + atan2(x, 2 + m) + tanh(x*cbrt(2 + x*x)) + (2 + x)**-2"),
    ]
    return [terms[i] for i in rng.permutation(len(terms))[: rng.integers(1, 5)]]


@pytest.mark.parametrize("integrator", SCHEMES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_equal_the_reference(integrator, dtype, monkeypatch):
    rng = np.random.default_rng(SCHEMES.index(integrator))
    for n in (1, 5, 33) if integrator.name == "implicit_euler" else (1, 7, 200):
        for dim in (1, 2, 3):
            forces = drawn(rng, n, dim)
            x, v = rng.normal(size=(2, n, dim)).astype(dtype)
            arguments = {"mass": rng.uniform(0.5, 2, n), "dt": 0.01, "integrator": integrator, "forces": forces}
            book = kd.reference.Stepper(x.copy(), v.copy(), **arguments)
            steps = 2 if n > 8 else 3
            book.step(steps)
            for isa in each_isa(monkeypatch):
                ours = kd.Stepper(x.copy(), v.copy(), **arguments)
                with said(isa=isa, n=n, dim=dim, forces=forces):
                    ours.step(steps)
                    assert_same_state(ours, book)


def any_text(rng, depth, names):
    """Draw a random expression of operations in any order."""
    if depth == 0 or rng.random() < 0.1:
        return str(rng.choice([*names, "t", "2", "0.3"], p=[0.7 / len(names)] * len(names) + [0.1, 0.1, 0.1]))
    a, b, c = (any_text(rng, depth - 1, names) for _ in range(3))
    kind = rng.integers(24)
    if kind < 19:
        return f"({a} {'+-*'[kind % 3]} {b})"
    return [
        f"{a}/(2 + abs({b}))", f"-({a})", f"sqrt(abs({a}))", f"where({a} < {b}, {c}, max({a}, min({b}, t)))",
        f"(sin({a}) + floor({b}))",
    ][kind - 19]  # fmt: skip


#: The seeds from 12 on have expressions with operations that the first ones lack.
SEEDS = (*range(12), 13, 23, 62, 178, 182)


def written(seed):
    """Draw positions, velocities, stepper arguments and expressions."""
    rng = np.random.default_rng(seed)
    n = (1, 3, 30, 61, 70, 150)[seed % 6]
    names = ["x", "y", "vx", "vy", "k", "each", "part"]
    texts = {name: any_text(rng, 5, names) for name in ("x", "y")} | {"part": any_text(rng, 3, names[:6])}
    term = kd.Expression(**texts, k=rng.uniform(-1, 1), each=rng.uniform(-1, 1, n))
    dtype = (np.float32, np.float64)[seed % 2]
    x, v = rng.uniform(-1, 1, (2, n, 2)).astype(dtype)
    return x, v, {"integrator": ("explicit_euler", "rk4")[seed % 4 // 2], "forces": [term]}, texts


def assert_kernels_are_the_reference(monkeypatch, x, v, arguments, texts):
    arguments = {"dt": 2.0**-7, **arguments}
    book = kd.reference.Stepper(x.copy(), v.copy(), **arguments)
    book.step(2)
    for isa in each_isa(monkeypatch):
        ours = kd.Stepper(x.copy(), v.copy(), **arguments)
        ours.step(2)
        with said(isa=isa, n=len(x), texts=texts):
            assert_same_state(ours, book)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions_equal_the_reference(seed, monkeypatch):
    assert_kernels_are_the_reference(monkeypatch, *written(seed))


def test_random_expressions_use_all_operations(monkeypatch):
    """Functions, noise and columns have tests of their own; comparisons are added below."""
    found = set()

    def translated(*arguments, **options):
        code = machine.translate(*arguments, **options)
        found.update(operation[0] for operation in code.operations)
        return code

    monkeypatch.setattr(formulas, "translate", translated)
    for seed in SEEDS:
        x, v, arguments, _ = written(seed)
        kd.Stepper(x, v, **arguments)
    swirl = kd.Expression(x="sqrt(x*x + y*y)", y="where(x == y, x, y) + where(x >= y, 1, 2)")
    kd.Stepper(np.ones((1, 2)), forces=[swirl])
    aside = {"spread", "load", "store", "noise", "sin", "cos", "tan", "exp", "log", "tanh", "cbrt", "pow", "atan2"}
    plain = CODES.keys() - aside
    assert plain <= found
    assert {f"same_{name}" for name in machine._SAME_FIRST} <= found


@pytest.mark.parametrize(
    "addend",
    [
        "sin({k}*t + x)", "noise({k})", "pow(abs(x - {k}), 1.5)*vx", "1/sqrt((x - {k})**2 + (y + {k})**2)",
        "min(x, {k}*t)", "(x - cos({k}*t))*(y - {k}*t)",
    ],
)  # fmt: skip
def test_long_sums_equal_the_reference(addend, monkeypatch):
    """Common subexpressions of all addends must not be spilled to memory before the sum begins."""
    text = " + ".join(addend.format(k=k) for k in range(100))
    x, v = np.random.default_rng(1).uniform(-1, 1, (2, 70, 2))
    arguments = {"integrator": "explicit_euler", "forces": [kd.Expression(x=text)]}
    assert_kernels_are_the_reference(monkeypatch, x, v, arguments, text)


def test_many_uniform_constants():
    text = "0"
    for k in range(60):
        text = f"({text})*x + {k + 0.5}"
    assert force(kd.Expression(x=text), [0.5]) == pytest.approx(sum((k + 0.5) * 0.5 ** (59 - k) for k in range(60)))


def test_threads_layouts_and_splitting_do_not_change_results():
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(2, 5000, 2))
    swirl = kd.Expression(x="-a*y + sin(t)", y="a*x - vx", a=rng.uniform(0.5, 1, 5000))
    arguments = {"dt": 0.01, "integrator": "rk4", "forces": [swirl]}
    first = kd.Stepper(x.copy(), v.copy(), **arguments)
    second = kd.Stepper(np.asfortranarray(x), v.copy(), threads=2, **arguments)
    first.step(20)
    for _ in range(4):
        second.step(5)
    assert_same_bits(np.ascontiguousarray(second.position), first.position)


# Semantics of expressions.


def force(term, x, v=None, t=0.0, mass=1.0):
    """Return the force on one body."""
    x = np.atleast_2d(np.asarray(x, float))
    v = np.zeros_like(x) if v is None else np.atleast_2d(np.asarray(v, float))
    body = kd.Stepper(x, v.copy(), dt=1.0, mass=mass, forces=[term], integrator="explicit_euler", t=t) if t else None
    body = body or kd.Stepper(x, v.copy(), dt=1.0, mass=mass, forces=[term], integrator="explicit_euler")
    body.step()
    return (body.velocity - v)[0] * mass


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3 - 4/8", 6.5),
        ("-x**2", -9.0),
        ("2**-2 + 2**0.5", 0.25 + 2**0.5),
        ("x**3 - x**0", 26.0),
        ("x**-1", 1 / 3),
        ("min(4, x, 5) + max(1, 2, 0)", 5.0),
        ("clamp(x, -1, 1) + clamp(-x, -1, 1)", 0.0),
        ("abs(-x) + floor(-0.5) + floor(2.5)", 4.0),
        ("norm(x, 4) + norm(-x)", 8.0),
        ("dot(1, 2, x, 10)", 23.0),
        ("where(x < 3, 1, 2) + where(x <= 3, 10, 20)", 12.0),
        ("where(1 < x < 4 and not x == 2, 7, 8)", 7.0),
        ("where(x != 3 or x >= 3, 7, 8)", 7.0),
        ("where(x > 0, 1, 1/0)", 1.0),
        ("sin(pi/2) + a", 3.0),
        ("double + double*0", 6.0),
    ],
)
def test_values_of_expressions(text, expected):
    assert force(kd.Expression(x=text, a=2, double="2*x"), [3.0]) == pytest.approx(expected, abs=1e-15)


def test_expressions_are_not_reassociated():
    term = kd.Expression(x="(a + b) + c", y="a + (b + c)", a=1e16, b=-1e16, c=1.0)
    assert force(term, [[0.0, 0.0]]).tolist() == [1.0, 0.0]
    assert "* 0.0" in kd.Expression(x="x*0").program()
    with pytest.raises(kd.NonFiniteError):
        force(kd.Expression(x="x*0 + 1/x"), [0.0])


def test_programs_of_expressions():
    term = kd.Expression(x="sin(a*x)*(2*3) + r", y="r - sin(a*x)", r="norm(x, y)", a=2.0)
    text = term.program()
    assert text.count("sin") == text.count("sqrt") == 1
    assert "6.0" in text
    assert text.endswith("y = _8") or "y = _" in text
    assert repr(text) == str(text)
    other = kd.Expression(x="sin(a*x)*(2*3) + r", y="r - sin(a*x)", r="norm(x, y)", a=5.0)
    assert term.digest == other.digest
    assert term.digest != kd.Expression(x="sin(a*x)*7 + r", y="r", r="norm(x, y)", a=2.0).digest
    assert kd.Expression(x="x**12").program().count("*") == 4


def test_variables_of_expressions():
    term = kd.Expression(x="x + 10*y + 100*z", y="vx + 10*vy + 100*vz", z="m + k", k=0.5)
    x, v = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    assert force(term, x, v, mass=2.0).tolist() == [321.0, 654.0, 2.5]
    assert term.velocity_dependent
    assert not kd.Expression(x="x").velocity_dependent


# Refusals.


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("__import__('os')", 12),
        ("().__class__", 1),
        ("x.__class__", 1),
        ("eval(x)", 1),
        ("print(x)", 1),
        ("1 + [x for x in y]", 5),
        ("sum(x for x in y)", 1),
        ("sin(x for x in y)", 4),
        ("lambda: x", 7),
        ("x if x else y", 1),
        ("x := 1", 3),
        ("f'{x}'", 2),
        ("x + foo", 5),
        ("sin", 1),
        ("sin()", 1),
        ("sin(x, x)", 1),
        ("sin(x=1)", 7),
        ("sin(*x)", 5),
        ("x(1)", 1),
        ("(sin)(x)(x)", 1),
        ("x < 1", 1),
        ("not x", 1),
        ("1 + where(x, 1, 2)", 11),
        ("1j + x", 1),
        ("True", 1),
        ("None", 1),
        ("...", 1),
        ("1e999", 1),
        ("x // 2", 1),
        ("x % 2", 3),
        ("x @ y", 3),
        ("x ^ 2", 3),
        ("~x", 1),
        ("x +", 3),
        ("x y", 1),
        ("", 1),
        ("   ", 1),
        ("x; y", 2),
        ("x\ny", 2),
        ("\u0445 + 1", 1),
        ("\uff53in(x)", 1),
        ("x\u200b", 2),
        ("x + \u00b2", 5),
        ("x\0", 2),
        ("x # 1", 3),
        ("await x", 1),
        ("yield", 1),
        ("2" * 3999, 1),
        ("where(x < 0, 1, 2) < 3", 1),
        ("x is x", 1),
        ("x in x", 1),
        ("9**9**9**9", 4),
        ("x + x**(1/0)", 9),
        ("pow(x, 0/0)", 8),
        ("noise(1/0)", 7),
    ],
)
def test_syntax_errors_are_reported_with_their_column(text, column):
    with pytest.raises(ValueError, match="at column") as caught:
        kd.Expression(x=text)
    assert str(caught.value).startswith("Expression(x): ")
    shown = int(str(caught.value).split("at column ")[1].split(":")[0])
    assert abs(shown - column) <= 2, caught.value


@pytest.mark.parametrize(
    "text",
    [
        "+".join(["x"] * 10**5),
        "(" * 10**5 + "x" + ")" * 10**5,
        "(" * 1000 + "x" + ")" * 1000,
        "-" * 3900 + "x",
        "x" + "**x" * 1300,
        "not " * 900 + "x",
        "sin(" * 900 + "x" + ")" * 900,
        "where(x < 0, " * 100 + "1" + ", 2)" * 100,
        "9" * 10**6,
        "x" * 10**6,
        "1e" + "9" * 3000,
        "x**" * 1000 + "x",
        "(x+" * 900 + "x" + ")" * 900,
        "[" * 3000,
    ],
    ids=lambda text: text[:12],
)
def test_malicious_expressions_are_refused_quickly(text):
    began = time.process_time()
    with pytest.raises(ValueError, match="at column"):
        kd.Expression(x=text)
    with pytest.raises(ValueError, match="at column"):
        kd.Potential(text)
    assert time.process_time() - began < 1


def test_expressions_up_to_the_maximal_length():
    terms = (LONGEST + 1) // 2
    assert force(kd.Expression(x="+".join(["x"] * terms)), [1.0]) == [terms]
    nested = "x"
    for _ in range(12):
        nested = f"({nested})*({nested} + 1)" if len(nested) < 400 else f"({nested} + 1)"
    kd.Expression(x=nested)


def test_nested_definitions():
    def chain(n, text="d{} + 1", last="x"):
        return {f"d{i}": text.format(i + 1) for i in range(n)} | {f"d{n}": last}

    assert force(kd.Expression(x="d0", **chain(119)), [1.0]) == [120]
    for n, text in [(120, "d{} + 1"), (1000, "d{} + 1"), (8, "norm(" * 50 + "d{}" + ")" * 50), (8, "-" * 50 + "d{}")]:
        for make in (
            lambda given: kd.Expression(x="d0", **given),
            lambda given: kd.Potential("d0", **given),
            lambda given: kd.PairPotential("d0", cutoff=1.0, **given | {f"d{n}": "r"}),  # noqa: B023
        ):
            with pytest.raises(ValueError, match="more than 120 levels deep, at column"):
                make(chain(n, text))

    def deep(calls):
        return deep(calls - 1) if calls else kd.Expression(x="d0", **chain(119))

    with pytest.raises(ValueError, match="nested too deeply, at column"):
        deep(sys.getrecursionlimit() - 300)


def test_invalid_definitions_and_parameters_are_refused():
    for wrong, message in [
        ({"x": "a", "a": "b", "b": "a"}, "defined by itself"),
        ({"x": "a"}, "unknown name 'a'"),
        ({"y": 2.0}, "variable"),
        ({"x": "y", "t": 1.0}, "variable"),
        ({"x": "y", "vx": "y"}, "variable"),
        ({"x": "y", "sin": 1.0}, "function"),
        ({"x": "y", "pi": 1.0}, "constant"),
        ({"x": "y", "_a": 1.0}, "names"),
        ({"x": "y", "label": 1.0}, "another name"),
        ({"x": "y", "a b": 1.0}, "names"),
        ({"x": "y", "\u0430": 1.0}, "names"),
        ({"x": "y", "a": [[1.0]]}, "number or one per body"),
        ({"x": "y", "a": math.nan}, "finite"),
        ({"a": 1.0}, "expression for x"),
        ({"x": "1", "unused": "1 +"}, "unused"),
    ]:
        with pytest.raises(ValueError, match=message):
            kd.Expression(**wrong)
    with pytest.raises(TypeError):
        kd.Expression(x="a", a=1j)
    with pytest.raises(TypeError):
        kd.Potential(3.0)
    with pytest.raises(ValueError, match="unknown name 'vx'"):
        kd.Potential("vx*x")
    with pytest.raises(ValueError, match=r"Expression\(a\)"):
        kd.Stepper(np.zeros((3, 1)), forces=[kd.Expression(x="a", a=[1.0, 2.0])])
    with pytest.raises(ValueError, match="dimensions"):
        kd.Stepper(np.zeros((3, 2)), forces=[kd.Expression(x="z")])
    with pytest.raises(ValueError, match="dimensions"):
        kd.Stepper(np.zeros((3, 1)), forces=[kd.Potential("y*y")])


# Derivatives.

POTENTIALS = [
    "k/2*r**2 + exp(-r/s)",
    "sin(x)*cos(y*z) + tan(x/4)",
    "log(2 + x*x)*tanh(y) - z**3/(1 + y**2)",
    "cbrt(3 + x*y)*sqrt(4 + z)",
    "pow(2 + x*x, y) + (1.5 + z*z)**0.7 + (2 + x)**-3",
    "atan2(y, x + 5) + abs(z)*x",
    "where(x < y, x*x*y, x*y*y) + min(x, 2*y) + max(z, x*y) + clamp(z, -0.3, 0.4)",
    "m*dot(x, y, z, k, s, x) + floor(x)*y",
]


@pytest.mark.parametrize("text", POTENTIALS)
def test_forces_equal_central_differences_of_the_potential(text):
    rng = np.random.default_rng(4)
    well = kd.Potential(text, r="norm(x, y, z)", k=2.0, s=0.7)
    n, step = 40, 1e-6
    x = rng.uniform(-1, 1, (n, 3))
    world = kd.Stepper(x.copy(), dt=1.0, mass=1.5, forces=[well], integrator="explicit_euler")
    plan = world._plan
    world.step()
    ours = 1.5 * world.velocity
    for axis in range(3):
        moved = np.zeros(3)
        moved[axis] = step
        up, down = well.potential_energy(plan, x + moved), well.potential_energy(plan, x - moved)
        np.testing.assert_allclose(ours[:, axis], -(up - down) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("text", [*POTENTIALS, "vx*vx*x + vy*abs(vz)*y - exp(vx/9)*t"])
def test_directional_derivatives_equal_central_differences(text):
    rng = np.random.default_rng(5)
    term = kd.Expression(x=text, y=f"2*({text}) - z", r="norm(x, y, z)", k=2.0, s=0.7)
    values = {name: rng.uniform(-1, 1, 30) for name in ("x", "y", "z", "vx", "vy", "vz")}
    way = {f"d {name}": rng.uniform(-1, 1, 30) for name in values}
    known = {"t": 0.3, "m": 1.5, "k": 2.0, "s": 0.7}
    from kickdrift.forces.formulas import evaluate

    found = evaluate(term.changes, {**values, **way, **known})
    ends = [
        evaluate(term.operations, {name: value + e * way[f"d {name}"] for name, value in values.items()} | known)
        for e in (1e-6, -1e-6)
    ]
    for axis in ("x", "y"):
        np.testing.assert_allclose(found[axis], (ends[0][axis] - ends[1][axis]) / 2e-6, rtol=1e-5, atol=1e-7)


def test_unselected_branches_do_not_contribute_to_derivatives():
    well = kd.Potential("where(x > 0, log(x), 0)")
    assert force(well, [0.0]).tolist() == [0.0]
    assert force(well, [2.0]).tolist() == [-0.5]
    assert force(kd.Potential("r", r="norm(x, y)"), [[0.0, 0.0]]).tolist() == [0.0, 0.0]


BESIDE = {
    "nothing": [],
    "linear drag": [kd.LinearDrag(0.3)],
    "anchor spring": [kd.AnchorSpring(0.5)],
    "drag and spring": [kd.LinearDrag(0.3), kd.AnchorSpring(0.5)],
    "quadratic drag": [kd.QuadraticDrag(0.3)],
    "well": [kd.PointGravity(0.4, softening=0.5)],
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("integrator", [*SCHEMES[:3], kd.Leapfrog(), kd.Yoshida4(), kd.Verlet()], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_spring_as_expression_beside_each_kind_of_force(beside, integrator, dtype, monkeypatch):
    """It moves bodies like AnchorSpring, in the loop of its plan bitwise as in the general one, beside a free slot."""
    for n, dim in ((1, 1), (5, 2), (17, 3), (200, 2)):
        x, v = np.random.default_rng(n).normal(size=(2, n, dim)).astype(dtype)
        expression = kd.Expression(**{axis: f"-2*{axis}" for axis in "xyz"[:dim]})
        chosen = {"dt": 0.01, "integrator": integrator}
        spring = kd.Stepper(x.copy(), v.copy(), forces=[kd.AnchorSpring(2.0), *BESIDE[beside]], **chosen)
        spring.step(20)
        for isa in each_isa(monkeypatch):
            forces = [expression, *BESIDE[beside]]
            one = kd.Stepper(x.copy(), v.copy(), forces=forces, **chosen)
            free = kd.Stepper(*(np.vstack([a, a[:1]]) for a in (x, v)), forces=forces, alive=n, **chosen)
            one.step(20)
            free.step(20)
            where = f"{n} bodies in {dim} dimensions, {isa}"
            error = 500 * np.finfo(dtype).eps
            np.testing.assert_allclose(one.position, spring.position, rtol=error, atol=error, err_msg=where)
            np.testing.assert_allclose(one.velocity, spring.velocity, rtol=error, atol=error, err_msg=where)
            assert_same_bits(one.position, free.position[:n])
            assert_same_bits(one.velocity, free.velocity[:n])


@pytest.mark.parametrize(
    ("integrator", "most"),
    [("semi_implicit_euler", 8e-3), ("velocity_verlet", 1e-4), ("leapfrog", 1e-4), ("yoshida4", 1e-8), ("rk4", 5e-9)],
)
def test_an_expression_with_drag_is_a_damped_oscillator(integrator, most):
    """x = e^(-c t / 2) (cos w t + c / (2 w) sin w t) from rest at 1, where w^2 = k - c^2 / 4, for k = 2 and c = 0.3."""
    body = kd.Stepper([[1.0]], dt=0.01, integrator=integrator, forces=[kd.Expression(x="-2*x"), kd.LinearDrag(0.3)])
    body.step(500)
    c, t = 0.3, 5.0
    w = math.sqrt(2 - c * c / 4)
    exact = math.exp(-c * t / 2) * (math.cos(w * t) + c / (2 * w) * math.sin(w * t))
    assert abs(body.position[0, 0] - exact) < most


def test_energy_is_conserved():
    well = kd.Potential("k/4*r**4 + A*exp(-r**2)", r="norm(x, y)", k=2.0, A=1.0)
    rng = np.random.default_rng(2)
    world = kd.Stepper(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), dt=0.001, forces=[well])
    before = sum(world.energy())
    world.step(5000)
    assert sum(world.energy()) == pytest.approx(before, rel=1e-5)
    with pytest.raises(ValueError, match="no potential"):
        kd.Stepper([[0.0]], forces=[kd.Expression(x="x")]).energy()
    with pytest.raises(ValueError, match="time"):
        kd.Stepper([[0.0]], forces=[kd.Potential("x*sin(t)")]).energy()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_energy_euler_supports_potentials(dtype, monkeypatch):
    rng = np.random.default_rng(6)
    for n, dim in ((1, 1), (7, 2), (40, 3)):
        r = f"norm({', '.join('xyz'[:dim])})"
        wells = [kd.Potential("k/2*r**2", r=r, k=rng.uniform(1, 5, n)), kd.Potential("m*exp(-x*x)")]
        x, v = rng.normal(size=(2, n, dim)).astype(dtype)
        for forces in (wells[:1], [*wells, kd.Gravity(np.full(dim, -1.0)), kd.PointGravity(0.3, softening=0.5)]):
            arguments = {"mass": rng.uniform(1, 2, n), "dt": 0.05, "integrator": "energy_euler", "forces": forces}
            book = kd.reference.Stepper(x.copy(), v.copy(), **arguments)
            before = sum(book.energy())
            book.step(12)
            assert sum(book.energy()) == pytest.approx(before, rel=1e-4 if dtype == np.float32 else 1e-12)
            for isa in each_isa(monkeypatch):
                ours = kd.Stepper(x.copy(), v.copy(), **arguments)
                ours.step(12)
                with said(isa=isa, n=n, dim=dim, forces=forces):
                    assert_same_state(ours, book)
    with pytest.raises(ValueError, match="energy_euler"):
        kd.Stepper([[1.0]], integrator="energy_euler", forces=[kd.Expression(x="-x")])
    with pytest.raises(ValueError, match="energy_euler"):
        kd.Stepper([[1.0]], integrator="energy_euler", forces=[kd.Potential("x*x*t")])


def test_implicit_euler_uses_symbolic_derivatives():
    """Stiff springs converge with derivatives computed symbolically."""
    spring = kd.Potential("k/2*(norm(x, y) - 1)**2", k=1e6)
    ring = kd.Stepper([[1.1, 0.0], [0.0, 0.5]], dt=0.01, integrator="implicit_euler", forces=[spring])
    ring.step(50)
    assert np.linalg.norm(ring.position, axis=1) == pytest.approx(1, abs=1e-3)


# Expressions in steppers.


def test_changed_parameters_keep_the_program():
    term = kd.Expression(x="-k*x", k=2.0)
    other = term.changed({"k": 3.0})
    assert other.k == 3.0
    assert term.k == 2.0
    assert other.digest == term.digest
    assert other.operations is term.operations
    with pytest.raises(TypeError, match="parameters"):
        term.changed({"q": 1.0})
    with pytest.raises(TypeError):
        term.changed({"k": "x"})
    assert term.coefficients == ("k",)


def test_copies_snapshots_and_pickles():
    term = kd.Potential("k/2*x**2", k=2.0)
    world = kd.Stepper([[1.0]], dt=0.1, forces=[term])
    again = pickle.loads(pickle.dumps(world))
    snapshot = world.snapshot()
    for stepper in (world, again, copy.deepcopy(world)):
        stepper.restore(snapshot)
        stepper.step(10)
        assert stepper.checksum() == world.checksum()
    for changed in (kd.Potential("k/2*x**2", k=3.0), kd.Potential("k*x**2", k=2.0), kd.Expression(x="-k*x", k=2.0)):
        with pytest.raises(kd.SnapshotError):
            kd.Stepper([[1.0]], dt=0.1, forces=[changed]).restore(snapshot)
    assert repr(term) == "Potential('k/2*x**2', k=2.0)"
    assert repr(kd.Expression(x="k", k=2)) == "Expression(x='k', k=2.0)"


def test_expressions_without_bodies():
    term = kd.Expression(x="-k*x", k=np.zeros(0))
    for cls in (kd.Stepper, kd.reference.Stepper):
        world = cls(np.zeros((0, 1)), dt=0.1, forces=[term, kd.Potential("x*x")])
        world.step(3)
        assert world.tick == 3
    kd.ODEStepper(np.zeros((0, 1)), kd.flows.Expression(x="k*x", k=np.zeros(0)), dt=0.1).step(2)


def test_bodies_of_infinite_mass_keep_their_velocity():
    world = kd.Stepper([[1.0], [1.0]], mass=[1, np.inf], dt=0.1, forces=[kd.Expression(x="-m*x")])
    world.step(3)
    assert world.position[1] == [1.0]
    assert world.position[0] != [1.0]


# Expressions as ODE flows.


@pytest.mark.parametrize("scheme", ["explicit_euler", "midpoint", "heun", "rk4", "implicit_euler"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_flows_equal_the_reference(scheme, dtype, monkeypatch):
    rng = np.random.default_rng(8)
    for n, dim in ((1, 1), (7, 3), (250, 2), (3, 5)):
        names = "abcde"[:dim]
        given = {name: f"sin({names[i - 1]}) - k*{name}*t + q" for i, name in enumerate(names)}
        rhs = kd.flows.Expression(**given, k=rng.uniform(0.1, 1, n), q=0.3)
        y = rng.normal(size=(n, dim)).astype(dtype)
        book = kd.reference.ODEStepper(y.copy(), rhs, dt=0.1, integrator=scheme)
        book.step(3)
        for isa in each_isa(monkeypatch):
            ours = kd.ODEStepper(y.copy(), rhs, dt=0.1, integrator=scheme)
            ours.step(3)
            with said(isa=isa, n=n, dim=dim):
                assert_same_bits(ours.y, book.y)
                assert ours.evaluations == book.evaluations
        out = np.zeros_like(y)
        rhs(0.0, y, out)
        euler = kd.ODEStepper(np.zeros_like(y), rhs, dt=1.0, integrator="explicit_euler")
        euler._y[...] = 0
        assert np.isfinite(out).all()


def test_snapshots_identify_flows():
    def made(text="k*x", **given):
        return kd.ODEStepper([[1.0]] * 9, kd.flows.Expression(x=text, **given), dt=0.1)

    snapshot = made(k=2.0).snapshot()
    made(k=2.0).restore(snapshot)
    for other in (made(k=3.0), made("k*x*x", k=2.0), made(k=np.full(9, 2.0))):
        with pytest.raises(kd.SnapshotError):
            other.restore(snapshot)
    assert "<9 numbers>" in repr(made(k=np.ones(9)))


def test_invalid_flows_are_refused():
    with pytest.raises(ValueError, match="shape"):
        kd.ODEStepper([[1.0, 2.0]], kd.flows.Expression(x="x"), dt=0.1)
    with pytest.raises(ValueError, match=r"Expression\(k\)"):
        kd.ODEStepper([[1.0]], kd.flows.Expression(x="k", k=[1.0, 2.0]), dt=0.1)
    with pytest.raises(ValueError, match="unknown name"):
        kd.flows.Expression(x="y")
    with pytest.raises(ValueError, match="component"):
        kd.flows.Expression(a=1.0)
    assert repr(kd.flows.Expression(x="k*x", k=2)) == "Expression(x='k*x', k=2.0)"


@pytest.mark.parametrize("text", [
    "(a*b)*c + d", "d + (a*b)*c", "(a*b)*c - d", "d - (a*b)*c", "(a - b)*c + d", "d + (a - b)*c", "(a - b)*c - d",
    "d - (a - b)*c", "a*b + c*d", "a*b - c*d", "(a*b + c) + d", "(a*b + c) - d", "(a*b - c) + d", "(a*b - c) - d",
    "d + (a*b + c)", "d + (a*b - c)", "d - (a*b + c)", "(a + b) + c", "(a + b) - c", "(a - b) + c", "(a - b) - c",
    "a + (b + c)", "a + (b - c)", "a - (b + c)", "a - (b - c)", "(a*b)*c", "a*(b*c)", "(a + b)*c", "a*(b + c)",
    "(a - b)*c", "a*(b - c)", "(a + b)*(c + d)", "(a*b)*(c*d)", "(a*b)*c + (d*a)*b", "(a + b) - (c - d)",
    "a*b + a*b", "(a*b)*(a*b)", "(a*b + c) + (a*b + c)", "a*b*c*d + (a - d)*(b + c) - a*c*d", "a*a + b*b",
    "(a*a + b*b) - c*c", "p*a + q*b", "a*p - b*q", "a*p + b*c", "p*a + b", "b + a*p", "p*a - b", "b - a*p", "p*a*b",
    "a*p*b", "p*a*b + c", "p*a*b - c", "c - a*p*b", "(a*p + b) + c", "p*q*a", "p*p + q*q + a",
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fused_operations_round_each_step(text, dtype, monkeypatch):
    """Operations that are executed as one instruction sequence are each rounded."""
    rng = np.random.default_rng(len(text))
    y = rng.normal(size=(5, 4)).astype(dtype)
    same = {name: dtype(value) for name, value in (("p", 0.3), ("q", -1.7)) if name in text}
    rhs = kd.flows.Expression(a=text, b="b", c=f"{text} - a", d="-d", **{name: float(same[name]) for name in same})
    expected = np.zeros_like(y)
    for i, (a, b, c, d) in enumerate(y):
        expected[i, 0] = eval(text, {}, {"a": a, "b": b, "c": c, "d": d, **same})
        expected[i, 1], expected[i, 2], expected[i, 3] = b, expected[i, 0] - a, -d
    for _isa in each_isa(monkeypatch):
        euler = kd.ODEStepper(y.copy(), rhs, dt=0.5, integrator="explicit_euler")
        euler.step()
        assert_same_bits(euler.y, y + dtype(0.5) * expected)


@pytest.mark.parametrize("scheme", ["rk4", "dopri8"])
def test_many_steps_of_blocks_of_trajectories(scheme):
    """Results do not depend on the number of steps per call, for more trajectories than fit in one block."""
    y = np.random.default_rng(3).normal(size=(1700, 2))
    rhs = kd.flows.Expression(x="v*cos(t)", v="-k*x*t", k=np.linspace(1, 2, 1700))
    one, many = (kd.ODEStepper(y.copy(), rhs, dt=0.01, integrator=scheme) for _ in range(2))
    book = kd.reference.ODEStepper(y[190:196].copy(), kd.flows.Expression(
        x="v*cos(t)", v="-k*x*t", k=np.linspace(1, 2, 1700)[190:196]
    ), dt=0.01, integrator=scheme)  # fmt: skip
    for _ in range(12):
        one.step()
    many.step(5)
    many.step(7)
    book.step(12)
    assert_same_bits(one.y, many.y)
    assert_same_bits(one.y[190:196], book.y)
    assert one.evaluations == many.evaluations == book.evaluations


def test_flows_that_overflow_stop_at_that_tick():
    y = np.ones((400, 1))
    y[300] = 1e30
    rhs = kd.flows.Expression(x="x*x")
    ours = kd.ODEStepper(y.copy(), rhs, dt=1.0, integrator="explicit_euler")
    book = kd.reference.ODEStepper(y.copy(), rhs, dt=1.0, integrator="explicit_euler")
    for stepper in (ours, book):
        with pytest.raises(kd.NonFiniteError) as told:
            stepper.step(100)
        assert (told.value.body, told.value.first_tick, told.value.last_tick) == (300, stepper.tick - 1, stepper.tick)
    assert ours.tick == book.tick < 10
    assert_same_bits(ours.y, book.y)


@pytest.mark.parametrize("integrator", ["rk4", "velocity_verlet", "verlet"])
def test_components_without_an_expression_have_no_force(integrator):
    rng = np.random.default_rng(3)
    position, velocity = rng.normal(size=(2, 500, 3))
    checksums = []
    for force in (kd.Expression(x="-x"), kd.Expression(x="-x", y="0", z="0")):
        world = kd.Stepper(position.copy(), velocity.copy(), dt=0.125, integrator=integrator, forces=[force])
        world.step(5)
        checksums.append(world.checksum())
        assert np.allclose(world.velocity[:, 1:], velocity[:, 1:])
    assert checksums[0] == checksums[1]
