"""A deviation of one player's state is found on every line, at a bounded price."""

import random
import struct
from functools import partial

import numpy as np
import pytest

import kickdrift as kd
from kickdrift.rollback import inputs
from kickdrift.stepper.common import State


class Duel:
    """Two players over a line with packets in bursts: sent, or received, only in some frames by each player."""

    def __init__(self, players=2, ticks=60):
        self.worlds = [kd.Stepper(np.zeros((players, 1)), hz=60) for _ in range(players)]
        self.pasts = [kd.Rollback(world, ticks) for world in self.worlds]
        self.tables = [kd.Inputs(players, me=me) for me in range(players)]
        self.line, self.frame = [], 0
        self.wrong = None  # tick at which the state of player 1 deviates

    def control(self, me, world, keys):
        world.velocity[:, 0] += np.array(keys) % 7 - 3.0
        if (me, world.tick) == (1, self.wrong):
            world.velocity[0] += 1e-3

    def run(self, frames, lag, sends, receives, most=2**32):
        dice = random.Random(0)
        for _ in range(frames):
            for me, table in enumerate(self.tables):
                if self.frame < 8 or receives(self.frame, me):
                    for each in [each for each in self.line if each[0] <= self.frame and each[1] == me]:
                        table.receive(each[2])
                        self.line.remove(each)
                table.play(self.pasts[me], dice.randrange(most), partial(self.control, me))
                if self.frame < 8 or sends(self.frame, me):
                    others = [to for to in range(len(self.tables)) if to != me]
                    self.line += [(self.frame + lag, to, table.packet()) for to in others]
            self.frame += 1


def every(period, shift):
    return lambda frame, me: (frame + me * shift) % period == 0


def always(frame, me):
    return True


def found(sends, receives, lag):
    """Return in which frame a deviation at tick 100 is found."""
    duel = Duel()
    duel.wrong = 100
    with pytest.raises(kd.DesyncError) as caught:
        duel.run(600, lag, sends, receives)
    assert caught.value.tick > 100
    assert caught.value.tick % 8 == 0
    return duel.frame


BURSTS = [(period, shift) for period in (8, 16, 20, 24, 32) for shift in sorted({0, 5, 8, period // 2})]


@pytest.mark.parametrize(("period", "shift"), BURSTS)
@pytest.mark.parametrize("lag", [1, 5, 9])
def test_a_deviation_is_found_in_bursts(period, shift, lag):
    """Regression: it was never found if the players had no confirmed frame in common that both had summed."""
    for burst in ((every(period, shift), always), (always, every(period, shift))):
        assert found(*burst, lag) <= 104 + 3 * period + 2 * lag


@pytest.mark.parametrize(("period", "shift"), [(16, 8), (24, 12)])
def test_equal_states_in_bursts_raise_nothing(period, shift):
    duel = Duel()
    duel.run(600, 3, every(period, shift), always)
    assert min(world.tick for world in duel.worlds) > 580
    one, other = (table._sums for table in duel.tables)
    common = one.keys() & other.keys()
    assert len(common) > 60
    assert all(one[frame] == other[frame] for frame in common)


@pytest.mark.parametrize(("period", "at_once"), [(1, 1), (24, 3)])
def test_each_eighth_frame_is_summed_once(monkeypatch, period, at_once):
    """The price: a checksum for each eighth frame. After a burst, one for each eighth saved state at most."""
    duel, sums, counts = Duel(ticks=40), [], []
    for owner in (kd.Rollback, State):
        whole = owner.checksum
        monkeypatch.setattr(owner, "checksum", lambda *which, whole=whole: sums.append(which[0]) or whole(*which))
    table = duel.tables[0]

    def play(*arguments, play=table.play):
        before = len(sums)
        play(*arguments)
        counts.append(len(sums) - before)

    table.play = play
    duel.run(400, 2, every(period, period // 2), always)
    assert sum(counts) == table._summed // 8 > 40
    assert max(counts) == at_once <= 40 // 8


def test_few_checksums_are_remembered():
    duel = Duel()
    duel.run(1200, 2, always, always)
    assert all(len(table._sums) == inputs.KEPT for table in duel.tables)
    assert all(len(waiting) <= 1 for table in duel.tables for waiting in table._theirs)


def forged(packet, agreed):
    """Return a packet with the checksum of another frame."""
    data = bytearray(packet[:-4])
    struct.pack_into("<I", data, 9, 2**31 - 1)
    struct.pack_into("<IQ", data, 17, agreed, 12345)
    return bytes(data) + struct.pack("<I", inputs.zlib.crc32(data))


def test_checksums_of_one_player_do_not_displace_those_of_others():
    """Regression: after 512 checksums of frames that never come, none was accepted from anybody."""
    duel = Duel(players=3)
    duel.run(50, 2, always, always)
    for far in range(1000):
        duel.tables[0].receive(forged(duel.tables[2].packet(), 10**6 + 8 * far))
    assert len(duel.tables[0]._theirs[2]) == inputs.KEPT
    duel.wrong = 100
    with pytest.raises(kd.DesyncError) as caught:
        duel.run(100, 2, always, always)
    assert caught.value.tick == 104


def test_the_first_frame_that_differs_is_named():
    """Also if its packets arrive in another order."""
    duel = Duel()
    duel.run(100, 2, always, always)
    one, other = duel.tables
    agreed = one._summed
    for frame in (3, 2, 1):
        one.receive(forged(other.packet(), agreed + 8 * frame))
    with pytest.raises(kd.DesyncError) as caught:
        duel.run(60, 2, every(48, 0), always)
    assert caught.value.tick == agreed + 8
    assert caught.value.got == 12345


def test_a_new_rollback_lacks_states_and_comparison_goes_on():
    """A frame whose state is not kept is passed over."""
    duel = Duel()
    duel.run(100, 9, every(12, 6), always, most=1)  # all guesses are right
    duel.pasts = [kd.Rollback(world) for world in duel.worlds]
    end = duel.worlds[0].tick
    duel.run(100, 9, every(12, 6), always, most=1)
    sums = duel.tables[0]._sums
    assert 0 < len({*range(8, end, 8)} - sums.keys()) < 5
    assert [*sums][-8:] == [*range(duel.tables[0]._summed - 56, duel.tables[0]._summed + 1, 8)]
    duel.wrong = duel.worlds[1].tick
    with pytest.raises(kd.DesyncError):
        duel.run(100, 9, every(12, 6), always, most=1)
