"""Piles compared with pymunk: overlap, residual velocity, and time per step.

    python -m bench.piles [--seconds S] [--scene NAME] [count ...]      default: 200 balls; needs pymunk

Balls of radius 10 fall into a box, a V of 45 degrees and a narrow V with a floor: g = 900, 60 steps per second, for
10 s by default. Then steps of all are timed in turns, and the best turn counts: pymunk has 10 iterations, the same
initial positions, and an equal time to settle.
"""

import argparse
import math
import time

import numpy as np

import kickdrift as kd

RADIUS, G, HZ, SECONDS = 10.0, 900.0, 60, 10
SCENES = ("box", "V", "narrow V")


def planes(scene, width):
    """Return normals and offsets of the walls, and the point above which balls start."""
    if scene == "box":
        return [((0, 1), 0.0), ((1, 0), -width / 2), ((-1, 0), -width / 2)]
    angle = math.radians(45 if scene == "V" else 75)
    sides = [((math.sin(angle), math.cos(angle)), 0.0), ((-math.sin(angle), math.cos(angle)), 0.0)]
    return sides if scene == "V" else [*sides, ((0, 1), 60.0)]


def start(scene, count):
    """Return start positions in rows, slightly perturbed."""
    rng = np.random.default_rng(1)
    width = 24 * math.sqrt(count) * (1 if scene == "box" else 0.8)
    places, y = [], 80.0
    while len(places) < count:
        half = width / 2 if scene == "box" else y * math.tan(math.radians(45 if scene == "V" else 15))
        places += [(x, y) for x in np.arange(-half + 16, half - 15, 22)]
        y += 22
    return np.array(places[:count]) + rng.uniform(-0.5, 0.5, (count, 2)), width


def ours(scene, count, **how):
    position, width = start(scene, count)
    walls = [kd.Plane(normal, offset) for normal, offset in planes(scene, width)]
    return kd.Stepper(
        position, hz=HZ, forces=[kd.Gravity((0, -G))], constraints=[kd.Contacts(RADIUS, walls=walls, **how)]
    )


def theirs(scene, count, iterations=10):
    import pymunk

    position, width = start(scene, count)
    space = pymunk.Space()
    space.gravity, space.iterations = (0, -G), iterations
    for (a, b), offset in planes(scene, width):
        far = 40 * width + 4000
        foot = np.array([a, b]) * (offset - 20)
        along = np.array([-b, a]) * far
        wall = pymunk.Segment(space.static_body, tuple(foot - along), tuple(foot + along), 20)
        wall.friction = 0.4
        space.add(wall)
    bodies = []
    for place in position:
        body = pymunk.Body(1, pymunk.moment_for_circle(1, 0, RADIUS))
        body.position = tuple(place)
        shape = pymunk.Circle(body, RADIUS)
        shape.friction = 0.4
        space.add(body, shape)
        bodies.append(body)
    return space, bodies


def overlap(position, scene, count):
    """Return the largest overlap of two balls, or of a ball and a wall."""
    pairs = kd_pairs(position)
    deep = 2 * RADIUS - np.sqrt(((position[pairs[:, 0]] - position[pairs[:, 1]]) ** 2).sum(axis=1))
    _, width = start(scene, count)
    walls = [offset + RADIUS - position @ np.array(normal) for normal, offset in planes(scene, width)]
    return max(0.0, deep.max(initial=0), max(wall.max() for wall in walls))


def kd_pairs(position):
    """Return candidate pairs from a grid."""
    cells = {}
    for i, place in enumerate(np.floor(position / 25).astype(int).tolist()):
        cells.setdefault(tuple(place), []).append(i)
    pairs = [
        (i, j)
        for (a, b), own in cells.items()
        for da in (-1, 0, 1)
        for db in (-1, 0, 1)
        for i in own
        for j in cells.get((a + da, b + db), ())
        if i < j
    ]
    return np.array(pairs, int).reshape(-1, 2)


def timed(steps, times):
    """Return seconds per step of each, measured in turns."""
    best = [math.inf] * len(steps)
    for _ in range(3):
        for number, step in enumerate(steps):
            begin = time.perf_counter()
            for _ in range(times):
                step()
            best[number] = min(best[number], (time.perf_counter() - begin) / times)
    return best


def run(scene, count, substeps=(4, 8), peer=True, seconds=SECONDS):
    """Return rows of (library, overlap, speed, ms per step)."""
    rows, steps = [], []
    for number in substeps:
        world = ours(scene, count, substeps=number)
        world.step(HZ * seconds)
        rows.append((f"substeps={number}", overlap(world.position, scene, count), np.abs(world.velocity).max()))
        steps.append(world.step)
    if peer:
        space, bodies = theirs(scene, count)
        for _ in range(HZ * seconds):
            space.step(1 / HZ)
        position = np.array([body.position for body in bodies])
        speed = max(max(abs(body.velocity.x), abs(body.velocity.y)) for body in bodies)
        rows.append(("pymunk", overlap(position, scene, count), speed))
        steps.append(lambda: space.step(1 / HZ))
    costs = timed(steps, max(20, 6000 // count))
    return [(*row, 1e3 * cost) for row, cost in zip(rows, costs, strict=True)]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=int, nargs="*", default=[200], metavar="count")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="how long balls settle")
    parser.add_argument("--scene", choices=SCENES, action="append", help="this one alone")
    asked = parser.parse_args(arguments)
    print(f"{'balls':>6} {'scene':>9} {'':>12} {'overlap':>9} {'speed':>9} {'ms a step':>10} {'times':>6}")
    for count in asked.counts or [200]:
        for scene in asked.scene or SCENES:
            rows = run(scene, count, seconds=asked.seconds)
            for who, deep, speed, cost in rows:
                print(
                    f"{count:6} {scene:>9} {who:>12} {deep:9.4f} {speed:9.4f} {cost:10.4f} {rows[-1][3] / cost:6.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
