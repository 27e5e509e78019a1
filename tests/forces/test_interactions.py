"""Springs and NBody: textbook formulas, conserved quantities and refusals."""

import math

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state, said

import kickdrift as kd
from kickdrift import kernels
from kickdrift.integrators import INTEGRATORS

PAIRS = [(0, 1), (1, 2), (2, 0), (3, 1), (0, 3), (1, 0)]


def rest(rng, n=4, dim=3):
    return rng.normal(size=(n, dim)), rng.normal(size=(n, dim)), rng.uniform(0.5, 3, n)


def momentum(stepper):
    return stepper.velocity.T @ np.broadcast_to(stepper.mass, stepper.n)


def angular_momentum(stepper):
    return np.cross(stepper.position, np.broadcast_to(stepper.mass, stepper.n)[:, None] * stepper.velocity).sum(axis=0)


def acceleration(cls, x, v, mass, force):
    """Measure the accelerations of all bodies with a tiny step of explicit Euler."""
    stepper = cls(x.copy(), v.copy(), mass, dt=2**-20, integrator="explicit_euler", forces=[force])
    stepper.step()
    return (stepper.velocity - v) * 2**20


def test_springs_obey_hookes_law(Stepper):
    x, v, mass = rest(np.random.default_rng(1))
    k, length, c = np.arange(1.0, 7), np.arange(6) / 4, np.arange(6) / 3
    expected = np.zeros_like(x)
    for s, (i, j) in enumerate(PAIRS):
        d = x[j] - x[i]
        u = d / np.linalg.norm(d)
        f = (k[s] * (np.linalg.norm(d) - length[s]) + c[s] * ((v[j] - v[i]) @ u)) * u
        expected[i] += f / mass[i]
        expected[j] -= f / mass[j]
    actual = acceleration(Stepper, x, v, mass, kd.Springs(PAIRS, k, length, c))
    assert actual == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("softening", [0, 0.5])
def test_n_body_obeys_newtons_law(Stepper, softening):
    x, v, mass = rest(np.random.default_rng(2), 7)
    d = x - x[:, None]
    r = np.sqrt((d * d).sum(axis=2) + softening**2)
    np.fill_diagonal(r, np.inf)
    expected = 0.7 * (mass[None, :, None] * d / r[:, :, None] ** 3).sum(axis=1)
    assert acceleration(Stepper, x, v, mass, kd.NBody(0.7, softening)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("force", [kd.Springs(PAIRS, 5.0, 0.5), kd.NBody(2.0, 0.3)])
def test_forces_equal_the_negative_gradient_of_the_potential(force):
    x, v, mass = rest(np.random.default_rng(3))
    expected = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        energies = []
        for step in (-1e-5, 1e-5):
            moved = x.copy()
            moved[place] += step
            energies.append(kd.reference.Stepper(moved, v, mass, forces=[force]).energy()[1])
        expected[place] = (energies[0] - energies[1]) / 2e-5 / mass[place[0]]
    assert acceleration(kd.reference.Stepper, x, v, mass, force) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("force", [kd.Springs(PAIRS, 5.0, 0.5, 0.3), kd.NBody(2.0, 0.3)])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "velocity_verlet", "leapfrog"])
def test_momentum_and_angular_momentum_are_conserved_to_rounding(Stepper, integrator, force):
    x, v, mass = rest(np.random.default_rng(4))
    stepper = Stepper(x, v, mass, dt=0.01, integrator=integrator, forces=[force])
    p, l_before = momentum(stepper), angular_momentum(stepper)
    stepper.step(100)
    assert momentum(stepper) == pytest.approx(p, abs=1e-13)
    if force.velocity_dependent and integrator == "velocity_verlet":
        return  # damping conserves it only to the order of the scheme
    assert angular_momentum(stepper) == pytest.approx(l_before, abs=1e-12)


@pytest.mark.parametrize("force", [kd.Springs(PAIRS, 5.0, 0.5), kd.NBody(0.5, 0.5)])
def test_energy_error_has_the_order_of_the_integrator(Stepper, force):
    errors = []
    for steps in (100, 200):
        x, v, mass = rest(np.random.default_rng(5))
        stepper = Stepper(x, v, mass, dt=1 / steps, integrator="pefrl", forces=[force])
        before = sum(stepper.energy())
        stepper.step(steps)
        errors.append(abs(sum(stepper.energy()) - before))
    assert errors[1] < 1e-8
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.2)


def test_a_pinned_end_is_infinitely_heavy_for_a_spring_of_given_frequency(Stepper):
    """The frequency stays 1 Hz when the pin is added later: after one second the bob is back at its start."""
    spring, pin = kd.Springs.from_frequency([(0, 1)], 1.0, rest_length=1.0), kd.Pin(0)
    for late in (False, True):
        position = np.array([[0.0], [1.5]])
        bob = Stepper(position, hz=1000, forces=[spring], constraints=[] if late else [pin])
        if late:
            bob.add(pin)
        bob.step(500)
        assert position[1, 0] == pytest.approx(0.5, abs=1e-4)
        bob.step(500)
        assert position[1, 0] == pytest.approx(1.5, abs=1e-4)
        bob.remove(pin)
        bob.step(500)  # free, of reduced mass 1/2: still 1 Hz
        assert position[1, 0] - position[0, 0] == pytest.approx(0.5, abs=1e-4)


def test_a_spring_oscillates_with_its_frequency(Stepper):
    spring = kd.Springs.from_frequency([(0, 1)], rest_length=1.0, hertz=2.0)
    pair = Stepper([[0.0], [1.5]], mass=[1.0, 3.0], dt=0.5 / 1024, integrator="pefrl", forces=[spring])
    pair.step(1024)  # one period
    assert pair.position[:, 0] == pytest.approx([0, 1.5], abs=1e-9)
    critical = kd.Springs.from_frequency([(0, 1)], hertz=[2.0], damping_ratio=1.0)
    pair = Stepper([[0.0], [1.0]], [[0.0], [1.0]], mass=[np.inf, 3.0], dt=1e-3, integrator="rk4", forces=[critical])
    pair.step(100)  # x = 1 + t exp(-w t)
    assert pair.position[1, 0] == pytest.approx(1 + 0.1 * math.exp(-0.4 * math.pi), rel=1e-9)
    assert pair.position[0, 0] == 0


def test_rest_lengths_default_to_the_initial_distances(Stepper):
    square = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    bodies = Stepper(square.copy(), forces=[kd.Springs([(0, 1), (0, 2)], 100.0)])
    assert bodies.forces[0].rest_length.tolist() == [3, 5]
    assert bodies.energy() == (0, 0)
    bodies.position[:] *= 2  # must not change the rest lengths
    bodies.shift((1.0, 1.0))
    assert bodies.forces[0].rest_length.tolist() == [3, 5]
    bodies.position[:] = square
    bodies.step(10)
    assert (bodies.position == square).all()


def test_coincident_bodies_stay_finite(Stepper):
    n = 20 if Stepper is kd.reference.Stepper else 2000
    for force in (kd.NBody(), kd.NBody(softening=0.1), kd.Springs([(i, i + 1) for i in range(n - 1)], 1.0, 1.0, 0.1)):
        bodies = Stepper(np.ones((n, 2)), forces=[force])
        bodies.step(2)
        assert (bodies.position == 1).all()
        assert np.isfinite(bodies.energy()).all()


def test_worlds_without_bodies_or_springs(Stepper):
    for n in (0, 1, 3):
        bodies = Stepper(np.ones((n, 2)), forces=[kd.Springs([], 1.0), kd.NBody()])
        bodies.step(2)
        assert bodies.energy() == (0, 0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: kd.Springs([(0, 0)], 1.0),
            ValueError,
            r"Springs\(pairs\): expected two bodies in a pair, got \[0, 0\]",
        ),
        (lambda: kd.Springs([(0, 1.5)], 1.0), TypeError, r"Springs\(pairs\): expected ints"),
        (lambda: kd.Springs([0, 1], 1.0), ValueError, r"Springs\(pairs\): expected shape \(pairs, 2\), got \(2,\)"),
        (lambda: kd.Springs([(0, 1), (2,)], 1.0), ValueError, r"Springs\(pairs\): expected pairs"),
        (lambda: kd.Springs([(0, 1)], -1.0), ValueError, r"Springs\(stiffness\): expected numbers of at least 0"),
        (lambda: kd.Springs([(0, 1)], 1.0, -1.0), ValueError, r"Springs\(rest_length\): expected .* at least 0"),
        (lambda: kd.Springs([(0, 1)], 1.0, 1.0, -1.0), ValueError, r"Springs\(damping\): expected .* at least 0"),
        (lambda: kd.Springs([(0, 1)], np.nan), ValueError, r"Springs\(stiffness\): expected finite"),
        (lambda: kd.Springs.from_frequency([(0, 1)], -2), ValueError, r"Springs\(hertz\)"),
        (lambda: kd.Springs.from_frequency([(0, 1)], 2, -1), ValueError, r"Springs\(damping_ratio\)"),
        (lambda: kd.NBody(np.inf), ValueError, r"NBody\(G\): expected a finite number"),
        (lambda: kd.NBody([1.0, 2.0]), TypeError, r"NBody\(G\): expected a real number"),
        (lambda: kd.NBody(1, -1), ValueError, r"NBody\(softening\): expected a finite number of at least 0"),
    ],
)
def test_invalid_declarations_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_declarations_that_do_not_match_the_bodies_are_refused(Stepper):
    for pairs in ([(0, 2)], [(0, 1), (-1, 0)]):
        for length in (None, 1.0):
            with pytest.raises(ValueError, match=r"Springs\(pairs\): expected indices from 0 to 1, got .* as pair"):
                Stepper([[0.0], [1.0]], forces=[kd.Springs(pairs, 1.0, length)])
    with pytest.raises(
        ValueError, match=r"Springs\(stiffness\): expected a scalar or shape \(1,\), one value per pair"
    ):
        Stepper([[0.0], [1.0]], forces=[kd.Springs([(0, 1)], [1.0, 2.0], 1.0)])
    with pytest.raises(ValueError, match=r"Springs\(rest_length\): expected .* one value per pair"):
        Stepper([[0.0], [1.0]], forces=[kd.Springs([(0, 1)], 1.0, [[1.0]])])
    with pytest.raises(ValueError, match="NBody: expected finite masses, got inf for body 1"):
        Stepper([[0.0], [1.0]], mass=[1, np.inf], forces=[kd.NBody()])
    with pytest.raises(ValueError, match=r"NBody\(softening\): expected 0 or enough to keep .* float32"):
        Stepper(np.zeros((2, 1), np.float32), forces=[kd.NBody(softening=1e-14)])
    for integrator in ("exact", "energy_euler"):
        for force in (kd.Springs([(0, 1)], 1.0), kd.NBody()):
            with pytest.raises(ValueError, match=f"integrator: {integrator} takes.*{type(force).__name__}"):
                Stepper([[0.0], [1.0]], integrator=integrator, forces=[force])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("damping", [0, 0.3])
def test_many_bodies_equal_the_reference_in_all_simd_lanes(isa, dtype, dim, damping):
    rng = np.random.default_rng(6)
    for n in (2, 9, 33, 65):
        pairs = np.array([(i, j) for i in range(n) for j in {(i + 1) % n, (i + 7) % n} - {i}])
        k, rest = rng.uniform(0, 9, len(pairs)), rng.uniform(0, 2, len(pairs))
        forces = [kd.NBody(0.3, 0.1), kd.Springs(pairs, k, rest, damping)]
        x, v, mass = rng.normal(size=(n, dim)), rng.normal(size=(n, dim)), rng.uniform(0.5, 2, n)
        ours, book = (
            cls(x.astype(dtype), v.astype(dtype), mass, dt=0.01, integrator="leapfrog", forces=forces)
            for cls in (kd.Stepper, kd.reference.Stepper)
        )
        for stepper in (ours, book):
            stepper.step(2)
        assert_same_state(ours, book)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("softening", [0, 0.1])
def test_n_body_with_symmetric_pairs_equals_the_reference(isa, dim, softening):
    # From 32 bodies on, kernels compute each pair once. Some bodies coincide.
    for n in (31, 32, 37, 40):
        x, v, mass = rest(np.random.default_rng(n), n, dim)
        x[n // 2], x[n - 1, 0], x[n - 2] = x[1], x[0, 0], x[n - 3]
        ours, book = (
            cls(x.copy(), v.copy(), mass, dt=1e-3, integrator="leapfrog", forces=[kd.NBody(0.3, softening)])
            for cls in (kd.Stepper, kd.reference.Stepper)
        )
        for stepper in (ours, book):
            stepper.step()
        assert_same_state(ours, book)


FORMS = ("kick_drift", "drift_kick", "alternate")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("integrator", ["leapfrog", "yoshida4", "velocity_verlet", *FORMS])
def test_small_n_body_loops_equal_the_reference(isa, dtype, dim, integrator):
    scheme = integrator if integrator not in FORMS else kd.SemiImplicitEuler(integrator)
    # Kernels keep three bodies in registers, and other numbers of bodies in vectors.
    gravity = kd.Gravity((0.1,) * dim)
    for n, softening, beside in ((1, 0.1, []), (2, 0, []), (3, 0, []), (3, 0.1, [gravity]), (9, 0, [])):
        x, v, mass = rest(np.random.default_rng(n), n, dim)
        if softening == 0:
            x[n - 1] = x[0]  # coincident bodies exert no force
        ours, book = (
            cls(
                x.astype(dtype), v.astype(dtype), mass, dt=0.01, integrator=scheme,
                forces=[kd.NBody(0.3, softening), *beside],
            )
            for cls in (kd.Stepper, kd.reference.Stepper)
        )  # fmt: skip
        for steps in (1, 2, 2):
            ours.step(steps)
            book.step(steps)
        assert ours.force_evaluations == book.force_evaluations
        assert_same_state(ours, book)


def test_threads_and_instruction_sets_do_not_change_results(monkeypatch):
    rng = np.random.default_rng(7)
    n = 1700
    x, mass = rng.normal(size=(n, 3)), rng.uniform(0.5, 2, n) / n
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    states = []
    for isa in kernels.isas:
        monkeypatch.setattr(kernels, "isa", isa)
        for threads in (1, 2, 8):
            forces = [kd.NBody(softening=0.1), kd.Springs(pairs, 0.01)]
            stepper = kd.Stepper(x.copy(), mass=mass, dt=0.01, forces=forces, threads=threads)
            stepper.step(3)
            states.append((stepper.position, stepper.velocity))
    for state in states[1:]:
        for array, first in zip(state, states[0], strict=True):
            assert_same_bits(array, first)


def test_the_figure_eight_orbit_is_periodic(Stepper):
    # Chenciner, Montgomery 2000; the initial values are by Simó.
    x = np.array([[0.97000436, -0.24308753], [-0.97000436, 0.24308753], [0.0, 0.0]])
    v = np.array([-0.93240737, -0.86473146])
    bodies = Stepper(x.copy(), [-v / 2, -v / 2, v], dt=6.32591398 / 400, integrator="pefrl", forces=[kd.NBody()])
    energy = sum(bodies.energy())
    bodies.step(400)
    assert bodies.position == pytest.approx(x, abs=1e-6)
    assert sum(bodies.energy()) == pytest.approx(energy, rel=1e-8)
    assert momentum(bodies) == pytest.approx([0, 0], abs=1e-13)


EXPLICIT = {name: cls for name, cls in INTEGRATORS.items() if name not in ("exact", "energy_euler", "implicit_euler")}


def damped_pair(cls, integrator, damping, **more):
    """Create two bodies with mutual damping and no spring: the relative velocity obeys u' = -2 d u."""
    pair = kd.Springs([(0, 1)], 0.0, 1.0, damping)
    return cls([[0.0], [1.0]], [[-1e-9], [1e-9]], dt=0.5, integrator=integrator, forces=[pair], **more)


@pytest.mark.parametrize("integrator", EXPLICIT)
def test_damping_beyond_the_stability_limit_warns(integrator):
    """The limit is where the relative velocity of a pair begins to grow."""
    limit = EXPLICIT[integrator].damping_limit
    calm = damped_pair(kd.Stepper, integrator, 0.99 * limit)  # 2 d dt / m = 0.99 of the limit
    calm.step(1000)
    assert abs(calm.velocity[1, 0] - calm.velocity[0, 0]) < 1e-9
    for cls in (kd.Stepper, kd.reference.Stepper):
        with pytest.warns(RuntimeWarning, match=r"pair 0, of bodies 0 and 1, .* a dt of 0.495 s, got 0.5 s; divide"):
            wild = damped_pair(cls, integrator, 1.01 * limit)
    wild = damped_pair(kd.Stepper, integrator, 0.9 * limit)
    with pytest.warns(RuntimeWarning, match="divide the damping by 1.01 or more"):
        wild.set(wild.forces[0], damping=1.01 * limit)
    with pytest.raises(kd.NonFiniteError):
        wild.step(200_000)
    added = kd.Stepper([[0.0], [1.0]], dt=0.5, integrator=integrator)
    with pytest.warns(RuntimeWarning, match="divide the damping by 3 or more"):
        added.add(kd.Springs([(0, 1)], 0.0, 1.0, 3 * limit))


def test_changes_that_exceed_the_damping_limit_warn(Stepper):
    """The pair has dt d / m = 0.8; the scheme is stable up to 1."""

    def enabled(world):
        world.enable(spring, False)
        world.dt *= 1.5  # no warning
        world.enable(spring)

    for change in (lambda world: setattr(world, "dt", 1.5 * world.dt), lambda world: world.set_mass(0.5, [0]), enabled):
        world = damped_pair(Stepper, "semi_implicit_euler", 0.8 / 0.5)
        spring = world.forces[0]
        with pytest.warns(RuntimeWarning, match="divide the damping by 1.2 or more") as told:
            change(world)
        assert [warning.filename for warning in told] == [__file__]


def test_the_damping_limit_sums_over_all_springs_of_a_body():
    """A body between two fixed ones: v' = -2 d v, where each pair alone is within the limit."""
    line, pairs = [[-1.0], [0.0], [1.0]], [(0, 1), (1, 2)]
    springs = [kd.Springs(pairs, 1.0, damping=1.1)]
    for held in ({"constraints": [kd.Pin([0, 2])]}, {"mass": [np.inf, 1, np.inf]}):
        with pytest.warns(RuntimeWarning, match="of bodies 0 and 1, with all that damps either"):
            hub = kd.Stepper(
                line, [[0.0], [1e-9], [0.0]], dt=1.0, integrator="semi_implicit_euler", forces=springs, **held
            )
        hub.step(100)
        assert abs(hub.velocity[1, 0]) > 1e-6
        kd.Stepper(line, dt=0.5, forces=springs, **held)  # no warning
        kd.Stepper(line, dt=10.0, integrator="implicit_euler", forces=springs, **held)


OVERFLOWING = {
    "nbody": lambda rng: [kd.AnchorSpring(rng.uniform(1, 5)), kd.NBody(rng.choice([1.0, 1e10]), rng.choice([0, 0.1]))],
    "springs": lambda rng: [
        kd.AnchorSpring(rng.uniform(1, 5)),
        kd.Springs([(0, 1), (1, 2)], 9.0, 1.0, rng.choice([0, 1])),
    ],
    "well": lambda rng: [kd.AnchorSpring(rng.uniform(1, 5)), kd.PointGravity(2.0, softening=rng.choice([0, 0.1]))],
    "vortex": lambda rng: [kd.AnchorSpring(rng.uniform(1, 5)), kd.Vortex(2.0)],
}


@pytest.mark.parametrize("forces", OVERFLOWING.values(), ids=OVERFLOWING)
def test_overflows_equal_the_reference(isa, forces):
    """Overflows in kernels and reference agree in which bodies stay finite and which components become NaN."""
    overflowed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        dtype, dim = [np.float32, np.float64][seed % 2], int(rng.integers(2, 4))
        n = int(rng.integers(3, 12))
        x, v = (rng.normal(size=(n, dim)).astype(dtype) for _ in range(2))
        x[rng.integers(len(x)), rng.integers(dim)] = np.finfo(dtype).max * rng.choice([-0.5, 0.3, 1e-10])
        integrator, terms = rng.choice(["rk4", "velocity_verlet", "yoshida4", "groot_warren"]), forces(rng)
        states = []
        for cls in (kd.Stepper, kd.reference.Stepper):
            world = cls(x.copy(), v.copy(), dt=0.5, integrator=str(integrator), forces=terms)
            try:
                world.step(2)
            except kd.NonFiniteError:
                overflowed += 1
            states.append((world.tick, world.position, world.velocity))
        with said(seed=seed, integrator=integrator):
            assert states[0][0] == states[1][0]
            for ours, book in zip(states[0][1:], states[1][1:], strict=True):
                np.testing.assert_array_equal(ours, book)
    assert 10 < overflowed < 80
