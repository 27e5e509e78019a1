"""Command line: python -m kickdrift compare. Correct numbers, user files, and non-empty figures."""

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import cli, progress
from kickdrift.demos import compare
from kickdrift.problems import PROBLEMS


@pytest.fixture(autouse=True)
def no_progress(monkeypatch):
    """Disable progress messages, which a busy machine could show."""
    monkeypatch.setattr(progress, "PATIENCE", math.inf)


def run(capsys, *arguments):
    """Run in this process; return (exit code, standard output, standard error)."""
    try:
        code = cli.main(("compare", *arguments))
    except SystemExit as error:
        code = error.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def rows(report):
    lines = report.split("\n\n")[1].splitlines()
    return {line.split()[0]: line.split()[1:] for line in lines[2:]}


@pytest.mark.parametrize("name", PROBLEMS)
def test_all_integrators_that_support_the_forces_are_compared(capsys, name):
    code, out, _ = run(capsys, name, "--time", "2")
    assert code == 0
    refused = {"spring": set(), "orbit": {"exact"}}.get(name, {"exact", "energy_euler"})
    assert set(rows(out)) == set(kd.INTEGRATORS) - refused
    for integrator in refused:
        assert f"\n{integrator}: integrator: " in out


def test_integrators_are_sorted_by_error(capsys):
    _, out, _ = run(capsys, "spring")
    table = rows(out)
    assert next(iter(table)) == "exact"
    errors = [float(row[1]) for row in table.values()]
    assert errors == sorted(errors)


def test_a_few_bodies_at_a_wall_do_not_decide_the_ranking(capsys, tmp_path):
    """Ranking uses medians: in README's program, two hits on the ceiling gave explicit_euler the smallest maximum."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    program = tmp_path / "balls.py"
    program.write_text(re.search(r"```python\n(.*?)```", readme, re.DOTALL)[1])
    _, out, _ = run(capsys, str(program), "--time", "2")
    medians = {name: float(row[2]) for name, row in rows(out).items()}
    assert list(medians.values()) == sorted(medians.values())
    assert medians["velocity_verlet"] < medians["explicit_euler"] / 10
    assert list(medians).index("explicit_euler") > len(medians) // 2
    assert all(float(row[1]) >= float(row[2]) for row in rows(out).values())


def test_numbers_equal_analytic_results(capsys):
    """A spring of period 2 pi with h = 0.2: analytic errors and energies."""
    _, out, _ = run(capsys, "spring")
    table = rows(out)
    # Verlet's phase is too fast by the fraction h² / 24.
    assert float(table["velocity_verlet"][1]) == pytest.approx(0.04 / 24 * 20 * math.pi, rel=0.1)
    # Verlet conserves (1 - h²/4) x² + v², so the energy oscillates by up to the fraction h²/4.
    assert table["velocity_verlet"][3] == "-1.00%"
    assert table["exact"][3] == "0"
    steps = round(20 * math.pi / 0.2 / 4) * 4
    assert table["velocity_verlet"][4] == str(steps + 1)
    assert table["rk4"][4] == f"{4 * steps:,}"


def test_exact_solutions_equal_the_finest_run():
    for name in ("spring", "orbit", "pendulum"):
        problem = PROBLEMS[name]
        fine = problem.make("yoshida6", 0.01)
        for _ in range(5):
            fine.step(77)
            np.testing.assert_allclose(fine.position, problem.exact(fine.time), atol=1e-9)


@pytest.mark.parametrize("name", ["rk4", "velocity_verlet", "pefrl", "yoshida6"])
def test_errors_decrease_with_the_order(capsys, name):
    problem = "pendulum" if name == "yoshida6" else "throw"
    _, out, _ = run(capsys, problem, "--json", "--integrator", name, "--dt", "0.1", "--time", "2")
    errors = [entry["error"] for entry in json.loads(out)["integrators"][name]["work_precision"]]
    first, second = errors[1:3]
    assert math.log2(first / second) == pytest.approx(kd.INTEGRATORS[name].order, abs=0.8)


def test_dissipation_is_not_an_energy_error(capsys):
    """Most of the energy is dissipated; only the error of the integrator is reported."""
    _, out, _ = run(capsys, "throw")
    assert rows(out)["rk4"][3] in ("0", "-2e-08%")


def test_json(capsys):
    code, out, _ = run(capsys, "orbit", "--json", "--dt", "1/10", "--time", "6")
    assert code == 0
    told = json.loads(out)
    assert (told["problem"], told["dt"], told["steps"]) == ("orbit", 0.1, 60)
    assert set(told["integrators"]) == set(kd.INTEGRATORS) - {"exact"}
    assert set(told["refused"]) == {"exact"}
    assert told["integrators"]["leapfrog"]["force_evaluations"] == 60
    assert {type(entry["seconds"]) for entry in told["integrators"].values()} <= {float, type(None)}


def test_unstable_runs_are_reported(capsys):
    code, out, _ = run(capsys, "spring", "--dt", "3", "--time", "6000")
    assert code == 0
    assert rows(out)["velocity_verlet"][1] == "stopped"
    assert "velocity_verlet: the state of body 0 is no longer finite" in out


# User files.

OWN = """
import numpy as np
import kickdrift as kd
world = kd.Stepper(np.ones((5, 2)), mass=2.0, dt=0.1, forces=[kd.Gravity((0, -9.81)), kd.LinearDrag(0.5)])
other = kd.Stepper([[0.0]])
if __name__ == "__main__":
    raise SystemExit("a window would open here")
"""
EQUATION = """
import kickdrift as kd
weather = kd.ODEStepper([[1.0, 2.0, 3.0]], kd.flows.Lorenz(), dt=0.01)
"""


def test_a_user_file_with_a_stepper(capsys, tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    code, out, _ = run(capsys, str(file))
    assert code == 0
    assert "600 steps of 0.1 s" in out
    assert "kickdrift.Stepper: 5 bodies" in out
    assert next(iter(rows(out))) in ("exact", "yoshida6")
    assert float(rows(out)["exact"][1]) < 1e-8


def test_a_user_file_with_an_ode_stepper(capsys, tmp_path):
    file = tmp_path / "weather.py"
    file.write_text(EQUATION)
    code, out, _ = run(capsys, str(file), "--time", "1")
    assert code == 0
    assert set(rows(out)) == {"explicit_euler", "implicit_euler", "midpoint", "heun", "rk4", "dopri8"}
    assert {row[3] for row in rows(out).values()} == {"-"}


def test_the_user_file_gets_its_own_arguments(capsys, tmp_path):
    file = tmp_path / "game.py"
    parse = "import argparse, sys\nargparse.ArgumentParser().parse_args()\nassert sys.argv == [__file__]\n"
    file.write_text(parse + "import kickdrift as kd\nball = kd.Stepper([[1.0]])\n")
    before = sys.argv
    code, out, err = run(capsys, str(file), "--time", "0.1", "--integrator", "rk4")
    assert (code, err) == (0, "")
    assert "1 bodies" in out
    assert sys.argv is before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise SystemExit(3)", "exited with code 3"),
        ("x = 1", "expected it to leave one Stepper or ODEStepper, or one named `world`, or make(), got none"),
        ("import kickdrift as kd\na, b = kd.Stepper([[0.0]]), kd.Stepper([[0.0]])", "got 2: a, b"),
        ("1 / 0", "raised ZeroDivisionError: division by zero"),
    ],
)
def test_user_files_without_a_stepper_are_refused(capsys, tmp_path, text, message):
    file = tmp_path / "bad.py"
    file.write_text(text)
    code, out, err = run(capsys, str(file))
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "arguments are required: PROBLEM"),
        (("trampoline",), "expected one of spring, orbit, pendulum, throw, or a FILE.py, got 'trampoline'"),
        (("none.py",), "there is no file 'none.py'"),
        (("spring", "--time", "-1"), "argument --time: expected seconds"),
        (("spring", "--integrator", "magic"), "invalid choice: 'magic'"),
    ],
)
def test_usage_errors(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_help_and_its_examples(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert out.isascii()
    for line in compare.EXAMPLES.splitlines():
        if "--plot" in line:
            pytest.importorskip("matplotlib")
        arguments = line.strip().removeprefix("python -m kickdrift compare ").split()
        assert run(capsys, *arguments)[0] == 0


@pytest.mark.parametrize("name", ["spring", "throw"])
def test_plot(capsys, tmp_path, name):
    image = pytest.importorskip("matplotlib.image")
    file = tmp_path / "figure.png"
    code, out, err = run(capsys, name, "--time", "2", "--plot", str(file))
    assert (code, err) == (0, "")
    assert out.endswith(f"The figure is in {file}.\n")
    pixels = image.imread(file)
    assert pixels.shape[1] > 1000
    assert pixels.std() > 0.05


def test_plot_together_with_json(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "figure.png"
    code, out, _ = run(capsys, "spring", "--time", "2", "--json", "--plot", str(file))
    assert code == 0
    assert json.loads(out)["problem"] == "spring"
    assert file.exists()


# In Python.


def test_compare_equals_the_command(capsys):
    _, out, _ = run(capsys, "spring", "--dt", "0.1", "--time", "6")
    result = kd.compare("spring", dt=0.1, time=6)
    ours, theirs = rows(repr(result)), rows(out)
    assert list(ours) == list(theirs)
    assert {name: row[:-1] for name, row in ours.items()} == {name: row[:-1] for name, row in theirs.items()}
    assert repr(result).partition(chr(10))[0] == "spring: x'' = -x from x = 1; 60 steps of 0.1 s"


def test_a_comparison_is_a_sequence_by_error_and_by_name():
    scheme = kd.GrootWarren(lam=0.65)
    result = kd.compare("pendulum", ["rk4", scheme, kd.Exact, "explicit_euler"], dt="1/50", time=2)
    assert [run.name for run in result] == ["rk4", "GrootWarren(lam=0.65)", "explicit_euler"]
    assert len(result) == 3
    assert result["rk4"].order == 4
    assert result["rk4"].error < result["explicit_euler"].error
    assert result["explicit_euler"].steps == result.steps == 100
    assert list(result.refused) == ["exact"]
    with pytest.raises(KeyError, match="expected one of rk4"):
        result["verlet"]


def test_compare_on_a_stepper_leaves_it_as_it_is():
    world = kd.Stepper(
        [[0.0, 1.0], [5.0, 5.0]],
        hz=50,
        forces=[kd.Gravity((0, -9.81))],
        constraints=[kd.Plane((0, 1), 0.0, friction=0.5, radius=0.1)],
        angular_velocity=[3.0, 0.0],
        inertia=1.0,
        alive=[True, False],
    )
    before = world.snapshot()
    result = kd.compare(world, ["velocity_verlet", "rk4"], time=1)
    assert world.snapshot() == before
    assert result.dt == 1 / 50
    twin = kd.Stepper(
        [[0.0, 1.0]], hz=50, forces=world.forces, constraints=world.constraints, angular_velocity=3.0, inertia=1.0
    )
    twin.step(result.steps)
    assert twin.velocity[0, 0] != 0  # friction has turned spin into motion
    assert result["velocity_verlet"].path[-1].tolist() == [twin.position[0, 0], twin.velocity[0, 0]]


def test_the_path_of_an_equation():
    result = kd.compare(kd.ODEStepper([[1.0, 0.5]], kd.flows.LotkaVolterra(), dt=0.01), "heun", time=0.2)
    twin = kd.ODEStepper([[1.0, 0.5]], kd.flows.LotkaVolterra(), dt=0.01, integrator="heun")
    assert np.array_equal(result["heun"].path, twin.record(20).y[:, 0])
    assert result["heun"].energy is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            ("sprin",),
            ValueError,
            "problem: expected one of spring, .*, a Stepper or an ODEStepper, got 'sprin'.*spring",
        ),
        ((3,), TypeError, "problem: expected one of spring"),
        (("spring", ["magic"]), ValueError, "integrator: got 'magic'"),
        (("spring", None, -1), ValueError, "dt: "),
        (("spring", None, None, 0), ValueError, "time: expected seconds above 0, for at most 2.+53 steps, got 0"),
        (("spring", None, None, 1e300), ValueError, "time: expected seconds above 0, for at most 2.+53 steps, got 1e"),
        (("spring", None, None, "x"), TypeError, "time: "),
    ],
)
def test_compare_refuses(arguments, error, message):
    with pytest.raises(error, match=f"^{message}"):
        kd.compare(*arguments)


@pytest.mark.parametrize("kind", ["cost", "order", "phase"])
@pytest.mark.parametrize("dim", [1, 2])
def test_figures_in_python(tmp_path, kind, dim):
    image = pytest.importorskip("matplotlib.image")
    problem = "spring" if dim == 1 else kd.ODEStepper([[1.0, 0.5]], kd.flows.LotkaVolterra(), dt=0.1)
    result = kd.compare(problem, ["midpoint", "rk4"], dt=0.1, time=4)
    result.plot(tmp_path / "figure.png", kind=kind)
    assert image.imread(tmp_path / "figure.png").std() > 0.05
    with pytest.raises(ValueError, match=r"^kind: expected"):
        result.plot(kind="pie")


def test_the_slopes_of_an_order_plot_are_the_orders():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    result = kd.compare("spring", ["semi_implicit_euler", "leapfrog", "rk4"], dt=0.1, time=4)
    figure = Figure()
    result.draw(figure, "order")
    for line in figure.axes[0].lines:
        (h, error) = np.log(line.get_data())
        assert np.polyfit(h, error, 1)[0] == pytest.approx(result[line.get_label()].order, abs=0.15)


def test_a_figure_without_a_file_is_one_of_pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    kd.compare("spring", "leapfrog", time=4).plot()
    assert len(pyplot.get_fignums()) == 1
    pyplot.close("all")


# The command `run`.


def test_run_steps_a_world_and_saves_its_trajectory(capsys, tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    saved, figure = tmp_path / "run.npz", tmp_path / "run.png"
    command = ("run", str(file), "--steps", "12", "--every", "4", "--save", str(saved))
    assert cli.main(command) == 0
    out = capsys.readouterr().out
    assert out.startswith("<kickdrift.Stepper: 5 bodies, dim 2, float64")
    assert "<kickdrift.Trajectory: 4 samples of position 5x2, float64, 0 to 1.2 s>" in out
    run = kd.Trajectory.load(saved)
    assert run.tick.tolist() == [0, 4, 8, 12]
    image = pytest.importorskip("matplotlib.image")
    assert cli.main((*command, "--plot", str(figure))) == 0
    assert image.imread(figure).std() > 0.01


def test_run_checks_first_where_it_shall_save(capsys, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    with pytest.raises(SystemExit):
        cli.main(("run", str(tmp_path / "own.py"), "--save", str(tmp_path / "none" / "run.npz")))
    assert "argument --save: there is no folder" in capsys.readouterr().err


def test_run_calls_make(capsys, tmp_path):
    file = tmp_path / "made.py"
    file.write_text(
        "import kickdrift as kd\ndef make():\n    return kd.ODEStepper([[1.0, 2, 3]], kd.flows.Lorenz(), dt=0.01)\n"
    )
    assert cli.main(("run", str(file), "--steps", "5")) == 0
    assert "6 samples of y 1x3" in capsys.readouterr().out
    file.write_text("def make():\n    return 3\n")
    with pytest.raises(SystemExit):
        cli.main(("run", str(file)))
    assert "make(): expected it to return a Stepper or ODEStepper, got 3 (int)" in capsys.readouterr().err
