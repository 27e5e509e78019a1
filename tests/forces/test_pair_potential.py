"""PairPotential: forces within a cutoff, compared with sums over all pairs and the reference; conservation laws."""

import pickle

import numpy as np
import pytest
from plans import assert_twins

import kickdrift as kd
from kickdrift import reference

LENNARD_JONES = "4*e*((q/r)**12 - (q/r)**6)"


def bond(**options):
    return kd.PairPotential(LENNARD_JONES, **({"cutoff": 2.5, "e": 1.0, "q": 1.0} | options))


def lattice(count, dim, spacing=1.12, seed=3):
    """Create slightly perturbed grid positions in random order."""
    generator = np.random.default_rng(seed)
    side = int(np.ceil(count ** (1 / dim)))
    places = np.stack(np.meshgrid(*[np.arange(side)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)[:count] * spacing
    return generator.permutation(places + generator.uniform(-0.05, 0.05, places.shape))


def gas(stepper=kd.Stepper, count=60, dim=3, dtype=np.float64, speed=0.5, **options):
    place = lattice(count, dim)
    velocity = np.random.default_rng(5).normal(0, speed, place.shape)
    velocity -= velocity.mean(axis=0)
    options = {"dt": 0.004, "forces": [bond()]} | options
    return stepper(place.astype(dtype), velocity.astype(dtype), **options)


def forces_by_hand(place, cutoff=2.5):
    d = place[None] - place[:, None]
    square = (d * d).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    slope = np.where(square < cutoff**2, (24 * square**-3 - 48 * square**-6) / square, 0.0)
    return (slope[:, :, None] * d).sum(axis=1)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_each_pair_contributes_once(dim):
    there = gas(count=200, dim=dim, speed=0.0, integrator="explicit_euler", dt=0.5)
    expected = 0.5 * forces_by_hand(there.position.copy())
    there.step()
    assert np.allclose(there.velocity, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "rk4", "verlet", "implicit_euler"])
def test_kernels_equal_the_reference(integrator, dtype, dim):
    terms = [bond(), kd.Gravity([0.25] * dim), kd.PairPotential("k/2*(d - r)**2", cutoff=1.5, shift=True, k=2.0, d=1.5)]
    count = 12 if integrator == "implicit_euler" else 25
    mass = np.linspace(0.5, 2, count)
    given = {"integrator": integrator, "forces": terms, "mass": mass}
    assert_twins(lambda cls: gas(cls, count, dim, dtype, 2.0, **given), 4 if integrator == "implicit_euler" else 20)


def test_results_do_not_depend_on_when_the_neighbour_list_was_built():
    one = gas(count=300)
    one.step(300)
    fresh = gas(count=300)
    for _ in range(300):
        again = gas(count=300)
        again.position[...], again.velocity[...] = fresh.position, fresh.velocity
        again.restart()
        again.step()
        fresh.position[...], fresh.velocity[...] = again.position, again.velocity
    assert (fresh.position == one.position).all()
    assert (fresh.velocity == one.velocity).all()


def test_threads_layouts_and_restore_do_not_change_results():
    one = gas(count=150)
    saved = one.snapshot()
    one.step(100)
    many = gas(count=150, threads=3)
    many.step(60)
    many.restore(saved)
    many.step(100)
    columns = np.asfortranarray(gas(count=150).position), np.asfortranarray(gas(count=150).velocity)
    turned = kd.Stepper(*columns, dt=0.004, forces=[bond()])
    turned.step(100)
    copied = pickle.loads(pickle.dumps(gas(count=150)))
    copied.step(100)
    for other in (many, turned, copied):
        assert (other.position == one.position).all()
        assert (other.velocity == one.velocity).all()


def test_crowds_without_a_neighbour_list():
    """More bodies are within the cutoff than the list can store; many of them coincide."""
    generator = np.random.default_rng(1)
    place = generator.uniform(0, 0.5, (1300, 2))
    place[:40] = place[0]
    soft = kd.PairPotential("-r**2", cutoff=1.0)
    there = kd.Stepper(place.copy(), dt=0.5, forces=[soft], integrator="explicit_euler")
    there.step()
    expected = 0.5 * -2 * (place.sum(axis=0) - 1300 * place)
    assert np.allclose(there.velocity, expected, rtol=1e-10, atol=1e-9)


def test_energy_and_momentum_are_conserved():
    there = gas(count=512, speed=0.8, dt=0.002, forces=[bond(shift=True)])
    before, momentum = sum(there.energy()), there.velocity.sum(axis=0)
    there.step(1000)
    assert abs(sum(there.energy()) - before) / 512 < 1e-4  # the force is discontinuous at the cutoff
    assert np.abs(there.velocity.sum(axis=0) - momentum).max() < 1e-11


def test_energy_equals_the_sum_over_all_pairs():
    for dim in (1, 2, 3):
        there = gas(count=300, dim=dim)
        d = there.position[None] - there.position[:, None]
        r = np.sqrt((d * d).sum(axis=2))[np.triu_indices(300, 1)]
        r = r[r < 2.5]
        energy = (4 * (r**-12 - r**-6)).sum()
        assert there.energy()[1] == pytest.approx(energy, rel=1e-12)
        shifted = gas(count=300, dim=dim, forces=[bond(shift=True)])
        lost = 4 * (2.5**-12 - 2.5**-6)
        assert shifted.energy()[1] == pytest.approx(energy - lost * len(r), rel=1e-12)
        shifted.step(5)
        there.step(5)
        assert (shifted.position == there.position).all()


def test_dead_bodies_do_not_interact():
    place = lattice(80, 2)
    pair = [
        each(np.vstack([place, np.zeros((16, 2))]), dt=0.004, forces=[bond()], alive=80)
        for each in (kd.Stepper, reference.Stepper)
    ]
    for each in pair:
        each.step(5)
        each.kill([3, 40, 41])
        each.step(5)
        each.spawn([[-5.0, -5.0], [-5.0, -3.9]])
        each.step(5)
    assert pair[0].position.tobytes() == pair[1].position.tobytes()
    living = kd.Stepper(np.delete(place, [3, 40], axis=0), dt=0.004, forces=[bond()])
    dying = kd.Stepper(place.copy(), dt=0.004, forces=[bond()], alive=80)
    dying.kill([3, 40])
    assert dying.energy()[1] == pytest.approx(living.energy()[1], rel=1e-13)
    for each in (living, dying):
        each.step(20)
    assert (np.delete(dying.position, [3, 40], axis=0) == living.position).all()
    assert (dying.position[[3, 40]] == 0).all()


def test_parameters_can_be_set():
    there, term = gas(count=40), bond()
    there = gas(count=40, forces=[term])
    there.set(term, e=2.0)
    other = gas(count=40, forces=[bond(e=2.0)])
    for each in (there, other):
        each.step(10)
    assert (there.position == other.position).all()


def test_invalid_parameters_are_refused():
    with pytest.raises(ValueError, match=r"PairPotential\(cutoff\)"):
        bond(cutoff=0.0)
    with pytest.raises(TypeError, match=r"PairPotential\(shift\)"):
        bond(shift=1)
    with pytest.raises(ValueError, match=r"PairPotential\(e\): expected one number for all pairs"):
        bond(e=[1.0, 2.0])
    with pytest.raises(ValueError, match="x"):
        kd.PairPotential("x**2", cutoff=1.0)
    with pytest.raises(TypeError):
        kd.PairPotential("r**2")
    with pytest.raises(ValueError, match="energy_euler"):
        gas(integrator="energy_euler")
    assert repr(bond(shift=True)).startswith(
        "PairPotential('4*e*((q/r)**12 - (q/r)**6)', cutoff=2.5, shift=True, e=1.0"
    )


def test_snapshots_of_other_potentials_are_refused():
    saved = gas(count=20).snapshot()
    for other in (bond(cutoff=2.0), bond(e=2.0), kd.PairPotential("4*e*((q/r)**12 - (q/r)**5)", 2.5, e=1.0, q=1.0)):
        with pytest.raises(kd.SnapshotError):
            gas(count=20, forces=[other]).restore(saved)
