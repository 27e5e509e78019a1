"""The folder of a sweep: one file for each finished case, and one for each that is running.

Files are written atomically: a killed process leaves no partial file. File names are digests of the case, independent
of its number. Results that do not fit .npz are pickles: do not open a store from an untrusted source.
"""

from __future__ import annotations

import functools
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

import dask.base
import numpy as np

from ..stepper.trajectory import ODETrajectory, Trajectory

_TRAJECTORIES = (Trajectory, ODETrajectory)


class Store:
    """A folder shared by all workers."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)

    def finish(self, key: str, result: Any) -> None:
        """Save a result: arrays and what `record` returns as .npz, anything else as a pickle."""
        arrays = _arrays(result)
        if arrays is None:
            self._write(f"{key}.pickle", lambda file: pickle.dump(result, file, protocol=5))
        else:
            self._write(f"{key}.npz", lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
        (self.folder / f"{key}.part").unlink(missing_ok=True)

    def has(self, key: str) -> bool:
        """Return whether a case is finished."""
        return any((self.folder / f"{key}{suffix}").exists() for suffix in (".npz", ".pickle"))

    def result(self, key: str) -> Any:
        """Return the result of a finished case."""
        file = self.folder / f"{key}.npz"
        try:
            if file.exists():
                with np.load(file, allow_pickle=False) as arrays:
                    return _result(dict(arrays))
            file = self.folder / f"{key}.pickle"
            return pickle.loads(file.read_bytes())
        except Exception as error:
            raise ValueError(
                f"store: {file} is damaged ({type(error).__name__}: {error}); without it the case runs again"
            ) from error

    def save(self, key: str, part: dict[str, Any]) -> None:
        """Save the progress of a running case."""
        self._write(f"{key}.part", lambda file: pickle.dump(part, file, protocol=5))

    def part(self, key: str) -> Any:
        """Return the saved progress of a case; None if there is none, or if its file is damaged."""
        with suppress(Exception):
            return pickle.loads((self.folder / f"{key}.part").read_bytes())
        return None

    def _write(self, name: str, write: Callable[[Any], object]) -> None:
        draft = self.folder / f".{name}.{os.getpid()}.{id(write)}"
        try:
            with open(draft, "wb") as file:
                write(file)
            os.replace(draft, self.folder / name)
        finally:
            draft.unlink(missing_ok=True)


def key_of(case: dict[str, Any], *rest: Any) -> str:
    """Return a digest of a case and its job, equal on all machines and in all processes."""
    described = [_description(function) if callable(function) else function for function in rest]
    return str(dask.base.tokenize(sorted(case.items()), described))


def _description(function: Any) -> list[Any]:
    if isinstance(function, functools.partial):
        return [_description(function.func), function.args, sorted(function.keywords.items())]
    name = [getattr(function, "__module__", ""), getattr(function, "__qualname__", type(function).__qualname__)]
    name[0] = "__main__" if name[0] == "__mp_main__" else name[0]
    if not hasattr(function, "__code__"):
        function = function.__call__
    code = getattr(function, "__code__", None)
    if code is None:
        return name
    defaults = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    return [*name, *_description_of_code(code), *defaults]


def _description_of_code(code: CodeType) -> list[Any]:
    """Return what determines the behaviour of a code object; constants include tuples and nested code objects."""
    constants = [_description_of_code(value) if isinstance(value, CodeType) else value for value in code.co_consts]
    return [code.co_code, code.co_names, constants]


def _arrays(result: Any) -> dict[str, np.ndarray] | None:
    if isinstance(result, _TRAJECTORIES):
        return result.arrays()
    if isinstance(result, np.ndarray):
        arrays = {"array": result}
    elif isinstance(result, list) and result and all(type(entry) is np.ndarray for entry in result):
        if len({(entry.shape, entry.dtype) for entry in result}) > 1:
            return None
        arrays = {"observations": np.stack(result)}
    else:
        return None
    return None if next(iter(arrays.values())).dtype.hasobject else arrays


def _result(arrays: dict[str, np.ndarray]) -> Any:
    if "array" in arrays:
        return arrays["array"]
    if "observations" in arrays:
        return list(arrays["observations"])
    return ODETrajectory(**arrays) if "y" in arrays else Trajectory(**arrays)
