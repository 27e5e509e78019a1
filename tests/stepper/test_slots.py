"""Spawn and despawn: bitwise equal in kernels and reference, and no state survives its body."""

import copy
import pickle
import struct
import time

import numpy as np
import pytest
from forge import forge
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import DTYPES, INTEGRATORS, Scene, assert_same_bits, each_isa, held_scene, outcome, said, scene

import kickdrift as kd
from kickdrift.stepper.slots import LAST_GENERATION

TWINS = [kd, kd.reference]


def play(stepper, rng, turns=6):
    """Apply random spawns, despawns, steps, frames and restores; return the observed results."""
    n, dim = stepper.position.shape
    seen, saved = [], None
    for _ in range(turns):
        what = rng.integers(6)
        if what == 0 and stepper.count:
            living = np.flatnonzero(stepper.alive)
            chosen = rng.permutation(living)[: int(rng.integers(1, len(living) + 1))]
            stepper.kill(stepper.ids[chosen] if rng.integers(2) else chosen)
        elif what == 1:
            k = int(rng.integers(0, n - stepper.count + 1))
            x, v = rng.normal(size=(k, dim)), rng.normal(size=(k, dim))
            seen.append(stepper.spawn(x.astype(stepper.dtype), v if rng.integers(2) else 0.5).tolist())
        elif what == 2 and saved is not None:
            stepper.restore(saved)
        elif what == 3:
            saved = stepper.snapshot()
            seen.append(saved)
        elif what == 4 and stepper.count:
            # Engines may leave anything in the rows of dead bodies.
            stepper.position[~stepper.alive] = np.nan
            stepper.velocity[~stepper.alive] = 1e30
        if rng.integers(8) == 0:
            stepper.dt = float(rng.choice([0.01, 0.02]))
        failure = outcome(stepper, int(rng.integers(0, 4)))
        seen.append((failure, stepper.tick, stepper.count, stepper.ids.tolist()))
        if failure:
            break
        if rng.integers(3) == 0:
            stepper.advance(float(rng.choice([0.0, 0.013, 0.04])))
            seen += [stepper.interpolate(mode=mode) for mode in ("linear", "hermite", "extrapolate")]
            seen.append(stepper.interpolate(living=True))
        if rng.integers(2):
            seen.append(stepper.checksum())
    alive = stepper.alive
    return [*seen, stepper.position[alive], stepper.velocity[alive]], bool(failure)


def assert_same(ours, book):
    assert len(ours) == len(book)
    for number, (a, b) in enumerate(zip(ours, book, strict=True)):
        if isinstance(a, np.ndarray):
            assert_same_bits(np.nan_to_num(a, nan=7.0), np.nan_to_num(b, nan=7.0))
        else:
            assert a == b, number


def compare(monkeypatch, make, seeds):
    finite = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        drawn = make(seed, rng)
        alive = rng.random(len(drawn.position)) < rng.choice([0.3, 0.7, 1.0])
        book, failed = play(drawn.make(kd.reference.Stepper, alive=alive), np.random.default_rng(seed))
        finite += not failed
        for isa in each_isa(monkeypatch):
            with said(seed=seed, isa=isa, forces=drawn.arguments["forces"], n=len(drawn.position)):
                if failed and book[-3][0] and book[-3][0][0] is kd.NonFiniteError:
                    continue
                ours, _ = play(drawn.make(kd.Stepper, alive=alive), np.random.default_rng(seed))
                assert_same(ours, book)
    assert finite > len(seeds) / 2


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_spawns_and_despawns_equal_the_reference(monkeypatch, integrator):
    compare(monkeypatch, lambda seed, rng: scene(rng, integrator, n=int(rng.choice([1, 3, 8, 17, 33]))), range(8))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_spawns_and_despawns_of_constrained_bodies_equal_the_reference(monkeypatch, integrator):
    compare(monkeypatch, lambda seed, rng: held_scene(rng, integrator, n=int(rng.choice([3, 8, 17]))), range(100, 108))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), integrator=st.sampled_from(INTEGRATORS), held=st.booleans())
def test_restored_pickled_and_copied_steppers_continue_identically(seed, integrator, held):
    """Snapshots contain the whole state, and equal worlds have equal snapshot bytes."""
    rng = np.random.default_rng(seed)
    drawn = (held_scene if held else scene)(rng, integrator, n=int(rng.choice([2, 5, 17])))
    world = drawn.make(kd.Stepper, alive=int(rng.integers(0, len(drawn.position) + 1)))
    _, failed = play(world, rng)
    if failed:
        return
    other = drawn.make(kd.Stepper)
    if world._clock is not None:
        assert other.clock.tick == 0
    other.restore(world.snapshot())
    others = [other, pickle.loads(pickle.dumps(world)), copy.deepcopy(world)]
    for turn in range(2):
        for each in others:
            assert each.snapshot() == world.snapshot()
            assert each.ids.tolist() == world.ids.tolist()
        if turn or outcome(world, 2):
            break
        born = world.spawn(np.ones((world.n - world.count, world.dim)))
        failed = outcome(world, 2)
        for each in others:
            assert outcome(each, 2) is None
            assert each.spawn(np.ones((each.n - each.count, each.dim))).tolist() == born.tolist()
            assert outcome(each, 2) == failed
        if failed:
            break


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["row", "component", "sliced"])
def test_active_bodies_move_as_in_a_world_without_free_slots(integrator, dtype, layout):
    rng = np.random.default_rng(5)
    gravity, springs = kd.Gravity((0.5, -10)), kd.AnchorSpring(3.0, anchor=(1, 0))
    families = [[gravity], [gravity, springs]]
    if not isinstance(integrator, kd.EnergyEuler):
        families.append([kd.LinearDrag(0.5, (1, 0)), springs])
    if not isinstance(integrator, kd.Exact):
        families.append([gravity, kd.PointGravity(2.0, softening=0.5), kd.Damping(0.3)])
    n, steps = 1000, 7
    for forces in families:
        position, velocity = (rng.normal(size=(n, 2)).astype(dtype) for _ in range(2))
        alive = np.zeros(n, np.bool_)
        alive[rng.permutation(n)[:40]] = True
        alive[400:800] = False
        drawn = Scene(position, velocity, layout, {"integrator": integrator, "forces": forces, "mass": 2.0})
        world = drawn.make(kd.Stepper, alive=alive)
        made = drawn.make(kd.Stepper)
        made.kill(~alive)
        alone = kd.Stepper(position[alive].copy(), velocity[alive].copy(), **drawn.arguments)
        alone.step(steps)
        for each in (world, made):
            each.step(steps)
            assert_same_bits(each.position[alive], alone.position)
            assert_same_bits(each.velocity[alive], alone.velocity)
            assert not each.position[~alive].any()
            assert each.force_evaluations == alone.force_evaluations


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_does_not_change_results(threads):
    def make(threads):
        rng = np.random.default_rng(0)
        n = 200_000
        forces = [kd.Gravity((0, -9.8)), kd.PointGravity(1.0, softening=0.5)]
        world = kd.Stepper(rng.normal(size=(n, 2)), forces=forces, alive=rng.random(n) < 0.4, threads=threads)
        world.step(3)
        world.spawn(rng.normal(size=(1000, 2)))
        world.step(3)
        return world

    assert make(threads).checksum() == make(1).checksum()


@pytest.mark.parametrize("twin", TWINS)
def test_ids(twin):
    world = twin.Stepper([[0.0, 0.0]] * 4, alive=[False, True, False, False])
    assert world.ids.tolist() == [-1, 2**32 + 1, -1, -1]
    ids = world.spawn([[1.0, 1.0], [2.0, 2.0]], [1.0, 0.0])
    assert ids.dtype == np.int64
    assert ids.tolist() == [2**32, 2**32 + 2]
    assert world.alive.dtype == np.bool_
    assert world.alive.tolist() == [True, True, True, False]
    assert world.count == 3
    world.kill(ids[0])
    assert world.spawn((5.0, 5.0)).tolist() == [2 * 2**32]
    assert world.slots(ids, missing=-1).tolist() == [-1, 2]
    assert world.slots(ids[1]) == 2
    assert world.position.tolist() == [[5.0, 5.0], [0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]
    world.kill([1, int(ids[1])])
    assert world.alive.tolist() == [True, False, False, False]
    world.kill(np.ones(4, np.bool_))
    assert world.count == 0
    world.step(3)
    assert world.tick == 3
    assert world.position.any() == 0
    for view in (world.alive, world.ids):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True


@pytest.mark.parametrize("twin", TWINS)
def test_shift_leaves_rows_of_dead_bodies_zero(twin):
    world = twin.Stepper(np.ones((3, 1)), alive=2)
    world.shift([5.0])
    assert world.position[2] == 0 != world.position[1]


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("change", [lambda world: world.set_mass(3.0), lambda world: world.add(kd.LinearDrag(0.5))])
def test_springs_of_dead_bodies_stay_removed_after_changes(twin, change):
    world = twin.Stepper([[0.0], [2.0]], alive=2, forces=[kd.Springs([(0, 1)], 5.0, 1.0)])
    world.kill(0)
    world.step()
    change(world)
    world.step(3)
    assert world.position.tolist() == [[0.0], [2.0]]


@pytest.mark.parametrize("twin", TWINS)
def test_spawn_reads_overlapping_rows_before_writing(twin):
    world = twin.Stepper([[0.0], [0.0], [3.0], [4.0]], alive=[False, False, True, True])
    world.spawn(world.position[2::-2])
    assert world.position.tolist() == [[3.0], [0.0], [3.0], [4.0]]


@pytest.mark.parametrize("twin", TWINS)
def test_a_slot_without_unused_ids_stays_free(twin):
    world = twin.Stepper(np.zeros((2, 1)), alive=0)
    world._book().generation[0] = LAST_GENERATION
    assert world.spawn([[1.0]]).tolist() == [2**32 + 1]
    with pytest.raises(kd.CapacityError):
        world.spawn([[1.0]])


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("ids", [[1, 1], np.array([1, 1]), np.array([1, 2**32 + 1])])
def test_killing_a_body_twice_in_a_call_kills_it_once(twin, ids):
    world = twin.Stepper(np.ones((2, 1)), np.ones((2, 1)), dt=1.0)
    world.kill(ids)
    world.step()
    assert world.count == 1
    assert world.position.tolist() == [[2.0], [0.0]]


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("alive", [0, 2, 3])
@pytest.mark.parametrize("mass", [None, 2.0, []])
def test_spawning_zero_bodies_changes_nothing(twin, alive, mass):
    """A single position serves for any number of velocities, even for none, and even if no slot is free."""
    world = twin.Stepper(np.ones((3, 2)), alive=alive)
    before = world.snapshot()
    for dtype in (np.float64, np.float32):  # float64 is read in place, float32 is converted
        for position in (np.array([5.0, 6.0], dtype), np.zeros((0, 2), dtype)):
            assert world.spawn(position, np.full((4, 2), 7.5, dtype)[np.zeros(4, bool)], mass).tolist() == []
    assert (world.count, world.snapshot()) == (alive, before)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("velocity", [(3.0, 4.0), [[3.0, 4.0]], np.array([[3.0, 4.0], [9.0, 9.0]])[:1]])
def test_spawn_applies_one_velocity_to_all_bodies(twin, velocity):
    for position in (np.ones((3, 2)), np.ones((3, 2), np.float32), np.ones((1, 2)), np.ones(2), np.ones((0, 2))):
        world = twin.Stepper(np.zeros((4, 2)), alive=1)
        k = len(np.atleast_2d(position))
        assert len(world.spawn(position, velocity)) == k
        assert world.velocity.tolist() == [[0.0, 0.0], *[[3.0, 4.0]] * k, *[[0.0, 0.0]] * (3 - k)]


@pytest.mark.parametrize("twin", TWINS)
def test_refused_spawns_and_kills_change_nothing(twin):
    position = np.ones((3, 2))
    world = twin.Stepper(position, alive=2)
    before = world.snapshot(), position.copy()
    for error, match, call in [
        (kd.CapacityError, "at most 1 bodies", lambda: world.spawn(np.zeros((2, 2)))),
        (ValueError, "position: expected finite", lambda: world.spawn([[np.nan, 0.0]])),
        (ValueError, "velocity: expected finite", lambda: world.spawn([[1.0, 0.0]], [np.inf, 0.0])),
        (ValueError, "position: expected finite", lambda: world.spawn(np.array([[np.nan, 0.0]]))),
        (ValueError, "velocity: expected finite", lambda: world.spawn(np.ones((1, 2)), np.array([[np.inf, 0.0]]))),
        (ValueError, r"position: expected shape \(2,\) or \(k, 2\)", lambda: world.spawn([1.0, 2.0, 3.0])),
        (ValueError, "position: expected shape", lambda: world.spawn(3.0)),
        (ValueError, "velocity: .* or 1 rows", lambda: world.spawn([[1.0, 0.0]], np.zeros((2, 2)))),
        (ValueError, "velocity: .* or 2 rows, got 3", lambda: world.spawn(np.zeros((2, 2)), np.zeros((3, 2)))),
        (TypeError, "position: expected real numbers", lambda: world.spawn("here")),
        (ValueError, "mass", lambda: world.spawn([1.0, 0.0], mass=-1)),
        (kd.DeadBodyError, "slot 2", lambda: world.kill(2)),
        (kd.DeadBodyError, "slot 9", lambda: world.kill([0, 9])),
        (KeyError, "generation 2", lambda: world.kill(np.array([0, 2 * 2**32]))),
        (kd.DeadBodyError, "-1", lambda: world.kill(np.array([-1]))),
        (kd.DeadBodyError, "-4294967296", lambda: world.slots([-(2**32)])),
        (kd.DeadBodyError, "generation", lambda: world.kill(np.array([2**63], np.uint64))),
        (ValueError, r"mask of shape \(3,\)", lambda: world.kill([True])),
        (TypeError, r"ids: expected ids, which are ints, got 0\.5 \(float\)", lambda: world.kill(0.5)),
        (kd.DeadBodyError, "slot 2", lambda: world.slots([0, 2])),
    ]:
        with pytest.raises(error, match=match):
            call()
        assert (world.snapshot(), position.tolist()) == (before[0], before[1].tolist())
    for alive in (4, -1, [True], 0.5, True, [1, 0, 1]):
        with pytest.raises((TypeError, ValueError), match="alive"):
            twin.Stepper(np.ones((3, 2)), alive=alive)
    for error in (kd.CapacityError(3, 1), kd.DeadBodyError(7)):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("twin", TWINS)
def test_spawn_and_kill_are_refused_during_a_step(twin):
    def force(t, position, velocity, out):
        if world is None:
            return
        for change in (lambda: world.spawn([0.0]), lambda: world.kill(0)):
            with pytest.raises(RuntimeError):
                change()
        seen.append(world.count)

    seen, world = [], None
    world = twin.Stepper([[0.0], [1.0]], forces=[kd.Force(force, velocity_dependent=False)], alive=None)
    world.step()
    assert seen


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("integrator", ["velocity_verlet", "implicit_euler", "verlet"])
def test_callbacks_get_zeros_for_dead_bodies_and_their_results_are_ignored(twin, integrator):
    def force(t, position, velocity, out):
        if world is None:
            return
        assert not position[~world.alive].any()
        assert not velocity[~world.alive].any()
        with np.errstate(all="ignore"):
            out[:] = 1 / position  # infinite for dead bodies

    world = None
    forces = [kd.Acceleration(force, velocity_dependent=False), kd.Gravity((0, 3.0))]
    position = np.ones((5, 2))
    world = twin.Stepper(position, integrator=integrator, alive=None, forces=forces)
    world.kill([1, 3])
    world.step(3)
    position[1] = np.nan
    world.step(2)
    assert np.isfinite(world.position).all()
    assert (world.position[world.alive] > 1).all()


@pytest.mark.parametrize("twin", TWINS)
def test_pairs_and_pins_are_removed_with_their_bodies(twin):
    def make(position, **more):
        rods = [kd.Distance([(0, 1), (1, 2)], 1.0), kd.Pin(0), kd.Box(-9, 9), kd.ElasticCollisions(0.1)]
        forces = [kd.Springs([(0, 1), (1, 2)], 50.0, 1.0), kd.Gravity((0, -10))]
        return twin.Stepper(position, forces=forces, constraints=rods, dt=0.01, **more)

    world = make([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], alive=3)
    before = world.snapshot()
    world.kill([0, 2])
    assert world.energy() == (0.0, 0.0)
    world.spawn([[0.0, 0.0], [5.0, 0.0]])
    world.step(10)
    free = twin.Stepper([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]], forces=[kd.Gravity((0, -10))], dt=0.01)
    free.step(10)
    assert world.position.tolist() == free.position.tolist()
    # The wall stops the body that is no longer pinned.
    world.step(600)
    assert world.position[0, 1] >= -9
    world.restore(before)
    world.step(10)
    fresh = make([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    fresh.step(10)
    assert world.position.tolist() == fresh.position.tolist()
    # Declarations for empty slots apply to the first bodies spawned there.
    later = make([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], alive=0)
    later.spawn([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    later.step(10)
    assert later.position.tolist() == fresh.position.tolist()


@pytest.mark.parametrize("twin", TWINS)
def test_energy_counts_active_bodies_only(twin):
    forces = [kd.Gravity((0, -10)), kd.NBody(2.0), kd.AnchorSpring(3.0, anchor=(1, 1))]
    position, velocity = np.random.default_rng(0).normal(size=(2, 6, 2))
    world = twin.Stepper(position.copy(), velocity.copy(), forces=forces, alive=[True, False, True, True, False, True])
    alive = world.alive.copy()
    alone = twin.Stepper(position[alive], velocity[alive], forces=forces)
    assert world.energy() == alone.energy()


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("mode", ["linear", "hermite", "extrapolate"])
def test_interpolation_of_spawned_bodies_starts_at_their_position(twin, mode):
    world = twin.Stepper([[0.0], [100.0], [0.0]], [[60.0], [0.0], [0.0]], hz=60, alive=2)
    world.advance(1.5 / 60)
    world.kill(1)
    world.spawn([[7.0]], 6.0)
    picture = world.interpolate(mode=mode)
    assert picture[1] == (pytest.approx(7.05) if mode == "extrapolate" else 7.0)
    assert np.isnan(picture[2, 0])
    assert world.interpolate(living=True, mode=mode).tolist() == picture[:2].tolist()
    out = np.zeros((2, 1), np.float32)
    assert world.interpolate(living=True, mode=mode, out=out) is out
    with pytest.raises(ValueError, match=r"out: expected shape \(2, 1\)"):
        world.interpolate(living=True, out=np.zeros((3, 1)))
    world.advance(1 / 60)
    assert 7.0 <= world.interpolate(0.5)[1, 0] <= 7.1


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("integrator", [kd.Verlet(), kd.Verlet("central"), kd.GrootWarren()], ids=repr)
@pytest.mark.parametrize("forces", [[kd.Gravity((0.0, -10.0))], [kd.PointGravity(1.0, softening=1.0)]])
def test_integrator_history_restarts_for_spawned_bodies_only(twin, integrator, forces):
    position, velocity = np.random.default_rng(0).normal(size=(2, 3, 2))
    world = twin.Stepper(position.copy(), velocity.copy(), integrator=integrator, forces=forces, alive=2)
    world.step(3)
    world.spawn(position[2], velocity[2])
    world.step(4)
    old = twin.Stepper(position[:2].copy(), velocity[:2].copy(), integrator=integrator, forces=forces)
    old.step(3)
    old.step(4)
    new = twin.Stepper(position[2:].copy(), velocity[2:].copy(), integrator=integrator, forces=forces)
    new.step(4)
    assert world.position.tolist() == [*old.position.tolist(), *new.position.tolist()]


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("integrator", ["verlet", "groot_warren", "rk4"])
def test_spawned_bodies_can_be_moved_before_their_first_step(twin, integrator):
    world = twin.Stepper(np.zeros((4, 1)), integrator=integrator, forces=[kd.Gravity((1.0,))], dt=0.5, alive=2)
    world.step(2)
    world.spawn([3.0], 1.0)
    world.teleport(2, [5.0])
    world.shift([1.0])
    saved = world.snapshot()
    world.step()
    alone = twin.Stepper([[6.0]], [[1.0]], integrator=integrator, forces=[kd.Gravity((1.0,))], dt=0.5)
    alone.step()
    assert world.position[2] == alone.position[0]
    after = world.checksum()
    world.restore(saved)
    assert world.snapshot() == saved
    world.step()
    assert world.checksum() == after
    assert world.position[3] == 0


def test_native_callbacks_get_zeros_for_dead_bodies_and_their_results_are_ignored():
    ctypes = pytest.importorskip("ctypes")
    double, int64, pointer = ctypes.c_double, ctypes.c_int64, ctypes.POINTER(ctypes.c_double)
    seen = []

    @ctypes.CFUNCTYPE(ctypes.c_int, double, int64, int64, int64, int64, pointer, pointer, pointer, ctypes.c_void_p)
    def force(t, first, count, dim, stride, x, v, out, data):
        for i in range(count):
            if not world.alive[first + i]:
                seen.append((x[i], v[i]))
            out[i] = float("nan") if x[i] == 0 else 1.0
        return 0

    position = np.ones((300, 1))
    for scheme in ("rk4", "velocity_verlet", "implicit_euler"):
        world = kd.Stepper(position, integrator=scheme, forces=[kd.NativeForce(force, dtype=np.float64)], alive=250)
        world.kill([0, 70])
        position[280:] = np.nan
        world.step(3)
        assert np.isfinite(position[world.alive]).all()
        assert set(seen) == {(0.0, 0.0)}
        position[:] = 1


def test_rollback_restores_across_spawns_and_despawns():
    def inputs(world, tick):
        rng = np.random.default_rng(tick)
        if world.count and tick % 3 == 0:
            world.kill(np.flatnonzero(world.alive)[:2])
        if tick % 2:
            world.spawn(rng.normal(size=(min(3, world.n - world.count), 2)), rng.normal(size=2))

    for integrator in ("velocity_verlet", "verlet", "groot_warren"):
        forces, walls = [kd.Gravity((0, -9)), kd.Springs([(0, 1)], 9.0, 1.0)], [kd.ElasticCollisions(0.2)]
        world = kd.Stepper(np.zeros((20, 2)), integrator=integrator, forces=forces, constraints=walls, alive=0)
        kd.sync_test(world, 60, inputs=inputs)


@pytest.mark.parametrize("twin", TWINS)
def test_spawn_with_masses(twin):
    def pull(t, position, velocity, out):
        out[:] = 6.0

    world = twin.Stepper(np.zeros((3, 1)), mass=2.0, dt=1, forces=[kd.Force(pull, velocity_dependent=False)], alive=1)
    world.spawn([[0.0], [0.0]], mass=[3.0, 6.0])
    world.step()
    assert world.position.ravel().tolist() == [1.5, 1.0, 0.5]
    with pytest.raises(kd.CapacityError):
        world.spawn([0.0], mass=9.0)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "implicit_euler"])
def test_added_constraints_apply_to_the_bodies_active_at_that_time(twin, integrator):
    places = [[0.0, 0.0], [1.0, 0.0], [2.5, 0.0], [0.0, 9.0]]

    def holds():
        return [
            kd.Springs([(0, 1)], 20.0),
            kd.Distance([(1, 2), (2, 3)], [1.5, 3.0], iterations=2),
            kd.Pin(1),
            kd.Box(-20, 20),
        ]

    def made(alive, forces=(), constraints=()):
        arguments = {"forces": [kd.Gravity((0, -9.0)), *forces], "integrator": integrator, "dt": 0.01}
        return twin.Stepper(np.array(places), constraints=constraints, alive=alive, **arguments)

    spring, rod, pin, box = holds()
    fresh = made(3, [spring], [rod, pin, box])
    fresh.step(20)
    world = made(4)
    world.kill([0, 1, 3])
    world.spawn(places[:2])
    for each in holds():
        world.add(each)
    before = world.snapshot()
    world.step(20)
    assert world.position.tolist() == fresh.position.tolist()
    # A declaration added for a free slot applies to the next body spawned there, and ends with it.
    world.spawn([0.0, 9.0])
    held, twice = world.snapshot(), []
    world.step(5)
    assert np.linalg.norm(world.position[2] - world.position[3]) == pytest.approx(3.0, abs=0.1)
    twice.append(world.checksum())
    world.kill([1, 3])
    world.spawn([[1.0, 0.0], [0.0, 9.0]])
    world.step(5)
    assert world.position[3, 1] == pytest.approx(9 - 4.5 * 0.05**2, abs=0.03)
    assert world.position[1, 1] < 0
    world.restore(held)
    world.step(5)
    twice.append(world.checksum())
    copied = pickle.loads(pickle.dumps(world))
    copied.restore(held)
    copied.step(5)
    assert twice == [copied.checksum()] * 2
    world.restore(before)
    world.step(20)
    assert world.position.tolist() == fresh.position.tolist()


@pytest.mark.parametrize("twin", TWINS)
def test_rebind_to_larger_arrays_adds_slots(twin):
    world = twin.Stepper([[1.0], [2.0]], dt=1, alive=1, forces=[kd.Gravity((1.0,))])
    ids = world.spawn([5.0])
    world.step()
    position, velocity = np.zeros((4, 1)), np.zeros((4, 1))
    position[:2], velocity[:2] = world.position, world.velocity
    world.rebind(position, velocity)
    assert world.ids.tolist() == [2**32, *ids, -1, -1]
    world.spawn([[7.0], [8.0]])
    world.step()
    assert position.ravel().tolist() == [3.0, 7.0, 7.5, 8.5]
    with pytest.raises(kd.CapacityError):
        world.spawn([1.0])


def is_refused(world):
    with pytest.raises(kd.CapacityError):
        world.spawn([1.0])


LOOKS = {
    "nothing": lambda world: None,
    "ids": lambda world: world.ids,
    "refused spawn": is_refused,
    "kill of nothing": lambda world: world.kill(np.zeros(2, np.bool_)),
}


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("copies", [False, True])
def test_only_alive_spawn_and_kill_make_rows_that_rebind_adds_free(twin, look, copies):
    def counts(alive=None, change=lambda world: None):
        world = twin.Stepper(np.zeros((2, 1)), dt=1, alive=alive)
        change(world)
        LOOKS[look](world)
        if copies:
            world = pickle.loads(pickle.dumps(world))
        world.rebind(np.ones((4, 1)), np.ones((4, 1)))
        world.step()
        assert world.alive.sum() == world.count
        assert (world.position[world.alive] == 2.0).all()
        return world.count

    assert counts() == 4
    assert counts(alive=2) == 2
    if look != "refused spawn":  # then a row is free
        assert counts(change=lambda world: world.kill(0)) == 1


@pytest.mark.parametrize("twin", TWINS)
def test_changes_combined_with_spawns_and_despawns(twin):
    gravity = kd.Gravity((1.0,))
    world = twin.Stepper(np.zeros((3, 1)), mass=2.0, dt=1, forces=[gravity, kd.Springs([(0, 1)], 1.0, 0.0)], alive=2)
    world.spawn([4.0], mass=8.0)
    saved = world.snapshot()
    world.kill(0)
    world.set(gravity, acceleration=(3.0,))
    world.step()
    assert world.position.ravel().tolist() == [0.0, 1.5, 5.5]
    assert world.mass.tolist() == [2.0, 2.0, 8.0]
    other = twin.Stepper(np.zeros((3, 1)), mass=2.0, dt=1, forces=[gravity, kd.Springs([(0, 1)], 1.0, 0.0)])
    for each in (world, other):
        each.restore(saved)
        assert each.mass.tolist() == [2.0, 2.0, 8.0]
        assert each.count == 3
        assert each.current(gravity).acceleration.tolist() == [1.0]


def forged(world, generation, state, position=((1.0,), (0.0,))):
    data = np.array(generation, "<u4").tobytes() + bytes(state)
    section = struct.pack("<16sQ", b"slots", len(data)) + data + bytes(-len(data) % 8)
    arrays = [np.array(position), np.zeros((2, 1))]
    return forge(world.snapshot(), arrays=arrays, sections=section)


@pytest.mark.parametrize("twin", TWINS)
def test_forged_slots_are_refused(twin):
    world = twin.Stepper([[1.0], [2.0]], alive=1)
    good = world.snapshot()
    assert forged(world, (1, 0), (1, 0)) == good
    world.restore(forged(world, (2**31 - 1, 9), (1, 0)))
    assert world.ids.tolist() == [(2**31 - 1) << 32, -1]
    world.restore(good)
    for generation, state, position in [
        ((1, 1), (1, 1), ((1.0,), (2.0,))),
        ((1, 0), (2, 0), ((1.0,), (0.0,))),
        ((1, 0), (4, 0), ((1.0,), (0.0,))),
        ((0, 0), (1, 0), ((1.0,), (0.0,))),
        ((2**31, 0), (1, 0), ((1.0,), (0.0,))),
        ((1, 0), (3, 0), ((1.0,), (0.0,))),
        ((1, 0), (1, 0), ((1.0,), (3.0,))),
        ((1, 0, 0), (1, 0), ((1.0,), (0.0,))),
    ]:
        with pytest.raises(kd.SnapshotError):
            world.restore(forged(world, generation, state, position))
        assert world.snapshot() == good


def test_spawn_and_kill_are_fast():
    rng = np.random.default_rng(0)
    position, velocity, rows = np.zeros((6000, 2)), np.zeros((6000, 2)), rng.permutation(6000)[:33]
    world = kd.Stepper(position, velocity, forces=[kd.Gravity((0, -10))], alive=3000)
    x, v = rng.normal(size=(2, 33, 2))

    def best(function):
        times = []
        for _ in range(300):
            begin = time.perf_counter()
            function()
            times.append(time.perf_counter() - begin)
        return min(times)

    def assign():
        position[rows] = x

    def both():
        world.kill(world.spawn(x, v))

    assert best(both) < 20 * best(assign)
    crowd = kd.Stepper(np.zeros((10_000, 2)), forces=[kd.Gravity((0, -10))], alive=100)
    few = kd.Stepper(np.zeros((100, 2)), forces=[kd.Gravity((0, -10))])
    assert best(lambda: crowd.step(100)) < 4 * best(lambda: few.step(100))
