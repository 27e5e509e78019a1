"""Ropes that only pull, struts that only push, their loads, and breaking."""

import copy
import pickle

import numpy as np
import pytest
from forge import forge, take_apart
from plans import assert_same_bits, assert_same_state

import kickdrift as kd
from kickdrift import reference

both = pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["compiled", "reference"])
G = 9.81
#: Integrators under which a hanging body comes to rest; under `energy_euler` it keeps its speed.
INTEGRATORS = [name for name in kd.INTEGRATORS if name != "energy_euler"]


def held(joined, *constraints):
    """Return the constraints; if `joined`, their distances become joints of a Contacts."""
    if not joined:
        return list(constraints)
    distances = [each for each in constraints if isinstance(each, kd.Distance)]
    rest = [each for each in constraints if not isinstance(each, kd.Distance)]
    return [*rest, kd.Contacts(0.01, joints=distances)]


def chain(links, mass=10.0, Stepper=kd.Stepper, joined=False, light=1.0, iterations=50, dtype=np.float64, **more):
    """Create a load at the end of a chain of 1 m ropes that hangs from a pin."""
    limits = {name: more.pop(name) for name in ("breaks_at", "compliance", "direction", "order") if name in more}
    rope = kd.Distance([(k, k + 1) for k in range(links)], max_length=1.0, iterations=iterations, **limits)
    position = np.array([[0.0, -1.0 * k] for k in range(links + 1)], dtype)
    masses = [1.0, *[light] * (links - 1), mass]
    world = Stepper(
        position, mass=masses, forces=[kd.Gravity((0, -G))], constraints=held(joined, kd.Pin(0), rope), **more
    )
    return world, rope


@pytest.mark.parametrize("joined", [False, True], ids=["alone", "in Contacts"])
@pytest.mark.parametrize("hz", [30, 60, 240])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_hanging_load_reads_its_weight(integrator, hz, joined):
    for links in (1, 3):
        world, rope = chain(links, hz=hz, integrator=integrator, joined=joined)
        world.step(5 * hz)
        for _ in range(4):
            world.step()
            above = G * (10 + np.arange(links)[::-1])
            np.testing.assert_allclose(world.load(rope), above, rtol=0.01)


@pytest.mark.parametrize(
    "more",
    [
        {"direction": "after"},
        {"order": "coloured"},
        {"compliance": 1e-6},
        {"compliance": 1e-3},
        {"compliance": 1e-6, "direction": "after"},
        {"dtype": np.float32},
    ],
    ids=str,
)
@pytest.mark.parametrize("links", [1, 4])
def test_every_variant_reads_the_same(more, links):
    world, rope = chain(links, hz=120, **more)
    damping = world.add(kd.Damping(2.0))
    world.step(2400)
    world.remove(damping)
    world.step(120)
    np.testing.assert_allclose(world.load(rope), G * (10 + np.arange(links)[::-1]), rtol=0.01)


@pytest.mark.parametrize("joined", [False, True])
def test_rods_struts_and_slanted_ropes(joined):
    rod, strut = kd.Distance([(0, 1)], 1.0), kd.Distance([(2, 3)], min_length=1.0)
    slanted = kd.Distance([(4, 6), (5, 6)], max_length=np.sqrt(2.0))
    position = [[0, 0], [0, -1], [5, 0], [5, 1], [9, 0], [11, 0], [10, -1]]
    world = kd.Stepper(
        position, mass=10, hz=120, forces=[kd.Gravity((0, -G))],
        constraints=held(joined, kd.Pin([0, 2, 4, 5]), rod, strut, slanted),
    )  # fmt: skip
    world.step(240)
    np.testing.assert_allclose(world.load(rod), [98.1], rtol=1e-3)
    np.testing.assert_allclose(world.load(strut), [-98.1], rtol=1e-3)  # it pushes
    np.testing.assert_allclose(world.load(slanted), [98.1 / np.sqrt(2)] * 2, rtol=1e-3)


def test_a_pendulum_pulls_as_much_as_theory_says():
    rope = kd.Distance([(0, 1)], max_length=1.0)
    world = kd.Stepper(
        [[0, 0], [np.sin(1.0), -np.cos(1.0)]], mass=2.0, dt=0.002, forces=[kd.Gravity((0, -G))],
        constraints=[kd.Pin(0), rope],
    )  # fmt: skip
    for _ in range(700):
        world.step()
        x, v = world.position[1], world.velocity[1]
        expected = 2.0 * (v @ v - G * x[1])
        assert world.load(rope)[0] == pytest.approx(expected, rel=0.01)
    assert sum(world.energy()) == pytest.approx(-2.0 * G * np.cos(1.0), rel=1e-4)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_what_is_slack_is_not_there(integrator, joined):
    """Bodies on a slack rope fly bitwise as without one; a taut rope stops them without rebound."""
    rope = kd.Distance([(0, 1)], min_length=0.5, max_length=2.0)
    given = {"hz": 60, "integrator": integrator, "forces": [kd.Gravity((0, -G))]}
    tied = kd.Stepper([[0, 0], [0, -1]], constraints=held(joined, kd.Pin(0), rope), **given)
    free = kd.Stepper([[0, 0], [0, -1]], constraints=[kd.Pin(0)], **given)
    ticks = 0
    while free.position[1, 1] > -1.95:
        assert tied.load(rope).tolist() == [0.0]
        tied.step()
        free.step()
        ticks += 1
        if free.position[1, 1] > -1.9:
            assert_same_bits(tied.position, free.position)
            assert_same_bits(tied.velocity, free.velocity)
    assert ticks > 20
    tied.step(120)
    assert -tied.position[1, 1] == pytest.approx(2.0, abs=0.002)
    np.testing.assert_allclose(tied.velocity[1], 0, atol=1e-2 if integrator == "verlet" else 1e-6)
    tied.velocity[1] = 0, 8.0
    tied.restart()
    lengths = []
    for _ in range(60):
        tied.step()
        lengths.append(np.linalg.norm(tied.position[1]))
    assert min(lengths) == pytest.approx(0.5, abs=0.03)  # the minimum length stops the body like a strut


def test_ropes_only_pull_and_struts_only_push():
    """Ropes never push and struts never pull in a net that is shaken, whatever their neighbours do."""
    rng = np.random.default_rng(3)
    position = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    pairs = [(k, k + 1) for k in range(24) if k % 5 < 4] + [(k, k + 5) for k in range(20)]
    for joined in (False, True):
        rope, strut = kd.Distance(pairs, max_length=1.05), kd.Distance(pairs, min_length=0.9)
        world = kd.Stepper(position + 0.0, rng.normal(size=(25, 2)), hz=60, constraints=held(joined, rope, strut))
        pulls = pushes = 0
        for _ in range(100):
            world.step()
            assert world.load(rope).min() >= -1e-9
            assert world.load(strut).max() <= 1e-9
            pulls, pushes = pulls + (world.load(rope) > 0.1).sum(), pushes + (-world.load(strut) > 0.1).sum()
            d = np.linalg.norm(np.diff(world.position[np.array(pairs)], axis=1), axis=2)
            assert d.min() > 0.8
            assert d.max() < 1.2
        assert pulls > 50
        assert pushes > 50


# Breaks.


def bridge(Stepper=kd.Stepper, joined=False, breaks_at=700.0, dtype=np.float64, events=True, **more):
    """Create a bridge of 30 planks between two pins, and a load that falls on it."""
    pairs = [(k, k + 1) for k in range(31)]
    planks = kd.Distance(pairs, breaks_at=breaks_at, iterations=20)
    position = np.zeros((33, 2), dtype)
    position[:32, 0] = np.arange(32)
    position[32] = 15.5, 1.0
    gravity = kd.Gravity((0, -G))
    drop = kd.Distance([(15, 32), (16, 32)], max_length=3.0)
    masses = np.ones(33)
    masses[32] = 60.0
    if events:
        more["events"] = kd.Events()
    world = Stepper(
        position, mass=masses, hz=60, forces=[gravity, kd.Damping(0.5)],
        constraints=held(joined, kd.Pin([0, 31]), planks, drop), **more,
    )  # fmt: skip
    return world, planks


@pytest.mark.parametrize("joined", [False, True], ids=["alone", "in Contacts"])
def test_pairs_of_removed_bodies_are_whole_but_do_not_act(joined):
    """As the docstring of `whole` says: their ids find them, also after another body has taken the row."""
    for Stepper in (kd.Stepper, reference.Stepper):
        world, planks = bridge(Stepper, joined=joined, breaks_at=np.inf)
        ids = world.ids[planks.pairs]
        assert (world.slots(ids, missing=-1) >= 0).all()
        world.kill(ids[5])
        for _ in range(2):
            acts = (world.slots(ids, missing=-1) >= 0).all(axis=1)
            assert np.flatnonzero(~acts).tolist() == [4, 5, 6]
            assert world.whole(planks).all()
            world.step()
            assert (world.load(planks) != 0).tolist() == acts.tolist()
            world.spawn([(3.0, 9.0)])


@pytest.mark.parametrize("joined", [False, True], ids=["alone", "in Contacts"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bridge_breaks_at_its_load_and_at_the_same_tick_everywhere(isa, dtype, joined):
    whole, planks = bridge(dtype=dtype, joined=joined, breaks_at=np.inf)
    loads = []
    for _ in range(90):
        whole.step()
        loads.append(np.abs(whole.load(planks)).max())
    assert whole.whole(planks).all()
    limit = float(np.float32(0.6 * max(loads)))
    first = next(tick for tick, load in enumerate(loads, 1) if load > limit)
    assert first > 5
    seen = []
    for Stepper in (kd.Stepper, reference.Stepper):
        world, planks = bridge(Stepper, dtype=dtype, joined=joined, breaks_at=limit)
        world.step(first - 1)
        assert world.whole(planks).all()
        world.step()
        broken = np.flatnonzero(~world.whole(planks))
        assert len(broken)
        over = np.flatnonzero(np.abs(world.load(planks)) > limit)
        assert broken.tolist() == over.tolist()
        world.step(20)
        events = world.events.take()
        assert (events["kind"] == kd.BREAK).all()
        assert events["tick"][0] == first
        assert events["slot_a"][: len(broken)].tolist() == broken.tolist()
        assert events["slot_b"][: len(broken)].tolist() == (broken + 1).tolist()
        assert (world.load(planks)[~world.whole(planks)] == 0).all()
        seen.append((events.tobytes(), world.checksum(), world.whole(planks).tolist(), world.load(planks).tolist()))
    assert seen[0] == seen[1]


@both
def test_a_break_needs_no_events_and_many_steps_in_a_call_are_the_same(Stepper):
    one, planks = bridge(Stepper, events=False)
    other, others = bridge(Stepper, events=False)
    one.step(60)
    for _ in range(60):
        other.step()
    assert not one.whole(planks).all()
    assert one.whole(planks).tolist() == other.whole(others).tolist()
    assert_same_state(one, other)


@both
@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("breaks_at", [1e6, np.inf])
def test_after_an_error_loads_are_those_of_the_last_completed_step(Stepper, breaks_at, joined):
    calls = []

    def fails(t, x, v, out):
        calls.append(t)
        if len(calls) == 3:
            raise RuntimeError("stop")

    def swing():
        rope = kd.Distance([(0, 1)], max_length=1.0, breaks_at=breaks_at)
        world = Stepper(
            [[0.0, 0.0], [0.0, -1.0]], [[0.0, 0.0], [3.0, 0.0]], hz=60, integrator="semi_implicit_euler",
            forces=[kd.Gravity((0, -G)), kd.Force(fails)], constraints=held(joined, kd.Pin(0), rope),
        )  # fmt: skip
        return world, rope

    failed, rope = swing()
    with pytest.raises(RuntimeError, match="stop"):
        failed.step(5)
    whole, other = swing()
    whole.step(failed.tick)
    assert failed.tick == 2
    assert failed.load(rope).tolist() == whole.load(other).tolist() != [0.0]
    assert failed.checksum() == whole.checksum()


@both
def test_after_a_break_the_pair_has_no_effect(Stepper):
    world, rope = chain(1, Stepper=Stepper, hz=60, breaks_at=50.0)
    world.step()
    assert not world.whole(rope)[0]
    free = Stepper(
        world.position.copy(), world.velocity.copy(), [1.0, 10.0], hz=60, forces=[kd.Gravity((0, -G))],
        constraints=[kd.Pin(0)],
    )  # fmt: skip
    world.step(20)
    free.step(20)
    assert_same_bits(world.position, free.position)
    assert_same_bits(world.velocity, free.velocity)
    assert world.load(rope).tolist() == [0.0]


def test_the_event_of_a_break():
    world, rope = chain(1, hz=60, breaks_at=50.0, events=kd.Events())
    world.step()
    (event,) = world.events.take()
    load = world.load(rope)[0]
    assert load == pytest.approx(98.1)
    assert (event["kind"], event["source"], event["tick"], event["slot_a"], event["slot_b"]) == (kd.BREAK, 1, 1, 0, 1)
    assert (event["a"], event["b"]) == (2**32, 2**32 + 1)
    assert event["time"] == pytest.approx(1 / 60)
    assert event["point"] == pytest.approx([0, -0.5], abs=0.01)
    assert event["normal"] == pytest.approx([0, -1])
    assert event["impulse"] == pytest.approx(load / 60)
    assert event["speed"] == 0
    world.step(10)
    assert len(world.events.take()) == 0


def test_a_strut_that_breaks_has_pushed(Stepper):
    """A negative impulse occurs only in BREAK events, of a rod that pushes."""
    strut = kd.Distance([(0, 1)], 1.0, breaks_at=50.0)
    world = Stepper(
        [[0.0, 0.0], [0.0, 1.0]], mass=[1.0, 10.0], hz=60, forces=[kd.Gravity((0, -G))],
        constraints=[kd.Pin(0), strut], events=kd.Events(),
    )  # fmt: skip
    world.step()
    (event,) = world.events.take()
    assert event["kind"] == kd.BREAK
    assert event["impulse"] == pytest.approx(-10 * G / 60)
    assert world.load(strut)[0] == pytest.approx(-10 * G)


@both
def test_struts_break_under_pressure_and_mending_is_adding(Stepper):
    strut = kd.Distance([(0, 1)], min_length=1.0, breaks_at=[50.0])
    world = Stepper([[0, 0], [0, 1]], mass=10, hz=60, forces=[kd.Gravity((0, -G))], constraints=[kd.Pin(0), strut])
    world.step(30)
    assert world.position[1, 1] < 0
    world.remove(strut)
    with pytest.raises(ValueError, match="which was removed"):
        world.load(strut)
    world.position[1], world.velocity[1] = (0, 1), 0
    world.add(strut)
    assert world.whole(strut).all()
    world.set(strut, breaks_at=np.inf)
    world.step(30)
    assert world.position[1, 1] == pytest.approx(1.0, abs=1e-6)
    world.set(strut, breaks_at=97.0)
    world.step()
    assert not world.whole(strut).any()


@both
@pytest.mark.parametrize("joined", [False, True])
def test_a_rope_that_is_given_twice_is_two_ropes(Stepper, joined):
    rope = kd.Distance([(0, 1)], max_length=1.0, breaks_at=90.0)
    world = Stepper(
        [[0.0, 0.0], [0.0, -1.0]], mass=[1.0, 10.0], hz=60, forces=[kd.Gravity((0, -G))],
        constraints=held(joined, kd.Pin(0), rope, rope), events=kd.Events(),
    )  # fmt: skip
    twin = pickle.loads(pickle.dumps(world))
    for each in (world, twin):
        each.step(10)
        assert (each.events.take()["kind"] == kd.BREAK).sum() == 2
        mine = rope if each is world else each.constraints[-1].joints[1] if joined else each.constraints[2]
        assert each.whole(mine).tolist() == [False]
    assert_same_state(world, twin)
    world.set(rope, breaks_at=np.inf)
    saved = world.snapshot()
    world.restore(saved)
    assert world.snapshot() == saved
    world.set(rope, iterations=3)
    assert {each.iterations for each in (world.constraints[-1].joints if joined else world.constraints[1:])} == {3}


@both
def test_the_loads_of_ropes_that_are_given_twice_add_up(Stepper):
    rope = kd.Distance([(0, 1)], max_length=1.0)
    world = Stepper(
        [[0.0, 0.0], [0.0, -1.0]], mass=10.0, hz=60, forces=[kd.Gravity((0, -G))], constraints=[kd.Pin(0), rope, rope]
    )
    world.step(10)
    assert world.load(rope)[0] == pytest.approx(98.1, rel=1e-3)


@both
@pytest.mark.parametrize("joined", [False, True])
def test_handles(Stepper, joined):
    world, rope = chain(2, Stepper=Stepper, hz=60, joined=joined, breaks_at=1e4)
    world.step(60)
    world.set(rope, max_length=0.75)
    assert world.current(rope).max_length == 0.75
    world.step(120)
    assert world.position[2, 1] == pytest.approx(-1.5, abs=0.01)
    world.enable(rope, False)
    world.step(10)
    assert world.load(rope).tolist() == [0.0, 0.0]
    assert world.position[2, 1] < -1.55
    world.enable(rope)
    world.step(60)
    assert world.load(rope)[0] > 50
    world.set(rope, breaks_at=[1e4, 10.0])
    world.step(2)
    assert world.whole(rope).tolist() == [True, False]
    world.enable(rope, False)
    world.enable(rope)
    assert world.whole(rope).tolist() == [True, False]  # stays broken
    world.remove(rope)
    with pytest.raises(ValueError, match="which was removed"):
        world.load(rope)


# State.


@both
@pytest.mark.parametrize("joined", [False, True])
def test_snapshots_copies_rollback_and_tape(Stepper, joined):
    world, planks = bridge(Stepper, joined=joined, events=False)
    world.step(10)
    early, before = world.snapshot(), (world.load(planks).tolist(), world.whole(planks).tolist())
    assert all(before[1])
    tape = kd.Tape(world)
    past = kd.Rollback(world, ticks=80)
    past.resimulate(60)
    tape.stop()
    late, after = world.checksum(), (world.load(planks).tolist(), world.whole(planks).tolist())
    assert not all(after[1])
    for twin in (copy.copy(world), pickle.loads(pickle.dumps(world))):
        handle = twin.constraints[-1].joints[0] if joined else twin.constraints[1]
        assert (twin.load(handle).tolist(), twin.whole(handle).tolist()) == after
        assert twin.checksum() == late
    past.rollback(10)
    assert (world.load(planks).tolist(), world.whole(planks).tolist()) == before
    past.resimulate(60)
    assert world.checksum() == late
    world.restore(early)
    assert (world.load(planks).tolist(), world.whole(planks).tolist()) == before
    world.step(50)
    assert world.checksum() == late
    other, _ = bridge(Stepper, joined=joined, events=False)
    tape.replay(other)
    assert other.checksum() == late
    made, mine = bridge(reference.Stepper if Stepper is kd.Stepper else kd.Stepper, joined=joined, events=False)
    made.restore(world.snapshot())
    assert made.whole(mine).tolist() == after[1]
    assert made.snapshot() == world.snapshot()


@both
def test_loads_that_are_not_saved_are_unknown_until_the_next_step(Stepper):
    world, rope = chain(1, Stepper=Stepper, hz=60)
    assert world.load(rope).tolist() == [0.0]
    world.step(5)
    saved = world.snapshot()
    assert b"loads" not in saved
    world.restore(saved)
    assert np.isnan(world.load(rope)).all()
    world.step()
    assert world.load(rope)[0] == pytest.approx(98.1, rel=1e-3)
    kd.sync_test(world, 10)


@both
@pytest.mark.parametrize("joined", [False, True])
def test_a_break_outlasts_its_limit(Stepper, joined):
    """Snapshots keep broken pairs after breaks_at was removed, but not the loads."""
    world, rope = chain(2, Stepper=Stepper, joined=joined, hz=60, breaks_at=[1e6, 90.0])
    slack = world.add(kd.Distance([(0, 2)], max_length=9.0))
    world.step(5)
    assert world.whole(rope).tolist() == [True, False]
    world.set(rope, breaks_at=None)
    twin, saved = pickle.loads(pickle.dumps(world)), world.snapshot()
    mine = twin.constraints[-2].joints[0] if joined else twin.constraints[1]
    assert twin.checksum() == world.checksum()
    for each in (world, twin):
        each.step(5)
    assert_same_state(world, twin)
    assert twin.whole(mine).tolist() == [True, False]
    world.restore(saved)
    assert world.whole(rope).tolist() == [True, False]
    assert world.whole(slack).tolist() == [True]
    assert np.isnan(world.load(rope)).all()
    assert world.snapshot() == saved
    tail = take_apart(saved)[2]
    arrays = np.frombuffer(tail, "<f8", 12).reshape(2, 3, 2)
    place = tail.index(b"loads\0") + 24
    assert tail[place : place + 3] == b"\0\1\0"
    for flags in (b"\0\0\0", b"\0\2\0"):
        with pytest.raises(kd.SnapshotError, match="loads"):
            world.restore(forge(saved, arrays=[*arrays], sections=tail[96:place] + flags + tail[place + 3 :]))


@both
@pytest.mark.parametrize("joined", [False, True])
def test_loads_are_saved_from_the_set_of_breaks_at_on(Stepper, joined):
    world, rope = chain(1, Stepper=Stepper, joined=joined, hz=60)
    world.step(5)
    restored, other = chain(1, Stepper=Stepper, joined=joined, hz=60)
    restored.restore(world.snapshot())
    for each, limited in ((world, rope), (restored, other)):
        each.set(limited, breaks_at=200.0)
        assert each.load(limited).tolist() == [0.0]
    assert world.snapshot() == restored.snapshot()
    restored.restore(world.snapshot())
    pickle.loads(pickle.dumps(world))
    world.step()
    assert world.load(rope)[0] == pytest.approx(98.1, rel=1e-3)
    world.set(rope, breaks_at=300.0)
    assert world.load(rope)[0] == pytest.approx(98.1, rel=1e-3)


def test_events_of_breaks_under_rollback():
    world, planks = bridge()
    past = kd.Rollback(world, ticks=80)
    past.resimulate(60)
    past.rollback(5)
    past.resimulate(60)
    events = past.events(confirmed=60)
    assert len(events) == (~world.whole(planks)).sum() > 0


@both
def test_pairs_end_with_their_bodies(Stepper):
    rope = kd.Distance([(0, 1), (0, 2)], max_length=1.0, breaks_at=150.0)
    world = Stepper(
        [[0, 0], [0, -1], [0.6, -0.8], [9, 9]], mass=10, hz=60, alive=3, forces=[kd.Gravity((0, -G))],
        constraints=[kd.Pin(0), rope],
    )  # fmt: skip
    world.step(2)
    assert world.load(rope)[0] > 90
    world.kill([1])
    assert world.load(rope)[0] == 0
    assert world.load(rope)[1] > 50
    world.step()
    assert world.load(rope)[0] == 0
    world.spawn([[0, -1.0]])
    world.step()
    assert world.load(rope)[0] == 0
    assert world.velocity[1, 1] < 0  # the new body does not hang on the rope of the old one
    assert world.whole(rope).all()


@pytest.mark.parametrize("seed", range(24))
def test_random_nets_equal_the_reference(seed):
    """Ropes, struts, rods and springs that break, change and are removed are bitwise equal to the reference."""
    rng = np.random.default_rng(seed)
    dtype = [np.float32, np.float64][seed % 2]
    dim, n = int(rng.integers(1, 4)), int(rng.integers(4, 40))
    joined = bool(rng.integers(3) == 0)
    integrator = list(kd.INTEGRATORS)[seed % len(kd.INTEGRATORS)]
    position, velocity = rng.normal(size=(n, dim)), 2 * rng.normal(size=(n, dim))
    forces = [kd.Gravity(rng.normal(size=dim) * 5)]
    if integrator != "exact" and rng.integers(2):
        forces.append(kd.Damping(0.3))

    def distance():
        count = int(rng.integers(1, 2 * n))
        first = rng.integers(0, n, count)
        pairs = np.stack([first, (first + rng.integers(1, n, count)) % n], axis=1)
        more = {}
        kind = rng.integers(4)
        if kind in (0, 2):
            more["max_length"] = rng.uniform(1.0, 2.5, count) if rng.integers(2) else 1.5
        if kind in (1, 2):
            more["min_length"] = rng.uniform(0.2, 1.0, count)
        if rng.integers(2):
            more["breaks_at"] = rng.choice([30.0, 300.0, 3000.0, np.inf], count)
        if rng.integers(3) == 0:
            more["compliance"] = rng.choice([0.0, 1e-4, 1e-2], count)
        elif not joined and rng.integers(3) == 0:
            more["stiffness"] = rng.uniform(0.3, 1.0, count)
        more["direction"] = ["before", "after"][int(rng.integers(2))]
        more["order"] = ["given", "coloured"][int(rng.integers(2))]
        return kd.Distance(pairs, iterations=int(rng.integers(1, 6)), **more)

    distances = [distance() for _ in range(int(rng.integers(1, 4)))]
    constraints = held(joined, kd.Pin([0]), *distances)
    worlds = [
        Stepper(
            position.astype(dtype), velocity.astype(dtype), rng_mass(seed, n), hz=60, integrator=integrator,
            forces=forces, constraints=constraints, alive=n, events=kd.Events(), **more,
        )
        for Stepper, more in ((kd.Stepper, {"threads": 2}), (reference.Stepper, {}))
    ]  # fmt: skip
    saved = None
    for turn in range(6):
        with np.errstate(all="ignore"):
            for world in worlds:
                world.step(4)
        for each in distances:
            loads = [world.load(each) for world in worlds]
            assert loads[0].tobytes() == loads[1].tobytes()
            assert worlds[0].whole(each).tolist() == worlds[1].whole(each).tolist()
        assert worlds[0].events.take().tobytes() == worlds[1].events.take().tobytes()
        assert worlds[0].checksum() == worlds[1].checksum()
        snapshots = [world.snapshot() for world in worlds]
        assert snapshots[0] == snapshots[1]
        if turn == 1:
            saved = snapshots[0]
        for world in worlds:
            if turn == 1:
                world.kill([n // 2])
            elif turn == 2:
                world.set(distances[0], iterations=3)
                world.enable(distances[-1], False)
            elif turn == 3:
                world.spawn(position[:1])
                world.enable(distances[-1])
            elif turn == 4:
                world.restore(saved)


def rng_mass(seed, n):
    mass = np.random.default_rng(seed).uniform(0.5, 5.0, n)
    mass[-1] = np.inf
    return mass


# Bad input.


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"max_length": -1.0}, ValueError, r"Distance\(max_length\): expected numbers of at least 0"),
        ({"max_length": np.inf}, ValueError, r"Distance\(max_length\): expected finite"),
        ({"min_length": "long"}, TypeError, r"Distance\(min_length\)"),
        ({"min_length": 2.0, "max_length": 1.0}, ValueError, r"Distance\(max_length\): expected at least min_length"),
        ({"length": 2.0, "max_length": 1.0}, ValueError, r"Distance\(max_length\): expected at least length, 2"),
        ({"length": 1.0, "min_length": 2.0}, ValueError, r"Distance\(length\): expected at least min_length, 2"),
        ({"max_length": [1.0, 2.0]}, ValueError, r"Distance\(max_length\): expected a scalar or shape \(1,\)"),
        ({"breaks_at": 0.0}, ValueError, r"Distance\(breaks_at\): expected loads above 0"),
        ({"breaks_at": -np.inf}, ValueError, r"Distance\(breaks_at\)"),
        ({"breaks_at": np.nan}, ValueError, r"Distance\(breaks_at\)"),
        ({"breaks_at": "strong"}, TypeError, r"Distance\(breaks_at\)"),
        ({"breaks_at": [1.0, 2.0]}, ValueError, r"Distance\(breaks_at\): expected a scalar or shape \(1,\)"),
    ],
)
def test_wrong_numbers(arguments, error, match):
    with pytest.raises(error, match=match):
        kd.Stepper([[0.0], [1.0]], constraints=[kd.Distance([(0, 1)], **arguments)])


def test_loads_are_those_of_a_distance_of_this_world():
    gravity, box, rope = kd.Gravity((0.0,)), kd.Box(-9, 9), kd.Distance([(0, 1)], max_length=2.0)
    world = kd.Stepper([[0.0], [1.0]], forces=[gravity], constraints=[box, rope])
    for ask in (world.load, world.whole):
        for other in (gravity, box):
            with pytest.raises(TypeError, match="declaration: expected a Distance"):
                ask(other)
        with pytest.raises(ValueError, match="declaration: expected one that this stepper was given"):
            ask(kd.Distance([(0, 1)]))
        with pytest.raises(TypeError, match="declaration"):
            ask("rope")


@pytest.mark.parametrize("joined", [False, True])
def test_forged_loads_are_refused(joined):
    world, planks = bridge(joined=joined, events=False)
    world.step(20)
    saved = world.snapshot()
    count = 16 * len(world.load(planks))
    tail = take_apart(saved)[2]
    place = tail.index(b"loads\0") + 24
    numbers = np.frombuffer(tail, "<f8", count // 8, place)
    assert numbers.any()
    size = 2 * 33 * 2
    arrays = np.frombuffer(tail, "<f8", size).reshape(2, 33, 2)
    for index, value in ((0, np.nan), (0, -0.0), (1, 2.0), (1, -1.0), (1, 0.5)):
        wrong = numbers.copy()
        wrong[index] = value
        sections = tail[8 * size : place] + wrong.astype("<f8").tobytes() + tail[place + count :]
        with pytest.raises(kd.SnapshotError, match="loads"):
            world.restore(forge(saved, arrays=[*arrays], sections=sections))
    assert world.snapshot() == saved
    world.restore(forge(saved, arrays=[*arrays], sections=tail[8 * size :]))
