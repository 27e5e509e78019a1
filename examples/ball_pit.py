"""A ball pit: pour balls on a pile, and plough through it with the mouse.

Keys: hold the mouse button to pour; the white ball follows the mouse; E empties the pit; Escape ends.
`--frames 300` plays by itself. `kd.Contacts` lets piles come to rest. The white ball is a body of infinite mass: it
pushes the others, and none of them pushes it.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE, ROOM = 960, 640, 80, 400  # pixels; pixels in a metre; balls at most, with the white one
WHITE, FASTEST = 0, 12.0  # row of the white ball; m/s
COLOURS = ("#ef476f", "#ffd166", "#06d6a0", "#4cc9f0", "#f78c6b")
FUNNEL = [((0.6, 1.0), 1.6), ((-0.6, 1.0), -5.6)]  # normal and offset of the two slopes


def slope(normal, offset, radius):
    """A wall along a slope; the normal of any length points to where the balls are."""
    length = np.hypot(*normal)
    return kd.Plane(np.array(normal) / length, offset / length, friction=0.3, radius=radius)


class Pit:
    def __init__(self):
        size = np.array([WIDTH, HEIGHT]) / SCALE  # m
        self.rng = np.random.default_rng(7)
        self.radius = self.rng.uniform(0.1, 0.22, ROOM)
        self.radius[WHITE] = 0.5
        mass = 40 * self.radius**2
        mass[WHITE] = np.inf
        walls = [slope(*each, self.radius) for each in FUNNEL]
        walls.append(kd.Box(0, (size[0], 3 * size[1]), radius=self.radius))
        position = np.zeros((ROOM, 2))
        position[WHITE] = (1.0, 7.0)
        self.world = kd.Stepper(
            position,
            mass=mass,
            alive=1,
            clock=kd.FixedClock(60, policy="match"),
            forces=[kd.Gravity((0, -9.81))],
            constraints=[kd.Contacts(self.radius, friction=0.3, walls=walls)],
        )

    def pour(self, place):
        """Three balls at this place, side by side, as long as there is room."""
        count = min(3, ROOM - self.world.count)
        if count:
            places = place + np.stack([np.arange(count) - 1, self.rng.uniform(0, 0.2, count)], axis=1) * [0.46, 1]
            self.world.spawn(places, velocity=(0, -4))

    def empty(self):
        self.world.kill(np.flatnonzero(self.world.alive)[1:])

    def frame(self, seconds, goal):
        """The white ball moves by its velocity, so that the balls in its way are pushed, and not jumped into."""
        for _ in self.world.ticks(seconds):
            way = (goal - self.world.position[WHITE]) / self.world.dt
            speed = max(np.hypot(*way) / FASTEST, 1)
            self.world.velocity[WHITE] = way / speed


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: a ball pit")
    font, pit, shown = pygame.font.Font(None, 26), Pit(), 0
    corners = [[(0, HEIGHT - 128), (213, HEIGHT), (0, HEIGHT)], [(WIDTH, HEIGHT - 128), (747, HEIGHT), (WIDTH, HEIGHT)]]
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return pit, screen
            if key == pygame.K_e:
                pit.empty()
        x, y = pygame.mouse.get_pos()
        goal, pouring = np.array([x, HEIGHT - y]) / SCALE, pygame.mouse.get_pressed()[0]
        if frames:  # without a player
            angle = shown / 40
            goal, pouring = np.array([6 + 3 * np.sin(angle), 2.2 + 0.8 * np.cos(2 * angle)]), True
        if pouring and shown % 3 == 0:
            pit.pour(np.array([goal[0] if not frames else 6.0, HEIGHT / SCALE + 0.5]))
        pit.frame(1 / 60 if frames else seconds, goal)

        pixels = (pit.world.interpolate() * [SCALE, -SCALE] + [0, HEIGHT]).tolist()  # NaN where no ball is
        screen.fill("#14213d")
        for corner in corners:
            pygame.draw.polygon(screen, "#33415c", corner)
        for row in np.flatnonzero(pit.world.alive).tolist():
            colour = "#ffffff" if row == WHITE else COLOURS[row % len(COLOURS)]
            pygame.draw.aacircle(screen, colour, pixels[row], pit.radius[row] * SCALE)
        text = f"pour [mouse button]   plough [mouse]   empty [E]   {pit.world.count - 1} balls"
        screen.fill("#0d1526", (0, 0, WIDTH, 36))
        screen.blit(font.render(text, True, "#e5e5e5"), (12, 10))
        pygame.display.flip()
        shown += 1
    return pit, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
