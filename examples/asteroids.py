"""Asteroids: arrow keys turn and thrust, space fires. `--frames 600` plays by itself, without a window where none can be.

Rocks and bullets are born and die, the arrays stay: a body is a slot while it lives. What it is, how large it is and how
long it lasts are arrays of the game's own, and `state=` makes them part of the world: a snapshot holds the whole game.
"""

import argparse
import math

import numpy as np

import kickdrift as kd

SIZE = np.array([960.0, 640.0])  # pixels, which are the unit of length here
SLOTS, DT = 512, 1 / 120
NOTHING, SHIP, ROCK, BULLET = range(4)
TURN, THRUST, MUZZLE, RELOAD, BULLET_LIFE = 4.0, 300.0, 500.0, 0.15, 1.2


class Game:
    def __init__(self, seed=0):
        self.kind = np.zeros(SLOTS, np.int8)
        self.radius = np.zeros(SLOTS)
        self.fuse = np.zeros(SLOTS)  # s that are left
        self.ship = np.zeros(2)  # heading in radians, s until the gun is loaded
        self.score = np.zeros(2, np.int64)  # points, waves
        self.random = np.random.default_rng(seed)
        self.world = kd.Stepper(
            np.zeros((SLOTS, 2)), dt=DT, alive=0,
            state={"kind": self.kind, "radius": self.radius, "fuse": self.fuse, "ship": self.ship, "score": self.score},
        )  # fmt: skip
        self.add(SHIP, SIZE / 2, 0.0, 10.0)

    def add(self, kind, position, velocity, radius, fuse=math.inf):
        slots = self.world.slots(self.world.spawn(position, velocity))
        self.kind[slots], self.radius[slots], self.fuse[slots] = kind, radius, fuse

    def kill(self, slots):
        self.world.kill(slots)
        self.kind[slots] = NOTHING

    def tick(self, turn, thrust, fire):
        """What happens before each step: control, the edges of the screen, hits."""
        world, position, velocity = self.world, self.world.position, self.world.velocity
        (ship,) = np.flatnonzero(self.kind == SHIP)
        self.ship += turn * TURN * DT, -DT
        nose = np.array([math.cos(self.ship[0]), math.sin(self.ship[0])])
        velocity[ship] = (velocity[ship] + thrust * THRUST * DT * nose) * (1 - 0.5 * DT)
        if fire and self.ship[1] <= 0:
            self.ship[1] = RELOAD
            self.add(BULLET, position[ship] + 12 * nose, velocity[ship] + MUZZLE * nose, 2.0, BULLET_LIFE)
        self.fuse -= DT
        dead = np.flatnonzero(world.alive & (self.fuse <= 0))
        if len(dead):
            self.kill(dead)
        outside = np.flatnonzero(world.alive & ((position < 0) | (position >= SIZE)).any(axis=1))
        if len(outside):
            world.teleport(outside, position[outside] % SIZE)  # which nobody sees fly across the screen
        self.hits(ship)

    def hits(self, ship):
        position, velocity = self.world.position, self.world.velocity
        rocks = np.flatnonzero(self.kind == ROCK)
        if not len(rocks):
            self.score[1] += 1
            for _ in range(3 + self.score[1]):  # the next wave, from the edges
                way = self.random.uniform(0, 2 * math.pi)
                speed = self.random.uniform(30, 90) * np.array([math.cos(way), math.sin(way)])
                self.add(ROCK, [0.0, self.random.uniform(0, SIZE[1])], speed, 40.0)
            return
        bullets = np.flatnonzero(self.kind == BULLET)
        way = position[bullets, None] - position[rocks]
        near = (way * way).sum(axis=2) < self.radius[rocks] ** 2
        for rock in rocks[near.any(axis=0)]:
            self.score[0] += 10
            place, speed, size = position[rock].copy(), velocity[rock].copy(), self.radius[rock] / 2
            self.kill(np.array([rock]))
            if size >= 10:
                across = np.array([-speed[1], speed[0]])
                for side in (-1, 1):
                    self.add(ROCK, place + side * size * across / np.hypot(*across), speed + side * across, size)
        if near.any():
            self.kill(bullets[near.any(axis=1)])
        way = position[rocks] - position[ship]
        if ((way * way).sum(axis=1) < (self.radius[rocks] + 10) ** 2).any():
            self.world.teleport(ship, SIZE / 2)
            velocity[ship] = 0
            self.score[0] -= 100

    def frame(self, seconds, turn=0, thrust=False, fire=False):
        for _ in self.world.ticks(seconds):
            self.tick(turn, thrust, fire)


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch, game = pygame.display.set_mode(SIZE), pygame.time.Clock(), Game()
    font, shown = pygame.font.Font(None, 28), 0
    while shown != frames and not pygame.event.get(pygame.QUIT):
        keys = pygame.key.get_pressed()
        pressed = keys[pygame.K_RIGHT] - keys[pygame.K_LEFT], keys[pygame.K_UP], keys[pygame.K_SPACE]
        seconds = watch.tick(60) / 1000
        game.frame(*((1 / 60, math.sin(shown / 50), shown % 90 < 20, True) if frames else (seconds, *pressed)))
        screen.fill((12, 14, 24))
        picture = game.world.interpolate()
        for slot in np.flatnonzero(game.world.alive):
            colour = [None, (120, 220, 255), (200, 190, 170), (255, 220, 90)][game.kind[slot]]
            pygame.draw.circle(screen, colour, picture[slot], game.radius[slot], 0 if game.kind[slot] == BULLET else 2)
            if game.kind[slot] == SHIP:
                nose = 18 * np.array([math.cos(game.ship[0]), math.sin(game.ship[0])])
                pygame.draw.line(screen, colour, picture[slot], picture[slot] + nose, 3)
        text = f"{game.score[0]} points   wave {game.score[1]}   arrows: turn, thrust   space: fire"
        screen.blit(font.render(text, True, (160, 160, 170)), (12, 10))
        pygame.display.flip()
        pygame.event.pump()
        shown += 1
    return game, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, help="play so many frames by itself")
    main(parser.parse_args().frames)
