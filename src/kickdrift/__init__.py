"""Particle physics for Python games and simulations: fixed timesteps, reproducible results, compiled code.

>>> import numpy as np, kickdrift as kd
>>> position, velocity = np.zeros((1000, 2)), np.ones((1000, 2))
>>> world = kd.Stepper(position, velocity, hz=60, forces=[kd.Gravity((0, -9.81))])
>>> world.step(60)  # one second: both arrays have changed in place
>>> world.time
1.0

In a game: call `world.advance(seconds)` with the time of each frame, and draw the positions of `world.interpolate()`.

Worlds
  Stepper             bodies under forces: step, advance, ticks, interpolate; spawn, kill; set, enable, add
  Worlds              many copies of one world, stepped in one call
  ODEStepper, flows   many trajectories of y' = f(t, y)
  Trajectory, ODETrajectory   results of `record`
  kick, drift, damp   single substeps, for your own loops

Forces
  Gravity, PointGravity, Vortex, RotatingFrame, Magnetic   fields
  LinearDrag, QuadraticDrag, Damping, FloorFriction        air and friction
  AnchorSpring, Springs, NBody                             springs, and gravity between bodies
  AppliedForce, AppliedTorque                              your own: arrays
  Force, Acceleration, NativeForce                         your own: Python, native callbacks
  Langevin, PairPotential                                  a thermostat, and short-range pair forces
  Expression, Potential                                    your own as expressions; math has their functions

Constraints
  Pin, Distance, Box, Plane, ElasticCollisions   pins, ropes and cloth, walls, floors, elastic balls
  Contacts, Segments, Boxes                      resting piles, and static shapes
  Periodic                                       periodic boundary conditions

Events
  Events, Sensor, and the kinds HIT, BEGIN, END, ENTER, LEAVE, BREAK; Neighbours searches for near points

Time
  FixedClock                          number of steps in a frame
  ExactSteps, Match, Locked, Variable, Drop, Backlog, Resync, Raise, Budget   its rules

Rollback
  Stepper.snapshot, restore, checksum; Rollback, Inputs, Tape, sync_test

Integrators
  INTEGRATORS lists them by name; "velocity_verlet" is the default. Classes have parameters, such as
  GrootWarren(lam=0.65). Dopri8 is for ODEStepper. `compare` puts them side by side on a problem: a Comparison.

All errors derive from KickdriftError and from the closest built-in. `build_info()` describes this build,
`get_include()` is the folder of the C headers, and `reference` is a readable implementation in plain Python.

`python -m kickdrift` shows demos. The pages in docs/ begin with the first ten minutes.
"""

from importlib import import_module as _import_module

from .kernels import build_info as build_info

__version__ = "0.2.0"

# Public names by module, imported lazily. `__init__.pyi` declares them for type checkers.
_NAMES = {
    "clock": "FixedClock",
    "clock.options": "Backlog Budget Drop ExactSteps Locked Match Raise Resync Variable",
    "comparison": "Comparison compare",
    "constraints.collisions": "ElasticCollisions",
    "constraints.contacts": "Contacts",
    "constraints.joints": "Distance Pin",
    "constraints.periodic": "Periodic",
    "constraints.sensors": "Sensor",
    "constraints.shapes": "Boxes Segments",
    "constraints.walls": "Box Plane",
    "verbs": "damp drift kick",
    "errors": (
        "CallbackError CapacityError ConvergenceError DeadBodyError DesyncError KickdriftError NonFiniteError "
        "OverloadError SnapshotError"
    ),
    "forces.applied": "AppliedForce AppliedTorque",
    "forces.callbacks": "Acceleration Force NativeForce",
    "forces.fields": "AnchorSpring Damping FloorFriction Gravity LinearDrag PointGravity QuadraticDrag Vortex",
    "forces.formulas": "Expression Potential",
    "forces.interactions": "NBody Springs",
    "forces.langevin": "Langevin",
    "forces.native": "get_include",
    "forces.pairs": "PairPotential",
    "forces.rotations": "Magnetic RotatingFrame",
    "integrators": "INTEGRATORS",
    "integrators.compositions": "Leapfrog PEFRL Yoshida4 Yoshida6",
    "integrators.euler": "EnergyEuler ExplicitEuler ImplicitEuler SemiImplicitEuler",
    "integrators.exact": "Exact",
    "integrators.runge_kutta": "Dopri8 Heun Midpoint RK4",
    "integrators.verlet": "GrootWarren VelocityVerlet Verlet",
    "neighbours": "Neighbours",
    "ode.stepper": "ODEStepper",
    "rollback.inputs": "Inputs",
    "rollback.rollback": "Rollback sync_test",
    "rollback.tape": "Tape",
    "stepper.events": "BEGIN BREAK END ENTER HIT LEAVE Events",
    "stepper.stepper": "Stepper",
    "stepper.trajectory": "ODETrajectory Trajectory",
    "stepper.worlds": "Worlds",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_MODULES, "__version__", "build_info", "flows", "math", "reference"])

#: Names in other libraries, for "did you mean": the name spelled most like "Rope" would be "Drop".
_OTHER_WORDS = {
    "Boxes": "Platform Rect Rectangle",
    "Distance": "Chain Cloth Joint Link Rod Rope",
    "FixedClock": "Clock",
    "Langevin": "Thermostat",
    "LinearDrag": "Drag",
    "ODEStepper": "ODE",
    "Plane": "Floor Ground Wall",
    "Sensor": "Region Trigger",
    "Stepper": "Ball Body Circle Engine Particles Scene Simulation Space World",
    "Tape": "Replay",
}


def __getattr__(name):
    module = _MODULES.get(name)
    if module is not None:
        value = globals()[name] = getattr(_import_module(f".{module}", __name__), name)
        return value
    if not name.startswith("_"):  # a submodule of this package, such as flows
        try:
            return _import_module(f".{name}", __name__)
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    meant = _import_module(".validation", __name__).meant  # imported here, because errors are rare
    hints = [f"; did you mean {ours!r}?" for ours, words in _OTHER_WORDS.items() if name in words.split()]
    hint = hints[0] if hints else meant(name, __all__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__():
    # List public names, also those not imported yet; hide internal modules.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
