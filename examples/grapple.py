"""A grapple over a bridge that breaks: hold the left button to swing from a hook, click right to drop a boulder.

Keys: W and S wind the rope in and out; R builds a new bridge; Escape ends. `--frames 600` plays by itself.
The grapple is a `kd.Distance` with `max_length`: it only pulls, comes by `add`, is wound in by `set` and goes by
`remove`. The ropes of the bridge have `breaks_at`; `world.load` colours them, and each break is an event.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE = 960, 640, 64  # pixels; pixels in a metre
PLANKS, BOULDERS, LEFT, RIGHT, DECK = 30, 12, 2.2, 12.8, 3.2  # m: where the bridge hangs
HERO, HOOKS = PLANKS + 2, np.arange(PLANKS + 3, PLANKS + 9)  # rows: planks with both ends, hero, hooks, boulders
FIRST = HOOKS[-1] + 1
STRENGTH = np.random.default_rng(4).uniform(9000, 14000, PLANKS + 1)  # N, of the ropes of the bridge


class Game:
    def __init__(self):
        n = FIRST + BOULDERS
        position, mass, self.radius = np.zeros((n, 2)), np.full(n, 120.0), np.full(n, 0.42)
        self.ends = np.stack([np.arange(PLANKS + 1), np.arange(1, PLANKS + 2)], axis=1)
        across = np.linspace(0, 1, PLANKS + 2)
        position[:HERO] = np.stack([LEFT + (RIGHT - LEFT) * across, DECK - 5.2 * across * (1 - across)], axis=1)
        position[HERO], position[HOOKS, 0], position[HOOKS, 1] = (1.2, 6.0), np.linspace(1.5, 13.5, len(HOOKS)), 9.2
        mass[:HERO], mass[HERO] = 5.0, 70.0
        self.radius[:HERO], self.radius[HERO], self.radius[HOOKS] = 0.16, 0.3, 0.1
        self.bridge = kd.Distance(self.ends, compliance=2e-5, iterations=8)
        cliffs = kd.Boxes([(-9, -9), (RIGHT, -9)], [(LEFT, DECK), (24, DECK)])
        walls = [kd.Plane((1, 0), 0.0), kd.Plane((-1, 0), -WIDTH / SCALE)]
        self.world = kd.Stepper(
            position,
            mass=mass,
            alive=FIRST,
            clock=kd.FixedClock(60, policy="match"),
            forces=[kd.Gravity((0, -9.81)), kd.Damping(0.05)],
            constraints=[
                kd.Pin([0, PLANKS + 1, *HOOKS]),
                kd.Contacts(self.radius, friction=0.6, joints=[self.bridge], shapes=[cliffs], walls=walls, substeps=8),
            ],
            events=kd.Events(),
        )
        self.world.step(120)
        self.world.set(self.bridge, breaks_at=STRENGTH)  # now that it hangs still
        self.rope, self.hook, self.snapped, self.way = None, HOOKS[0], 0, 1

    def grab(self, hook):
        """Hang on a hook: by a rope as long as the way to it is now."""
        self.let_go()
        length = np.linalg.norm(self.world.position[HERO] - self.world.position[hook])
        self.hook, self.rope = hook, self.world.add(kd.Distance([(HERO, hook)], max_length=length))

    def let_go(self):
        if self.rope is not None:
            self.world.remove(self.rope)
        self.rope = None

    def wind(self, speed):
        """Shorten the rope, at a speed in m/s."""
        if self.rope is not None:
            length = self.world.current(self.rope).max_length - speed / 60
            self.world.set(self.rope, max_length=np.clip(length, 1.5, 9.0))

    def drop(self, x):
        self.world.spawn([(x, 9.8)] if self.world.count < len(self.world.alive) else np.zeros((0, 2)))

    def play(self, shown):
        """Without a player: from hook to hook, there and back, while boulders fall on the bridge."""
        (x, y), vy, at = self.world.position[HERO], self.world.velocity[HERO, 1], self.hook - HOOKS[0]
        if shown % 75 == 20:
            self.drop(4.5 + shown * 7 % 60 / 10)
        if self.rope is None and vy < 0.5:
            self.way = 1 if at <= 0 else -1 if at >= len(HOOKS) - 1 else self.way
            self.grab(HOOKS[np.clip(at + self.way, 0, len(HOOKS) - 1)])
        elif self.rope is not None:
            self.wind(4.0 if y < 6.0 else 0.0)
            if (x - self.world.position[self.hook, 0]) * self.way > 0.5 and vy > 0:
                self.let_go()

    def frame(self, seconds):
        self.world.advance(seconds)
        self.snapped += int((self.world.events.take()["kind"] == kd.BREAK).sum())
        fallen = self.world.alive & (self.world.position[:, 1] < -1)
        fallen[:FIRST] = False
        self.world.kill(fallen)
        if self.world.position[HERO, 1] < -1:
            self.world.teleport([HERO], [[1.2, 6.0]])


def draw(screen, font, game):
    import pygame

    world = game.world
    places = (world.interpolate() * [SCALE, -SCALE] + [0, HEIGHT]).tolist()  # NaN where nobody lives
    screen.fill("#dfe7ee")
    for x in (0, RIGHT):
        pygame.draw.rect(screen, "#6c757d", (x * SCALE, HEIGHT - DECK * SCALE, LEFT * SCALE, HEIGHT))
    load, whole = np.abs(world.load(game.bridge)) / STRENGTH, world.whole(game.bridge)
    for number, (one, other) in enumerate(game.ends.tolist()):
        if whole[number]:
            colour = int(60 + 190 * min(1.0, load[number])), 70, 60
            pygame.draw.line(screen, colour, places[one], places[other], 4)
    pull = 0.0 if game.rope is None else world.load(game.rope)[0]
    if game.rope is not None:
        pygame.draw.line(screen, "#bc4749" if pull > 0 else "#adb5bd", places[HERO], places[game.hook], 2)
    for row in np.flatnonzero(world.alive).tolist():
        colour = "#386641" if row == HERO else "#343a40" if row in HOOKS else "#8a5a44" if row < HERO else "#495057"
        pygame.draw.aacircle(screen, colour, places[row], game.radius[row] * SCALE)
    text = f"swing [left]   boulder [right]   rope [W, S]   bridge [R]      {pull:5.0f} N   {game.snapped} snapped"
    screen.blit(font.render(text, True, "#212529"), (12, 10))
    pygame.display.flip()


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: a grapple")
    font, game, shown = pygame.font.Font(None, 26), Game(), 0
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.key if event.type == pygame.KEYDOWN else None
            if event.type == pygame.QUIT or key == pygame.K_ESCAPE:
                return game, screen
            if event.type == pygame.MOUSEBUTTONDOWN:
                mouse = np.array([event.pos[0], HEIGHT - event.pos[1]]) / SCALE
                far = np.linalg.norm(game.world.position[HOOKS] - mouse, axis=1)
                game.grab(HOOKS[np.argmin(far)]) if event.button == 1 else game.drop(mouse[0])
            if event.type == pygame.MOUSEBUTTONUP and event.button == 1:
                game.let_go()
            game = Game() if key == pygame.K_r else game
        keys = pygame.key.get_pressed()
        game.wind(3.0 * (keys[pygame.K_w] - keys[pygame.K_s]))
        if frames:
            game.play(shown)
        game.frame(1 / 60 if frames else seconds)
        draw(screen, font, game)
        shown += 1
    return game, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
