"""Joints of `Contacts`, which can be changed, disabled and removed individually.

For each declared joint, the entry of `Contacts` stores (current values, enabled), or None if the joint was removed. The
current declaration in the entry has only the enabled joints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .entries import Entry, at_offset, differences

if TYPE_CHECKING:
    from .base import StepperBase

#: A joint: (current values, enabled), or None if removed.
Joint = tuple[Any, bool] | None


def states(entry: Entry) -> tuple[Joint, ...]:
    if entry.joints is not None:
        return entry.joints
    return tuple((joint, True) for joint in getattr(entry.origin.first, "joints", ()))


def found(self: StepperBase, declaration: Any) -> list[tuple[int, int]]:
    """Return all (index of the entry, index of the joint in it) of a joint; [] if the declaration is not a joint."""
    places: list[tuple[int, int]] = []
    if not hasattr(declaration, "pairs"):
        return places
    gone = False
    for place, entry in enumerate(self._entries):
        if entry.origin.first.kind != "contacts":
            continue
        for number, state in enumerate(states(entry)):
            given = entry.origin.handle.joints[number] is declaration
            gone = gone or (given and state is None)
            if state is not None and (given or state[0] is declaration):
                places.append((place, number))
    if gone and not places:
        name = type(declaration).__name__
        raise ValueError(f"declaration: expected one that this stepper has, got {name}, which was removed")
    return places


def changed(self: StepperBase, places: list[tuple[int, int]], change: Callable[[Any, Any], Joint]) -> tuple[Entry, ...]:
    """Return the entries with changed joints. change: function from (joint, declared joint) to the new joint."""
    entries = [*self._entries]
    for place, number in places:
        entry = entries[place]
        joints = [*states(entry)]
        joints[number] = change(joints[number], entry.origin.first.joints[number])
        entries[place] = with_joints(entry, tuple(joints))
    return tuple(entries)


def with_joints(entry: Entry, joints: tuple[Joint, ...]) -> Entry:
    """Return the entry with the joints replaced. Disabled joints are validated too."""
    origin = entry.origin
    first, now, at = origin.first, entry.now, entry.at
    now._checked("joints", tuple(state[0] for state in joints if state is not None))
    now = now._with(joints=tuple(state[0] for state in joints if state is not None and state[1]))
    if joints == tuple((joint, True) for joint in first.joints):  # type: ignore[attr-defined]
        saved = None
        if not differences(now, at_offset(first, at - origin.at)):
            now, at = first, origin.at  # declared values again: canonical form, for equal snapshots
    else:
        saved = joints
    today = None if entry.offset is None else at_offset(now, entry.offset - at)
    return Entry(origin, now, at, entry.enabled, entry.offset, today, saved)


def encoded(entry: Entry, plain: Callable[[Any], Any]) -> list[Any]:
    """Encode joints for snapshots. Per joint: None if removed, else "off" if disabled, and "set": changed values."""
    saved: list[Any] = []
    for state, first in zip(states(entry), entry.origin.first.joints, strict=True):  # type: ignore[attr-defined]
        if state is None:
            saved.append(None)
            continue
        one: dict[str, Any] = {} if state[1] else {"off": True}
        if state[0] is not first:
            one["set"] = {name: plain(value) for name, value in differences(state[0], first).items()}
        saved.append(one)
    return saved


def decoded(saved: Any, first: Any, value: Callable[[Any], Any]) -> tuple[Joint, ...]:
    joints: list[Joint] = []
    for one, joint in zip(saved, first.joints, strict=True):
        if one is None:
            joints.append(None)
            continue
        coefficients = {name: value(each) for name, each in one.get("set", {}).items()}
        joints.append((joint.changed(coefficients) if coefficients else joint, not one.get("off", False)))
    return tuple(joints)
