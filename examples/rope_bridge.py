"""A rope bridge: click to drop a ball on it. Balls that fall are taken out of the world.

Keys: R removes the bridge's middle rope, and hangs it up again; Escape ends. `--frames 300` plays by itself.
Ropes are `kd.Distance`, balls and planks meet by `kd.ElasticCollisions`, and balls come and go by `spawn` and `kill`.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE = 960, 640, 64  # pixels; pixels in a metre
PLANKS, BALLS = 27, 24  # planks with the two at the ends; room for so many balls
PLANK, BALL, SPAN = 0.2, 0.32, 11.4  # m: radii, and between the cliffs
LEFT, TOP = (WIDTH / SCALE - SPAN) / 2, 6.2  # m, of the left end


class Bridge:
    def __init__(self):
        # A bridge that hangs still: from link to link the slope grows by the weight of a plank.
        slope = np.linspace(-0.38, 0.38, PLANKS - 1)
        links = np.stack([np.ones(PLANKS - 1), slope], axis=1) / np.hypot(1, slope)[:, None]
        links *= SPAN / links[:, 0].sum()
        planks = np.array([(LEFT, TOP)] * PLANKS)
        planks[1:] += np.cumsum(links, axis=0)
        position = np.concatenate([planks, np.zeros((BALLS, 2))])
        ropes = np.stack([np.arange(PLANKS - 1), np.arange(1, PLANKS)], axis=1)
        middle = PLANKS // 2
        self.ropes = kd.Distance(np.delete(ropes, middle, axis=0), iterations=40)
        self.middle = kd.Distance(ropes[[middle]], iterations=40)
        self.whole, self.links, damping = True, ropes, kd.Damping(8)
        self.world = kd.Stepper(
            position,
            mass=np.repeat([1.0, 0.6], [PLANKS, BALLS]),  # kg
            alive=PLANKS,
            clock=kd.FixedClock(60, policy="match", substeps=4),
            forces=[kd.Gravity((0, -9.81)), damping],
            constraints=[
                kd.Pin([0, PLANKS - 1]),
                kd.ElasticCollisions(np.repeat([PLANK, BALL], [PLANKS, BALLS]), restitution=0.2),
                self.middle,
                self.ropes,
            ],
        )
        # So many sweeps leave ropes longer by a hair: 4 mm lower the bridge hangs still, before anybody sees it.
        self.world.step(1200)
        self.world.set(damping, rate=0.25)

    def drop(self, place):
        if self.world.count < PLANKS + BALLS:
            self.world.spawn(place)

    def toggle(self):
        self.whole = not self.whole
        self.world.enable(self.middle, self.whole)

    def tidy(self):
        """What has fallen out of the picture dies, but no plank."""
        fallen = self.world.alive & (self.world.position[:, 1] < -1)
        fallen[:PLANKS] = False
        if fallen.any():
            self.world.kill(fallen)


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: a rope bridge")
    font, bridge, shown = pygame.font.Font(None, 26), Bridge(), 0
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return bridge, screen
            if event.type == pygame.MOUSEBUTTONDOWN:
                bridge.drop((event.pos[0] / SCALE, (HEIGHT - event.pos[1]) / SCALE))
            if key == pygame.K_r:
                bridge.toggle()
        if frames and shown % 15 == 0:  # without a player
            bridge.drop((4.2 + 0.9 * (shown // 15 * 5 % 8), 9.5))
        bridge.world.advance(1 / 60 if frames else seconds)
        bridge.tidy()

        places = (bridge.world.interpolate() * [SCALE, -SCALE] + [0, HEIGHT]).tolist()  # NaN where nobody lives
        screen.fill("#a9d6e5")
        cliff = (LEFT + 0.15) * SCALE, HEIGHT - TOP * SCALE - 8
        for x in (0, WIDTH - cliff[0]):
            pygame.draw.rect(screen, "#6c584c", (x, cliff[1], cliff[0], HEIGHT))
            pygame.draw.rect(screen, "#588157", (x, cliff[1], cliff[0], 14))
        for number, (one, other) in enumerate(bridge.links.tolist()):
            if bridge.whole or number != PLANKS // 2:
                pygame.draw.line(screen, "#5e503f", places[one], places[other], 3)
        for row in np.flatnonzero(bridge.world.alive).tolist():
            plank = row < PLANKS
            size = (PLANK if plank else BALL) * SCALE
            pygame.draw.aacircle(screen, "#a47148" if plank else "#e63946", places[row], size)
        text = f"drop a ball [click]   {'cut' if bridge.whole else 'mend'} the rope [R]"
        text += f"   {bridge.world.count - PLANKS} balls"
        screen.blit(font.render(text, True, "#1d3557"), (12, 10))
        pygame.display.flip()
        shown += 1
    return bridge, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
