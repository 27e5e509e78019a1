"""A particle fountain in a changing wind: 2,000 particles a second, each of which lives for 4 seconds.

`--frames 300` runs by itself. A particle is a slot of the arrays while it lives: `spawn` takes the lowest free slots,
`kill` gives them back, and nothing is ever moved or copied. The wind is a coefficient that `set` changes between ticks.
"""

import argparse
import math

import numpy as np
import pygame

import kickdrift as kd

WIDTH, HEIGHT, SLOTS, LIFE, RATE, DT = 960, 640, 10_000, 4.0, 2000, 1 / 60


class Fountain:
    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.wind = kd.LinearDrag(0.8, wind=(0.0, 0.0))
        self.position = np.zeros((SLOTS, 2), np.float32)
        self.end = np.full(SLOTS, np.inf)  # s, when each particle goes out
        self.world = kd.Stepper(
            self.position, dt=DT, alive=0, integrator="semi_implicit_euler",
            forces=[kd.Gravity((0, 500)), self.wind], state={"end": self.end},
        )  # fmt: skip

    def tick(self):
        world, count = self.world, round(RATE * DT)
        if len(old := np.flatnonzero(self.end <= world.time)):
            world.kill(old)
            self.end[old] = np.inf
        angle, speed = self.random.normal(0, 0.16, count), self.random.normal(860, 70, count)
        velocity = np.stack([speed * np.sin(angle), -speed * np.cos(angle)], axis=1)
        slots = world.slots(world.spawn((WIDTH / 2, HEIGHT - 20), velocity))
        self.end[slots] = world.time + LIFE
        world.set(self.wind, wind=(250 * math.sin(world.time), 0))

    def frame(self, seconds):
        for _ in self.world.ticks(seconds):
            self.tick()


def main(frames=None):
    pygame.display.init(), pygame.font.init()
    screen, watch, fountain = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock(), Fountain()
    font, shown = pygame.font.Font(None, 26), 0
    glow = pygame.Surface((WIDTH // 2, HEIGHT // 2))
    light = np.zeros(glow.get_size(), np.float32)
    while shown != frames and not any(event.type == pygame.QUIT for event in pygame.event.get()):
        seconds = watch.tick(60) / 1000
        fountain.frame(1 / 60 if frames else seconds)
        # Each particle adds a little light to its place, which fades.
        light *= 0.7
        pixels = np.floor(fountain.world.interpolate(living=True) / 2).astype(int)
        pixels = pixels[((pixels >= 0) & (pixels < light.shape)).all(axis=1)]
        np.add.at(light, tuple(pixels.T), 90)
        colour = np.minimum(light[..., None] * (0.5, 0.9, 1.6) + (14, 20, 44), 255).astype(np.uint8)
        pygame.surfarray.blit_array(glow, colour)
        pygame.transform.smoothscale(glow, screen.get_size(), screen)
        text = f"{fountain.world.count} particles   wind {250 * math.sin(fountain.world.time):+.0f} px/s"
        screen.blit(font.render(text, True, (170, 170, 180)), (12, 10))
        pygame.display.flip()
        shown += 1
    return fountain, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, help="run so many frames by itself")
    main(parser.parse_args().frames)
