"""Fake game engines: each shows a given number of frames and records what was drawn."""

from types import SimpleNamespace


class Frames:
    """Display of an engine: shows `count` frames and records what was drawn in each."""

    def __init__(self, count=30):
        self.left, self.drawn = count, []

    def __bool__(self):
        self.left -= 1
        return self.left >= 0


def fake_pygame(frames):
    surface = SimpleNamespace(fill=lambda colour: frames.drawn.append([]))
    event = SimpleNamespace(get=lambda: [] if frames else [SimpleNamespace(type=256)])
    return SimpleNamespace(
        QUIT=256,
        event=event,
        time=SimpleNamespace(Clock=lambda: SimpleNamespace(tick=lambda fps: 17)),
        display=SimpleNamespace(set_mode=lambda size: surface, flip=lambda: None, set_caption=lambda text: None),
        mouse=SimpleNamespace(get_pos=lambda: (400, 300)),
        draw=SimpleNamespace(
            circle=lambda surface, colour, center, radius: frames.drawn[-1].append(center),
            rect=lambda surface, colour, rectangle: frames.drawn[-1].append(rectangle),
        ),
    )


def fake_pyglet(frames):
    handlers, shapes = {}, []

    def circle(x, y, radius, batch):
        shapes.append(SimpleNamespace(position=(x, y)))
        return shapes[-1]

    def run_app(interval):
        while frames:
            handlers["on_refresh"](0.017)

    window = SimpleNamespace(event=lambda f: handlers.setdefault(f.__name__, f), clear=lambda: None)
    batch = SimpleNamespace(draw=lambda: frames.drawn.append([shape.position for shape in shapes]))
    return SimpleNamespace(
        window=SimpleNamespace(Window=lambda width, height: window),
        graphics=SimpleNamespace(Batch=lambda: batch),
        shapes=SimpleNamespace(Circle=circle),
        app=SimpleNamespace(run=run_app),
    )


def fake_arcade(frames):
    windows = []

    class Window:
        def __init__(self, width, height):
            windows.append(self)

        def clear(self):
            pass

    def run_window():
        while frames:
            windows[0].on_update(0.017)
            windows[0].on_draw()

    def draw_points(points, colour, size):
        frames.drawn.append(points.copy())

    return SimpleNamespace(
        Window=Window, run=run_window, draw_points=draw_points, color=SimpleNamespace(WHITE=(255, 255, 255))
    )


FAKES = {"pygame": fake_pygame, "pyglet": fake_pyglet, "arcade": fake_arcade}
