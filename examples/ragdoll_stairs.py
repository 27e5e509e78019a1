"""Ragdolls tumble down the stairs: click to throw one more.

Keys: Space stops time; Escape ends. `--frames 300` plays by itself.
Bones are `kd.Distance` and the steps `kd.Boxes`, both solved by `kd.Contacts` with all that touches. Weak `kd.Springs`
keep limbs from folding up, and a doll that is thrown is a set of rows that `spawn` fills.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE, DOLLS = 960, 640, 80, 5  # pixels; pixels in a metre; dolls at most
STEPS, RISE, RUN = 9, 0.55, 0.85  # of the stairs; m
SHAPE = np.array(
    [  # of a standing doll: x, y from the hip (m), mass (kg), radius (m)
        (0.00, 0.82, 5, 0.15), (0.00, 0.58, 9, 0.09), (0.00, 0.00, 12, 0.11),  # 0 head, 1 neck, 2 hip
        (-0.26, 0.42, 2, 0.06), (0.26, 0.42, 2, 0.06), (-0.46, 0.24, 1, 0.06), (0.46, 0.24, 1, 0.06),  # elbows, hands
        (-0.14, -0.38, 4, 0.07), (0.14, -0.38, 4, 0.07), (-0.18, -0.78, 2, 0.07), (0.18, -0.78, 2, 0.07),  # knees, feet
    ]
)  # fmt: skip
POINTS = len(SHAPE)
BONES = [(0, 1), (1, 2), (1, 3), (1, 4), (3, 5), (4, 6), (2, 7), (2, 8), (7, 9), (8, 10)]
MUSCLES = [(0, 2), (3, 4), (7, 8), (1, 5), (1, 6), (2, 9), (2, 10), (1, 7), (1, 8)]
COLOURS = ("#ef476f", "#ffd166", "#06d6a0", "#4cc9f0", "#f78c6b")


def of_all(pairs):  # the same pairs of points for every doll
    return (np.array(pairs) + POINTS * np.arange(DOLLS)[:, None, None]).reshape(-1, 2)


def lengths(pairs):
    return np.tile(np.linalg.norm(np.diff(SHAPE[np.array(pairs), :2], axis=1)[:, 0], axis=1), DOLLS)


def stairs():
    """Lower and upper corners of the steps, from the top left to the bottom right, and of the floor."""
    left, top = RUN * np.arange(STEPS), RISE * np.arange(STEPS, 0, -1)
    lower = np.stack([left, np.full(STEPS, -2.0)], axis=1)
    return np.vstack([lower, (-5, -2)]), np.vstack([np.stack([left + RUN, top], axis=1), (20, 0.25)])


class Fall:
    def __init__(self):
        self.rng, self.thrown = np.random.default_rng(5), 0
        bones = kd.Distance(of_all(BONES), length=lengths(BONES), iterations=16)
        muscles = kd.Springs(of_all(MUSCLES), 250.0, rest_length=lengths(MUSCLES), damping=12.0)
        ground = {"shapes": [kd.Boxes(*stairs(), friction=0.15)], "walls": [kd.Box((0, -5), (WIDTH / SCALE, 50))]}
        # As soft as 45 Hz: stiffer ones would make arms that are nearly straight tremble under load.
        dolls = {"joints": [bones], "restitution": 0.1, "friction": 0.3, "hertz": 45, "substeps": 8}
        contacts = kd.Contacts(np.tile(SHAPE[:, 3], DOLLS), **dolls, **ground)
        self.world = kd.Stepper(
            np.zeros((DOLLS * POINTS, 2)),
            mass=np.tile(SHAPE[:, 2], DOLLS),
            alive=0,
            clock=kd.FixedClock(60, policy="match"),
            forces=[kd.Gravity((0, -9.81)), muscles, kd.Damping(0.3)],
            constraints=[contacts],
        )

    def throw(self, place):
        """Another doll, turned at random; if there are enough, the oldest one is thrown again."""
        angle, spin = self.rng.uniform(-0.5, 0.5), self.rng.uniform(-5, -2)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        points = SHAPE[:, :2] @ turn
        velocity = spin * points[:, ::-1] * [-1, 1] + (3.0, 1.0)
        points += np.clip(place, (1, 6.2), (WIDTH / SCALE - 1, 9))
        if self.thrown < DOLLS:
            self.world.spawn(points, velocity=velocity)
        else:
            doll = POINTS * (self.thrown % DOLLS) + np.arange(POINTS)
            self.world.teleport(doll, points)
            self.world.velocity[doll] = velocity
        self.thrown += 1


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: ragdolls on the stairs")
    font, fall, shown = pygame.font.Font(None, 26), Fall(), 0
    radius, blocks = SHAPE[:, 3] * SCALE, np.stack(stairs(), axis=1) * [SCALE, -SCALE] + [0, HEIGHT]
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return fall, screen
            if event.type == pygame.MOUSEBUTTONDOWN:
                fall.throw((event.pos[0] / SCALE, (HEIGHT - event.pos[1]) / SCALE))
            if key == pygame.K_SPACE:
                (fall.world.clock.resume if fall.world.clock.paused else fall.world.clock.pause)()
        if frames and shown % 70 == 0:  # without a player
            fall.throw((1.0, 6.4))
        fall.world.advance(1 / 60 if frames else seconds)

        pixels = fall.world.interpolate() * [SCALE, -SCALE] + [0, HEIGHT]  # NaN where no doll is
        screen.fill("#1d2236")
        for (left, bottom), (right, top) in blocks.tolist():
            pygame.draw.rect(screen, "#4a4e69", (left, top, right - left + 1, bottom - top))
        for doll in range(DOLLS):
            points = pixels[POINTS * doll : POINTS * (doll + 1)].tolist()
            if fall.world.alive[POINTS * doll]:
                for one, other in BONES:
                    pygame.draw.line(screen, COLOURS[doll], points[one], points[other], int(1.6 * radius[other]))
                for place, size in zip(points, radius.tolist(), strict=True):
                    pygame.draw.aacircle(screen, COLOURS[doll], place, size)
        screen.blit(font.render("throw a doll [click]   stop [Space]", True, "#e5e5e5"), (330, 10))
        pygame.display.flip()
        shown += 1
    return fall, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
