"""Charged particles in a magnetic bottle: the field is stronger at both ends, and turns most of them back.

Keys: left and right turn the camera; Escape ends. `--frames 300` plays by itself. Particles that fly nearly along the
field leak out of the necks (orange). The field depends on the place, so it is a `kd.Force` in NumPy, under `rk4`.
"""

import argparse
from collections import deque

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE, COUNT, TRAIL = 960, 540, 105, 300, 14
FIELD, LENGTH, CHARGE, LOST = 12.0, 2.0, 1.0, 4.2  # T, m, C, m: beyond it a particle has escaped


def field(position):
    """B in T: FIELD along z in the middle, more to both ends, and without a divergence."""
    x, y, z = position.T
    bend = -FIELD * z / LENGTH**2
    return np.stack([bend * x, bend * y, FIELD * (1 + z**2 / LENGTH**2)], axis=1)


def lorentz(t, position, velocity, out):
    out[:] = CHARGE * np.cross(velocity, field(position))


def make_world():
    rng = np.random.default_rng(6)
    position = rng.normal(0, (0.35, 0.35, 0.6), (COUNT, 3))
    direction = rng.normal(size=(COUNT, 3))
    velocity = 2.5 * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    # A step turns a particle by FIELD * dt = 0.05 rad in the middle, and by five times that in the necks.
    return kd.Stepper(
        position,
        velocity,
        clock=kd.FixedClock(240, policy="match"),
        integrator="rk4",
        forces=[kd.Force(lorentz)],
        alive=COUNT,
    )


def seen(position, turn):
    """Pixels: z to the right, seen from a camera that has turned by so many radians, and a little from above."""
    x, y, z = position.T
    across, depth = z * np.cos(turn) - x * np.sin(turn), z * np.sin(turn) + x * np.cos(turn)
    return np.stack([WIDTH / 2 + SCALE * across, HEIGHT / 2 - SCALE * (y + 0.25 * depth)], axis=-1)


def lines():
    """Lines of the field: r^2 B_z is the same all along one."""
    z = np.linspace(-4, 4, 60)
    for angle in np.arange(12) * np.pi / 6:
        radius = 1.3 / np.sqrt(1 + z**2 / LENGTH**2)
        yield np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: a magnetic bottle")
    font, world, trail, turn, shown = pygame.font.Font(None, 26), make_world(), deque(maxlen=TRAIL), 0.25, 0
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return world, screen
        keys = pygame.key.get_pressed()
        turn += 0.03 * (keys[pygame.K_RIGHT] - keys[pygame.K_LEFT])
        world.advance((1 / 60 if frames else seconds) / 2)  # at half speed
        if (gone := world.alive & (np.abs(world.position[:, 2]) > LOST)).any():
            world.kill(gone)
        trail.append(world.interpolate())

        screen.fill("#141a33")
        for line in lines():
            pygame.draw.aalines(screen, "#4a5a8f", False, seen(line, turn).tolist())
        ways = np.stack([seen(places, turn) for places in trail], axis=1)
        for row in np.flatnonzero(world.alive).tolist():
            leaking = abs(world.position[row, 2]) > LENGTH
            way = ways[row][~np.isnan(ways[row, :, 0])].tolist()
            if len(way) > 1:
                pygame.draw.aalines(screen, "#f4a261" if leaking else "#4cc9f0", False, way)
            pygame.draw.circle(screen, "#ffffff", way[-1], 1.5)
        text = f"{world.count} of {COUNT} particles held after {world.time:.1f} s   turn [left, right]"
        screen.blit(font.render(text, True, "#e5e5e5"), (12, 10))
        pygame.display.flip()
        shown += 1
    return world, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
