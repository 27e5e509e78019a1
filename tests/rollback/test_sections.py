"""Sections of snapshots: data of parts other than the state."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from forge import forge

import kickdrift as kd
from kickdrift.rollback.parts import Part

HEAD = struct.Struct("<16sQ")


class Mood(Part):
    """A part with one number; absent while the number is 0."""

    name = "mood"

    def save(self, stepper):
        return struct.pack("<H", stepper.mood) if stepper.mood else b""

    def most(self, stepper):
        return 2

    def parse(self, stepper, data):
        if data and (len(data) != 2 or data == b"\0\0"):
            raise kd.SnapshotError("snapshot: expected a mood")
        return {"attributes": {"mood": struct.unpack("<H", data)[0] if data else 0}}


class Trace(Part):
    """A part with an array that is always saved."""

    name = "trace"

    def save(self, stepper):
        return stepper.trace.astype("<f8").tobytes()

    def most(self, stepper):
        return stepper.trace.nbytes

    def parse(self, stepper, data):
        if len(data) != stepper.trace.nbytes:
            raise kd.SnapshotError(f"snapshot: expected {stepper.trace.nbytes} bytes, got {len(data)}")
        return {"writes": [(stepper.trace, None, np.frombuffer(data, "<f8").reshape(stepper.trace.shape))]}


def make(cls, dtype=np.float64):
    stepper = cls(np.ones((3, 2), dtype), dt=0.5)
    stepper.mood, stepper.trace = 0, np.zeros((2, 1))
    stepper._parts = (Mood(), Trace())
    return stepper


def sections(*named):
    return b"".join(HEAD.pack(name, len(data)) + data + bytes(-len(data) % 8) for name, data in named)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_are_saved_restored_and_included_in_checksums(Stepper, dtype):
    world = make(Stepper, dtype)
    plain = Stepper(np.ones((3, 2), dtype), dt=0.5)
    start, first = world.snapshot(), world.checksum()
    assert first != plain.checksum()
    world.mood, world.trace[:] = 7, 2.0
    assert world.checksum() != first
    saved = world.snapshot()
    assert len(saved) == len(start) + 32
    assert saved.startswith(b"kdsnap\0\2")
    world.restore(start)
    assert (world.mood, world.trace.tolist(), world.checksum()) == (0, [[0.0], [0.0]], first)
    world.restore(saved)
    assert (world.mood, world.trace.tolist()) == (7, [[2.0], [2.0]])
    assert world.snapshot() == saved
    assert saved == forge(saved, arrays=[np.ones((3, 2), dtype), np.zeros((3, 2), dtype)], sections=saved[-72:])


def test_implementations_have_equal_sections(isa):
    worlds = make(kd.Stepper), make(kd.reference.Stepper)
    for world in worlds:
        world.mood = 3
    assert worlds[0].snapshot() == worlds[1].snapshot()


def test_forged_sections_are_refused_without_a_change(Stepper):
    world = make(Stepper)
    mood, trace = (b"mood", b"\5\0"), (b"trace", np.ones(2).tobytes())
    state = [np.ones((3, 2)), np.zeros((3, 2))]
    before = world.snapshot()
    world.restore(forge(before, arrays=state, sections=sections(mood, trace)))
    assert world.mood == 5
    before = world.snapshot()
    bad = [
        sections(trace, mood),
        sections(mood, mood, trace),
        sections(mood, trace, trace),
        sections(mood),
        sections((b"mood", b""), trace),
        sections((b"mood", b"\0\0"), trace),
        sections((b"mood", b"\5\0\0"), trace),
        sections((b"Mood", b"\5\0"), trace),
        sections((b"", b"\5\0"), trace),
        sections((b"\xff" * 16, b"\5\0"), trace),
        sections(mood, (b"trace", bytes(8))),
        sections(mood, (b"trace", bytes(24))),
        sections(mood, trace, (b"more", b"1")),
        sections(mood, trace)[:-8],
        sections(mood, trace) + bytes(8),
        sections(mood, trace) + bytes(24),
        sections(mood, trace)[:24] + b"\5\0\1\0\0\0\0\0" + sections(trace),
        HEAD.pack(b"mood", 2**64 - 1) + bytes(8),
        HEAD.pack(b"mood", 2**63) + bytes(8),
        HEAD.pack(b"mood", 9) + bytes(8),
        b"",
    ]
    for forged in bad:
        with pytest.raises(kd.SnapshotError, match="snapshot: "):
            world.restore(forge(before, arrays=state, sections=forged))
        assert world.snapshot() == before
    for size in range(len(before) - 70, len(before)):
        with pytest.raises(kd.SnapshotError):
            world.restore(before[:size])
    assert world.snapshot() == before


def test_snapshots_of_other_versions_are_refused(Stepper, ODEStepper):
    for stepper in (Stepper([[0.0]]), ODEStepper([[1.0, 1.0, 1.0]], kd.flows.Lorenz(), dt=0.01)):
        saved = stepper.snapshot()
        for version in (0, 1, 3, 255):
            with pytest.raises(kd.SnapshotError, match=f"version 2, got one of version {version}"):
                stepper.restore(saved[:7] + bytes([version]) + saved[8:])


# Impulses of contacts.


def heap(cls):
    return cls(
        [[0.0, 0.5], [0.1, 1.4], [0.0, 2.3]],
        forces=[kd.Gravity((0, -9.81))],
        constraints=[kd.Contacts(0.5, walls=[kd.Plane((0, 1), 0.0)], joints=[kd.Distance([(0, 1)])])],
    )


@pytest.mark.parametrize("cls", [kd.Stepper, kd.reference.Stepper])
def test_forged_impulses_are_refused(cls):
    world = heap(cls)
    assert b"contacts" not in world.snapshot()  # absent before the first step
    world.step(9)
    part = next(part for part in world._parts if part.name == "contacts")
    data = part.save(world)
    count = struct.unpack_from("<q", data)[0]
    assert count > 1
    assert len(data) <= part.most(world)
    pairs = np.frombuffer(data, "<i4", 2 * count, 8).reshape(count, 2)
    numbers = np.frombuffer(data, "<f8", offset=8 + 8 * count)

    def forged(new_pairs=pairs, new_numbers=numbers, new_count=count):
        return struct.pack("<q", new_count) + new_pairs.astype("<i4").tobytes() + new_numbers.tobytes()

    def restored(data):
        changes = {"later": [], **part.parse(world, data)}
        part.check(world, SimpleNamespace(changes=changes))
        (writes,) = changes["later"]
        return writes({})

    assert forged() == data
    assert len(restored(data)) == len(restored(b"")) == 4
    wrong = [data[:-1], data + b"\0", data[:4], forged(new_count=count - 1), forged(new_count=-1)]
    wrong += [forged(new_count=2**62), forged(pairs[::-1]), forged(pairs[:, ::-1]), forged(pairs * 100)]
    for place, value in ((0, np.nan), (0, 0.0), (0, -1.0), (1, np.inf), (1, -0.0), (-1, np.nan)):
        changed = numbers.copy()
        changed[place] = value
        wrong.append(forged(new_numbers=changed))
    wrong.append(struct.pack("<q", 0) + bytes(8))
    for forgery in wrong:
        with pytest.raises(kd.SnapshotError):
            restored(forgery)


@pytest.mark.parametrize("cls", [kd.Stepper, kd.reference.Stepper])
def test_forged_impulses_of_dead_bodies_are_refused(cls):
    world = heap(cls)
    world.step(9)
    parts = {part.name: part for part in world._parts}
    before = parts["contacts"].save(world)
    world.kill(1)
    saved, now = world.snapshot(), parts["contacts"].save(world)
    assert 8 < len(now) < len(before)
    assert now.endswith(bytes(8))  # zeros for the joint of the dead body

    def forged(contacts):
        named = (b"slots", parts["slots"].save(world)), (b"contacts", contacts)
        return forge(saved, arrays=[np.array(array) for array in world._arrays()], sections=sections(*named))

    assert forged(now) == saved
    for other in (before, now[:-8] + struct.pack("<d", 2.2e-308)):
        for stepper in (world, heap(cls)):
            with pytest.raises(kd.SnapshotError, match="contacts and joints of active bodies"):
                stepper.restore(forged(other))
    assert world.snapshot() == saved


@pytest.mark.parametrize("cls", [kd.Stepper, kd.reference.Stepper])
def test_forged_places_of_shapes_are_refused(cls):
    lift = kd.Boxes([(0, 0)], [(1, 1)], velocity=(0, 3))
    world = cls([[0.0, 5.0]], constraints=[lift])
    assert b"shapes" not in world.snapshot()  # as declared
    world.step(9)
    part = next(part for part in world._parts if part.name == "shapes")
    data = part.save(world)
    assert len(data) == 6 * 8 <= part.most(world)
    numbers = np.frombuffer(data, "<f8")

    def restored(data):
        changes = {"later": [], **part.parse(world, data)}
        part.check(world, SimpleNamespace(changes=changes))
        (writes,) = changes["later"]
        return writes({})

    assert len(restored(data)) == len(restored(b"")) == 1
    wrong = [data[:-1], data + bytes(8), data * 2, np.array([0, 0, 0, 0, 3, 0.0]).tobytes()]
    for place, value in ((0, np.nan), (1, np.inf), (2, -0.0), (-1, -np.inf)):
        changed = numbers.copy()
        changed[place] = value
        wrong.append(changed.tobytes())
    for forgery in wrong:
        with pytest.raises(kd.SnapshotError):
            restored(forgery)
    saved = SimpleNamespace(changes={"later": [], "motion": data})
    part.check(cls([[0.0, 5.0]]), saved)
    with pytest.raises(kd.SnapshotError, match="expected no shapes that move"):
        saved.changes["later"][0]({})
