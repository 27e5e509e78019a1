"""Merge similar records: all `Distance` with the same number of iterations, and all `Springs`.

A record costs a pass over its pairs, and some fixed time. After merging, a hundred rods that were added one by one
cost as much as one declaration of a hundred pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from operator import is_, is_not
from typing import Any, TypeVar

import numpy as np

from ..constraints.base import ABSENT
from ..engine.serving import between, common_ends
from .pieces import ConstraintRecord, InteractionRecord

#: The kinds of `Distance`.
PAIRED = ("distance", "compliant_distance")
#: Fields that have one value for a record, not an item per pair.
SHARED = ("iterations", "response")
#: Placeholder for a field that a record does not have.
MISSING = np.zeros((0, 0))

R = TypeVar("R", ConstraintRecord, InteractionRecord)


def tied(
    n: int,
    records: Sequence[ConstraintRecord],
    known: Sequence[ConstraintRecord],
    before: Sequence[ConstraintRecord] = (),
) -> list[ConstraintRecord]:
    """Join distance records of the same kind and number of iterations.

    Correcting one constraint violates others at the same body, therefore records that share a movable body are a
    system, which is iterated together. Different systems share no body: joined, they have the same result as apart.
    known: the result for the records `before`, which is reused with the same members.
    """
    if len(records) < 2:
        return list(records)
    old, new = between(before, records)
    if not old and not new:
        return [*known]
    if len(old) == len(new) and all(one.moved is other.moved for one, other in zip(old, new, strict=True)):
        return [_replaced(joined, dict(zip(old, new, strict=True))) for joined in known]  # the systems have not changed
    alike: dict[tuple[bool, int], list[list[ConstraintRecord]]] = {}
    for system in _systems(n, records):
        key = system[0].solved
        for other in system[1:]:
            key = key[0] or other.solved[0], max(key[1], other.solved[1])
        alike.setdefault(key, []).append(system)
    return [_joined(systems, *key, known) for key, systems in alike.items()]


def _replaced(joined: ConstraintRecord, new: dict[ConstraintRecord, ConstraintRecord]) -> ConstraintRecord:
    """Return a merged record with members replaced according to `new`; replacements move the same bodies."""
    if not joined.members:
        return new.get(joined, joined)
    members = tuple([new.get(each, each) for each in joined.members])
    columns, order = _columns(members, joined), joined.order
    fields = joined.fields | {
        name: column if order is None else column[order]
        for name, column in columns.items()
        if column is not joined.columns[name]
    }
    return replace(joined, constraint=members[0].constraint, fields=fields, members=members, columns=columns)


def _systems(n: int, records: Sequence[ConstraintRecord]) -> list[list[ConstraintRecord]]:
    """Group records that share a movable body, directly or through others."""
    moved = [record.moved for record in records]
    holders = np.repeat(np.arange(len(records)), list(map(len, moved)))
    bodies = np.concatenate(moved)
    first = np.zeros(n, np.int64)
    first[bodies[::-1]] = holders[::-1]  # per body: the first record that can move it
    owner = [*range(len(records))]  # per record: parent in a union-find forest
    for one, other in zip(
        holders[linked := first[bodies] != holders].tolist(), first[bodies][linked].tolist(), strict=True
    ):
        low, high = sorted((_root(owner, one), _root(owner, other)))
        owner[high] = low
    systems: dict[int, list[ConstraintRecord]] = {}
    for number, record in enumerate(records):
        systems.setdefault(_root(owner, number), []).append(record)
    return [*systems.values()]


def _root(owner: list[int], number: int) -> int:
    while owner[number] != number:
        number = owner[number]
    return number


def _joined(
    systems: Sequence[Sequence[ConstraintRecord]], soft: bool, iterations: int, known: Sequence[ConstraintRecord]
) -> ConstraintRecord:
    """Join the records of systems into one."""
    members = tuple([record for system in systems for record in system])
    before = _before(members, known)
    if len(members) == 1 or (before is not None and before.members == members):
        return members[0] if len(members) == 1 else before  # type: ignore[return-value]
    columns = _columns(members, before)
    order = _order(columns, members, systems)
    fields = columns if order is None else {name: column[order] for name, column in columns.items()}
    fields = fields | {"iterations": np.array([iterations])}
    if soft:  # `response` depends on the integrator only: all members have the same
        fields["response"] = next(each.fields["response"] for each in members if "response" in each.fields)
    joined = ConstraintRecord(PAIRED[soft], members[0].constraint, fields, members, columns, order)
    return _of_lineage(joined, before)


def sprung(records: Sequence[InteractionRecord], known: Sequence[InteractionRecord]) -> list[InteractionRecord]:
    """Merge the records of springs into one record, at the position of the first.

    Springs with and without damping form one record: a damped spring may end with its bodies, which must not change the
    order in which forces are summed. known: previous records, which are reused with the same members.
    """
    members = tuple([record for record in records if record.kind == "springs"])
    if len(members) < 2:
        return list(records)
    joined = before = _before(members, known)
    if before is None or before.members != members:
        columns = _columns(members, before)
        fields = {name: column for name, column in columns.items() if name != "member"}
        damped = next((each.term for each in members if each.term.velocity_dependent), members[0].term)
        joined = replace(members[0], term=damped, fields=fields, lineage=object(), members=members, columns=columns)
        joined = _of_lineage(joined, before)
    assert joined is not None
    first = records.index(members[0])
    return [*records[:first], joined, *[record for record in records[first:] if record.kind != "springs"]]


def _before(members: Sequence[R], known: Sequence[R]) -> R | None:
    """Return the previous merged record that contained any of the members (the first match), or None."""
    of = {id(member): old for old in known for member in old.members}
    return next((of[id(member)] for member in members if id(member) in of), None) if of else None


def _of_lineage(joined: R, before: R | None) -> R:
    """Return `joined`, with the lineage of `before` if the members of both have the same lineages in the same order."""
    if before is None or [each.lineage for each in before.members] != [each.lineage for each in joined.members]:
        return joined
    return replace(joined, lineage=before.lineage)


def _columns(members: Sequence[Any], before: Any) -> dict[str, np.ndarray]:
    """Return the concatenated fields of all members; "member" has the number of the member of each item.

    before: a joined record. If its first and last members are the same objects, their items are copied as a whole.
    """
    names = _names(members[0])
    head = tail = 0
    if before is not None and before.members and names == [name for name in before.columns if name != "member"]:
        head, tail = common_ends(before.members, members)
    middle = members[head : len(members) - tail]
    if head + tail and any(_names(each) != names for each in middle):
        head, tail, middle = 0, 0, members
    counts = [each.pairs for each in middle]
    number = np.repeat(np.arange(head, head + len(middle)), counts)
    if head + tail == 0:
        names = [*dict.fromkeys(name for each in members for name in _names(each))]
        return {name: np.concatenate(_items(middle, counts, name)) for name in names} | {"member": number}
    columns, gone = dict(before.columns), before.members[head : len(before.members) - tail]
    old = columns["member"]
    end, begin = np.searchsorted(old, [head, len(before.members) - tail])
    for name in names:
        now, then = [[each.fields.get(name) for each in those] for those in (middle, gone)]
        if len(now) != len(then) or any(map(is_not, now, then)):
            columns[name] = np.concatenate([columns[name][:end], *_items(middle, counts, name), columns[name][begin:]])
    if counts != [each.pairs for each in gone]:
        columns["member"] = np.concatenate([old[:end], number, old[begin:] + (len(middle) - len(gone))])
    return columns


def _names(record: Any) -> list[str]:
    """Return the names of fields with an item per pair."""
    return [name for name in record.fields if name not in SHARED]


def _items(members: Sequence[Any], counts: list[int], name: str) -> list[np.ndarray]:
    """Return a field of each member, expanded to one item per pair."""
    values = [each.fields.get(name, MISSING) for each in members]
    if list(map(len, values)) != counts or any(map(is_, values, repeat(MISSING))):
        like = next(each for each in values if each is not MISSING)
        values = [_spread(*each, name, like) for each in zip(values, counts, strict=True)]
    return values


def _spread(values: np.ndarray, count: int, name: str, like: np.ndarray) -> np.ndarray:
    """Return a field with an item per pair. like: the field of a record that has it."""
    if values is MISSING:
        return np.full((count, *like.shape[1:]), ABSENT[name], like.dtype)
    return values if len(values) == count else np.broadcast_to(values, (count, *values.shape[1:]))


def _order(
    columns: dict[str, np.ndarray], members: Sequence[ConstraintRecord], systems: Sequence[Sequence[ConstraintRecord]]
) -> np.ndarray | None:
    """Return the order of pairs in the solver; None for the order of the members.

    The pairs of several members that form a system are sorted by their bodies, independent of the declarations and of
    the order in which they were added. Pairs with graph colouring follow, colour by colour. A member that is
    a system by itself keeps its order.
    """
    from ..constraints.joints import colours  # loaded late: only needed for joined constraints

    if all(len(system) == 1 for system in systems):
        return None
    member = columns["member"]
    several = np.array([len(system) > 1 for system in systems for _ in system])[member]
    coloured = np.array([_is_coloured(each) for each in members])[member][several]
    pairs = np.stack([columns["first"][several], columns["second"][several]], axis=1)
    order = np.lexsort((pairs.max(axis=1), pairs.min(axis=1), coloured))
    begin = len(pairs) - np.count_nonzero(coloured)
    colour = colours(pairs[order[begin:]])
    order[begin:] = order[begin:][np.argsort(colour, kind="stable")]
    whole, there = np.arange(len(member)), np.flatnonzero(several)
    whole[there] = there[order]
    return whole


def _is_coloured(record: ConstraintRecord) -> bool:
    return getattr(record.constraint, "order", None) == "coloured"
