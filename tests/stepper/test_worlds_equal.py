"""Each of many worlds is bitwise equal to a single stepper: active masks, restores, copies, spawns."""

from dataclasses import replace

import numpy as np
import plans
import pytest

import kickdrift as kd

SCENES = {
    "free": plans.scene,
    "held": plans.held_scene,
    "told": plans.told_scene,
    "wrapped": plans.wrapped_scene,
    "resting": plans.resting_scene,
    "level": plans.level_scene,
    "spinning": plans.spinning_scene,
    "rolling": lambda rng, integrator, **more: plans.rolling_scene(rng, integrator, plans.told_resting_scene, **more),
}


class Alone:
    """Many worlds, and a single stepper for each of them."""

    def __init__(self, cls, rng, drawn, count, threads):
        self.rng, self.count = rng, count
        make = kd.reference.Stepper if cls is kd.reference.Worlds else kd.Stepper
        n, dim = drawn.position.shape
        terms = drawn.arguments["forces"]
        if rng.integers(3) == 0 and not isinstance(drawn.arguments["integrator"], (kd.Exact, kd.EnergyEuler)):
            terms = [*terms, kd.Langevin(0.5, 1.0, seed=5)] if self.takes_noise(make, drawn) else terms
        self.events = "events" in drawn.arguments
        alive = {} if rng.integers(2) else {"alive": rng.random(n) < 0.7}
        push = kd.AppliedForce(np.zeros((n, dim), drawn.position.dtype))
        applied = [push] if rng.integers(3) == 0 and not isinstance(drawn.arguments["integrator"], kd.Exact) else []
        template = drawn.make(kd.Stepper, forces=[*terms, *applied], **alive)
        if rng.integers(2) and self.quietly(template.step, int(rng.integers(1, 4))) is not None:
            template = drawn.make(kd.Stepper, forces=[*terms, *applied], **alive)
        self.worlds = cls(template, count, threads=threads)
        self.forces = rng.normal(size=(count, n, dim)).astype(drawn.position.dtype)
        if applied:
            self.worlds.set(push, force=self.forces)
        self.steppers = []
        for i in range(count):
            seeded = [replace(one, seed=one.seed + i) if isinstance(one, kd.Langevin) else one for one in terms]
            own = [kd.AppliedForce(self.forces[i].copy())] if applied else []
            stepper = drawn.make(make, forces=[*seeded, *own], **alive)
            vars(stepper)["_identity"] = template._identity  # allows snapshots of a world with another noise seed
            stepper.restore(template.snapshot())
            for one in own:
                one.force[...] = self.forces[i]
            self.steppers.append(stepper)
        self.nudge(np.ones(count, bool))
        self.saved = [(self.worlds.snapshot(k), self.steppers[k].snapshot()) for k in range(min(2, count))]

    def takes_noise(self, make, drawn):
        try:
            drawn.make(make, forces=[*drawn.arguments["forces"], kd.Langevin(0.5, 1.0)])
        except ValueError:
            return False
        return not isinstance(drawn.arguments["integrator"], kd.ImplicitEuler)

    def quietly(self, call, *given):
        """Make a call; return the number of the world that failed, or None."""
        try:
            call(*given)
        except (kd.NonFiniteError, kd.ConvergenceError) as error:
            return getattr(error, "world", 0)
        return None

    def nudge(self, where):
        """Move the bodies of some worlds."""
        for i in np.flatnonzero(where):
            way = 0.1 * self.rng.normal(size=self.steppers[i].position.shape)
            for each in (self.worlds.position[i], self.steppers[i].position):
                each += np.where(self.steppers[i].alive[:, None], way, 0).astype(each.dtype)

    def nudged(self):
        self.nudge(self.rng.random(self.count) < 0.5)

    def step(self):
        n, active = int(self.rng.integers(1, 5)), self.rng.random(self.count) < 0.7
        failed = [i for i in np.flatnonzero(active) if self.quietly(self.steppers[i].step, n) is not None]
        found = self.quietly(self.worlds.step, n, active)
        assert found == (failed[0] if failed else None)

    def restore(self):
        where, k = self.rng.random(self.count) < 0.4, int(self.rng.integers(len(self.saved)))
        self.worlds.restore(self.saved[k][0], where)
        for i in np.flatnonzero(where):
            self.steppers[i].restore(self.saved[k][1])

    def copy(self):
        k = int(self.rng.integers(self.count + 1))
        target = self.rng.permutation(self.count)[:k]
        finite = np.isfinite(self.worlds.position).all(axis=(1, 2)) & np.isfinite(self.worlds.velocity).all(axis=(1, 2))
        if not finite.any():
            return  # steppers refuse to restore non-finite impulses
        source = self.rng.choice(np.flatnonzero(finite), size=k)
        self.worlds.copy(source, target)
        saved = [self.steppers[i].snapshot() for i in source]
        for i, snapshot in zip(target, saved, strict=True):
            self.steppers[i].restore(snapshot)
            if self.events:
                self.steppers[i].events.take()

    def spawn(self):
        alive = self.worlds.alive
        lowest = np.cumsum(~alive, axis=1) <= self.rng.integers(0, 3, size=(self.count, 1))
        where = ~alive & lowest
        position = self.rng.normal(size=self.worlds.position.shape)
        ids = self.worlds.spawn(where, position, 0.5)
        found = [self.steppers[i].spawn(position[i][where[i]], 0.5) for i in np.flatnonzero(where.any(axis=1))]
        assert np.array_equal(ids, np.concatenate([*found, np.zeros(0, np.int64)]))

    def kill(self):
        mask = self.rng.random(self.worlds.alive.shape) < 0.2
        self.worlds.kill(mask)
        for stepper, rows in zip(self.steppers, mask, strict=True):
            stepper.kill(rows)

    def check(self):
        for i, stepper in enumerate(self.steppers):
            assert stepper.tick == self.worlds.tick[i]
            assert np.array_equal(stepper.position, self.worlds.position[i], equal_nan=True)
            assert np.array_equal(stepper.velocity, self.worlds.velocity[i], equal_nan=True)
            if stepper.angular_velocity is not None:
                assert np.array_equal(stepper.angular_velocity, self.worlds.angular_velocity[i], equal_nan=True)
        assert [stepper.checksum() for stepper in self.steppers] == self.worlds.checksum().tolist()
        if self.events:
            events = self.worlds.events.take()
            for i, stepper in enumerate(self.steppers):
                mine, found = events[events["world"] == i], stepper.events.take()
                for name in found.dtype.names:
                    assert np.array_equal(mine[name], found[name], equal_nan=found[name].dtype.kind == "f"), name
                assert self.worlds.events.dropped[i] == stepper.events.dropped


def run(cls, seed, scene, integrator, count, threads, changes, n=None):
    rng = np.random.default_rng(seed)
    size = {} if n is None else {"n": n}
    drawn = SCENES[scene](rng, integrator, **size)
    pair = Alone(cls, rng, drawn, count, threads)
    for _ in range(changes):
        getattr(pair, str(rng.choice(["step", "step", "restore", "copy", "spawn", "kill", "nudged"])))()
        pair.check()
    pair.step()
    pair.check()
    return pair


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("integrator", plans.INTEGRATORS, ids=repr)
def test_worlds_equal_steppers(scene, integrator):
    run(kd.Worlds, [*map(ord, scene)], scene, integrator, 3, 2, 5)


@pytest.mark.parametrize("seed", range(25))
def test_random_worlds_equal_steppers(isa, seed):
    rng = np.random.default_rng(seed)
    scene, integrator = (list(each)[rng.integers(len(each))] for each in (SCENES, plans.INTEGRATORS))
    run(kd.Worlds, [seed, 1], scene, integrator, int(rng.choice([1, 2, 7])), int(rng.choice([1, 2])), 8)


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("integrator", plans.INTEGRATORS[:: len(plans.INTEGRATORS) // 5], ids=repr)
def test_reference_worlds_equal_steppers(scene, integrator):
    run(kd.reference.Worlds, [*map(ord, scene), 2], scene, integrator, 2, 1, 4, n=3)


@pytest.mark.parametrize(
    "given", [{"offset": [-0.3, 0.2, 0.1]}, {"friction": [0.0, 0.5, 0.9]}, {"restitution": [0.0, 0.5, 0.2]}], ids=str
)
def test_walls_of_corners_differ_from_world_to_world(given):
    rng = np.random.default_rng(0)
    start = rng.uniform(0.1, 2, (20, 2)), rng.normal(0, 2, (20, 2))

    def made():
        walls = [kd.Plane((0, 1), 0.0, friction=0.1), kd.Plane((1, 0), 0.0, friction=0.2)]
        more = {"forces": [kd.Gravity((-5.0, -9.0))], "constraints": walls}
        return kd.Stepper(*(array.copy() for array in start), hz=50, **more), walls[0]

    stepper, wall = made()
    worlds = kd.Worlds(stepper, 3)
    worlds.set(wall, **{name: np.array(values) for name, values in given.items()})
    worlds.step(30)
    for i in range(3):
        one, wall = made()
        one.set(wall, **{name: values[i] for name, values in given.items()})
        one.step(30)
        np.testing.assert_array_equal(one.position, worlds.position[i])
        np.testing.assert_array_equal(one.velocity, worlds.velocity[i])
