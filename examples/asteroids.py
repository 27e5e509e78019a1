"""Asteroids: arrow keys turn and thrust, space fires. `--frames 600` plays by itself.

Bodies come and go, the arrays stay. Each kind has rows of its own, so that radius, category and mask never change.
Events say which rock met what. What is the game's own is in `state=`: a snapshot holds the game.
"""

import argparse
import math
from itertools import pairwise

import numpy as np
import pygame

import kickdrift as kd

SIZE = np.array([960.0, 640.0])  # pixels, which are the unit of length here
SHIP, BULLET, LARGE, MEDIUM, SMALL = range(5)
FIRST, RADIUS = (0, 1, 16, 32, 64, 128), (10.0, 2.0, 40.0, 20.0, 10.0)  # of each kind: its rows, and how large it is
KIND = np.repeat(np.arange(5), np.diff(FIRST))
ROWS, ROCKS = [slice(*ends) for ends in pairwise(FIRST)], slice(FIRST[LARGE], None)
DT, TURN, THRUST, MUZZLE, RELOAD, BULLET_LIFE = 1 / 120, 4.0, 300.0, 500.0, 0.15, 1.2


class Game:
    def __init__(self):
        self.fuse = np.full(len(KIND), math.inf)  # s that are left of a bullet
        self.ship, self.score = np.zeros(2), np.zeros(2, np.int64)  # heading, s until the gun is loaded; points, waves
        own = {"fuse": self.fuse, "ship": self.ship, "score": self.score}
        rock = KIND >= LARGE  # rocks (2) meet all else (1), and all else meets rocks; sensors touch, and push nothing
        filters = {"category": np.where(rock, 2, 1), "mask": np.where(rock, 1, 2), "sensor": True}
        meets, events = kd.ElasticCollisions(np.array(RADIUS)[KIND], **filters), kd.Events(end=False, hits_above=1e9)
        constraints = [meets, kd.Periodic(0, SIZE)]
        self.world = kd.Stepper(
            np.zeros((len(KIND), 2)), dt=DT, alive=0, constraints=constraints, events=events, state=own
        )
        self.world.spawn(SIZE / 2, 0.0, rows=ROWS[SHIP])

    def tick(self, turn, thrust, fire):
        """What happens before each step."""
        world, velocity = self.world, self.world.velocity
        self.ship += turn * TURN * DT, -DT
        nose = np.array([math.cos(self.ship[0]), math.sin(self.ship[0])])
        velocity[0] = (velocity[0] + thrust * THRUST * DT * nose) * (1 - 0.5 * DT)
        if fire and self.ship[1] <= 0:
            self.ship[1] = RELOAD
            shot = world.spawn(world.position[0] + 12 * nose, velocity[0] + MUZZLE * nose, rows=ROWS[BULLET])
            self.fuse[world.slots(shot)] = BULLET_LIFE
        self.fuse[ROWS[BULLET]] -= DT
        world.kill(world.alive & (self.fuse <= 0))
        if not world.alive[ROCKS].any():
            self.score[1] += 1
            count, random = min(3 + self.score[1], 16), np.random.default_rng(self.score[1])
            # The next wave comes from an edge.
            way, speed = random.uniform(0, 2 * np.pi, count), random.uniform(30, 90, count)
            place = np.stack([np.zeros(count), random.uniform(0, SIZE[1], count)], axis=1)
            world.spawn(place, (speed * [np.cos(way), np.sin(way)]).T, rows=ROWS[LARGE])

    def hits(self):
        """What follows from the step before: of each pair that met one is a rock, and its row is the higher one."""
        world, position, velocity = self.world, self.world.position, self.world.velocity
        for event in world.events.take():
            rock, other = world.slots(event["b"], missing=-1), event["slot_a"]
            if rock < 0 or not world.alive[other]:
                continue  # gone in an event before
            if other == 0:
                world.teleport(0, SIZE / 2)
                velocity[0], self.score[0] = 0, self.score[0] - 100
                continue
            self.score[0] += 10
            place, speed, kind = position[rock].copy(), velocity[rock].copy(), KIND[rock]
            world.kill([rock, other])
            if kind < SMALL:
                across = np.outer((-1, 1), (-speed[1], speed[0]))  # to both sides
                world.spawn(place + RADIUS[kind + 1] * across / np.hypot(*speed), speed + across, rows=ROWS[kind + 1])

    def frame(self, seconds, turn=0, thrust=False, fire=False):
        for _ in self.world.ticks(seconds):
            self.hits()
            self.tick(turn, thrust, fire)
        self.hits()  # of the last step: a snapshot has no events


def draw(game, screen, font):
    screen.fill((20, 26, 51))
    picture = game.world.interpolate()
    for slot in np.flatnonzero(game.world.alive):
        kind, place, radius = KIND[slot], picture[slot], RADIUS[KIND[slot]]
        colour = [(120, 220, 255), (255, 220, 90), (239, 217, 180)][min(kind, LARGE)]
        angles, size = np.linspace(0, 2 * np.pi, 12, endpoint=False), np.ones(12)
        if kind >= LARGE:  # no two rocks are alike
            size = 0.85 + 0.25 * np.sin(slot + np.arange(12) * (2 + slot % 5))
            angles = angles + slot + game.world.time * (slot % 7 - 3) / 4
        elif kind == SHIP:
            angles, size = game.ship[0] + np.array([0, 2.5, np.pi, -2.5]), np.array([1.7, 1.2, 0.5, 1.2])
        outline = place + radius * (size * np.array([np.cos(angles), np.sin(angles)])).T
        if kind >= LARGE:
            pygame.draw.polygon(screen, (78, 74, 92), outline)
        pygame.draw.polygon(screen, colour, outline, 0 if kind == BULLET else 3)
    text = f"{game.score[0]} points   wave {game.score[1]}   arrows: turn, thrust   space: fire"
    screen.blit(font.render(text, True, (160, 160, 170)), (12, 10))
    pygame.display.flip()


def main(frames=None):
    pygame.display.init(), pygame.font.init()
    screen, watch, game = pygame.display.set_mode(SIZE), pygame.time.Clock(), Game()
    font, shown = pygame.font.Font(None, 28), 0
    while shown != frames and not any(event.type == pygame.QUIT for event in pygame.event.get()):
        keys, seconds = pygame.key.get_pressed(), watch.tick(60) / 1000
        pressed = keys[pygame.K_RIGHT] - keys[pygame.K_LEFT], keys[pygame.K_UP], keys[pygame.K_SPACE]
        game.frame(*((1 / 60, math.sin(shown / 50), shown % 90 < 20, True) if frames else (seconds, *pressed)))
        draw(game, screen, font)
        shown += 1
    return game, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, help="play so many frames by itself")
    main(parser.parse_args().frames)
