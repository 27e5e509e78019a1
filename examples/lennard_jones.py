"""A fluid of 400 atoms that attract each other when near, and repel when very near: cool it, and it condenses.

Keys: up and down change the temperature of the thermostat; Escape ends. `--frames 300` plays by itself.
The force is a formula, Lennard-Jones' potential, in `kd.PairPotential`; the thermostat is `kd.Langevin`. Units are
those of the potential: lengths in diameters, energies in depths of its well, masses in atoms.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, SCALE, COUNT = 960, 640, 20, 400  # pixels; pixels in a length of 1
STEPS, DT = 20, 0.005  # a frame
HOT, COLD = (230, 57, 70), (69, 123, 157)  # colours of fast and slow atoms


class Fluid:
    def __init__(self, temperature=0.35):
        rng = np.random.default_rng(8)
        size = np.array([WIDTH, HEIGHT]) / SCALE
        grid = np.stack(np.divmod(np.arange(COUNT), 16), axis=1)  # 25 columns of 16
        self.thermostat = kd.Langevin(friction=0.5, temperature=temperature, seed=3)
        self.temperature = temperature
        self.world = kd.Stepper(
            grid * (size - (0, 2)) / (25, 16) + (1, 0.9),
            rng.normal(0, np.sqrt(temperature), (COUNT, 2)),
            dt=DT,
            forces=[kd.PairPotential("4*((1/r)**12 - (1/r)**6)", cutoff=2.5), self.thermostat],
            constraints=[kd.Box(0.5, size - (0.5, 2.5))],  # below the line of text
        )

    def heat(self, change):
        """Another temperature of the thermostat; the atoms follow within a few time units."""
        self.temperature = min(max(self.temperature + change, 0.05), 2.0)
        self.world.set(self.thermostat, temperature=self.temperature)

    def measured(self):
        """The temperature of the atoms: kinetic energy per atom, in two dimensions."""
        return self.world.energy()[0] / COUNT

    def bonds(self):
        """How many neighbours an atom has within 1.5 diameters: nearly 0 in a gas, 5 in a drop, 6 in a crystal."""
        return 2 * len(kd.Neighbours(self.world.position, 1.5).pairs()[0]) / COUNT


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: a Lennard-Jones fluid")
    font, fluid, shown = pygame.font.Font(None, 26), Fluid(), 0
    while shown != frames:
        watch.tick(60)
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return fluid, screen
        keys = pygame.key.get_pressed()
        if change := keys[pygame.K_UP] - keys[pygame.K_DOWN]:
            fluid.heat(0.01 * change)
        fluid.world.step(STEPS)  # no clock: time is that of the atoms

        screen.fill("#f1faee")
        speed = np.linalg.norm(fluid.world.velocity, axis=1) / 2
        colours = COLD + np.clip(speed, 0, 1)[:, None] * np.subtract(HOT, COLD)
        pixels = fluid.world.position * [SCALE, -SCALE] + [0, HEIGHT]
        for place, colour in zip(pixels.tolist(), colours.astype(int).tolist(), strict=True):
            pygame.draw.aacircle(screen, colour, place, 0.5 * SCALE)
        text = f"temperature of the thermostat {fluid.temperature:.2f} [up, down], of the atoms {fluid.measured():.2f}"
        screen.fill("#a8dadc", (0, 0, WIDTH, 36))
        screen.blit(font.render(f"{text}   {fluid.bonds():.1f} neighbours each", True, "#1d3557"), (12, 10))
        pygame.display.flip()
        shown += 1
    return fluid, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
