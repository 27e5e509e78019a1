"""A platformer: lifts, platforms that hold from above, slopes, a conveyor belt, crates, coins and a camera.

Keys: left and right run, up or Space jumps, Escape ends. `--frames 300` plays by itself.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, TILE, LENGTH = 960, 480, 40, 3000.0  # px; y points down
PLAYER, CRATES, COINS = 0, range(1, 5), range(5, 17)  # rows
RUN, JUMP, GRAVITY = 260.0, 620.0, 1500.0
FLOOR = [(0, 440), (400, 440), (520, 440), (1560, 440), (1960, 320), (2480, 440)]  # corners of each floor
ENDS = [180.0, 440.0, 1200.0, 1760.0, 2280.0, LENGTH]
SLOPES = [[(1760, 440), (1960, 320)], [(2280, 320), (2480, 440)]]
LEDGES = np.array([(640.0, 350.0), (760.0, 270.0), (900.0, 350.0), (2040.0, 240.0)])
SIZE = np.array([120.0, 16.0])  # of ledges and lifts
UPPER = np.array([(1220.0, 350.0), (1370.0, 400.0), (2700.0, 200.0)])  # of the lifts
WAYS = np.array([(0.0, 80.0), (60.0, 0.0), (0.0, 200.0)])  # how far they go, and how fast
SPEEDS = np.array([(0.0, 70.0), (60.0, 0.0), (0.0, 90.0)])
COLOURS = {"floor": "#52796f", "ledge": "#84a98c", "lift": "#f4a261", "belt": "#e76f51", "sky": "#16213e"}


class Game:
    def __init__(self):
        floors = [((x, y), (end, HEIGHT + 80)) for (x, y), end in zip(FLOOR, ENDS, strict=True)]
        self.floor = kd.Boxes(*np.swapaxes(np.array(floors, float), 0, 1))
        self.slopes = kd.Segments(SLOPES)
        self.ledges = kd.Boxes(LEDGES, LEDGES + SIZE, one_way=(0, -1))  # one jumps up through them
        self.lifts = kd.Boxes(UPPER, UPPER + SIZE, velocity=SPEEDS)
        self.belt = kd.Boxes([(180, 440)], [(400, 560)], surface_speed=(120.0, 0.0))
        crates = [(700, 330), (960, 420), (1000, 420), (980, 380)]
        coins = [(460, 380), (700, 300), (820, 220), (960, 300), (1280, 240), (1450, 340), (1650, 400)]
        coins += [(1860, 330), (2100, 190), (2300, 250), (2600, 400), (2760, 150)]
        self.player = kd.Contacts(
            np.array([16.0] * 5 + [10.0] * 12),
            friction=np.array([0.0] + [0.6] * 16),
            shapes=[self.floor, self.slopes, self.ledges, self.lifts, self.belt],
            sensor=np.arange(17) > 4,
        )
        self.world = kd.Stepper(
            np.array([(60.0, 400.0), *crates, *coins]),
            mass=np.array([2.0] + [1.0] * 4 + [np.inf] * 12),
            clock=kd.FixedClock(120, policy="match"),
            forces=[kd.Gravity((0, GRAVITY))],
            constraints=[self.player],
            events=kd.Events(),
        )
        self.score, self.falls, self.jumps = 0, 0, 0

    def ground(self):
        """The velocity of what the player stands on; None in the air."""
        if not self.world.grounded(up=(0, -1))[PLAYER]:
            return None
        first = [0, *np.cumsum([len(shapes.ends()[0]) for shapes in self.world.current(self.player).shapes])]
        for pair in self.world.touching():
            if pair["slot_a"] == PLAYER and pair["slot_b"] < 0:
                number = -1 - int(pair["slot_b"])
                part = int(np.searchsorted(first, number, side="right")) - 1
                if part == 3:
                    return np.broadcast_to(self.world.current(self.lifts).velocity, (3, 2))[number - first[3]]
                return np.array([120.0 if part == 4 else 0.0, 0.0])
        return np.zeros(2)  # a crate

    def control(self, run, jump):
        """run: -1 to 1. On the ground it goes as it runs, on what moves; in the air it can be steered a little."""
        velocity, ground = self.world.velocity[PLAYER], self.ground()
        along = velocity[0] - (0 if ground is None else ground[0])
        most = (3000.0 if ground is not None else 1200.0) * self.world.dt
        velocity[0] += np.clip(run * RUN - along, -most, most)
        if jump and ground is not None:
            velocity[1] = min(ground[1], 0) - JUMP
            self.jumps += 1

    def move_lifts(self):
        """Each moves between its two ends."""
        now = self.world.current(self.lifts)
        way = now.lower - UPPER
        back = ((way >= WAYS) & (SPEEDS != 0)).any(axis=1)
        forth = ((way <= 0) & (SPEEDS != 0)).any(axis=1)
        speeds = np.broadcast_to(now.velocity, (3, 2))
        self.world.set(self.lifts, velocity=np.where(back[:, None], -SPEEDS, np.where(forth[:, None], SPEEDS, speeds)))

    def frame(self, seconds, run=0.0, jump=False, alone=False):
        for tick in self.world.ticks(seconds):
            if alone:
                edges = (
                    np.concatenate([ENDS[1:], self.world.current(self.lifts).upper[:, 0]])
                    - self.world.position[PLAYER, 0]
                )
                run, jump = 1.0, tick % 240 < 4 or ((edges > 0) & (edges < 16)).any()
            self.control(run, jump)
            self.move_lifts()
            x, y = self.world.position[PLAYER]
            if y > HEIGHT + 60:  # it fell; or it is at the end, and begins again
                self.falls += 1
                self.world.teleport(PLAYER, (60.0 if x > LENGTH else max(60.0, x - 400), 100.0))
                self.world.velocity[PLAYER] = 0
        for event in self.world.events.take():
            pair = sorted((event["slot_a"], event["slot_b"]))
            if event["kind"] == kd.BEGIN and pair[0] == PLAYER and pair[1] in COINS:
                self.score += 1
                self.world.kill(int(pair[1]))


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: platformer")
    font, game, shown, camera = pygame.font.Font(None, 26), Game(), 0, 0.0
    while shown != frames:
        seconds, jump = watch.tick(60) / 1000, False
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return game, screen
            jump = jump or (event.type == pygame.KEYDOWN and event.key in (pygame.K_UP, pygame.K_SPACE))
        keys = pygame.key.get_pressed()
        game.frame(1 / 60 if frames else seconds, keys[pygame.K_RIGHT] - keys[pygame.K_LEFT], jump, frames is not None)

        places, alive = game.world.interpolate(), game.world.alive
        camera += 0.1 * (np.clip(places[PLAYER, 0] - WIDTH / 3, 0, LENGTH - WIDTH) - camera)
        screen.fill(COLOURS["sky"])
        for name, shapes in (("floor", game.floor), ("belt", game.belt), ("ledge", game.ledges), ("lift", game.lifts)):
            for (x, y), (right, low) in game.world.interpolate_shapes(shapes).tolist():
                pygame.draw.rect(screen, COLOURS[name], (x - camera, y, right - x, low - y), border_radius=4)
        for a, b in SLOPES:
            corners = [a, b, (b[0], HEIGHT), (a[0], HEIGHT)]
            pygame.draw.polygon(screen, COLOURS["floor"], [(x - camera, y) for x, y in corners])
        for row in np.flatnonzero(alive).tolist():
            colour, size = ("#ffffff", 16) if row == PLAYER else ("#bc8a5f", 16) if row in CRATES else ("#ffd166", 10)
            pygame.draw.aacircle(screen, colour, (places[row, 0] - camera, places[row, 1]), size)
        text = f"{game.score} coins   run [left, right]   jump [space]"
        screen.blit(font.render(text, True, "#e5e5e5"), (16, 14))
        pygame.display.flip()
        shown += 1
    return game, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
