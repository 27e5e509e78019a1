"""Pairs of several `Distance` that hold bodies in common: one system, as if one declaration had them all."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from .pieces import ConstraintRecord

#: The kinds of `Distance`.
PAIRED = ("distance", "compliant_distance")
#: What stands in the place of what a record does not say: it is rigid, and of the first bodies in their slots.
ABSENT = {"compliance": -1.0, "drag_first": 0.0, "drag_second": 0.0, "tenants": 1}


def tied(n: int, records: Sequence[ConstraintRecord], known: Sequence[ConstraintRecord]) -> list[ConstraintRecord]:
    """Records of distances among n bodies, with one record in the place of those that share a body that they can move.

    What pulls at a body after another did undoes some of what that did; so all pull in turn until they agree. Of one
    record that has nothing in common with others nothing changes. known: records from before, which are taken over
    where they are of the same ones.
    """
    if len(records) < 2:
        return list(records)
    moved = [record.moved for record in records]
    holders = np.repeat(np.arange(len(records)), list(map(len, moved)))
    bodies = np.concatenate(moved)
    first = np.zeros(n, np.int64)
    first[bodies[::-1]] = holders[::-1]  # of each body: the first record that can move it
    owner = [*range(len(records))]  # of each record: one before it in its system, or itself
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
    """One record of several.

    Its pairs come by their bodies, and so do not depend on which declaration has them and on what was added when.
    Those that are to be coloured follow, colour by colour. All are corrected as often as those that ask for most.
    """
    from ..constraints.joints import colours  # there already, and not loaded where nothing is tied

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
        elif name == "response":  # of the integrator
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
    kind = "compliant_distance" if "compliance" in fields else "distance"
    joined = ConstraintRecord(kind, system[0].constraint, fields, tuple(system))
    lineage = lineages.get(_lineage(joined))
    return joined if lineage is None else dataclasses.replace(joined, lineage=lineage)


def _is_coloured(record: ConstraintRecord) -> bool:
    return getattr(record.constraint, "order", None) == "coloured"
