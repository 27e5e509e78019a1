"""Foxes and rabbits on 120 islands: the more grass an island has, the wilder its two populations swing.

Keys: R starts again; Escape ends. `--frames 300` plays by itself. Each island is a trajectory of one `kd.ODEStepper`.
With little grass both populations settle; from a capacity of 2.33 on they go round for ever (Rosenzweig 1971, "Paradox
of enrichment"): x' = x (1 - x / K) - x y / (1 + x), y' = 0.9 x y / (1 + x) - 0.36 y.
"""

import argparse
import colorsys
from collections import deque

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, ISLANDS, TRAIL = 960, 640, 120, 60
GRASS = np.linspace(1.2, 4.0, ISLANDS)  # K: how many rabbits an island could feed
EATEN, DEATHS = 0.9, 0.36


def populations(t, y, out):
    """The right-hand side: a row for each island, with its rabbits and its foxes."""
    rabbits, foxes = y.T
    meals = rabbits * foxes / (1 + rabbits)
    out[:, 0] = rabbits * (1 - rabbits / GRASS) - meals
    out[:, 1] = EATEN * meals - DEATHS * foxes


def make_world():
    return kd.ODEStepper(np.tile([0.9, 0.6], (ISLANDS, 1)), populations, dt=1 / 20)


def seen(y):
    return y * [255, -165] + [60, HEIGHT - 60]


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: foxes and rabbits")
    font, world, trail, shown = pygame.font.Font(None, 26), make_world(), deque(maxlen=TRAIL), 0
    hues = [colorsys.hsv_to_rgb(0.62 * (1 - number / ISLANDS), 0.75, 1.0) for number in range(ISLANDS)]
    colours = [tuple(int(255 * part) for part in hue) for hue in hues]
    while shown != frames:
        watch.tick(60)
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return world, screen
            if key == pygame.K_r:
                world = make_world()
                trail.clear()
        world.step(4)
        trail.append(seen(world.y))

        screen.fill("#0b0d17")
        pygame.draw.line(screen, "#55607a", (60, HEIGHT - 60), (WIDTH - 20, HEIGHT - 60))
        pygame.draw.line(screen, "#55607a", (60, HEIGHT - 60), (60, 50))
        screen.blit(font.render("rabbits", True, "#aab2c8"), (WIDTH - 90, HEIGHT - 45))
        screen.blit(font.render("foxes", True, "#aab2c8"), (8, 56))
        for colour, way in zip(colours, np.stack(trail, axis=1).tolist(), strict=True):
            if len(way) > 1:
                pygame.draw.aalines(screen, colour, False, way)
            pygame.draw.circle(screen, "#ffffff", way[-1], 2)
        text = f"{ISLANDS} islands, from little grass (blue) to much (red)   year {world.time:.0f}   again [R]"
        screen.blit(font.render(text, True, "#e5e5e5"), (12, 10))
        pygame.display.flip()
        shown += 1
    return world, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
