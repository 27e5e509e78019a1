"""Fixtures: the same tests run on the reference and on every instruction set of the machine."""

import gc
import os
import signal

import pytest

import kickdrift as kd
from kickdrift import kernels

# Shells start what runs in the background with Ctrl-C ignored, and what that starts inherits it: Ctrl-C is tested here.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# To collect makes much and drops little: a third of its time would go into looking for garbage.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """The whole suite runs on all cores, where pytest-xdist is; tests that are named run in one process.

    Options of the command line win: `-n 0` keeps all in one process.
    """
    if hasattr(config, "workerinput") or "PYTEST_XDIST_WORKER" in os.environ:
        return  # one of those processes, which must not start others
    if config.args_source == config.ArgsSource.ARGS or not config.pluginmanager.hasplugin("xdist"):
        return
    option = config.option
    if option.numprocesses is None and not (option.usepdb or option.collectonly):
        option.numprocesses = os.cpu_count()
        option.dist = "worksteal"


def pytest_addoption(parser):
    parser.addoption("--reversed", action="store_true", help="the last test first: none may need one before it")


def pytest_collection_modifyitems(config, items):
    if config.getoption("reversed"):
        items.reverse()


def pytest_collection_finish():
    """What was collected stays until the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(params=kernels.isas)
def isa(request, monkeypatch):
    """Each instruction set in turn; steppers made in the test use it."""
    monkeypatch.setattr(kernels, "isa", request.param)
    return request.param


@pytest.fixture(params=["reference", *kernels.isas])
def Stepper(request, monkeypatch):  # noqa: N802
    """The stepper class of each implementation in turn."""
    if request.param == "reference":
        return kd.reference.Stepper
    monkeypatch.setattr(kernels, "isa", request.param)
    return kd.Stepper


@pytest.fixture(params=["reference", *kernels.isas])
def ODEStepper(request, monkeypatch):  # noqa: N802
    """The ODE stepper class of each implementation in turn."""
    if request.param == "reference":
        return kd.reference.ODEStepper
    monkeypatch.setattr(kernels, "isa", request.param)
    return kd.ODEStepper
