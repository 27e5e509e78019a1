"""Joining of `Distance` constraints that share bodies into one system."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from ..constraints.base import ABSENT
from .pieces import ConstraintRecord

#: The kinds of `Distance`.
PAIRED = ("distance", "compliant_distance")


def tied(n: int, records: Sequence[ConstraintRecord], known: Sequence[ConstraintRecord]) -> list[ConstraintRecord]:
    """Join distance records that share a movable body into one record each.

    Correcting one constraint violates others at the same body, therefore connected constraints are iterated together.
    A record that shares no body is unchanged. known: previous records, which are reused if they have the same
    members.
    """
    if len(records) < 2:
        return list(records)
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
    before = {tuple(map(id, record.members)): record for record in known}
    lineages = {_lineage(record): record.lineage for record in known if record.members}
    return [
        system[0] if len(system) == 1 else before.get(tuple(map(id, system))) or _joined(system, lineages)
        for system in systems.values()
    ]


def _root(owner: list[int], number: int) -> int:
    while owner[number] != number:
        number = owner[number]
    return number


def _lineage(record: ConstraintRecord) -> tuple[int, ...]:
    return tuple(id(member.lineage) for member in record.members)


def _pairs(system: Sequence[ConstraintRecord]) -> np.ndarray:
    return np.concatenate([np.stack([each.fields["first"], each.fields["second"]], axis=1) for each in system])


def _joined(system: Sequence[ConstraintRecord], lineages: dict[tuple[int, ...], object]) -> ConstraintRecord:
    """Join several records into one.

    Pairs are sorted by their bodies, independent of the declarations and of the order in which they were added. Pairs
    with graph colouring follow, colour by colour. The number of iterations is the largest of all records.
    """
    from ..constraints.joints import colours  # loaded late: only needed for joined constraints

    pairs = _pairs(system)
    coloured = np.concatenate([np.full(len(each.fields["first"]), _is_coloured(each)) for each in system])
    order = np.lexsort((pairs.max(axis=1), pairs.min(axis=1), coloured))
    begin = len(pairs) - np.count_nonzero(coloured)
    colour = colours(pairs[order[begin:]])
    order[begin:] = order[begin:][np.argsort(colour, kind="stable")]
    fields: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(name for each in system for name in each.fields):
        given = [each.fields[name] for each in system if name in each.fields]
        if name == "iterations":
            fields[name] = np.max(given, axis=0)
        elif name == "response":  # a property of the integrator
            fields[name] = given[0]
        else:
            shape = given[0].shape[1:]
            columns = [
                np.broadcast_to(
                    each.fields[name] if name in each.fields else ABSENT[name], (len(each.fields["first"]), *shape)
                )
                for each in system
            ]
            fields[name] = np.concatenate(columns)[order].astype(given[0].dtype, copy=False)
    fields["member"] = np.repeat(np.arange(len(system)), [len(each.fields["first"]) for each in system])[order]
    kind = "compliant_distance" if "compliance" in fields else "distance"
    joined = ConstraintRecord(kind, system[0].constraint, fields, tuple(system))
    lineage = lineages.get(_lineage(joined))
    return joined if lineage is None else dataclasses.replace(joined, lineage=lineage)


def _is_coloured(record: ConstraintRecord) -> bool:
    return getattr(record.constraint, "order", None) == "coloured"
