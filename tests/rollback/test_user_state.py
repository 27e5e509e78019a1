"""User arrays (state=): saved, restored in place, included in checksums and copied with the world."""

import copy
import pickle

import numpy as np
import pytest
from forge import forge

import kickdrift as kd

DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]


def layouts():
    """Yield arrays of every dtype with various shapes and strides."""
    rng = np.random.default_rng(0)
    for number, dtype in enumerate(DTYPES):
        for shape in [(), (5,), (0,), (3, 2), (2, 3, 4), (1, 1)]:
            array = np.zeros(shape, dtype)
            array[...] = rng.integers(0, 2, shape)
            yield f"{dtype}{shape}", array
        wide = rng.integers(0, 2, (8, 6)).astype(dtype)
        yield f"{dtype} columns {number}", np.asfortranarray(wide)
        yield f"{dtype} strided", wide[::2, 1::3]
        yield f"{dtype} back", rng.integers(0, 2, (4, 3, 2)).astype(dtype)[::-1, :, ::-1]


def make(cls, **state):
    return cls(np.ones((2, 2)), np.ones((2, 2)), dt=0.5, state=state)


def test_arrays_of_all_layouts_are_restored_in_place(Stepper):
    arrays = dict(layouts())
    world = make(Stepper, **arrays)
    assert list(world.state) == list(arrays)
    assert all(world.state[name] is array for name, array in arrays.items())
    before = {name: array.copy() for name, array in arrays.items()}
    saved, checksum = world.snapshot(), world.checksum()
    for array in arrays.values():
        array[...] = 1 - array.real.astype(np.int8)
    world.step(2)
    assert world.checksum() != checksum
    world.restore(saved)
    for name, array in arrays.items():
        assert array.tobytes() == before[name].tobytes(), name
    assert (world.snapshot(), world.checksum(), world.tick) == (saved, checksum, 0)


def test_implementations_agree_for_any_order_of_names(isa):
    arrays = dict(layouts())
    worlds = [make(kd.Stepper, **arrays), make(kd.reference.Stepper, **dict(reversed(arrays.items())))]
    assert worlds[0].snapshot() == worlds[1].snapshot()
    assert worlds[0].checksum() == worlds[1].checksum()


def test_ode_steppers_have_user_state(ODEStepper):
    steps = np.zeros(1, np.int64)
    weather = ODEStepper(np.ones((2, 3)), kd.flows.Lorenz(), dt=0.01, state={"steps": steps})
    saved = weather.snapshot()
    steps[0] = 5
    changed = weather.checksum()
    twin = copy.deepcopy(weather)
    assert twin.checksum() == changed
    weather.restore(saved)
    assert (steps[0], twin.state["steps"][0]) == (0, 5)
    with pytest.raises(kd.SnapshotError, match="state"):
        ODEStepper(np.ones((2, 3)), kd.flows.Lorenz(), dt=0.01).restore(saved)


def test_copies_own_copies_of_the_arrays(Stepper):
    ammo = np.arange(3)
    world = make(Stepper, ammo=ammo)
    for twin in (copy.copy(world), copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        assert twin.snapshot() == world.snapshot()
        twin.state["ammo"][0] = 9
        assert ammo[0] == 0
    with pytest.raises(
        TypeError, match=r"state\['ammo'\]: expected to be changed in place, as in state\['ammo'\]\[:\] = "
    ):
        world.state["ammo"] = ammo.copy()
    with pytest.raises(TypeError, match=r"state\['score'\]: expected none in this world, got 0"):
        world.state["score"] = 0


def test_arrays_are_changed_in_place(Stepper):
    """`world.state["ammo"] -= 1` changes the array, and then assigns it: an error would come after the change."""
    ammo = np.arange(3)
    world = make(Stepper, ammo=ammo)
    world.state["ammo"] -= 1
    assert world.state["ammo"] is ammo
    assert ammo.tolist() == [-1, 0, 1]
    worlds = (kd.Worlds if Stepper is kd.Stepper else kd.reference.Worlds)(world, 2)
    worlds.state["ammo"] *= 2
    worlds[1].state["ammo"] += 7
    assert worlds.state["ammo"].tolist() == [[-2, 0, 2], [5, 7, 9]]
    with pytest.raises(TypeError, match="changed in place"):
        worlds[1].state["ammo"] = ammo


def test_state_defaults_to_an_empty_mapping(Stepper):
    world, other = Stepper([[0.0]]), Stepper([[0.0]], state={})
    assert dict(world.state) == dict(other.state) == {}
    assert world.snapshot() == other.snapshot()


def test_invalid_state_is_refused(Stepper):
    position = np.zeros((4, 2))
    shared = np.zeros(4)
    bad = [
        ([1, 2], TypeError, "expected a dict"),
        ({1: np.zeros(2)}, TypeError, "names that are strings"),
        ({"a": [1, 2]}, TypeError, r"state\['a'\]: expected a NumPy array"),
        ({"a": np.random.default_rng(0)}, TypeError, "expected a NumPy array"),
        ({"a": np.array([None])}, TypeError, "got object"),
        ({"a": np.array(["x"])}, TypeError, "expected bool"),
        ({"a": np.zeros(2, "M8[s]")}, TypeError, "expected bool"),
        ({"a": np.zeros(2, np.longdouble)}, TypeError, "expected bool"),
        ({"a": np.zeros(2, np.dtype("f8").newbyteorder())}, TypeError, "native byte order"),
        ({"a": np.zeros(2, "f4,f4")}, TypeError, "expected bool"),
        ({"a": np.ma.zeros(2)}, TypeError, "mask"),
        ({"a": np.broadcast_to(1.0, 3)}, ValueError, "writable"),
        ({"a": np.lib.stride_tricks.as_strided(np.zeros(4), (3, 2), (8, 8))}, ValueError, "overlapping"),
        ({"a": position[:1]}, ValueError, "shares memory with position"),
        ({"a": shared, "b": shared[::2]}, ValueError, "shares memory with a"),
    ]
    for state, error, message in bad:
        with pytest.raises(error, match=message):
            Stepper(position, state=state)
    Stepper(position, state={"even": shared[::2], "odd": shared[1::2]})


def test_forged_sections_are_refused(Stepper):
    world = make(Stepper, flag=np.array([True, False]), score=np.array([7], np.int64))
    saved = world.snapshot()
    place = saved.index(b"state\0")
    size = int.from_bytes(saved[place + 16 : place + 24], "little")
    text = saved[place + 24 : place + 24 + size - 10]
    contents = saved[place + 24 + size - 10 : place + 24 + size]
    assert contents == b"\1\0" + (7).to_bytes(8, "little")
    arrays = [np.ones((2, 2)), np.ones((2, 2))]

    def section(data):
        return b"state".ljust(16, b"\0") + len(data).to_bytes(8, "little") + data + bytes(-len(data) % 8)

    assert forge(saved, arrays=arrays, sections=section(text + contents)) == saved
    forgeries = [b"\2\0" + contents[2:], contents[:-1], contents + b"\0", b""]
    forgeries = [text + data for data in forgeries]
    forgeries += [text.replace(b"score", b"Score") + contents, text.replace(b"[1]", b"[2]") + contents, contents]
    for data in forgeries:
        with pytest.raises(kd.SnapshotError, match="snapshot: "):
            world.restore(forge(saved, arrays=arrays, sections=section(data)))
        assert world.snapshot() == saved
    with pytest.raises(kd.SnapshotError, match="in state="):
        world.restore(forge(saved, arrays=arrays))
    with pytest.raises(kd.SnapshotError, match="state"):
        make(Stepper, flag=np.array([True, False])).restore(saved)


def test_sync_test_covers_user_state(Stepper):
    """User state here is ammunition, and the seed of a random generator."""
    ammo, seed = np.array([5]), np.array([3], np.uint64)
    world = make(Stepper, ammo=ammo, seed=seed)

    def play(world, tick):
        shots = np.random.default_rng(seed[0])
        seed[0] += np.uint64(1)
        if shots.random() < 0.5 and ammo[0] > 0:
            ammo[0] -= 1
            world.velocity[0] += 1.0

    kd.sync_test(world, frames=12, inputs=play)
    assert ammo[0] < 5
    forgetful, ammo = make(Stepper), np.array([5])
    with pytest.raises(kd.DesyncError):
        kd.sync_test(forgetful, frames=12, inputs=play)
