"""Incompletely added terms and mismatched builds are refused before they run."""

import ctypes

import numpy as np
import pytest

import kickdrift as kd
from kickdrift import kernels
from kickdrift.engine import binding, constraints
from kickdrift.stepper.model import Plan

NO_KIND = 99


@pytest.mark.parametrize("integrator", ["rk4", "implicit_euler"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_term_without_a_kernel_branch_is_refused(monkeypatch, isa, integrator, dtype):
    monkeypatch.setitem(binding.TERMS, "quadratic_drag", NO_KIND)
    world = np.zeros((3, 2), dtype)
    with pytest.raises(RuntimeError, match=rf"^kernels: expected branches for 'quadratic_drag' under '{integrator}'"):
        kd.Stepper(world, integrator=integrator, forces=[kd.Gravity((0, -9.81)), kd.QuadraticDrag(1.0)])


def test_a_term_without_a_potential_in_the_kernels_is_refused(monkeypatch):
    """A term needs branches in all kernel functions that the integrator calls, not only in some."""
    monkeypatch.setitem(binding.TERMS, "point_gravity", binding.TERMS["quadratic_drag"])
    kd.Stepper([[1.0, 0.0]], forces=[kd.PointGravity(1.0)])
    with pytest.raises(RuntimeError, match="expected branches for 'point_gravity' under 'energy_euler'"):
        kd.Stepper([[1.0, 0.0]], integrator="energy_euler", forces=[kd.PointGravity(1.0)])


def test_a_scheme_without_a_kernel_branch_is_refused(monkeypatch, isa):
    monkeypatch.setitem(binding.SCHEMES, "heun", NO_KIND)
    with pytest.raises(RuntimeError, match=r"^kernels: expected a branch for 'heun' in dispatch\.pxd"):
        kd.Stepper([[0.0]], integrator="heun")


@pytest.mark.parametrize(
    ("kind", "constraint"),
    [("pin", kd.Pin(0)), ("distance", kd.Distance([(0, 1)], 1.0)), ("collisions", kd.ElasticCollisions(0.1))],
)
def test_a_constraint_without_a_kernel_branch_is_refused(monkeypatch, isa, kind, constraint):
    _, bound = constraints.KINDS[kind]
    monkeypatch.setitem(constraints.KINDS, kind, (NO_KIND, bound))
    place, velocity = np.array([[0.0, 1.0], [2.0, 3.0]]), np.ones((2, 2))
    world = kd.Stepper(place, velocity, forces=[kd.Gravity((0, -9.81))], constraints=[constraint])
    with pytest.raises(RuntimeError, match=f"^kernels: expected a branch for '{kind}'"):
        world.step(3)
    assert world.tick == 0
    assert place.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_a_constraint_with_events_without_a_kernel_branch_is_refused(monkeypatch, isa):
    """A constraint unknown to the kernels is refused by name instead of missing from the events."""
    monkeypatch.setattr(kd.Pin, "sides", lambda self, plan: 0)
    place = np.array([[0.0, 1.0], [2.0, 3.0]])
    world = kd.Stepper(place, np.ones((2, 2)), constraints=[kd.Pin(0)], events=kd.Events())
    with pytest.raises(RuntimeError, match=r"^kernels: expected a branch for 'pin' in .* contact_events\.pxd"):
        world.step(3)
    assert world.tick == 0
    assert place.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_kernels_of_another_build_are_refused(monkeypatch):
    """Structs of another build may differ: reading them would crash."""
    room, name = ctypes.create_string_buffer(b"\xff" * 4096), b"kickdrift.Kernels"
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make(ctypes.addressof(room), name, None)
    monkeypatch.setattr(kernels, "offered", lambda: capsule)
    with pytest.raises(ImportError, match=r"^kickdrift: expected kernels and engine from one build, .* build_ext"):
        kd.Stepper([[0.0]])
    # The kernel lookup is cached by the identity of the isa string; defeat the cache.
    monkeypatch.setattr(kernels, "isa", "".join(list(kernels.isa)))
    with pytest.raises(ImportError, match="one build"):
        kd.math.sin(np.ones(3))


def test_a_missing_coefficient_of_a_term_is_zero(monkeypatch, isa):
    """The center is omitted here: kernels read zeros instead."""
    add = Plan.add_record
    there = [[3.0, 4.0, 1.0]] * 5
    whole = kd.Stepper(there, forces=[kd.PointGravity(2.0)])
    monkeypatch.setattr(Plan, "add_record", lambda *those, center, **fields: add(*those, **fields))
    without = kd.Stepper(there, forces=[kd.PointGravity(2.0)])
    whole.step(10)
    without.step(10)
    assert whole.position.tobytes() == without.position.tobytes()
