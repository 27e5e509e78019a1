"""README.md says what is so: its code runs, its tables list what there is."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from engines import FAKES, Frames

import kickdrift as kd
from kickdrift.clock import options
from kickdrift.constraints.base import Constraint
from kickdrift.declaration import known
from kickdrift.demos.loops import LOOPS
from kickdrift.forces.base import Term

README = Path(__file__).parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def rows(header):
    """The cells of the table whose header row starts with this."""
    (body,) = re.findall(rf"^\| {header} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in body.splitlines()]


FIRST, PYGAME, PYGLET, ARCADE, TICKS, SPARKS, CHANGES, ROLLBACK, FORMULAS, GUSTS, NATIVE, BALLS, WEATHER = blocks(
    "python"
)
LOOPS_OF_ENGINES = {"pygame": PYGAME, "pyglet": PYGLET, "arcade": ARCADE}


def run(*examples):
    """Run examples one after the other; return their names."""
    names = {}
    for example in examples:
        exec(compile(example, str(README), "exec"), names)
    return names


def test_the_first_example_runs(capsys):
    names = run(FIRST)
    assert capsys.readouterr().out.startswith("2.0 [")
    # With drag c / m = 1/4 and wind (3, 0): v = w + g m/c (1 - e^(-t c/m)) ...
    grown = 1 - np.exp(-0.5)
    np.testing.assert_allclose(names["velocity"], np.tile([3 * grown, -9.81 * 4 * grown], (1000, 1)), rtol=1e-5)
    assert names["world"].position is names["position"]


def test_the_loop_over_ticks_runs():
    names = run(FIRST)
    tick, lift = names["world"].tick, names["velocity"][0, 1]
    exec(TICKS, names)
    assert names["world"].tick == tick + 1
    assert names["velocity"][0, 1] > lift


def test_the_native_example_runs():
    pytest.importorskip("numba")
    names = run(NATIVE)
    # x'' = -4 x from 1, for a second
    np.testing.assert_allclose(names["swarm"].position, np.cos(2), rtol=2e-3)


def test_the_example_of_changes_runs():
    names = run(FIRST, CHANGES)
    kite = names["kite"]
    assert kite.snapshot() == names["calm"]
    assert kite.current(names["wind"]).wind.tolist() == [2, 0]
    assert [type(term) for term in kite.forces] == [kd.Gravity, kd.LinearDrag]
    assert [type(each) for each in kite.constraints] == [kd.Pin, kd.Distance]
    assert (kite.mass, kite.tick) == (0.2, 0)


def test_the_rollback_example_runs():
    names = run(FIRST, ROLLBACK)
    # The push came at tick 122, four before the end of the frame; it is in the state that was played again.
    assert names["pushes"] == {122: (50, 0)}
    assert names["world"].tick == 126 + 100
    late = kd.Stepper(**scene(), hz=60, mass=2.0, forces=names["world"].forces)
    late.step(122)
    late.velocity[0] += (50, 0)
    late.step(4 + 100)
    assert late.checksum() == names["world"].checksum()


def test_the_examples_of_own_forces_and_equations_run():
    leaves = run(GUSTS)["leaves"]
    # 3 N for a second on 10 g, but for half a step at its end, and gravity all the while.
    np.testing.assert_allclose(leaves.velocity, np.tile([300.0, -9.81], (100, 1)), rtol=0.01)
    balls = run(BALLS)["balls"]
    assert balls.tick == 1200
    assert balls.position.min() >= 0.5
    weather = run(WEATHER)["weather"]
    assert weather.tick == 1000
    assert 20 < weather.y[:, 2].mean() < 27  # the attractor's


def scene():
    """What the first example starts from."""
    position = np.random.default_rng(1).uniform(0, 100, (1000, 2))
    return {"position": position, "velocity": np.zeros_like(position)}


# The game loops: with engines that are made up, and with those that are installed.


@pytest.mark.parametrize("engine", FAKES)
def test_the_game_loops_run(engine, monkeypatch):
    frames = Frames()
    monkeypatch.setitem(sys.modules, engine, FAKES[engine](frames))
    names = run(FIRST, *([] if engine != "arcade" else [in_a_loop()]), LOOPS_OF_ENGINES[engine])
    # 30 frames of 17 ms: 30 steps of 1/60 s, and what is left of them.
    world = names["world"]
    assert world.tick == 30
    assert len(frames.drawn) == 30
    np.testing.assert_array_equal(np.array(frames.drawn[-1]), world.interpolate())


def in_a_loop():
    """The line that makes the world of a game loop."""
    (line,) = re.findall(r"^world = .*\n", PYGLET, re.MULTILINE)
    return line


# What runs a program without a display and ends it after three seconds.
HEADLESS = {
    "pygame": "import pygame; pygame.display.init(); pygame.time.set_timer(pygame.QUIT, 3000, 1)",
    "pyglet": "import pyglet; pyglet.options.headless = True; "
    "pyglet.clock.schedule_once(lambda seconds: pyglet.app.exit(), 3)",
    # Headless, arcade has a loop of its own, which ends with its window.
    "arcade": """
import arcade, time
flip, began = arcade.Window.flip, []
def flip_for_a_while(window):
    began.append(time.monotonic())
    flip(window) if began[-1] < began[0] + 3 else window.close()
arcade.Window.flip = flip_for_a_while
""",
}
WINDOW = {
    "pygame": "pygame.display.set_mode((80, 60))",
    "pyglet": "pyglet.window.Window(80, 60)",
    "arcade": "arcade.Window(80, 60)",
}


@pytest.mark.parametrize("engine", HEADLESS)
def test_the_game_loops_run_on_the_real_engines(engine):
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "ARCADE_HEADLESS": "True"}

    def python(*lines):
        command = [sys.executable, "-c", "\n".join(lines)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)

    window = python(HEADLESS[engine], WINDOW[engine])
    if window.returncode:
        pytest.skip(f"{engine} opens no window here: {window.stderr.splitlines()[-1]}")
    count = 'print("ticks:", world.clock.tick)'
    game = python(HEADLESS[engine], FIRST, in_a_loop() if engine == "arcade" else "", LOOPS_OF_ENGINES[engine], count)
    assert game.returncode == 0, game.stderr
    # Three seconds on a machine that may be busy.
    assert 20 <= int(game.stdout.rpartition("ticks: ")[2]) <= 200


def test_the_table_of_clocks():
    calls = [row[0].strip("`") for row in rows("clock")]
    assert sorted(calls) == sorted(loop.call for loop in LOOPS)
    assert {row[2]: row[0].strip("`") for row in rows("clock") if row[2] < "5"} == {
        loop.name: loop.call for loop in LOOPS if loop.name < "5"
    }
    for call in re.findall(r"`(FixedClock\([^`]*\))`", TEXT):
        assert eval(call, {"FixedClock": kd.FixedClock}).tick == 0


def test_the_table_of_overload_rules():
    rules = [row[0].strip("`") for row in rows("`overload=`")]
    assert [rule.strip('"').partition("(")[0] for rule in rules] == list(options.OVERLOADS)
    for rule in rules:
        kd.FixedClock(overload=rule.strip('"'))


def test_the_commands_set_up_what_they_use():
    demo, tests = (block.strip() for block in blocks("sh"))
    for command, end in ((demo, "python -m kickdrift demo spring"), (tests, "python -m pytest")):
        assert command.startswith("python3 -m venv .venv")
        assert "pip install" in command
        assert command.endswith(end)


def test_the_table_of_integrators():
    described = {}
    for name, order, forces, symplectic, advice in rows("name"):
        described[name.strip("`")] = order, forces, symplectic
        assert advice.endswith(".")
    assert described.keys() == kd.INTEGRATORS.keys()
    for name, (order, forces, symplectic) in described.items():
        scheme = kd.INTEGRATORS[name]()
        if scheme.order_with_drag == scheme.order:
            assert order == ("exact" if name == "exact" else f"{scheme.order:g}")
        else:
            assert order == f"{scheme.order:g} (drag: {scheme.order_with_drag:g})"
        if name == "energy_euler":
            assert forces == "1, –"
        elif scheme.force_evaluations is None:
            assert forces == "iterates"
        else:
            assert forces == f"{scheme.force_evaluations}, {scheme.force_evaluations_with_drag}"
        assert symplectic == ("yes" if scheme.symplectic else "no")


def test_formulas():
    names = run(FORMULAS)
    assert np.isfinite(names["motes"].position).all()
    assert "sin" in names["swirl"].program()


def test_the_table_of_terms():
    signatures = [row[0].strip("`") for row in rows("term")]
    assert {signature.partition("(")[0] for signature in signatures} == {cls.__name__ for cls in known(Term)}


def test_the_table_of_constraints():
    signatures = [row[0].strip("`") for row in rows("constraint")]
    assert {signature.partition("(")[0] for signature in signatures} == {cls.__name__ for cls in known(Constraint)}


@pytest.mark.parametrize("expression", re.findall(r"`(kd\.[A-Z]\w+\([^`]*\))`", TEXT))
def test_instances_in_the_text(expression):
    assert eval(expression, {"kd": kd}) is not None


def test_sparks_come_and_go():
    names = {"np": np, "kd": kd}
    exec(SPARKS, names)
    assert names["sparks"].count == len(names["picture"]) == 20
