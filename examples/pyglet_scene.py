"""Bouncing balls in a window of pyglet. Escape ends; `--frames 300` plays by itself.

The window's `on_refresh` comes once a frame with the time since the last one. That is all that `advance` needs.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, COUNT = 960, 640, 200
COLOURS = ((239, 71, 111), (255, 209, 102), (6, 214, 160), (76, 201, 240), (247, 140, 107))


def make_world():
    """Lengths are pixels here, and y points up, as in pyglet. So gravity is 1000 pixels a second squared."""
    rng = np.random.default_rng(3)
    radius = rng.uniform(6, 20, COUNT)
    place = np.stack(np.divmod(np.arange(COUNT), 12), axis=1) * [54, 52] + 30.0
    return kd.Stepper(
        place,
        rng.normal(0, 200, (COUNT, 2)),
        mass=radius**2,
        clock=kd.FixedClock(120, policy="match"),
        forces=[kd.Gravity((0, -1000))],
        constraints=[
            kd.ElasticCollisions(radius, restitution=0.9),
            kd.Box(0, (WIDTH, HEIGHT), restitution=0.9, radius=radius),
        ],
    ), radius


def main(frames=None, picture=None):
    import pyglet

    window = pyglet.window.Window(WIDTH, HEIGHT, caption="kickdrift under pyglet")
    pyglet.gl.glClearColor(0.08, 0.13, 0.24, 1)
    batch, (world, radius) = pyglet.graphics.Batch(), make_world()
    balls = [
        pyglet.shapes.Circle(0, 0, size, color=COLOURS[number % len(COLOURS)], batch=batch)
        for number, size in enumerate(radius.tolist())
    ]
    label = pyglet.text.Label("close [Escape]", x=12, y=HEIGHT - 24, font_size=12, batch=batch)
    shown = 0

    @window.event
    def on_refresh(seconds):
        nonlocal shown
        world.advance(1 / 60 if frames else seconds)
        for ball, place in zip(balls, world.interpolate().tolist(), strict=True):
            ball.position = place
        label.text = f"{COUNT} balls   step {world.tick}   close [Escape]"
        window.clear()
        batch.draw()
        shown += 1
        if shown == frames:
            if picture:
                pyglet.image.get_buffer_manager().get_color_buffer().save(picture)
            pyglet.app.exit()

    pyglet.app.run(0)
    window.close()
    return world


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
