"""Plain scenes: one integrator, one or two uniform forces, one or two walls, in the two common layouts.

The scenes of plans.py combine several forces, coefficients per body and springs. Fast paths cover these simple ones.
Bodies do not interact here. The reference therefore steps FEW different bodies once; the kernels step worlds of all
SIZES that repeat these bodies.
"""

from functools import cache, partial
from itertools import product

import numpy as np
from draws import Draws
from plans import INTEGRATORS, lay_out

import kickdrift as kd

#: One body, less than a vector, more than a vector, and more than a tile of bodies in 3-D rows.
SIZES = (1, 5, 17, 200)
FEW = 17
DT = 1 / 32  # s; a power of two, so that bodies can lie exactly on walls
DTYPES = (np.float32, np.float64)
LAYOUTS = ("row", "component")
#: One integrator of each kind, for tests where running all of them would take too long.
FOUR = (kd.VelocityVerlet(), kd.Leapfrog(), kd.Verlet(), kd.RK4())


def vector(dim, *numbers):
    return np.array(numbers[:dim])


def turning(dim, *numbers):
    """Return an angular velocity or a magnetic field."""
    return numbers[2] if dim == 2 else np.array(numbers)


def place(dim):
    """Return coordinates whose sums with other numbers are inexact, so that the order of additions shows."""
    return vector(dim, 0.1, 0.7, -0.3)


def spin(dim):
    return turning(dim, 0.4, -0.3, 2.0)


#: name -> function of the dimension that returns the forces; None where the force does not exist.
FORCES = {
    "nothing": lambda dim: [],
    "Gravity": lambda dim: [kd.Gravity(vector(dim, 1.0, -9.8, 3.0))],
    "LinearDrag": lambda dim: [kd.LinearDrag(0.7, wind=vector(dim, 2.0, 0.5, -1.0))],
    "QuadraticDrag": lambda dim: [kd.QuadraticDrag(0.3)],
    "QuadraticDrag in wind": lambda dim: [kd.QuadraticDrag(0.3, wind=vector(dim, 2.0, 0.5, -1.0))],
    "AnchorSpring": lambda dim: [kd.AnchorSpring(4.0, anchor=vector(dim, 0.5, -0.25, 1.0))],
    "AnchorSpring, damped": lambda dim: [kd.AnchorSpring(4.0, 0.3)],
    "PointGravity": lambda dim: [kd.PointGravity(2.0, center=vector(dim, 0.25, -0.5, 0.75), softening=0.3)],
    "Vortex": lambda dim: [kd.Vortex(1.5, softening=0.2)] if dim > 1 else None,
    "Damping": lambda dim: [kd.Damping(0.9)],
    "Magnetic": lambda dim: [kd.Magnetic(1.5, spin(dim))] if dim > 1 else None,
    "RotatingFrame": lambda dim: [kd.RotatingFrame(turning(dim, 0.1, 0.2, 0.5))] if dim > 1 else None,
    "Gravity + LinearDrag": lambda dim: [kd.Gravity(vector(dim, 1.0, -9.8, 3.0)), kd.LinearDrag(0.7)],
    "Gravity + QuadraticDrag": lambda dim: [kd.Gravity(vector(dim, 1.0, -9.8, 3.0)), kd.QuadraticDrag(0.3)],
    "QuadraticDrag + LinearDrag": lambda dim: [kd.QuadraticDrag(0.3), kd.LinearDrag(0.7)],
    "PointGravity + Vortex": lambda dim: (
        [kd.PointGravity(2.0, softening=0.3), kd.Vortex(1.5, softening=0.5)] if dim > 1 else None
    ),
    "Gravity + Damping": lambda dim: [kd.Gravity(vector(dim, 1.0, -9.8, 3.0)), kd.Damping(0.9)],
    "Gravity + Magnetic": lambda dim: (
        [kd.Gravity(vector(dim, 1.0, -9.8, 3.0)), kd.Magnetic(1.5, spin(dim))] if dim > 1 else None
    ),
}

#: name -> function of the dimension that returns walls which the bodies reach within a few steps.
WALLS = {
    "Plane": lambda dim: [kd.Plane(vector(dim, *[0.0] * (dim - 1), 1.0), -1.0, 0.5, 0.25)],
    "two Planes": lambda dim: [
        kd.Plane(vector(dim, *[0.0] * (dim - 1), 1.0), -1.0, 0.5, 0.25),
        kd.Plane(vector(dim, 1.0, *[0.0] * (dim - 1)), -1.0),
    ],
    "Box": lambda dim: [kd.Box(-1.5, 1.5, 0.75, radius=0.125)],
    "far Planes": lambda dim: [
        kd.Plane(vector(dim, *[0.0] * (dim - 1), 1.0), -1e6),
        kd.Plane(vector(dim, 1.0, *[0.0] * (dim - 1)), -1e6),
    ],
    "Boxes": lambda dim: [kd.Boxes([[-4.0] * dim], [[*[4.0] * (dim - 1), -1.0]], 0.5, 0.25)],
    "Sensor": lambda dim: [kd.Sensor([-0.5] * dim, [0.5] * dim)],
}


@cache
def bodies(dim, dtype):
    """Create positions and velocities of FEW bodies.

    The first lies exactly on the floor. The second is exactly there after one step without forces.
    """
    rng = Draws(f"plain {dim}")
    position, velocity = rng.normal(size=(FEW, dim)) / 4, rng.normal(size=(FEW, dim))
    position[0, -1], velocity[0, -1] = -1.0, 0.0
    position[1, -1], velocity[1, -1] = DT - 1.0, -1.0
    return position.astype(dtype), velocity.astype(dtype)


def worlds(twin, make, sizes=SIZES):
    """Yield results of `make` for all dimensions, dtypes, sizes and layouts; the reference steps FEW bodies.

    make(cls, dim, position, velocity) returns the final arrays, with one row per body; or None.
    """
    for dim, dtype in product((1, 2, 3), DTYPES):
        position, velocity = bodies(dim, dtype)
        if twin is not kd:
            found = make(twin.Stepper, dim, position.copy(), velocity.copy())
        for n, layout in product(sizes, LAYOUTS):
            rows = np.arange(n) % FEW
            if twin is kd:
                found = make(kd.Stepper, dim, lay_out(position[rows], layout), lay_out(velocity[rows], layout))
                yield None if found is None else [np.array(array) for array in found]
            else:
                yield None if found is None else [np.array(array[rows]) for array in found]


def stepped(integrator, forces, walls, events, cls, dim, position, velocity):
    """Return the state after each of three calls, of 2, 1 and 1 steps; None if there is no such force."""
    chosen = FORCES[forces](dim)
    if chosen is None:
        return None
    held = WALLS[walls](dim) if walls else []
    flags = {"events": kd.Events()} if events else {}
    stepper = cls(position, velocity, dt=DT, integrator=integrator, forces=chosen, constraints=held, **flags)
    seen = []
    for steps in (2, 1, 1):
        stepper.step(steps)
        seen += [np.array(stepper.position), np.array(stepper.velocity)]
    return seen


#: name -> (a force with zero effect, coefficients to set later); both are functions of the dimension.
CHANGES = {
    "Gravity": (lambda dim: kd.Gravity(np.zeros(dim)), lambda dim: {"acceleration": vector(dim, 1.0, -9.8, 3.0)}),
    "LinearDrag": (lambda dim: kd.LinearDrag(0.0), lambda dim: {"coefficient": 0.7}),
    "QuadraticDrag": (lambda dim: kd.QuadraticDrag(0.0), lambda dim: {"coefficient": 0.7}),
    "AnchorSpring": (lambda dim: kd.AnchorSpring(0.0), lambda dim: {"stiffness": 4.0, "anchor": place(dim)}),
    "PointGravity": (lambda dim: kd.PointGravity(0.0, softening=0.5), lambda dim: {"mu": 2.0, "center": place(dim)}),
    "Vortex": (lambda dim: kd.Vortex(0.0), lambda dim: {"strength": 1.5, "center": place(dim)}),
    "Damping": (lambda dim: kd.Damping(0.0), lambda dim: {"rate": 0.9}),
    "Magnetic": (lambda dim: kd.Magnetic(1.5, turning(dim, 0, 0, 0)), lambda dim: {"field": spin(dim)}),
    "RotatingFrame": (lambda dim: kd.RotatingFrame(turning(dim, 0, 0, 0)), lambda dim: {"omega": spin(dim)}),
}
TWO_AND_THREE = {"Vortex", "Magnetic", "RotatingFrame"}


def changed(integrator, name, cls, dim, position, velocity):
    """Return the state after a force was set, zeroed, set, and set once more after two calls of shift()."""
    if dim == 1 and name in TWO_AND_THREE:
        return None
    force, others = CHANGES[name][0](dim), CHANGES[name][1](dim)
    off = {field: getattr(force, field) for field in others}
    stepper = cls(position, velocity, dt=DT, integrator=integrator, forces=[force])
    seen = []

    def go_on():
        stepper.step(2)
        seen.extend([np.array(stepper.position), np.array(stepper.velocity)])

    go_on()
    stepper.set(force, **others)
    go_on()
    stepper.set(force, **off)
    go_on()
    stepper.set(force, **others)
    for _ in range(2):
        stepper.shift(vector(dim, 0.3, 0.9, -0.7))
        stepper.set(force, **others)
        go_on()
    return seen


def restored(integrator, cls, dim, position, velocity):
    """Return the interpolated states of a world with slots and events, before and after a restore."""
    n = len(position)
    force = kd.Gravity(vector(dim, 1.0, -9.8, 3.0))
    stepper = cls(position, velocity, dt=DT, integrator=integrator, forces=[force], alive=n, events=kd.Events())
    seen = []
    stepper.advance(0.1)
    snapshot = stepper.snapshot()
    for times in range(2):
        stepper.advance(0.15 + 0.01 * times)
        seen.append(stepper.interpolate().copy())
        stepper.restore(snapshot)
        seen.append(stepper.interpolate(0.5).copy())
    return seen


def takes(integrator, forces, walls=None):
    """True if the integrator supports these forces and walls."""
    for dim in (2, 1):
        try:
            position, velocity = bodies(dim, np.float64)
            stepped(
                integrator, forces, walls, False, kd.reference.Stepper, dim, position[:1].copy(), velocity[:1].copy()
            )
        except (ValueError, TypeError):
            return False
    return True


def rows():
    """Yield (name, function of `kickdrift` or `kickdrift.reference` that returns all arrays)."""
    for integrator, forces in product(INTEGRATORS, FORCES):
        if takes(integrator, forces):
            yield f"plain {integrator!r}: {forces}", partial(stepped, integrator, forces, None, False)
    for integrator, walls, events in product(INTEGRATORS, WALLS, (False, True)):
        wanted = integrator in FOUR if events else walls != "Sensor"
        if wanted and takes(integrator, "Gravity", walls):
            name = f"plain {integrator!r}: Gravity, {walls}{', events' if events else ''}"
            yield name, partial(stepped, integrator, "Gravity", walls, events)
    for integrator, walls in product(FOUR, WALLS):
        yield f"plain {integrator!r}: {walls}", partial(stepped, integrator, "nothing", walls, False)
    for integrator, name in product(FOUR, CHANGES):
        yield f"plain {integrator!r}: {name} is set", partial(changed, integrator, name)
    for integrator in FOUR:
        yield f"plain {integrator!r}: drawn, restored", partial(restored, integrator)
