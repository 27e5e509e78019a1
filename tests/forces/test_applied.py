"""AppliedForce: arrays of the user that are read in each step, never cleared, and part of snapshots."""

import copy
import pickle

import numpy as np
import pytest
from plans import INTEGRATORS, LAYOUTS, compare_with_reference, each_isa, held_scene, lay_out, scene

import kickdrift as kd


def with_forces(rng, integrator=None, make=scene, **shape):
    """Draw a random scene and add one or two applied forces."""
    drawn = make(rng, integrator, **shape)
    for _ in range(int(rng.integers(1, 3))):
        force = rng.normal(size=drawn.position.shape).astype(drawn.position.dtype)
        term = kd.AppliedForce(lay_out(force, LAYOUTS[rng.integers(len(LAYOUTS) - 1)]))
        drawn.arguments["forces"].insert(int(rng.integers(len(drawn.arguments["forces"]) + 1)), term)
    return drawn


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_applied_forces_equal_the_reference_with_every_integrator(monkeypatch, integrator):
    compare_with_reference(monkeypatch, lambda seed, rng: with_forces(rng, integrator), range(6))


def test_applied_forces_on_constrained_bodies_equal_the_reference(monkeypatch):
    compare_with_reference(monkeypatch, lambda seed, rng: with_forces(rng, None, held_scene), range(12))


@pytest.mark.parametrize("n", [384, 385, 800])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_bodies_than_a_row_equal_the_reference(monkeypatch, n, dtype):
    schemes = [kd.SemiImplicitEuler(), kd.RK4(), kd.Verlet(), kd.Midpoint(), kd.ImplicitEuler(), kd.Exact()]
    compare_with_reference(
        monkeypatch, lambda seed, rng: with_forces(rng, schemes[seed], n=n, dtype=dtype), range(len(schemes))
    )


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_values_written_now_apply_in_the_next_step(isa, integrator):
    rng = np.random.default_rng(4)
    worlds = []
    for cls in (kd.Stepper, kd.reference.Stepper):
        force = np.zeros((5, 2))
        world = cls(
            np.ones((5, 2)), mass=[1, 2, np.inf, 0.5, 1], forces=[kd.AppliedForce(force)], integrator=integrator
        )
        worlds.append((world, force))
    for _ in range(6):
        written = rng.normal(size=(5, 2))
        for world, force in worlds:
            force[:] = written
            world.step(int(written[0, 0] > 0) + 1)
        assert worlds[0][0].checksum() == worlds[1][0].checksum()
        assert (worlds[0][1] == written).all()  # not cleared
    assert (worlds[0][0].velocity[2] == 0).all()


def test_a_constant_applied_force_equals_gravity(Stepper):
    force = np.array([[2.0, 4.0], [1.0, -8.0]])  # divided by 2 exactly
    worlds = [
        Stepper(np.zeros((2, 2)), mass=2.0, forces=forces)
        for forces in ([kd.AppliedForce(force)], [kd.Gravity(force / 2)])
    ]
    for world in worlds:
        world.step(9)
    assert worlds[0].position.tolist() == worlds[1].position.tolist()


def test_applied_forces_are_read_in_each_step(Stepper):
    """Applied forces are read in every kind of call, also between the ticks of a frame."""
    force = np.zeros((1, 1))
    world = Stepper([[0.0]], dt=1 / 60, forces=[kd.AppliedForce(force)])
    for tick in world.ticks(0.05):
        force[0] = 60.0 * (tick + 1)
    assert world.velocity[0, 0] == pytest.approx(1 + 2 + 3)


def test_an_infinite_mass_is_not_moved(Stepper):
    force = np.array([[np.nan], [np.inf], [1.0]])
    world = Stepper(np.zeros((3, 1)), mass=[np.inf, np.inf, 1.0], dt=1, forces=[kd.AppliedForce(force)])
    world.step(2)
    assert world.velocity.ravel().tolist() == [0, 0, 2]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [3, 500])
def test_non_finite_forces_are_reported_after_the_step(Stepper, bad, n):
    force = np.zeros((n, 2))
    world = Stepper(np.zeros((n, 2)), dt=1, integrator="semi_implicit_euler", forces=[kd.AppliedForce(force)])
    force[n - 1, 1] = bad
    with pytest.raises(kd.NonFiniteError, match=f"body {n - 1} ") as info:
        world.step()
    assert (info.value.body, world.tick) == (n - 1, 1)
    force[:] = 0
    world.position[:], world.velocity[:] = 0, 0
    world.step()


def test_snapshots_contain_applied_forces(Stepper):
    rng = np.random.default_rng(0)
    forces = [rng.normal(size=(4, 2)), np.asfortranarray(rng.normal(size=(4, 2)))]
    world = Stepper(np.zeros((4, 2)), forces=[kd.AppliedForce(force) for force in forces])
    saved, checksum, first = world.snapshot(), world.checksum(), [force.copy() for force in forces]
    forces[1][2] = 9
    assert world.checksum() != checksum
    world.step(3)
    world.restore(saved)
    assert all((force == was).all() for force, was in zip(forces, first, strict=True))
    assert (world.snapshot(), world.checksum()) == (saved, checksum)
    for twin in (copy.copy(world), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert twin.snapshot() == saved
        twin.forces[0].force[:] = 5
        twin.step()
        assert (forces[0] == first[0]).all()
    other = Stepper(np.zeros((4, 2)), forces=[kd.AppliedForce(forces[0])])
    with pytest.raises(kd.SnapshotError, match="forces"):
        other.restore(saved)
    with pytest.raises(kd.SnapshotError, match="snapshot: "):
        world.restore(saved[:-152])


def test_snapshots_contain_disabled_applied_forces(Stepper):
    thrust, other = np.ones((1, 2)), np.full((1, 2), 3.0)
    forces = [kd.AppliedForce(thrust), kd.AppliedForce(other)]
    world = Stepper([[0.0, 0.0]], hz=60, forces=forces)
    world.step()
    world.enable(forces[0], False)
    saved, checksum, twin = world.snapshot(), world.checksum(), pickle.loads(pickle.dumps(world))
    assert twin.snapshot() == saved
    thrust[:], other[:] = 5.0, 7.0
    assert world.checksum() != checksum
    world.enable(forces[0])
    world.restore(saved)
    assert (thrust.tolist(), other.tolist()) == ([[1.0, 1.0]], [[3.0, 3.0]])
    assert world.checksum() == checksum
    worlds = (kd.Worlds if issubclass(Stepper, kd.Stepper) else kd.reference.Worlds)(world, 2)
    thrust[:] = 5.0
    worlds.restore(world.snapshot(), where=np.array([False, True]))
    assert [worlds[0].snapshot(), worlds[1].snapshot()] == [saved, world.snapshot()]


def test_rollback_restores_applied_forces(Stepper):
    force = np.zeros((2, 2))
    world = Stepper(np.zeros((2, 2)), forces=[kd.AppliedForce(force)])

    def play(world, tick):
        force[tick % 2] += tick

    kd.sync_test(world, frames=9, inputs=play)


def test_shift_does_not_change_applied_forces(Stepper):
    force = np.ones((2, 2))
    world = Stepper(np.zeros((2, 2)), dt=1, forces=[kd.AppliedForce(force)])
    world.shift((5.0, 0.0))
    force[:] = 2
    world.step()
    assert world.velocity.tolist() == [[2, 2], [2, 2]]
    assert world.forces[0].force is force


def test_applied_forces_have_no_potential(Stepper):
    world = Stepper(np.zeros((2, 2)), forces=[kd.AppliedForce(np.zeros((2, 2)))])
    with pytest.raises(ValueError, match="AppliedForce has no potential"):
        world.energy()


def test_no_bodies(Stepper):
    world = Stepper(np.zeros((0, 2)), forces=[kd.AppliedForce(np.zeros((0, 2)))])
    world.step(3)
    world.restore(world.snapshot())


@pytest.mark.parametrize(
    ("force", "error", "message"),
    [
        ([[0.0, 0.0]], TypeError, "expected an array of your own"),
        (1.0, TypeError, "expected an array of your own"),
        (np.zeros(2), ValueError, r"expected shape \(n, dim\)"),
        (np.zeros((3, 2)), ValueError, r"expected shape \(2, 2\), got \(3, 2\)"),
        (np.zeros((2, 2), np.float32), TypeError, "expected float64, as the state is, got float32"),
        (np.zeros((2, 2), int), TypeError, "expected float32 or float64"),
        (np.zeros((2, 2), np.dtype("f8").newbyteorder()), TypeError, "native byte order"),
        (np.broadcast_to(1.0, (2, 2)), ValueError, "writable"),
        (np.ma.zeros((2, 2)), TypeError, "mask"),
    ],
)
def test_invalid_arrays_are_refused(Stepper, force, error, message):
    with pytest.raises(error, match=message):
        Stepper(np.zeros((2, 2)), forces=[kd.AppliedForce(force)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("more", [[], [kd.PointGravity(1.0, softening=0.5)]], ids=["rows", "tiles"])
def test_interpolation_with_many_applied_forces_equals_the_reference(layout, dtype, more):
    n = 900
    rng = np.random.default_rng(3)
    x, v, f = rng.normal(size=(3, n, 2)).astype(dtype)
    worlds = []
    for cls in (kd.Stepper, kd.reference.Stepper):
        state = (lay_out(array, layout) for array in (x, v))
        worlds.append(cls(*state, hz=60, forces=[kd.AppliedForce(f.copy()), *more]))
    for seconds in (0.02, 0.018, 0.05):
        for world in worlds:
            world.advance(seconds)
        pictures = [world.interpolate(0.25) for world in worlds]
        assert pictures[0].tobytes() == pictures[1].tobytes()


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mass", ["one", "heavy", "each"])
def test_applied_forces_with_any_masses_and_gravity_equal_the_reference(monkeypatch, dim, dtype, layout, mass):
    n = 391  # more than a row, and not a whole number of vectors
    rng = np.random.default_rng(dim)
    x, v, f, g = rng.normal(size=(4, n, dim)).astype(dtype)
    f[5] = 1.0 if mass == "one" else np.inf  # an infinite force does not move an infinite mass
    each = np.where(np.arange(n) == 5, np.inf, rng.uniform(0.5, 2, n))
    masses = {"one": 3.0, "heavy": np.inf, "each": each}[mass]
    for gravity in ([], [kd.Gravity(rng.normal(size=dim))], [kd.Gravity(g)]):

        def end(cls, gravity=gravity):
            forces = [kd.AppliedForce(f.copy()), *gravity, kd.AppliedForce(0.5 * f)]
            world = cls(lay_out(x, layout), lay_out(v, layout), masses, dt=0.01, forces=forces)
            world.step(2)
            return world.position.tobytes() + world.velocity.tobytes()

        expected = end(kd.reference.Stepper)  # the reference is slow: computed once for all instruction sets
        for isa in each_isa(monkeypatch):
            assert end(kd.Stepper) == expected, isa


@pytest.mark.parametrize("stepper", [kd.Stepper, kd.reference.Stepper])
def test_forces_in_memory_of_the_state_are_refused(stepper):
    """Applied forces are read once per call: in the state's memory they would change during step(4)."""
    memory, spin, own = np.ones((3, 4)), np.zeros(3), np.zeros((3, 2))
    push = kd.AppliedForce(memory[:, 1:3])
    message = r"^forces: an applied force or torque shares memory with the state"
    with pytest.raises(ValueError, match=message):
        stepper(memory[:, :2], forces=[push])
    with pytest.raises(ValueError, match=message):
        stepper(own, memory[:, 2:], forces=[push])
    with pytest.raises(ValueError, match=message):
        stepper(own, forces=[kd.AppliedTorque(spin)], angular_velocity=spin, inertia=1.0)
    world = stepper(memory[:, :2], forces=[kd.AppliedForce(memory[:, 2:])])
    before = world.snapshot()
    with pytest.raises(ValueError, match=message):
        world.add(push)
    with pytest.raises(ValueError, match=message):
        world.rebind(own, memory[:, 2:])
    assert world.snapshot() == before
    world.step(4)
