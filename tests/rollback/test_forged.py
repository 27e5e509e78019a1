"""Forged snapshots with valid checksums: refused with SnapshotError, quickly, and without any change."""

import pickle
import time
from fractions import Fraction

import numpy as np
import pytest
from forge import forge, forgeries, take_apart

import kickdrift as kd
from kickdrift.rollback import snapshots


def saved_stepper(cls, **changes):
    arguments = {"integrator": "verlet", "forces": [kd.AnchorSpring(2.0)], "dt": 1 / 60, **changes}
    stepper = cls(np.arange(6.0).reshape(3, 2), np.ones((3, 2)), **arguments)
    stepper.step(5)
    stepper.dt = 1 / 50
    stepper.step(2)
    return stepper


def saved_equation(cls):
    equation = cls(np.ones((2, 3)), kd.flows.Lorenz(), dt=0.01)
    equation.step(3)
    return equation


def refuses_all(stepper):
    before = stepper.snapshot()
    count = 0
    for name, forged in forgeries(before):
        began = time.process_time()
        with pytest.raises(kd.SnapshotError):
            print(name, stepper.restore(forged))
        assert time.process_time() - began < 0.5, name
        assert stepper.snapshot() == before, name
        count += 1
    assert count > 150


def test_forgeries_are_refused_without_a_change(Stepper):
    for changes in ({}, {"integrator": "rk4"}, {"clock": Stepper._clock_type(60), "dt": None}):
        if "clock" in changes:
            stepper = Stepper(np.zeros((1, 2)), clock=changes["clock"])
            stepper.advance(0.1)
        else:
            stepper = saved_stepper(Stepper, **changes)
            stepper.shift([1.0, 2.0])
        refuses_all(stepper)


def test_forgeries_for_an_ode_stepper_are_refused_without_a_change(ODEStepper):
    stepper = saved_equation(ODEStepper)
    refuses_all(stepper)
    with pytest.raises(kd.SnapshotError, match="started"):
        stepper.restore(forge(stepper.snapshot(), started=1))


def test_forgeries_without_changes_are_accepted(Stepper):
    """Control experiment: if unchanged forgeries were refused, the refusals of others would prove nothing."""
    stepper = saved_stepper(Stepper)
    saved = stepper.snapshot()
    assert forge(saved) == saved
    assert forge(saved, fields={}) == saved
    stepper.restore(forge(saved, tick=9, fields={"origin": "7/3", "origin_tick": 8}))
    assert (stepper.tick, stepper.time) == (9, float(7 / 3 + 0.02))
    state = [np.frombuffer(take_apart(saved)[2], "<f8").reshape(3, 3, 2)[i] + 1 for i in range(3)]
    stepper.restore(forge(saved, arrays=state))
    assert stepper.velocity.tolist() == state[1].tolist()


def test_a_non_finite_state_can_be_saved_and_restored(Stepper):
    stepper = Stepper([[1e308]], [[1e308]], dt=1)
    with pytest.raises(kd.NonFiniteError):
        stepper.step(5)
    saved = stepper.snapshot()
    stepper.position[:] = 0
    stepper.restore(saved)
    assert stepper.snapshot() == saved
    assert stepper.position.tolist() == [[np.inf]]


def test_an_offset_that_overflows_coefficients_is_refused_before_any_change(Stepper):
    stepper = Stepper(np.zeros((1, 1), np.float32), forces=[kd.AnchorSpring(1.0, anchor=[1.0])], dt=0.5)
    saved = stepper.snapshot()
    with pytest.raises(kd.SnapshotError, match="offset"):
        stepper.restore(forge(saved, last_h=0.25, fields={"dt": "1/4", "offset": [(1e300).hex()]}))
    assert stepper.snapshot() == saved
    assert stepper.dt == 0.5


def test_parse_changes_nothing_and_returns_private_arrays(Stepper):
    stepper = saved_stepper(Stepper)
    saved = stepper.snapshot()
    stepper.step(3)
    stepper.shift([1.0, 2.0])
    stepper.dt = 0.5
    now = stepper.snapshot()
    parsed = snapshots.parse(stepper, saved)
    assert stepper.snapshot() == now
    assert (parsed.tick, parsed.clock_tick, parsed.started, parsed.last_h) == (7, None, True, 1 / 50)
    assert (parsed.exact_dt, parsed.origin_tick, parsed.offset.tolist()) == (Fraction(1, 50), 5, [0, 0])
    assert parsed.origin == Fraction(5, 60)
    for array in [*parsed.arrays, *snapshots.parse(stepper, memoryview(b"123" + now)[3:]).arrays]:
        assert array.flags.aligned
        assert array.flags.c_contiguous
        assert array.flags.owndata or not array.flags.writeable
        assert array.dtype.isnative
        assert array.shape == (3, 2)


def test_unaligned_snapshots_are_read_through_aligned_arrays(Stepper, monkeypatch):
    stepper = saved_stepper(Stepper)
    saved = stepper.snapshot()
    seen = []
    original = type(stepper)._digest

    class Watched(type(stepper)):
        def _digest(self, values, place):
            seen.append(values.flags.aligned)
            return original(self, values, place)

    watched = saved_stepper(Watched)
    for skip in range(1, 9):
        watched.restore(memoryview(b"x" * skip + saved)[skip:])
    assert len(seen) == 8  # one call for all arrays
    assert all(seen)


def test_contiguous_buffers_are_accepted_and_others_refused(Stepper):
    stepper = saved_stepper(Stepper)
    saved = stepper.snapshot()
    twice = bytes(byte for byte in saved for _ in range(2))
    read_only = np.frombuffer(saved, np.uint8)
    taken = [bytearray(saved), memoryview(saved), memoryview(bytearray(saved)), read_only, read_only.copy()]
    taken += [
        memoryview(saved).cast("d"),
        np.frombuffer(saved, np.int16),
        read_only.reshape(2, -1),
        memoryview(twice)[::2],
    ]
    taken += [read_only.view([("a", "i4"), ("b", "f4")]), np.repeat(read_only, 2)[::2]]
    for packet in taken:
        stepper.step()
        stepper.restore(packet)
        assert stepper.snapshot() == saved
    released = memoryview(saved)
    released.release()
    refused = [None, 5, saved.decode("latin-1"), [*saved], released, read_only.astype(object), read_only.view("M8[s]")]
    refused += [
        np.broadcast_to(np.uint8(1), 2**40),
        read_only[::-1],
        read_only[:-1],
        b"",
        bytearray(),
        np.zeros((0, 4)),
        object(),
    ]
    for packet in refused:
        with pytest.raises(kd.SnapshotError, match="snapshot: "):
            stepper.restore(packet)
        assert stepper.snapshot() == saved


def test_a_restored_ode_stepper_saves_equal_bytes(ODEStepper):
    """ODE snapshots must not depend on an earlier dt, because there is no history."""
    other, twin = saved_equation(ODEStepper), saved_equation(ODEStepper)
    other.dt = 0.25
    saved = other.snapshot()
    twin.restore(saved)
    assert twin.snapshot() == saved
    assert pickle.loads(pickle.dumps(other)).snapshot() == saved


def test_pickles_of_forgeries_are_refused(Stepper, ODEStepper):
    for stepper in (saved_stepper(Stepper), saved_equation(ODEStepper)):
        rebuild, (cls, arguments, saved, clock, *_) = stepper.__reduce__()[:2]
        assert rebuild(cls, arguments, saved, clock).snapshot() == saved
        for name, forged in forgeries(saved):
            with pytest.raises(kd.SnapshotError):
                print(name, rebuild(cls, arguments, forged, clock))
        for packet in (b"", None, saved[:70]):
            with pytest.raises(kd.SnapshotError):
                rebuild(cls, arguments, packet, clock)
