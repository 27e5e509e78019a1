"""Events under rollback: equal in each replay, and each confirmed once."""

import copy
import gc

import numpy as np
import pytest

import kickdrift as kd

STEPPERS = pytest.mark.parametrize("stepper", [kd.Stepper, kd.reference.Stepper])
SUBSTEPS = pytest.mark.parametrize("substeps", [1, 3])


class Game:
    """Game with bullets that pass several targets per step; a hit target scores, dies and respawns elsewhere."""

    def __init__(self, stepper, substeps=1, capacity=4096, bullets=6, targets=12):
        rng = np.random.default_rng(3)
        spots = np.array([(x, y) for x in range(4) for y in range(3)][:targets]) * 20.0 + 10
        position = np.concatenate([rng.uniform(0, 80, (bullets, 2)), spots])
        velocity = np.concatenate([rng.uniform(-1, 1, (bullets, 2)) * 300, 0 * spots])
        self.bullets, self.targets = bullets, targets
        self.score = np.zeros(2, np.int64)
        self.substeps = substeps
        events = kd.Events(begin=False, end=False, capacity=capacity)
        clock = kd.FixedClock if stepper is kd.Stepper else kd.reference.FixedClock
        self.world = stepper(
            position,
            velocity,
            mass=np.array([1.0] * bullets + [1e3] * targets),
            clock=clock(5, substeps=substeps),
            constraints=[kd.ElasticCollisions([1.0] * bullets + [4.0] * targets), kd.Box(0, 80, radius=1.0)],
            events=events,
            state={"score": self.score},
            alive=bullets + targets,
        )

    def inputs(self, world, tick):
        hits = world.events.of(tick, self.substeps)
        met = hits[(hits["slot_b"] >= self.bullets) & (hits["slot_a"] < self.bullets)]
        self.score += len(met), int(met["tick"].sum())
        gone = np.unique(met["slot_b"])
        world.kill(gone[world.alive[gone]])
        if tick % (3 * self.substeps) == 0:
            world.spawn(np.random.default_rng(tick).uniform(10, 70, (world.n - world.count, 2)))


@STEPPERS
@SUBSTEPS
def test_a_score_from_events_equals_that_without_rollback(stepper, substeps):
    frames = 300 if stepper is kd.Stepper else 14
    straight, game = Game(stepper, substeps), Game(stepper, substeps)
    plain, past = kd.Rollback(straight.world, ticks=1), kd.Rollback(game.world, ticks=9)
    rng = np.random.default_rng(5)
    for frame in range(1, frames + 1):
        plain.resimulate(frame * substeps, straight.inputs)
        past.resimulate(frame * substeps, game.inputs)
        if len(past.ticks) > 1:
            past.rollback(past.ticks[int(rng.integers(len(past.ticks)))])
            past.resimulate(frame * substeps, game.inputs)
        assert game.score.tolist() == straight.score.tolist(), frame
    assert game.score[0] > frames / 4
    assert game.world.checksum() == straight.world.checksum()


def test_confirmed_events_are_still_available_in_replays():
    game = Game(kd.Stepper)
    past = kd.Rollback(game.world, ticks=8)
    past.resimulate(30, game.inputs)
    score, events = game.score.copy(), past.events(confirmed=30)
    assert len(events)
    past.rollback(past.ticks[0])
    past.resimulate(30, game.inputs)
    assert game.score.tolist() == score.tolist()
    assert len(past.events(confirmed=30)) == 0


def test_each_event_is_confirmed_once():
    straight, game = Game(kd.Stepper), Game(kd.Stepper)
    plain, past = kd.Rollback(straight.world, ticks=1), kd.Rollback(game.world, ticks=6)
    plain.resimulate(40, straight.inputs)
    taken = []
    for tick in range(1, 41):
        past.resimulate(tick, game.inputs)
        past.rollback(past.ticks[0])
        past.resimulate(tick, game.inputs)
        taken.append(past.events(confirmed=tick - 6))
    taken.append(past.events(confirmed=40))
    assert np.concatenate(taken).tobytes() == plain.events(confirmed=40).tobytes()


def test_ticks_that_are_confirmed_in_advance_keep_their_events():
    straight, game = Game(kd.Stepper), Game(kd.Stepper)
    plain, past = kd.Rollback(straight.world), kd.Rollback(game.world)
    plain.resimulate(40, straight.inputs)
    taken = []
    for tick in range(0, 40, 4):
        taken.append(past.events(confirmed=tick + 3))
        past.resimulate(tick + 4, game.inputs)
    taken.append(past.events(confirmed=1000))
    assert np.concatenate(taken).tobytes() == plain.events(confirmed=40).tobytes()


@STEPPERS
def test_sync_test_passes_for_game_logic_with_events(stepper):
    game = Game(stepper)
    kd.sync_test(game.world, frames=40 if stepper is kd.Stepper else 6, distance=4, inputs=game.inputs)
    assert stepper is not kd.Stepper or game.score[0] > 5


def test_sync_test_leaves_events_to_the_existing_rollback():
    straight, game = Game(kd.Stepper), Game(kd.Stepper)
    plain, past = kd.Rollback(straight.world, ticks=20), kd.Rollback(game.world, ticks=20)
    plain.resimulate(20, straight.inputs)
    past.resimulate(10, game.inputs)
    kd.sync_test(game.world, frames=10, inputs=game.inputs)
    assert past.events(confirmed=20).tobytes() == plain.events(confirmed=20).tobytes()


def test_take_under_a_rollback_suggests_the_alternatives():
    game = Game(kd.Stepper)
    past = kd.Rollback(game.world)
    with pytest.raises(RuntimeError, match=r"events.of\(tick\).*rollback.events\(confirmed=tick\)"):
        game.world.events.take()
    with pytest.raises(RuntimeError, match="belong to its Rollback"):
        past.resimulate(2, lambda world, tick: world.events.take())
    assert game.world.tick == 0
    del past
    gc.collect()
    game.world.step(5)
    assert len(game.world.events.take())
    with pytest.raises(RuntimeError, match=r"kickdrift\.Rollback"):
        game.world.events.of(5)


def test_events_belong_to_the_latest_rollback():
    game = Game(kd.Stepper)
    first = kd.Rollback(game.world)
    second = kd.Rollback(game.world)
    first.resimulate(5, game.inputs)
    with pytest.raises(RuntimeError, match="a later Rollback"):
        first.events(confirmed=5)
    first.rollback(3)  # the second Rollback must account for this
    assert second.events(confirmed=5)["tick"].max(initial=0) <= 3
    del second
    gc.collect()
    first.resimulate(8, game.inputs)
    assert len(first.events(confirmed=8))
    twin = copy.deepcopy(first)
    twin.resimulate(20)
    assert len(twin.events(confirmed=20))


def test_of_refuses_ticks_outside_the_history():
    game = Game(kd.Stepper)
    past = kd.Rollback(game.world, ticks=4)
    past.resimulate(20, game.inputs)
    log = game.world.events
    assert past.ticks == [16, 17, 18, 19]
    for tick, ticks in ((15, 1), (21, 1), (16, 2), (19, 9)):
        with pytest.raises(ValueError, match=r"expected one from \d+ to 20"):
            log.of(tick, ticks)
    whole = np.concatenate([log.of(tick) for tick in range(16, 21)])
    assert whole.tobytes() == log.of(20, 5).tobytes()
    assert log.of(16).dtype == whole.dtype
    with pytest.raises(TypeError, match="tick"):
        log.of(1.5)
    with pytest.raises(ValueError, match="ticks"):
        log.of(20, 0)
    with pytest.raises(RuntimeError, match="made without"):
        kd.Stepper([[0.0]]).events.of(0)


def test_unconfirmed_events_are_limited_by_the_capacity():
    game = Game(kd.Stepper, capacity=12)
    past = kd.Rollback(game.world, ticks=3)
    past.resimulate(200, game.inputs)
    kept = past.events(confirmed=200)
    assert game.world.events.dropped > 0
    assert 0 < len(kept) <= 12 + 3 * 12


def test_the_oldest_events_are_dropped_and_counted_once():
    """A ball hits a side of its box in each tick; its events are not requested until tick 20."""
    events = kd.Events(capacity=5, begin=False, end=False)
    ball = kd.Stepper([[0.5]], [[1.0]], dt=1.0, constraints=[kd.Box(0.0, 1.0, 1.0)], events=events)
    past = kd.Rollback(ball, ticks=2)
    for tick in range(1, 21):
        past.resimulate(tick, lambda world, tick: None)
        past.rollback(past.ticks[0])
        past.resimulate(tick, lambda world, tick: None)
        assert ball.events.dropped == max(0, tick - 6)
    with pytest.raises(ValueError, match="expected one from 18 to 20"):
        ball.events.of(17)
    assert ball.events.of(18)["tick"].tolist() == [18]
    assert past.events(confirmed=18)["tick"].tolist() == [15, 16, 17, 18]
    past.rollback(past.ticks[0])
    past.resimulate(24, lambda world, tick: None)
    assert ball.events.dropped == 14
    assert past.events(confirmed=24)["tick"].tolist() == [19, 20, 21, 22, 23, 24]


def test_restore_under_a_rollback_recreates_events():
    game = Game(kd.Stepper)
    past = kd.Rollback(game.world, ticks=20)
    past.resimulate(4, game.inputs)
    saved = game.world.snapshot()
    past.resimulate(12, game.inputs)
    first = game.world.events.of(12, 8)
    game.world.restore(saved)
    past.resimulate(12, game.inputs)
    assert game.world.events.of(12, 8).tobytes() == first.tobytes()


def test_desync_errors_mention_events():
    assert "stepper.events.of(tick)" in str(kd.DesyncError(1, 2, 3))
