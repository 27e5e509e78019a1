"""Pinball: a ball, bumpers, two flippers and a roof; the score is what the events say.

python examples/pinball.py            in a window (pip install pygame-ce); arrows flip, Escape ends
python examples/pinball.py --headless 20     seconds without one
"""

import sys

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, RADIUS = 400, 640, 8.0
BALL, LEFT, RIGHT = 0, 1, 2  # rows; the bumpers follow
BUMPERS = np.array([(120.0, 200.0), (280.0, 200.0), (200.0, 290.0), (110.0, 380.0), (290.0, 380.0)])
BUMPER, FLIPPER = 22.0, 26.0
REST = np.array([(140.0, 560.0), (260.0, 560.0)])  # of the flippers
WALLS = [
    [(0, 470), (115, 545)],
    [(400, 470), (285, 545)],
    [(0, 60), (60, 0)],
    [(400, 60), (340, 0)],
]


def table():
    """The world, y downwards: everything that scores is a constraint or a body, so that events name it."""
    position = np.concatenate([[(333.0, 80.0)], REST, BUMPERS])
    velocity = np.zeros_like(position)
    velocity[BALL] = (-150.0, 60.0)
    mass = np.full(len(position), np.inf)
    mass[BALL] = 1.0
    radius = np.concatenate([[RADIUS], [FLIPPER, FLIPPER], np.full(len(BUMPERS), BUMPER)])
    world = kd.Stepper(
        position,
        velocity,
        mass,
        hz=240,
        forces=[kd.Gravity((0, 700)), kd.LinearDrag(0.05)],
        constraints=[
            kd.ElasticCollisions(radius, restitution=0.95, swept=True),
            kd.Segments(WALLS, restitution=0.6, radius=radius, thickness=6),
            kd.Box((0, 0), (WIDTH, 2 * HEIGHT), restitution=0.7, radius=radius),
            kd.Sensor((0.0, HEIGHT), (float(WIDTH), 2.0 * HEIGHT), category=np.where(mass < np.inf, 1, 2), mask=1),
        ],
        events=kd.Events(hits_above=20),
    )
    return world


class Game:
    def __init__(self):
        self.world, self.score, self.balls, self.sounds = table(), 0, 3, 0
        self.down = [False, False]

    def flip(self, side, down):
        self.down[side] = down

    def tick(self):
        """Flippers are bodies of infinite mass, so that what they hit is hit; then a step, and what it told."""
        y = self.world.position[[LEFT, RIGHT], 1]
        goal = REST[:, 1] - 45 * np.array(self.down)
        self.world.velocity[[LEFT, RIGHT], 1] = np.clip((goal - y) * self.world.clock.hz, -900, 900)
        self.world.step()
        for event in self.world.events.take():
            if event["kind"] == kd.ENTER:
                self.drained()
            elif event["kind"] == kd.HIT:
                self.sounds += 1
                self.score += 100 if event["slot_b"] > RIGHT else 1 if event["source"] == 1 else 0

    def drained(self):
        self.balls -= 1
        if self.balls > 0:
            self.world.teleport(BALL, (333.0, 80.0))
            self.world.velocity[BALL] = (-150.0 - 25 * self.balls, 60.0)

    def play(self, ticks):
        """Without a player: each flipper goes up when the ball is near."""
        for _ in range(ticks):
            x, y = self.world.position[BALL]
            near = y > 490
            self.flip(0, bool(near and x < 200))
            self.flip(1, bool(near and x >= 200))
            self.tick()
            if self.balls == 0:
                return


def window():
    import pygame

    screen = pygame.display.set_mode((WIDTH, HEIGHT))
    game, frames = Game(), pygame.time.Clock()
    while game.balls > 0:
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return game
            if event.type in (pygame.KEYDOWN, pygame.KEYUP) and event.key in (pygame.K_LEFT, pygame.K_RIGHT):
                game.flip(event.key == pygame.K_RIGHT, event.type == pygame.KEYDOWN)
        for _ in range(4):
            game.tick()
        screen.fill("black")
        for a, b in WALLS:
            pygame.draw.line(screen, "gray", a, b, 6)
        for place, size in zip(game.world.position, [RADIUS, FLIPPER, FLIPPER, *[BUMPER] * len(BUMPERS)], strict=True):
            pygame.draw.circle(screen, "white" if size == RADIUS else "orange", place, size)
        pygame.display.set_caption(f"{game.score} points, {game.balls} balls")
        pygame.display.flip()
        frames.tick(60)
    return game


if __name__ == "__main__":
    if "--headless" in sys.argv:
        game = Game()
        game.play(int(240 * float(sys.argv[sys.argv.index("--headless") + 1])))
    else:
        game = window()
    print(f"{game.score} points, {game.sounds} sounds, {game.balls} balls left")
