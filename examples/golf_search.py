"""Minigolf by tree search: strokes around the walls into the hole, found by trying them in copies of the world.

Monte Carlo tree search (Kocsis and Szepesvari 2006, upper confidence bounds). Each node of the tree is one world of a
`kd.Worlds`, and so is each try: a node's world is copied, the copies get other strokes, and all roll in one call.
`--frames 200` looks at 200 nodes.
"""

import argparse
from itertools import pairwise

import numpy as np

import kickdrift as kd

COURSE = [
    *([(0, 0), (6, 0)], [(6, 0), (6, 4)], [(6, 4), (0, 4)], [(0, 4), (0, 0)]),  # around
    *([(2, 0), (2, 2.8)], [(4, 4), (4, 1.2)]),  # two walls in the way
]
TEE, HOLE, SIZE = (0.7, 0.7), np.array([5.3, 3.3]), 0.25  # m
GATES = np.array([(2.0, 3.4), (4.0, 0.6)])  # m, between the walls and the border
ROLL = 120  # ticks until a ball lies still
ANGLES = np.arange(16) * 2 * np.pi / 16
STROKES = np.concatenate([speed * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1) for speed in (3.0, 6.0)])  # m/s
TRIES, DEPTH = 8, 3  # of each new node: so many random games, of so many strokes


def green():
    """A ball on a course: it rolls, bounces off the walls, and comes to rest."""
    walls = kd.Segments(COURSE, restitution=0.8, radius=0.1)
    return kd.Stepper([TEE], dt=1 / 60, forces=[kd.LinearDrag(1.6)], constraints=[walls])


def left_to_go(position):
    """How far a ball is from the hole, through the gates: m."""
    stations = [*GATES, HOLE]
    passed = (position[:, 0, None] > GATES[:, 0]).sum(axis=1)
    way = np.array([0.0, *np.cumsum([np.linalg.norm(b - a) for a, b in pairwise(stations)])])
    return np.linalg.norm(position - np.array(stations)[passed], axis=1) + way[-1] - way[passed]


class Search:
    """The tree: world k is that of node k; the last ones are for what is tried."""

    def __init__(self, nodes=400, seed=0):
        children = len(STROKES)
        self.room, self.tries = nodes * children + 1, children * TRIES
        self.worlds = kd.Worlds(green(), self.room + self.tries)
        self.rng = np.random.default_rng(seed)
        self.parent, self.stroke = np.full(self.room, -1), np.full(self.room, -1)
        self.first = np.full(self.room, -1)  # of each node that was opened: its first child
        self.visits, self.value, self.depth = np.zeros(self.room), np.zeros(self.room), np.zeros(self.room, int)
        self.paths, self.count, self.solved = {0: np.array([TEE])}, 1, None

    def roll(self, worlds, strokes):
        """Strike the balls of some worlds, and roll all of them until they lie still; which went into the hole."""
        active = np.zeros(len(self.worlds), bool)
        active[worlds] = True
        self.worlds.velocity[worlds, 0] = STROKES[strokes]
        sunk, path = np.zeros(len(worlds), bool), []
        for _ in range(ROLL // 2):
            self.worlds.step(2, active=active)
            there = self.worlds.position[worlds, 0]
            sunk |= np.linalg.norm(there - HOLE, axis=1) < SIZE
            path.append(there.copy())
        return sunk, np.array(path)

    def choose(self):
        """Walk from the root to a node that is not open yet, by upper confidence bounds."""
        node = 0
        while self.first[node] >= 0:
            children = self.first[node] + np.arange(len(STROKES))
            bound = self.value[children] / self.visits[children]
            bound += 0.5 * np.sqrt(np.log(self.visits[node]) / self.visits[children])
            node = int(children[bound.argmax()])
        return node

    def open(self, node):
        """Try each stroke from a node, and value what comes of it by random games."""
        children = self.count + np.arange(len(STROKES))
        self.first[node], self.count = self.count, self.count + len(STROKES)
        self.parent[children], self.stroke[children] = node, np.arange(len(STROKES))
        self.depth[children] = self.depth[node] + 1
        self.worlds.copy(node, children)
        sunk, path = self.roll(children, np.arange(len(STROKES)))
        for k, child in enumerate(children):
            self.paths[int(child)] = path[:, k]
        tried = self.room + np.arange(self.tries)
        self.worlds.copy(np.repeat(children, TRIES), tried)
        value = np.repeat(np.where(sunk, 1.0, 0.0), TRIES)
        for further in range(1, DEPTH + 1):
            luck, _ = self.roll(tried, self.rng.integers(len(STROKES), size=self.tries))
            value = np.maximum(value, np.where(luck, 0.8**further, 0))
        far = left_to_go(self.worlds.position[children, 0])
        for child, worth in zip(children, value.reshape(-1, TRIES).mean(axis=1) - 0.1 * far, strict=True):
            self.back_up(int(child), worth)
        if sunk.any():
            self.solved = int(children[sunk.argmax()])

    def back_up(self, node, worth):
        while node >= 0:
            self.visits[node] += 1
            self.value[node] += worth
            node = int(self.parent[node])

    def run(self, nodes=400):
        """Open nodes until a ball is in the hole; returns the strokes."""
        for _ in range(nodes):
            self.open(self.choose())
            if self.solved is not None:
                break
        node, strokes = self.best(), []
        while node > 0:
            strokes.append(node)
            node = int(self.parent[node])
        return strokes[::-1]

    def best(self):
        if self.solved is not None:
            return self.solved
        return int(left_to_go(self.worlds.position[: self.count, 0]).argmin())


def draw(search, strokes, picture=None):
    import matplotlib

    if picture:
        matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for path in search.paths.values():
        axes.plot(*path.T, color="#2a6fdb", alpha=0.12, linewidth=0.8)
    for k, node in enumerate(strokes):
        path = np.concatenate([search.paths[int(search.parent[node])][-1:], search.paths[node]])
        inside = np.linalg.norm(path - HOLE, axis=1) < SIZE
        path = path[: inside.argmax() + 1] if inside.any() else path
        axes.plot(*path.T, color="#d1495b", linewidth=2.5)
        axes.annotate(str(k + 1), path[0], fontsize=12, weight="bold")
    for one, other in COURSE:
        axes.plot([one[0], other[0]], [one[1], other[1]], color="#333333", linewidth=3)
    axes.add_patch(plt.Circle(HOLE, SIZE, color="#333333"))
    axes.set(xlim=(-0.1, 6.1), ylim=(-0.1, 4.1), aspect="equal", xticks=[], yticks=[])
    if picture:
        figure.savefig(picture, dpi=80)
    else:
        plt.show()


def main(frames=400, picture=None):
    search = Search(frames)
    strokes = search.run(frames)
    print(f"{search.count} nodes; {'in the hole' if search.solved else 'near the hole'} with {len(strokes)} strokes")
    draw(search, strokes, picture)
    return search


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=400, help="nodes to open at most")
    main(parser.parse_args().frames)
