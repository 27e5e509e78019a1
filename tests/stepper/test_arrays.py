"""Arrays with misleading attributes: masked arrays, subclasses, and arrays whose items overlap."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import kickdrift as kd


class Liar(np.ndarray):
    """Array subclass that claims to be much larger than its memory."""

    shape = property(lambda self: (10**6, 2))
    strides = property(lambda self: (16, 8))
    ndim = property(lambda self: 2)
    size = property(lambda self: 2 * 10**6)
    ctypes = property(lambda self: 1 / 0)
    __len__ = lambda self: 10**6  # noqa: E731


def liar(*rows, dtype=np.float64):
    return np.array(rows, dtype).view(Liar)


def test_kick_drift_and_damp_ignore_overridden_array_attributes():
    for verb in (kd.kick, kd.drift):
        target, source = liar((1, 2)), liar((2, 4))
        verb(target, source, 0.5)
        assert np.asarray(target).tolist() == [[2, 4]]
        with pytest.raises(ValueError, match=r"broadcasts to \(1, 2\)"):
            verb(target, np.zeros((10**6, 2)), 0.5)
    target = liar((1, 2))
    kd.damp(target, np.log(2), 1.0)
    kd.damp(target, liar((np.log(2),)).reshape(1), 1.0)
    assert np.asarray(target).tolist() == [[0.25, 0.5]]


def test_steppers_and_interpolate_ignore_overridden_array_attributes(Stepper):
    stepper = Stepper(liar((1, 2)), liar((2, 4)), dt=0.5)
    stepper.step()
    assert stepper.position.tolist() == [[2, 4]]
    for dtype in (np.float32, np.float64):
        out = liar((0, 0), dtype=dtype)
        assert stepper.interpolate(out=out) is out
        assert np.asarray(out).tolist() == [[2, 4]]
        with pytest.raises(ValueError, match="out: expected shape"):
            stepper.interpolate(out=np.zeros((5, 2)).view(Liar))


def test_masked_arrays_are_refused(Stepper, ODEStepper):
    masked, position, pairs = np.ma.masked_equal([[1.0, 2.0]], 2.0), np.ones((1, 2)), np.ma.array([[0, 1]])
    stepper = Stepper(position)
    calls = [
        ("position", lambda: Stepper(masked)),
        ("velocity", lambda: Stepper(position, masked)),
        ("mass", lambda: Stepper(position, mass=masked[0, :1])),
        ("y", lambda: ODEStepper(masked, kd.flows.VanDerPol())),
        ("out", lambda: stepper.interpolate(out=masked)),
        ("offset", lambda: stepper.shift(masked[0])),
        ("index", lambda: stepper.teleport(pairs[0], [1.0, 1.0])),
        ("position", lambda: stepper.teleport(0, masked[0])),
        (r"Gravity\(acceleration\)", lambda: kd.Gravity(masked[0])),
        (r"Springs\(pairs\)", lambda: kd.Springs(pairs, 1.0)),
        (r"Pin\(indices\)", lambda: kd.Pin(pairs[0])),
        (r"Force\(potential\)", Stepper(position, forces=[kd.Force(print, True, lambda x: masked[0, :1])]).energy),
        ("velocity", lambda: kd.kick(masked, 1.0, 1.0)),
        ("acceleration", lambda: kd.kick(position, masked, 1.0)),
        ("position", lambda: kd.drift(masked, 1.0, 1.0)),
        ("velocity", lambda: kd.damp(masked, 1.0, 1.0)),
        ("rate", lambda: kd.damp(position, masked[0, :1], 1.0)),
    ]
    for name, call in calls:
        with pytest.raises(TypeError, match=rf"^{name}: expected an array without a mask, got a MaskedArray; pass its"):
            call()
    assert stepper.position.tolist() == [[1, 1]]
    Stepper(masked.data)
    Stepper(masked.filled(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_out_arrays_whose_items_share_memory_are_refused(Stepper, dtype):
    stepper = Stepper(np.arange(6.0).reshape(3, 2))
    room, size = np.full(8, 7, dtype), np.dtype(dtype).itemsize
    for strides in ((0, size), (size, 0), (size, size), (0, 0), (size, 2 * size), (-size, size)):
        out = as_strided(room[3:], (3, 2), strides)
        with pytest.raises(ValueError, match="out: expected an item of its own for each body, got overlapping ones"):
            stepper.interpolate(out=out)
    assert (room == 7).all()
    stepper.interpolate(out=as_strided(room, (3, 2), (size, 3 * size)))
    assert room.tolist() == [0, 2, 4, 1, 3, 5, 7, 7]
