"""Random changes to a world, next to a model that records the state expected after each change."""

import dataclasses
import pickle
import re
from typing import Any, NamedTuple

import numpy as np
import plans
import pytest

import kickdrift as kd
from kickdrift.constraints.joints import colours
from kickdrift.stepper.tying import PAIRED


def coefficients(rng, declaration, n, dim):
    """Draw new coefficients for a declaration: {parameter of its constructor: value}."""

    def each(low, high, count=n):
        return rng.uniform(low, high, count) if rng.integers(3) == 0 else float(rng.uniform(low, high))

    def vector():
        return rng.normal(size=(n, dim)) if rng.integers(3) == 0 else rng.normal(size=dim)

    def bits():
        return rng.integers(1, 4, n) if rng.integers(3) == 0 else int(rng.integers(1, 4))

    def flags():
        return rng.random(n) < 0.3 if rng.integers(3) == 0 else bool(rng.integers(2))

    filters = {"category": bits, "mask": bits, "sensor": flags}
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
        "PairPotential": {"e": lambda: float(rng.uniform(-1, 1)), "q": lambda: float(rng.uniform(0.1, 0.4))},
        "Expression": {"a": lambda: each(-1, 1), "b": lambda: each(-1, 1)},
        "Langevin": {"friction": lambda: each(0, 2), "temperature": lambda: each(0, 1)},
        "NBody": {"G": lambda: float(rng.uniform(-1, 2)), "softening": lambda: 0.3},
        "Box": {"upper": lambda: 1 + rng.random(dim), "restitution": lambda: each(0, 1), "friction": lambda: each(0, 1)}
        | filters,
        "Periodic": {"upper": lambda: 1.5 + rng.random(dim)},
        "Plane": {"offset": lambda: -float(rng.random()), "normal": lambda: rng.normal(size=dim)} | filters,
        "Pin": {"indices": lambda: rng.permutation(n)[:2]},
        "Magnetic": {"charge": lambda: each(-1, 1), "field": lambda: rng.normal(size=() if dim == 2 else 3)},
        "RotatingFrame": {
            "omega": lambda: rng.normal(size=() if dim == 2 else 3),
            "center": lambda: rng.normal(size=dim),
        },
        "ElasticCollisions": {
            "radius": lambda: each(0.05, 0.5),
            "restitution": lambda: float(rng.uniform(0, 1)),
            "swept": lambda: bool(rng.integers(2)),
        }
        | filters,
        "Distance": {
            "length": lambda: each(0, 2, pairs),
            "iterations": lambda: int(rng.integers(1, 5)),
            "compliance": lambda: 0.01,
            "stiffness": lambda: 0.5,
            "order": lambda: ("given", "coloured")[int(rng.integers(2))],
        },
    }[type(declaration).__name__]
    names = [name for name in choices if rng.integers(2)] or [next(iter(choices))]
    if rng.integers(3) == 0:  # change a single coefficient: often done in place, without rebinding
        names = [str(rng.choice(list(choices)))]
    return {name: choices[name]() for name in names}


def indices_of(declaration):
    """Return (name, bodies (k,) or pairs (k, 2)) of a declaration that lists bodies; None if it applies to all."""
    name = next((name for name in ("pairs", "indices") if hasattr(declaration, name)), None)
    return None if name is None else (name, np.asarray(getattr(declaration, name)))


class Declared(NamedTuple):
    """Expected state of one declaration: its handle, its current value, and the body generations it belongs to."""

    handle: Any
    now: Any
    enabled: bool
    generations: np.ndarray | None


class Expected(NamedTuple):
    """Expected state of the stepper."""

    told: tuple[Declared, ...]
    mass: Any
    alive: np.ndarray
    generation: np.ndarray  #: number of bodies that each slot has had so far

    def generations(self, declaration):
        held = indices_of(declaration)
        return None if held is None else (self.generation + ~self.alive)[held[1]]

    def left(self, one):
        """Return the declaration as a newly built world would get it: without entries of dead bodies."""
        if one.generations is None or len(one.generations) == 0:
            return one.now
        name, held = indices_of(one.now)
        lasts = (self.generation + ~self.alive)[held] == one.generations
        lasts = lasts if lasts.ndim == 1 else lasts.all(axis=1)
        if lasts.all() and one.now.generations is None:
            return one.now
        chosen, fields = np.flatnonzero(lasts), {}
        if getattr(one.now, "order", None) == "coloured":  # colours of the other pairs do not change
            chosen, fields = chosen[np.argsort(colours(held)[chosen], kind="stable")], {"order": "given"}
        fields |= {name: held[chosen], "generations": None}
        for other in one.now.coefficients:
            value = getattr(one.now, other)
            if other != name and np.shape(value) == (len(held),):
                fields[other] = value[chosen]
        return dataclasses.replace(one.now, **fields)


class World:
    """A stepper and the model of its expected state."""

    def __init__(self, cls, rng, integrator, dtype, births=False):
        self.cls, self.rng, self.births = cls, rng, births
        self.scene = plans.held_scene(rng, integrator, n=int(rng.choice([2, 3, 5, 9, 17])), dtype=dtype)
        self.n, self.dim = self.scene.position.shape
        if rng.integers(2):
            self.scene.arguments["constraints"] = []
        arguments = self.scene.arguments
        if rng.integers(3) == 0:
            arguments["constraints"].append(kd.Periodic(-1.5 - rng.random(self.dim), 1.5 + rng.random(self.dim)))
            arguments["forces"] = [term for term in arguments["forces"] if not isinstance(term, kd.NBody)]
        alive = np.ones(self.n, np.bool_)
        more = {}
        if births and rng.integers(2):
            more["alive"] = alive = rng.random(self.n) < 0.7
        #: Two applied forces: one to add later, one that is present from the start.
        self.applied, first = (kd.AppliedForce(rng.normal(size=(self.n, self.dim)).astype(dtype)) for _ in range(2))
        if births and rng.integers(4) == 0 and not isinstance(integrator, kd.Exact):
            self.scene.arguments["forces"].append(first)
        if rng.integers(2):
            self.scene.arguments["events"] = kd.Events()
        self.stepper = self.scene.make(cls, **more)
        handles = [*self.scene.arguments["forces"], *self.scene.arguments["constraints"]]
        book = Expected((), self.scene.arguments["mass"], alive, alive.astype(np.int64))
        told = (Declared(each, now := self.stepper.current(each), True, book.generations(now)) for each in handles)
        self.book = book._replace(told=tuple(told))
        self.saved = [(self.stepper.snapshot(), self.book, self.pushes())]

    def pushes(self):
        """Return {handle: contents} of the applied forces."""
        return {one.handle: one.handle.force.copy() for one in self.book.told if isinstance(one.now, kd.AppliedForce)}

    def anew(self):
        """Build a new stepper from the expected declarations, in the current state."""
        world, book = self.stepper, self.book
        today = [book.left(one) for one in book.told if one.enabled]
        forces = [now for now in today if isinstance(now, kd.forces.Term)]
        constraints = [now for now in today if not isinstance(now, kd.forces.Term)]
        arguments = self.scene.arguments | {"forces": forces, "constraints": constraints, "mass": book.mass}
        slots = {}
        if world._slots is not None:
            arguments["alive"] = book.alive
            slots["slots"] = (
                book.alive,
                book.alive.astype(np.int64),
                world._slots.needs_start[: self.n].astype(np.bool_),
            )
        state = [np.where(book.alive[:, None], array, 0) for array in (world.position, world.velocity)]
        other = self.cls(*state, **arguments)
        writes = [(other._history, None, world._history.copy())] if world._started and world.integrator.history else []
        time = {name: getattr(world, name) for name in ("_origin", "_origin_tick")}
        if "events" in arguments:
            slots["touching"] = world._touching()
        other._commit(writes=writes, resume=(world.tick, world._started, world._last_h), attributes=time, **slots)
        return other

    def change(self):
        """Apply one random change to the stepper and to the model; to neither if it is refused."""
        kinds = [
            "set",
            "set",
            "enable",
            "add",
            "remove",
            "mass",
            "restore",
            "save",
            "push",
            "teleport",
            "shift",
            "rebind",
        ]
        kind = self.rng.choice(kinds + self.births * ["spawn", "spawn", "kill", "kill", "kill", "dirt"])
        before, kept = self.stepper.snapshot(), self.book
        call = getattr(self, str(kind))()
        if call is None:
            return
        new, self.book = self.book, kept
        try:
            call()
        except ValueError as refused:
            assert self.stepper.snapshot() == before
            if all(one.enabled and one.now is not None for one in new.told):
                self.book = new
                with pytest.raises(ValueError, match=re.escape(str(refused))):  # constructors refuse the change, too
                    self.anew()
                self.book = kept
            return
        self.book = new
        if kind == "shift":  # shift() rounds coordinates; its rounding error is not under test
            current = self.stepper.current
            self.book = new._replace(told=tuple(one._replace(now=current(one.handle)) for one in new.told))
        if kind == "restore":
            for handle, force in self.restored.items():
                assert (handle.force == force).all()

    # Each method below updates the model and returns the call that changes the stepper accordingly.

    def save(self):
        self.saved.append((self.stepper.snapshot(), self.book, self.pushes()))

    def restore(self):
        snapshot, self.book, self.restored = self.saved[int(self.rng.integers(len(self.saved)))]
        return lambda: self.stepper.restore(snapshot)

    def mass(self):
        rng, living = self.rng, np.flatnonzero(self.book.alive)
        if rng.integers(2):
            value = float(rng.uniform(0.5, 3))
            self.book = self.book._replace(mass=value)
            return lambda: self.stepper.set_mass(value)
        by_id = rng.integers(2)
        rows = rng.permutation(living if by_id else self.n)
        rows = rows[: int(rng.integers(1, self.n + 1))]
        value = float(rng.uniform(0.5, 3)) if rng.integers(2) else rng.uniform(0.5, 3, len(rows))
        mass = self.book.mass + np.zeros(self.n)
        mass[rows] = value
        self.book = self.book._replace(mass=mass)
        index = self.stepper.ids[rows] if by_id else rows
        return lambda: self.stepper.set_mass(value, index)

    def add(self):
        rng, world = self.rng, self.stepper
        drawn = plans.held_scene(rng, world.integrator, self.n, world.dtype, self.dim).arguments
        several = [*drawn["forces"], *drawn["constraints"], self.applied]
        if self.dim > 1:
            field = rng.normal(size=() if self.dim == 2 else 3)
            several += [kd.Magnetic(float(rng.normal()), field), kd.RotatingFrame(field)]
        several += [
            kd.PairPotential("e*(q/r)**4", cutoff=1.0, e=1.0, q=0.25),
            kd.Expression(x="a*sin(x) - b*b*x", a=1, b=0),
        ]
        if not self.births:  # noise depends on body ids, and a newly built world has other ids
            several.append(kd.Langevin(0.5, 0.25, seed=int(rng.integers(99))))
        boxes = [one for one in self.book.told if isinstance(one.handle, kd.Periodic)]
        if boxes:  # no NBody: refused beside Periodic, also when a disabled box is enabled again
            several = [each for each in several if not isinstance(each, kd.NBody)]
        new = several[int(rng.integers(len(several)))]
        if new in [one.handle for one in self.book.told]:
            return None
        box = next((one.now for one in boxes if one.enabled), None)
        self.book = self.book._replace(
            told=(*self.book.told, Declared(new, new.placed(world.position, box), True, self.book.generations(new)))
        )
        return lambda: world.add(new)

    def _replace(self, change):
        """Apply `change` to a random declaration and return its call to the stepper; None if there is none."""
        told = list(self.book.told)
        if not told:
            return None
        place = int(self.rng.integers(len(told)))
        told[place : place + 1], call = change(told[place])
        self.book = self.book._replace(told=tuple(told))
        return call

    def set(self):
        def change(one):
            if isinstance(one.now, kd.AppliedForce):
                return [one], None
            given = coefficients(self.rng, one.now, self.n, self.dim)
            call = lambda: self.stepper.set(one.handle, **given)  # noqa: E731
            try:
                formula = isinstance(one.now, kd.Expression | kd.PairPotential)
                now = one.now.changed(given) if formula else dataclasses.replace(one.now, **given)
            except ValueError:
                return [one._replace(now=None)], call  # invalid values: no new stepper can be built
            generations = self.book.generations(now) if "indices" in given else one.generations
            return [one._replace(now=now, generations=generations)], call

        return self._replace(change)

    def enable(self):
        return self._replace(
            lambda one: (
                [one._replace(enabled=not one.enabled)],
                lambda: self.stepper.enable(one.handle, not one.enabled),
            )
        )

    def remove(self):
        return self._replace(lambda one: ([], lambda: self.stepper.remove(one.handle)))

    def push(self):
        """Write into the arrays of applied forces; no call to the stepper."""
        for handle, force in self.pushes().items():
            handle.force[...] = self.rng.normal(size=force.shape)

    def teleport(self):
        living = np.flatnonzero(self.book.alive)
        rows = self.rng.permutation(living)[:2]
        there = self.rng.normal(size=(len(rows), self.dim))
        return lambda: self.stepper.teleport(rows, there)

    def shift(self):
        way = self.rng.integers(-4, 5, self.dim) / 2
        return lambda: self.stepper.shift(way)

    def rebind(self):
        layout = plans.LAYOUTS[self.rng.integers(4)]
        world = self.stepper
        return lambda: world.rebind(plans.lay_out(world.position, layout), plans.lay_out(world.velocity, layout))

    def spawn(self):
        rng, book = self.rng, self.book
        free = np.flatnonzero(~book.alive)
        rows = free[: int(rng.integers(0, len(free) + 1))]
        x, v = rng.normal(size=(2, len(rows), self.dim))
        alive, generation, more = book.alive.copy(), book.generation.copy(), {}
        alive[rows], generation[rows] = True, generation[rows] + 1
        if len(rows) and rng.integers(2):
            more["mass"] = rng.uniform(0.5, 3, len(rows))
            mass = book.mass + np.zeros(self.n)
            mass[rows] = more["mass"]
            book = book._replace(mass=mass)
        self.book = book._replace(alive=alive, generation=generation)

        def call():
            ids = self.stepper.spawn(x, v, **more)
            assert ids.tolist() == (generation[rows] << 32 | rows).tolist()

        return call

    def kill(self):
        living = np.flatnonzero(self.book.alive)
        rows = self.rng.permutation(living)[: int(self.rng.integers(0, 3))]
        alive = self.book.alive.copy()
        alive[rows] = False
        self.book = self.book._replace(alive=alive)
        which = self.stepper.ids[rows] if self.rng.integers(2) else rows
        return lambda: self.stepper.kill(which)

    def dirt(self):
        """Write garbage into the rows of dead bodies: engines may leave anything there."""
        self.stepper.position[~self.book.alive] = np.nan
        self.stepper.velocity[~self.book.alive] = 1e30

    def solved(self, world):
        """Return the living rods of each body in solver order, with the number of sweeps over each rod."""
        book, found = self.book, {}
        for record in world._plan.constraint_records:
            if record.kind not in PAIRED:
                continue
            pairs = np.stack([record.fields["first"], record.fields["second"]], axis=1)
            lives = book.alive[pairs]
            if world is self.stepper and "generations" in record.fields:
                lives &= record.fields["generations"] == book.generation[pairs]
            for pair in pairs[lives.all(axis=1)].tolist():
                for body in pair:
                    found.setdefault(body, []).append((int(record.fields["iterations"][0]), pair))
        return found

    def compare(self, steps):
        """Step this world and a newly built one, and compare; True if the steps succeeded."""
        world, alive = self.stepper, self.book.alive
        assert (world.mass + np.zeros(self.n) == self.book.mass + np.zeros(self.n)).all()
        assert world.alive.tolist() == alive.tolist()
        self.book = self.book._replace(mass=world.mass)  # equal plans need masses of one form: scalar or array
        other = self.anew()
        if not self.births:
            assert world._plan.fingerprint == other._plan.fingerprint
        evaluations = world.force_evaluations, other.force_evaluations
        told = "events" in self.scene.arguments
        if told:
            world.events.take()
        ended = plans.outcome(world, steps)
        assert plans.outcome(other, steps) == ended
        if told and not self.births:  # a newly built world has other body ids
            assert world.events.take().tobytes() == other.events.take().tobytes()
        if ended and ended[0] is kd.NonFiniteError:
            return False
        if world._plan.velocity_dependent != other._plan.velocity_dependent:
            return not ended  # dead damped pairs make only the old plan velocity-dependent
        rods = [one for one in self.book.told if one.enabled and isinstance(one.now, kd.Distance)]
        if self.solved(world) != self.solved(other):
            # Ended pairs may have joined rods into one group, which keeps its solver order and sweep count.
            assert any(len(self.book.left(one).pairs) < len(one.now.pairs) for one in rods)
            return not ended
        for mine, others in zip(world._arrays(), other._arrays(), strict=True):
            plans.assert_same_bits(mine[alive], others[alive])
        if all(self.book.left(one) is one.now for one in self.book.told):  # dead pairs may cost evaluations
            assert world.force_evaluations - evaluations[0] == other.force_evaluations - evaluations[1]
        acting = [one.now for one in self.book.told if one.enabled and isinstance(one.now, kd.forces.Term)]
        if all(term.conservative and not isinstance(term, kd.AppliedForce) for term in acting):
            plans.assert_same_bits(*(np.array(each.energy()) + 0 for each in (world, other)))
        return not ended


def play(cls, seed, integrator, dtype, rounds=6, births=False):
    """Change a world at random and compare after each change; return the snapshots taken along the way."""
    world = World(cls, np.random.default_rng(seed), integrator, dtype, births)
    trace = [world.stepper.snapshot()]
    for _ in range(rounds):
        for _ in range(int(world.rng.integers(1, 4))):
            world.change()
        steps = int(world.rng.integers(1, 4))
        if not world.compare(steps):
            break
        trace.append(world.stepper.snapshot())
        twin = pickle.loads(pickle.dumps(world.stepper))
        assert twin.snapshot() == trace[-1]
        if world.rng.integers(4) == 0:
            trace.append(world.stepper.interpolate(living=True).tobytes())
    return trace
