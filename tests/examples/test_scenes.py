"""Scenes in examples/: each runs without a screen, ends, and moves its objects."""

import importlib.util
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from example_files import EXAMPLES, load

FRAMES = 40


def run_frames(shown, count):
    for _ in range(count):
        shown.frame(1 / 60)


@pytest.fixture
def play(monkeypatch):
    """Run an example under pygame-ce without a screen; return its world, and check the last picture."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("SDL_AUDIODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")

    def run(name, frames=FRAMES):
        shown, screen = load(name).main(frames)
        picture = np.array(pygame.surfarray.array3d(screen))
        pygame.quit()
        # More than 1 % of the picture differs from the background.
        assert (picture != picture[0, -1]).any(axis=-1).mean() > 0.01
        return shown

    return run


def test_balls_stay_in_the_window(play):
    world = play("pygame_scene")
    assert world.tick >= 2 * FRAMES - 1
    assert (world.position > 0).all()
    assert (world.position < (12, 8)).all()


def test_the_cloth_tears_where_it_is_cut(play):
    curtain = play("torn_cloth", 60)
    torn = curtain.compliance > 0
    assert 5 < torn.sum() < len(torn) / 4
    np.testing.assert_array_equal(curtain.world.current(curtain.threads).compliance, curtain.compliance)
    one, other = curtain.world.position[curtain.pairs[~torn].T]
    assert np.linalg.norm(other - one, axis=1).max() < 28  # twice the length of a thread


def test_the_bridge_carries_balls_until_its_rope_is_cut(play):
    bridge = play("rope_bridge", 120)
    world = bridge.world
    assert world.count > 27
    assert world.position[:27, 1].min() > 3
    bridge.toggle()
    for _ in range(240):
        world.advance(1 / 60)
        bridge.tidy()
    assert world.count == 27
    bridge.toggle()
    assert len(world.constraints) == 4


def test_the_bridge_hangs_at_rest_for_a_minute():
    """The slope of a bridge in equilibrium grows by equal amounts from link to link."""
    bridge = load("rope_bridge")
    world = bridge.Bridge().world
    start = world.position[: bridge.PLANKS].copy()
    slope = np.divide(*np.diff(start, axis=0).T[::-1])
    np.testing.assert_allclose(np.diff(slope), (slope[-1] - slope[0]) / (len(slope) - 1), rtol=1e-3)
    speed = 0.0
    for _ in range(60 * 60):
        world.advance(1 / 60)
        speed = max(speed, np.linalg.norm(world.velocity[: bridge.PLANKS], axis=1).max())
    assert speed < 0.01  # m/s
    assert abs(world.position[: bridge.PLANKS] - start).max() < 0.001  # m


def test_planets_conserve_energy(play):
    world = play("solar_system")
    assert world.time > 50
    away = np.linalg.norm(world.position - world.position[0], axis=1)
    assert away[3] == pytest.approx(1, abs=0.02)
    start = sum(load("solar_system").make_world().energy())
    assert sum(world.energy()) == pytest.approx(start, rel=1e-7)


def test_the_magnetic_bottle_confines_most_particles_and_conserves_their_speed(play):
    world = play("magnetic_bottle")
    assert 200 < world.count <= 300
    np.testing.assert_allclose(np.linalg.norm(world.velocity[world.alive], axis=1), 2.5, rtol=1e-4)


def test_populations_oscillate_on_rich_islands_and_settle_on_poor_ones(play):
    world = play("predator_prey")
    world.step(8000)
    run = world.record(1000, every=10).y
    swing = np.ptp(run[:, :, 0], axis=0)
    assert swing[0] < 1e-3
    assert swing[-1] > 1


def test_a_ball_pit_comes_to_rest(play):
    pit = play("ball_pit", 60)
    world = pit.world
    assert world.count == 1 + 3 * 20
    still = world.position[0].copy()
    for _ in range(600):
        pit.frame(1 / 60, still)
    np.testing.assert_allclose(world.position[0], still, atol=1e-9)
    balls = np.flatnonzero(world.alive)[1:]
    assert np.abs(world.velocity[balls]).max() < 0.5
    assert (world.position[balls, 1] > pit.radius[balls] - 0.02).all()
    pit.empty()
    assert world.count == 1


def test_full_marbles_roll_faster_than_rings(play):
    assert play("marble_run", 60).world.count == 3
    example = load("marble_run")
    run = example.Run()
    for x in (1.0, 2.0):  # a solid marble, and a ring further down the slope
        run.drop((x, 7.2 - 0.15 * x))
    run_frames(run, 18)
    before = run.world.velocity.copy()
    run_frames(run, 30)
    gained = np.linalg.norm(run.world.velocity - before, axis=1)
    (x0, y0), (x1, y1) = example.RAMPS[0]
    pull = 0.5 * 9.81 * (y0 - y1) / np.hypot(x1 - x0, y0 - y1)
    assert gained[1] == pytest.approx(pull * 2 / 3, rel=0.03)
    assert gained[2] == pytest.approx(pull / 2, rel=0.03)
    run_frames(run, 1000)
    assert run.world.angular_velocity[0] == run.turns
    assert run.world.position[1:3, 0].min() > 7.5  # the wheel has thrown both onwards


def test_pool_balls_slide_then_roll_and_side_spin_changes_the_bounce(play):
    table = play("pool", 90)
    assert 10 < table.world.count <= 16
    pool = load("pool")
    table = pool.Table()
    assert table.still
    table.strike(0.0, 2.0, 0.0, 0.0)
    run_frames(table, 30)
    speed = table.world.velocity[0, 0]
    assert speed == pytest.approx(2.0 * 5 / 7, rel=0.03)
    assert pool.R * table.world.angular_velocity[0, 1] == pytest.approx(speed, rel=0.01)
    run_frames(table, 1200)
    assert table.still
    along = []
    for side in (-0.4, 0.0, 0.4):  # side spin of a stroke straight at the left cushion
        table = pool.Table()
        table.strike(np.pi, 2.0, side, 0.0)
        run_frames(table, 36)
        assert table.world.velocity[0, 0] > 0.5
        along.append(table.world.velocity[0, 1])
    assert along[0] == pytest.approx(-along[2], rel=1e-6)
    assert abs(along[1]) < 1e-9 < 0.1 < abs(along[0])


def test_a_potted_cue_ball_comes_back():
    pool = load("pool")
    table = pool.Table()
    table.world.teleport(0, (0.0, 0.0, pool.R))  # a corner pocket
    table.frame(1 / 60)
    assert table.world.alive.all()
    np.testing.assert_allclose(table.world.position[0], (0.25 * pool.LONG, pool.WIDE / 2, pool.R))


def test_ragdolls_keep_their_bone_lengths_on_the_stairs(play):
    fall = play("ragdoll_stairs", 80)
    stairs = load("ragdoll_stairs")
    world = fall.world
    assert world.count == 2 * stairs.POINTS
    for _ in range(600):
        world.advance(1 / 60)
    first = world.position[: stairs.POINTS]
    assert first[:, 1].max() < 3
    one, other = first[np.array(stairs.BONES).T]
    length = stairs.lengths(stairs.BONES)[: len(stairs.BONES)]
    np.testing.assert_allclose(np.linalg.norm(other - one, axis=1), length, rtol=0.05)
    for _ in range(stairs.DOLLS):
        fall.throw((6, 7))
        world.step(60)
    assert world.count == stairs.DOLLS * stairs.POINTS
    one, other = world.position[stairs.of_all(stairs.BONES).T]
    length = stairs.lengths(stairs.BONES)
    np.testing.assert_allclose(np.linalg.norm(other - one, axis=1), length, rtol=0.05)  # even of ragdolls thrown again


@pytest.mark.parametrize("seed", [5, 13])
def test_resting_ragdolls_have_no_velocity(seed):
    """Bones, ragdolls and stairs are solved together, so the velocities of a resting heap are close to 0."""
    stairs = load("ragdoll_stairs")
    fall = stairs.Fall()
    fall.rng = np.random.default_rng(seed)
    for _ in range(stairs.DOLLS + 1):
        fall.throw((3.1, 6.4))
        fall.world.step(70)
    fall.world.step(40 * 60)
    before, speeds = fall.world.position.copy(), []
    for _ in range(60):
        fall.world.step()
        speeds.append(np.linalg.norm(fall.world.velocity, axis=1).max())
    assert max(speeds) < 9.81 / 240  # m/s: a quarter of gravity's velocity change per step
    assert abs(fall.world.position - before).max() < 0.001  # m


def test_a_cold_fluid_condenses_and_a_hot_one_does_not(play):
    cold = play("lennard_jones", 20)
    hot = load("lennard_jones").Fluid(temperature=1.5)
    for fluid in (cold, hot):
        fluid.world.step(4000)
        assert fluid.measured() == pytest.approx(fluid.temperature, rel=0.15)
    assert cold.bonds() > 1.3 * hot.bonds()
    hot.heat(-1.2)
    assert hot.world.current(hot.thermostat).temperature == pytest.approx(0.3)


# Other engines, each in a process of its own, because they cannot be unloaded.


ENGINES = ("pyglet", "arcade", "raylib", "panda3d")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_world_of_a_scene_moves(engine):
    """The world of a scene needs no engine and no screen."""
    made = load(f"{engine}_scene").make_world()
    world = made[0] if isinstance(made, tuple) else made
    start = world.interpolate()
    for _ in range(FRAMES):
        world.advance(1 / 60)
    assert world.tick >= FRAMES - 1
    assert np.abs(world.interpolate() - start).max() > 0.01


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scene_runs_in_its_engine(engine, tmp_path):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    screen = ["xvfb-run", "-a"] if shutil.which("xvfb-run") else []
    if not screen and not os.environ.get("DISPLAY") and engine != "panda3d":
        pytest.skip(f"{engine} draws into a window, and there is no display: `apt-get install xvfb` lends one")
    code = f"import {engine}_scene as scene; world = scene.main({FRAMES}, 'picture.png'); print('ticks:', world.tick)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLES), *filter(None, sys.path)])}
    played = subprocess.run(
        [*screen, sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        cwd=tmp_path,
    )
    assert played.returncode == 0, played.stderr
    assert int(played.stdout.rpartition("ticks: ")[2]) >= FRAMES - 1
    assert (tmp_path / "picture.png").stat().st_size > 2000


def test_examples_are_short():
    longer = {"air_hockey": 220, "golf_search": 180}  # lines; one contains a learner, the other a plot of its search
    for path in EXAMPLES.glob("*_*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= longer.get(path.stem, 150), path.name


def test_a_grapple_swings_and_the_bridge_breaks():
    pytest.importorskip("pygame")
    grapple = load("grapple")
    game, screen = grapple.main(frames=4)
    assert screen.get_size() == (960, 640)
    assert game.world.whole(game.bridge).all()
    assert 500 < game.world.load(game.bridge).max() < grapple.STRENGTH.min()
    game, seen, pulls = grapple.Game(), set(), []
    for shown in range(700):
        game.play(shown)
        game.frame(1 / 60)
        seen.add(int(game.hook))
        if game.rope is not None:
            pulls.append(game.world.load(game.rope)[0])
    assert len(seen) >= 4
    assert min(pulls) == 0  # the rope is slack at times, because it only pulls
    assert max(pulls) > 700
    assert game.snapped == (~game.world.whole(game.bridge)).sum() > 0
