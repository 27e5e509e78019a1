"""Whole frames of games beside the same in plain NumPy, and casts beside pymunk: `python -m bench.games`.

Frames are measured in processor time: none of both uses other threads.
"""

import argparse
import importlib.util
import math
import os
from pathlib import Path
from time import process_time
from types import ModuleType

import numpy as np

import kickdrift as kd

from . import table
from .table import Row, compare

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> ModuleType:
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PlainAsteroids:
    """examples/asteroids.py without kickdrift: one array per kind and quantity, all distances, no events."""

    def __init__(self, module: ModuleType) -> None:
        self.module, n = module, len(module.KIND)
        self.x, self.v, self.alive, self.fuse = (
            np.zeros((n, 2)),
            np.zeros((n, 2)),
            np.zeros(n, bool),
            np.full(n, math.inf),
        )
        self.before = self.x.copy()
        self.radius = np.array(module.RADIUS)[module.KIND]
        self.heading, self.loaded, self.score, self.wave, self.left = 0.0, 0.0, 0, 0, 0.0
        self.spawn(module.SHIP, module.SIZE / 2, 0.0)
        self.touched = False

    def spawn(self, kind: int, x: object, v: object) -> np.ndarray:
        rows = self.module.ROWS[kind]
        count = 1 if np.ndim(x) == 1 else len(x)  # type: ignore[arg-type]
        slots = rows.start + np.flatnonzero(~self.alive[rows])[:count]
        self.x[slots], self.v[slots], self.alive[slots] = x, v, True
        return slots

    def tick(self, turn: float, thrust: bool, fire: bool) -> None:
        m, x, v, dt = self.module, self.x, self.v, self.module.DT
        self.hits()
        self.heading += turn * m.TURN * dt
        self.loaded -= dt
        nose = np.array([math.cos(self.heading), math.sin(self.heading)])
        v[0] = (v[0] + thrust * m.THRUST * dt * nose) * (1 - 0.5 * dt)
        if fire and self.loaded <= 0:
            self.loaded = m.RELOAD
            self.fuse[self.spawn(m.BULLET, x[0] + 12 * nose, v[0] + m.MUZZLE * nose)] = m.BULLET_LIFE
        self.fuse[m.ROWS[m.BULLET]] -= dt
        self.alive &= self.fuse > 0
        self.fuse[~self.alive] = math.inf
        if not self.alive[m.ROCKS].any():
            self.wave += 1
            count, random = min(3 + self.wave, 16), np.random.default_rng(self.wave)
            way, speed = random.uniform(0, 2 * np.pi, count), random.uniform(30, 90, count)
            place = np.stack([np.zeros(count), random.uniform(0, m.SIZE[1], count)], axis=1)
            self.spawn(m.LARGE, place, (speed * [np.cos(way), np.sin(way)]).T)
        self.before[:] = x
        x += dt * v
        np.mod(x, m.SIZE, out=x)

    def hits(self) -> None:
        m, x, v = self.module, self.x, self.v
        rocks = np.flatnonzero(self.alive[m.ROCKS]) + m.ROCKS.start
        bullets = np.flatnonzero(self.alive[m.ROWS[m.BULLET]]) + 1
        way = x[bullets, None] - x[rocks]
        way -= m.SIZE * np.round(way / m.SIZE)
        near = (way * way).sum(axis=2) < (self.radius[rocks] + m.RADIUS[m.BULLET]) ** 2
        if near.any():
            for shot, rock in np.argwhere(near):
                row, kind = rocks[rock], m.KIND[rocks[rock]]
                if not (self.alive[row] and self.alive[bullets[shot]]):
                    continue
                self.score += 10
                self.alive[[row, bullets[shot]]] = False
                if kind < m.SMALL:
                    across = np.outer((-1, 1), (-v[row, 1], v[row, 0]))
                    place = x[row] + m.RADIUS[kind + 1] * across / np.hypot(*v[row])
                    self.spawn(kind + 1, place, v[row] + across)
        way = x[rocks] - x[0]
        way -= m.SIZE * np.round(way / m.SIZE)
        touched = bool(((way * way).sum(axis=1) < (self.radius[rocks] + m.RADIUS[m.SHIP]) ** 2).any())
        if touched and not self.touched:
            x[0], v[0] = m.SIZE / 2, 0
            self.score -= 100
        self.touched = touched

    def frame(self, seconds: float, turn: float = 0, thrust: bool = False, fire: bool = False) -> None:
        self.left += seconds
        while self.left >= self.module.DT:
            self.left -= self.module.DT
            self.tick(turn, thrust, fire)

    def picture(self) -> np.ndarray:
        way = self.x - self.before
        way -= self.module.SIZE * np.round(way / self.module.SIZE)
        return (self.before + self.left / self.module.DT * way)[self.alive]


def asteroids(rounds: int) -> list[Row]:
    """Both play by themselves, a minute and more; what they draw is computed too."""
    module = example("asteroids")
    ours, theirs, frames = module.Game(), PlainAsteroids(module), [0, 0]

    def play(game: object, which: int) -> None:
        frame = frames[which] = frames[which] + 1
        game.frame(1 / 60, math.sin(frame / 50), frame % 90 < 20, True)  # type: ignore[attr-defined]

    def our_frame() -> None:
        play(ours, 0)
        ours.world.interpolate(living=True)

    def their_frame() -> None:
        play(theirs, 1)
        theirs.picture()

    runs = {"ours": our_frame, "NumPy": their_frame}
    return compare("asteroids, a frame of two ticks", runs, {"NumPy": 2}, 10 * rounds, [], process_time)


# A bullet hell: rows of each kind, radius in px, and how many live.
FIELD = np.array([800.0, 600.0])
KINDS = {"player": (1, 3.0), "enemy": (99, 12.0), "shot": (200, 3.0), "bullet": (5000, 4.0)}
KIND = np.repeat(np.arange(4), [count for count, _ in KINDS.values()])
RADII = np.repeat([radius for _, radius in KINDS.values()], [count for count, _ in KINDS.values()])
PLAYER, ENEMY, SHOT, BULLET = (slice(*np.flatnonzero(kind == KIND)[[0, -1]] + (0, 1)) for kind in range(4))


def places(rng: np.random.Generator, count: int, enemies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where bullets begin, and how fast: from enemies, in all directions."""
    angle, speed = rng.uniform(0, 2 * np.pi, count), rng.uniform(40, 120, count)
    return enemies[rng.integers(0, len(enemies), count)], (speed * [np.cos(angle), np.sin(angle)]).T


class BulletHell:
    """5,300 bodies written as docs/events.md says: one constraint with categories, events, spawn and kill."""

    def __init__(self, swept: bool = False) -> None:
        category = np.array([1, 2, 4, 8])[KIND]  # the player meets bullets and enemies, shots meet enemies
        mask = np.array([2 | 8, 1 | 4, 2, 1])[KIND]
        self.meets = kd.ElasticCollisions(RADII, category=category, mask=mask, sensor=True, swept=swept)
        events = kd.Events(end=False, hits_above=1e9)
        self.rng, self.score = np.random.default_rng(1), 0
        self.world = kd.Stepper(np.zeros((len(KIND), 2)), hz=60, alive=0, constraints=[self.meets], events=events)
        self.world.spawn(FIELD * (0.5, 0.9), rows=PLAYER)
        self.world.spawn(self.rng.uniform((20, 20), (780, 300), (99, 2)), rows=ENEMY)
        self.world.spawn(self.rng.uniform(0, FIELD, (200, 2)), (0.0, -300.0), rows=SHOT)
        self.world.spawn(self.rng.uniform(0, FIELD, (5000, 2)), self.rng.normal(0, 60, (5000, 2)), rows=BULLET)

    def frame(self) -> np.ndarray:
        world = self.world
        for _ in world.ticks(1 / 60):
            x = world.position
            begun = world.events.take()
            self.score += len(begun)
            gone = ((x < 0) | (x > FIELD)).any(axis=1)
            gone[begun["slot_b"]] = True  # the higher row: a bullet, or a shot
            gone[: SHOT.start] = False
            world.kill(gone)
            shots = 200 - np.count_nonzero(world.alive[SHOT])
            world.spawn(x[0] + self.rng.normal(0, 20, (shots, 2)), (0.0, -300.0), rows=SHOT)
            count = 5000 - np.count_nonzero(world.alive[BULLET])
            world.spawn(*places(self.rng, count, x[ENEMY]), rows=BULLET)
        return np.asarray(world.interpolate(living=True))


class PlainBulletHell:
    """The same in plain NumPy: an array per kind and quantity, distances of those kinds that meet."""

    def __init__(self) -> None:
        self.rng, self.score, self.left = np.random.default_rng(1), 0, 0.0
        self.player, self.enemies = FIELD * (0.5, 0.9), self.rng.uniform((20, 20), (780, 300), (99, 2))
        self.shots = self.rng.uniform(0, FIELD, (200, 2))
        self.x, self.v = self.rng.uniform(0, FIELD, (5000, 2)), self.rng.normal(0, 60, (5000, 2))
        self.before = self.x.copy()

    def frame(self) -> np.ndarray:
        d = self.x - self.player
        hit = (d * d).sum(axis=1) < (3.0 + 4.0) ** 2
        d = self.shots[:, None] - self.enemies
        shot = ((d * d).sum(axis=2) < (3.0 + 12.0) ** 2).any(axis=1)
        self.score += int(hit.sum() + shot.sum())
        gone = np.flatnonzero(hit | ((self.x < 0) | (self.x > FIELD)).any(axis=1))
        self.x[gone], self.v[gone] = places(self.rng, len(gone), self.enemies)
        spent = np.flatnonzero(shot | (self.shots < 0).any(axis=1) | (self.shots > FIELD).any(axis=1))
        self.shots[spent] = self.player + self.rng.normal(0, 20, (len(spent), 2))
        self.before[:] = self.x
        self.x += self.v / 60
        self.shots += (0.0, -5.0)
        bullets = self.before + 1.0 * (self.x - self.before)
        return np.concatenate([self.player[None], self.enemies, self.shots, bullets])


def bullets(rounds: int) -> list[Row]:
    rows = []
    for swept in (False, True):
        runs = {"ours": BulletHell(swept).frame, "NumPy": PlainBulletHell().frame}
        title = "bullet hell of 5,300, a frame" + (", swept" if swept else "")
        rows += compare(title, runs, {"NumPy": 2.5}, 5 * rounds, [], process_time)
    return rows


def casts(rounds: int) -> list[Row]:
    """Rays and circles through 1,000 boxes and 500 circles, all in one call; pymunk needs one call for each."""
    import pymunk

    rng, space = np.random.default_rng(1), pymunk.Space()
    low, x = rng.uniform(0, 1000, (1000, 2)), rng.uniform(0, 1000, (500, 2))
    high = low + rng.uniform(0, 20, (1000, 2))
    boxes, bodies = kd.Boxes(low, high), kd.ElasticCollisions(5.0)
    world = kd.Stepper(x, constraints=[bodies, boxes])
    for a, b in zip(low, high, strict=True):
        corners = [(a[0], a[1]), (b[0], a[1]), (b[0], b[1]), (a[0], b[1])]
        space.add(pymunk.Poly(space.static_body, corners))
    for place in x:
        body = pymunk.Body(1, 1)
        body.position = tuple(place)
        space.add(body, pymunk.Circle(body, 5.0))
    origin, motion = rng.uniform(0, 1000, (1000, 2)), rng.normal(0, 200, (1000, 2))
    pairs = list(zip(map(tuple, origin.tolist()), map(tuple, (origin + motion).tolist()), strict=True))
    everything, rows = pymunk.ShapeFilter(), []
    theirs = [space.segment_query_first(a, b, 0.0, everything) for a, b in pairs]
    outside = np.array([not len(space.point_query(a, 0.0, everything)) for a, _ in pairs])
    share = np.array([1.0 if hit is None else hit.alpha for hit in theirs])
    wrong = np.count_nonzero(abs(world.cast(origin, motion)["share"] - share)[outside] > 1e-6)
    if wrong > 2:  # theirs pass through some corners
        raise SystemExit(f"pymunk finds something else for {wrong} rays")
    for radius in (0.0, 3.0):
        runs = {
            "ours": lambda radius=radius: world.cast(origin, motion, radius),
            "pymunk segment_query_first": lambda radius=radius: [
                space.segment_query_first(a, b, radius, everything) for a, b in pairs
            ],
        }
        title = "1,000 rays" if radius == 0 else "1,000 circles"
        rows += compare(f"{title} through 1,500 obstacles", runs, {"pymunk segment_query_first": None}, rounds, [])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.games", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    options = parser.parse_args()
    for key, value in table.machine({"numpy": np.__version__, "kickdrift": kd.__version__}).items():
        print(f"- {key}: {value}")
    print(f"\n{table.header()}")
    rounds = 5 if options.quick else 21
    for row in (*casts(rounds), *asteroids(rounds), *bullets(rounds)):
        print(table.line(row.cells()), flush=True)


if __name__ == "__main__":
    main()
