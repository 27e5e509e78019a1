"""Balls on strings in a window of raylib: wave machine. Escape ends; `--frames 300` plays by itself.

24 pendulums, each a little longer than the one before. They start together, drift apart, and meet again after a minute.
Sideways, the swings are drawn 2.2 times as wide as they are.
"""

import argparse

import numpy as np

import kickdrift as kd

WIDTH, HEIGHT, COUNT, G = 960, 640, 24, 9.81
ROUND = 60.0  # s, after which all are together again
SWINGS = 40 + np.arange(COUNT)[::-1]  # of each in this time
LENGTH = G * (ROUND / SWINGS / (2 * np.pi)) ** 2  # m: T = 2 pi sqrt(l / g)
SCALE = 880  # pixels in a metre


def make_world():
    """Small swings: each pendulum is a spring of its own frequency, sqrt(g / l), and moves in one dimension."""
    return kd.Stepper(
        np.full((COUNT, 1), 0.16),  # rad, from the vertical
        clock=kd.FixedClock(120, policy="match"),
        integrator="exact",
        forces=[kd.AnchorSpring(G / LENGTH)],
    )


def main(frames=None, picture=None):
    import pyray as rl

    rl.set_trace_log_level(rl.TraceLogLevel.LOG_WARNING)
    rl.set_config_flags(rl.ConfigFlags.FLAG_MSAA_4X_HINT)
    rl.init_window(WIDTH, HEIGHT, "kickdrift under raylib")
    rl.set_target_fps(60)
    world, shown = make_world(), 0
    paper, line, text = rl.Color(20, 33, 61, 255), rl.Color(90, 100, 130, 255), rl.Color(220, 220, 230, 255)
    hues = [rl.color_from_hsv(15.0 * number, 0.65, 1.0) for number in range(COUNT)]
    while shown != frames and not rl.window_should_close():
        world.advance(1 / 60 if frames else rl.get_frame_time())
        angle = world.interpolate()[:, 0]
        x, y = WIDTH / 2 + 2.2 * SCALE * LENGTH * np.sin(angle), 40 + SCALE * LENGTH * np.cos(angle)
        rl.begin_drawing()
        rl.clear_background(paper)
        for end, hue in zip(np.stack([x, y], axis=1).tolist(), hues, strict=True):
            rl.draw_line_ex((WIDTH / 2, 40), end, 1.5, line)
            rl.draw_circle_v(end, 11, hue)
        rl.draw_text(f"{world.time:5.1f} s of {ROUND:.0f} s   close [Escape]", 12, 12, 20, text)
        rl.end_drawing()
        shown += 1
    if picture:
        image = rl.load_image_from_screen()
        rl.export_image(image, str(picture))
        rl.unload_image(image)
    rl.close_window()
    return world


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, help="play so many frames without a player")
    main(parser.parse_args().frames)
