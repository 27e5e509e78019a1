"""Independent oracle for the merging of terms, code that stepper and reference share.

The documented formula of each term is evaluated with 60 digits, per body, and summed in the declared order.
"""

from functools import cache

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.declaration import known
from kickdrift.forces.base import Term

mpmath = pytest.importorskip("mpmath")
mp = mpmath.MPContext()
mp.dps = 60

DTYPES = [np.float32, np.float64]


def each(value, i, dim=None):
    """Coefficient of body i: a number, or a vector of `dim` components."""
    value = np.asarray(value, dtype=float)
    if dim is None:
        return mp.mpf(float(value if value.ndim == 0 else value[i]))
    row = np.broadcast_to(value if value.ndim < 2 else value[i], (dim,))
    return [mp.mpf(float(number)) for number in row]


def less(a, b):
    return [p - q for p, q in zip(a, b, strict=True)]


def length(a):
    return mp.sqrt(sum(p * p for p in a))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def per_mass(term):
    return isinstance(term, kd.AnchorSpring) and term.per_mass


def parts(term, i, mass, xs, vs):
    """Contributions of a term to the acceleration of body i; the size of these summands bounds the rounding errors."""
    x, v = xs[i], vs[i]
    dim, zero = len(x), [mp.mpf(0)] * len(x)
    if mp.isinf(mass[i]):
        return [zero]

    def along(factor, vector):
        return [factor * p for p in vector]

    match term:
        case kd.Gravity():
            return [each(term.acceleration, i, dim)]
        case kd.LinearDrag():
            c, w = each(term.coefficient, i) / mass[i], each(term.wind, i, dim)
            return [along(-c, v), along(c, w)]
        case kd.QuadraticDrag():
            u = less(v, each(term.wind, i, dim))
            return [along(-each(term.coefficient, i) / mass[i] * length(u), u)]
        case kd.AnchorSpring():
            share = 1 if term.per_mass else mass[i]
            k, c = each(term.stiffness, i) / share, each(term.damping, i) / share
            return [along(-k, x), along(k, each(term.anchor, i, dim)), along(-c, v)]
        case kd.PointGravity():
            d = less(x, each(term.center, i, dim))
            r = mp.sqrt(length(d) ** 2 + each(term.softening, i) ** 2)
            return [along(-each(term.mu, i) / r**3, d)]
        case kd.Vortex():
            axis = each(term.axis, i, 3)
            unit = along(1 / length(axis), axis)
            d = less(x, each(term.center, i, dim))
            t = cross(unit, [*d, mp.mpf(0)] if dim == 2 else d)[:dim]
            return [along(each(term.strength, i) / (length(t) ** 2 + each(term.softening, i) ** 2), t)]
        case kd.Springs():
            summands = []
            for number, (a, b) in enumerate(np.asarray(term.pairs).tolist()):
                if i not in (a, b):
                    continue
                way, rate = less(xs[b], xs[a]), less(vs[b], vs[a])
                distance = length(way)
                u = along(1 / distance, way)
                k, c = each(term.stiffness, number), each(term.damping, number)
                if term.per_mass:
                    reduced = 1 / (1 / mass[a] + 1 / mass[b])
                    k, c = k * reduced, c * reduced
                sign = (1 if i == a else -1) / mass[i]
                summands += [along(sign * k * distance, u), along(-sign * k * each(term.rest_length, number), u)]
                summands += [along(sign * c * sum(p * q for p, q in zip(rate, u, strict=True)), u)]
            return summands or [zero]
        case kd.NBody():
            summands = [zero]
            for j in range(len(xs)):
                if j != i:
                    d = less(xs[j], x)
                    r = mp.sqrt(length(d) ** 2 + mp.mpf(term.softening) ** 2)
                    summands.append(along(mp.mpf(term.G) * mass[j] / r**3, d))
            return summands
        case kd.Damping():
            return [zero]
    raise AssertionError(f"no formula for {term}")


def draw(rng, n, dim):
    """Draw random terms of every kind, several of each: with equal, zero and per-body coefficients."""

    def scalar(low, high):
        kind = rng.integers(6)
        if kind == 0:
            return 0.0
        if kind == 1:
            return rng.uniform(low, high, n)
        if kind == 2:  # zero for some bodies
            return rng.uniform(low, high, n) * rng.integers(0, 2, n)
        return float(rng.uniform(low, high))

    def vector():
        kind = rng.integers(4)
        return [0, rng.normal(size=dim), rng.normal(size=(n, dim)), np.full(dim, 0.75)][kind]

    def pairs():
        first = rng.integers(n, size=3)
        return np.stack([first, (first + rng.integers(1, n, 3)) % n], axis=1)

    makers = [
        lambda: kd.Gravity(np.zeros(dim) + vector()),
        lambda: kd.LinearDrag(scalar(0, 3), vector()),
        lambda: kd.LinearDrag(scalar(0, 3), vector()),
        lambda: kd.AnchorSpring(scalar(0, 20), scalar(0, 2), vector()),
        lambda: kd.AnchorSpring(scalar(0, 20), 0, vector()),
        lambda: kd.AnchorSpring.from_frequency(scalar(0, 1), scalar(0, 1.5), vector()),
        lambda: kd.QuadraticDrag(scalar(0, 1), vector()),
        lambda: kd.PointGravity(scalar(-1, 3), 5 + rng.normal(size=dim), scalar(0, 0.5)),
        lambda: kd.Damping(scalar(0, 2)),
    ]
    if n > 1:
        makers += [
            lambda: kd.Springs(pairs(), rng.uniform(0, 5, 3), 0.5, damping=rng.uniform(0, 1, 3)),
            lambda: kd.Springs.from_frequency(pairs(), rng.uniform(0, 1, 3), 0.3, rest_length=rng.uniform(0, 1, 3)),
        ]
    if dim > 1:
        axis = rng.normal(size=3) if dim == 3 else (0, 0, float(rng.choice([-3, 0.5])))
        makers.append(lambda: kd.Vortex(scalar(-2, 2), -5 + rng.normal(size=dim), axis, scalar(0, 0.5)))
    return [makers[rng.integers(len(makers))]() for _ in range(rng.integers(1, 9))]


def scene(seed):
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    mass = rng.uniform(0.5, 3, n) if rng.integers(2) else np.full(n, rng.uniform(0.5, 3))
    if rng.integers(3) == 0:
        mass[rng.integers(n)] = np.inf
    forces = draw(rng, n, dim)
    if n > 1 and np.isfinite(mass).all() and rng.integers(2):
        forces.insert(int(rng.integers(len(forces) + 1)), kd.NBody(float(rng.uniform(-1, 2)), 0.3))
    # Binary fractions of few digits, exact in both dtypes.
    x, v = (np.round(64 * rng.normal(size=(n, dim))) / 64 for _ in range(2))
    x += np.arange(n)[:, None] / 256  # no coincident bodies
    given = mass[0] if (mass == mass[0]).all() and rng.integers(2) else mass
    return x, v, given, mass, forces


def naive(forces, i, mass, x, v):
    """Acceleration of body i with 60 digits, and the sum of absolute summands, by component."""
    xs, vs, ms = ([[mp.mpf(float(p)) for p in row] for row in array] for array in (x, v, mass[:, None]))
    ms = [row[0] for row in ms]
    summands = [summand for term in forces for summand in parts(term, i, ms, xs, vs)]
    columns = list(zip(*summands, strict=True)) if summands else [[mp.mpf(0)]] * x.shape[1]
    return [sum(column) for column in columns], [sum(map(abs, column)) for column in columns]


@cache
def accelerations(seed):
    """Return for each body of a scene: acceleration, size of the summands, and damping factor over one second."""
    x, v, _, mass, forces = scene(seed)
    rows = []
    for i in range(len(x)):
        rates = [each(term.rate, i) for term in forces if isinstance(term, kd.Damping)]
        rows.append((*naive(forces, i, mass, x, v), mp.exp(-sum(rates)) if np.isfinite(mass[i]) else mp.mpf(1)))
    return rows


@pytest.mark.filterwarnings("ignore:Springs")  # steps of 1 s
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("first", range(0, 120, 30))
def test_merged_terms_equal_their_documented_formulas(Stepper, dtype, first):
    compared, kinds = 0, set()
    for seed in range(first, first + 30):
        x, v, given, _, forces = scene(seed)
        stepper = Stepper(x.astype(dtype), v.astype(dtype), given, dt=1, integrator="explicit_euler", forces=forces)
        stepper.step()
        # The bound covers rounding of the coefficients divided by masses, of the new velocity, and of damping.
        epsilon = float(np.finfo(dtype).eps)
        for i, row in enumerate(stepper.velocity):
            a, size, decay = accelerations(seed)[i]
            for component, velocity in enumerate(row):
                true = decay * (mp.mpf(v[i, component]) + a[component])
                # Errors of one component enter the others through the length of springs and of drag velocities.
                bound = 40 * epsilon * (abs(mp.mpf(v[i, component])) + max(size))
                error = abs(mp.mpf(float(velocity)) - true)
                assert error <= bound, f"seed {seed}, body {i}, component {component}, {forces}"
                compared += 1
        kinds |= {type(term) for term in forces}
    print(f"seeds {first} to {first + 29}: {compared} accelerations compared")
    assert compared >= 100, f"seeds {first} to {first + 29}"
    assert len(kinds) >= 9, f"seeds {first} to {first + 29}: {kinds}"


def test_every_term_has_a_formula_here():
    drawn = {type(term) for seed in range(120) for term in scene(seed)[4]}
    functions = {kd.Force, kd.Acceleration, kd.NativeForce, kd.Expression, kd.Potential}  # not merged
    elsewhere = {
        kd.Magnetic,
        kd.RotatingFrame,
        kd.AppliedForce,
        kd.AppliedTorque,
        kd.PairPotential,
        kd.Langevin,
        kd.FloorFriction,
    }  # tested in files of their own
    missing = known(Term) - (drawn | functions | elsewhere)
    assert not missing, f"expected a formula of {missing} here, drawn by `scene`, or tests in a file of their own"
    assert drawn | functions | elsewhere == known(Term)


def affine_scene(seed):
    x, v, given, mass, forces = scene(seed)
    return (
        x,
        v,
        given,
        mass,
        [term for term in forces if isinstance(term, (kd.Gravity, kd.LinearDrag, kd.AnchorSpring))],
    )


@cache
def exact_ends(seed, h):
    """Exact positions and velocities after h under x'' = A x + B v + g by a matrix exponential, with an error scale."""
    x, v, _, mass, forces = affine_scene(seed)
    (n, dim), ends = x.shape, {}
    for i in range(n):
        zero, one = np.zeros((n, dim)), np.ones((n, dim))
        free, _ = naive(forces, i, mass, zero, zero)
        by_x, by_v = (naive(forces, i, mass, *pair)[0] for pair in ((one, zero), (zero, one)))
        for j in range(dim):
            A, B = by_x[j] - free[j], by_v[j] - free[j]
            flow = mp.expm(mp.matrix([[0, 1, 0], [A, B, free[j]], [0, 0, 0]]) * h)
            start = mp.matrix([mp.mpf(x[i, j]), mp.mpf(v[i, j]), 1])
            # With a stiff spring, anchor and position may cancel: errors scale with the summands.
            size = 1 + abs(start[0]) + abs(start[1]) + abs(free[j]) + abs(A) * abs(start[0])
            ends[i, j] = (flow * start)[:2], size * (1 + abs(B))
    return ends


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_exact_integrator_equals_the_matrix_exponential(Stepper, dtype):
    compared = 0
    for seed in range(60):
        x, v, given, _, forces = affine_scene(seed)
        h = [0.0625, 0.5, 2.0][seed % 3]
        stepper = Stepper(x.astype(dtype), v.astype(dtype), given, dt=h, integrator="exact", forces=forces)
        stepper.step()
        for (i, j), (end, size) in exact_ends(seed, h).items():
            for actual, true in zip((stepper.position[i, j], stepper.velocity[i, j]), end, strict=True):
                bound = 40 * float(np.finfo(dtype).eps) * size
                assert abs(mp.mpf(float(actual)) - true) <= bound, f"seed {seed}, body {i}, {forces}"
                compared += 1
    print(f"{compared} numbers compared")
    assert compared > 300


# Energies.


def potential(term, i, mass, xs):
    """Potential energy of one body in J by the documented formula; pair energies are split in halves."""
    x, dim = xs[i], len(xs[i])
    m = mass[i]
    match term:
        case kd.Gravity():
            g = each(term.acceleration, i, dim)
            return 0 if mp.isinf(m) else -m * sum(p * q for p, q in zip(g, x, strict=True))
        case kd.AnchorSpring():
            k = each(term.stiffness, i) * (m if term.per_mass else 1)
            return 0 if mp.isinf(m) else k * length(less(x, each(term.anchor, i, dim))) ** 2 / 2
        case kd.PointGravity():
            r = mp.sqrt(length(less(x, each(term.center, i, dim))) ** 2 + each(term.softening, i) ** 2)
            return 0 if mp.isinf(m) else -m * each(term.mu, i) / r
        case kd.Damping():
            return 0
        case kd.Springs():
            total = mp.mpf(0)
            for number, (a, b) in enumerate(np.asarray(term.pairs).tolist()):
                if i in (a, b) and not (mp.isinf(mass[a]) and mp.isinf(mass[b])):
                    reduced = 1 / (1 / mass[a] + 1 / mass[b]) if term.per_mass else 1
                    stretch = length(less(xs[b], xs[a])) - each(term.rest_length, number)
                    total += reduced * each(term.stiffness, number) * stretch**2 / 4
            return total
        case kd.NBody():
            total = mp.mpf(0)
            for j in range(len(xs)):
                if j != i:
                    r = mp.sqrt(length(less(xs[j], x)) ** 2 + mp.mpf(term.softening) ** 2)
                    total -= mp.mpf(term.G) * m * mass[j] / r / 2
            return total
    raise AssertionError(f"no potential for {term}")


def conservative_scene(seed):
    *numbers, forces = scene(seed)
    none = (kd.LinearDrag, kd.QuadraticDrag, kd.Vortex)
    return *numbers, [term for term in forces if not isinstance(term, none)]


@cache
def energies(seed):
    """Return the summands of kinetic and potential energy, for each body and term."""
    x, v, _, mass, forces = conservative_scene(seed)
    xs, vs = ([[mp.mpf(float(p)) for p in row] for row in array] for array in (x, v))
    masses = [mp.mpf(float(m)) for m in mass]
    moving = [m * length(u) ** 2 / 2 for m, u in zip(masses, vs, strict=True) if not mp.isinf(m)]
    return moving, [potential(term, i, masses, xs) for term in forces for i in range(len(xs))]


@pytest.mark.parametrize("dtype", DTYPES)
def test_energies_equal_the_sum_over_bodies(Stepper, dtype):
    compared = 0
    for seed in range(120):
        x, v, given, _, forces = conservative_scene(seed)
        kinetic, stored = Stepper(x.astype(dtype), v.astype(dtype), given, forces=forces).energy()
        for actual, summands in zip((kinetic, stored), energies(seed), strict=True):
            bound = 1e-14 * (sum(map(abs, summands)) + 1)
            assert abs(mp.mpf(actual) - sum(summands)) <= bound, f"seed {seed}: {forces}"
            compared += bool(summands)
    print(f"{compared} energies compared")
    assert compared > 150


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_drag_that_does_not_act_on_a_body_changes_no_bit_of_it(order, dtype):
    """Body 0 has one drag, bodies 1 and 2 have the other; the spring has no damping, thus no drag at all."""
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=(2, 3, 2)).astype(dtype)
    few = kd.LinearDrag([0.0, 1.7, 0.3], wind=rng.normal(size=2))
    one = kd.LinearDrag([2.9, 0.0, 0.0], wind=rng.normal(size=2))
    spring = kd.AnchorSpring(1.3)

    def after(*forces):
        world = kd.Stepper(x.copy(), v.copy(), dt=0.01, integrator="rk4", forces=forces)
        world.step(5)
        return [world.position, world.velocity]

    both = after(*[(few, one, spring)[number] for number in order])
    for found, first, second in zip(both, after(one, spring), after(few, spring), strict=True):
        assert found[0].tobytes() == first[0].tobytes()
        assert found[1:].tobytes() == second[1:].tobytes()


def test_drag_of_some_bodies_has_a_wind_for_these_alone():
    drag = kd.LinearDrag([0.0, 2.0], wind=(3.0, -1.0))
    world = kd.Stepper(np.zeros((2, 2)), dt=0.01, forces=[drag])
    assert world._plan.w.tolist() == [[0.0, 0.0], [3.0, -1.0]]
    world.set(drag, coefficient=[1.0, 2.0])
    assert world._plan.w.tolist() == [[3.0, -1.0]]
    world.set(drag, coefficient=0.0)
    assert world._plan.w.tolist() == [[0.0, 0.0]]
