"""The snapshot section of a changed stepper: declarations and masses that differ from those given.

The section is JSON, with these keys if they are needed:

    mass    all masses (one number), or the rows whose mass is not as declared, and their masses
    terms   all forces and constraints in order; left out if all are as declared. Each has its number or, if it was
            added, a digest of its declaration, with a count for those that differ only in a user's array; whether
            it is disabled; the coefficients that are not as declared, and the offset of their coordinates; and
            its joints, if any is not as declared: null for removed ones

Arrays are (dtype, shape, bytes in hexadecimal, little-endian). Shapes are {"shapes": [(class, coefficients)]}.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import validation
from ..errors import SnapshotError
from ..rollback import parts
from . import joints
from .changes import canonical_masses
from .entries import Entry, Origin, at_offset, differences, entered

_KINDS = {"f": "<f8", "i": "<i8", "u": "<u8", "b": "|b1"}


class SavedChanges(parts.Part):
    """The snapshot section that undoes `set`, `enable`, `add`, `remove` and `set_mass` on restore."""

    name = "changes"

    def save(self, stepper: Any) -> bytes:
        entries, mass, written = stepper._entries, stepper._plan.mass, stepper._changes_written
        if written is None or written[0] is not entries or written[1] is not mass:
            stepper._changes_written = written = entries, mass, _encoded(stepper, entries, mass)
        return bytes(written[2])

    def absent(self, stepper: Any) -> bool:
        written = stepper._changes_written
        if written is None or written[0] is not stepper._entries or written[1] is not stepper._plan.mass:
            return not self.save(stepper)
        return not written[2]

    def most(self, stepper: Any) -> int:
        n, size = stepper.n, 1024 + 64 * stepper.n
        for origin in stepper._declared:
            size += _longest(origin, n, stepper.dim)
        for origins in stepper._added.values():
            size += sum(_longest(origin, n, stepper.dim) for origin in origins)
        return size

    def parse(self, stepper: Any, data: bytes) -> dict[str, Any]:
        if data == self.save(stepper):
            return {}
        try:
            entries, mass = _decoded(stepper, data)
            same = _encoded(stepper, entries, mass) == data
        except SnapshotError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise SnapshotError(f"snapshot: its changes are refused: {validation.short(error)}") from None
        if not same:
            raise SnapshotError("snapshot: its changes are not as snapshot() writes them")
        return {"plan": {"entries": entries, "mass": mass}}


def _longest(origin: Origin, n: int, dim: int) -> int:
    """Return the maximum length of a declaration's JSON: twice the bytes of each coefficient, plus names."""
    size = 512 + 64 * dim + sum(_longest(Origin(None, one, one, origin.at), n, dim) for one in _joints(origin.first))
    for name in (*origin.first.coefficients, *(["indices"] if "indices" in origin.first.coefficients else [])):
        array = np.asarray(getattr(origin.first, name))
        most = max(n * dim, n, array.size if array.dtype != object else 0, 64)
        pairs = getattr(origin.first, "pairs", None)
        size += 128 + 16 * max(most, 0 if pairs is None else len(pairs))
        if name == "shapes":  # a snapshot may have other shapes, at most a million
            size += 10**6 * 64 * dim
    return size


def _joints(declaration: Any) -> tuple[Any, ...]:
    return getattr(declaration, "joints", ())


def _encoded(stepper: Any, entries: tuple[Entry, ...], mass: np.ndarray) -> bytes:
    saved: dict[str, Any] = {}
    first = stepper._first_plan.mass
    if mass is not first:
        if len(mass) == 1:
            saved["mass"] = _plain(mass)
        else:
            rows = np.flatnonzero(mass != first)
            saved["mass"] = [_plain(rows), _plain(mass[rows])]
    declared = stepper._declared
    untouched = len(entries) == len(declared) and all(
        entry.origin is origin and entry.enabled and entry.now is origin.first
        for entry, origin in zip(entries, declared, strict=True)
    )
    if not untouched:
        saved["terms"] = [_of(entry) for entry in entries]
    if not saved:
        return b""
    import json  # slow to import, and only needed after changes

    return json.dumps(saved, separators=(",", ":"), sort_keys=True).encode()


def _of(entry: Entry) -> dict[str, Any]:
    origin = entry.origin
    saved: dict[str, Any] = {"of": origin.key if origin.number is None else origin.number}
    if not entry.enabled:
        saved["off"] = True
    if entry.now is not origin.first:
        saved["at"] = [number.hex() for number in entry.at.tolist()]
        then = at_offset(origin.first, entry.at - origin.at)
        saved["set"] = {name: _plain(value) for name, value in differences(entry.now, then).items()}
    if entry.joints is not None:
        saved["joints"] = joints.encoded(entry, _plain)
    return saved


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        value = np.asarray(value)
    if isinstance(value, tuple):
        named = [(type(one).__name__, {name: _plain(getattr(one, name)) for name in one.coefficients}) for one in value]
        return {"shapes": named}
    if not isinstance(value, np.ndarray):
        return value
    form = _KINDS[value.dtype.kind]
    return [form[1:], list(value.shape), value.astype(form).tobytes().hex()]


def _array(saved: Any) -> np.ndarray:
    form, shape, text = saved
    if form not in ("f8", "i8", "u8", "b1") or not all(type(count) is int and 0 <= count < 2**40 for count in shape):
        raise ValueError("expected an array")
    data = bytes.fromhex(text)
    if form == "b1" and not set(data) <= {0, 1}:
        raise ValueError("expected booleans")
    return np.frombuffer(data, f"<{form}").astype(form).reshape(shape)


def _value(saved: Any) -> Any:
    """Decode a coefficient to a constructor argument."""
    if isinstance(saved, dict):
        from ..constraints.shapes import Boxes, Segments  # imported late: rarely needed

        classes = {cls.__name__: cls for cls in (Boxes, Segments)}
        (shapes,) = (saved[name] for name in ("shapes",) if len(saved) == 1)
        return tuple(
            classes[cls](**{name: _value(value) for name, value in coefficients.items()})
            for cls, coefficients in shapes
        )
    if not isinstance(saved, list):
        return saved
    array = _array(saved)
    return array if array.ndim else array.item()


def _decoded(stepper: Any, data: bytes) -> tuple[tuple[Entry, ...], np.ndarray]:
    import json

    saved = json.loads(data.decode("ascii")) if data else {}
    if not isinstance(saved, dict):
        raise ValueError("expected a dict")
    mass = stepper._first_plan.mass
    if "mass" in saved:
        if isinstance(saved["mass"][0], str):
            mass = validation.masses(_array(saved["mass"]).item(), stepper.n)
        else:
            rows, values = map(_array, saved["mass"])
            if rows.dtype != np.int64 or rows.ndim != 1 or rows.shape != values.shape:
                raise ValueError("expected rows and their masses")
            mass = mass + np.zeros(stepper.n)
            mass[validation.within("mass", rows, stepper.n)] = values
            mass = validation.masses(mass, stepper.n)
        mass = canonical_masses(stepper, mass)
    if "terms" not in saved:
        return entered(stepper._declared), mass
    added = _known(stepper, [one["of"] for one in saved["terms"]])
    used: set[int] = set()
    return tuple(_entry(stepper, one, added, used) for one in saved["terms"]), mass


def _known(stepper: Any, keys: list[Any]) -> dict[str, list[Origin]]:
    """Return the added declarations by key; under each key, those that the stepper currently has come first."""
    present = {id(entry.origin) for entry in stepper._entries}
    known: dict[str, list[Origin]] = {}
    for token in {key.partition("+")[0] for key in keys if type(key) is str}:
        for origin in sorted(stepper._added.get(token, ()), key=lambda origin: id(origin) not in present):
            known.setdefault(origin.key, []).append(origin)
    return known


def _entry(stepper: Any, saved: dict[str, Any], added: dict[str, list[Origin]], used: set[int]) -> Entry:
    origin = _found(stepper, saved["of"], added, used)
    used.add(id(origin))
    for entry in stepper._entries:
        if entry.origin is origin and _of(entry) == saved:
            return entry  # an unchanged entry is reused with its compiled part
    now, at = origin.first, origin.at
    if "set" in saved:
        at = np.array([float.fromhex(number) for number in saved["at"]])
        if at.shape != (stepper.dim,) or not np.isfinite(at).all():
            raise ValueError("expected an offset")
        values = {name: _value(value) for name, value in saved["set"].items()}
        generations = {name: values.pop(name) for name in ("generations",) if name in values}
        now = at_offset(origin.first, at - origin.at).changed(values)
        if generations:
            now = dataclasses.replace(now, generations=_generations(now, generations["generations"]))  # type: ignore[call-arg]
        if any(getattr(now, name) is None for name in values):
            now = now.placed(stepper._position, stepper._plan.periodic)
    if "shapes" in saved.get("set", ()):
        # Restored shapes get the handles of the stepper's current shapes, if number and classes are equal, otherwise
        # the handles of the declared shapes.
        mine = (entry.now.shapes for entry in stepper._entries if entry.origin is origin)
        for known in (*mine, origin.handle.shapes):  # type: ignore[attr-defined]
            if list(map(type, known)) == list(map(type, now.shapes)):  # type: ignore[attr-defined]
                for new, old in zip(now.shapes, known, strict=True):  # type: ignore[attr-defined]
                    new.named(old.handle)
                break
    entry = Entry(origin, now, at, not saved.get("off", False), None, None)
    if "joints" in saved:
        entry = joints.with_joints(entry, joints.decoded(saved["joints"], origin.first, _value))
    return entry


def _generations(now: Any, saved: Any) -> np.ndarray | None:
    """Decode the generations of the bodies that a constraint belongs to."""
    if saved is None:
        return None
    held = now.indices
    if not isinstance(saved, np.ndarray) or saved.dtype != np.int64 or saved.shape != held.shape:
        raise ValueError("expected generations")
    if saved.size and not 0 < saved.min() <= saved.max() < 2**31:
        raise ValueError("expected generations")
    return saved


def _found(stepper: Any, of: Any, added: dict[str, list[Origin]], used: set[int]) -> Origin:
    """Return the declared or added `Origin` that an entry of the snapshot refers to."""
    declared = list(stepper._declared[of : of + 1]) if type(of) is int and of >= 0 else []
    for origin in declared or added.get(of, []):
        if id(origin) not in used:
            return origin
    raise SnapshotError(
        "snapshot: it has a force or constraint that was added and is not known here: add it first, or restore it to "
        "the stepper that had it"
    )
