"""Fixtures: the same tests run on the reference and on every instruction set of the machine."""

import pytest

import kickdrift as kd
from kickdrift import kernels


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
