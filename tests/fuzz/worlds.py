"""Many worlds, each compared with a single stepper, after random steps, changes and restores."""

import random

import numpy as np

import kickdrift as kd

from . import scenes
from .common import outcome, plain, same, tally

COUNT = 3
FAILURES = (kd.NonFiniteError, kd.ConvergenceError)


def worlds(seed):
    """Run random operations on worlds and on as many steppers. If the worlds have noise, only the first is compared."""
    rng, drawn = random.Random(seed), scenes.bodies(seed)
    alone = [scenes.twin_of(kd, drawn) for _ in range(COUNT)]
    many = kd.Worlds(alone[0], COUNT, threads=rng.choice([1, 2]))
    noisy = any(isinstance(force, kd.Langevin) or getattr(force, "noisy", False) for force in many.forces)
    operations = [steps, steps, steps, set_numbers, go_back, write, kill_some, one_alone]
    compared = alone[:1] if noisy else alone
    changed = False  # whether coefficients were set: snapshots of steppers contain them, those of worlds do not
    for operation in rng.choices(operations, k=rng.randrange(3, 9)):
        tally.operations += 1
        changed = changed or operation is set_numbers
        if changed and operation is go_back:
            continue
        results = operation(random.Random(rng.random()), many, alone)
        if results is not None and not noisy:
            same(operation.__name__, *results)
        if results is not None and results[0] is not None:
            return  # worlds and steppers may be at different ticks after a failure
        compare(operation.__name__, many, compared, not changed)


def compare(what, many, alone, snapshots):
    for i, stepper in enumerate(alone):
        for name in ("position", "velocity", "angular_velocity", "angle", "orientation", "tick"):
            own = getattr(stepper, name)
            if own is not None:
                same(
                    f"{what}: {name} of world {i}", *(plain(np.asarray(each)) for each in (getattr(many, name)[i], own))
                )
        if snapshots and np.isfinite(stepper.position).all() and np.isfinite(stepper.velocity).all():
            same(f"{what}: snapshot of world {i}", outcome(many.snapshot, i), outcome(stepper.snapshot))
        same(f"{what}: checksum of world {i}", outcome(many[i].checksum), outcome(stepper.checksum))
        same(f"{what}: energy of world {i}", outcome(many[i].energy), outcome(stepper.energy))
    if many._guest._events is None:
        return
    events = many.events.take()
    for i, stepper in enumerate(alone):
        own = stepper.events.take()
        found = events[events["world"] == i]
        same(
            f"{what}: events of world {i}", *(plain([each[name] for name in own.dtype.names]) for each in (found, own))
        )


def steps(rng, many, alone):
    """Step the worlds and the steppers; return the first that fails of each."""
    n, active = rng.choice([1, 1, 2, 7]), np.array([rng.random() < 0.7 for _ in alone])
    failed = [i for i, stepper in enumerate(alone) if active[i] and fails(stepper.step, n)]
    try:
        many.step(n, active=active)
    except FAILURES as error:
        return error.world, failed[0] if failed else None
    return None, failed[0] if failed else None


def fails(call, *arguments):
    try:
        call(*arguments)
    except FAILURES:
        return True
    return False


def one_alone(rng, many, alone):
    return fails(many[0].step, 2) or None, fails(alone[0].step, 2) or None


def set_numbers(rng, many, alone):
    """Multiply a coefficient by another factor in each world, unless the worlds must share its value."""
    number = rng.randrange(len(declared(alone[0])) or 1)
    one = declared(many)[number] if declared(many) else None
    values = {name: getattr(one, name) for name in getattr(one, "coefficients", ())}
    values = {
        name: value for name, value in values.items() if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    }
    if not values:
        return
    name, value = rng.choice([*values.items()])
    given = np.stack([value * rng.choice([0.5, 0.75, 1.0, 1.25]) for _ in alone])
    where = np.array([rng.random() < 0.5 for _ in alone]) if rng.random() < 0.5 else np.ones(len(alone), np.bool_)
    some = {} if where.all() else {"where": where}
    try:
        many.set(one, **{name: given[where]}, **some)
    except ValueError:
        return
    for i in np.flatnonzero(where):
        alone[i].set(declared(alone[i])[number], **{name: given[i]})


def declared(one):
    return [*one.forces, *one.constraints]


def go_back(rng, many, alone):
    snapshot, where = alone[0].snapshot(), np.array([rng.random() < 0.5 for _ in alone])
    many.restore(snapshot, where=where)
    for i in np.flatnonzero(where):
        alone[i].restore(snapshot)


def write(rng, many, alone):
    i, row = rng.randrange(COUNT), rng.randrange(many.n)
    for velocity in (many.velocity[i], alone[i].velocity):
        velocity[row] *= 0.5


def kill_some(rng, many, alone):
    mask = np.array([[rng.random() < 0.3 for _ in range(many.n)] for _ in alone])
    many.kill(mask)
    for stepper, rows in zip(alone, mask, strict=True):
        stepper.kill(rows)
