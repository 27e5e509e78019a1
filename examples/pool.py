"""Pool with side spin: balls slide, roll and curve on the cloth, in three dimensions, seen from above.

Keys: aim with the mouse, hold its button to strike harder; the arrow keys choose where the tip hits the cue ball: left
and right for side spin, up and down for follow and draw. R racks again; Escape ends. `--frames 300` plays by itself.
Balls collide by `ElasticCollisions`, which is exact at any speed; the table is a `Box` of `Contacts`, which has rolling
resistance, and a mask by which it ignores pairs of balls.
"""

import argparse
import math

import numpy as np

import kickdrift as kd

LONG, WIDE, R = 2.54, 1.27, 0.0285  # m
SCALE, MARGIN, BAR = 350, 40, 60  # pixels in a metre; pixels around the table, and below
SIZE = (int(LONG * SCALE) + 2 * MARGIN, int(WIDE * SCALE) + 2 * MARGIN + BAR)
POCKETS = np.array([(x, y) for x in (0, LONG / 2, LONG) for y in (0, WIDE)])
COLOURS = ("#f8f4e3", "#f2c14e", "#2e6fba", "#d1495b", "#6a4c93", "#f78154", "#2d936c", "#7f1d3a", "#222222")
#: Spots on a ball, in its own axes: they show how it turns.
SPOTS = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], float)


def rotated(q, v):
    """Vectors in the world's axes, of vectors in the body's: q v q*."""
    cross = 2 * np.cross(q[1:], v)
    return v + q[0] * cross + np.cross(q[1:], cross)


class Table:
    def __init__(self):
        rows = [(i, j) for i in range(5) for j in range(i + 1)]
        rack = [(0.72 * LONG + 1.75 * R * i, WIDE / 2 + 2.02 * R * (j - i / 2), R) for i, j in rows]
        position = np.array([(0.25 * LONG, WIDE / 2, R), *rack])
        position[1:, :2] += np.random.default_rng(2).uniform(-0.005, 0.005, (15, 2)) * R  # racked by hand
        # The cushions are planes of a box; the cloth is its floor.
        table = kd.Box((0, 0, 0), (LONG, WIDE, 9), friction=0.2)
        self.world = kd.Stepper(
            position,
            mass=0.17,
            alive=len(position),
            angular_velocity=0.0,
            clock=kd.FixedClock(240, policy="match"),
            forces=[kd.Gravity((0, 0, -9.81))],
            constraints=[
                kd.ElasticCollisions(R, restitution=0.95, friction=0.06, swept=True),
                kd.Contacts(R, restitution=0.75, rolling=0.01, walls=[table], mask=0),
            ],
        )

    @property
    def still(self):
        moves = np.abs(self.world.velocity).max(axis=1) + R * np.abs(self.world.angular_velocity).max(axis=1)
        return not (moves[self.world.alive] > 0.02).any()

    def strike(self, angle, speed, side, height):
        """side, height: where the tip meets the ball, in radii, from its centre. An impulse J at r gives r x J / I."""
        ahead, left = np.array([math.cos(angle), math.sin(angle), 0]), np.array([-math.sin(angle), math.cos(angle), 0])
        up = np.array([0, 0, 1.0])
        self.world.velocity[0] = speed * ahead
        self.world.angular_velocity[0] = 2.5 * speed / R * np.cross(-side * left + height * up, ahead)

    def frame(self, seconds):
        """Balls over a pocket are gone; the cue ball comes back."""
        self.world.advance(seconds)
        away = np.linalg.norm(self.world.position[:, None, :2] - POCKETS, axis=2).min(axis=1)
        potted = np.flatnonzero(self.world.alive & (away < 0.062))
        if potted.size:
            self.world.kill(potted)
            if 0 in potted:
                self.world.spawn([(0.25 * LONG, WIDE / 2, R)], rows=[0])


def pixel(place):
    return MARGIN + place[0] * SCALE, MARGIN + (WIDE - place[1]) * SCALE


def draw(pygame, screen, table):
    screen.fill("#4a2c17")
    screen.fill("#1b7a4b", (MARGIN, MARGIN, LONG * SCALE, WIDE * SCALE))
    for pocket in POCKETS:
        pygame.draw.circle(screen, "#101010", pixel(pocket), 0.06 * SCALE)
    places, turns = table.world.interpolate(), table.world.interpolate_angles()
    for row in np.flatnonzero(table.world.alive).tolist():
        centre, colour = pixel(places[row]), COLOURS[(row - 1) % 8 + 1 if row else 0]
        pygame.draw.aacircle(screen, colour, centre, R * SCALE)
        for x, y, z in rotated(turns[row], SPOTS):
            if z > 0.1:  # on the side that is seen
                spot = centre[0] + 0.8 * R * SCALE * x, centre[1] - 0.8 * R * SCALE * y
                pygame.draw.circle(screen, "#d1495b" if row == 0 else "#ffffff", spot, 1 + 2 * z)
        side = float(table.world.angular_velocity[row, 2])
        if abs(side) > 4:  # an arc about the ball: side spin, counter-clockwise to the left
            box, length = pygame.Rect(0, 0, 3 * R * SCALE, 3 * R * SCALE), min(abs(side) / 20, 6)
            box.center = centre
            pygame.draw.arc(screen, "#ffe066", box, *((0, length) if side > 0 else (-length, 0)), 2)


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode(SIZE), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: pool")
    font, table, shown, power, tip = pygame.font.Font(None, 26), Table(), 0, 0.0, np.array([0.3, 0.1])
    while shown != frames:
        seconds = watch.tick(60) / 1000
        x, y = pygame.mouse.get_pos()
        cue = pixel(table.world.position[0])
        angle, released = math.atan2(cue[1] - y, x - cue[0]), False
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return table, screen
            if key == pygame.K_r:
                table = Table()
            released = released or event.type == pygame.MOUSEBUTTONUP
        keys = pygame.key.get_pressed()
        change = keys[pygame.K_RIGHT] - keys[pygame.K_LEFT], keys[pygame.K_UP] - keys[pygame.K_DOWN]
        tip = np.clip(tip + 0.02 * np.array(change), -0.5, 0.5)
        if table.still:
            power = min(power + 6 * seconds, 8) if pygame.mouse.get_pressed()[0] else power
            if released or (frames and shown % 240 == 20):
                table.strike(*((0.01, 6.0) if frames else (angle, power)), *tip)
                power = 0.0
        table.frame(1 / 60 if frames else seconds)
        draw(pygame, screen, table)
        if table.still and not frames:
            goal = cue[0] + (60 + 30 * power) * math.cos(angle), cue[1] - (60 + 30 * power) * math.sin(angle)
            pygame.draw.aaline(screen, "#ffe066", cue, goal)
        text = f"strike [mouse]   tip [arrows]   again [R]   {table.world.count - 1} balls   {power:.1f} m/s"
        screen.blit(font.render(text, True, "#e5e5e5"), (70, SIZE[1] - 40))
        pygame.draw.circle(screen, "#f8f4e3", (35, SIZE[1] - 33), 20)
        pygame.draw.circle(screen, "#d1495b", (35 + 20 * tip[0], SIZE[1] - 33 - 20 * tip[1]), 4)
        pygame.display.flip()
        shown += 1
    return table, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
