"""A world that is changed at random, beside the book-keeping that says what it should be by then."""

import dataclasses
import re

import numpy as np
import plans
import pytest

import kickdrift as kd


def coefficients(rng, declaration, n, dim):
    """Other coefficients for a declaration, by the names of its constructor."""

    def each(low, high, count=n):
        return rng.uniform(low, high, count) if rng.integers(3) == 0 else float(rng.uniform(low, high))

    def vector():
        return rng.normal(size=(n, dim)) if rng.integers(3) == 0 else rng.normal(size=dim)

    pairs = len(getattr(declaration, "pairs", ()))
    choices = {
        "Gravity": {"acceleration": vector},
        "LinearDrag": {"coefficient": lambda: each(0, 2), "wind": vector},
        "QuadraticDrag": {"coefficient": lambda: each(0, 1), "wind": vector},
        "AnchorSpring": {"stiffness": lambda: each(0, 20), "damping": lambda: each(0, 1), "anchor": vector},
        "PointGravity": {"mu": lambda: each(-1, 3), "center": vector, "softening": lambda: each(0.2, 1)},
        "Vortex": {"strength": lambda: each(-2, 2), "center": vector, "softening": lambda: each(0.1, 1)},
        "Damping": {"rate": lambda: each(0, 2)},
        "Springs": {
            "stiffness": lambda: each(0, 9, pairs),
            "damping": lambda: each(0, 0.5, pairs),
            "rest_length": lambda: each(0, 1, pairs),
        },
        "NBody": {"G": lambda: float(rng.uniform(-1, 2)), "softening": lambda: 0.3},
        "Box": {
            "upper": lambda: 1 + rng.random(dim),
            "restitution": lambda: each(0, 1),
            "friction": lambda: each(0, 1),
        },
        "Plane": {"offset": lambda: -float(rng.random()), "normal": lambda: rng.normal(size=dim)},
        "Pin": {"indices": lambda: rng.permutation(n)[:2]},
        "ElasticCollisions": {"radius": lambda: each(0.05, 0.5), "restitution": lambda: float(rng.uniform(0, 1))},
        "Distance": {
            "length": lambda: each(0, 2, pairs),
            "iterations": lambda: int(rng.integers(1, 5)),
            "compliance": lambda: 0.01,
            "stiffness": lambda: 0.5,
        },
    }[type(declaration).__name__]
    names = [name for name in choices if rng.integers(2)] or [next(iter(choices))]
    return {name: choices[name]() for name in names}


class World:
    """A stepper, and what it is said to be: (handle, declaration, enabled) of each term and constraint, and masses."""

    def __init__(self, cls, rng, integrator, dtype):
        self.cls, self.rng = cls, rng
        self.scene = plans.held_scene(rng, integrator, n=int(rng.choice([2, 3, 5, 9])), dtype=dtype)
        self.n, self.dim = self.scene.position.shape
        if rng.integers(2):
            self.scene.arguments["constraints"] = []
        self.stepper = self.scene.make(cls)
        self.mass = self.scene.arguments["mass"]
        handles = [*self.scene.arguments["forces"], *self.scene.arguments["constraints"]]
        self.told = [(handle, self.stepper.current(handle), True) for handle in handles]
        self.saved = [(self.stepper.snapshot(), self.told, self.mass)]

    def anew(self):
        """A stepper that is made as this one is said to be, in the same state."""
        forces = [now for _, now, enabled in self.told if enabled and isinstance(now, kd.forces.Term)]
        constraints = [now for _, now, enabled in self.told if enabled and not isinstance(now, kd.forces.Term)]
        arguments = self.scene.arguments | {"forces": forces, "constraints": constraints, "mass": self.mass}
        world = self.stepper
        other = self.cls(world.position.copy(), world.velocity.copy(), **arguments)
        writes = [(other._history, None, world._history.copy())] if world._started and world.integrator.history else []
        time = {name: getattr(world, name) for name in ("_origin", "_origin_tick")}
        other._commit(writes=writes, resume=(world.tick, world._started, world._last_h), attributes=time)
        return other

    def change(self):
        """Change the stepper and what it is said to be; or nothing of either, where it is refused."""
        rng, world = self.rng, self.stepper
        kind = rng.choice(["set", "set", "enable", "add", "remove", "mass", "restore", "save"])
        before = world.snapshot()
        told, mass = list(self.told), self.mass
        place = int(rng.integers(len(told))) if told else None
        call = None
        if kind == "save":
            self.saved.append((before, self.told, self.mass))
        elif kind == "restore":
            snapshot, told, mass = self.saved[int(rng.integers(len(self.saved)))]
            call = lambda: world.restore(snapshot)  # noqa: E731
        elif kind == "mass":
            index = None if rng.integers(2) else rng.permutation(self.n)[: int(rng.integers(1, self.n + 1))]
            value = float(rng.uniform(0.5, 3)) if index is None or rng.integers(2) else rng.uniform(0.5, 3, len(index))
            if index is None:
                mass = value
            else:
                mass = mass + np.zeros(self.n)
                mass[index] = value
            call = lambda: world.set_mass(value, index)  # noqa: E731
        elif kind == "add":
            drawn = plans.held_scene(rng, world.integrator, self.n, world.dtype, self.dim).arguments
            several = [*drawn["forces"], *drawn["constraints"]]
            new = several[int(rng.integers(len(several)))]
            told.append((new, new.placed(world.position), True))
            call = lambda: world.add(new)  # noqa: E731
        elif place is not None:
            handle, now, enabled = told[place]
            if kind == "set":
                given = coefficients(rng, now, self.n, self.dim)
                try:
                    told[place] = handle, dataclasses.replace(now, **given), enabled
                except ValueError:
                    told[place] = handle, None, enabled  # which no stepper can be made with
                call = lambda: world.set(handle, **given)  # noqa: E731
            elif kind == "enable":
                told[place] = handle, now, not enabled
                call = lambda: world.enable(handle, not enabled)  # noqa: E731
            else:
                del told[place]
                call = lambda: world.remove(handle)  # noqa: E731
        if call is None:
            return
        kept, self.told, self.mass = (self.told, self.mass), told, mass
        try:
            call()
        except ValueError as refused:
            assert world.snapshot() == before
            off = [now for _, now, enabled in told if not enabled or now is None]
            if not off:
                with pytest.raises(ValueError, match=re.escape(str(refused))):  # nor could one be made so
                    self.anew()
            self.told, self.mass = kept

    def compare(self, steps):
        """Step this world and one that is made so; whether that went well."""
        world = self.stepper
        assert (world.mass + np.zeros(self.n) == self.mass + np.zeros(self.n)).all()
        self.mass = world.mass  # one for all and one for each are the same world, but not the same plan
        other = self.anew()
        assert world._plan.fingerprint == other._plan.fingerprint
        evaluations = world.force_evaluations, other.force_evaluations
        ended = plans.outcome(world, steps)
        assert plans.outcome(other, steps) == ended
        if ended and ended[0] is kd.NonFiniteError:
            return False
        for mine, others in zip(world._arrays(), other._arrays(), strict=True):
            plans.assert_same_bits(mine, others)
        assert world.force_evaluations - evaluations[0] == other.force_evaluations - evaluations[1]
        return not ended


def play(cls, seed, integrator, dtype, rounds=6):
    """Change a world at random, and compare it after each change; the snapshots on the way."""
    world = World(cls, np.random.default_rng(seed), integrator, dtype)
    trace = [world.stepper.snapshot()]
    for _ in range(rounds):
        for _ in range(int(world.rng.integers(1, 4))):
            world.change()
        steps = int(world.rng.integers(1, 4))
        if not world.compare(steps):
            break
        trace.append(world.stepper.snapshot())
    return trace
