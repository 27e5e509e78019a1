"""Snapshots of header and arrays are made and read in one go: as all others are, byte for byte."""

import zlib

import numpy as np
import plans
import pytest

import kickdrift as kd
from kickdrift.rollback import snapshots


@pytest.mark.parametrize("layout", plans.LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("integrator", ["velocity_verlet", "verlet", "groot_warren", "alternate"])
def test_it_is_what_the_longer_way_gives(isa, integrator, dtype, layout, monkeypatch):
    scheme = kd.SemiImplicitEuler("alternate") if integrator == "alternate" else integrator
    rng = np.random.default_rng(4)
    for n, dim in ((0, 2), (1, 1), (5, 3), (200, 2)):
        start = [plans.lay_out(rng.normal(size=(n, dim)).astype(dtype), layout) for _ in range(2)]
        one = kd.Stepper(*start, clock=kd.FixedClock(50), integrator=scheme, forces=[kd.Gravity(np.ones(dim))])
        for change in ("alpha", "advance", "shift", "restart"):
            given = {"advance": (0.05,), "shift": (np.ones(dim),)}.get(change, ())
            if change != "alpha":
                getattr(one, change)(*given)
            saved = one._snapshot_alone()
            assert saved == one.snapshot()
            with monkeypatch.context() as patch:
                patch.setattr(kd.Stepper, "_snapshot_alone", lambda self: None)
                assert one.snapshot() == saved
        one.step(3)
        after = one.snapshot()
        one.restore(saved)
        assert one._restored_alone(saved, True)
        assert one.snapshot() == saved
        one.step(3)
        with monkeypatch.context() as patch:
            patch.setattr(kd.Stepper, "_restored_alone", lambda *given: False)
            one.restore(after)
            assert one.snapshot() == after
            one.restore(saved)
        assert one.snapshot() == saved


def test_what_has_more_to_say_or_was_changed_takes_the_longer_way():
    gravity = kd.Gravity((0.0, -9.81))
    world = kd.Stepper(np.zeros((3, 2)), forces=[gravity])
    plain = world._snapshot_alone()
    assert plain is not None
    for change, back in (
        (lambda: world.set(gravity, acceleration=(0.0, 1.0)), lambda: world.set(gravity, acceleration=(0.0, -9.81))),
        (lambda: world.enable(gravity, False), lambda: world.enable(gravity)),
        (lambda: world.set_mass(3.0), lambda: world.set_mass(1.0)),
    ):
        change()
        assert world._snapshot_alone() is None
        assert not world._restored_alone(plain, True)
        assert world.snapshot() != plain
        back()
        assert world._snapshot_alone() == plain
    world.set_mass(2.0)
    world.restore(plain)
    assert world.mass == 1.0
    assert world.ids.tolist() == [2**32 | row for row in range(3)]
    for more in ({"alive": 2}, {"events": kd.Events()}, {"state": {"score": np.zeros(1)}}):
        assert kd.Stepper(np.zeros((3, 2)), **more)._snapshot_alone() is None
    contacts = kd.Stepper(np.zeros((3, 2)), constraints=[kd.Contacts(1.0)])
    applied = kd.Stepper(np.zeros((3, 2)), forces=[kd.AppliedForce(np.zeros((3, 2)))])
    assert contacts._snapshot_alone() is applied._snapshot_alone() is None


@pytest.mark.parametrize("place", range(112))
def test_a_forged_one_is_left_to_the_longer_way(place):
    """Each byte of the header and of the text, with the right check of the header; and of the arrays."""
    world = kd.Stepper(np.ones((2, 2)), dt=0.5, integrator="verlet")
    world.step()
    saved = bytearray(world.snapshot())
    length = int.from_bytes(saved[8:12], "little")
    before = world.snapshot()
    places = {place, length + place, length - 1 - place} if place >= 16 else {place}
    for each in places & set(range(len(saved))):
        for bit in (1, 128):
            forged = bytearray(saved)
            forged[each] ^= bit
            if each >= 16:
                forged[12:16] = zlib.crc32(bytes(forged[16:length])).to_bytes(4, "little")
            try:
                snapshots.parse(world, bytes(forged))
            except kd.SnapshotError:
                assert not world._restored_alone(bytes(forged), True)
                with pytest.raises(kd.SnapshotError):
                    world.restore(bytes(forged))
            assert world.snapshot() == before
    assert not world._restored_alone(bytes(saved[:-8]), True)
    assert not world._restored_alone(bytes(saved) + bytes(8), True)
    assert not world._restored_alone(bytes(saved[:40]), True)


def test_a_history_of_steps_of_another_length_is_restored(isa):
    """The step after a change of dt, and once more from a snapshot between both."""
    ball = kd.Stepper([[0.0]], [[1.0]], dt=0.5, integrator="verlet", forces=[kd.AnchorSpring(2.0)])
    ball.step(2)
    ball.dt = 0.25
    saved = ball.snapshot()
    ball.step()
    first = ball.position.tolist()
    ball.restore(saved)
    ball.step()
    assert ball.position.tolist() == first
