"""Balls in a room, in a window of Panda3D. Escape ends; `--frames 300` plays by itself.

A task moves the world by the time of the frame, and puts each model where `interpolate` says.
"""

import argparse

import numpy as np

import kickdrift as kd

COUNT, ROOM = 120, 6.0  # balls; m, half of the room's width
COLOURS = ((0.94, 0.28, 0.44), (1.0, 0.82, 0.4), (0.02, 0.84, 0.63), (0.3, 0.79, 0.94), (0.97, 0.55, 0.42))


def make_world():
    """Metres, and z points up, as in Panda3D."""
    rng = np.random.default_rng(5)
    radius = rng.uniform(0.3, 0.7, COUNT)
    place = np.stack(np.unravel_index(np.arange(COUNT), (6, 5, 4)), axis=1) * [1.9, 2.2, 2.0] + [-5, -4.6, 1]
    return kd.Stepper(
        place,
        rng.normal(0, 3, (COUNT, 3)),
        mass=radius**3,
        clock=kd.FixedClock(120, policy="match"),
        forces=[kd.Gravity((0, 0, -9.81))],
        constraints=[
            kd.ElasticCollisions(radius, restitution=0.85),
            kd.Box((-ROOM, -ROOM, 0), (ROOM, ROOM, 12), restitution=0.85, radius=radius),
        ],
    ), radius


def main(frames=None, picture=None):
    from direct.showbase.ShowBase import ShowBase
    from panda3d.core import AmbientLight, CardMaker, DirectionalLight

    # Without a player no window opens: the picture is drawn into memory.
    base = ShowBase(windowType="offscreen" if frames else None)
    base.setBackgroundColor(0.08, 0.13, 0.24)
    base.disableMouse()
    base.camera.setPos(0, -24, 9)
    base.camera.lookAt(0, 0, 3)
    for light, strength in ((AmbientLight("ambient"), 0.35), (DirectionalLight("sun"), 0.7)):
        light.setColor((strength, strength, strength, 1))
        node = base.render.attachNewNode(light)
        node.setHpr(-30, -55, 0)
        base.render.setLight(node)
    card = CardMaker("floor")
    card.setFrame(-ROOM, ROOM, -ROOM, ROOM)
    ground = base.render.attachNewNode(card.generate())
    ground.setP(-90)
    ground.setColor(0.25, 0.32, 0.48, 1)

    world, radius = make_world()
    sphere, balls = base.loader.loadModel("models/smiley"), []
    for number, size in enumerate(radius.tolist()):
        ball = sphere.copyTo(base.render)
        ball.setScale(size)
        ball.setTextureOff(1)
        ball.setColor(*COLOURS[number % len(COLOURS)], 1)
        balls.append(ball)

    def move(task):
        world.advance(1 / 60 if frames else base.clock.dt)
        for ball, place in zip(balls, world.interpolate().tolist(), strict=True):
            ball.setPos(*place)
        return task.cont

    base.taskMgr.add(move, "move")
    if frames is None:
        base.accept("escape", base.userExit)
        base.run()
    for _ in range(frames):
        base.taskMgr.step()
    if picture:
        base.win.saveScreenshot(str(picture))
    base.destroy()
    return world


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
