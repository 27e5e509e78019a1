"""Asteroids: arrow keys turn and thrust, space fires. `--frames 600` plays by itself.

Rocks and bullets are born and die, the arrays stay: a body is a slot while it lives. What it is, how large it is and
how long it lasts are arrays of the game's own, and `state=` makes them part of the world: a snapshot holds the game.
"""

import argparse
import math

import numpy as np
import pygame

import kickdrift as kd

SIZE = np.array([960.0, 640.0])  # pixels, which are the unit of length here
SLOTS, DT = 512, 1 / 120
NOTHING, SHIP, ROCK, BULLET = range(4)
TURN, THRUST, MUZZLE, RELOAD, BULLET_LIFE = 4.0, 300.0, 500.0, 0.15, 1.2


class Game:
    def __init__(self):
        self.kind = np.zeros(SLOTS, np.int8)
        self.radius, self.fuse = np.zeros((2, SLOTS))  # fuse: s that are left
        self.ship, self.score = np.zeros(2), np.zeros(2, np.int64)  # heading, s until the gun is loaded; points, waves
        own = {name: getattr(self, name) for name in ("kind", "radius", "fuse", "ship", "score")}
        self.world = kd.Stepper(np.zeros((SLOTS, 2)), dt=DT, alive=0, state=own, constraints=[kd.Periodic(0, SIZE)])
        self.add(SHIP, SIZE / 2, 0.0, 10.0)

    def add(self, kind, position, velocity, radius, fuse=math.inf):
        slots = self.world.slots(self.world.spawn(position, velocity))
        self.kind[slots], self.radius[slots], self.fuse[slots] = kind, radius, fuse

    def kill(self, slots):
        self.world.kill(slots)
        self.kind[slots] = NOTHING

    def tick(self, turn, thrust, fire):
        """What happens before each step: control, hits."""
        world, position, velocity = self.world, self.world.position, self.world.velocity
        (ship,) = np.flatnonzero(self.kind == SHIP)
        self.ship += turn * TURN * DT, -DT
        nose = np.array([math.cos(self.ship[0]), math.sin(self.ship[0])])
        velocity[ship] = (velocity[ship] + thrust * THRUST * DT * nose) * (1 - 0.5 * DT)
        if fire and self.ship[1] <= 0:
            self.ship[1] = RELOAD
            self.add(BULLET, position[ship] + 12 * nose, velocity[ship] + MUZZLE * nose, 2.0, BULLET_LIFE)
        self.fuse -= DT
        self.kill(np.flatnonzero(world.alive & (self.fuse <= 0)))
        self.hits(ship)

    def hits(self, ship):
        position, velocity = self.world.position, self.world.velocity
        rocks, bullets = (np.flatnonzero(self.kind == kind) for kind in (ROCK, BULLET))
        if not len(rocks):
            self.score[1] += 1
            count, random = 3 + self.score[1], np.random.default_rng(self.score[1])  # the next wave, from an edge
            way, speed = random.uniform(0, 2 * np.pi, count), random.uniform(30, 90, count)
            place = np.stack([np.zeros(count), random.uniform(0, SIZE[1], count)], axis=1)
            self.add(ROCK, place, (speed * [np.cos(way), np.sin(way)]).T, 40.0)
            return
        way = position[bullets, None] - position[rocks]
        near = (way * way).sum(axis=2) < self.radius[rocks] ** 2
        for rock in rocks[near.any(axis=0)]:
            self.score[0] += 10
            place, speed, size = position[rock].copy(), velocity[rock].copy(), self.radius[rock] / 2
            self.kill(rock)
            if size >= 10:
                across = np.outer((-1, 1), (-speed[1], speed[0]))  # to both sides
                self.add(ROCK, place + size * across / np.hypot(*speed), speed + across, size)
        self.kill(bullets[near.any(axis=1)])
        way = position[rocks] - position[ship]
        if ((way * way).sum(axis=1) < (self.radius[rocks] + 10) ** 2).any():
            self.world.teleport(ship, SIZE / 2)
            velocity[ship] = 0
            self.score[0] -= 100

    def frame(self, seconds, turn=0, thrust=False, fire=False):
        for _ in self.world.ticks(seconds):
            self.tick(turn, thrust, fire)


def draw(game, screen, font):
    screen.fill((12, 14, 24))
    picture = game.world.interpolate()
    for slot in np.flatnonzero(game.world.alive):
        kind, place, radius = game.kind[slot], picture[slot], game.radius[slot]
        colour = [None, (120, 220, 255), (200, 190, 170), (255, 220, 90)][kind]
        angles, size = np.linspace(0, 2 * np.pi, 12, endpoint=False), np.ones(12)
        if kind == ROCK:  # no two rocks are alike
            size = 0.85 + 0.25 * np.sin(slot + np.arange(12) * (2 + slot % 5))
            angles = angles + slot + game.world.time * (slot % 7 - 3) / 4
        elif kind == SHIP:
            angles, size = game.ship[0] + np.array([0, 2.5, np.pi, -2.5]), np.array([1.7, 1.2, 0.5, 1.2])
        outline = place + radius * (size * np.array([np.cos(angles), np.sin(angles)])).T
        pygame.draw.polygon(screen, colour, outline, 0 if kind == BULLET else 2)
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
