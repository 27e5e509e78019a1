"""Film two examples side by side, without their texts, as docs/pictures/motion.webp: python docs/make_motion.py."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
FILM = ROOT / "docs" / "pictures" / "motion.webp"
LIMIT = 1_500_000  #: bytes
SCENES = {"ball_pit": (120, 36), "torn_cloth": (8, 0)}  #: first frame shown, pixels cropped at the top
SIZE, FRAMES, EVERY = (380, 246), 90, 3  #: size of each scene; number of pictures; frames between them

PLAY = """
import runpy, sys
path, first, count, every, out = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
import pygame
class Silent:
    def __init__(self, *options):
        pass
    def render(self, *options):
        return pygame.Surface((1, 1), pygame.SRCALPHA)
pygame.init()
pygame.font.Font = Silent
flip, shown = pygame.display.flip, 0
def keep():
    global shown
    flip()
    taken, rest = divmod(shown - first, every)
    if rest == 0 and 0 <= taken < count:
        pygame.image.save(pygame.display.get_surface(), f"{out}/{taken:03}.png")
    shown += 1
pygame.display.flip = keep
pygame.time.Clock = lambda: type("Clock", (), {"tick": lambda self, rate: 17})()
runpy.run_path(path)["main"](first + count * every)
"""


def film(name, folder):
    """Return the pictures of a scene, cropped and scaled to SIZE."""
    first, top = SCENES[name]
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "SDL_AUDIODRIVER": "dummy"}
    environment["SDL_VIDEODRIVER"] = "dummy"
    example, numbers = ROOT / "examples" / f"{name}.py", map(str, (first, FRAMES, EVERY))
    subprocess.run([sys.executable, "-c", PLAY, str(example), *numbers, folder], env=environment, check=True)
    for number in range(FRAMES):
        with Image.open(f"{folder}/{number:03}.png") as picture:
            picture = picture.convert("RGB").crop((0, top, picture.width, picture.height))
            width = min(picture.width, picture.height * SIZE[0] // SIZE[1])
            height, left = width * SIZE[1] // SIZE[0], (picture.width - width) // 2
            above = picture.height - height if top else 0
            picture = picture.crop((left, above, left + width, above + height))
            yield picture.resize(SIZE, Image.Resampling.LANCZOS)


def main():
    width, height = SIZE
    pictures = [Image.new("RGB", (width * len(SCENES), height), "#14213d") for _ in range(FRAMES)]
    for place, name in enumerate(SCENES):
        with tempfile.TemporaryDirectory() as folder:
            for whole, picture in zip(pictures, film(name, folder), strict=True):
                whole.paste(picture, (place * width, 0))
    options = {"save_all": True, "append_images": pictures[1:], "duration": 1000 * EVERY // 60, "loop": 0}
    pictures[0].save(FILM, quality=50, method=5, **options)
    print(f"{FILM.relative_to(ROOT)}: {FILM.stat().st_size:,} bytes")
    return FILM.stat().st_size > LIMIT


if __name__ == "__main__":
    sys.exit(main())
