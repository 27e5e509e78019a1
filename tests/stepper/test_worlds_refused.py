"""Refused calls of Worlds change no coefficient, and name the mistake; copies of worlds include loads of joints."""

import numpy as np
import pytest

import kickdrift as kd


@pytest.mark.parametrize("kind", ["collisions", "contacts"])
def test_a_refused_set_leaves_numbers_that_were_set_before(isa, kind):
    """Radii that only some worlds would accept are set in no world, neither for steps nor for queries."""

    def made(refused):
        if kind == "collisions":
            held = kd.ElasticCollisions([0.5, 0.5, 0.5], friction=[0.1, 0.2, 0.3])
        else:
            held = kd.Contacts([0.5, 0.5, 0.5], friction=[0.1, 0.2, 0.3])
        x, v = [[0.0, 0.0], [1.03, 0.0], [5.0, 5.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
        worlds = kd.Worlds(kd.Stepper(x, v, dt=0.01, constraints=[held]), 2)
        worlds.set(held, friction=np.array([0.1, 0.2]))
        if refused:
            message = (
                rf"^{type(held).__name__}\(friction, radius\): .* those of world 1 need other pairs, shapes or steps"
            )
            with pytest.raises(ValueError, match=message):
                worlds.set(held, friction=0.3, radius=np.array([[0.6, 0.5, 0.6], [0.6, 0.4, 0.5]]))
        return worlds

    worlds, others = made(True), made(False)
    for _ in range(3):
        assert [worlds[i].touching().tobytes() for i in range(2)] == [others[i].touching().tobytes() for i in range(2)]
        worlds.step(2)
        others.step(2)
        assert np.array_equal(worlds.velocity, others.velocity)
        assert (worlds.checksum() == others.checksum()).all()


def test_numbers_that_are_objects_are_refused(Worlds):
    """Only None itself measures rest lengths; an array of None is refused."""
    spring = kd.Springs([(0, 1)], 2.0, rest_length=1.0)
    worlds = Worlds(kd.Stepper([[0.0], [3.0]], forces=[spring]), 2)
    with pytest.raises(TypeError, match="rest_length: expected numbers, got an array of objects"):
        worlds.set(spring, rest_length=np.array([None, None]))
    assert worlds[0].current(spring).rest_length == 1
    worlds.set(spring, rest_length=None)
    assert worlds[1].current(spring).rest_length == 3


def test_speeds_of_shapes_come_with_a_snapshot_of_the_template(Worlds):
    lift = kd.Boxes([(0, 0)], [(4, 1)], velocity=(0, 1))
    world = kd.Stepper([[2.0, 9.0]], hz=60, constraints=[lift])
    worlds = Worlds(world, 3)
    with pytest.raises(ValueError, match=r"^Boxes\(velocity\): .*set them in the template, and restore its snapshot"):
        worlds.set(lift, velocity=np.array([(0, 1), (0, 2), (0, 3)]))
    with pytest.raises(AttributeError, match=r"`Worlds\.set` takes a number for each world"):
        worlds[0].set(lift, velocity=(0, 2))
    world.set(lift, velocity=(0, 2))
    worlds.restore(world.snapshot(), where=np.arange(3) == 1)
    worlds.step(30)
    assert [round(worlds[i].current(lift).lower[0, 1], 9) for i in range(3)] == [0.5, 1.0, 0.5]


def test_arrays_of_worlds_are_changed_in_place_and_not_replaced(Worlds):
    worlds = Worlds(kd.Stepper([[0.0, 1.0]], [[1.0, 2.0]], hz=60), 3)
    worlds.position += 1
    worlds.velocity *= 2
    one = worlds[1]
    one.velocity += (5, 0)
    assert worlds.position.tolist() == [[[1, 2]]] * 3
    assert worlds.velocity.tolist() == [[[2, 4]], [[7, 4]], [[2, 4]]]
    for target in (worlds, one):
        with pytest.raises(AttributeError, match="velocity: expected to be changed in place"):
            target.velocity = worlds.velocity[2]
    with pytest.raises(AttributeError, match="angle: expected none in this world"):
        worlds.angle = 1.0


def test_parts_of_contacts_are_refused_by_name(Worlds):
    lift, rod = kd.Boxes([(-1, -1)], [(1, 0)]), kd.Distance([(0, 1)])
    contacts = kd.Contacts(0.2, shapes=[lift], joints=[rod])
    worlds = Worlds(kd.Stepper([[0.0, 1.0], [0.0, 2.0]], constraints=[contacts]), 2)
    for part, given in ((lift, {"friction": np.array([0.1, 0.2])}), (rod, {"length": np.array([1.0, 2.0])})):
        name = type(part).__name__
        with pytest.raises(ValueError, match=f"declaration: expected a force or .*, got {name} in its Contacts"):
            worlds.set(part, **given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("region", ["box", "ball"])
def test_each_world_has_a_goal_of_its_own(Worlds, region, dtype):
    """Sensor regions may differ between worlds, even while a body is inside, as in steppers built with each region."""
    if region == "box":
        goal, other = kd.Sensor((2.0, -1.0), (3.0, 1.0)), kd.Sensor((9.0, -1.0), (9.5, 1.0), category=[1, 2], mask=2)
        places = {"lower": np.array([(2.0, -1.0), (0.5, -1.0)]), "upper": np.array([(2.6, 1.0), (0.8, 1.0)])}
        later = {"lower": np.array([(1.0, -1.0), (5.0, -1.0)]), "upper": np.array([(4.0, 1.0), (6.0, 1.0)])}
    else:
        goal, other = kd.Sensor((2.5, 0.0), 0.5), kd.Sensor((9.0, 0.0), 0.5, category=[1, 2], mask=2)
        places = {"center": np.array([(2.5, 0.2), (0.5, 0.0)]), "radius": np.array([0.4, 0.2])}
        later = {"center": np.array([(2.5, 0.2), (0.5, 0.0)]), "radius": np.array([1.5, 0.2])}

    def made():
        x, v = np.array([[0.0, 0.0], [-1.0, 0.0]], dtype), np.array([[4.0, 0.0], [5.0, 0.0]], dtype)
        return kd.Stepper(x, v, hz=60, constraints=[goal, other], events=kd.Events())

    worlds, alone = Worlds(made(), 2), [made() for _ in range(2)]
    for changes, steps in ((places, 37), (later, 60)):
        worlds.set(goal, **changes)
        worlds.set(other, mask=np.array([1, 3]))
        worlds.step(steps)
        for i, world in enumerate(alone):
            world.set(goal, **{name: values[i] for name, values in changes.items()})
            world.set(other, mask=[1, 3][i])
            world.step(steps)
    events = worlds.events.take()
    for i, world in enumerate(alone):
        taken = world.events.take()
        mine = events[events["world"] == i]
        assert {kd.ENTER, kd.LEAVE} <= set(taken["kind"])
        assert (
            mine[["tick", "time", "kind", "source", "a"]].tolist()
            == taken[["tick", "time", "kind", "source", "a"]].tolist()
        )


@pytest.mark.parametrize("breaks_at", [None, np.inf])
@pytest.mark.parametrize("joint", ["alone", "of contacts"])
def test_copies_have_the_loads(Worlds, joint, breaks_at):
    """A crate hangs in one world and falls in another: copies of worlds include their loads, the weight and 0."""
    rope = kd.Distance([(0, 1)], max_length=1.0, breaks_at=breaks_at)
    held = [kd.Pin(0), rope] if joint == "alone" else [kd.Pin(0), kd.Contacts(0.1, joints=[rope])]
    crate = kd.Stepper([[0.0, 0.0], [0.0, -1.0]], mass=10, forces=[kd.Gravity((0, -9.81))], constraints=held)
    worlds = Worlds(crate, 3)
    worlds.position[1, 1] = (0.0, -0.5)
    worlds.step(10)
    weight, none = worlds[0].load(rope), worlds[1].load(rope)
    assert abs(weight - 98.1) < 0.1
    assert none == 0
    worlds.copy([0, 1], [1, 2])
    assert [float(worlds[i].load(rope)[0]) for i in range(3)] == [*weight, *weight, *none]


def test_other_objects_are_refused_as_those_of_a_stepper():
    worlds = kd.Worlds(kd.Stepper([[0.0]], [[1.0]]), 2)
    for wrong in (None, 3, "snapshot", [1]):
        for restore in (worlds.restore, worlds[1].restore):
            with pytest.raises(kd.SnapshotError, match=r"^snapshot: expected bytes from snapshot"):
                restore(wrong)
    with pytest.raises(TypeError, match=r"^declaration: expected a force or constraint"):
        worlds[1].current([1])
    with pytest.raises(TypeError, match=r"^declaration: expected a force or constraint"):
        worlds.set([1], radius=1.0)
    with pytest.raises(ValueError, match=r"^worlds: expected an int of at most"):
        kd.Worlds(kd.Stepper([[0.0]]), 2**63)


def test_arrays_of_applied_forces(Worlds):
    """An array in memory of the state would change within a step; that of a disabled force would never be read."""
    push, idle = kd.AppliedForce(np.zeros((2, 2))), kd.AppliedForce(np.zeros((2, 2)))
    world = kd.Stepper([[0.0, 0.0], [1.0, 2.0]], hz=60, forces=[push, idle], state={"own": np.zeros((2, 2))})
    world.enable(idle, False)
    worlds = Worlds(world, 3)
    for array in (worlds.velocity, worlds.position, worlds.state["own"]):
        with pytest.raises(ValueError, match="shares memory with the state, expected its own array"):
            worlds.set(push, force=array)
    with pytest.raises(ValueError, match="force: expected an enabled AppliedForce, the template disabled it"):
        worlds.set(idle, force=np.ones((3, 2, 2)))
    force = np.ones((3, 2, 2))
    worlds.set(push, force=force)
    worlds.step()
    assert worlds.velocity.ravel().tolist() == [1 / 60] * 12


def test_worlds_are_made_once(Worlds):
    worlds = Worlds(kd.Stepper([[0.0]], [[1.0]], dt=0.5), 2)
    with pytest.raises(RuntimeError, match="worlds are made once"):
        worlds.__init__(kd.Stepper([[0.0]]), 2)
    worlds.step()
    assert worlds.position.ravel().tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["stiffness", "iterations"])
def test_a_refused_set_leaves_all_worlds_as_they_were(name):
    """World 0 has taken its number when another world refuses its own."""
    rod = kd.Distance([(0, 1)], 1.0)
    one = kd.Stepper([[0.0, 0.0], [0.0, -1.2]], dt=0.01, forces=[kd.Gravity((0.0, -9.8))], constraints=[kd.Pin(0), rod])
    many, other = kd.Worlds(one, 3), kd.Worlds(one, 3)
    with pytest.raises((TypeError, ValueError), match="Distance"):
        many.set(rod, **{name: np.array([0.5, 0.75, 1.0]) if name == "stiffness" else np.array([4, 5, 6])})
    for world in (many, other):
        world.step(3)
    assert many.position.tobytes() == other.position.tobytes()
    many.set(rod, length=np.array([1.0, 1.1, 1.2]))
    many.step(200)
    assert np.linalg.norm(many.position[:, 1], axis=1) == pytest.approx([1.0, 1.1, 1.2])
