"""`world.set(contacts, shapes=...)`: shapes that change under resting bodies."""

import contextlib
import copy

import numpy as np
import pytest
from plans import assert_same_state

import kickdrift as kd
from kickdrift import reference

GRAVITY = kd.Gravity((0.0, -9.81))
FLOOR = kd.Plane((0, 1), 0.0)

both = pytest.mark.parametrize("Stepper", [kd.Stepper, reference.Stepper], ids=["compiled", "reference"])


def bricks(*numbers):
    """Create platforms of width 2 side by side, 1 m above the floor."""
    x = np.array(numbers, float).reshape(-1)
    return kd.Boxes(np.stack([3 * x, 0 * x], axis=1), np.stack([3 * x + 2, 0 * x + 1], axis=1))


def world_on(Stepper, shapes, **how):
    """Create two balls on each of three platforms."""
    x = np.repeat([1.0, 4.0, 7.0], 2)
    position = np.stack([x, [1.5, 2.5] * 3], axis=1)
    contacts = kd.Contacts(0.5, walls=[FLOOR], shapes=shapes)
    return Stepper(position, hz=60, forces=[GRAVITY], constraints=[contacts], **how), contacts


def normal_impulses(world):
    """Return {pair: normal impulse} of the contacts."""
    pair, push, _ = world._impulses.now(world._slots)
    return {tuple(ends): row for ends, row in zip(pair.tolist(), push[:, 0].tolist(), strict=True)}


@both
def test_remaining_shapes_keep_their_impulses(Stepper):
    world, contacts = world_on(Stepper, [bricks(0, 1), bricks(2)])
    world.step(60)
    before, shapes = normal_impulses(world), world.n + 1
    assert set(before) == {(0, 1), (2, 3), (4, 5), (0, shapes), (2, shapes + 1), (4, shapes + 2)}
    world.set(contacts, shapes=[bricks(2), bricks(0)])
    after = normal_impulses(world)
    assert after == {
        **{ends: before[ends] for ends in ((0, 1), (2, 3), (4, 5))},
        (0, shapes + 1): before[0, shapes],
        (4, shapes): before[4, shapes + 2],
    }
    assert [type(one) for one in world.current(contacts).shapes] == [kd.Boxes] * 2
    height = world.position[:, 1].copy()
    world.step(60)
    resting = [0, 1, 4, 5]
    assert np.allclose(world.position[resting, 1], height[resting], atol=1e-5)
    assert np.allclose(world.position[2:4, 1], height[2:4] - 1.0, atol=1e-3)


@both
def test_removing_an_untouched_shape_does_not_affect_resting_bodies(Stepper):
    """A world stays bitwise equal after an untouched shape is removed."""
    worlds = []
    for change in (False, True):
        world, contacts = world_on(Stepper, [bricks(0, 9, 1, 2)])
        world.step(30)
        if change:
            world.set(contacts, shapes=[bricks(0, 1, 2)])
        world.step(30)
        worlds.append(world)
    assert_same_state(worlds[0], worlds[1])


@both
def test_a_lift_carries_the_bodies_on_it(Stepper):
    """A shape that moves in every step keeps its identity by its index."""
    lift = kd.Boxes([(0, 0)], [(9, 1)])
    world, contacts = world_on(Stepper, [lift])
    world.step(30)
    for step in range(60):
        up = 0.001 * (step + 1)
        before = normal_impulses(world)
        world.set(contacts, shapes=[kd.Boxes([(0, up)], [(9, 1 + up)])])
        assert normal_impulses(world) == before
        assert {(0, 7), (2, 7), (4, 7)} <= set(before)
        world.step()
    assert np.allclose(world.position[:, 1], [1.56, 2.56] * 3, atol=0.01)


@both
def test_walls_and_joints_keep_their_impulses(Stepper):
    rod = kd.Distance([(0, 1)], length=1.0)
    contacts = kd.Contacts(0.25, walls=[FLOOR], shapes=[bricks(0)], joints=[rod])
    world = Stepper([[1.0, 2.25], [1.0, 1.25]], hz=60, forces=[GRAVITY], constraints=[contacts])
    world.step(20)
    pull = world._impulses.now(None)[2].copy()
    assert abs(pull).max() > 0
    world.set(contacts, shapes=[])
    assert (world._impulses.now(None)[2] == pull).all()
    assert normal_impulses(world) == {}
    world.step(60)
    assert abs(world.position[1, 1] - 0.25) < 1e-3


@both
def test_touching_reports_the_new_shape_numbers(Stepper):
    world, contacts = world_on(Stepper, [bricks(0, 1, 2)], events=kd.Events())
    world.step(60)
    world.events.take()
    assert world.touching()["slot_b"].tolist() == [-2, 1, -3, 3, -4, 5]
    world.set(contacts, shapes=[bricks(2, 1)])
    assert world.touching()["slot_b"].tolist() == [1, -3, 3, -2, 5]
    world.step()
    told = world.events.take()
    assert told["kind"].tolist() == []  # the end of a contact is reported some steps later
    world.step(40)
    told = world.events.take()
    assert not (told["slot_a"] >= 2).any()
    assert (told["slot_b"][told["kind"] == kd.BEGIN]).tolist()[-1] in (-1, 1)


@both
def test_enabling_contacts_does_not_repeat_sensor_events(Stepper):
    """Enabling Contacts renumbers the walls, but bodies inside a sensor do not enter again."""
    contacts, region = kd.Contacts(0.5, shapes=[bricks(0)]), kd.Sensor((0, 0), (9, 9))
    world = Stepper([[1.0, 5.0]], hz=60, constraints=[contacts, region], events=kd.Events())
    world.enable(contacts, False)
    world.step()
    assert world.events.take()["kind"].tolist() == [kd.ENTER]
    world.enable(contacts)
    world.set(contacts, shapes=[bricks(1), bricks(2)])
    world.step()
    assert world.events.take()["kind"].tolist() == []


@both
def test_set_shapes_are_restored_copied_and_shared_with_other_steppers(Stepper):
    world, contacts = world_on(Stepper, [bricks(0, 1, 2)], events=kd.Events())
    world.step(20)
    first = world.snapshot()
    world.set(contacts, shapes=[bricks(1), kd.Segments([[(6, 1), (8, 1)]], thickness=0.1)])
    world.step(20)
    saved = world.snapshot()
    twin, _ = world_on(Stepper, [bricks(0, 1, 2)], events=kd.Events())
    twin.restore(saved)
    copied = copy.deepcopy(world)
    for each in (world, twin, copied):
        each.step(20)
    assert world.snapshot() == twin.snapshot() == copied.snapshot()
    twin.restore(first)
    assert twin.snapshot() == first
    world.set(contacts, shapes=[bricks(0, 1, 2)])
    assert b"shapes" not in world.snapshot()  # equal to the declaration


@both
def test_shapes_keep_their_impulses_after_a_shift(Stepper):
    """The origin moves by the distance between two platforms: none may be mistaken for its neighbour."""
    world, contacts = world_on(Stepper, [bricks(0, 1, 2)])
    world.step(60)
    before = normal_impulses(world)
    world.shift((3.0, 0.0))
    assert normal_impulses(world) == before
    world.set(contacts, shapes=[bricks(1, 2, 3)])  # the same shapes in shifted coordinates
    assert normal_impulses(world) == before


def test_changing_shapes_equals_the_reference(isa):
    """Kernels and reference are bitwise equal, with spawns and despawns between changes of shapes."""
    twins = []
    for cls in (kd.Stepper, reference.Stepper):
        rng = np.random.default_rng(4)
        position = rng.uniform(0, 6, (20, 2))
        contacts = kd.Contacts(0.3, walls=[FLOOR], shapes=[bricks(0, 1)])
        world = cls(position, hz=60, forces=[GRAVITY], constraints=[contacts], alive=18, events=kd.Events())
        for _ in range(6):
            world.step(5)
            world.kill(world.ids[world.ids >= 0][:1])
            world.spawn(rng.uniform(0, 6, (1, 2)))
            chosen = rng.permutation(4)[: rng.integers(4)]
            shapes = [bricks(*chosen)] + [kd.Segments([[(0, 0.2), (9, 0.5)]])] * int(rng.integers(2))
            with contextlib.suppress(ValueError):  # refused if a platform would move into a body
                world.set(contacts, shapes=shapes)
        world.step(3)
        twins.append((world.snapshot(), repr(world.events.take().tolist()), world.checksum()))
    assert twins[0] == twins[1]


@both
def test_refused_shapes_change_nothing(Stepper):
    world, contacts = world_on(Stepper, [bricks(0, 1, 2)])
    world.step(10)
    saved = world.snapshot()
    for shapes, error, message in [
        ([kd.Box(0, 9)], TypeError, r"Contacts\(shapes\): expected Segments or Boxes"),
        (kd.Boxes([(0, 0)], [(1, 1)]), TypeError, r"Contacts\(shapes\): expected a sequence"),
        ([kd.Boxes([(0, 0, 0)], [(1, 1, 1)])], ValueError, r"Boxes\(lower\): expected shape"),
        ([kd.Boxes([(0, 0)], [(1, 1)], enabled=[True, False])], ValueError, r"Boxes\(enabled\)"),
    ]:
        with pytest.raises(error, match=message):
            world.set(contacts, shapes=shapes)
    with pytest.raises(TypeError, match=r"Contacts\(shapes\): expected one that can be set per body"):
        world.set(contacts, shapes=[bricks(0)], index=[0])
    assert world.snapshot() == saved


@both
def test_a_shape_that_moves_deep_into_a_body_is_refused(Stepper):
    world, contacts = world_on(Stepper, [kd.Boxes([(0, 0)], [(9, 1)])])
    world.step(30)
    before = world.snapshot()
    with pytest.raises(ValueError, match=r"Contacts\(shapes\): .* by a radius into a body at most.* into body 0"):
        world.set(contacts, shapes=[kd.Boxes([(0, 0.6)], [(9, 1.6)])])
    assert world.snapshot() == before
    world.set(contacts, shapes=[kd.Boxes([(0, 0.4)], [(9, 1.4)])])
    world.set(contacts, shapes=[kd.Boxes([(0, -5)], [(9, -4)])])  # away from them
    world.set(contacts, shapes=[kd.Boxes([(20, 0)], [(29, 9)])])


@pytest.mark.parametrize("segments", [False, True])
@pytest.mark.parametrize("share", [1 / 32, 1 / 16, 1 / 4])
def test_a_rising_platform_carries_the_body_or_is_refused(segments, share):
    """The platform never passes through the body; `share` is its displacement per step as a fraction of the radius."""

    def platform(y):
        return kd.Segments([[(-9, y), (9, y)]]) if segments else kd.Boxes([(-9, y - 3)], [(9, y)])

    contacts = kd.Contacts(0.5, shapes=[platform(0)])
    world = kd.Stepper([[0.0, 0.5]], hz=60, forces=[GRAVITY], constraints=[contacts])
    refused = False
    for tick in range(1, 200):
        try:
            world.set(contacts, shapes=[platform(0.5 * share * tick)])
        except ValueError:
            refused = True
            break
        world.step()
    assert refused == (share > 0.1)
    if not refused:
        assert world.position[0, 1] - 0.5 * share * tick > 0.45


@pytest.mark.parametrize("change", ["enable", "remove"])
def test_shapes_of_contacts_are_no_constraint_of_their_own(change):
    """Regression: the message claimed that `ledge` was another object than the one declared."""
    ledge = kd.Boxes([(0, 0)], [(1, 1)])
    world = kd.Stepper([[5.0, 5.0]], constraints=[kd.Contacts(0.5, shapes=[ledge])])
    with pytest.raises(ValueError, match=r"got Boxes of Contacts: set\(shapes, enabled=False\) disables them"):
        getattr(world, change)(ledge)
    world.set(ledge, enabled=False)
    assert not world.current(ledge).enabled.any()


@pytest.mark.parametrize("Stepper", [kd.Stepper, kd.reference.Stepper])
def test_shapes_that_are_given_again_stay_where_they_are(Stepper):
    """Shapes given again keep their current places, after a shift or a set; handles hold only the initial places."""
    lift, ground = kd.Boxes([(0, 0)], [(4, 1)], velocity=(0, 1.0)), kd.Boxes([(50, 0)], [(54, 1)])
    contacts = kd.Contacts(0.5, shapes=[lift, ground])
    world = Stepper([[99.0, 99.0]], hz=60, constraints=[contacts])
    world.shift((10.0, 0.0))
    world.set(ground, lower=[(20, 5)], upper=[(24, 6)])
    world.step(60)
    world.set(contacts, shapes=[ground, lift])
    assert world.current(ground).lower.tolist() == [[20, 5]]
    np.testing.assert_allclose(world.current(lift).lower, [[10, 1]], atol=1e-12)
    world.set(lift, lower=[(30, 7)], upper=[(34, 8)])
    world.set(contacts, shapes=[lift])
    world.step(30)
    np.testing.assert_allclose(world.current(lift).lower, [[30, 7.5]], atol=1e-12)
