"""Ctrl-C at any place of a change: each world stands as before the change or as after it, and steps on."""

import copy
import sys

import numpy as np
import pytest

import kickdrift as kd

PUSH = kd.AppliedForce(np.zeros((6, 2)))
DRAG = kd.LinearDrag(0.5)
START = kd.Stepper(
    np.arange(12.0).reshape(6, 2), np.ones((6, 2)), hz=60, forces=[PUSH, DRAG, kd.Langevin(0.5, 2.0, seed=7)],
    constraints=[kd.ElasticCollisions(0.25)],
)  # fmt: skip
FORCES = np.linspace(0, 1, 36).reshape(3, 6, 2)
SOME = np.array([True, False, True])
MASK = np.array([[True, False, False, True, False, False]] * 3)


def snapshot_with_a_killed_body():
    stepper = copy.copy(START)
    stepper.step(2)
    stepper.kill(4)
    return stepper.snapshot()


KILLED = snapshot_with_a_killed_body()
OPERATIONS = {
    "kill": lambda worlds: worlds.kill(MASK),
    "kill after set": lambda worlds: worlds.kill(MASK),
    "kill in one": lambda worlds: worlds[1].kill(np.arange(6) == 2),
    "restore": lambda worlds: worlds.restore(KILLED),
    "set an array": lambda worlds: worlds.set(PUSH, force=FORCES.copy()),
    "checksum, kill": lambda worlds: (worlds.checksum(), worlds.kill(MASK)),
    "set numbers": lambda worlds: worlds.set(DRAG, coefficient=np.array([1.0, 2.0, 3.0])),
    "set numbers of some": lambda worlds: worlds.set(DRAG, coefficient=np.array([1.0, 3.0]), where=SOME),
    "set numbers of some after set": lambda worlds: worlds.set(DRAG, coefficient=np.array([1.0, 3.0]), where=SOME),
}
#: Calls that bind again, but change nothing.
FOLLOW_UPS = [
    lambda worlds: None,
    lambda worlds: worlds.kill(np.zeros((3, 6), np.bool_)),
    lambda worlds: worlds.restore(worlds.snapshot()),
]


def made(name):
    worlds = kd.Worlds(START, 3)
    if name.endswith("after set"):
        worlds.set(DRAG, coefficient=np.array([0.1, 0.2, 0.3]))
    worlds.step(2)
    return worlds


def after_steps(worlds):
    """Return the state after three more steps: the bits also show coefficients that no snapshot has."""
    worlds.step(3)
    return worlds.checksum().tolist(), worlds.alive.tolist(), worlds.tick.tolist(), worlds.position.tobytes()


class Strike:
    """Raise KeyboardInterrupt at the k-th call or return of a function."""

    def __init__(self, k):
        self.left = k

    def __call__(self, frame, event, argument):
        self.left -= 1
        if self.left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt


def struck(worlds, operation, k):
    """Run an operation that is interrupted at its k-th event; return whether it was."""
    profiler, strike = sys.getprofile(), Strike(k)
    sys.setprofile(strike)
    try:
        operation(worlds)
    except KeyboardInterrupt:
        return True
    finally:
        strike.left = 0  # never strikes again: the next call would be the event, if the operation had k - 1
        sys.setprofile(profiler)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_interrupt_at_any_place(name):
    operation = OPERATIONS[name]
    before, done = after_steps(made(name)), made(name)
    operation(done)
    after, counts = after_steps(done), []
    events, worlds = Strike(-1), made(name)
    sys.setprofile(events)
    operation(worlds)
    sys.setprofile(None)
    total = -1 - events.left
    assert total > 100
    for k in range(1, total, 1 + total // 400):
        worlds = made(name)
        if not struck(worlds, operation, k):
            continue  # Python ignores what a generator raises while it is closed
        struck(worlds, FOLLOW_UPS[1 + k % 2], 1 + 13 * k % 400)  # also while the change is finished
        FOLLOW_UPS[k % len(FOLLOW_UPS)](worlds)
        found = after_steps(worlds)
        assert found in (before, after), f"interrupted at event {k} of {total}"
        counts.append(found == before)
        operation(worlds)  # it can be done again
    assert len(counts) > 100
    assert True in counts
