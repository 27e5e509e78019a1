"""The Sun and its planets, each of which attracts all others. Distances are drawn as square roots.

Keys: + and - change the speed; Space stops time; B runs it backwards (the clock stays, velocities turn round);
Escape ends. `--frames 300` plays by itself.
"""

import argparse
from collections import deque

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, TRAIL = 960, 720, 400
G = 2.9591220828559e-4  # au^3 / day^2 / solar mass
BODIES = (  # name, mass (suns), nearest distance (au), eccentricity, direction of it (degrees), pixels, colour
    ("Sun", 1.0, 0.0, 0.0, 0, 15, "#ffd166"),
    ("Mercury", 1.660e-7, 0.3075, 0.2056, 77, 4, "#b5b5b5"),
    ("Venus", 2.448e-6, 0.7184, 0.0068, 131, 7, "#e9c46a"),
    ("Earth", 3.040e-6, 0.9833, 0.0167, 103, 7, "#4cc9f0"),
    ("Mars", 3.227e-7, 1.3814, 0.0934, 336, 5, "#e76f51"),
    ("Jupiter", 9.548e-4, 4.9506, 0.0484, 15, 13, "#d4a373"),
    ("Saturn", 2.859e-4, 9.0412, 0.0539, 93, 11, "#e6ccb2"),
    ("Uranus", 4.366e-5, 18.286, 0.0473, 171, 9, "#90e0ef"),
    ("Neptune", 5.151e-5, 29.812, 0.0086, 45, 9, "#5a7dff"),
)


def make_world():
    """Each planet where it is nearest to the Sun; there its velocity is at right angles to it."""
    _, mass, near, eccentricity, degrees, _, _ = zip(*BODIES, strict=True)
    mass, near, eccentricity = map(np.array, (mass, near, eccentricity))
    angle = np.radians(degrees)
    speed = np.sqrt(G * (1 + mass) * (1 + eccentricity) / np.where(near > 0, near, np.inf))
    position = near[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    velocity = speed[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    velocity -= mass @ velocity / mass.sum()  # all together stay where they are
    clock = kd.FixedClock(dt=2, scale=200.0, max_steps=200, max_frame=20)  # time is days here: 200 a second
    return kd.Stepper(position, velocity, mass=mass, clock=clock, integrator="yoshida6", forces=[kd.NBody(G)])


def seen(position):
    """Pixels: the square root of the distance to the Sun, so that all planets are in the picture."""
    away = position - position[0]
    return away / np.sqrt(np.linalg.norm(away, axis=1, keepdims=True) + 1e-12) * [62, -62] + [WIDTH / 2, HEIGHT / 2]


def main(frames=None):
    import pygame

    pygame.init()
    screen, watch = pygame.display.set_mode((WIDTH, HEIGHT)), pygame.time.Clock()
    pygame.display.set_caption("kickdrift: the solar system")
    font, small = pygame.font.Font(None, 26), pygame.font.Font(None, 20)
    world, trail, shown = make_world(), deque(maxlen=TRAIL), 0
    total = sum(world.energy())
    while shown != frames:
        seconds = watch.tick(60) / 1000
        for event in pygame.event.get():
            key = event.unicode if event.type == pygame.KEYDOWN else ""
            if event.type == pygame.QUIT or key == "\x1b":
                return world, screen
            if key in ("+", "-"):
                world.clock.scale = min(max(world.clock.scale * (2 if key == "+" else 0.5), 1), 1000)
            if key == " ":
                (world.clock.resume if world.clock.paused else world.clock.pause)()
            if key == "b":
                world.velocity *= -1
        world.advance(1 / 60 if frames else seconds)
        places = seen(world.interpolate(mode="hermite"))  # two days are a long way for Mercury
        if not world.clock.paused:
            trail.append(places)

        screen.fill("#111a36")
        ways = np.stack(trail, axis=1)
        for (name, *_, size, colour), place, way in zip(BODIES, places.tolist(), ways, strict=True):
            for part in range(0, len(way) - 1, 10):  # older is darker
                bright = pygame.Color(colour).lerp("#111a36", 0.8 - 0.7 * part / len(way))
                pygame.draw.aalines(screen, bright, False, way[part : part + 11].tolist())
            pygame.draw.aacircle(screen, colour, place, size)
            if name != "Sun":  # names are on the side away from the Sun
                x, y = np.subtract(place, places[0]) / np.linalg.norm(np.subtract(place, places[0]))
                label = small.render(name, True, "#aab2c8")
                middle = place[0] + x * (size + 8 + label.get_width() / 2), place[1] + y * (size + 12)
                screen.blit(label, label.get_rect(center=middle))
        years, error = world.time / 365.25, sum(world.energy()) / total - 1
        text = f"{years:6.2f} years   {world.clock.scale:.0f} days a second [+, -]   stop [Space]   turn round [B]"
        screen.blit(font.render(text, True, "#e5e5e5"), (12, 10))
        screen.blit(small.render(f"energy off by {error:+.0e} of itself", True, "#8d99ae"), (12, 34))
        pygame.display.flip()
        shown += 1
    return world, screen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
