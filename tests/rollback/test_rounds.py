"""Tables of inputs that begin at any tick: rematches, lobbies, players who join late."""

import random

import numpy as np
import pytest

import kickdrift as kd


def control(world, keys):
    world.velocity[:, 0] += np.array(keys) % 7 - 3.0


def worlds_at(tick, players=2, substeps=1):
    worlds = [kd.Stepper(np.zeros((players, 1)), clock=kd.FixedClock(60, substeps=substeps)) for _ in range(players)]
    for world in worlds:
        world.step(tick)
    return worlds


def tables_of(worlds, delay=2):
    pasts = [kd.Rollback(world) for world in worlds]
    return pasts, [kd.Inputs(len(worlds), delay, me=me) for me in range(len(worlds))]


def play(pasts, tables, frames, dice, late=0, pressed=None):
    """Play frames over a line that takes up to `late` frames; store the keys of the frames that were played."""
    line = []
    for frame in range(frames):
        for me, table in enumerate(tables):
            keys = dice.randrange(2**32)
            if table.play(pasts[me], keys, control) and pressed is not None:
                pressed[me].append(keys)
            line += [(frame + dice.randint(0, late), to, table.packet()) for to in range(len(tables)) if to != me]
        for _, to, packet in [each for each in line if each[0] <= frame]:
            tables[to].receive(packet)
        line = [each for each in line if each[0] > frame]
    for _, to, packet in line:
        tables[to].receive(packet)
    for past, table in zip(pasts, tables, strict=True):
        table.play(past, None, control)


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("start", [1, 30, 61, 100, 1000])
def test_a_table_begins_at_any_tick(start, substeps):
    """Regression: from tick 61 on no frame was ever played, and before it keys acted at once."""
    worlds, (twin, _) = worlds_at(start, substeps=substeps), worlds_at(start, substeps=substeps)
    pasts, tables = tables_of(worlds, delay=3)
    pressed = [[], []]
    assert [table.confirmed_tick for table in tables] == [-1, -1]
    play(pasts, tables, 100, random.Random(start), 12, pressed)
    for world, table, keys in zip(worlds, tables, pressed, strict=True):
        assert len(keys) > 85
        assert world.tick == start + len(keys) * substeps
        assert table.confirmed_tick == start + table.confirmed * substeps > start + 80 * substeps
        assert 0 < table.deepest <= 12
    frames = min(map(len, pressed))
    for both in zip(*([0, 0, 0, *keys] for keys in pressed), strict=False):
        if twin.tick == start + frames * substeps:
            break
        control(twin, both)
        twin.step(substeps)
    end = min(tables, key=lambda table: table._frame)
    assert worlds[end.me].checksum() == twin.checksum()


def test_keys_act_after_their_delay_from_any_tick():
    worlds, seen = worlds_at(30), []
    pasts, tables = tables_of(worlds, delay=4)
    for frame in range(10):
        for me in range(2):
            tables[1 - me].receive(tables[me].packet())
        for me in range(2):
            record = seen.append if me == 0 else lambda keys: None
            assert tables[me].play(pasts[me], 100 + frame, lambda world, keys, record=record: record(keys))
    assert seen == [[0, 0]] * 4 + [[100 + frame] * 2 for frame in range(6)]


def test_a_second_round_on_the_same_worlds():
    worlds, dice = worlds_at(0), random.Random(1)
    for number in range(3):
        start = worlds[0].snapshot()
        for world in worlds:
            world.restore(start)
        begin = worlds[0].tick
        pasts, tables = tables_of(worlds)
        play(pasts, tables, 200, dice, 4)
        assert begin >= 190 * number
        assert min(table.confirmed for table in tables) > 190
        assert min(world.tick for world in worlds) > begin + 190


def test_a_second_round_from_the_first_state_with_the_same_rollback():
    worlds, dice = worlds_at(0), random.Random(2)
    pasts, _ = tables_of(worlds)
    start = worlds[0].snapshot()
    for _ in range(2):
        for world in worlds:
            world.restore(start)
        _, tables = tables_of(worlds)
        play(pasts, tables, 100, dice, 4)
        assert min(world.tick for world in worlds) > 90
    assert tables[0]._sums.keys() == tables[1]._sums.keys()


def test_a_player_joins_late():
    """All restore the snapshot of one, who may have guessed: everybody continues from what it saw."""
    worlds, dice = worlds_at(0, players=3), random.Random(3)
    pasts, tables = [kd.Rollback(world) for world in worlds[:2]], [kd.Inputs(2, me=me) for me in range(2)]
    for _ in range(50):
        for me in range(2):
            if dice.random() < 0.3:
                tables[1 - me].receive(tables[me].packet())
            tables[me].play(pasts[me], dice.randrange(9), lambda world, keys: control(world, [*keys, 3]))
    assert worlds[0].tick > 30
    saved = worlds[0].snapshot()
    for world in worlds:
        world.restore(saved)
    pasts, tables = tables_of(worlds)
    play(pasts, tables, 100, dice, 5)
    assert min(world.tick for world in worlds) > worlds[0].tick - 5 > 120
    assert 2 < max(table.deepest for table in tables) <= 10  # more where frames did not count from here


def test_packets_of_the_last_round_are_refused():
    """They arrive after the new table was made, and a player who has not heard of the new round still sends them."""
    worlds, dice = worlds_at(0), random.Random(4)
    pasts, old = tables_of(worlds)
    play(pasts, old, 100, dice, 4)
    late = [table.packet() for table in old]
    saved = worlds[0].snapshot()
    for world in worlds:
        world.restore(saved)
    pasts, tables = tables_of(worlds)
    before = repr(vars(tables[0]))
    with pytest.raises(ValueError, match="packet"):
        tables[0].receive(late[1])
    assert repr(vars(tables[0])) == before
    old[1].receive(tables[0].packet())  # harmless where the old table still plays
    play(pasts, tables, 100, dice, 4)
    with pytest.raises(ValueError, match="packet"):
        kd.Inputs(2).receive(late[1])
    assert min(table.confirmed for table in tables) > 90


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_stepper_that_was_moved_elsewhere_is_refused(substeps):
    """Regression: the table played on, silently, at other frames than its inputs, or no more."""
    worlds = worlds_at(50, substeps=substeps)
    first = worlds[0].snapshot()
    pasts, tables = tables_of(worlds)
    play(pasts, tables, 1100, random.Random(5))
    world, past, table, end = worlds[0], pasts[0], tables[0], worlds[0].tick
    low = 50 + table._first * substeps
    assert low > 50
    for move in (lambda: world.step(substeps), lambda: world.restore(first), lambda: world.step(61)):
        move()
        before = repr(vars(table)), world.snapshot()
        with pytest.raises(
            ValueError,
            match=rf"^past: expected a stepper at a tick from {low} to {end}, .* got {world.tick}: .* make new tables$",
        ):
            table.play(past, 1, control)
        assert (repr(vars(table)), world.snapshot()) == before


def test_a_stepper_restored_to_an_earlier_frame_catches_up():
    """The table replays all frames since then, because it still has their inputs."""
    worlds = worlds_at(20)
    pasts, tables = tables_of(worlds)
    dice = random.Random(6)
    play(pasts, tables, 100, dice)
    saved = worlds[1].snapshot()
    play(pasts, tables, 30, dice)
    worlds[0].restore(saved)
    tables[0].play(pasts[0], None, control)
    assert worlds[0].tick == worlds[1].tick
    assert worlds[0].checksum() == worlds[1].checksum()


def test_the_first_frame_may_fail():
    """A table begins where it first tried to play, though an error left the stepper within the frame, or it moved."""
    worlds, trouble = worlds_at(8, substeps=3), [0, 1]
    pasts, tables = tables_of(worlds, delay=1)
    for me in range(2):
        tables[1 - me].receive(tables[me].packet())

    def moody(world, keys):
        world.velocity += 1
        if trouble:
            raise KeyError(trouble.pop())

    for _ in range(2):
        with pytest.raises(KeyError):
            tables[0].play(pasts[0], 1, moody)
        assert (worlds[0].tick, worlds[0].velocity.tolist()) == (8, [[0.0], [0.0]])
    assert tables[0].play(pasts[0], 1, moody)
    assert (worlds[0].tick, worlds[0].velocity.tolist()) == (11, [[1.0], [1.0]])


def test_who_waits_begins_where_the_first_frame_is_played():
    """A player waits for the others in a lobby, whose snapshot it restores."""
    worlds = worlds_at(0)
    pasts, tables = tables_of(worlds)
    assert not tables[1].play(pasts[1], 1, control)
    worlds[0].step(77)
    worlds[1].restore(worlds[0].snapshot())
    play(pasts, tables, 50, random.Random(7), 3)
    assert min(world.tick for world in worlds) > 77 + 40


def balls():
    box, events = kd.Box(0, 4, radius=0.5), kd.Events(begin=False, end=False, hits_above=0)
    world = kd.Stepper([[1.0], [3.0]], clock=kd.FixedClock(60, substeps=2), constraints=[box], events=events)
    world.step(71)
    world.events.take()
    return world


def test_confirmed_events_count_from_the_first_tick():
    dice, worlds = random.Random(8), [balls(), balls()]
    pasts, tables = tables_of(worlds)
    heard, pressed = [], [[], []]
    for _ in range(40):
        play(pasts, tables, 10, dice, 9, pressed)
        heard.append(pasts[0].events(confirmed=tables[0].confirmed_tick))
    true = balls()
    for keys in zip(*([0, 0, *each] for each in pressed), strict=False):
        control(true, keys)
        true.step(2)
    hits, events = true.events.take(), np.concatenate(heard)
    assert len(events) > 50
    assert events.tobytes() == hits[: len(events)].tobytes()
    assert len(events) > len(hits) - 20


def test_players_that_begin_with_different_states_are_found():
    worlds = worlds_at(100)
    worlds[1].position[0] += 1e-9
    pasts, tables = tables_of(worlds)
    with pytest.raises(kd.DesyncError, match="they began with another state, ") as caught:
        play(pasts, tables, 100, random.Random(9))
    assert caught.value.tick == 108
