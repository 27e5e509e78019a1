"""An independent oracle for checksums: their definition in Python integers, computed from the bytes of the arrays."""

import numpy as np
import pytest
from plans import LAYOUTS, lay_out

import kickdrift as kd

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio; odd


def checksum(*arrays):
    """Sum modulo 2**64 of each number's bits, with its halves keyed by the index and multiplied.

    Indices count through all arrays, row by row. Zeros have one sign, and all NaNs equal bits.
    """
    total = place = 0
    for array in arrays:
        size = array.dtype.itemsize
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()  # row by row
        for first in range(0, len(raw), size):
            bits = int.from_bytes(raw[first : first + size], "little")
            exponent, mantissa = {4: (0xFF << 23, 2**23 - 1), 8: (0x7FF << 52, 2**52 - 1)}[size]
            if bits == 1 << 8 * size - 1:
                bits = 0
            elif bits & exponent == exponent and bits & mantissa:
                bits = 0x7FF8 << 48
            keyed = bits ^ place * GOLDEN % WORD
            total += bits + keyed % 2**32 * (keyed >> 32)
            place += 1
    return total % WORD


def test_the_key_is_the_golden_ratio():
    # floor(2**64 (sqrt(5) - 1) / 2), which is odd.
    from math import isqrt

    assert (isqrt(5 * WORD**2) - WORD) // 2 == GOLDEN


def numbers(rng, shape, dtype):
    """Draw numbers of all magnitudes, including signed zeros, infinities, NaNs with payloads and denormals."""
    array = rng.normal(size=shape) * 10.0 ** rng.integers(-30, 30, shape)
    array = array.astype(dtype)
    kind = {4: np.uint32, 8: np.uint64}[array.itemsize]
    odd = rng.integers(0, 4, shape) == 0
    limits = np.finfo(dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, limits.smallest_subnormal, -limits.tiny, limits.max, np.nan], dtype)
    array[odd] = rng.choice(special, int(odd.sum()))
    payload = np.isnan(array)
    bits = array.view(kind)
    bits[payload] ^= rng.integers(1, 1000, int(payload.sum())).astype(kind)
    assert np.isnan(array[payload]).all()
    return array


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_checksums_equal_their_definition(Stepper, dtype, dim, layout):
    rng = np.random.default_rng([dim, LAYOUTS.index(layout)])
    for n in (1, 2, 7, 16, 33):
        blank = np.zeros((n, dim), dtype)
        stepper = Stepper(lay_out(blank, layout), lay_out(blank, "row" if layout == "mixed" else layout))
        stepper.position[:], stepper.velocity[:] = numbers(rng, (n, dim), dtype), numbers(rng, (n, dim), dtype)
        assert stepper.checksum() == checksum(stepper.position, stepper.velocity), n


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_checksums_include_the_history_once_it_exists(Stepper, dtype):
    """Verlet's history is the previous position, which is known here."""
    rng = np.random.default_rng(4)
    x, v = (rng.normal(size=(9, 2)).astype(dtype) for _ in range(2))
    stepper = Stepper(x.copy(), v.copy(), dt=0.25, integrator="verlet", forces=[kd.Gravity((0, -10))])
    assert stepper.checksum() == checksum(x, v)
    for _ in range(3):
        previous = stepper.position.copy()
        stepper.step()
        assert stepper.checksum() == checksum(stepper.position, stepper.velocity, previous)


@pytest.mark.parametrize("layout", LAYOUTS[:4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_checksums_of_ode_steppers_equal_their_definition(ODEStepper, dtype, layout):
    rng = np.random.default_rng(5)
    y = rng.normal(size=(17, 3)).astype(dtype)
    stepper = ODEStepper(lay_out(y, layout), kd.flows.Lorenz(), dt=0.01)
    assert stepper.checksum() == checksum(y)
    stepper.y[:] = numbers(rng, y.shape, dtype)
    assert stepper.checksum() == checksum(stepper.y)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectorized_checksums_equal_their_definition_at_any_length(isa, layout, dtype):
    rng = np.random.default_rng(7)
    for n in (1, 15, 16, 31, 32, 33, 63, 64, 65, 130, 1000):
        state = [numbers(rng, (n, 2), dtype) for _ in range(2)]
        world = kd.Stepper(*(lay_out(np.zeros((n, 2), dtype), layout) for _ in state))
        world.position[:], world.velocity[:] = state
        assert world.checksum() == checksum(*state)


def test_absent_sections_are_empty():
    for world in (kd.Stepper([[0.0]]), kd.Stepper([[0.0]], alive=1, forces=[kd.AppliedForce(np.zeros((1, 1)))])):
        for part in world._parts:
            if part.absent(world):
                assert part.save(world) == b""
