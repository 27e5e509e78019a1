"""noise(k) in expressions: normal numbers that depend only on k, tick and body id."""

import numpy as np
import pytest
from plans import assert_same_state, each_isa

import kickdrift as kd
from kickdrift import reference
from kickdrift.reference.noise import normals

STORM = kd.Expression(x="a*noise(0) - x", y="noise(1)*noise(7) + noise(0)", a=2.0)
INTEGRATORS = sorted(set(kd.INTEGRATORS) - {"dopri8", "exact", "energy_euler"})


def bodies(stepper=kd.Stepper, n=70, dim=2, dtype=np.float64, terms=(STORM,), **options):
    generator = np.random.default_rng(2)
    place, speed = generator.normal(size=(2, n, dim)).astype(dtype)
    return stepper(place, speed, forces=list(terms), **{"dt": 0.05} | options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_noise_equals_the_reference(integrator, dtype, monkeypatch):
    wide = kd.Potential("where(x < 0, noise(3), 2)*x*x + noise(2**31 - 1)*y")
    given = {"dtype": dtype, "terms": [STORM, kd.LinearDrag(0.3), wide], "integrator": integrator}
    early, late = (bodies(reference.Stepper, 9, **given) for _ in range(2))
    early.step(1)
    late.step(5)
    for _isa in each_isa(monkeypatch):
        ours = bodies(kd.Stepper, 9, **given)
        ours.step(1)
        assert_same_state(ours, early)
        ours.step(4)
        assert_same_state(ours, late)


def test_energy_is_refused_with_noise():
    well = kd.Potential("(2 + noise(0))*x*x/2")
    with pytest.raises(ValueError, match="noise"):
        bodies(terms=[well]).energy()
    with pytest.raises(ValueError, match="energy_euler"):
        bodies(terms=[well], integrator="energy_euler")


def test_noise_is_the_documented_function_of_tick_and_body():
    still = kd.Stepper(np.zeros((5, 1)), dt=1.0, forces=[kd.Expression(x="noise(4)")], integrator="explicit_euler")
    for tick in range(3):
        before = still.velocity.copy()
        still.step()
        expected = [before[i, 0] + normals(4, tick, i, 2)[0] for i in range(5)]
        assert still.velocity[:, 0].tolist() == expected


def test_noise_is_normal_and_independent():
    force = kd.Expression(x="noise(0)", y="noise(1)", z="noise(2)")
    still = kd.Stepper(np.zeros((20000, 3)), dt=1.0, forces=[force], integrator="explicit_euler")
    drawn = []
    for _ in range(5):
        still.velocity[...] = 0
        still.step()
        drawn.append(still.velocity.copy())
    z = np.concatenate(drawn)
    assert np.abs(z.mean(axis=0)).max() < 4 / 316
    assert np.abs(np.cov(z.T) - np.eye(3)).max() < 4 * 2**0.5 / 316
    assert np.abs((z**4).mean(axis=0) - 3).max() < 0.15
    apart = np.corrcoef([drawn[0][:, 0], drawn[1][:, 0], drawn[0][:, 1]])
    assert np.abs(apart - np.eye(3)).max() < 4 / 141


def test_noise_is_constant_within_a_tick():
    """One call of many steps equals single steps, even if the next step reuses the last evaluation."""
    for integrator in INTEGRATORS:
        once, often = (bodies(n=5, integrator=integrator) for _ in range(2))
        once.step(6)
        for _ in range(6):
            often.step()
        assert_same_state(often, once)


@pytest.mark.parametrize("term", [STORM, kd.Langevin(1.0, 0.5, seed=3)])
def test_splitting_threads_layout_and_restore_do_not_change_noise(term):
    one = bodies(n=5000, terms=[term])
    saved = one.snapshot()
    one.step(20)
    many = bodies(n=5000, terms=[term], threads=3)
    for count in (1, 7, 12):
        many.step(count)
    back = bodies(n=5000, terms=[term])
    back.step(33)
    back.restore(saved)
    back.step(20)
    start = bodies(n=5000, terms=[term])
    columns = np.asfortranarray(start.position), np.asfortranarray(start.velocity)
    turned = kd.Stepper(*columns, forces=start.forces, dt=0.05)
    turned.step(20)
    whole = bodies(n=5000, terms=[term, kd.Force(lambda t, x, v, out: None, velocity_dependent=False)])
    whole.step(20)
    for other in (many, back, turned, whole):
        assert_same_state(other, one)


@pytest.mark.parametrize("term", [STORM, kd.Langevin(1.0, 0.5, seed=3)])
def test_noise_does_not_depend_on_other_bodies_and_new_bodies_get_their_own(term):
    pair = [bodies(each, 30, terms=[term], alive=25) for each in (kd.Stepper, reference.Stepper)]
    alone = bodies(n=30, terms=[term])
    for each in (*pair, alone):
        each.step(5)
    for each in pair:
        each.kill([0, 7])
        each.spawn([[0.0, 0.0]])
        each.spawn([[0.0, 0.0]])
        each.step(5)
    alone.step(5)
    assert_same_state(*pair)
    assert (pair[0].position[8:25] == alone.position[8:25]).all()
    fresh = bodies(n=30, terms=[term])
    fresh.step(5)
    fresh.position[0], fresh.velocity[0] = 0, 0
    fresh.step(5)
    assert pair[0].ids[0] == 2 << 32
    assert (pair[0].velocity[0] != fresh.velocity[0]).all()


def test_noise_of_respawned_bodies_after_a_restore():
    world = bodies(n=8, alive=6)
    world.step(2)
    saved = world.snapshot()
    seen = []
    for _ in range(2):
        world.restore(saved)
        world.kill([1])
        world.spawn([[1.0, 2.0]])
        world.step(4)
        seen.append(world.checksum())
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("text", "said", "column"),
    [
        ("noise(x)", "whole number", 7),
        ("1 + noise(0.5)", "whole number", 11),
        ("noise(-1)", "whole number", 7),
        ("noise(2**31)", "whole number", 7),
        ("noise()", "takes 1 arguments", 1),
        ("noise(1, 2)", "takes 1 arguments", 1),
    ],
)
def test_invalid_noise_arguments_are_refused(text, said, column):
    with pytest.raises(ValueError, match=said) as raised:
        kd.Expression(x=text)
    assert f"at column {column}:" in str(raised.value)


def test_noise_is_refused_in_flows_and_pair_potentials():
    with pytest.raises(ValueError, match="no noise, at column 5"):
        kd.flows.Expression(x="x + noise(0)")
    with pytest.raises(ValueError, match="no noise"):
        kd.PairPotential("r*noise(0)", cutoff=1.0)


def test_programs_show_noise():
    assert str(kd.Expression(x="2*noise(3)").program()) == "_0 = 2.0 * noise(3)\nx = _0"
