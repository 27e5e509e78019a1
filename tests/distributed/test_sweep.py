"""Sweeps: equal results with every executor, also after killed workers, interruptions and errors."""

import functools
import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("dask.array")

import worlds

import kickdrift as kd
from kickdrift import distributed, progress
from kickdrift.distributed import cases as one_case
from kickdrift.distributed.store import Store, key_of

CASES = [{"alpha": 0.5 + number / 20, "n": 1 + number % 3} for number in range(20)]


class Here(Executor):
    """An executor that runs tasks immediately and counts them in `calls`."""

    calls = 0

    def submit(self, function, /, *given):
        self.calls += 1
        future = Future()
        future.set_result(function(*given))
        return future


def quietly(*given, **options):
    return list(distributed.sweep(*given, progress=False, **options))


def expected(cases=CASES, steps=100):
    results = []
    for case in cases:
        world = worlds.prey(**case)
        world.step(steps)
        results.append(world.y.tobytes())
    return results


def bits(results):
    return [result.tobytes() for result in results]


@pytest.mark.parametrize("workers", [1, 2])
def test_sweep_with_threads(workers):
    with ThreadPoolExecutor(workers) as pool:
        assert bits(quietly(worlds.prey, CASES, 100, worlds.state, executor=pool)) == expected()


def test_sweep_with_its_own_processes():
    results = distributed.sweep(worlds.prey, iter(CASES), 100, lambda world: world.y, progress=False)
    assert bits(results) == expected()


@pytest.mark.filterwarnings("ignore")
def test_sweep_with_dask():
    dd = pytest.importorskip("distributed")
    with (
        dd.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        dd.Client(cluster) as client,
    ):
        assert bits(quietly(worlds.prey, CASES, 100, worlds.state, executor=client.get_executor())) == expected()


def test_samples_equal_those_of_record():
    (samples,) = quietly(worlds.prey, CASES[:1], 25, worlds.state, every=10, executor=Here())
    kept = worlds.prey(**CASES[0]).record(25, every=10).y
    assert bits(samples) == bits(kept)


def test_results_are_yielded_in_order_as_they_become_ready():
    released = threading.Event()

    def build(speed):
        if speed == 0.0:
            assert released.wait(20)
        return worlds.throw(speed)

    with ThreadPoolExecutor(2) as pool:
        results = distributed.sweep(
            build, ({"speed": float(speed)} for speed in range(5)), 1, worlds.place, executor=pool, progress=False
        )
        threading.Timer(0.2, released.set).start()
        speeds = [place[0] for place in results]
    assert speeds == sorted(speeds)


def test_a_failing_case_is_reported_and_the_others_continue(capsys):
    cases = [{"speed": 1.0}, {"speed": -1.0}, {"speed": 2.0}]
    first, bad, last = distributed.sweep(worlds.throw, cases, 5, worlds.place, executor=Here())
    assert isinstance(bad, distributed.CaseError)
    assert bad.case == {"speed": -1.0}
    assert isinstance(bad.error, ValueError)
    assert str(bad) == "case (speed=-1.0): ValueError: no such speed: -1.0"
    assert "worlds.py" in bad.traceback
    assert str(bad) in capsys.readouterr().err
    assert first[0] < last[0]
    assert str(pickle.loads(pickle.dumps(bad))) == str(bad)


def test_a_case_that_exits_does_not_end_the_sweep():
    def build(place):
        return sys.exit("enough") if place == 1 else kd.Stepper([[place]])

    first, bad, last = quietly(build, [{"place": float(each)} for each in range(3)], 5, worlds.place, executor=Here())
    assert isinstance(bad.error, SystemExit)
    assert (first[0], last[0]) == (0.0, 2.0)


def test_parameters_without_a_repr_do_not_replace_the_error():
    class Odd:
        def __repr__(self):
            raise RuntimeError("never")

    (bad,) = quietly(worlds.throw, [{"odd": Odd()}], 5, worlds.place, executor=Here())
    assert isinstance(bad.error, TypeError)


def test_a_case_with_damaged_progress_starts_again(tmp_path):
    key = key_of({"speed": 9.0}, worlds.throw, worlds.place, 5, None)
    (tmp_path / f"{key}.part").write_bytes(b"\x80")
    whole = quietly(worlds.throw, [{"speed": 9.0}], 5, worlds.place, executor=Here())
    assert comparable(quietly(worlds.throw, [{"speed": 9.0}], 5, worlds.place, executor=Here(), store=tmp_path)) == (
        comparable(whole)
    )


def test_exceptions_that_cannot_be_pickled_are_reported_as_text():
    class OddError(Exception):
        def __reduce__(self):
            raise TypeError("never")

    def build():
        raise OddError("strange")

    (bad,) = quietly(build, [{}], 5, worlds.place, executor=Here())
    assert bad.error is None
    assert "OddError: strange" in str(bad)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"build": None}, TypeError, "build: expected a function"),
        ({"observe": 3}, TypeError, "observe: expected a function"),
        ({"cases": {"speed": 1}}, TypeError, "cases: expected an iterable of dicts"),
        ({"steps": -1}, ValueError, "steps"),
        ({"every": 0}, ValueError, "every"),
        ({"executor": 2}, TypeError, "executor: expected a concurrent.futures.Executor"),
        ({"store": 3}, TypeError, "store: expected the path of a folder"),
        ({"progress": "no"}, TypeError, "progress: expected True or False"),
    ],
)
def test_invalid_arguments_are_refused_immediately(changes, error, message):
    given = {"build": worlds.throw, "cases": [], "steps": 1, "observe": worlds.place, **changes}
    with pytest.raises(error, match=message):
        distributed.sweep(**given)


def test_cases_must_be_dicts():
    with pytest.raises(TypeError, match=r"cases: expected dicts .* as no\. 1"):
        quietly(worlds.throw, [{"speed": 1.0}, 2.0], 1, worlds.place, executor=Here())


# Store.


def comparable(result):
    """Convert a result for bitwise comparison."""
    if isinstance(result, list):
        return [comparable(entry) for entry in result]
    if isinstance(result, kd.Trajectory):
        return [comparable(result.time), comparable(result.position), comparable(result.velocity)]
    return (result.dtype, result.shape, result.tobytes()) if isinstance(result, np.ndarray) else repr(result)


@pytest.mark.parametrize(
    ("observe", "every"),
    [(worlds.state, None), (worlds.state, 4), (worlds.place, None), (worlds.place, 4), (worlds.motion, None)],
)
def test_stored_results_equal_the_yielded_ones(tmp_path, observe, every):
    cases = [{"speed": float(speed)} for speed in (1, 2, -1)]
    once, again = Here(), Here()
    first = quietly(worlds.throw, cases, 8, observe, every=every, executor=once, store=tmp_path)
    second = quietly(worlds.throw, cases[::-1], 8, observe, every=every, executor=again, store=tmp_path)[::-1]
    assert (once.calls, again.calls) == (3, 1)  # only the failed case is run again
    assert comparable(first[:2]) == comparable(second[:2])
    assert [type(result) for result in first] == [type(result) for result in second]
    assert isinstance(second[2], distributed.CaseError)
    suffixes = {file.suffix for file in tmp_path.iterdir()}
    assert suffixes == ({".pickle"} if observe is worlds.place else {".npz"})


def test_other_arguments_are_not_read_from_the_store(tmp_path):
    def run(steps=5, build=worlds.throw, observe=worlds.place):
        here = Here()
        quietly(build, [{"speed": 1.0}], steps, observe, executor=here, store=tmp_path)
        return here.calls

    assert [run(), run(), run(steps=6), run(observe=worlds.state), run(observe=lambda world: world.tick)] == [
        1,
        0,
        1,
        1,
        1,
    ]
    assert run(observe=lambda world: world.time) == 1


def made(expression, default=1):
    """Return a function of this module: its code is the expression."""
    scope = {"__name__": __name__}
    exec(f"def build(world, default={default}):\n return {expression}", scope)
    return scope["build"]


def called(expression):
    """Return an object that is called like a function."""
    return type("Called", (), {"__call__": made(expression)})()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made("(0, -9.81)"), made("(0, -1.62)")),
        (made("[2 * i for i in (0, 1)]"), made("[3 * i for i in (0, 1)]")),
        (made("(lambda: 1.5)()"), made("(lambda: 2.5)()")),
        (made("world in {1, 2}"), made("world in {1, 3}")),
        (made("default", default=1), made("default", default=2)),
        (functools.partial(made("default"), default=1), functools.partial(made("default"), default=2)),
        (called("(0, 1)"), called("(0, 2)")),
    ],
)
def test_a_changed_constant_is_another_case(one, other):
    keys = [key_of({"speed": 1.0}, function, 5, None) for function in (one, other, one)]
    assert keys[0] == keys[2] != keys[1]


def test_an_interrupted_case_continues_from_its_snapshot(tmp_path, monkeypatch):
    """Interrupted after each slice."""
    whole = quietly(worlds.throw, [{"speed": 9.0}], 500, worlds.place, every=7, executor=Here())
    monkeypatch.setattr(one_case, "stop", threading.Event())
    one_case.stop.set()
    for stops in itertools.count():  # noqa: B007 - counted for the end
        try:
            parts = quietly(worlds.throw, [{"speed": 9.0}], 500, worlds.place, every=7, executor=Here(), store=tmp_path)
            break
        except RuntimeError:
            assert [file.suffix for file in tmp_path.iterdir()] == [".part"]
    assert stops > 20
    assert parts == whole
    assert [file.suffix for file in tmp_path.iterdir()] == [".pickle"]


def test_stored_snapshots_of_another_world_are_ignored(tmp_path):
    case = {"speed": 3.0}
    kept = Store(tmp_path)
    another = worlds.prey()
    kept.save(
        key_of(case, worlds.throw, worlds.place, 5, None), {"snapshot": another.snapshot(), "done": 4, "seen": []}
    )
    fresh = quietly(worlds.throw, [case], 5, worlds.place, executor=Here())
    assert quietly(worlds.throw, [case], 5, worlds.place, executor=Here(), store=tmp_path) == fresh


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-9], lambda data: b"x" * 200])
@pytest.mark.parametrize("observe", [worlds.place, lambda world: {"tick": world.tick}], ids=["arrays", "pickles"])
def test_a_damaged_file_in_the_store_is_reported_and_the_others_continue(tmp_path, observe, damage):
    cases = [{"speed": 1.0}, {"speed": 2.0}, {"speed": 3.0}]
    fresh = quietly(worlds.throw, cases, 5, observe, every=1, executor=Here(), store=tmp_path)
    file = next(tmp_path.glob(f"{key_of(cases[1], worlds.throw, observe, 5, 1)}.*"))
    file.write_bytes(damage(file.read_bytes()))
    again = quietly(worlds.throw, cases, 5, observe, every=1, executor=Here(), store=tmp_path)
    assert repr([again[0], again[2]]) == repr([fresh[0], fresh[2]])
    assert isinstance(again[1], distributed.CaseError)
    assert file.name in str(again[1])
    file.unlink()
    assert repr(quietly(worlds.throw, cases, 5, observe, every=1, executor=Here(), store=tmp_path)) == repr(fresh)


# Killed workers.


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(("deaths", "fails"), [(1, False), (9, True)])
def test_a_killed_worker_is_replaced(tmp_path, deaths, fails):
    cases = [{"number": number, "folder": str(tmp_path), "times": deaths} for number in range(6)]
    results = quietly(worlds.deadly, cases, 10, worlds.place)
    alive = [worlds.throw(1.0 + number) for number in range(6)]
    for number, world in enumerate(alive):
        world.step(10)
        if number == 2 and fails:
            assert isinstance(results[2], distributed.CaseError)
            assert "its worker died" in str(results[2])
            assert results[2].case["number"] == 2
        else:
            assert results[number] == worlds.place(world)


def test_a_script_without_a_main_guard_is_explained(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import kickdrift as kd\nfrom kickdrift import distributed\n"
        "list(distributed.sweep(lambda: kd.Stepper([[0.0]]), [{}] * 9, 1, lambda world: world.tick))\n"
    )
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 1
    assert result.stderr.rstrip().endswith('a script must call it below `if __name__ == "__main__":`')
    assert "freeze_support" not in result.stderr  # our message replaces Python's advice in child processes, too


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_broken_pool_of_the_user_raises(tmp_path):
    import multiprocessing

    cases = [{"number": number, "folder": str(tmp_path), "times": 1} for number in range(6)]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool, pytest.raises(RuntimeError):
        quietly(worlds.deadly, cases, 10, worlds.place, executor=pool, store=tmp_path / "store")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.signals
def test_ctrl_c_keeps_finished_work(tmp_path):
    """After an interrupt by a signal, a restart gives bitwise equal results without repeating finished work."""
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import sys
sys.path.insert(0, {os.path.dirname(worlds.__file__)!r})
import worlds
from kickdrift import distributed
if __name__ == "__main__":
    cases = [{{"number": number, "folder": {str(tmp_path)!r}}} for number in range(2)]
    for result in distributed.sweep(worlds.slow, cases, 300, worlds.place, store={str(tmp_path / "store")!r}):
        print(repr(result), flush=True)
"""
    )
    command = [sys.executable, str(script)]
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **listen) as child:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*.starts")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    assert out == b""
    assert list((tmp_path / "store").glob("*.part"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.split("\n")
    for number in range(2):
        world = worlds.slow(number, str(tmp_path), seconds=0)
        world.step(300)
        assert done[number] == repr(worlds.place(world))


def test_a_worker_of_another_version_ends_the_sweep(monkeypatch):
    monkeypatch.setattr(one_case.workers, "identity", iter([{"version": "9.9"}, {"version": "0.1"}]).__next__)
    with pytest.raises(distributed.WorkerError, match=r"version '9\.9' here, '0\.1' there"):
        quietly(worlds.throw, [{"speed": 1.0}], 5, worlds.place, executor=Here())


# Progress.


def test_progress_without_a_terminal_is_printed_in_lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    list(distributed.sweep(worlds.throw, [{"speed": 1.0}, {"speed": 2.0}], 5, worlds.place, executor=Here()))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("sweep: 2 of 2 cases, ")
    assert lines[-1].endswith(" a second, 0 s left")
    list(distributed.sweep(worlds.throw, iter([{"speed": 1.0}]), 5, worlds.place, executor=Here()))
    assert capsys.readouterr().err.startswith("sweep: 1 cases, ")


def test_progress_in_a_terminal_is_a_bar(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    cases = [{"speed": 1.0}, {"speed": -2.0}]
    list(distributed.sweep(worlds.throw, cases, 5, worlds.place, executor=Here()))
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "case (speed=-2.0): ValueError: no such speed: -2.0" in shown


# Imports.


def test_kickdrift_does_not_import_dask():
    code = "import sys, kickdrift; sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_missing_dask_is_explained():
    code = "import sys; sys.modules['dask'] = None\nimport kickdrift.distributed"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stderr.rstrip().endswith(
        "ImportError: kickdrift.distributed needs Dask, the extra `distributed`: pip install 'kickdrift[distributed]'"
    )
