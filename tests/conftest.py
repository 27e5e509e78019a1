"""Fixtures: run each test on the reference and on every instruction set of the machine."""

import gc
import os
import signal

import pytest

import kickdrift as kd
from kickdrift import kernels

# Tests of Ctrl-C need SIGINT, but background jobs of a shell and all their children ignore it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Collection allocates but frees little; disabling the garbage collector saves a third of the collection time.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Run the whole suite on all cores if pytest-xdist is installed; run selected tests in one process.

    Command-line options take precedence: `-n 0` keeps everything in one process.
    """
    if hasattr(config, "workerinput") or "PYTEST_XDIST_WORKER" in os.environ:
        return  # a worker process must not start workers
    if config.args_source == config.ArgsSource.ARGS or not config.pluginmanager.hasplugin("xdist"):
        return
    option = config.option
    if option.numprocesses is None and not (option.usepdb or option.collectonly):
        option.numprocesses = os.cpu_count()
        option.dist = "load"


def pytest_addoption(parser):
    parser.addoption("--reversed", action="store_true", help="the last test first: none may need one before it")


def pytest_collection_modifyitems(config, items):
    if config.getoption("reversed"):
        items.reverse()


def pytest_collection_finish():
    """Move collected tests out of the garbage collector's reach: they stay alive until the end."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(params=kernels.isas)
def isa(request, monkeypatch):
    """Run the test with each instruction set; steppers created in the test use it."""
    monkeypatch.setattr(kernels, "isa", request.param)
    return request.param


@pytest.fixture(params=["reference", *kernels.isas])
def Stepper(request, monkeypatch):  # noqa: N802
    """Run the test with the stepper class of each implementation."""
    return of_implementation("Stepper", request, monkeypatch)


@pytest.fixture(params=["reference", *kernels.isas])
def ODEStepper(request, monkeypatch):  # noqa: N802
    """Run the test with the ODE stepper class of each implementation."""
    return of_implementation("ODEStepper", request, monkeypatch)


@pytest.fixture(params=["reference", *kernels.isas])
def Worlds(request, monkeypatch):  # noqa: N802
    """Run the test with the class of many worlds of each implementation."""
    return of_implementation("Worlds", request, monkeypatch)


def of_implementation(name, request, monkeypatch):
    """Return the class `name` of the reference, or that of kickdrift with the instruction set of the parameter."""
    if request.param == "reference":
        return getattr(kd.reference, name)
    monkeypatch.setattr(kernels, "isa", request.param)
    return getattr(kd, name)
