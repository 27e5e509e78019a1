"""Breakout: sixty bricks that vanish when the events say that they were hit, and a paddle of infinite mass.

python examples/breakout.py           in a window (pip install pygame-ce); the mouse moves, Escape ends
python examples/breakout.py --headless 60    seconds without one
"""

import sys

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, RADIUS = 480, 640, 6.0
BALL, PADDLE = 0, 1  # rows
COLUMNS, ROWS = 10, 6
CORNERS = np.array([(8.0 + 47 * x, 60.0 + 22 * y) for y in range(ROWS) for x in range(COLUMNS)])
BRICK = np.array([41.0, 16.0])
SIZE = 40.0  # of the paddle, which is as round as a large ball
SPEED = 380.0


class Game:
    def __init__(self):
        self.there = np.ones(len(CORNERS), bool)
        self.bricks = kd.Boxes(CORNERS, CORNERS + BRICK, radius=[RADIUS, SIZE])
        self.world = kd.Stepper(
            [(240.0, 400.0), (240.0, HEIGHT - 10.0 + 0.7 * SIZE)],
            [(0.55 * SPEED, -0.835 * SPEED), (0.0, 0.0)],
            [1.0, np.inf],
            hz=120,
            constraints=[
                kd.ElasticCollisions([RADIUS, SIZE], swept=True),
                self.bricks,
                kd.Box((0, 0), (WIDTH, 2 * HEIGHT), radius=[RADIUS, SIZE]),
                kd.Sensor((0.0, HEIGHT), (float(WIDTH), 2.0 * HEIGHT), category=[1, 2], mask=1),
            ],
            events=kd.Events(hits_above=1),
        )
        self.score, self.lives = 0, 3

    def tick(self, goal):
        """One step; the paddle goes where it is wanted, as fast as it can."""
        away = goal - self.world.position[PADDLE, 0]
        self.world.velocity[PADDLE, 0] = np.clip(away * 120, -900, 900)
        self.world.step()
        for event in self.world.events.take():
            if event["kind"] == kd.HIT and event["source"] == 1:
                brick = -1 - event["slot_b"]
                self.score += 10 * (ROWS - brick // COLUMNS)
                self.there[brick] = False
                self.world.set(self.bricks, enabled=self.there)
            elif event["kind"] == kd.HIT and event["source"] == 0:
                # As fast as at first: a moving paddle gives and takes.
                velocity = self.world.velocity[BALL]
                velocity *= SPEED / np.sqrt(velocity @ velocity)
            elif event["kind"] == kd.ENTER:
                self.lives -= 1
                self.world.teleport(BALL, (240.0, 400.0))
                self.world.velocity[BALL] = (0.55 * SPEED, -0.835 * SPEED)

    @property
    def over(self):
        return self.lives == 0 or not self.there.any()

    def play(self, ticks):
        """Without a player: the paddle is under the ball, now a little left, now a little right of it."""
        for tick in range(ticks):
            if self.over:
                return
            self.tick(self.world.position[BALL, 0] + 25 * np.sin(tick / 41))


def window():
    import pygame

    screen = pygame.display.set_mode((WIDTH, HEIGHT))
    game, frames = Game(), pygame.time.Clock()
    while not game.over:
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return game
        for _ in range(2):
            game.tick(pygame.mouse.get_pos()[0])
        screen.fill("black")
        for number in np.flatnonzero(game.there):
            color = ("red", "orange", "yellow", "green", "cyan", "violet")[number // COLUMNS]
            pygame.draw.rect(screen, color, (*CORNERS[number], *BRICK))
        for place, size in zip(game.world.position, (RADIUS, SIZE), strict=True):
            pygame.draw.circle(screen, "white", place, size)
        pygame.display.set_caption(f"{game.score} points, {game.lives} lives")
        pygame.display.flip()
        frames.tick(60)
    return game


if __name__ == "__main__":
    if "--headless" in sys.argv:
        game = Game()
        game.play(int(120 * float(sys.argv[sys.argv.index("--headless") + 1])))
    else:
        game = window()
    print(f"{game.score} points, {game.there.sum()} bricks, {game.lives} lives left")
