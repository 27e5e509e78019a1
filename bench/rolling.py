"""Rolling compared with pymunk: what rotation costs, pymunk's bouncing balls, and the angle of repose of a heap.

    python -m bench.rolling [cost | balls | heap] [--count N]      default: all three, 2,000 bodies; needs pymunk

Cost: piles of `bench.piles` settle with rotation; then the same piles are stepped without rotation, with it, with
rolling resistance, and by pymunk, in turns. Balls: the example bouncing_balls.py of pymunk, with equal positions of the
balls. Heap: discs are poured onto a row of fixed discs of 60 m, from whose ends they fall.
"""

import argparse
import math
import statistics
import time

import numpy as np

import kickdrift as kd

from . import piles

HALF = 30.0  # m: the floor of the heap ends here
LINES = [[(111.0, 320.0), (407.0, 354.0)], [(407.0, 354.0), (407.0, 257.0)]]


def pile(scene, count, position=None, rolling=0.0, **how):
    start, width = piles.start(scene, count)
    walls = [kd.Plane(normal, offset) for normal, offset in piles.planes(scene, width)]
    contacts = kd.Contacts(piles.RADIUS, rolling=rolling, walls=walls)
    forces = [kd.Gravity((0, -piles.G))]
    return kd.Stepper(start if position is None else position, hz=60, forces=forces, constraints=[contacts], **how)


def cost(count):
    """Print milliseconds per step of the same pile, and ratios."""
    for scene in ("box", "V"):
        settled = pile(scene, count, angular_velocity=0.0)
        settled.step(2400)
        place = settled.position
        space, bodies = piles.theirs(scene, count)
        for body, at in zip(bodies, place.tolist(), strict=True):
            body.position = tuple(at)
        worlds = {
            "without rotation": pile(scene, count, place.copy()).step,
            "with rotation": pile(scene, count, place.copy(), angular_velocity=0.0).step,
            "with rolling resistance": pile(scene, count, place.copy(), 0.1, angular_velocity=0.0).step,
            "pymunk": lambda space=space: space.step(1 / 60),
        }
        for step in worlds.values():
            for _ in range(30):
                step()
        times = {name: [] for name in worlds}
        for _ in range(15):
            for name, step in worlds.items():
                begin = time.process_time()
                for _ in range(10):
                    step()
                times[name].append((time.process_time() - begin) / 10)
        for name, own in times.items():
            ratio = statistics.median(a / b for a, b in zip(own, times["without rotation"], strict=True))
            print(f"{count} balls, {scene:3} {name:24} {1e3 * min(own):8.3f} ms a step, {ratio:5.2f} of without")


def bouncing_balls(ticks=40_000):
    """Print how balls leave the platform of pymunk's example, and microseconds per frame, of both."""
    import pymunk

    drops = np.random.default_rng(1).integers(115, 351, ticks // 100 + 1)
    # pymunk multiplies coefficients of a pair. Of ours the larger restitution and the mean friction count.
    contacts = kd.Contacts(25.0, restitution=0.95**2, friction=0.9**2, shapes=[kd.Segments(LINES)])
    world = kd.Stepper(
        np.zeros((32, 2)), mass=10.0, alive=0, hz=60, forces=[kd.Gravity((0, 900))], constraints=[contacts],
        angular_velocity=0.0,
    )  # fmt: skip
    space, balls = pymunk.Space(), []
    space.gravity = (0, 900)
    for first, second in LINES:
        line = pymunk.Segment(space.static_body, first, second, 0.0)
        line.elasticity, line.friction = 0.95, 0.9
        space.add(line)
    left, costs = {"kickdrift": [], "pymunk": []}, {"kickdrift": [], "pymunk": []}
    born = {}
    for tick in range(ticks):
        if tick % 100 == 0:
            x = float(drops[tick // 100])
            (body,) = world.spawn([(x, 200.0)])
            born[int(body)] = tick
            ball = pymunk.Body(10, pymunk.moment_for_circle(10, 0, 25))
            ball.position, ball.born = (x, 200.0), tick
            shape = pymunk.Circle(ball, 25)
            shape.elasticity, shape.friction = 0.95, 0.9
            space.add(ball, shape)
            balls.append(ball)
        # A frame of the example without its drawing: a step, and a look for balls that left.
        begin = time.process_time_ns()
        world.step()
        below = (world.position[:, 1] > 500).any()
        middle = time.process_time_ns()
        space.step(1 / 60)
        fallen = [ball for ball in balls if ball.position.y > 500]
        costs["pymunk"].append(time.process_time_ns() - middle)
        costs["kickdrift"].append(middle - begin)
        if below:
            slots = np.flatnonzero(world.alive & (world.position[:, 1] > 500))
            left["kickdrift"] += [(tick - born[int(world.ids[k])], world.position[k, 0]) for k in slots.tolist()]
            world.kill(slots)
        for ball in fallen:
            left["pymunk"].append((tick - ball.born, ball.position.x))
            space.remove(ball, *ball.shapes)
            balls.remove(ball)
    for name, rows in left.items():
        stay, x = np.array(rows).T / [[60], [1]]
        print(
            f"bouncing balls, {name:10} {len(rows)} of {len(drops) - 1} left, after {stay.mean():5.2f} +- "
            f"{stay.std() / len(rows) ** 0.5:.2f} s, {np.mean(x > 250):.2f} on the right, "
            f"{statistics.median(costs[name]) / 1e3:6.1f} us a frame"
        )


def slopes(x, y):
    """Return the slopes of both sides of a heap in degrees: fits of its highest discs."""
    angles = []
    for side in (-1, 1):
        bins, columns, tops = np.floor(side * x).astype(int), [], []
        for column in range(6, int(HALF) - 3):
            inside = y[bins == column]
            if inside.size and inside.max() > 0.1 * y.max():
                columns.append(column + 0.5)
                tops.append(inside.max())
        angles.append(-math.degrees(math.atan(np.polyfit(columns, tops, 1)[0])) if len(columns) > 3 else 0.0)
    return angles


def poured(count):
    """Yield the tick, the place above the middle and the radius of each disc: equal ones would form crystals."""
    rng = np.random.default_rng(0)
    for number in range(count):
        yield 30 * number, float(rng.uniform(-0.6, 0.6)), float(rng.uniform(0.35, 0.65))


def heap(count, rolling, friction=0.5):
    """Pour discs; return positions, and the largest speed after a minute of rest."""
    floor = np.arange(-HALF, HALF + 0.5)
    n = len(floor) + count
    position, mass = np.zeros((n, 2)), np.ones(n)
    position[: len(floor), 0], mass[: len(floor)] = floor, np.inf
    radius = np.full(n, 0.5)
    radius[len(floor) :] = [r for _, _, r in poured(count)]
    mass[len(floor) :] = radius[len(floor) :] ** 2
    contacts = kd.Contacts(radius, friction=friction, rolling=rolling)
    world = kd.Stepper(
        position, mass=mass, alive=len(floor), hz=60, forces=[kd.Gravity((0, -9.81))], constraints=[contacts],
        angular_velocity=0.0,
    )  # fmt: skip
    for tick, x, _ in poured(count):
        world.step(tick - world.tick)
        living = np.flatnonzero(world.alive)
        world.kill(living[world.position[living, 1] < -5])
        near = world.position[np.abs(world.position[:, 0]) < 1.5, 1]
        world.spawn([(x, near.max() + 1)], velocity=(0, -1))
    world.step(60 * 60)
    left = np.flatnonzero(world.alive & (world.position[:, 1] > 0.1))
    return world.position[left], np.abs(world.velocity[left]).max()


def their_heap(count, friction=0.5):
    """Do the same by pymunk, which has no rolling resistance."""
    import pymunk

    space, bodies = pymunk.Space(), []
    space.gravity = (0, -9.81)
    for x in np.arange(-HALF, HALF + 0.5).tolist():
        shape = pymunk.Circle(space.static_body, 0.5, (x, 0))
        shape.friction = math.sqrt(friction)
        space.add(shape)
    done = 0
    for tick, x, radius in [*poured(count), (30 * count + 3600, None, 0)]:
        for _ in range(tick - done):
            space.step(1 / 60)
        done = tick
        for body in [each for each in bodies if each.position.y < -5]:
            space.remove(body, *body.shapes)
            bodies.remove(body)
        if x is None:
            break
        top = max((body.position.y for body in bodies if abs(body.position.x) < 1.5), default=0.0)
        body = pymunk.Body(radius**2, pymunk.moment_for_circle(radius**2, 0, radius))
        body.position, body.velocity = (x, top + 1), (0, -1)
        shape = pymunk.Circle(body, radius)
        shape.friction = math.sqrt(friction)
        space.add(body, shape)
        bodies.append(body)
    place = np.array([body.position for body in bodies if body.position.y > 0.1])
    return place, max(max(abs(body.velocity.x), abs(body.velocity.y)) for body in bodies if body.position.y > 0.1)


def heaps(count):
    """Print the angles of repose."""
    runs = {f"kickdrift, rolling {c:3}": lambda c=c: heap(count, c) for c in (0.0, 0.1, 0.3)}
    for name, run in {**runs, "pymunk": lambda: their_heap(count)}.items():
        place, speed = run()
        left, right = slopes(*place.T)
        print(f"heap of {count}, friction 0.5: {name:22} {left:5.1f} and {right:4.1f} degrees, {len(place)} discs, "
              f"at most {speed:.1e} m/s", flush=True)  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help="cost, balls or heap")
    parser.add_argument("--count", type=int, default=2000, help="bodies of a pile, and of a heap")
    asked = parser.parse_args(arguments)
    parts = {"cost": lambda: cost(asked.count), "balls": bouncing_balls, "heap": lambda: heaps(asked.count)}
    for part in asked.parts or parts:
        parts[part]()


if __name__ == "__main__":
    main()
