"""Examples of many worlds: Gymnasium's checker passes, the learner improves, and the search finds the hole."""

import warnings

import numpy as np
import pytest
from example_files import in_sources, load

pytestmark = in_sources


@pytest.fixture
def hockey():
    pytest.importorskip("gymnasium")
    return load("air_hockey")


def test_gymnasium_checks_it(hockey):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unbounded observations, and an environment that is not registered
        check_env(hockey.Single())


@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_vectors_autoreset_and_masks(hockey, mode):
    """Ends of episodes and starts of the next ones follow Gymnasium's own vector environments."""
    mode = hockey.AutoresetMode[mode]
    env = hockey.AirHockey(8, autoreset_mode=mode)
    first, info = env.reset(seed=3)
    assert first in env.observation_space
    assert info == {}
    assert np.array_equal(env.reset(seed=3)[0], first)
    env.action_space.seed(0)
    for number in range(1, hockey.ACTIONS + 1):  # noqa: B007
        observed, rewards, terminations, truncations, info = env.step(env.action_space.sample())
        assert observed in env.observation_space
        for array, dtype in ((rewards, np.float64), (terminations, np.bool_), (truncations, np.bool_)):
            assert (array.shape, array.dtype) == ((8,), dtype)
        if terminations.any() or truncations.any():
            break
    over = terminations | truncations
    assert over.any()
    if mode is hockey.AutoresetMode.SAME_STEP:
        assert np.array_equal(info["_final_obs"], over)
        assert not np.array_equal(info["final_obs"][over], observed[over])
        assert (env.worlds.tick[over] == 0).all()
    else:
        assert (env.worlds.tick[over] == hockey.TICKS * number).all()
    again, rewards, terminations, _, _ = env.step(env.action_space.sample())
    if mode is hockey.AutoresetMode.NEXT_STEP:
        assert (env.worlds.tick[over] == 0).all()
        assert (rewards[over] == 0).all()
        assert not terminations[over].any()
    elif mode is hockey.AutoresetMode.DISABLED:
        assert np.array_equal(again[over], observed[over])  # until it is told
        mask = np.arange(8) == np.flatnonzero(over)[0]
        env.reset(options={"reset_mask": mask})
        assert env.worlds.tick[mask] == 0
        assert (env.worlds.tick[~mask & ~over] > 0).all()


def test_episodes_do_not_depend_on_how_many_there_are(hockey):
    few, many = (hockey.AirHockey(count, autoreset_mode=hockey.AutoresetMode.DISABLED) for count in (3, 50))
    for each in (few, many):
        each.reset(seed=1)
    few.worlds.position[...], few.worlds.velocity[...] = many.worlds.position[:3], many.worlds.velocity[:3]
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 50, 2))
    for action in actions:
        found = [env.step(action[: env.num_envs]) for env in (few, many)]
        assert np.array_equal(found[0][0], found[1][0][:3])
        assert np.array_equal(found[0][1], found[1][1][:3])


def test_a_policy_learns(hockey):
    _, curve = hockey.learn(10, tables=512, changed=64, tell=lambda text: None)
    assert curve[-3:].mean() > curve[:2].mean() + 0.1


def test_the_search_finds_strokes_that_lead_there():
    """A single stepper repeats the strokes of the search tree with bitwise equal results."""
    golf = load("golf_search")
    search = golf.Search(12)
    strokes = search.run(12)
    start = golf.left_to_go(np.array([golf.TEE]))[0]
    ball = golf.green()
    for node in strokes:
        ball.velocity[0] = golf.STROKES[search.stroke[node]]
        ball.step(golf.ROLL)
        assert np.array_equal(ball.position, search.worlds.position[node])
    assert golf.left_to_go(ball.position)[0] < start - 1
    assert search.visits[0] == len(golf.STROKES) * 12
