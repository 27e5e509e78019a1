"""Events in plain Python: contacts recorded by constraints in a step, and the events derived from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..stepper.events import BEGIN, BREAK, END, ENTER, HIT, LEAVE, Events, fields, key, reporting, slots
from .constraints.motion import laid_out
from .constraints.touching import TOUCHING
from .vector import Vector


class Contact(NamedTuple):
    """A contact in a step: times since impact and since separation, approach speed, impulse, point and normal.

    Both times are relative to the end of the step; the separation time `left` is negative while the contact is active.
    """

    time_since: Any
    left: Any
    speed: Any
    slow: Any  #: contacts with approach speeds up to this are resting
    impulse: Any
    point: Any
    normal: Any


class Log:
    """The events of a stepper, and the pairs in contact."""

    def __init__(self, asked: Events, dim: int):
        self.asked, self.dim = asked, dim
        self.rows: list[tuple] = []
        self.dropped = 0
        #: Keys of the pairs in contact, by number of the constraint.
        self.touching: dict[int, list[int]] = {}

    def take(self) -> np.ndarray:
        rows, self.rows = self.rows, []
        return np.array(rows, fields(self.dim))

    def cut(self, tick: int) -> None:
        """Drop events after a tick."""
        self.rows = [row for row in self.rows if row[0] <= tick]

    def follow(self, before, now) -> None:
        """Assign the pairs in contact to a changed list of constraints: by identity, else by number."""
        old, new, touching = reporting(before), reporting(now), {}
        numbers = {id(before.constraints[source]): source for source in old}
        for source, kind in new.items():
            was = numbers.get(id(now.constraints[source]), source)
            if was in old and old[was].capacity == kind.capacity and was in self.touching:
                touching[source] = self.touching[was]
        self.touching = touching

    def forget_spawned(self, lives) -> None:
        """Forget pairs with bodies spawned since the last step: the previous bodies in these slots were in contact."""
        for keys in self.touching.values() if lives is not None else ():
            keys[:] = [each for each in keys if not any(lives.needs_start[slot] for slot in slots(each) if slot >= 0)]

    def report_impacts(self, system, contacts: dict[int, dict[int, Contact]]) -> None:
        """Derive the events of a step from its contacts, by number of the constraint and key of the pair."""
        for source, kind in sorted(reporting(system.plan).items()):
            record = next(
                record
                for record in system.plan.constraint_records
                if record.kind != "corners" and system.plan.source(record) == source  # corners record for walls
            )
            met, was = contacts.get(source, {}), set(self.touching.get(source, []))
            touches, place = TOUCHING[record.kind](system, laid_out(system, record, float(system.stepper._h)))
            tracked = kind.region or self.asked.begin or self.asked.end
            self.touching[source] = []
            for each in sorted(met.keys() | was):
                still = each in met and met[each].left < 0
                now = tracked and (still or (is_active(system, each) and touches(each)))
                self.visit(system, source, kind.region, each, met.get(each), each in was, now, place)
                if now and len(self.touching[source]) < kind.capacity:
                    self.touching[source].append(each)
                elif now:
                    self.dropped += 1

    def visit(self, system, source, region, each, contact, was, now, place) -> None:
        """Record the events of one pair in a step."""
        begin, end = (region or self.asked.begin), (region or self.asked.end)
        zero = system.real(0)
        if contact is not None and contact.impulse < 0:
            contact = contact._replace(impulse=0.0)  # the impulse only corrected the speed of separating bodies
        if contact is None:
            if was == now:
                return
            nowhere = Vector([zero] * system.dim)  # the bodies were killed
            point, normal = place(each) if is_active(system, each) else (nowhere, nowhere)
            contact = Contact(0.0, system.stepper._h, 0.0, 0.0, 0.0, point, normal)
            met = False
        else:
            met = True
        again = was and not contact.impulse > 0  # a continuing sensor contact is no HIT
        fast = contact.speed > self.asked.hits_above and contact.speed > contact.slow
        if met and not region and fast and not again:
            self.add(system, HIT, source, each, contact.time_since, contact)
        if begin and not was:
            self.add(system, ENTER if region else BEGIN, source, each, contact.time_since, contact)
        if end and not now:
            still = contact if region else contact._replace(speed=zero, impulse=zero)
            self.add(system, LEAVE if region else END, source, each, contact.left, still)

    def broke(self, system, source, i, j, point, normal, impulse) -> None:
        """Record the break of a pair."""
        zero = system.real(0)
        self.add(system, BREAK, source, key(i, j), zero, Contact(zero, zero, zero, zero, impulse, point, normal))

    def add(self, system, kind, source, each, time_since, contact: Contact) -> None:
        if len(self.rows) == self.asked.capacity:
            self.dropped += 1
            return
        tick = system.tick + 1
        time = system.stepper._time_of(tick) - float(time_since)
        a, b = slots(each)
        lives = system.stepper._slots  # later despawns do not change the ids
        ids = [
            slot if slot < 0 else (1 if lives is None else int(lives.generation[slot])) << 32 | slot for slot in (a, b)
        ]
        vectors = [tuple(map(float, vector)) for vector in (contact.point, contact.normal)]
        row = (tick, time, int(kind), source, *ids, a, b, *vectors, float(contact.speed), float(contact.impulse))
        self.rows.append(row)


def is_active(system, each) -> bool:
    """Return whether all bodies of a pair are active; despawned ones have no contacts."""
    return all(slot < 0 or system.alive[slot] for slot in slots(each))


class Reports:
    """The contacts recorded by the constraints of a system in a step."""

    def __init__(self) -> None:
        self.contacts: dict[int, dict[int, Contact]] = {}

    def add(self, source, slot_a, slot_b, time_since, left, speed, slow, impulse, point, normal) -> None:
        """Record a contact; of several contacts of a pair the fastest is kept, with the sum of the impulses."""
        own = self.contacts.setdefault(source, {})
        each = key(slot_a, slot_b)
        before = own.get(each)
        time_since, left, speed, slow, impulse = map(float, (time_since, left, speed, slow, impulse))
        if before is not None:
            impulse = before.impulse + impulse
            if not speed > before.speed:
                own[each] = before._replace(impulse=impulse)
                return
        own[each] = Contact(time_since, left, speed, slow, impulse, point, normal)
