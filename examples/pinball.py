"""Pinball: flippers that rotate, a plunger's lane with a one-way gate, lanes that score, and bumpers.

Keys: left and right flip; Escape ends. `--frames 300` plays by itself. Events say what the ball hit: that is the score.
"""

import argparse
import math
from itertools import pairwise

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, RADIUS, BUMPER = 400, 640, 8.0, 20.0  # px; y points down
BALL = 0  # row; the bumpers follow
START = (386.0, 600.0)
BUMPERS = np.array([(110.0, 230.0), (260.0, 230.0), (185.0, 320.0)])
PIVOTS, LENGTH, TURN = np.array([(124.0, 560.0), (246.0, 560.0)]), 48.0, 20.0  # of the flippers; rad/s
DOWN, UP = np.array([0.5, math.pi - 0.5]), np.array([-0.55, math.pi + 0.55])  # rad; > 0 is clockwise on the screen
ARCH = np.array([(200 + 200 * math.cos(t), 130 - 120 * math.sin(t)) for t in np.linspace(0, math.pi, 17)])
LANES = np.array([95.0, 155.0, 215.0, 275.0])  # between these posts
WALLS = np.concatenate([
    np.stack([ARCH[:-1], ARCH[1:]], axis=1),
    [[(370, 150), (370, HEIGHT)], [(40, 430), (40, 505)], [(330, 430), (330, 505)]],
    [[(40, 505), PIVOTS[0]], [(330, 505), PIVOTS[1]]],
    [[(0, 150), (46, 250)], [(46, 250), (0, 350)], [(370, 200), (338, 270)], [(338, 270), (370, 350)]],
    [[(x, 110), (x, 145)] for x in LANES],
])  # fmt: skip


class Game:
    def __init__(self):
        position = np.concatenate([[START], BUMPERS])
        radius = np.array([RADIUS, *[BUMPER] * len(BUMPERS)])
        only_ball = {"category": np.array([1, *[2] * len(BUMPERS)]), "mask": 1}
        ends = PIVOTS + LENGTH * np.stack([np.cos(DOWN), np.sin(DOWN)], axis=1)
        self.flippers = kd.Segments(
            np.stack([PIVOTS, ends], axis=1), 0.4, 0.2, RADIUS, thickness=12, angular_velocity=0.0, center=PIVOTS
        )
        gate = kd.Segments([[(370, 150), (400, 130)]], 0.3, 0, RADIUS, one_way=(0, -1))  # out of the lane, not back
        lanes = [kd.Sensor((a + 4, 120.0), (b - 4, 135.0), **only_ball) for a, b in pairwise(LANES)]
        self.world = kd.Stepper(
            position,
            mass=[1.0, *[np.inf] * len(BUMPERS)],
            clock=kd.FixedClock(240, policy="match"),
            forces=[kd.Gravity((0, 700)), kd.LinearDrag(0.05)],
            constraints=[
                kd.ElasticCollisions(radius, restitution=0.9, swept=True),
                kd.Segments(WALLS, 0.5, 0.05, RADIUS, thickness=6),
                kd.Box((0, -HEIGHT), (WIDTH, 2 * HEIGHT), restitution=0.4, radius=RADIUS),
                gate,
                self.flippers,
                kd.Sensor((0.0, HEIGHT + 20), (WIDTH, 2.0 * HEIGHT), **only_ball),
                *lanes,
            ],
            events=kd.Events(hits_above=20),
        )
        self.score, self.balls, self.sounds, self.lit = 0, 3, 0, [False] * len(lanes)
        self.down, self.angle = [False, False], DOWN.copy()
        self.launch()

    def launch(self):
        self.world.teleport(BALL, START)
        self.world.velocity[BALL] = (0.0, -900.0 - 25 * self.balls)

    def control(self):
        """Flippers turn towards where they are wanted, and hit the ball with the speed of their surface."""
        goal = np.where(self.down, UP, DOWN)
        turn = np.clip((goal - self.angle) / self.world.dt, -TURN, TURN)
        self.angle += turn * self.world.dt
        self.world.set(self.flippers, angular_velocity=turn)

    def listen(self):
        """What happened in the last step."""
        for event in self.world.events.take():
            if event["kind"] == kd.HIT:
                self.sounds += 1
                if event["source"] == 0:  # bumpers kick
                    self.score += 100
                    self.world.velocity[BALL] -= 120 * event["normal"]
            elif event["kind"] == kd.ENTER and event["source"] == 5:
                self.balls -= 1
                self.launch()
            elif event["kind"] == kd.ENTER:
                self.score += 50
                self.lit[event["source"] - 6] = True
        if all(self.lit):
            self.score, self.lit = self.score + 1000, [False] * len(self.lit)

    def frame(self, seconds, alone=False):
        for _ in self.world.ticks(seconds):
            self.listen()
            if alone:
                self.aim()
            self.control()
        self.listen()

    def aim(self):
        """Without a player: a flipper goes up when the ball is above it and near."""
        away = self.world.position[BALL] - PIVOTS
        along = away[:, 0] * [1, -1]
        self.down = ((along > 12) & (along < 62) & (away[:, 1] > -8 - RADIUS) & (away[:, 1] < 40)).tolist()


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: pinball")
    font, game, shown = pygame.font.Font(None, 26), Game(), 0
    while game.balls > 0 and shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return game, screen
            if event.type in (pygame.KEYDOWN, pygame.KEYUP) and event.key in (pygame.K_LEFT, pygame.K_RIGHT):
                game.down[event.key == pygame.K_RIGHT] = event.type == pygame.KEYDOWN
        game.frame(1 / 60 if frames else seconds, alone=frames is not None)

        screen.fill("#10172a")
        for a, b in WALLS:
            pygame.draw.line(screen, "#8d99ae", a, b, 6)
        pygame.draw.line(screen, "#4cc9f0", (370, 150), (400, 130), 2)
        for lit, x in zip(game.lit, LANES + 30, strict=False):
            pygame.draw.aacircle(screen, "#ffd166" if lit else "#2b3a55", (x, 128), 7)
        for a, b in game.world.interpolate_shapes(game.flippers).tolist():
            pygame.draw.line(screen, "#06d6a0", a, b, 13)
            for end in (a, b):
                pygame.draw.aacircle(screen, "#06d6a0", end, 6)
        ball, *bumpers = game.world.interpolate().tolist()
        for place in bumpers:
            pygame.draw.aacircle(screen, "#ef476f", place, BUMPER)
            pygame.draw.aacircle(screen, "#ffd166", place, 0.6 * BUMPER)
        pygame.draw.aacircle(screen, "#ffffff", ball, RADIUS)
        screen.blit(font.render(f"{game.score} points   {game.balls} balls", True, "#e5e5e5"), (96, 60))
        screen.blit(font.render("flip [left, right]", True, "#8d99ae"), (112, HEIGHT - 24))
        pygame.display.flip()
        shown += 1
    return game, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
