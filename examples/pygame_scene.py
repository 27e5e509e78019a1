"""Bouncing balls in a window of pygame-ce: fixed steps, and pictures between them.

Keys: 1 runs 10 steps a second, 2 runs 120; I switches interpolation on or off; Space stops time; Escape ends.
`--frames 300` plays by itself. Press 1, then I: that is why pictures are interpolated.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE, COUNT = 960, 640, 80, 150  # pixels; pixels in a metre; balls
COLOURS = ("#ef476f", "#ffd166", "#06d6a0", "#4cc9f0", "#f78c6b")


def make_world():
    rng = np.random.default_rng(2)
    size = np.array([WIDTH, HEIGHT]) / SCALE  # m
    radius = rng.uniform(0.1, 0.3, COUNT)
    place = np.stack(np.divmod(np.arange(COUNT), 10), axis=1) * [0.8, 0.75] + 0.4  # a grid: none inside another
    return kd.Stepper(
        place,
        rng.normal(0, 2, (COUNT, 2)),
        mass=radius**2,
        clock=kd.FixedClock(120, policy="match"),
        forces=[kd.Gravity((0, -9.81))],
        constraints=[
            kd.ElasticCollisions(radius, restitution=0.9),
            kd.Box(0, size, restitution=0.9, radius=radius),
        ],
    ), radius


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: bouncing balls")
    font = pygame.font.Font(None, 26)
    (world, radius), smooth, shown = make_world(), True, 0
    sizes = (radius * SCALE).tolist()
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return world, screen
            if key in (pygame.K_1, pygame.K_2):
                world.dt = "1/10" if key == pygame.K_1 else "1/120"
            if key == pygame.K_i:
                smooth = not smooth
            if key == pygame.K_SPACE:
                (world.clock.resume if world.clock.paused else world.clock.pause)()

        world.advance(1 / 60 if frames else seconds)
        places = world.interpolate() if smooth else world.position
        pixels = (places * SCALE * [1, -1] + [0, HEIGHT]).tolist()  # y points up in the world, down on the screen

        screen.fill("#14213d")
        for number, (place, size) in enumerate(zip(pixels, sizes, strict=True)):
            pygame.draw.aacircle(screen, COLOURS[number % len(COLOURS)], place, size)
        state = "on" if smooth else "off"
        text = f"{1 / world.dt:.0f} steps a second [1, 2]   interpolation {state} [I]   stop [Space]"
        screen.blit(font.render(text, True, "#e5e5e5"), (12, 10))
        pygame.display.flip()
        shown += 1
    return world, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
