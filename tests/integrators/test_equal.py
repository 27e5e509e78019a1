"""Integrators and forces: kernels are bitwise equal to the reference (0 ulp)."""

import numpy as np
import pytest
from plans import (
    ADDED_CONSTRAINTS,
    ADDED_FORCES,
    ADDED_INTEGRATORS,
    DTYPES,
    INTEGRATORS,
    KINDS,
    Scene,
    added_scene,
    assert_same_state,
    compare_with_reference,
    held_scene,
    in_turn,
    outcome,
    said,
    scene,
    takers,
)

import kickdrift as kd

PLANS = 630


@pytest.mark.parametrize("first", range(0, PLANS, 30))
def test_random_plans_equal_the_reference(monkeypatch, first):
    compare_with_reference(monkeypatch, in_turn(scene), range(first, first + 30))


@pytest.mark.parametrize("integrator", ADDED_INTEGRATORS, ids=repr)
def test_added_integrators_equal_the_reference(monkeypatch, integrator):
    def make(seed, rng):
        return (held_scene if seed % 3 == 2 else scene)(rng, integrator)

    compare_with_reference(monkeypatch, make, range(30))


@pytest.mark.parametrize("name", [*ADDED_FORCES, *ADDED_CONSTRAINTS])
def test_added_forces_and_constraints_equal_the_reference(monkeypatch, name):
    """Test the declarations of samples.py, with alternative coefficients, in 2-D and in 3-D."""
    takes = takers(name)

    def make(seed, rng):
        vary = seed // len(takes)
        return added_scene(rng, name, takes[seed % len(takes)], dim=2 + vary // 2, vary=vary > 0)

    compare_with_reference(monkeypatch, make, range(3 * len(takes)))


#: Single uniform terms: kernels have specialized loops for them.
LONE = {
    "well": lambda dim: kd.PointGravity(3.0, [0.2] * dim, 0.1),
    "wind": lambda dim: kd.QuadraticDrag(0.3, [0.5] * dim),
    "vortex": lambda dim: kd.Vortex(2.0, [0.1] * dim, [0.3, -0.4, 1.0] if dim == 3 else [0.0, 0.0, 1.0], 0.2),
}


#: Integrators whose kernels have loops for terms that need all components at once.
LOOPED = pytest.mark.parametrize(
    "integrator", [kd.SemiImplicitEuler(), kd.VelocityVerlet(), kd.Leapfrog(), kd.PEFRL(), kd.RK4()], ids=repr
)


@pytest.mark.parametrize("name", LONE)
@LOOPED
def test_single_uniform_terms_equal_the_reference(monkeypatch, name, integrator):
    """Numbers of bodies range from less than a vector to more than a tile."""

    def make(seed, rng):
        n, dtype, dim = (1, 7, 40, 197)[seed // 4], DTYPES[seed % 2], 2 + seed // 2 % 2
        position, velocity = rng.normal(size=(2, n, dim)).astype(dtype)
        position[0] = velocity[-1] = 0.5  # at rest relative to the wind, and close to the others
        forces = [LONE[name](dim), *([kd.Gravity([0.3] * dim)] if seed % 5 == 0 else [])]
        arguments = {"dt": 0.02, "integrator": integrator, "forces": forces}
        return Scene(position, velocity, ("row", "component")[seed % 3 % 2], arguments)

    compare_with_reference(monkeypatch, make, range(16))


@LOOPED
@pytest.mark.parametrize("drags", [False, True])
def test_sums_of_up_to_six_terms_equal_the_reference(monkeypatch, integrator, drags):
    """Kernels keep data of the first three terms from body to body, and from one evaluation to the next.

    In every other scene walls stop some bodies, whose next step does not begin where their last evaluation was.
    """

    def make(seed, rng):
        count, dtype, dim = 2 + seed % 5, DTYPES[seed % 2], 2 + seed // 2 % 2
        n = (5, 40, 197)[seed % 3]
        position, velocity = rng.normal(size=(2, n, dim)).astype(dtype)
        per_body = [
            kd.PointGravity(rng.uniform(0.5, 1, n), [-0.2] * dim, 0.3),
            kd.PointGravity(1.0, rng.normal(size=(n, dim)), rng.uniform(0.5, 1, n)),
        ]
        terms = [LONE["well"](dim), LONE["vortex"](dim), kd.PointGravity(-1.0, [0.9] * dim, 0.5), *per_body]
        chosen = [terms[i] for i in rng.permutation(len(terms))[:count]]
        if drags:
            chosen[rng.integers(len(chosen))] = LONE["wind"](dim)
        arguments = {"dt": 0.02, "integrator": integrator, "forces": chosen}
        if seed % 2:
            arguments["constraints"] = [kd.Box([-1.5] * dim, [9.0] * dim)]
        return Scene(position, velocity, ("row", "component")[seed % 3 % 2], arguments)

    compare_with_reference(monkeypatch, make, range(20))


@pytest.mark.parametrize("integrator", [*INTEGRATORS, *ADDED_INTEGRATORS], ids=repr)
def test_layout_and_splitting_do_not_change_results(isa, integrator):
    compared = 0
    for number, (layout, dtype, dim) in enumerate(KINDS):
        with said(integrator=integrator, layout=layout, dtype=dtype.__name__, dim=dim, seed=number):
            drawn = scene(np.random.default_rng(number), integrator, 140, dtype, dim)
            whole, parts = drawn.make(kd.Stepper, "row"), drawn.make(kd.Stepper, layout)
            if outcome(whole, 20):
                continue
            for n in (1, 0, 7, 11, 1):
                parts.step(n)
            assert_same_state(parts, whole)
            assert parts.time == whole.time
            compared += 1
    print(f"{compared} of {len(KINDS)} compared")
    assert compared > 0.8 * len(KINDS)


def extreme_scene(seed):
    """Draw a random scene whose numbers are extremely large, extremely small or zero."""
    rng = np.random.default_rng(seed)
    drawn = (held_scene if rng.integers(2) else scene)(rng, n=int(rng.integers(2, 6)))
    limits = np.finfo(drawn.position.dtype)
    most = 300 if limits.bits == 64 else 37

    def stretched(array):
        scale = [1, 0, 10 ** rng.uniform(-most, most), 10 ** rng.uniform(-most, most, array.shape)][rng.integers(4)]
        return np.clip(array * scale, limits.min, limits.max).astype(array.dtype)

    drawn.position, drawn.velocity = stretched(drawn.position), stretched(drawn.velocity)
    if rng.integers(2):
        drawn.arguments["dt"] = float(np.clip(10 ** rng.uniform(-most, most), limits.tiny, limits.max))
    return drawn


@pytest.mark.filterwarnings("ignore:Springs")  # steps of any length
@pytest.mark.parametrize("seeds", [range(100), range(400, 500), range(1000, 1100)], ids=repr)
def test_division_by_zero_equals_the_kernels_in_the_reference(seeds):
    """Python floats would raise ZeroDivisionError; kernels continue with infinity and report it."""
    made = compared = 0
    for seed in seeds:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                drawn = extreme_scene(seed)
                ours, book = drawn.make(kd.Stepper), drawn.make(kd.reference.Stepper)
        except ValueError:
            continue  # a coefficient overflows
        made += 1
        with said(seed=seed):
            failure = outcome(ours, 3)
            assert failure == outcome(book, 3)
            if failure and failure[0] is kd.NonFiniteError:
                continue
            assert_same_state(ours, book)
            compared += 1
    print(f"seeds {seeds}: {made} made, {compared} finite and compared")
    assert made > 50, f"seeds {seeds}"
    assert compared > 20, f"seeds {seeds}"
    assert made - compared > 5, f"seeds {seeds}: nothing overflowed"


@pytest.mark.parametrize("compliance", [0, 0.5])
def test_compliance_with_a_dt_whose_square_underflows_is_reported(Stepper, compliance):
    link = kd.Distance([(0, 1)], 1.0, compliance=compliance)
    with pytest.raises(kd.NonFiniteError):
        Stepper([[0.0], [2.0]], dt=1e-200, constraints=[link]).step()
