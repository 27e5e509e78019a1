"""pymunk (Chipmunk): circles between four segments, without friction or losses."""

import numpy as np
import pymunk


class Space:
    def __init__(
        self, position: np.ndarray, velocity: np.ndarray, radius: float, side: float, dt: float, hashed: bool = False
    ) -> None:
        space = pymunk.Space()
        if hashed:
            space.use_spatial_hash(2 * radius, len(position))
        thick = 10 * radius  # thick enough to prevent tunnelling
        low, high = -thick, side + thick
        for a, b in (
            ((low, low), (high, low)),
            ((low, high), (high, high)),
            ((low, low), (low, high)),
            ((high, low), (high, high)),
        ):
            wall = pymunk.Segment(space.static_body, a, b, thick)
            wall.elasticity, wall.friction = 1.0, 0.0
            space.add(wall)
        self.bodies = []
        for x, v in zip(position.tolist(), velocity.tolist(), strict=True):
            body = pymunk.Body(1.0, pymunk.moment_for_circle(1.0, 0, radius))
            body.position, body.velocity = x, v
            circle = pymunk.Circle(body, radius)
            circle.elasticity, circle.friction = 1.0, 0.0
            space.add(body, circle)
            self.bodies.append(body)
        self.space, self.dt = space, dt

    def step(self) -> None:
        self.space.step(self.dt)

    @property
    def position(self) -> np.ndarray:
        return np.array([body.position for body in self.bodies])

    @property
    def velocity(self) -> np.ndarray:
        return np.array([body.velocity for body in self.bodies])
