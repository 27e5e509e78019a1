"""Random plans: stepper arguments drawn so that all pairs of features occur together."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from samples import CONSTRAINTS, PLANE, POSITION, TERMS, in_space, varied

import kickdrift as kd
from kickdrift import kernels

LAYOUTS = ("row", "component", "sliced", "reversed", "mixed")
DTYPES = (np.float32, np.float64)
#: Combinations of layout, dtype and dimension.
KINDS = [*product(LAYOUTS, DTYPES, (1, 2, 3))]

INTEGRATORS = [
    kd.ExplicitEuler(),
    kd.SemiImplicitEuler(),
    kd.SemiImplicitEuler(form="drift_kick"),
    kd.SemiImplicitEuler(form="alternate"),
    kd.ImplicitEuler(),
    kd.Midpoint(),
    kd.Heun(),
    kd.RK4(),
    kd.Verlet(),
    kd.Verlet(velocity="central"),
    kd.Verlet(start="backward"),
    kd.Verlet(velocity="central", start="backward"),
    kd.VelocityVerlet(),
    kd.GrootWarren(),
    kd.GrootWarren(lam=0.65),
    kd.Leapfrog(),
    kd.EnergyEuler(),
    kd.Yoshida4(),
    kd.PEFRL(),
    kd.Yoshida6(),
    kd.Exact(),
]


#: energy_euler is excluded: its speed is independent of its positions, so walls cannot know the speed of an impact.
AT_WALLS = [each for each in INTEGRATORS if each.name != "energy_euler"]


def uses_old_velocity(integrator):
    """True if positions use the velocity of the step before: resting bodies touch walls in every other step only."""
    return integrator.velocity_lag < 0 or getattr(integrator, "form", "") == "alternate"


def largest_rest_speed(integrator, delta_v):
    """Largest speed of a body that rests at a wall: at most the velocity change of one step."""
    return 1.01 * delta_v if uses_old_velocity(integrator) else 1e-9


#: Declarations that the older rows of golden.txt draw from. Adding to this set would change most rows and hide
#: which kernel changed; newer `SAMPLES` have scenes and rows of their own.
DRAWN = {
    *("Acceleration", "AnchorSpring", "Box", "Boxes", "Contacts", "Damping", "Distance", "ElasticCollisions"),
    *("Expression", "Force", "Gravity", "Langevin", "LinearDrag", "Magnetic", "NBody", "NativeForce", "PairPotential"),
    *("Periodic", "Pin", "Plane", "PointGravity", "Potential", "QuadraticDrag", "RotatingFrame", "Segments", "Sensor"),
    *("Springs", "Vortex"),
}
ADDED_INTEGRATORS: list[Any] = []
ADDED_FORCES = {repr(one): one for one in TERMS if type(one).__name__ not in DRAWN}
ADDED_CONSTRAINTS: dict[str, Any] = {
    "coloured pairs": lambda rng, n, dim: coloured(rng, n),
    **{repr(one): one for one in CONSTRAINTS if type(one).__name__ not in DRAWN},
}


@dataclass
class Scene:
    """All arguments of a stepper; `make` copies them into new arrays for each stepper."""

    position: np.ndarray
    velocity: np.ndarray
    layout: str
    arguments: dict[str, Any]

    def __str__(self):
        """Describe a scene in a failure: bodies, layout, integrator, and the names of forces and constraints."""
        parts = [*self.arguments["forces"], *self.arguments.get("constraints", ())]
        names = " + ".join(type(part).__name__ for part in parts) or "nothing"
        shape, dtype = "x".join(map(str, self.position.shape)), self.position.dtype
        return f"{self.arguments['integrator']!r} {dtype} {shape} {self.layout} dt={self.arguments['dt']:.4g}: {names}"

    def make(self, cls, layout=None, **changes):
        layout = layout or self.layout
        first, second = ("component", "row") if layout == "mixed" else (layout, layout)
        return cls(lay_out(self.position, first), lay_out(self.velocity, second), **{**self.arguments, **changes})


def lay_out(array, layout):
    """Return a copy of an array in the given memory layout."""
    if layout == "component":
        return np.asfortranarray(array.copy())
    if layout == "sliced":
        room = np.full((2 * array.shape[0] + 1, array.shape[1] + 2), np.nan, array.dtype)
        view = room[1::2, 1:-1][: array.shape[0]]
    elif layout == "reversed":
        view = np.empty_like(array)[::-1, ::-1]
    else:
        view = np.empty_like(array, order="C")
    view[...] = array
    return view


def scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a random scene; `rng` is a numpy Generator."""
    integrator = integrator or INTEGRATORS[rng.integers(len(INTEGRATORS))]
    dtype = dtype or (np.float32, np.float64)[rng.integers(2)]
    dim = dim or int(rng.integers(1, 4))
    n = n or int(rng.choice([1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 127, 128, 129, 200]))
    mass = rng.uniform(0.5, 3, n) if rng.integers(2) else rng.uniform(0.5, 3)
    if np.ndim(mass) and rng.integers(3) == 0:
        mass[rng.integers(n)] = np.inf
    return Scene(
        position=rng.normal(size=(n, dim)).astype(dtype),
        velocity=rng.normal(size=(n, dim)).astype(dtype),
        layout=LAYOUTS[rng.integers(len(LAYOUTS))],
        arguments={
            "mass": mass,
            "dt": float(rng.choice([1 / 60, 1 / 100, 0.1, 1 / 144])),
            "integrator": integrator,
            "forces": forces(rng, integrator, n, dim) + pushes(rng, integrator, n, mass),
        },
    )


def held_scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a random scene with constraints whose bodies are close enough to collide."""
    n = n or int(rng.choice([2, 3, 5, 8, 17, 33, 60]))
    drawn = scene(rng, integrator, n, dtype, dim)
    drawn.arguments["constraints"] = constraints(rng, n, drawn.position.shape[1])
    return drawn


def told_scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a random scene with collisions, filters and events."""
    drawn = held_scene(rng, integrator, n, dtype, dim)
    n, dim = drawn.position.shape

    def each(draw):
        return np.array([draw() for _ in range(n)]) if rng.integers(2) else draw()

    def filters():
        if rng.integers(2):
            return {}
        few = {"category": each(lambda: int(rng.integers(1, 4))), "mask": each(lambda: int(rng.integers(1, 4)))}
        return few | {"sensor": each(lambda: bool(rng.integers(4) == 0))}

    def number(low, high):
        return each(lambda: float(rng.uniform(low, high)))

    def meeting():
        radius = number(0.05, 0.5)
        few = filters() | {"swept": bool(rng.integers(2))}
        return kd.ElasticCollisions(radius, number(0, 1), 3, number(0, 1) if rng.integers(2) else 0, **few)

    def wall():
        found = {"restitution": number(0, 1), "friction": number(0, 1), "radius": number(0, 0.4), **filters()}
        if rng.integers(2):
            return kd.Box(-1 - rng.random(dim), 1 + rng.random(dim), **found)
        return kd.Plane(rng.normal(size=dim), -float(rng.random()), **found)

    def sensor():
        some = {"mask": 1, "category": each(lambda: int(rng.integers(1, 3)))} if rng.integers(2) else {}
        center = rng.normal(size=dim)
        if rng.integers(2):
            return kd.Sensor(center=center, radius=float(rng.random()), **some)
        return kd.Sensor(center - rng.random(dim), center + rng.random(dim), **some)

    def shapes():
        k = int(rng.choice([1, 3, 12]))
        enabled = rng.random(k) < 0.8 if rng.integers(2) else True
        found = {"restitution": number(0, 1), "friction": number(0, 1), "enabled": enabled, **filters()}
        found["radius"] = number(0, 0.3) if rng.integers(2) else 0
        lower = 2 * rng.normal(size=(k, dim))
        if dim == 2 and rng.integers(2):
            points = np.stack([lower, lower + rng.normal(size=(k, 2))], axis=1)
            return kd.Segments(points, thickness=float(rng.choice([0, 0.1])), **found)
        return kd.Boxes(lower, lower + rng.random((k, dim)), **found)

    drawn.arguments["constraints"] += [meeting(), wall(), sensor()] + [wall()] * int(rng.integers(2))
    drawn.arguments["constraints"] += [shapes()] * int(rng.integers(2))
    flags = {"begin": bool(rng.integers(4)), "end": bool(rng.integers(4))}
    capacity = int(rng.choice([4096, 40]))
    drawn.arguments["events"] = kd.Events(capacity, hits_above=float(rng.choice([0, 0.5, 2])), **flags)
    return drawn


def wrapped_scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a random scene in a periodic box, with collisions, forces and constraints across its sides."""
    n = n or int(rng.choice([2, 3, 5, 8, 17, 33, 60]))
    told = rng.integers(2) and n <= 33  # larger crowds have more contacts than can be tracked
    drawn = (told_scene if told else held_scene)(rng, integrator, n, dtype, dim)
    dim = drawn.position.shape[1]
    middle, width = rng.normal(size=dim), rng.uniform(2.2, 5, dim) * max(1, (n / 10) ** (1 / dim))
    lower, upper = middle - width / 2, middle + width / 2
    is_open = rng.random(dim) < 0.15
    box = kd.Periodic(np.where(is_open, -np.inf, lower), np.where(is_open, np.inf, upper))
    forces = [term for term in drawn.arguments["forces"] if not isinstance(term, kd.NBody)]
    if rng.integers(2) and not isinstance(drawn.arguments["integrator"], (kd.EnergyEuler, kd.Exact)):
        if n <= 20 or not isinstance(drawn.arguments["integrator"], kd.ImplicitEuler):
            forces.append(kd.PairPotential("k/2*(c - r)**2", cutoff=float(rng.uniform(0.3, 1.1)), k=2.0, c=1.0))
        if rng.integers(3) == 0 and not isinstance(drawn.arguments["integrator"], kd.ImplicitEuler):
            forces.append(kd.Langevin(0.5, 2.0, seed=int(rng.integers(9))))
    held = drawn.arguments["constraints"]
    if rng.integers(3) == 0:
        held = []  # the box alone takes another code path
        drawn.arguments.pop("events", None)
    held.insert(int(rng.integers(len(held) + 1)), box)
    drawn.arguments |= {"forces": forces, "constraints": held}
    return drawn


def added_scene(rng, name, integrator=None, dtype=None, dim=2, vary=False):
    """Draw a random scene with one of ADDED_FORCES or ADDED_CONSTRAINTS; the latter come with other constraints.

    Samples are made for the plane: for dim=3 `in_space` changes them. vary: with other values of the coefficients.
    """
    held = name in ADDED_CONSTRAINTS
    added = (ADDED_CONSTRAINTS if held else ADDED_FORCES)[name]
    dim = 2 if type(added) in PLANE else dim
    size = {} if callable(added) else {"n": len(POSITION), "dim": dim}
    drawn = (held_scene if held else scene)(rng, integrator, dtype=dtype, **size)
    if callable(added):
        added = added(rng, *drawn.position.shape)
    else:
        added = varied(rng, added) if vary else added
        added = in_space(added) if dim == 3 else added
    drawn.arguments["constraints" if held else "forces"].append(added)
    if dim == 3:
        try:
            drawn.make(kd.reference.Stepper)
        except ValueError as error:
            error.add_note("tests/samples.py: expected an entry in IN_SPACE for other vectors, or the class in PLANE")
            raise
    return drawn


#: Options of Distance.
DISTANCES = {
    "before": {},
    "after": {"direction": "after"},
    "soft": {"stiffness": 0.5},
    "compliant": {"compliance": 0.01},
    "compliant, after": {"compliance": 0.01, "direction": "after"},
}


def mesh(side):
    """Return the edges of a cloth, row after row, then column after column."""
    index = np.arange(side * side).reshape(side, side)
    across, down = (index[:, :-1], index[:, 1:]), (index[:-1], index[1:])
    return np.concatenate([np.stack(ends, axis=-1).reshape(-1, 2) for ends in (across, down)])


def random_pairs(rng, n, count):
    """Draw random pairs; some occur several times."""
    first, way = rng.integers(n, size=(2, count))
    return np.stack([first, (first + 1 + way % (n - 1)) % n], axis=1)


def coloured(rng, n):
    """Draw random pairs that are solved colour by colour."""
    pairs = random_pairs(rng, n, int(rng.integers(1, 4 * n)))
    softness = ({}, {"stiffness": 0.5}, {"compliance": 0.01})[rng.integers(3)]
    how = {"direction": ("before", "after")[rng.integers(2)], "iterations": int(rng.integers(1, 5)), **softness}
    return kd.Distance(pairs, rng.uniform(0, 2, len(pairs)), order="coloured", **how)


def takers(name):
    """Return the integrators that support one of ADDED_FORCES or ADDED_CONSTRAINTS."""

    def takes(integrator):
        try:
            added_scene(np.random.default_rng(0), name, integrator).make(kd.reference.Stepper)
        except ValueError:
            return False
        return True

    return [integrator for integrator in [*INTEGRATORS, *ADDED_INTEGRATORS] if takes(integrator)]


def turned_scene(rng, integrator, held=False, dtype=None, dim=None):
    """Draw a random scene in magnetic fields and rotating frames."""
    dim = dim or int(rng.integers(2, 4))
    drawn = (held_scene if held else scene)(rng, integrator, dtype=dtype, dim=dim)
    n, terms = len(drawn.position), drawn.arguments["forces"]
    charge = rng.normal(size=n) if rng.integers(2) else float(rng.normal())
    shape = () if dim == 2 else (3,)
    field = rng.normal(size=(n, *shape) if rng.integers(3) == 0 else shape)
    if rng.integers(4):
        terms.append(kd.Magnetic(charge, field))
    if rng.integers(2) or not rng.integers(4):
        terms.append(kd.RotatingFrame(rng.normal(size=shape), rng.normal(size=dim) if rng.integers(2) else 0))
    if isinstance(integrator, kd.ImplicitEuler):  # implicit Euler: no rotations beside interactions
        drawn.arguments["forces"] = [term for term in terms if not isinstance(term, (kd.Springs, kd.NBody))]
    return drawn


def smooth_scene(rng, integrator, dtype=None, dim=None):
    """Draw a random scene in magnetic fields and rotating frames, on rods, and on walls and shapes without friction."""
    drawn = turned_scene(rng, integrator, dtype=dtype, dim=dim)
    n, dim = drawn.position.shape

    def smooth():
        some = rng.uniform(0, 1, n) * rng.integers(0, 2, n)  # friction of some bodies only
        return {"friction": some if rng.integers(3) == 0 else 0.0, "restitution": float(rng.choice([0, 0.5, 1]))}

    def shapes():
        lower = 2 * rng.normal(size=(3, dim)) - 1
        if dim == 2 and rng.integers(2):
            return kd.Segments(np.stack([lower, lower + rng.normal(size=(3, 2))], axis=1), **smooth())
        return kd.Boxes(lower, lower + rng.random((3, dim)), **smooth())

    choices = [
        lambda: kd.Box(-1 - rng.random(dim), 1 + rng.random(dim), **smooth()),
        lambda: kd.Plane(rng.normal(size=dim), -float(rng.random()), **smooth()),
        shapes,
    ]
    if 1 < n < 50 and rng.integers(2):  # without rods, walls act tile by tile
        chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
        compliance = 0.01 if rng.integers(3) == 0 else None
        choices.append(lambda: kd.Distance(chain[: 1 + rng.integers(n - 1)], compliance=compliance, iterations=3))
    drawn.arguments["constraints"] = [choices[-1](), *(choices[rng.integers(3)]() for _ in range(rng.integers(3)))]
    return drawn


def spinning_scene(rng, integrator=None, make=None, dtype=None, dim=None, n=None):
    """Draw a random scene of bodies that rotate, with torques and damping."""
    dim = dim or int(rng.integers(2, 4))
    more = {} if n is None else {"n": n}
    return spun(rng, (make or scene)(rng, integrator, dtype=dtype, dim=dim, **more))


def spun(rng, drawn):
    """Add rotation to the bodies of a scene."""
    dim = drawn.position.shape[1]
    n, dtype = len(drawn.position), drawn.position.dtype
    shape = (n,) if dim == 2 else (n, 3)
    # Lists, so that each stepper creates its own arrays.
    drawn.arguments["angular_velocity"] = (3 * rng.normal(size=shape)).tolist()
    drawn.arguments["inertia"] = rng.uniform(0.1, 2, n) if rng.integers(2) else 0.3
    if rng.integers(2):
        q = rng.normal(size=(n, 4))
        turned = rng.normal(size=n) if dim == 2 else q / np.sqrt((q * q).sum(axis=1, keepdims=True))
        drawn.arguments["angle" if dim == 2 else "orientation"] = turned.tolist()
    for _ in range(int(rng.integers(3))):
        torque = rng.normal(size=shape).astype(dtype)
        drawn.arguments["forces"].append(kd.AppliedTorque(torque))
    if rng.integers(2) and not isinstance(drawn.arguments["integrator"], kd.Exact):
        angular = rng.uniform(0, 2, n) if rng.integers(2) else 0.7
        drawn.arguments["forces"].append(kd.Damping(float(rng.integers(2)), angular))
    return drawn


def rolling_scene(rng, integrator=None, make=None, dtype=None, dim=None, n=None):
    """Draw a random scene of rotating bodies in contact, with friction and rolling resistance."""
    drawn = spinning_scene(rng, integrator, make, dtype, dim, n)
    n, inertia = len(drawn.position), rng.uniform(0.01, 0.5)
    each = rng.uniform(0.5, 2, n) if rng.integers(2) else 1.0
    drawn.arguments["inertia"] = inertia * each
    if np.ndim(each) and rng.integers(3) == 0:
        drawn.arguments["inertia"][rng.integers(n)] = np.inf
    rough = float(rng.uniform(0.1, 1))
    found = []
    for part in drawn.arguments.get("constraints", ()):
        if isinstance(part, kd.Contacts):
            rolling = rng.uniform(0, 0.2, n) if rng.integers(2) else float(rng.choice([0, 0.1]))
            part = replace(part, rolling=rolling, friction=rough if rng.integers(4) else part.friction)
        elif hasattr(part, "friction") and rng.integers(4):
            part = replace(part, friction=rough)
        found.append(part)
    drawn.arguments["constraints"] = found
    return drawn


def running_scene(rng, integrator=None, make=None, dtype=None, dim=None, n=None):
    """Draw a random scene whose walls and shapes are conveyor belts, one-way or moving; bodies may rotate."""
    drawn = (rolling_scene if rng.integers(2) else made_scene)(rng, integrator, make, dtype, dim, n)
    dim = drawn.position.shape[1]

    def running(part):
        if hasattr(part, "surface_speed") and rng.integers(3) and dim > 1:
            speed = float(rng.normal()) if dim == 2 and rng.integers(2) else rng.normal(size=dim)
            part = replace(part, surface_speed=speed, friction=float(rng.uniform(0.1, 1)))
        if hasattr(part, "one_way") and rng.integers(2):
            part = replace(part, one_way=True if rng.integers(2) else rng.normal(size=dim))
        if isinstance(part, (kd.Boxes, kd.Segments)) and rng.integers(3):
            each = (len(part.ends()[0]),) if rng.integers(2) else ()
            part = replace(part, velocity=rng.normal(size=(*each, dim)) * float(rng.choice([0.1, 1, 30])))
            if isinstance(part, kd.Segments) and rng.integers(2):
                part = replace(part, angular_velocity=rng.normal(size=each) * float(rng.choice([0.5, 3, 60])))
        return part

    found = []
    for part in drawn.arguments["constraints"]:
        if isinstance(part, kd.Contacts):
            part = replace(part, walls=tuple(map(running, part.walls)), shapes=tuple(map(running, part.shapes)))
        found.append(running(part))
    drawn.arguments["constraints"] = found
    return drawn


def made_scene(rng, integrator, make, dtype, dim, n):
    return make(rng, integrator, n, dtype, dim)


def resting_scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a random scene of bodies that rest on each other and on walls, or hang on rods."""
    n = n or int(rng.choice([2, 3, 5, 8, 17]))
    drawn = scene(rng, integrator, n, dtype, dim)
    dim = drawn.position.shape[1]

    def each(low, high):
        return rng.uniform(low, high, n) if rng.integers(3) == 0 else float(rng.uniform(low, high))

    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    compliance = float(rng.choice([0, 0.01])) if rng.integers(2) else None
    joints = [kd.Distance(chain[: 1 + rng.integers(n - 1)], compliance=compliance, iterations=int(rng.integers(1, 5)))]
    walls = [kd.Box(-2.0, 2.0), kd.Plane(rng.normal(size=dim), -1.0, friction=0.3)]
    resting = kd.Contacts(
        each(0.05, 0.5),
        each(0, 1),
        each(0, 1),
        hertz=None if rng.integers(2) else 20.0,
        walls=walls[: int(rng.integers(3))],
        joints=joints[: int(rng.integers(2))],
        substeps=int(rng.integers(1, 5)),
    )
    around = [kd.Plane(rng.normal(size=dim), -1.0, 0.0, 0.3), kd.Plane(rng.normal(size=dim), -1.0, 0.5)]
    pins = [kd.Pin(int(rng.integers(n)))] if rng.integers(3) == 0 else []
    resting = replace(resting, walls=(*resting.walls, *around[: 2 * int(rng.integers(2))]))
    drawn.arguments["constraints"] = [*pins, resting]
    return drawn


def told_resting_scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a resting scene with filters and events, and with walls that meet in corners."""
    drawn = resting_scene(rng, integrator, n, dtype, dim)
    n, dim = drawn.position.shape

    def each(draw):
        return np.array([draw() for _ in range(n)]) if rng.integers(2) else draw()

    def filters(often):
        if rng.integers(4) >= often:
            return {}
        few = {"category": each(lambda: int(rng.integers(1, 4))), "mask": each(lambda: int(rng.integers(1, 4)))}
        return few | {"sensor": each(lambda: bool(rng.integers(5) == 0))}

    def near():
        return kd.Plane(rng.normal(size=dim), -0.3 * float(rng.random()), 0.0, **filters(2))

    found = []
    for part in drawn.arguments["constraints"]:
        if isinstance(part, kd.Contacts):
            walls = [near() for _ in range(int(rng.integers(3)))] + [kd.Box(-1.0, 1.0, **filters(2))]
            part = replace(part, walls=(*part.walls, *walls[: int(rng.integers(4))]), **filters(1))
        found.append(part)
    # Walls outside of Contacts must be sensors here.
    beside = [kd.Box(-1.0, 1.0, 0.5, radius=0.1, **filters(2)), near()][: int(rng.integers(3))]
    drawn.arguments["constraints"] = [*found, *(replace(wall, sensor=True) for wall in beside)]
    flags = {"begin": bool(rng.integers(4)), "end": bool(rng.integers(4))}
    drawn.arguments["events"] = kd.Events(int(rng.choice([4096, 40])), float(rng.choice([0, 0.5])), **flags)
    return drawn


def level_scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a resting scene with events whose bodies also rest on shapes."""
    drawn = told_resting_scene(rng, integrator, n, dtype, dim)
    n, dim = drawn.position.shape

    def filters():
        if rng.integers(3):
            return {}
        few = {"category": rng.integers(1, 4, n), "mask": int(rng.integers(1, 4))}
        return few | {"sensor": np.array([bool(rng.integers(5) == 0) for _ in range(n)])}

    def shapes():
        k = int(rng.choice([1, 3, 12]))
        enabled = rng.random(k) < 0.8 if rng.integers(2) else True
        found = {"friction": float(rng.choice([0, 0.3])), "enabled": enabled, **filters()}
        lower = rng.normal(size=(k, dim))
        if dim == 2 and rng.integers(2):
            if rng.integers(2):  # a ground whose segments share end points
                x = np.arange(k + 1) * 4 / k - 2
                line = np.stack([x, -0.5 + 0.2 * rng.normal(size=k + 1)], axis=1)
                return kd.Segments(np.stack([line[:-1], line[1:]], axis=1), thickness=0.1, **found)
            return kd.Segments(np.stack([lower, lower + rng.normal(size=(k, 2))], axis=1), **found)
        if rng.integers(2):  # a floor of tiles
            lower = np.stack([np.arange(k) * 0.5 - 2, *np.full((dim - 1, k), -1.5)], axis=1)
            return kd.Boxes(lower, lower + np.array([0.5, *[1.0] * (dim - 1)]), **found)
        return kd.Boxes(lower, lower + rng.random((k, dim)), **found)

    level = [shapes() for _ in range(1 + int(rng.integers(2)))]
    drawn.arguments["constraints"] = [
        replace(part, shapes=level) if isinstance(part, kd.Contacts) else part
        for part in drawn.arguments["constraints"]
    ]
    return drawn


def resting_around_scene(rng, integrator=None, n=None, dtype=None, dim=None):
    """Draw a random scene of bodies that rest on each other across periodic sides, and on walls and shapes."""
    drawn = told_resting_scene(rng, integrator, n, dtype, dim)
    n, dim = drawn.position.shape
    is_open = rng.random(dim) < 0.3
    middle, width = 0.5 * rng.normal(size=dim), rng.uniform(2.2, 4, dim)
    lower, upper = middle - width / 2, middle + width / 2
    box = kd.Periodic(np.where(is_open, -np.inf, lower), np.where(is_open, np.inf, upper))
    axes = np.eye(dim)[is_open]
    level = [kd.Plane(sign * axis, -float(rng.random()), friction=0.3) for axis in axes for sign in (1, -1)]
    shapes = []
    if is_open.any() and rng.integers(2):  # a platform across all periodic axes
        half = np.where(is_open, 0.3, width / 2 + 1.0)
        shapes.append(kd.Boxes([middle - half], [middle + half]))
    if rng.integers(2):  # a box in the middle, and one across a side, with its periodic images
        shapes.append(kd.Boxes([middle - 0.2], [middle + 0.2], friction=0.5))
        if not is_open[0] and rng.integers(2):
            away = np.where(np.arange(dim) == 0, width[0], 0)
            places = np.array([middle - away / 2, middle + away / 2])
            shapes.append(kd.Boxes(places - 0.1, places + 0.1, friction=0.5))
    found = []
    for part in drawn.arguments["constraints"]:
        if isinstance(part, kd.Contacts):
            part = replace(part, walls=level[: int(rng.integers(2 * len(axes) + 1))], shapes=shapes)
            found.append(box)  # the box may have any position in the list
        found.append(part)
    forces = [term for term in drawn.arguments["forces"] if not isinstance(term, kd.NBody)]
    drawn.arguments |= {"forces": forces, "constraints": found}
    return drawn


def constraints(rng, n, dim):
    def each(low, high):
        return rng.uniform(low, high, n) if rng.integers(3) == 0 else float(rng.uniform(low, high))

    def share():
        return float(rng.choice([0, 0.5, 1]))

    def pairs():
        several = random_pairs(rng, n, int(rng.integers(0, 4 * n)))
        chain = np.arange(n - 1)
        return several if rng.integers(2) else np.concatenate([np.stack([chain, chain + 1], axis=1), several])

    def distance():
        chosen = pairs()
        length = None if rng.integers(2) else rng.uniform(0, 2, len(chosen))
        iterations = int(rng.integers(1, 5))
        if rng.integers(2):
            return kd.Distance(chosen, length, stiffness=share(), iterations=iterations)
        return kd.Distance(chosen, length, compliance=float(rng.choice([0, 0.01])), iterations=iterations)

    def wall():
        return {"restitution": each(0, 1), "friction": each(0, 1) * rng.integers(2), "radius": each(0, 0.4)}

    choices = [
        distance,
        lambda: kd.Box(-1 - rng.random(dim), 1 + rng.random(dim), **wall()),
        lambda: kd.Plane(rng.normal(size=dim), -float(rng.random()), **wall()),
        lambda: kd.ElasticCollisions(each(0.05, 0.5), share(), int(rng.integers(1, 5))),
    ]
    pins = [kd.Pin(rng.permutation(n)[: int(rng.integers(1, 3))])] if rng.integers(2) else []
    drawn = [choices[rng.integers(len(choices))]() for _ in range(int(rng.integers(1, 4)))]
    return [*drawn, *pins]


def forces(rng, integrator, n, dim):
    def scalar(low, high):
        return rng.uniform(low, high, n) if rng.integers(3) == 0 else float(rng.uniform(low, high))

    def vector():
        if rng.integers(3) == 0:
            return 0
        return rng.normal(size=(n, dim)) if rng.integers(3) == 0 else rng.normal(size=dim)

    def acceleration():
        return rng.normal(size=(n, dim)) if rng.integers(3) == 0 else rng.normal(size=dim)

    affine = [lambda: kd.Gravity(acceleration()), lambda: kd.AnchorSpring(scalar(0, 20), anchor=vector())]
    friction = [
        lambda: kd.LinearDrag(scalar(0, 2), vector()),
        lambda: kd.AnchorSpring(scalar(0, 20), scalar(0, 1), vector()),
        lambda: kd.AnchorSpring.from_frequency(scalar(0, 2), scalar(0, 1.5), vector()),
    ]
    wells = [lambda: kd.PointGravity(scalar(-1, 3), vector(), scalar(0.2, 1) if rng.integers(2) else 0)]
    others = [lambda: kd.QuadraticDrag(scalar(0, 1), vector())]
    if dim > 1:
        axis = rng.normal(size=3) if dim == 3 else (0, 0, float(rng.choice([-2, 1])))
        others.append(lambda: kd.Vortex(scalar(-2, 2), vector(), axis, scalar(0, 1)))
    decay = [lambda: kd.Damping(scalar(0, 2))]
    choices = affine
    if not isinstance(integrator, kd.EnergyEuler):
        choices = choices + friction
    if not isinstance(integrator, kd.Exact):
        choices = choices + wells + decay
        if not isinstance(integrator, kd.EnergyEuler):
            choices = choices + others
    return [choices[rng.integers(len(choices))]() for _ in range(rng.integers(0, 5))]


def pushes(rng, integrator, n, mass):
    """Draw springs and attractions between bodies, or return an empty list."""
    implicit = isinstance(integrator, kd.ImplicitEuler)
    if isinstance(integrator, (kd.EnergyEuler, kd.Exact)) or n > (20 if implicit else 40) or rng.integers(2):
        return []
    terms = []
    if n > 1:
        count = int(rng.integers(0, 2 * n))
        first = rng.integers(n, size=count)
        pairs = np.stack([first, (first + rng.integers(1, n, count)) % n], axis=1)
        damping = rng.uniform(0, 0.5, count) if rng.integers(2) else 0
        if rng.integers(2):
            terms.append(kd.Springs(pairs, rng.uniform(0, 9, count) if rng.integers(2) else 3, damping=damping))
        else:
            terms.append(
                kd.Springs.from_frequency(
                    pairs, rest_length=rng.uniform(0, 1), hertz=rng.uniform(0, 1, count), damping_ratio=0.2
                )
            )
    if n < 16 and not np.isinf(mass).any():
        terms.insert(0, kd.NBody(float(rng.uniform(-1, 2)), float(rng.choice([0.0, 0.3]))))
    return terms


def outcome(stepper, n):
    """Return the exception of a step in comparable form; None if it succeeds."""
    try:
        stepper.step(n)
    except kd.KickdriftError as error:
        return type(error), str(error)
    return None


@contextmanager
def said(**case):
    """Prefix assertion failures with a description of the case."""
    text = ", ".join(f"{name} {value}" for name, value in case.items())
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{text}: {error}") from error


def each_isa(monkeypatch):
    """Yield the name of each instruction set; steppers made until the next one use it."""
    for isa in kernels.isas:
        monkeypatch.setattr(kernels, "isa", isa)
        yield isa


def most_steps(seed, n, few=3, many=11):
    """Number of steps to compare: few in most large worlds, where the reference is slow."""
    return few if n > 8 and seed % 10 else many


def in_turn(draw, integrators=INTEGRATORS):
    """Return a function for `compare_with_reference` that draws scenes with one integrator after another."""
    return lambda seed, rng: draw(rng, integrators[seed % len(integrators)])


def compare_with_reference(monkeypatch, make, seeds):
    """Step the scenes of `make(seed, rng)` on the reference and every instruction set: equal bits and errors.

    Repeat as many steps in two calls, at another rate. Fails if hardly any case could be compared.
    """
    compared, most = 0, 2 * len(seeds) * len(kernels.isas)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        drawn = make(seed, rng)
        n = int(rng.integers(1, 1 + most_steps(seed, len(drawn.position))))
        book = drawn.make(kd.reference.Stepper)
        failure = outcome(book, n)
        halfway, evaluations, later = (failure, *_state(book)), book.force_evaluations, None
        for isa in each_isa(monkeypatch):
            with said(scene=drawn, seed=seed, isa=f"{isa} against the reference"):
                ours = drawn.make(kd.Stepper)
                ended = outcome(ours, n)
                compared += _same((ended, *_state(ours)), halfway)
                if not failure or failure[0] is not kd.NonFiniteError:
                    assert ours.force_evaluations == evaluations
                if failure:
                    continue
                ours.dt = 0.0125
                ended = outcome(ours, n // 2) or outcome(ours, n - n // 2)
                if later is None:
                    book.dt = 0.0125
                    later = (outcome(book, n), *_state(book))
                if ended and ended[0] is kd.NonFiniteError:
                    continue  # detected at the end of a call; these calls end at other ticks
                compared += _same((ended, *_state(ours)), later)
    print(f"seeds {seeds}: {compared} of {most} states were finite and compared")
    assert compared > most / 2, f"seeds {seeds}: {compared} of {most} states were finite and compared"


def _state(stepper):
    """Return the part of the current state that does not depend on how steps were split into calls."""
    arrays = stepper.position.copy(), stepper.velocity.copy()
    return stepper.tick, stepper.time, stepper.checksum(), *arrays


def _same(ours, book):
    """Compare two results; True if their numbers are finite, because the payload of a NaN is unspecified."""
    assert ours[:3] == book[:3]
    if ours[0] and ours[0][0] is kd.NonFiniteError:
        return False
    for actual, expected in zip(ours[4:], book[4:], strict=True):
        assert_same_bits(actual, expected)
    assert ours[3] == book[3], "checksums"
    return True


def assert_same_bits(actual, expected):
    """Require equal shapes, dtypes and bits, including the sign of zero and the payload of a NaN."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    kind = np.uint32 if actual.dtype == np.float32 else np.uint64
    a, e = (np.ascontiguousarray(array).view(kind) for array in (actual, expected))
    differ = np.argwhere(a != e)
    if len(differ):
        first = tuple(differ[0])
        raise AssertionError(f"{len(differ)} of {a.size} differ: {actual[first]!r}, not {expected[first]!r} at {first}")


def assert_twins(make, *calls):
    """Require equal states of `make(class)`, compiled and reference, after each call of as many steps."""
    ours, book = make(kd.Stepper), make(kd.reference.Stepper)
    for steps in calls:
        ours.step(steps)
        book.step(steps)
        assert_same_state(ours, book)


def assert_same_state(actual, expected):
    assert_same_bits(np.array(actual.position), np.array(expected.position))
    assert_same_bits(np.array(actual.velocity), np.array(expected.velocity))
