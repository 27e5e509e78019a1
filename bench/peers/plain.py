"""Plain Python objects with attributes, like in a first game."""

import numpy as np

from ..scene import DRAG, GRAVITY, Contestant, H, Scene


class Ball:
    """One body; numbers are Python floats whatever the scene's dtype."""

    def __init__(self, position: np.ndarray, velocity: np.ndarray) -> None:
        self.x, self.y, self.z = position.tolist()
        self.vx, self.vy, self.vz = velocity.tolist()

    def step(self) -> None:
        self.vx += H * (GRAVITY[0] - DRAG * self.vx)
        self.vy += H * (GRAVITY[1] - DRAG * self.vy)
        self.vz += H * (GRAVITY[2] - DRAG * self.vz)
        self.x += H * self.vx
        self.y += H * self.vy
        self.z += H * self.vz


def contestant(scene: Scene) -> Contestant:
    assert (scene.integrator, scene.force, scene.steps) == ("semi_implicit_euler", "drag", 1)
    balls = [Ball(*state) for state in zip(*scene.arrays(), strict=True)]

    def run() -> None:
        for ball in balls:
            ball.step()

    return Contestant(
        balls[0].step if len(balls) == 1 else run,
        lambda: np.array([(ball.x, ball.y, ball.z) for ball in balls]),
        lambda: np.array([(ball.vx, ball.vy, ball.vz) for ball in balls]),
    )
