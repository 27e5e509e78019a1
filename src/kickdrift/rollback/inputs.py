"""The inputs of all players of a rollback game: predicted, confirmed, acknowledged."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from itertools import groupby
from typing import Any

from .. import validation
from ..errors import DesyncError
from .rollback import Rollback

# A packet: magic and version, player, players, runs; frame of the sender, first frame of its inputs, frame and value of
# a checksum; per player how many inputs the sender knows, and how many frames it is ahead of that player; runs of equal
# inputs; CRC-32. Numbers are little-endian.
_MAGIC = b"kdin\x01"
_HEAD = struct.Struct("<5sBBHIIIQ")
_PEER = struct.Struct("<Ii")
_RUN = struct.Struct("<IH")
_CRC = struct.Struct("<I")
#: Maximum number of inputs in a packet; number of frames between two checksums; checksums kept of each player.
MOST, EVERY, KEPT = 512, 8, 64
#: Largest fraction by which a player that is ahead slows down; number of frames ahead that is tolerated.
SLOWEST, TOLERATED = 0.02, 0.5
_FRAMES = 2**31


class Inputs:
    """The table of inputs of a netplay game: which are known, what is predicted, and who is ahead.

    players: how many, 1 to 64. delay: frames between a key and its effect, at least 0, for all players the same. A
    delay of 2 to 4 hides as many frames of latency, and saves as many rollbacks. me: the number of the player here.

    An input is an int from 0 to 2**32 - 1, usually bits of keys. A frame is a step of the stepper's clock. Inputs of
    others that are not known yet are predicted to be the last known ones. `play` rolls back when a prediction was
    wrong, and plays a frame. `packet` has all inputs that a peer may lack, so that lost packets need no repetition, and
    `receive` accepts packets in any order, any number of times. Send a packet to all other players each frame, by UDP
    for example. Both work with bytes, not with sockets.

    `rate` is 1, or down to 0.98 while this player is ahead of another: multiply the time of your frames by it. No frame
    is played before a packet of every other player has arrived.

    Frames count from the tick at which the table first plays, where all players need the same state. For another round,
    and when a player joins or comes back, all restore the same snapshot and make new tables.

    Raises TypeError or ValueError for wrong numbers. Thread-safety: none.

    >>> import kickdrift as kd
    >>> def control(world, keys):
    ...     world.velocity[:, 0] = keys
    >>> worlds = [kd.Stepper([[0.0], [0.0]], dt=1) for _ in range(2)]
    >>> pasts = [kd.Rollback(world) for world in worlds]
    >>> tables = [kd.Inputs(2, delay=1, me=me) for me in range(2)]
    >>> for frame in range(6):
    ...     for me in range(2):
    ...         tables[1 - me].receive(tables[me].packet())
    ...     played = [tables[me].play(pasts[me], frame, control) for me in range(2)]
    >>> tables[0].confirmed, [world.tick for world in worlds], worlds[0].velocity.tolist()
    (6, [6, 6], [[4.0], [4.0]])
    """

    def __init__(self, players: int, delay: int = 2, *, me: int = 0) -> None:
        self.players = validation.integer("players", players, 1, 64)
        self.delay = validation.integer("delay", delay, 0, 60)
        self.me = validation.integer("me", me, 0, self.players - 1)
        #: Known inputs of each player, from frame `_first` on: earlier ones are dropped.
        self._known: list[list[int]] = [[] for _ in range(self.players)]
        self._known[self.me] = [0] * self.delay
        self._first = 0
        self._frame = 0
        #: Tick at which frame 0 begins, set when it is played; ticks of a frame.
        self._start: int | None = None
        self._substeps = 1
        #: Of each player: how many of our inputs it knows; by how many frames we are ahead of it (smoothed); its frame
        #: in the latest packet, or -1 before the first packet.
        self._acknowledged = [0] * self.players
        self._lead = [0.0] * self.players
        self._heard = [-1] * self.players
        self._used: dict[int, list[int]] = {}  # inputs of frames that used predictions
        #: Our checksums by frame, ascending; the last frame with one; of each player those not compared yet.
        self._sums: dict[int, int] = {}
        self._summed = 0
        self._theirs: list[dict[int, int]] = [{} for _ in range(self.players)]
        self.deepest = 0  #: largest number of frames that one rollback has replayed

    def _count(self, player: int) -> int:
        return self._first + len(self._known[player])

    @property
    def _complete(self) -> int:
        """Number of frames whose inputs are all known."""
        return min(map(self._count, range(self.players)))

    @property
    def confirmed(self) -> int:
        """Number of frames whose inputs are all known and were played correctly: the state before frame `confirmed`
        can no longer change. A frame that was played with a wrong prediction counts from the next `play` on, which
        corrects the frame. The number may be ahead of the stepper. `Rollback.events` counts ticks: see
        `confirmed_tick`."""
        return min([self._complete, *(now for now, used in self._used.items() if self._differs(now, used))])

    @property
    def confirmed_tick(self) -> int:
        """`confirmed` as a tick of the stepper, for `Rollback.events`; -1 before the first frame is played."""
        return -1 if self._start is None else self._start + self.confirmed * self._substeps

    @property
    def ready(self) -> bool:
        """True if a packet has arrived from every other player."""
        return all(heard >= 0 for player, heard in enumerate(self._heard) if player != self.me)

    @property
    def ahead(self) -> float:
        """By how many frames this player is ahead of the player that is farthest behind, latency removed."""
        return max([0.0, *(lead for player, lead in enumerate(self._lead) if player != self.me)])

    @property
    def rate(self) -> float:
        """Factor on the speed of play, 0.98 to 1: a player that is ahead slows down."""
        return 1.0 - SLOWEST * min(1.0, max(0.0, (self.ahead - TOLERATED) / 2))

    def at(self, frame: int) -> list[int]:
        """Return the input of each player at a frame of this table, predicted where it is not known.

        Raises ValueError for frames that no rollback goes back to.
        """
        frame = validation.integer("frame", frame, self._first)
        return [
            known[frame - self._first] if frame < self._count(player) else (known or [0])[-1]
            for player, known in enumerate(self._known)
        ]

    def play(self, past: Rollback, keys: int | None, control: Callable[[Any, list[int]], None]) -> bool:
        """Correct frames whose inputs were wrongly predicted, then play one frame; return whether one was played.

        past: the Rollback of the stepper.
        keys: the input of this player, which acts `delay` frames later; None corrects, and plays no frame.
        control(stepper, inputs): called before each step, with the input of each player. It depends on these and the
        stepper alone.

        No frame is played before a packet of every other player has arrived, nor beyond what `past` can go back to:
        then keep your keys and call it again.

        Raises TypeError or ValueError for a wrong argument, ValueError if the stepper was moved to a tick from which
        this table cannot go on, and DesyncError for a checksum of another player that differs. Errors of
        `control` and of steps are passed on. The frame is not played then: call it again with its keys.
        """
        if not isinstance(past, Rollback):
            raise TypeError(f"past: expected a Rollback, got {validation.show(past)}")
        if not callable(control):
            raise TypeError(f"control: expected a function of (stepper, inputs), got {validation.show(control)}")
        keys = None if keys is None else validation.integer("keys", keys, 0, 2**32 - 1)
        stepper = past.stepper
        self._substeps = substeps = 1 if stepper._clock is None else stepper._clock.substeps
        start = stepper.tick if self._start is None else self._start
        here = self._frame_of(stepper.tick, start)
        frame = max(here, self._frame)  # the stepper lags after an error in a correction

        def inputs(world: Any, tick: int) -> None:
            now = (tick - start) // substeps
            used = self.at(now)
            if now >= self._complete:
                self._used[now] = used
            control(world, used)

        wrong = [now for now, used in self._used.items() if now < frame and self._differs(now, used)]
        if wrong:
            self.deepest = max(self.deepest, frame - min(wrong))
        first = start + min([*wrong, here]) * substeps
        if first < stepper.tick:
            past.rollback(first)
        past.resimulate(start + frame * substeps, inputs)
        confirmed = self._complete
        self._used = {now: used for now, used in self._used.items() if now >= confirmed}
        self._compare(past, min(confirmed, frame), start)
        if keys is None or not self.ready or frame - confirmed >= past._ticks - 1:
            return False
        self._start, end = start, start + (frame + 1) * substeps
        try:
            self._known[self.me].append(keys)
            past.resimulate(end, inputs)
        finally:
            if stepper.tick < end:
                del self._known[self.me][frame + self.delay - self._first :]
        self._frame = frame + 1
        self._forget()
        return True

    def _frame_of(self, tick: int, start: int) -> int:
        """Return the frame of a tick, one that this table can go on from."""
        frame, last = (tick - start) // self._substeps, self._count(self.me) - self.delay
        if not self._first <= frame <= last:
            low, high = (start + each * self._substeps for each in (self._first, last))
            raise ValueError(
                f"past: expected a stepper at a tick from {low} to {high}, where this table goes on, got {tick}: for "
                f"another round make new tables"
            )
        return frame

    def _differs(self, frame: int, used: list[int]) -> bool:
        known = zip(self._known, used, strict=True)
        return any(frame - self._first < len(own) and own[frame - self._first] != one for own, one in known)

    def _compare(self, past: Rollback, agreed: int, start: int) -> None:
        """Save the checksum of each confirmed frame divisible by EVERY; compare received checksums with ours.

        Players confirm frames at different times, and several at once when packets come in bursts. A player who saves
        only that of the last one may never have a frame in common with another.
        """
        for frame in range(self._summed + EVERY, agreed + 1, EVERY):
            tick = start + frame * self._substeps
            if tick == past.stepper.tick:
                self._sums[frame] = past.stepper.checksum()
            elif tick in past._snapshots:  # not if `past` is another one since then
                self._sums[frame] = past.checksum(tick)
            self._summed = frame
        while len(self._sums) > KEPT:
            del self._sums[next(iter(self._sums))]
        due = [(frame, player) for player, waiting in enumerate(self._theirs) for frame in waiting]
        for frame, player in sorted(each for each in due if each[0] <= self._summed):
            theirs = self._theirs[player].pop(frame)
            if self._sums.get(frame, theirs) != theirs:
                raise DesyncError(start + frame * self._substeps, self._sums[frame], theirs, player)

    def _forget(self) -> None:
        """Drop inputs that all players have received and that no rollback needs."""
        others = [count for player, count in enumerate(self._acknowledged) if player != self.me]
        first = min([self.confirmed, self._frame - MOST, *others])
        if first > self._first + MOST:
            for known in self._known:
                del known[: first - self._first]
            self._first = first

    def packet(self) -> bytes:
        """Return the bytes to send to the other players, the same for all of them."""
        first = min([self._count(self.me), *(n for player, n in enumerate(self._acknowledged) if player != self.me)])
        own = self._known[self.me][first - self._first :][:MOST]
        runs = [(value, len([*run])) for value, run in groupby(own)]
        agreed = max(self._sums, default=0)
        parts = [
            _HEAD.pack(_MAGIC, self.me, self.players, len(runs), self._frame, first, agreed, self._sums.get(agreed, 0))
        ]
        peers = enumerate(self._heard)
        parts += [_PEER.pack(self._count(player), self._frame - heard) for player, heard in peers]
        data = b"".join([*parts, *(_RUN.pack(*run) for run in runs)])
        return data + _CRC.pack(zlib.crc32(data))

    def receive(self, data: bytes) -> None:
        """Process a packet of another player.

        data: untrusted bytes. Raises ValueError, and changes nothing, if they are no packet of another player of this
        game: ignore this error, because foreign and damaged packets happen. Raises TypeError for what is not bytes.
        """
        player, frame, first, agreed, checksum, counts, leads, own = self._parsed(validation.raw_bytes("data", data))
        known = self._known[player]
        if first <= self._count(player):  # else an earlier packet was lost: later ones repeat its inputs
            new = own[self._count(player) - first :]
            known += new[: max(0, self._frame + 2 * MOST - self._count(player))]
        self._acknowledged[player] = max(self._acknowledged[player], counts[self.me])
        if frame > self._heard[player]:
            self._heard[player] = frame
            # Each side sees the other's frame late by the latency. Half the difference of both leads cancels it.
            lead = (self._frame - frame - leads[self.me]) / 2
            self._lead[player] += (lead - self._lead[player]) / 8
        if agreed > 0:
            waiting = self._theirs[player]
            waiting.setdefault(agreed, checksum)
            if len(waiting) > KEPT:
                del waiting[next(iter(waiting))]

    def _parsed(self, data: bytes) -> tuple[int, int, int, int, int, list[int], list[int], list[int]]:
        """Check all of a packet: (player, frame, first, agreed, checksum, counts, leads, inputs)."""
        end = _HEAD.size + self.players * _PEER.size
        if len(data) < end + _CRC.size or data[: len(_MAGIC)] != _MAGIC:
            raise ValueError(f"packet: expected one of Inputs, got {validation.show(data[:8])}")
        _, player, players, runs, frame, first, agreed, checksum = _HEAD.unpack_from(data)
        if len(data) != end + runs * _RUN.size + _CRC.size or _CRC.unpack(data[-4:])[0] != zlib.crc32(data[:-4]):
            raise ValueError(f"packet: damaged or cut off: {len(data)} bytes")
        if players != self.players or player >= players or player == self.me:
            raise ValueError(f"packet: expected one of another of {self.players} players, got {player} of {players}")
        peers = [_PEER.unpack_from(data, _HEAD.size + number * _PEER.size) for number in range(players)]
        counts, leads = [count for count, _ in peers], [lead for _, lead in peers]
        lengths = [_RUN.unpack_from(data, end + number * _RUN.size) for number in range(runs)]
        total = sum(length for _, length in lengths)
        sound = total <= MOST and all(length > 0 for _, length in lengths) and max(frame, first, agreed) < _FRAMES
        if not sound or counts[self.me] > self._count(self.me) or agreed > frame or first + total > counts[player]:
            raise ValueError("packet: its numbers contradict each other, or what this player sent")
        own = [value for value, length in lengths for _ in range(length)]
        return player, frame, first, agreed, checksum, counts, leads, own
