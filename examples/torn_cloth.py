"""A curtain that tears: drag with the mouse to cut threads; what is pulled too far tears by itself.

Keys: W switches the wind; R hangs up a new curtain; Escape ends. `--frames 300` plays by itself.
A thread is a pair of `kd.Distance` with compliance 0. A torn one has so much compliance that it pulls no more.
"""

import argparse
import math

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, COLUMNS, ROWS, GAP = 960, 640, 46, 30, 14.0  # pixels; points; pixels between points
TORN, TOO_LONG, REACH = 1e9, 1.9, 12  # m/N; times its length; pixels around the mouse
COLOURS = np.array([(230, 57, 70), (241, 250, 238), (69, 123, 157), (241, 250, 238)])


class Curtain:
    def __init__(self):
        points = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
        across = np.stack([points[:, :-1].ravel(), points[:, 1:].ravel()], axis=1)
        down = np.stack([points[:-1].ravel(), points[1:].ravel()], axis=1)
        self.pairs = np.concatenate([across, down])
        self.compliance = np.zeros(len(self.pairs))
        y, x = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
        start = np.stack([WIDTH / 2 + (x - (COLUMNS - 1) / 2) * GAP, 60 + y * GAP], axis=1)
        self.threads = kd.Distance(self.pairs, length=GAP, iterations=12, compliance=self.compliance)
        self.wind = kd.LinearDrag(0.9)
        self.world = kd.Stepper(
            start,
            clock=kd.FixedClock(60, policy="match", substeps=2),
            integrator="verlet",
            forces=[kd.Gravity((0, 700)), self.wind],
            constraints=[kd.Pin(points[0, ::5]), self.threads, kd.Plane((0, -1), 15.0 - HEIGHT, friction=0.4)],
        )

    def tick(self, cut_from, cut_to, windy):
        """Cut along the mouse's way, tear what is too long, and let the wind change."""
        world = self.world
        one, other = world.position[self.pairs.T]
        torn = np.linalg.norm(other - one, axis=1) > TOO_LONG * GAP
        if cut_from is not None:
            way, middle = np.subtract(cut_to, cut_from), (one + other) / 2 - cut_from
            along = np.clip(middle @ way / max(way @ way, 1e-9), 0, 1)[:, None]
            torn |= np.linalg.norm(middle - along * way, axis=1) < REACH
        if (torn & (self.compliance == 0)).any():
            self.compliance[torn] = TORN
            world.set(self.threads, compliance=self.compliance)
        gust = 260 * math.sin(1.3 * world.time) * math.sin(0.37 * world.time + 1) if windy else 0.0
        world.set(self.wind, wind=(gust, 0))


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: a curtain that tears")
    font, curtain, windy, mouse, shown = pygame.font.Font(None, 26), Curtain(), True, None, 0
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return curtain, screen
            if key == pygame.K_w:
                windy = not windy
            if key == pygame.K_r:
                curtain = Curtain()
        before, pressed = mouse, frames is not None or pygame.mouse.get_pressed()[0]
        # Without a player: a cut across the middle.
        mouse = (260 + 4.0 * shown, 330 - 0.9 * shown) if frames else pygame.mouse.get_pos()
        for _ in curtain.world.ticks(1 / 60 if frames else seconds):
            curtain.tick(before if pressed else None, mouse, windy)

        screen.fill("#14213d")
        pygame.draw.line(screen, "#8d99ae", (120, 58), (WIDTH - 120, 58), 5)
        places = curtain.world.interpolate()
        whole = curtain.compliance == 0
        colours = COLOURS[curtain.pairs[:, 0] % COLUMNS // 4 % 4].tolist()
        for (one, other), colour, seen in zip(places[curtain.pairs].tolist(), colours, whole, strict=True):
            if seen:
                pygame.draw.aaline(screen, colour, one, other)
        text = f"cut [drag the mouse]   wind {'on' if windy else 'off'} [W]   new curtain [R]   {(~whole).sum()} torn"
        screen.blit(font.render(text, True, "#e5e5e5"), (12, 10))
        pygame.display.flip()
        shown += 1
    return curtain, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
