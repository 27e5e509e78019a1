"""`record`: run steps and sample the state, into memory, files, or the user's own arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

from .. import progress as bars
from .. import validation

T = TypeVar("T", covariant=True)


class Recorder(Protocol[T]):
    """The type of `record`, for type checkers."""

    def __call__(
        self,
        steps: int,
        every: int = 1,
        *,
        out: Any = None,
        callback: Callable[[Any], bool | None] | None = None,
        energy: bool = False,
        progress: bool = False,
    ) -> T: ...


def record(
    self: Any,
    steps: int,
    every: int = 1,
    *,
    out: Any = None,
    callback: Callable[[Any], bool | None] | None = None,
    energy: bool = False,
    progress: bool = False,
) -> Any:
    """Run `steps` steps; sample the state now and after every `every` steps.

    steps: how many, an int >= 0. every: steps from a sample to the next, an int >= 1.
    out: target of the samples, in memory by default: a path that ends in .npy, which is overwritten, or an array of
    shape (samples, ...), such as a memmap or one of Zarr, which is written row by row. The target receives positions,
    or y of an ODEStepper. For other quantities pass a mapping such as {"position": "x.npy", "velocity": array}.
    Quantities without a target are None in the result, except time and tick, which are in memory. Arrays have
    steps // every + 1 samples and a dtype to which numpy casts as "same_kind".
    callback: called with the stepper after each sample, also the first. True ends the run there; None or False goes on.
    energy: whether to sample `energy()` too.
    progress: whether to show progress on standard error, if the run takes longer than two seconds.

    Raises the errors of `step`. If a step or the callback raises an error, the samples so far are in the error's
    attribute `trajectory`. Raises TypeError or ValueError if `out` does not fit, MemoryError if there is no room; no
    step is run then.

    >>> import kickdrift as kd
    >>> world = kd.Stepper([[0.0]], [[2.0]], dt=0.5)
    >>> world.record(4, every=2).position.ravel().tolist()
    [0.0, 2.0, 4.0]
    >>> world.record(100, callback=lambda world: world.position[0, 0] > 6.5).time.tolist()
    [2.0, 2.5, 3.0, 3.5]
    """
    steps = validation.integer("steps", steps, 0)
    every = validation.integer("every", every, 1)
    energy, progress = validation.flag("energy", energy), validation.flag("progress", progress)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback: expected a function of the stepper, or None, got {validation.show(callback)}")
    if energy and not hasattr(self, "_energy"):
        raise ValueError("energy: expected False, an ODEStepper has none")

    def sample() -> dict[str, Any]:
        return {
            "time": self.time,
            "tick": self.tick,
            **self._sampled(),
            **({"energy": self._energy()} if energy else {}),
        }

    count, n = steps // every + 1, self.n
    now = {name: np.asarray(value) for name, value in self._exclusively(sample).items()}
    arrays = _arrays(out, count, now)
    kept = 0

    def step_and_sample(due: int) -> None:
        self._step(due)
        values = sample()
        for name, array in arrays.items():
            array[kept] = values[name]

    def trajectory() -> Any:
        return self._trajectory(**{name: _finished(array, kept) for name, array in arrays.items()})

    try:
        with bars.shown(count, progress, "record", "samples", bars.PATIENCE) as bar:
            while kept < count:
                self._exclusively(step_and_sample, every if kept else 0)
                kept += 1
                bar.advance()
                ended = callback is not None and _ends(callback(self))
                if self.n != n:
                    raise ValueError(f"callback: expected it to keep {n} bodies, got {self.n}")
                if ended:
                    return trajectory()
        self.step(steps - (count - 1) * every)
    except BaseException as error:
        error.trajectory = trajectory()  # type: ignore[attr-defined]
        raise
    return trajectory()


def _ends(answer: Any) -> bool:
    if answer is None or isinstance(answer, (bool, np.bool_)):
        return bool(answer)
    raise TypeError(f"callback: expected it to return True, False or None, got {validation.show(answer)}")


class _File:
    """A .npy file that is written sample by sample: a full disk raises OSError, and earlier samples stay readable.

    With a memory map, a full disk would kill the process by a signal.
    """

    def __init__(self, path: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype
        self.file = open(path, "wb")  # noqa: SIM115 - closed by `close`
        self.write_header(0)

    def write_header(self, count: int) -> None:
        # NumPy pads the header, so that it has the same length for every count.
        header = {
            "shape": (count, *self.shape[1:]),
            "fortran_order": False,
            "descr": np.lib.format.dtype_to_descr(self.dtype),
        }
        np.lib.format.write_array_header_1_0(self.file, header)

    def __setitem__(self, number: int, row: Any) -> None:
        self.file.write(np.ascontiguousarray(row, self.dtype).tobytes())
        self.file.flush()

    def close(self, count: int) -> np.ndarray:
        self.file.seek(0)
        self.write_header(count)
        self.file.close()
        return np.load(self.path, mmap_mode="r" if count and all(self.shape[1:]) else None)


def _finished(array: Any, count: int) -> Any:
    """Return the first `count` samples. Arrays of other libraries are returned whole: slicing would load them."""
    if isinstance(array, _File):
        return array.close(count)
    return array[:count] if isinstance(array, np.ndarray) else array


def _arrays(out: Any, count: int, samples: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return an array for each quantity to sample. samples: the first sample: time, tick, then the state."""
    given = {} if out is None else dict(out) if isinstance(out, Mapping) else {[*samples][2]: out}
    for name in given:
        if name not in samples:
            raise ValueError(f"out: expected names among {', '.join(samples)}, got {validation.show(name)}")
    places: dict[str, Any] = {}
    for name, place in given.items():
        shape = (count, *samples[name].shape)
        if isinstance(place, (str, os.PathLike)):
            places[name] = os.fspath(place)
            if not places[name].endswith(".npy"):
                raise ValueError(f"out: expected a path that ends in .npy for {name}, got {place!r}")
        else:
            places[name] = place
            _check(name, place, shape, samples)
        for other in [*places][:-1]:
            if _same(places[other], places[name]):
                raise ValueError(f"out: expected places of their own for {other} and {name}, got the same for both")
    wanted = {
        name: (count, *value.shape)
        for name, value in samples.items()
        if name in given or out is None or name in ("time", "tick", "energy")
    }
    arrays: dict[str, Any]
    try:
        arrays = {name: np.empty(shape, samples[name].dtype) for name, shape in wanted.items() if name not in places}
    except (MemoryError, OverflowError, ValueError):
        size = sum(samples[name].nbytes for name in wanted if name not in places)
        what = f"{validation.short(count)} samples of {size} bytes"
        raise MemoryError(
            f"steps, every: no room for {what}; keep fewer, with a larger `every`, or use `out`"
        ) from None
    for name, place in places.items():
        file = isinstance(place, str)
        arrays[name] = _File(place, wanted[name], samples[name].dtype) if file else place
    return arrays


def _same(one: Any, other: Any) -> bool:
    """Return whether two targets are the same file or share memory."""
    if isinstance(one, str) and isinstance(other, str):
        return os.path.realpath(one) == os.path.realpath(other)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.shares_memory(one, other)
    return one is other


def _check(name: str, array: Any, shape: tuple[int, ...], samples: dict[str, np.ndarray]) -> None:
    if not all(hasattr(array, member) for member in ("shape", "dtype", "__setitem__")):
        raise TypeError(
            f"out: expected a path, or an array that can be written, for {name}, got {validation.show(array)}"
        )
    if tuple(array.shape) != shape:
        raise ValueError(f"out: expected shape {shape} for {name}, got {tuple(array.shape)}")
    if not np.can_cast(samples[name].dtype, array.dtype, "same_kind"):
        raise TypeError(f"out: expected {samples[name].dtype} for {name}, got {array.dtype}")
    if isinstance(array, np.ndarray):
        if not array.flags.writeable:
            raise ValueError(f"out: expected an array that can be written for {name}, got one that is read-only")
        if validation.overlaps_itself(array):
            raise ValueError(f"out: expected memory of its own for each sample of {name}, got overlapping ones")
        if any(np.may_share_memory(array, value) for value in samples.values()):
            raise ValueError(f"out: expected memory of its own for {name}, got an array that the stepper uses")
