"""Objects with pygame-ce's vectors, changed in place."""

import os

import numpy as np

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
from pygame.math import Vector3

from ..scene import DRAG, GRAVITY, Contestant, H, Scene

G = Vector3(GRAVITY)


class Ball:
    """One body; pygame's vectors are of doubles."""

    def __init__(self, position: np.ndarray, velocity: np.ndarray) -> None:
        self.position, self.velocity = Vector3(*position.tolist()), Vector3(*velocity.tolist())

    def step(self) -> None:
        self.velocity += H * (G - DRAG * self.velocity)
        self.position += H * self.velocity


def contestant(scene: Scene) -> Contestant:
    assert (scene.integrator, scene.force, scene.steps) == ("semi_implicit_euler", "drag", 1)
    balls = [Ball(*state) for state in zip(*scene.arrays(), strict=True)]

    def run() -> None:
        for ball in balls:
            ball.step()

    return Contestant(
        balls[0].step if len(balls) == 1 else run,
        lambda: np.array([tuple(ball.position) for ball in balls]),
        lambda: np.array([tuple(ball.velocity) for ball in balls]),
    )
