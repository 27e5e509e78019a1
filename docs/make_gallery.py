"""Run the examples and demos and save a picture of each in docs/pictures: python docs/make_gallery.py [NAME ...].

Uses xvfb-run if there is no screen (apt-get install xvfb libgl1-mesa-dri). Reports and skips what is not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
WIDTH, HEIGHT = 480, 400  #: largest size of a gallery picture in pixels
#: Number of the frame to save, by example.
EXAMPLES = {
    "pygame_scene": 70,
    "pyglet_scene": 90,
    "arcade_scene": 110,
    "raylib_scene": 150,
    "panda3d_scene": 100,
    "asteroids": 330,
    "breakout": 900,
    "pinball": 400,
    "platformer": 200,
    "fountain": 240,
    "torn_cloth": 150,
    "rope_bridge": 150,
    "grapple": 446,
    "solar_system": 900,
    "magnetic_bottle": 150,
    "predator_prey": 150,
    "ball_pit": 300,
    "tutorial/bricks": 400,
    "marble_run": 1300,
    "pool": 75,
    "ragdoll_stairs": 260,
    "lennard_jones": 500,
    "air_hockey": 120,
    "golf_search": 300,
}
DEMOS = ("attractor",)  #: demos whose `--plot` is shown
#: Pictures of README: two rows of three, left to right.
HERO = ("panda3d_scene", "torn_cloth", "solar_system", "rope_bridge", "predator_prey", "arcade_scene")

PLAY = """
import inspect, runpy, sys
path, frames, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
tutorial = "/tutorial/" in path
main = None if tutorial else runpy.run_path(path).get("main")
if main and "picture" in inspect.signature(main).parameters:
    main(frames, out)
    sys.exit()
import pygame
if tutorial:
    pygame.mouse.get_pos = lambda: (420, 300)
flip, shown = pygame.display.flip, 0
def flip_and_count():
    global shown
    flip()
    shown += 1
    if shown == frames:
        pygame.image.save(pygame.display.get_surface(), out)
        sys.exit()
pygame.display.flip = flip_and_count
if main and "frames" in inspect.signature(main).parameters:
    main(frames)
else:
    sys.argv = [path]
    runpy.run_path(path, run_name="__main__")
"""


def play(name, frames, out):
    """Run an example for a number of frames, and save the last one unchanged."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "SDL_AUDIODRIVER": "dummy"}
    screen = []
    if not os.environ.get("DISPLAY"):
        environment["SDL_VIDEODRIVER"] = "dummy"  # for pygame; the others need a screen
        screen = ["xvfb-run", "-a"] if shutil.which("xvfb-run") else []
    command = [*screen, sys.executable, "-c", PLAY, str(ROOT / "examples" / f"{name}.py"), str(frames), str(out)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def save(picture, name):
    """Save a small file: 256 colours are sufficient."""
    path = FOLDER / f"{name}.png"
    picture.convert("RGB").quantize(256).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes", flush=True)


def small(picture, width=WIDTH):
    picture = picture.convert("RGB")
    picture.thumbnail((width, width * HEIGHT // WIDTH), Image.Resampling.LANCZOS)
    return picture


def hero(pictures):
    """Crop all pictures to 3 : 2 and arrange them in a grid."""
    width, height = 320, 213
    whole = Image.new("RGB", (3 * width, 2 * height))
    for place, name in enumerate(HERO):
        picture = pictures[name].convert("RGB")
        wanted = picture.width * 2 // 3
        if picture.height > wanted:
            top = (picture.height - wanted) // 2
            picture = picture.crop((0, top, picture.width, top + wanted))
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
        whole.paste(picture, (place % 3 * width, place // 3 * height))
    return whole


def main(names):
    pictures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, frames in EXAMPLES.items():
            if (names and name not in names) or not (ROOT / "examples" / f"{name}.py").exists():
                continue
            raw = Path(folder) / f"{name.replace('/', '-')}.png"
            played = play(name, frames, raw)
            if not raw.exists():
                print(f"{name} is left out: {played.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                continue
            with Image.open(raw) as picture:
                pictures[name] = picture.copy()
            save(small(pictures[name]), f"gallery-{name.replace('/', '-')}")
        for name in DEMOS:
            if names and name not in names:
                continue
            raw = Path(folder) / f"{name}.png"
            command = [sys.executable, "-m", "kickdrift", "demo", name, "--plot", str(raw)]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            with Image.open(raw) as picture:
                save(small(picture, 720), f"gallery-demo-{name}")
    if set(HERO) <= pictures.keys():
        save(hero(pictures), "hero")


if __name__ == "__main__":
    main(sys.argv[1:])
