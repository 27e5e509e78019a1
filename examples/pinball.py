"""Pinball: a ball, bumpers, two flippers and a roof. The events say what the ball hit, and that is the score.

Keys: left and right move the flippers up; Escape ends. `--frames 300` plays by itself.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, RADIUS = 400, 640, 8.0
BALL, LEFT, RIGHT = 0, 1, 2  # rows; the bumpers follow
BUMPERS = np.array([(120.0, 200.0), (280.0, 200.0), (200.0, 290.0), (110.0, 380.0), (290.0, 380.0)])
BUMPER, FLIPPER = 22.0, 26.0
REST = np.array([(140.0, 560.0), (260.0, 560.0)])  # of the flippers
WALLS = [[(0, 470), (115, 545)], [(400, 470), (285, 545)], [(0, 60), (60, 0)], [(400, 60), (340, 0)]]


def table():
    """The world; y points down. All that scores is a constraint or a body, so events can name it."""
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
        clock=kd.FixedClock(240, policy="match"),
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

    def control(self):
        """Flippers are bodies of infinite mass that move by their velocity, so they hit the ball."""
        y = self.world.position[[LEFT, RIGHT], 1]
        goal = REST[:, 1] - 45 * np.array(self.down)
        self.world.velocity[[LEFT, RIGHT], 1] = np.clip((goal - y) * self.world.clock.hz, -900, 900)

    def listen(self):
        """What happened in the last step."""
        for event in self.world.events.take():
            if event["kind"] == kd.ENTER:
                self.drained()
            elif event["kind"] == kd.HIT:
                self.sounds += 1
                self.score += 100 if event["slot_b"] > RIGHT else 1 if event["source"] == 1 else 0

    def frame(self, seconds, alone=False):
        for _ in self.world.ticks(seconds):
            self.listen()
            if alone:
                self.aim()
            self.control()
        self.listen()

    def drained(self):
        self.balls -= 1
        if self.balls > 0:
            self.world.teleport(BALL, (333.0, 80.0))
            self.world.velocity[BALL] = (-150.0 - 25 * self.balls, 60.0)

    def aim(self):
        """Without a player: each flipper goes up when the ball is near."""
        x, y = self.world.position[BALL]
        self.down = [bool(y > 490 and x < 200), bool(y > 490 and x >= 200)]


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: pinball")
    font, game, shown = pygame.font.Font(None, 26), Game(), 0
    radius = [RADIUS, FLIPPER, FLIPPER, *[BUMPER] * len(BUMPERS)]
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
            pygame.draw.line(screen, "#8d99ae", a, b, 8)
        for row, (place, size) in enumerate(zip(game.world.interpolate().tolist(), radius, strict=True)):
            colour = "#ffffff" if row == BALL else "#06d6a0" if row <= RIGHT else "#ef476f"
            pygame.draw.aacircle(screen, colour, place, size)
            if row > RIGHT:
                pygame.draw.aacircle(screen, "#ffd166", place, 0.6 * size)
        screen.blit(font.render(f"{game.score} points   {game.balls} balls", True, "#e5e5e5"), (120, 10))
        screen.blit(font.render("flip [left, right]", True, "#8d99ae"), (126, HEIGHT - 24))
        pygame.display.flip()
        shown += 1
    return game, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
