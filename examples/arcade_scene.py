"""Sparks that follow the mouse, in a window of arcade. Escape ends; `--frames 300` plays by itself.

`on_update` feeds the world the time of the frame, `on_draw` draws what `interpolate` returns. The mouse is the
centre of a gravity: `set` moves it, and snapshots would know.
"""

import argparse
import math

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, COUNT, MU = 960, 640, 6000, 2e7


def make_world():
    """Lengths are pixels here, and y points up, as in arcade."""
    rng = np.random.default_rng(4)
    middle = np.array([WIDTH, HEIGHT]) / 2
    pull = kd.PointGravity(MU, center=middle, softening=10)
    radius, angle = rng.uniform(30, 280, COUNT), rng.uniform(0, 2 * np.pi, COUNT)
    outward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    place = middle + radius[:, None] * outward
    velocity = np.sqrt(MU / radius)[:, None] * outward[:, ::-1] * [-1, 1]  # a circle for each
    world = kd.Stepper(
        place,
        velocity,
        clock=kd.FixedClock(60, policy="match"),
        forces=[pull],
    )
    return world, pull


def main(frames=None, picture=None):
    import arcade

    class Sparks(arcade.Window):
        def __init__(self):
            super().__init__(WIDTH, HEIGHT, "kickdrift under arcade")
            self.background_color = (10, 12, 28)
            self.world, self.pull = make_world()
            self.hint = arcade.Text("move the mouse   close [Escape]", 12, HEIGHT - 26, (200, 200, 210), 12)
            self.shown = 0

        def on_mouse_motion(self, x, y, dx, dy):
            self.world.set(self.pull, center=(x, y))

        def on_key_press(self, key, modifiers):
            if key == arcade.key.ESCAPE:
                arcade.exit()

        def on_update(self, seconds):
            if frames:  # without a player the centre goes round
                angle = self.shown / 60
                centre = WIDTH / 2 + 60 * math.sin(angle), HEIGHT / 2 + 60 * math.sin(2 * angle)
                self.world.set(self.pull, center=centre)
            self.world.advance(1 / 60 if frames else seconds)

        def on_draw(self):
            self.clear()
            arcade.draw_points(self.world.interpolate(), (255, 190, 90), 2)
            self.hint.draw()
            self.shown += 1
            if self.shown == frames:
                if picture:
                    arcade.get_image().convert("RGB").save(picture)
                arcade.exit()
                self.close()

    window = Sparks()
    arcade.run()
    return window.world


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
