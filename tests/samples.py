"""Samples of all declarations: each with alternative values of each coefficient, for a world of three bodies.

Tests that cover all forces and constraints use them, see `check.py`. A new declaration needs one entry here.
"""

from contextlib import suppress
from typing import Any

import numpy as np

import kickdrift as kd
from kickdrift.constraints import Constraint
from kickdrift.declaration import known
from kickdrift.forces import Term

POSITION, VELOCITY = [[0.0, 0.0], [1.0, 0.5], [2.0, 0.0]], [[0.5, 1.0], [1.0, 0.0], [0.25, 0.0]]
PAIRS = [(0, 1), (1, 2)]


def attract(t, position, velocity, out):
    out[:] = -position


def slow(t, position, velocity, out):
    out[:] = -velocity


@kd.NativeForce.prototype("float64")
def native(t, first, count, dim, stride, position, velocity, out, user_data):
    for i in range(count):
        for j in range(dim):
            out[j * stride + i] = -velocity[j * stride + i]
    return 0


def each(*values: Any) -> list[Any]:
    """Return one value for all bodies, and one per body."""
    return [values[0], list(values)]


FILTERS = {"category": each(2, 1, 4), "mask": each(3, 1, 4), "sensor": each(True, False, True)}
SURFACE = {"restitution": each(0.5, 0.2, 0.3), "friction": each(0.5, 0.2, 0.3), "radius": each(0.3, 0.1, 0.2)} | FILTERS
BELT: dict[str, list[Any]] = {"surface_speed": [0.5, (1.0, 0.25)]}
ONE_WAY: dict[str, list[Any]] = {"one_way": [True, (0.6, 0.8)]}
VECTORS = each((1.0, -0.5), (0.25, 2.0), (0.0, 0.5))
POINT = [(0.5, 0.25)]
SHAPES = [
    (kd.Boxes([(-1, -1), (1, -1)], [(1, -0.2), (3, -0.1)], friction=[0.1, 0.2, 0.3], enabled=[True, False]),),
    (kd.Segments([[(-3, 0.1), (3, 0.1)]], thickness=0.1, category=2), kd.Boxes([(0, -1)], [(1, 0)], mask=3)),
]

SAMPLES: dict[Any, dict[str, list[Any]]] = {
    kd.Gravity((0.5, -9.0)): {"acceleration": VECTORS},
    kd.LinearDrag(0.5, (2.0, 0.0)): {"coefficient": each(2.0, 1e-300, 0.0), "wind": VECTORS},
    kd.QuadraticDrag(0.5, (2.0, 0.0)): {"coefficient": each(1.0, 0.25, 0.0), "wind": VECTORS},
    kd.AnchorSpring(2.0): {"stiffness": each(4.0, 8.0, 0.0), "anchor": VECTORS},
    kd.AnchorSpring(2.0, 0.3, (1.0, 2.0)): {"stiffness": [3.0], "damping": each(1.0, 0.5, 0.0), "anchor": VECTORS},
    kd.AnchorSpring.from_frequency(1.0, 0.5): {"damping": [0.0], "per_mass": [False]},
    kd.PointGravity(3.0, (5.0, 5.0), 0.1): {
        "mu": each(-2.5, 1.0, 0.0),
        "center": VECTORS,
        "softening": each(0.5, 1.0, 0.25),
    },
    kd.PointGravity(3.0, (5.0, 5.0)): {"mu": [0.5]},
    kd.Vortex(1.5, (5.0, 5.0), softening=0.2): {
        "strength": each(-1.0, 0.5, 0.0),
        "center": VECTORS,
        "axis": [(0.0, 0.0, -2.0)],
        "softening": each(0.5, 1.0, 0.25),
    },
    kd.Damping(0.5): {"rate": each(2.0, 0.25, 0.0), "angular": each(1.0, 0.5, 0.0)},
    kd.FloorFriction(0.5): {"deceleration": each(2.0, 0.25, 0.0)},
    kd.Magnetic(1.0, 0.5): {"charge": each(-1.0, 2.0, 0.5), "field": [2.0, (0.5, 1.0, -1.0)]},
    kd.RotatingFrame(1.0, (5.0, 5.0)): {"omega": [0.5], "center": POINT},
    kd.Springs(PAIRS, 3.0, 1.0): {"stiffness": [2.0, (1.0, 2.0)], "rest_length": [0.5, (0.25, 0.5), None]},
    kd.Springs(PAIRS, 3.0, 1.0, 0.2): {"stiffness": [1.0], "damping": [0.5, (0.1, 0.0)], "per_mass": [True]},
    kd.NBody(2.0): {"G": [-0.5], "softening": [0.5]},
    kd.PairPotential("e*(q/r)**4", cutoff=2.5, e=1.0, q=0.3): {"e": [0.25], "q": [0.4]},
    kd.Expression(x="-a*x*b", y="sin(b)*y", a=1.0, b=2.0): {"a": each(-1.0, 0.5, 2.0), "b": [0.5]},
    kd.Expression(x="-c*vx", c=0.5): {"c": [0.25]},
    kd.Potential("k*(x*x + y*y) + u*x", k=1.0, u=0.0): {"k": [0.25], "u": [0.75]},
    kd.Langevin(0.5, 0.25, seed=3): {"friction": each(1.5, 0.5, 0.0), "temperature": each(0.75, 0.5, 0.0)},
    kd.Force(attract, velocity_dependent=False): {},
    kd.Force(slow): {},
    kd.Acceleration(attract, velocity_dependent=False): {},
    kd.Acceleration(slow): {},
    kd.NativeForce(native): {},
    kd.Box(-5, 5): SURFACE | BELT | {"lower": [-4, (-4, -3)], "upper": [4, (4, 3)]},
    kd.Plane((0, 1), -1): SURFACE | BELT | {"normal": [(1, 0)], "offset": [-2]},
    kd.Boxes([(0, 0), (3, 0)], [(2, 1), (5, 1)]): SURFACE
    | BELT
    | ONE_WAY
    | {"velocity": [(0.5, 1.0), [(0.5, 1.0), (-1.0, 0.0)], 0.0]}
    | {"lower": [[(0, 0), (4, 0)]], "upper": [[(1, 1), (6, 1)]], "enabled": [False, [True, False]]},
    kd.Segments([[(0, 0), (1, 0)], [(0, 1), (1, 1)]]): SURFACE
    | BELT
    | ONE_WAY
    | {"velocity": [(0.5, 1.0)], "angular_velocity": [2.0, (1.0, -3.0)], "center": [(0.5, 0.0), [(0, 0), (1, 1)]]}
    | {"points": [[[(0, 0), (2, 0)], [(0, 1), (2, 1)]]], "thickness": [0.1], "enabled": [False, [True, False]]},
    kd.Sensor(lower=(0, 0), upper=(1, 1)): {
        "lower": [(0.5, 0.5)],
        "upper": [(2, 2)],
        "category": each(2, 1, 4),
        "mask": [3],
    },
    kd.Sensor(center=(0, 0), radius=1.0): {"center": [(1, 1)], "radius": [2.0]},
    kd.ElasticCollisions(0.2): SURFACE | {"iterations": [2], "swept": [True]},
    kd.Contacts(0.2, walls=[kd.Plane((0.0, 1.0), -5.0)]): SURFACE
    | {"rolling": each(0.1, 0.2, 0.0), "hertz": [20.0], "damping_ratio": [5.0], "substeps": [3], "shapes": SHAPES}
    | {"sleep": [True]},
    kd.Distance(PAIRS): {
        "length": [2.0, [1.0, 2.0]],
        "stiffness": [0.5],
        "iterations": [3],
        "direction": ["after"],
        "order": ["coloured"],
        "breaks_at": [3.0, [np.inf, 2.0]],
    },
    kd.Distance(PAIRS, max_length=1.0, breaks_at=20.0): {
        "max_length": [1.1, [1.0, 1.25]],
        "min_length": [0.75],
        "breaks_at": [1.5],
    },
    kd.Distance(PAIRS, min_length=1.2, max_length=1.3, compliance=0.01): {"max_length": [1.2], "direction": ["after"]},
    kd.Distance([(0, 1)], 1.0, compliance=0.1): {"compliance": [0.2]},
    kd.Pin([0]): {"indices": [[1], [0, 2]]},
    kd.Periodic(-3, 3): {"lower": [-4, (-4, -3)], "upper": [4, (4, 3)]},
}
TERMS = [one for one in SAMPLES if isinstance(one, Term)]
CONSTRAINTS = [one for one in SAMPLES if isinstance(one, Constraint)]
COEFFICIENTS = [(one, name, value) for one, others in SAMPLES.items() for name in others for value in others[name]]
#: Classes without samples: their only coefficient is an array that belongs to the user.
ELSEWHERE = {kd.AppliedForce, kd.AppliedTorque}


def missing() -> list[str]:
    """Return the classes, and the coefficients of classes, that have no sample."""
    there = {(type(one), name) for one, name, _ in COEFFICIENTS}
    kinds = {type(one): one for one in SAMPLES}
    classes = known(Term) | known(Constraint)
    names = [cls.__name__ for cls in classes - kinds.keys() - ELSEWHERE]
    names += [
        f"{cls.__name__}({name})" for cls in kinds for name in kinds[cls].coefficients if (cls, name) not in there
    ]
    return sorted(names)


#: Classes that refuse three dimensions.
PLANE = {kd.Segments}
#: Coefficients whose shape in 3-D is not that of 2-D plus one component: {name: value in 3-D}.
IN_SPACE = {"axis": (1.0, 2.0, -2.0), "omega": (0.5, -0.2, 0.5)}


def in_space(one: Any) -> Any:
    """Return a sample for three dimensions: vectors of the plane get a third component."""
    found = {name: np.asarray(getattr(one, name)) for name in one.coefficients}
    vectors = {name: value for name, value in found.items() if value.dtype.kind == "f" and value.shape[-1:] == (2,)}
    higher = {name: np.insert(value, 2, 0.375, axis=-1) for name, value in vectors.items()}
    return one.changed(higher | {name: value for name, value in IN_SPACE.items() if name in found})


def varied(rng: Any, one: Any) -> Any:
    """Return a sample with some coefficients changed to their alternative values."""
    for name, values in SAMPLES[one].items():
        if rng.integers(2):
            with suppress(TypeError, ValueError):  # some coefficients exclude each other
                one = one.changed({name: values[rng.integers(len(values))]})
    return one


def world(cls: Any, *declared: Any, dtype: Any = np.float64, dt: float = 1 / 64, **more: Any) -> Any:
    """Create a stepper of three bodies with these forces and constraints, plus gravity."""
    kinds = {"forces": [kd.Gravity((0.25, -2.0))], "constraints": []}
    for one in declared:
        kinds["forces" if isinstance(one, Term) else "constraints"].append(one)
    arrays = (np.array(numbers, dtype) for numbers in (POSITION, VELOCITY))
    return cls(*arrays, [1.0, 2.0, 0.5], dt=dt, **kinds, **more)
