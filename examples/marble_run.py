"""A marble run: full marbles and rings roll down the ramps, and a wheel throws them on.

Keys: click to drop a marble; up and down turn the wheel faster or slower; Escape ends. `--frames 300` plays by itself.
Where `angular_velocity` is given, friction makes bodies roll: a full marble gains 2/3 of g sin(slope), a ring, whose
mass is all outside, 1/2. The wheel has infinite mass and keeps the angular velocity that is written to it.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE, ROOM = 960, 640, 80, 61  # pixels; pixels in a metre; bodies at most, with the wheel
WHEEL, RADIUS, MARBLE = 0, 0.7, 0.14  # row of the wheel; m
COLOURS = ("#ef476f", "#ffd166", "#06d6a0", "#4cc9f0", "#f78c6b")
RAMPS = [((0.3, 7.0), (7.6, 5.9)), ((9.9, 5.6), (2.2, 4.3)), ((0.5, 3.9), (6.4, 2.7)), ((7.6, 1.5), (11.8, 0.9))]
STOPS = [((0.3, 7.0), (0.3, 8.0)), ((9.9, 5.6), (9.9, 6.8)), ((0.5, 3.9), (0.5, 5.0)), ((11.8, 0.9), (11.8, 1.8))]


class Run:
    def __init__(self):
        self.rng, self.turns = np.random.default_rng(4), -6.0  # rad/s of the wheel
        radius = np.full(ROOM, MARBLE)
        radius[WHEEL] = RADIUS
        self.mass = np.full(ROOM, 1.0)
        self.mass[WHEEL] = np.inf
        self.ring = np.arange(ROOM) % 2 == 0  # every other body is a ring
        inertia = np.where(self.ring, 1.0, 0.5) * MARBLE**2
        position = np.zeros((ROOM, 2))
        position[WHEEL] = (6.8, 1.5)
        ramps = kd.Segments(RAMPS + STOPS, friction=0.5)
        self.world = kd.Stepper(
            position,
            mass=self.mass,
            alive=1,
            angular_velocity=0.0,
            inertia=inertia,
            clock=kd.FixedClock(120, policy="match"),
            forces=[kd.Gravity((0, -9.81))],
            constraints=[kd.Contacts(radius, restitution=0.2, friction=0.5, rolling=0.003, shapes=[ramps])],
        )

    def drop(self, place):
        if self.world.count < ROOM:
            self.world.spawn([place], velocity=(self.rng.uniform(0, 0.3), 0))

    def frame(self, seconds):
        """Turn the wheel; marbles that left the picture are free for new ones."""
        world = self.world
        world.angular_velocity[WHEEL] = self.turns
        world.advance(seconds)
        x, y = world.position.T
        gone = world.alive & ((y < -0.5) | (x < -0.5) | (x > WIDTH / SCALE + 0.5))
        if gone.any():
            world.kill(np.flatnonzero(gone))


def pixel(place):
    return place[0] * SCALE, HEIGHT - place[1] * SCALE


def draw(pygame, screen, run):
    screen.fill("#14213d")
    for first, second in RAMPS + STOPS:
        pygame.draw.line(screen, "#8d99ae", pixel(first), pixel(second), 5)
    places, angles = run.world.interpolate(), run.world.interpolate_angles()
    for row in np.flatnonzero(run.world.alive).tolist():
        centre, r = pixel(places[row]), SCALE * (RADIUS if row == WHEEL else MARBLE)
        colour = "#adb5bd" if row == WHEEL else COLOURS[row % len(COLOURS)]
        pygame.draw.aacircle(screen, colour, centre, r, 5 if run.ring[row] else 0)
        for turn in np.arange(6 if row == WHEEL else 2) * (np.pi / 3 if row == WHEEL else np.pi):
            a = angles[row] + turn
            tip = centre[0] + r * np.cos(a), centre[1] - r * np.sin(a)  # pixels count downwards
            pygame.draw.line(screen, colour if run.ring[row] else "#14213d", centre, tip, 3)


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: a marble run")
    font, run, shown = pygame.font.Font(None, 26), Run(), 0
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return run, screen
            if key in (pygame.K_UP, pygame.K_DOWN):
                run.turns -= 2 if key == pygame.K_UP else -2
            if event.type == pygame.MOUSEBUTTONDOWN:
                run.drop((event.pos[0] / SCALE, (HEIGHT - event.pos[1]) / SCALE))
        if shown % 30 == 0:
            run.drop((0.8, 7.6))
        run.frame(1 / 60 if frames else seconds)
        draw(pygame, screen, run)
        screen.fill("#0d1526", (0, HEIGHT - 32, WIDTH, 32))
        text = f"drop [mouse button]   wheel [up, down] {run.turns:.0f} rad/s   full marbles catch up with rings"
        screen.blit(font.render(text, True, "#e5e5e5"), (12, HEIGHT - 25))
        pygame.display.flip()
        shown += 1
    return run, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
