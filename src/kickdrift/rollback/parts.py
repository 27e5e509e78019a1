"""Parts of a snapshot besides the state: each part writes one section.

A stepper lists its parts in `_parts`, in the order in which their sections are written. To add one:

1. Derive from `Part`: `name`, `save`, `most`, `parse`. A part has no state of its own: all is in the stepper.
2. Append it to `_parts` where the stepper is made, before anything is saved.
3. Forge its section in `tests/rollback/test_sections.py`: bytes that `save` cannot have written must be rejected.

`save` is canonical: equal worlds give equal bytes on every platform. Declared values are not written: an unused part
has no section, and `parse` of no bytes restores the declared values. Snapshots, checksums, Rollback, pickle, copies
and tapes include every part automatically.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import SnapshotError

if TYPE_CHECKING:
    from ..stepper.common import State

#: Header of a section: its name, padded with zeros, and the length of its contents, which are padded to 8 bytes.
_HEAD = struct.Struct("<16sQ")


class Part:
    """A part of a world, with a section in its snapshots."""

    #: Unique among the parts of a stepper; at most 16 ASCII characters.
    name: ClassVar[str]

    def save(self, stepper: State) -> bytes:
        """Return the section, little-endian; empty if nothing was changed."""
        raise NotImplementedError

    def most(self, stepper: State) -> int:
        """Return an upper bound for the length of the section; longer ones are rejected unread."""
        raise NotImplementedError

    def parse(self, stepper: State, data: bytes) -> dict[str, Any]:
        """Return the changes that restore what `save` wrote. Raises SnapshotError; the stepper is not modified.

        data: any bytes, possibly forged; empty if the snapshot has no such section. Bytes that `save` cannot have
        written are rejected. `_commit` applies all of these changes or none:

        writes: a list of (array, rows or None, values), as `_commit` takes it.
        attributes: a dict of attributes of the stepper.
        plan: a dict of keyword arguments for `_shifted`, which rebuilds plan and binding; left out if these do not
        change.
        later: a list of functions of the new attributes, which return more writes or raise SnapshotError,
        for arrays that belong to a plan.
        Anything else is a keyword argument of `_commit`.
        """
        raise NotImplementedError

    def unlike(self, stepper: State, data: bytes) -> str:
        """Describe the error in a section that is too long or empty."""
        return f"expected a section {self.name!r} of 1 to {self.most(stepper)} bytes, got {len(data)}"

    def absent(self, stepper: State) -> bool:
        """Return whether the part is unused, so that `save` returns nothing and `parse` of nothing changes nothing.

        If the snapshot has no sections either, and all parts are absent, none of them is called.
        """
        return False

    def check(self, stepper: State, saved: Any) -> None:
        """Check consistency with the rest of the snapshot, which is a `Saved`; raises SnapshotError.

        It may also add changes that depend on other parts, because all sections are parsed by then.
        """


def written(stepper: State) -> bytes:
    """Return the concatenated sections of a stepper."""
    sections: list[bytes] = []
    for part in stepper._parts:
        if part.absent(stepper):
            continue
        data = part.save(stepper)
        if data:
            sections.append(_HEAD.pack(part.name.encode(), len(data)) + data + bytes(-len(data) % 8))
    return b"".join(sections) if sections else b""


def longest(stepper: State) -> int:
    """Return an upper bound for the total length of all sections."""
    return sum(_HEAD.size + part.most(stepper) + 8 for part in stepper._parts)


def none(stepper: State) -> bool:
    """Return whether all parts are absent."""
    for part in stepper._parts:  # noqa: SIM110 - all() with a generator takes twice the time
        if not part.absent(stepper):
            return False
    return True


def parsed(stepper: State, data: bytes, place: int) -> list[dict[str, Any]]:
    """Return the changes of all parts, from the sections at an offset. Raises SnapshotError; changes nothing."""
    sections = list(_split(data, place))
    changes = []
    for part in stepper._parts:
        own = b""
        if sections and sections[0][0] == part.name.encode():
            own = sections.pop(0)[1]
            if not 1 <= len(own) <= part.most(stepper):
                raise SnapshotError(f"snapshot: {part.unlike(stepper, own)}")
        changes.append(part.parse(stepper, own))
    if sections:
        for argument, name in (("state=", b"state"), ("events=", b"touching"), ("angular_velocity=", b"rotation")):
            if sections[0][0] == name and name not in [part.name.encode() for part in stepper._parts]:
                raise SnapshotError(f"snapshot: of a stepper that was made with {argument}, this one was made without")
        known = ", ".join(repr(part.name) for part in stepper._parts) or "none"
        raise SnapshotError(f"snapshot: expected these sections, in order: {known}; got {sections[0][0]!r}")
    return changes


def _split(data: bytes, place: int) -> Iterator[tuple[bytes, bytes]]:
    """Iterate over (name, contents) of all sections."""
    while place < len(data):
        if len(data) - place < _HEAD.size:
            raise SnapshotError(f"snapshot: {len(data) - place} bytes too many")
        name, size = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        end = place + size
        filled = end + -size % 8
        if filled > len(data) or any(data[end:filled]):
            raise SnapshotError(f"snapshot: its section {name.rstrip(bytes(1))!r} is damaged")
        yield name.rstrip(bytes(1)), data[place:end]
        place = filled


def together(changes: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge the changes of all parts; writes, attributes and plan are joined."""
    whole: dict[str, Any] = {"writes": [], "attributes": {}, "plan": {}, "later": []}
    for change in changes:
        rest = dict(change)
        for name in ("writes", "later"):
            whole[name] += rest.pop(name, [])
        for name in ("attributes", "plan"):
            whole[name] |= rest.pop(name, {})
        whole |= rest
    return whole
