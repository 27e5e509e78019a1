"""Breakout: sixty bricks that vanish when the events say that they were hit, and a paddle of infinite mass.

Keys: the mouse moves the paddle; Escape ends. `--frames 300` plays by itself.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, RADIUS = 480, 640, 6.0
BALL, PADDLE = 0, 1  # rows
COLUMNS, ROWS = 10, 6
CORNERS = np.array([(8.0 + 47 * x, 60.0 + 22 * y) for y in range(ROWS) for x in range(COLUMNS)])
BRICK = np.array([41.0, 16.0])
SIZE = 40.0  # of the paddle, which is as round as a large ball
SPEED = 380.0
COLOURS = ("#ef476f", "#f78c6b", "#ffd166", "#06d6a0", "#4cc9f0", "#9d8df1")


class Game:
    def __init__(self):
        self.there = np.ones(len(CORNERS), bool)
        self.bricks = kd.Boxes(CORNERS, CORNERS + BRICK, radius=[RADIUS, SIZE])
        self.world = kd.Stepper(
            [(240.0, 400.0), (240.0, HEIGHT - 10.0 + 0.7 * SIZE)],
            [(0.55 * SPEED, -0.835 * SPEED), (0.0, 0.0)],
            [1.0, np.inf],
            clock=kd.FixedClock(120, policy="match"),
            constraints=[
                kd.ElasticCollisions([RADIUS, SIZE], swept=True),
                self.bricks,
                kd.Box((0, 0), (WIDTH, 2 * HEIGHT), radius=[RADIUS, SIZE]),
                kd.Sensor((0.0, HEIGHT), (float(WIDTH), 2.0 * HEIGHT), category=[1, 2], mask=1),
            ],
            events=kd.Events(hits_above=1),
        )
        self.score, self.lives = 0, 3

    def control(self, goal):
        """The paddle goes where it is wanted, as fast as it can."""
        away = goal - self.world.position[PADDLE, 0]
        self.world.velocity[PADDLE, 0] = np.clip(away * 120, -900, 900)

    def listen(self):
        """What happened in the last step."""
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

    def frame(self, seconds, goal=None):
        """Without a goal the paddle plays alone: it is now a little left of the ball, now a little right."""
        for tick in self.world.ticks(seconds):
            self.listen()
            self.control(self.world.position[BALL, 0] + 25 * np.sin(tick / 41) if goal is None else goal)
        self.listen()

    @property
    def over(self):
        return self.lives <= 0 or not self.there.any()


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: breakout")
    font, game, shown = pygame.font.Font(None, 26), Game(), 0
    while not game.over and shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return game, screen
        game.frame(*((1 / 60,) if frames else (seconds, pygame.mouse.get_pos()[0])))

        screen.fill("#10172a")
        for number in np.flatnonzero(game.there).tolist():
            pygame.draw.rect(screen, COLOURS[number // COLUMNS], (*CORNERS[number], *BRICK), border_radius=3)
        ball, paddle = game.world.interpolate().tolist()
        pygame.draw.aacircle(screen, "#8d99ae", paddle, SIZE)
        pygame.draw.aacircle(screen, "#ffffff", ball, RADIUS)
        text = f"{game.score} points   {game.lives} lives   move [mouse]"
        screen.blit(font.render(text, True, "#e5e5e5"), (12, 14))
        pygame.display.flip()
        shown += 1
    return game, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
