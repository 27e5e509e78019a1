"""Pairs of several `Distance` that hold bodies in common: one system, as if one declaration had them all."""

from __future__ import annotations

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
    owner = np.arange(len(records))  # of each record: the first of its system
    holder = np.full(n, -1)  # of each body: the last record that can move it
    for number, record in enumerate(records):
        moved = _moved(record)
        for other in np.unique(owner[holder[moved][holder[moved] >= 0]]):
            low, high = sorted((owner[number], other))
            owner[owner == high] = low
        holder[moved] = number
    systems: dict[int, list[ConstraintRecord]] = {}
    for first, record in zip(owner.tolist(), records, strict=True):
        systems.setdefault(first, []).append(record)
    before = {tuple(map(id, record.members)): record for record in known}
    return [
        system[0] if len(system) == 1 else before.get(tuple(map(id, system))) or _joined(system)
        for system in systems.values()
    ]


def _moved(record: ConstraintRecord) -> np.ndarray:
    fields = record.fields
    return np.concatenate([fields[end][fields[f"move_{end}"] > 0] for end in ("first", "second")])


def _pairs(system: Sequence[ConstraintRecord]) -> np.ndarray:
    return np.concatenate([np.stack([each.fields["first"], each.fields["second"]], axis=1) for each in system])


def _joined(system: Sequence[ConstraintRecord]) -> ConstraintRecord:
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
    return ConstraintRecord(kind, system[0].constraint, fields, tuple(system))


def _is_coloured(record: ConstraintRecord) -> bool:
    return getattr(record.constraint, "order", None) == "coloured"
