"""Threads with and without the GIL: imports do not enable it, a stepper serves one thread, several run in parallel."""

import subprocess
import sys
import sysconfig
import threading

import numpy as np
import pytest
from plans import assert_same_bits, assert_same_state

import kickdrift as kd

IMPORT = """
import importlib, pkgutil, sys
import kickdrift as kd
from kickdrift import kernels
for module in pkgutil.walk_packages(kd.__path__, "kickdrift."):
    isa = module.name.rpartition(".")[2]
    if not module.name.endswith("__main__") and (isa not in kernels.KNOWN or isa in kernels.isas):
        importlib.import_module(module.name)
print(sys._is_gil_enabled())
"""


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded Python")
def test_import_leaves_the_gil_off():
    # An extension module that does not declare support for free threading enables the GIL, with a warning.
    command = [sys.executable, "-W", "error", "-c", IMPORT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False", done.stderr


def run_in_threads(work, threads):
    """Run work(number) in threads that start together, and raise their exceptions here."""
    gate, errors = threading.Barrier(threads), []

    def run(number):
        try:
            gate.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]


def ball(n=3):
    rng = np.random.default_rng(1)
    forces = [kd.AnchorSpring(2.0), kd.QuadraticDrag(0.1)]
    return kd.Stepper(rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), dt=0.01, forces=forces)


@pytest.mark.parametrize("n", [3, 20_000])
def test_one_stepper_serves_one_thread_at_a_time(n):
    """Every call is either refused or done exactly once, completely."""
    shared, done, refusals = ball(n), [0] * 4, set()
    calls = 2000 if n < 100 else 30

    def work(number):
        for call in range(calls):
            try:
                shared.step(1 + call % 3)
                done[number] += 1 + call % 3
            except RuntimeError as error:
                refusals.add(str(error))

    run_in_threads(work, len(done))
    assert shared.tick == sum(done) > 0
    assert refusals <= {"this stepper is stepping already: it serves one thread at a time"}
    alone = ball(n)
    alone.step(shared.tick)
    assert_same_state(shared, alone)


def test_many_steppers_run_in_parallel():
    steppers = [ball(500) for _ in range(4)]

    def work(number):
        for n in (1, 7, 40, 2):
            steppers[number].step(n)

    run_in_threads(work, len(steppers))
    alone = ball(500)
    alone.step(50)
    for stepper in steppers:
        assert_same_bits(stepper.position, alone.position)
