"""Command line: python -m kickdrift. Its output, exit codes and error messages."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from functools import partial

import pytest

import kickdrift as kd
from kickdrift import cli, progress
from kickdrift.demos import DEMOS, jump, spring

COMMAND = [sys.executable, "-m", "kickdrift"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")


def process(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **options
    )


def run(capsys, *arguments):
    """Run in this process; return (exit code, standard output, standard error)."""
    try:
        code = cli.main(arguments)
    except SystemExit as error:
        code = error.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def columns(report, name):
    """Return the rows below a name in the spring's tables as printed: [x, v, energy error]."""
    blocks = [block.splitlines() for block in report.split("\n\n")]
    for block in blocks:
        titles = [title.strip() for title in block[0].split(" | ")]
        if name in titles:
            place = titles.index(name)
            return [line.split(" | ")[place].split() for line in block[3:]]
    raise AssertionError(f"no table for {name}")


# Demo: spring.


@pytest.fixture(scope="module")
def default_report():
    return process("demo", "spring").stdout


def test_the_spring_report_has_every_integrator(default_report):
    for name in kd.INTEGRATORS:
        assert len(columns(default_report, name)) == 11


def test_the_spring_report_shows_the_exact_solution(default_report):
    for t, row in enumerate(columns(default_report, "exact solution")):
        omega = math.sqrt(0.5)
        time, x, v = map(float, row)
        assert time == t
        assert x == pytest.approx(20 * math.cos(omega * t), abs=5.1e-4)
        assert v == pytest.approx(-20 * omega * math.sin(omega * t), abs=5.1e-4)


@pytest.mark.parametrize(
    ("name", "x", "v"),
    [
        # Worked tables of the lecture (Game Physics Notes 02) for dt = 1, printed there with one decimal.
        ("explicit_euler", [20, 20, 10, -10, -35, -55, -57.5, -32.5, 21.3], [0, -10, -20, -25, -20, -2.5, 25]),
        ("semi_implicit_euler", [20, 10, -5, -17.5], [0, -10, -15, -12.5]),
        ("midpoint", [20, 15, 1.3, -14.1], [0, -10, -15, -11.9]),
        # x differs from the lecture's 13.7, which comes from an error in its code.
        ("rk4", [20, 15.208333], [0, -9.166667]),
        # By hand: x1 = 20 - 10/2, a1 = -7.5, v1 = -(10 + 7.5)/2.
        ("velocity_verlet", [20, 15], [0, -8.75]),
        ("verlet", [20, 15], [0, -5]),
        ("leapfrog", [20, 15], [0, -10]),
        # (1 + h²/2) v' = v - h x/2
        ("implicit_euler", [20, 13.333333, 4.444444], [0, -6.666667, -8.888889]),
    ],
)
def test_the_spring_report_equals_worked_tables(default_report, name, x, v):
    rows = columns(default_report, name)
    assert [float(row[0]) for row in rows[: len(x)]] == pytest.approx(x, abs=0.0506)
    assert [float(row[1]) for row in rows[: len(v)]] == pytest.approx(v, abs=0.0506)


def test_printed_energy_errors(default_report):
    # The energy at rest at x = 20 is 1000 J; after the first step of explicit Euler 1000 + 10 * 10²/2.
    assert [row[2] for row in columns(default_report, "explicit_euler")[:3]] == ["0", "+50.00%", "+125.00%"]
    assert {row[2] for row in columns(default_report, "exact")} == {"0"}
    assert columns(default_report, "rk4")[1][2] == "-0.16%"


def test_the_summary_is_sorted_by_error(default_report):
    rows = default_report.rstrip().rsplit("\n\n", 1)[1].splitlines()[2:]
    names = [row.split()[0] for row in rows]
    errors = [float(row.split()[4]) for row in rows]
    assert sorted(names) == sorted(kd.INTEGRATORS)
    assert errors == sorted(errors)
    assert (names[0], names[-1]) == ("exact", "explicit_euler")


def test_dt_and_steps(capsys):
    code, out, _ = run(capsys, "demo", "spring", "--dt", "1/2", "--steps", "3")
    assert code == 0
    assert [row[:2] for row in columns(out, "explicit_euler")] == [
        ["20.000", "0.000"], ["20.000", "-5.000"], ["17.500", "-10.000"], ["12.500", "-14.375"]
    ]  # fmt: skip
    assert "1/2 s" in out


def test_long_runs_are_printed_in_part(capsys):
    _, out, _ = run(capsys, "demo", "spring", "--steps", "50")
    assert [row[0] for row in columns(out, "exact solution")] == [*map(str, range(0, 50, 3)), "50"]
    assert "every 3 steps" in out


def test_unstable_runs_are_reported(capsys):
    code, out, _ = run(capsys, "demo", "spring", "--steps", "5000")
    assert code == 0
    assert columns(out, "explicit_euler")[-1] == ["stopped"]
    assert columns(out, "exact")[-1][2] == "0"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_fit_the_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    report = spring.report(spring_options())
    tables = [line for line in report.splitlines() if " | " in line]
    assert max(map(len, tables)) <= max(width, 60)


def spring_options(dt=1, steps=10):
    return cli._parser().parse_args(["demo", "spring", "--dt", str(dt), "--steps", str(steps)])


@pytest.mark.parametrize("dt", ["0", "-1", "nan", "inf", "1/0", "one", "", "1e999", "1/", "1e400/1"])
def test_invalid_dt_is_refused(capsys, dt):
    code, out, err = run(capsys, "demo", "spring", "--dt", dt)
    assert (code, out) == (2, "")
    assert f"argument --dt: expected seconds, such as 0.5 or 1/60, got '{dt}'" in err


@pytest.mark.parametrize("steps", ["0", "-1", "1.5", "many", "\N{SUPERSCRIPT TWO}"])
def test_invalid_steps_are_refused(capsys, steps):
    code, out, err = run(capsys, "demo", "spring", "--steps", steps)
    assert (code, out) == (2, "")
    assert "argument --steps: expected a number of steps" in err


def test_dt_is_parsed_exactly():
    assert spring_options(dt="1/60").dt == Fraction(1, 60)


# Demo: jump.


def test_jump(capsys):
    code, out, _ = run(capsys, "demo", "jump")
    assert code == 0
    heights, landings = (block.splitlines() for block in out.split("\n\n")[2:5:2])
    height = {row.split()[0]: [float(cell) for cell in row.split()[1:]] for row in heights[3:]}
    landing = {row.split()[0]: [float(cell) for cell in row.split()[1:]] for row in landings[3:]}
    assert set(height) == set(landing) == set(kd.INTEGRATORS)
    assert height["velocity_verlet"] == [4.905] * 3 + [0.0] * 3
    assert landing["velocity_verlet"] == [2.0] * 3 + [10.0] * 3 + [0.0]
    for hz, apex, end in zip((30, 60, 144), height["explicit_euler"][:3], height["explicit_euler"][3:], strict=True):
        # Explicit Euler is too high by g h t/2 at any time t.
        assert apex == pytest.approx(4.905 + 9.81 / hz / 2, abs=5.1e-4)
        assert end == pytest.approx(9.81 / hz, abs=5.1e-4)
    # Explicit Euler lands one step late, semi-implicit Euler one step early.
    assert landing["explicit_euler"][:3] == pytest.approx([2 + 1 / 30, 2 + 1 / 60, 2 + 1 / 144], abs=5.1e-4)
    assert landing["semi_implicit_euler"][3:6] == pytest.approx([10 - 5 / 30, 10 - 5 / 60, 10 - 5 / 144], abs=5.1e-4)
    closing = " ".join(out.rsplit("\n\n", 1)[1].split())
    assert closing.startswith("Velocity Verlet lands on the same spot at 30, 60 and 144 Hz (within ")
    assert closing.endswith("the Euler methods do not: their places are 0.13 to 0.22 m apart.")


def test_the_conclusion_of_the_jump_is_computed(monkeypatch):
    right = jump.jump
    monkeypatch.setattr(jump, "jump", lambda name, hz: right("explicit_euler", hz))
    assert "not what theory says" in jump.report(None)


# Info, help and errors.


def test_info():
    result = process("info")
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    information = kd.build_info()
    assert result.returncode == 0
    assert lines.keys() == information.keys()
    assert lines["version"] == kd.__version__
    assert lines["isas"] == ", ".join(information["isas"])


def test_info_shows_the_forced_instruction_set():
    assert "isa       baseline" in process("info", env={**os.environ, "KICKDRIFT_ISA": "baseline"}).stdout


@pytest.mark.parametrize("arguments", [(), ("demo",), *[("demo", name) for name in DEMOS], ("info",)])
def test_help(capsys, arguments):
    code, out, err = run(capsys, *arguments, "--help")
    assert (code, err) == (0, "")
    assert out.startswith("usage: python -m kickdrift")
    assert out.isascii()


@pytest.mark.parametrize("name", DEMOS)
def test_the_examples_in_the_help_run(capsys, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in DEMOS[name].EXAMPLES.splitlines():
        if "--plot" in line:
            pytest.importorskip("matplotlib")
        start, *arguments = line.strip().split("python -m kickdrift ")
        assert start == ""
        code, out, err = run(capsys, *arguments[0].split())
        assert code == 0
        if "--plot" in line:
            assert_plotted(name, line.split()[-1], out, err)


def assert_plotted(name, file, out, err):
    """Check that the demo prints the file name of its figure, and that the figure is not empty."""
    assert all(line.startswith(f"{name}: ") for line in err.splitlines())  # progress messages
    assert out.endswith(f"\nThe figure is in {file}.\n")
    pixels = pytest.importorskip("matplotlib.image").imread(file)
    assert pixels.shape[0] > 600
    assert pixels.shape[1] > 1000
    assert pixels.std() > 0.05


def test_without_arguments_the_commands_are_listed(capsys):
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert "{demo,compare,info}" in out or "COMMAND" in out
    for name in [*DEMOS, "compare", "info", "--plot", "help(kickdrift)"]:
        assert name in out


def test_long_work_shows_progress(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert list(progress.over("abc", "counting", "letters")) == ["a", "b", "c"]
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.partition(" letters")[0] for line in told.err.splitlines()] == [
        f"counting: {done} of 3" for done in (1, 2, 3)
    ]


def test_short_work_shows_no_progress(capsys):
    assert list(progress.over(range(3), "counting", "letters")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_progress_in_a_terminal_is_a_bar(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")  # simulates a terminal
    monkeypatch.setenv("TERM", "xterm")
    for patience, seen in ((4.0, False), (0.0, True)):
        monkeypatch.setattr(progress, "PATIENCE", patience)
        assert list(progress.over("abc", "counting", "letters")) == ["a", "b", "c"]
        assert ("counting" in capsys.readouterr().err) is seen


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(capsys, option):
    assert run(capsys, option) == (0, f"kickdrift {kd.__version__}\n", "")


def test_info_as_json(capsys):
    code, out, _ = run(capsys, "info", "--json")
    assert code == 0
    assert json.loads(out)["isas"] == list(kd.build_info()["isas"])


def test_an_unwritable_figure_is_reported_before_any_work(capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(spring, "report", lambda options: pytest.fail("worked in vain"))
    code, _, err = run(capsys, "demo", "spring", "--plot", "no/such/folder/spring.png")
    assert code == 2
    assert "there is no folder no/such/folder" in err


def test_the_installed_script_uses_its_own_name(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/kickdrift"])
    assert run(capsys, "info", "--help")[1].startswith("usage: kickdrift info")


@pytest.mark.parametrize("arguments", ["", "demo", "demo spring", "demo loops", "info"])
def test_help_fits_a_terminal(capsys, arguments):
    _, out, _ = run(capsys, *arguments.split(), "--help")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demo",), "arguments are required: NAME"),
        (("demo", "trampoline"), "invalid choice: 'trampoline'"),
        (("dance",), "invalid choice: 'dance'"),
        (("info", "--loud"), "unrecognized arguments: --loud"),
        (("demo", "jump", "--plot"), "argument --plot: expected one argument"),
    ],
)
def test_usage_errors(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_errors_of_the_library_are_printed_in_one_line(capsys, monkeypatch):
    def fail(options):
        raise kd.ConvergenceError(0, 1, 2.0)

    monkeypatch.setattr(jump, "report", fail)
    code, out, err = run(capsys, "demo", "jump")
    assert (code, out) == (1, "")
    assert err.startswith("python -m kickdrift: error: implicit step not solved")
    assert err.count("\n") == 1


@POSIX
def test_a_closed_pipe_is_not_reported():
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([*COMMAND, "demo", "spring"], stdout=writer, stderr=subprocess.PIPE, timeout=120)
    os.close(writer)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_reported_in_one_line():
    with open("/dev/full", "w") as full:
        result = subprocess.run([*COMMAND, "info"], stdout=full, stderr=subprocess.PIPE, timeout=120, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("python -m kickdrift: error: ")
    assert result.stderr.count("\n") == 1


@POSIX
@pytest.mark.signals
def test_ctrl_c_prints_no_traceback():
    # Runs like `python -m kickdrift`, but prints a line when the imports are done.
    ready = (
        "import runpy, kickdrift.demos.spring; print(flush=True); runpy.run_module('kickdrift', run_name='__main__')"
    )
    command = [sys.executable, "-c", ready, "demo", "spring", "--steps", "1" + "0" * 12]
    # Shells start background jobs with SIGINT ignored, which child processes inherit.
    listen = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=listen) as child:
        try:
            child.stdout.readline()
            time.sleep(2)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=20)
        finally:
            child.kill()
    assert (child.returncode, out, err) == (130, b"", b"")


# Figures.


# The examples in the help plot the demos that are left out here; the attractor is plotted with fewer trajectories.
@pytest.mark.parametrize(
    "name", [name for name in DEMOS if name != "attractor" and f"demo {name} --plot" not in DEMOS[name].EXAMPLES]
)
def test_plot_writes_a_figure(capsys, name, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "figure.png"
    code, out, err = run(capsys, "demo", name, "--plot", str(file))
    assert code == 0
    assert_plotted(name, file, out, err)


def test_plot_of_an_unstable_run(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "figure.svg"
    code, _, err = run(capsys, "demo", "spring", "--steps", "4000", "--plot", str(file))
    assert (code, err) == (0, "")
    assert file.stat().st_size > 10_000


def test_plot_without_matplotlib(capsys, tmp_path, monkeypatch):
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    code, out, err = run(capsys, "demo", "spring", "--plot", str(tmp_path / "figure.png"))
    assert (code, out) == (2, "")
    message = "--plot needs matplotlib, the extra `plot`: pip install 'kickdrift[plot]'"
    assert err == f"python -m kickdrift: error: {message}\n"
    assert run(capsys, "demo", "spring")[0] == 0


def test_plot_with_an_unknown_file_format(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, err = run(capsys, "demo", "jump", "--plot", str(tmp_path / "figure.xyz"))
    assert (code, out) == (2, "")
    assert "expected a file name ending in one of" in err
