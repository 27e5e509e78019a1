"""Worlds: construction, refusals, interrupts, snapshots and restores."""

import copy
import pickle
import signal
import tracemalloc
from time import perf_counter

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.rollback import snapshots


def discs(n=6, **more):
    """Discs in a box."""
    rng = np.random.default_rng(0)
    position = np.array([[1.0 + 2 * (i % 3), 1.0 + 2 * (i // 3)] for i in range(n)])
    constraints = [kd.ElasticCollisions(0.5), kd.Box((0, 0), (6, 4), radius=0.5)]
    more = {"forces": [kd.LinearDrag(0.1)], "constraints": constraints, **more}
    return kd.Stepper(position, 3 * rng.normal(size=(n, 2)), dt=1 / 60, **more)


def test_buffers_are_stepped_in_place(Worlds):
    world = kd.Stepper([[0.0, 0.0]], [[1.0, 0.0]], dt=0.5)
    position, velocity = np.zeros((3, 1, 2)), np.ones((3, 1, 2))
    worlds = Worlds(world, position=position, velocity=velocity)
    assert worlds.position is position
    assert worlds.velocity is velocity
    assert len(worlds) == 3
    worlds.step(2)
    assert (position == 1.0).all()
    assert world.tick == 0
    assert (world.position == 0).all()


@pytest.mark.parametrize("layout", ["last", "component", "reversed", "planes"])
@pytest.mark.parametrize("make", [lambda **more: discs(**more), lambda **more: discs(constraints=(), **more)])
def test_any_strides(isa, layout, make):
    plain = kd.Worlds(make(), 5)
    shape = plain.position.shape
    arrays = []
    for own in (plain.position, plain.velocity):
        if layout == "last":  # part of an agent's array of observations
            array = np.zeros((5, 6, 7))[:, :, 2:4]
        elif layout == "component":
            array = np.zeros((5, 2, 6)).transpose(0, 2, 1)
        elif layout == "reversed":
            array = np.zeros(shape)[::-1, ::-1]
        else:
            array = np.zeros((2, 6, 5)).transpose(2, 1, 0)
        array[...] = own
        arrays.append(array)
    worlds = kd.Worlds(make(), position=arrays[0], velocity=arrays[1])
    for each in (plain, worlds):
        each.step(20)
        each.step(1)
    assert np.array_equal(plain.position, worlds.position)
    assert np.array_equal(plain.velocity, worlds.velocity)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({}, ValueError, "worlds: expected one number of worlds, or arrays of as many, got none"),
        ({"worlds": -1}, ValueError, "worlds: expected an int of at least 0"),
        ({"worlds": 2.0}, TypeError, "worlds: expected an int"),
        ({"worlds": 2, "threads": 0}, ValueError, "threads: expected an int of at least 1"),
        ({"worlds": 2, "position": np.zeros((3, 6, 2))}, ValueError, r"worlds: expected one number .* \[2, 3\]"),
        ({"position": np.zeros((3, 5, 2))}, ValueError, r"position: expected shape \(3, 6, 2\), got \(3, 5, 2\)"),
        ({"position": np.zeros((3, 6, 2), np.float32)}, TypeError, "position: expected float64"),
        ({"position": [[[0.0, 0.0]] * 6]}, TypeError, "position: expected an array of your own"),
        ({"position": np.broadcast_to(0.0, (3, 6, 2))}, ValueError, "position: expected a writable"),
        ({"position": np.full((3, 6, 2), np.nan)}, ValueError, "position: expected finite numbers, got"),
        ({"angle": np.zeros((3, 6))}, ValueError, "angle: expected a world with angular_velocity"),
    ],
)
def test_bad_arguments(Worlds, given, error, text):
    with pytest.raises(error, match=text):
        Worlds(discs(), **given)


def test_what_is_no_stepper(Worlds):
    with pytest.raises(TypeError, match="world: expected a kickdrift"):
        Worlds(kd.ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.1), 2)
    array = np.zeros((2, 6, 2))
    with pytest.raises(ValueError, match="velocity: shares memory with position"):
        Worlds(discs(), position=array, velocity=array)
    worlds = Worlds(discs(), 3)
    with pytest.raises(TypeError, match=r"active: expected a mask, bool of shape \(3,\), got int64"):
        worlds.step(1, active=np.array([0, 1, 1]))
    with pytest.raises(ValueError, match=r"active: expected a mask of shape \(3,\), got \(2,\)"):
        worlds.step(1, active=np.ones(2, bool))
    with pytest.raises(ValueError, match="n: expected an int of at least 0"):
        worlds.step(-1)
    with pytest.raises(IndexError, match="index: expected a world from 0 to 2, got 3"):
        worlds[3]
    with pytest.raises(IndexError, match=r"target: expected worlds from 0 to 2, got 3 \(int\)$"):
        worlds.copy(0, 3)
    with pytest.raises(ValueError, match=r"target: expected each world once, got \["):
        worlds.copy([0, 1], [2, 2])
    with pytest.raises(TypeError, match="source: expected numbers of worlds"):
        worlds.copy([0.5], [1])
    assert worlds.tick.tolist() == [0, 0, 0]


def test_any_number_of_worlds_and_threads(isa):
    """Seven worlds or 4,096, in one thread or two, are bitwise equal to each other and to a single stepper."""
    kinds = [discs(), discs(constraints=[kd.Contacts(0.5, friction=0.3, walls=[kd.Box((0, 0), (6, 4))])])]
    for world in kinds:
        rng = np.random.default_rng(1)
        way = rng.normal(size=(4096, 6, 2))
        found = []
        for count, threads in ((1, 1), (7, 2), (2, 2**20), (4096, 1), (4096, 2)):
            worlds = kd.Worlds(world, count, threads=threads)
            worlds.velocity[...] += way[:count]
            worlds.step(3)
            worlds.step(9, active=np.arange(count) % 3 != 1)
            worlds.step()
            found.append(worlds)
        for worlds in found[:-1]:
            assert np.array_equal(worlds.position, found[-1].position[: len(worlds)])
        for i in (0, 1, 5):
            alone = copy.copy(world)
            alone.velocity[...] += way[i]
            alone.step(4 if i == 1 else 13)
            assert np.array_equal(alone.position, found[-1].position[i])
            assert alone.checksum() == found[1][i].checksum()


def test_an_error_names_its_world(Worlds):
    worlds = Worlds(kd.Stepper(np.zeros((2, 2)), dt=0.5, forces=[kd.LinearDrag(1.0)]), 5)
    worlds.velocity[...] = 1.0
    worlds.velocity[3, 1] = np.inf
    worlds.velocity[4, 0] = np.inf
    with pytest.raises(kd.NonFiniteError, match=r"world 3: the state of body 1 .* tick 0 and tick 1") as caught:
        worlds.step(4)
    assert (caught.value.world, caught.value.body) == (3, 1)
    assert worlds.tick.tolist() == [4, 4, 4, 1, 1]
    assert np.isfinite(worlds.position[:3]).all()
    worlds.copy([0, 0], [3, 4])
    worlds.step()
    assert worlds.tick.tolist() == [5] * 5


def test_an_error_of_a_function_names_its_world(Worlds):
    def wall(t, position, velocity, out):
        if position[0, 0] > 1:
            raise LookupError("too far")
        out[:] = 0

    worlds = Worlds(kd.Stepper([[0.0]], [[1.0]], dt=0.25, forces=[kd.Force(wall)]), 3)
    worlds.position[1] = 0.6
    with pytest.raises(LookupError, match="too far") as caught:
        worlds.step(4)
    assert caught.value.world == 1
    assert caught.value.__notes__ == ["in world 1 of kickdrift.Worlds"]
    assert worlds.tick.tolist() == [4, 1, 4]


@pytest.mark.signals
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm")
@pytest.mark.parametrize(("count", "steps", "threads"), [(500, 10**6, 1), (500, 10**6, 2), (2, 10**9, 1)])
@pytest.mark.parametrize("constraints", [True, False])
def test_ctrl_c(count, steps, threads, constraints):
    world = discs() if constraints else discs(constraints=())
    worlds = kd.Worlds(world, count, threads=threads)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        started = perf_counter()
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  (it may ring before the steps)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            worlds.step(steps)
        assert perf_counter() - started < 2  # s; about 0.2 s after the signal, unless the machine is busy
    finally:
        signal.signal(signal.SIGALRM, before)
    # Each world is at a completed tick: equal to the stepper after that many steps.
    ticks = worlds.tick
    k = int(np.argmin(ticks))
    if ticks[k] < 200_000:
        alone = copy.copy(world)
        alone.step(int(ticks[k]))
        assert np.array_equal(alone.position, worlds.position[k])
    worlds.step()
    assert (worlds.tick == ticks + 1).all()


def test_busy(isa):
    def function(t, position, velocity, out):
        with pytest.raises(RuntimeError, match="these worlds are stepping already"):
            worlds.step()
        out[:] = 0

    worlds = kd.Worlds(kd.Stepper([[0.0]], dt=0.25, forces=[kd.Force(function)]), 2)
    worlds.step()


def test_spawn_looks_for_free_rows_only_while_nothing_else_runs(Worlds):
    def function(t, position, velocity, out):
        with pytest.raises(RuntimeError, match="these worlds are stepping already"):
            worlds.spawn(np.array([[True], [False]]), 0.0)  # this row has a body

    worlds = Worlds(kd.Stepper([[0.0]], dt=0.25, forces=[kd.Force(function)]), 2)
    worlds.step()


def test_snapshots_go_between_steppers_and_worlds(Worlds):
    world = discs()
    worlds = Worlds(world, 3)
    start = world.snapshot()
    worlds.step(3)
    worlds.restore(start, where=np.array([True, False, True]))
    assert worlds.tick.tolist() == [0, 3, 0]
    world.restore(worlds.snapshot(1))
    assert world.tick == 3
    assert np.array_equal(world.position, worlds.position[1])
    whole = worlds.snapshot()
    sums = worlds.checksum()
    assert sums[1] == world.checksum()
    assert sums[0] == sums[2] != sums[1]
    worlds.step(2)
    worlds.restore(whole, where=np.array([False, True, True]))
    assert worlds.tick.tolist() == [2, 3, 0]
    worlds.restore(whole)
    assert (worlds.checksum() == sums).all()
    for bad in (whole[:-1], whole + b"\0" * 8, Worlds(world, 2).snapshot(), b"kdworlds", b""):
        with pytest.raises(kd.SnapshotError):
            worlds.restore(bad)
    assert (worlds.checksum() == sums).all()


def test_a_snapshot_with_other_coefficients_is_refused(Worlds):
    world = discs()
    worlds = Worlds(world, 2)
    world.set(world.forces[0], coefficient=3.0)
    with pytest.raises(kd.SnapshotError, match="expected the coefficients, dt and origin"):
        worlds.restore(world.snapshot())
    other = discs()
    other.dt = 0.5
    with pytest.raises(kd.SnapshotError, match="expected the coefficients, dt and origin"):
        worlds.restore(other.snapshot())
    changed = Worlds(world, 2)  # made from the template after its change
    changed.restore(world.snapshot())


def test_history_begins_anew_where_the_state_is_another(Worlds):
    world = kd.Stepper([[0.0]], [[1.0]], dt=0.5, integrator="verlet", forces=[kd.Gravity((-1.0,))])
    world.step(2)
    velocity = world.velocity.copy()
    position = np.array([[[0.0]], world.position])
    worlds = Worlds(world, position=position)
    worlds.step()
    world.step()
    assert worlds.position[1] == world.position
    alone = kd.Stepper([[0.0]], velocity, dt=0.5, integrator="verlet", forces=[kd.Gravity((-1.0,))])
    alone.step()
    assert alone.position == worlds.position[0]
    assert worlds.tick.tolist() == [3, 3]


def test_state_and_pickle(Worlds):
    push = kd.AppliedForce(np.zeros((6, 2)))
    world = discs(forces=[push, drag := kd.LinearDrag(0.5)], state={"score": np.array(3), "left": np.zeros(2)})
    worlds = Worlds(world, 4)
    force = np.random.default_rng(2).normal(size=(4, 6, 2))
    worlds.set(push, force=force)
    worlds.set(drag, coefficient=np.array([0.1, 0.2, 0.3, 0.4]))
    worlds.state["score"][2] = 7
    assert worlds.state["left"].shape == (4, 2)
    assert worlds.state["score"].tolist() == [3, 3, 7, 3]
    worlds.step(3)
    others = [pickle.loads(pickle.dumps(worlds)), copy.copy(worlds)]
    for each in (worlds, *others):
        each.step(5)
    for each in others:
        assert (each.checksum() == worlds.checksum()).all()
        assert np.array_equal(each.position, worlds.position)
        assert each.state["score"].tolist() == [3, 3, 7, 3]
        assert each.position is not worlds.position


def test_arrays_of_applied_forces_can_be_replaced_again(Worlds):
    forces = [kd.AppliedForce(np.zeros((1, 2))) for _ in range(2)]
    worlds = Worlds(kd.Stepper([[0.0, 0.0]], dt=1.0, forces=forces), 2)
    for number in range(1, 4):
        for force in forces:
            worlds.set(force, force=np.full((2, 1, 2), float(number)))
    worlds.step()
    assert (worlds.velocity == 6.0).all()


@pytest.mark.parametrize("length", [1.0, None])
def test_pickle_has_the_numbers_of_each_world(Worlds, length):
    """Pickles include measured lengths of rods, which copies of the stepper have instead of the declared None."""
    rod, drag = kd.Distance([(0, 1)], length=length), kd.LinearDrag(1.0)
    template = kd.Stepper([[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [2.0, 3.0]], hz=60, forces=[drag], constraints=[rod])
    worlds = Worlds(template, 2)
    worlds.set(rod, iterations=3)
    worlds.set(drag, coefficient=np.array([0.5, 2.0]))
    worlds.step(3)
    twins = [pickle.loads(pickle.dumps(worlds)), copy.deepcopy(worlds), copy.copy(worlds)]
    twins.append(pickle.loads(pickle.dumps(twins[0])))
    for each in twins:
        assert each[1].current(each.constraints[0]).iterations == 3
        each.set(each.constraints[0], iterations=5)
        each.set(each.forces[0], coefficient=np.array([1.0, 3.0]))
    worlds.set(rod, iterations=5)
    worlds.set(drag, coefficient=np.array([1.0, 3.0]))
    for each in (worlds, *twins):
        each.step(5)
        assert (each.checksum() == worlds.checksum()).all()


def test_numbers_of_each_world(Worlds):
    """Each world equals a stepper with its coefficients; changes that need a new binding are refused without effect."""

    def made():
        terms = [kd.Gravity((0.0, -1.0)), kd.AnchorSpring(2.0, 0.1), kd.QuadraticDrag(0.3)]
        terms += [kd.Springs([(0, 1), (2, 3)], 3.0, 0.5), kd.Expression(x="-a*x", a=0.5), kd.Damping(0.2)]
        held = [kd.Contacts(0.4, friction=0.2, walls=[kd.Box((0, 0), (6, 4))])]
        return discs(forces=terms, constraints=held), [*terms, *held]

    world, terms = made()
    worlds, rng = Worlds(world, 3), np.random.default_rng(3)
    given = [
        (0, {"acceleration": rng.normal(size=(3, 2))}),
        (1, {"stiffness": rng.uniform(1, 2, 3), "damping": 0.3}),
        (2, {"coefficient": rng.uniform(0.1, 1, (3, 6))}),
        (3, {"stiffness": rng.uniform(1, 2, (3, 2))}),
        (4, {"a": rng.uniform(1, 2, 3)}),
        (5, {"rate": rng.uniform(0.1, 1, 3)}),
        (6, {"friction": rng.uniform(0.1, 1, 3)}),
    ]
    for k, values in given:
        worlds.set(terms[k], **values)
    start = worlds.checksum()
    with pytest.raises(ValueError, match="need other pairs, shapes or steps" if Worlds is kd.Worlds else "radius"):
        worlds.set(
            terms[6], radius=np.array([0.4, 0.3, -0.1]) if Worlds is not kd.Worlds else np.array([0.4, 0.3, 0.2])
        )
    with pytest.raises(ValueError, match="coefficient: expected a number or tuple for all worlds, or an array"):
        worlds.set(terms[2], coefficient=np.ones(6))
    with pytest.raises(TypeError, match="stiff"):
        worlds.set(terms[1], stiff=np.ones(3))
    assert (worlds.checksum() == start).all()
    worlds.step(4)
    worlds.copy(0, 2)  # the state; numbers stay
    worlds.step(4)
    for i in (0, 1):
        alone, own = made()
        for k, values in given:
            alone.set(own[k], **{name: value[i] if np.ndim(value) else value for name, value in values.items()})
        alone.step(8)
        assert np.array_equal(alone.position, worlds.position[i])


@pytest.mark.parametrize("kind", ["rod", "springs", "joint"])
def test_numbers_of_each_world_outlast_the_first_kill(Worlds, kind):
    """The first kill needs a new binding, with slots, which must have the coefficients of each world."""

    def make(length=1.0, coefficient=0.5, stepper=kd.Stepper):
        air, rod = kd.LinearDrag(coefficient), kd.Distance([(0, 1)], length=length)
        spring = kd.Springs([(0, 1)], 50.0, rest_length=length)
        parts = {"rod": ([], [rod]), "joint": ([], [kd.Contacts(0.1, joints=[rod])]), "springs": ([spring], [])}[kind]
        world = stepper(
            [[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], [[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]], hz=60,
            forces=[air, *parts[0]], constraints=parts[1],
        )  # fmt: skip
        return world, air, spring if kind == "springs" else None if kind == "joint" else rod

    template, air, link = make()
    name = "rest_length" if kind == "springs" else "length"
    lengths = np.array([1.0, 1.0] if link is None else [1.0, 1.5])
    worlds = Worlds(template, 2)
    if link is not None:
        worlds.set(link, **{name: lengths})
    worlds.set(air, coefficient=np.array([0.5, 1.0]))
    worlds.kill(np.array([[False, False, True], [False, False, True]]))
    steppers = [make(length, 0.5 + 0.5 * i)[0] for i, length in enumerate(lengths)]
    for each in steppers:
        each.kill(2)

    def compare():
        worlds.step(3)
        for each in steppers:
            each.step(3)
        assert worlds.position.tolist() == [each.position.tolist() for each in steppers]
        assert worlds.velocity.tolist() == [each.velocity.tolist() for each in steppers]

    compare()
    worlds.set(air, coefficient=np.array([0.25, 2.0]))
    for each, coefficient in zip(steppers, (0.25, 2.0), strict=True):
        each.set(each.forces[0], coefficient=coefficient)
    compare()


def test_a_snapshot_with_removed_bodies_for_some_worlds_leaves_the_others_whole(Worlds):
    template, other = (kd.Stepper(np.ones((3, 2)), hz=60) for _ in range(2))
    other.kill(1)
    worlds = Worlds(template, 2)
    worlds.restore(other.snapshot(), where=np.array([True, False]))
    assert worlds.alive.tolist() == [[True, False, True], [True, True, True]]
    assert worlds.ids[1].tolist() == template.ids.tolist()


@pytest.mark.parametrize("kind", ["rod", "rope", "springs"])
def test_lengths_that_are_left_out_are_measured_in_each_world(Worlds, kind):
    air, box = kd.LinearDrag(1.0), kd.Periodic((-5.0, -5.0), (5.0, 5.0))
    if kind == "springs":
        link = kd.Springs([(0, 1)], 5.0, 1.0)
        parts, given, name = ([air, link], [box]), {"rest_length": None}, "rest_length"
    else:
        link = kd.Distance([(0, 1)], **({"length": 1.0} if kind == "rod" else {"max_length": 1.0}))
        parts, name = ([air], [link, box]), "length"
        given = {"length": None} if kind == "rod" else {"max_length": None}
    template = kd.Stepper([[0.0, 0.0], [1.0, 0.0]], hz=60, forces=parts[0], constraints=parts[1])
    worlds = Worlds(template, 3)
    worlds.position[:, 1, 0] = (1.0, 3.0, -4.0)
    worlds.set(link, **given)
    worlds.position[1, 1, 0] = 3.5
    worlds.set(air, coefficient=2.0)
    assert [getattr(worlds[i].current(link), name).tolist() for i in range(3)] == [[1.0], [3.0], [4.0]]
    worlds.step()
    assert (worlds.position[[0, 2]] == [[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [-4.0, 0.0]]]).all()
    assert 3.0 <= worlds.position[1, 1, 0] - worlds.position[1, 0, 0] < 3.5


def test_queries_have_the_numbers_of_the_world(Worlds):
    """Regression: queries used the coefficients of world 0: a body at rest on its own floor was not grounded."""
    pull, floor = kd.Gravity((0, -10)), kd.Plane((0, 1), 0.0, radius=0.5, restitution=0.0)
    lift = kd.Boxes([(4.0, -2.0)], [(6.0, -1.0)], velocity=(0.0, 0.5), friction=0.5, radius=0.5)
    template = kd.Stepper([[0, 3.0], [5.0, 0.0]], hz=60, forces=[pull], constraints=[floor, lift])
    worlds = Worlds(template, 2)
    worlds.set(floor, offset=np.array([0.0, 2.0]))
    worlds.set(pull, acceleration=np.array([[0, -10.0], [0, -20.0]]))
    worlds.set(lift, friction=np.array([0.5, 0.25]))
    alone = [copy.copy(template) for _ in range(2)]
    own = alone[1].forces[0], *alone[1].constraints
    alone[1].set(own[1], offset=2.0)
    alone[1].set(own[0], acceleration=(0, -20.0))
    alone[1].set(own[2], friction=0.25)
    for _ in range(2):
        worlds.step(60)
        for i, stepper in enumerate(alone):
            stepper.step(60)
            one = worlds[i]
            assert np.array_equal(one.position, stepper.position)
            assert one.energy() == stepper.energy()
            asked = {"touching": (), "grounded": (), "cast": ((3, 5), (0, -10)), "overlap": ((0, 2), 1.0)}
            for name, given in asked.items():
                assert getattr(one, name)(*given).tobytes() == getattr(stepper, name)(*given).tobytes(), name
            assert np.array_equal(one.record(0, energy=True).energy, stepper.record(0, energy=True).energy)
    assert worlds[1].grounded().all()
    assert worlds[1].cast((3, 5), (0, -10))["point"].tolist() == [3, 2]


def test_current_has_the_numbers_of_the_world(Worlds):
    wind, lift = kd.LinearDrag(1.0, wind=(2.0, 0.0)), kd.Boxes([(-1.0, -2.0)], [(1.0, -1.0)], velocity=(0.0, 0.5))
    worlds = Worlds(kd.Stepper([[0.0, 0.0]], dt=0.5, forces=[wind], constraints=[lift]), 3)
    worlds.set(wind, coefficient=np.array([0.5, 1.0, 2.0]))
    worlds.set(lift, friction=np.array([0.0, 0.25, 0.5]))
    worlds.step(active=np.array([False, False, True]))
    assert [float(worlds[i].current(wind).coefficient) for i in range(3)] == [0.5, 1.0, 2.0]
    assert [float(worlds[i].forces[0].coefficient) for i in range(3)] == [0.5, 1.0, 2.0]
    assert [float(worlds[i].constraints[0].friction) for i in range(3)] == [0.0, 0.25, 0.5]
    assert worlds[0].current(wind).wind.tolist() == [2.0, 0.0]
    assert [float(worlds[i].current(lift).friction) for i in range(3)] == [0.0, 0.25, 0.5]
    assert [worlds[i].current(lift).lower.tolist() for i in range(3)] == [[[-1.0, -2.0]]] * 2 + [[[-1.0, -1.75]]]
    with pytest.raises(ValueError, match="expected"):
        worlds[0].current(kd.LinearDrag(1.0))


def test_energy_has_the_numbers_of_the_world(Worlds):
    spring = kd.AnchorSpring(2.0)
    worlds = Worlds(kd.Stepper([[1.0]], dt=0.5, forces=[spring]), 3)
    worlds.set(spring, stiffness=np.array([2.0, 4.0, 6.0]))
    assert [worlds[i].energy()[1] for i in range(3)] == [1.0, 2.0, 3.0]


def test_spawn_and_kill(Worlds):
    worlds = Worlds(kd.Stepper(np.zeros((3, 2)), dt=0.5, alive=1), 2)
    where = np.array([[False, True, False], [False, True, True]])
    ids = worlds.spawn(where, [1.0, 2.0], velocity=np.ones((2, 3, 2)))
    assert ids.tolist() == [2**32 + 1, 2**32 + 1, 2**32 + 2]
    assert worlds.alive.tolist() == [[True, True, False], [True, True, True]]
    assert (worlds.position[where] == (1.0, 2.0)).all()
    with pytest.raises(ValueError, match="where: expected free rows, got row 1 of world 0"):
        worlds.spawn(where, 0.0)
    with pytest.raises(ValueError, match="position: expected shape"):
        worlds.spawn(~worlds.alive, np.zeros((2, 2)))
    worlds.kill(where)
    worlds.step()
    assert worlds.alive.sum() == 2
    assert (worlds.position[where] == 0).all()
    assert (worlds.ids[where] == -1).all()
    with pytest.raises(TypeError, match=r"mask: expected a mask, bool of shape \(2, 3\)"):
        worlds.kill(np.ones((2, 3)))


@pytest.mark.parametrize("joint", ["alone", "of contacts"])
def test_ropes_break_in_each_world(Worlds, joint):
    """Each world has its own loads and breaks, equal to those of a single stepper, also after resets and copies."""
    rope = kd.Distance([(0, 1)], max_length=1.0, breaks_at=60.0)
    held = [kd.Pin(0), rope] if joint == "alone" else [kd.Pin(0), kd.Contacts(0.1, joints=[rope])]
    place = [[0.0, 0.0], [0.0, -1.0]]
    crate = kd.Stepper(place, mass=5, forces=[kd.Gravity((0, -9.81))], constraints=held, events=kd.Events())
    worlds, start = Worlds(crate, 4), crate.snapshot()
    worlds.velocity[:, 1, 1] = (0.0, -5.0, 0.0, -2.0)
    alone = [copy.copy(crate) for _ in range(4)]
    for stepper, velocity in zip(alone, worlds.velocity, strict=True):
        stepper.velocity[...] = velocity
    for number in range(3):
        worlds.step(3)
        for i, stepper in enumerate(alone):
            stepper.step(3)
            assert np.array_equal(stepper.position, worlds.position[i])
        assert [stepper.checksum() for stepper in alone] == worlds.checksum().tolist()
        if number == 0:
            events = worlds.events.take()
            assert events["world"][events["kind"] == kd.BREAK].tolist() == [1, 3]
            where = np.array([False, True, False, False])
            worlds.restore(start, where)
            worlds.copy(3, 2)
            alone[1].restore(start)
            alone[2].restore(alone[3].snapshot())
    assert not np.array_equal(worlds.position[0], worlds.position[2])


@pytest.mark.parametrize("alive", [1, 0])
def test_shapes_move_in_each_world(Worlds, alive):
    lift = kd.Boxes([(-1.0, -2.0)], [(1.0, -1.0)], velocity=(0.0, 0.5))
    ball = kd.Stepper(
        [[0.0, 0.0]], forces=[kd.Gravity((0, -9.81))], constraints=[kd.Contacts(0.2, shapes=[lift])], alive=alive
    )
    worlds, start, alone = Worlds(ball, 3), ball.snapshot(), [copy.copy(ball) for _ in range(3)]
    active = np.array([True, False, True])
    for _ in range(4):
        worlds.step(7, active=active)
        worlds.restore(start, where=np.array([False, False, True]))
        worlds.step(5)
        for stepper in (alone[0], alone[2]):
            stepper.step(7)
        alone[2].restore(start)
        for stepper in alone:
            stepper.step(5)
        assert [stepper.checksum() for stepper in alone] == worlds.checksum().tolist()
    assert len({*worlds.checksum().tolist()}) == 3
    with pytest.raises(ValueError, match="expected"):
        worlds.set(lift, velocity=np.zeros((3, 2)))


def test_one_world(Worlds):
    worlds = Worlds(discs(), 3)
    world = worlds[-1]
    world.step(2)
    assert worlds.tick.tolist() == [0, 0, 2]
    assert world.tick == 2
    assert np.shares_memory(world.position, worlds.position)
    path = world.record(4, every=2)
    assert path.position.shape == (3, 6, 2)
    assert worlds.tick.tolist() == [0, 0, 6]
    alone = discs()
    alone.step(6)
    assert np.array_equal(alone.position, world.position)
    assert world.checksum() == alone.checksum()
    assert np.array_equal(world.interpolate(), alone.position)
    world.restore(worlds[0].snapshot())
    assert world.tick == 0
    for name in ("set", "add", "dt_", "advance", "_position"):
        with pytest.raises(AttributeError):
            getattr(world, name)


def test_queries_of_one_world(Worlds):
    lift, rope = kd.Boxes([(-1.0, -2.0)], [(1.0, -1.0)], velocity=(0.0, 0.5)), kd.Distance([(0, 1)], 1.0)
    declared = {"forces": [kd.Gravity((0, -9.81))], "constraints": [kd.Contacts(0.2, shapes=[lift]), rope, kd.Pin(0)]}
    alone = kd.Stepper([[0.0, 0.0], [1.0, 0.0]], **declared)
    worlds = Worlds(alone, 3)
    worlds.step(30, active=np.array([False, True, False]))
    worlds.step(40, active=np.array([True, False, True]))
    alone.step(30)
    asked = {
        "touching": (),
        "grounded": (),
        "cast": ((-0.5, 5.0), (0.0, -10.0)),
        "overlap": ((0.5, -1.0), 0.5),
        "interpolate_shapes": (lift,),
        "load": (rope,),
    }
    for name, given in asked.items():
        answer, other = (getattr(world, name)(*given) for world in (worlds[1], worlds[0]))
        assert answer.tobytes() == getattr(alone, name)(*given).tobytes(), name
        assert name in ("touching", "grounded") or answer.tobytes() != other.tobytes(), name


@pytest.mark.parametrize("velocity", [None, (0.0, 0.5)])
def test_shapes_that_move_have_no_places_of_each_world(Worlds, velocity):
    lift = kd.Boxes([(-1.0, -2.0)], [(1.0, -1.0)], friction=0.5, velocity=velocity)
    worlds = Worlds(kd.Stepper([[0.0, 0.0]], constraints=[lift]), 3)
    worlds.set(lift, friction=0.25)
    if velocity is None:
        worlds.set(lift, lower=[(-2.0, -2.0)])
    else:
        with pytest.raises(ValueError, match="shapes that move"):
            worlds.set(lift, lower=[(-2.0, -2.0)])
    worlds.step()


@pytest.mark.parametrize("kind", [kd.ElasticCollisions, kd.Contacts])
def test_resets_by_mask_do_not_grow(isa, kind):
    constraints = [kd.ElasticCollisions(0.5)] if kind is kd.ElasticCollisions else [kd.Contacts(0.7)]
    world = discs(constraints=constraints, events=kd.Events())
    worlds, rng, start = kd.Worlds(world, 16), np.random.default_rng(4), world.snapshot()

    def go(times):
        for _ in range(times):
            worlds.restore(start, where=rng.random(16) < 0.5)
            worlds.step(2)
            worlds.copy(rng.integers(16, size=3), rng.permutation(16)[:3])
            worlds.events.take()

    go(50)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        go(100)
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_no_worlds(Worlds):
    discs_ = Worlds(discs(), 0)
    discs_.step(3)
    assert discs_.position.shape == (0, 6, 2)
    given = Worlds(kd.Stepper([[0.0]]), position=np.zeros((0, 1, 1)))
    given.step()
    assert given.checksum().shape == (0,)


def test_a_view_is_copied_and_listed(Worlds):
    rod, goal = kd.Distance([(0, 1)], 1.0, breaks_at=1000.0), kd.Sensor(lower=(2, -9), upper=(4, 9))
    template = kd.Stepper(
        [[0.0, 0.0], [1.0, 0.0]], [[4.0, 0.0], [4.0, 0.0]], constraints=[rod, goal, kd.Box(-9, 9)], events=kd.Events()
    )
    worlds = Worlds(template, 3)
    worlds.step(200)
    events = worlds.events.take()
    of_goal = worlds.events.where(events, goal)
    assert np.array_equal(of_goal, events["source"] == 1)
    assert 0 < of_goal.sum() < len(events)
    with pytest.raises(TypeError, match="events"):
        worlds.events.where(worlds.position, goal)
    with pytest.raises(ValueError, match="declaration"):
        worlds.events.where(events, kd.Box(0, 1))
    assert worlds[1].whole(rod).tolist() == [True]
    assert {"step", "cast", "position", "mass"} <= {*dir(worlds[0])}
    copy.copy(worlds[1]).step()
    copy.deepcopy(worlds[2]).step()
    assert worlds.tick.tolist() == [200, 201, 200]


def test_a_reset_of_some_worlds_reads_their_snapshots_only(Worlds, monkeypatch):
    """The cost of a reset by a mask is that of the masked worlds, not of all."""
    template = kd.Stepper([[0.5]], [[1.0]], hz=10, constraints=[kd.Box(0, 1)], events=kd.Events())
    worlds, where = Worlds(template, 6), np.array([False, True, False, False, True, True])
    for ticks in (0, 5, 10):
        worlds.step(5, active=np.arange(6) * 5 > ticks)
    whole, ticks, sums = worlds.snapshot(), worlds.tick, worlds.checksum()
    worlds.step(35)
    later, calls, parse = worlds.checksum(), [], snapshots.parse
    monkeypatch.setattr(snapshots, "parse", lambda *given: calls.append(given) or parse(*given))
    worlds.restore(whole, where=where)
    assert len(calls) <= 2 * where.sum()
    assert worlds.tick.tolist() == np.where(where, ticks, ticks + 35).tolist()
    assert worlds.checksum().tolist() == np.where(where, sums, later).tolist()
    events = worlds.events.take()
    last = np.array([events["tick"][events["world"] == i].max(initial=0) for i in range(6)])
    assert (last[where] <= ticks[where]).all()
    assert (last[~where] > ticks[~where]).all()
    assert (last[ticks >= 10] > 0).all()
