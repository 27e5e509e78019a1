"""Operations of games between steps: spawns, ropes, shapes, rebinding of arrays, queries, recording."""

import random

import numpy as np

import kickdrift as kd

KINDS = ("radius", "category", "mask", "sensor", "restitution", "friction")
#: Errors that these operations may raise, if stepper and reference raise the same.
REFUSALS = ("ValueError", "TypeError", "IndexError", "CapacityError", "DeadBodyError", "RuntimeError")


def spawn_kinds(stepper, seed):
    rng = random.Random(seed)
    count = rng.randrange(1, 4)
    if stepper.n - stepper.count < count and rng.random() < 0.7:
        return stepper.kill(np.flatnonzero(stepper.alive)[:count].tolist())

    def each(draw):
        return [draw() for _ in range(count)] if rng.random() < 0.5 else draw()

    drawn = {
        "radius": lambda: rng.choice([0.1, 0.25, 0.5]),
        "category": lambda: rng.randrange(1, 8),
        "mask": lambda: rng.randrange(8),
        "sensor": lambda: rng.random() < 0.3,
        "restitution": rng.random,
        "friction": rng.random,
    }
    kinds = {name: each(drawn[name]) for name in KINDS if rng.random() < 0.4}
    if rng.random() < 0.3:
        kinds["rows"] = slice(rng.randrange(stepper.n), None)
    if rng.random() < 0.3:
        kinds["mass"] = each(lambda: rng.choice([0.5, 2.0, np.inf]))
    if stepper.angular_velocity is not None and rng.random() < 0.5:
        kinds["angular_velocity"] = rng.uniform(-3, 3)
    places = [[rng.uniform(-1, 1) for _ in range(stepper.dim)] for _ in range(count)]
    return stepper.spawn(places, rng.uniform(-1, 1), **kinds)


def joints(stepper):
    held = [one for one in stepper.constraints if isinstance(one, kd.Contacts)]
    return [*stepper.constraints, *[joint for one in held for joint in one.joints]]


def distances(stepper):
    return [one for one in joints(stepper) if isinstance(one, kd.Distance)]


def pairs(rng, n):
    first = [rng.randrange(n) for _ in range(rng.randrange(1, 4))]
    return [(i, (i + rng.randrange(1, n)) % n) for i in first]


def tie(stepper, seed):
    """Add rods, ropes, struts or springs, some of which break."""
    rng, n = random.Random(seed), stepper.n
    if n < 2:
        return
    ends = pairs(rng, n)
    breaks = rng.choice([None, 0.5, 50.0, np.inf])
    made = [
        lambda: kd.Distance(ends, breaks_at=breaks),
        lambda: kd.Distance(ends, rng.uniform(0.2, 1.5), iterations=rng.randrange(1, 9), direction="after"),
        lambda: kd.Distance(ends, max_length=rng.uniform(0.1, 2), breaks_at=breaks),
        lambda: kd.Distance(ends, min_length=0.4, max_length=0.9, compliance=rng.choice([None, 0.01])),
        lambda: kd.Distance(ends, compliance=0.02, order=rng.choice(["given", "coloured"]), breaks_at=breaks),
        lambda: kd.Springs(ends, rng.uniform(0, 9), rng.uniform(0, 1)),
    ]
    stepper.add(rng.choice(made)())


def set_a_rope(stepper, seed):
    rng, found = random.Random(seed), distances(stepper)
    if not found:
        return
    one = rng.choice(found)
    changes = {
        "length": lambda: rng.choice([None, 0.3, rng.uniform(0.1, 2)]),
        "max_length": lambda: rng.choice([None, rng.uniform(0.5, 2)]),
        "min_length": lambda: rng.choice([None, rng.uniform(0, 0.5)]),
        "breaks_at": lambda: rng.choice([None, 1.0, np.inf]),
        "iterations": lambda: rng.randrange(1, 6),
        "compliance": lambda: rng.choice([None, 0.0, 0.01]),
        "stiffness": lambda: rng.choice([0.25, 1.0]),
        "direction": lambda: rng.choice(["before", "after"]),
    }
    name = rng.choice([*changes])
    stepper.set(one, **{name: changes[name]()})


def set_filters(stepper, seed):
    rng = random.Random(seed)
    held = [one for one in stepper.constraints if isinstance(one, kd.Contacts)]
    found = [*stepper.constraints, *[shape for one in held for shape in one.shapes]]
    found = [one for one in found if hasattr(one, "category")]
    if not found:
        return
    one, name = rng.choice(found), rng.choice(["category", "mask", "sensor"])
    value = rng.random() < 0.4 if name == "sensor" else rng.randrange(1, 8)
    index = rng.choice([None, rng.randrange(stepper.n), slice(None, None, 2)])
    stepper.set(one, index=index, **{name: value})


def set_a_method(stepper, seed):
    """Change settings of a constraint as a whole: substeps, iterations, sleep, continuous detection, shapes."""
    rng = random.Random(seed)
    changes = {
        kd.Contacts: {
            "substeps": lambda: rng.randrange(1, 6),
            "hertz": lambda: rng.choice([None, 15.0]),
            "damping_ratio": lambda: rng.choice([1.0, 10.0]),
            "sleep": lambda: rng.random() < 0.7,
            "shapes": lambda: [box(rng, stepper.dim) for _ in range(rng.randrange(3))],
        },
        kd.ElasticCollisions: {"iterations": lambda: rng.randrange(1, 6), "swept": lambda: rng.random() < 0.5},
        kd.Boxes: {"velocity": lambda: [rng.uniform(-3, 3)] * stepper.dim, "one_way": lambda: rng.random() < 0.5},
        kd.Segments: {"thickness": lambda: rng.choice([0.0, 0.05]), "one_way": lambda: rng.random() < 0.5},
    }
    found = [one for one in stepper.constraints if type(one) in changes]
    found += [shape for one in found if isinstance(one, kd.Contacts) for shape in one.shapes]
    if found:
        one = rng.choice(found)
        name = rng.choice([*changes[type(one)]])
        stepper.set(one, **{name: changes[type(one)][name]()})


def box(rng, dim, **more):
    lower = np.array([rng.uniform(-2, 2) for _ in range(dim)])
    velocity = rng.choice([None, [rng.uniform(-2, 2) for _ in range(dim)]])
    return kd.Boxes([lower], [lower + rng.uniform(0.1, 2)], friction=rng.random(), velocity=velocity, **more)


def add_a_constraint(stepper, seed):
    rng, dim = random.Random(seed), stepper.dim
    made = [
        lambda: kd.ElasticCollisions(rng.uniform(0.05, 0.3), rng.random(), friction=rng.random()),
        lambda: kd.ElasticCollisions(rng.uniform(0.05, 0.3), swept=True),
        lambda: box(rng, dim, radius=0.1, restitution=rng.random()),
        lambda: kd.Contacts(rng.uniform(0.05, 0.3), rng.random(), shapes=[box(rng, dim)], sleep=rng.random() < 0.5),
        lambda: kd.Pin(rng.randrange(stepper.n)),
        lambda: kd.Plane([1.0] * dim, -1.0, rng.random(), rng.random(), radius=0.1),
        lambda: kd.Sensor(center=[0.25] * dim, radius=0.5),
        lambda: kd.Periodic(-2.0, 2.0),
    ]
    stepper.add(rng.choice(made)())


def add_a_force(stepper, seed):
    rng, dim = random.Random(seed), stepper.dim
    made = [
        lambda: kd.Gravity([rng.uniform(-9, 9) for _ in range(dim)]),
        lambda: kd.Damping(rng.random()),
        lambda: kd.AnchorSpring(rng.uniform(0, 9), rng.random()),
        lambda: kd.PairPotential("k/2*(c - r)**2", cutoff=0.5, k=rng.uniform(0, 5), c=0.5),
        lambda: kd.NBody(rng.random(), softening=0.3),
        lambda: kd.Langevin(rng.random(), 1.0, seed=3),
        lambda: kd.Potential("k*norm(x)**2", k=rng.random()),
        lambda: kd.FloorFriction(rng.uniform(0, 5)),
        lambda: kd.Magnetic(rng.random(), 1.0 if dim == 2 else [1.0] * dim),
        lambda: kd.AppliedForce(np.full((stepper.n, dim), rng.uniform(-1, 1), stepper.dtype)),
    ]
    stepper.add(rng.choice(made)())


def bind_anew(stepper, seed):
    """Rebind the stepper to arrays of another layout, with other values or more rows."""
    rng = random.Random(seed)
    more = rng.choice([0, 0, 1, 3])

    def moved(array):
        if array is None:
            return None
        rows = np.zeros((len(array) + more, *array.shape[1:]), array.dtype)
        rows[: len(array)] = array
        if array.ndim == 2 and array.shape[1] == 4:
            rows[len(array) :, 0] = 1
        return np.asfortranarray(rows) if rng.random() < 0.5 else rows

    arrays = [stepper.position, stepper.velocity, stepper.angular_velocity, stepper.angle, stepper.orientation]
    given = [moved(array) for array in arrays]
    if rng.random() < 0.3:
        given[1][: stepper.n] *= 0.5
    if not more and rng.random() < 0.5:
        given[2:] = [None] * 3
    stepper.rebind(*given)


def look(stepper, seed):
    """Return what queries say."""
    rng, dim = random.Random(seed), stepper.dim

    def points(k):
        return [[rng.uniform(-1.5, 1.5) for _ in range(dim)] for _ in range(k)]

    radius, mask = rng.choice([0.0, 0.2]), rng.choice([1, 2, 2**64 - 1])
    calls = [
        lambda: stepper.touching(),
        lambda: stepper.grounded([0.0] * (dim - 1) + [1.0], rng.random()),
        lambda: stepper.overlap(points(4), radius, mask),
        lambda: stepper.cast(points(4), points(1)[0], radius, mask, rng.choice([None, rng.randrange(stepper.n)])),
        lambda: [(stepper.load(one), stepper.whole(one)) for one in distances(stepper)],
        lambda: stepper.interpolate(0.5, living=True),
        lambda: None if stepper.angular_velocity is None else stepper.interpolate_angles(0.5),
        lambda: [stepper.current(one) for one in (*stepper.forces, *stepper.constraints)],
    ]
    return rng.choice(calls)()


def record_more(stepper, seed):
    rng, dim = random.Random(seed), stepper.dim
    every = rng.randrange(1, 3)
    steps = rng.randrange(5)
    out = {"position": np.zeros((steps // every + 1, stepper.n, dim), stepper.dtype)} if rng.random() < 0.5 else None
    return stepper.record(steps, every, out=out, energy=rng.random() < 0.5)


def set_many(stepper, seed):
    """Set per-body coefficients or masses."""
    rng = random.Random(seed)
    if rng.random() < 0.3:
        stepper.set_mass([rng.choice([0.5, 1.0, 3.0]) for _ in range(stepper.n)])
        return
    found = [*stepper.forces, *stepper.constraints]
    one = rng.choice(found) if found else None
    names = [name for name in ("radius", "restitution", "friction", "rolling", "strength") if hasattr(one, name)]
    if names:
        stepper.set(one, **{rng.choice(names): [rng.choice([0.0, 0.1, 0.3]) for _ in range(stepper.n)]})


LIVING = (
    *(spawn_kinds, tie, set_a_rope, set_filters, set_a_method, add_a_constraint, add_a_force, bind_anew),
    *(look, look, record_more, set_many),
)
