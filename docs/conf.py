"""How Sphinx builds these pages: python -m sphinx -W -b html docs build/docs."""

import inspect
import re
from pathlib import Path

from sphinx.ext.napoleon import Config, NumpyDocstring

import kickdrift

project = "kickdrift"
author = copyright = "The kickdrift maintainers"
release = version = kickdrift.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "kickdrift"
html_static_path = []
html_copy_source = False
nitpicky = False
suppress_warnings = ["config.cache"]  # Order cannot be pickled
autodoc_typehints = "none"
autodoc_member_order = "bysource"


DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "build" / "examples"  #: what sphinx-gallery reads
TITLES = {
    "pygame_scene": "pygame-ce: bouncing balls",
    "pyglet_scene": "pyglet: more balls",
    "arcade_scene": "arcade: sparks around the mouse",
    "raylib_scene": "raylib: pendulums",
    "panda3d_scene": "Panda3D: balls in a room",
    "asteroids": "Asteroids",
    "breakout": "Breakout",
    "pinball": "Pinball",
    "ball_pit": "A ball pit",
    "fountain": "A fountain in the wind",
    "netplay": "Netplay",
    "torn_cloth": "A curtain that tears",
    "rope_bridge": "A rope bridge",
    "ragdoll_stairs": "Ragdolls on the stairs",
    "solar_system": "The solar system",
    "magnetic_bottle": "A magnetic bottle",
    "lennard_jones": "A Lennard-Jones fluid",
    "predator_prey": "Foxes and rabbits",
}


class Order:
    """As in TITLES."""

    def __init__(self, folder):
        pass

    def __call__(self, name):
        return list(TITLES).index(name.removesuffix(".py"))


sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "examples",
    "within_subsection_order": Order,
    "plot_gallery": "False",  # they open windows: docs/make_gallery.py makes their pictures
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
}


def prepare_examples():
    """Copies of the examples, with a title and a picture on top, as sphinx-gallery wants them."""
    EXAMPLES.mkdir(parents=True, exist_ok=True)
    head = "Programs\n========\n\nThe programs of the gallery. Each is one short file, and none needs the others.\n"
    (EXAMPLES / "GALLERY_HEADER.rst").write_text(head, encoding="utf-8")
    for path in sorted((DOCS.parent / "examples").glob("*.py")):
        title = TITLES[path.stem]
        _, text, code = path.read_text(encoding="utf-8").split('"""', 2)
        text = "\n".join(inline(line) for line in text.splitlines())
        picture = f"pictures/gallery-{path.stem}.png"
        seen = f"\n.. image:: /{picture}\n   :alt: {title}\n" if (DOCS / picture).exists() else ""
        thumbnail = f'# sphinx_gallery_thumbnail_path = "{picture}"\n' if seen else ""
        page = f'r"""\n{title}\n{"=" * len(title)}\n{seen}\n{text}\n"""\n{thumbnail}{code}'
        copy = EXAMPLES / path.name
        if not copy.exists() or copy.read_text(encoding="utf-8") != page:
            copy.write_text(page, encoding="utf-8")


def inline(line):
    """Names in backticks are code; bars, stars and underscores are what they are."""
    line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
    parts = re.split(r"(``.*?``)", line)
    parts[::2] = [re.sub(r"([|*\\]|(?<=\w)_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def plain(app, what, name, item, options, lines):
    """Docstrings are written for help(): make reStructuredText of them, with a paragraph for each argument."""
    try:
        arguments = set(inspect.signature(item).parameters)
    except (TypeError, ValueError):
        arguments = set()
    sections = any(re.fullmatch(r"\s*---+", line) for line in lines)  # NumPy's style
    text, example, code = [], False, False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if sections or example:
            text.append(line if example else inline(line))
            continue
        indented = line.startswith(" ")
        if indented and not code and text and text[-1]:
            line, indented = line.strip(), False  # the rest of an argument
        if indented and not code:
            text += ["::", ""]
        code = indented or (code and not line.strip())
        if not indented:
            line = inline(line)
            if (found := re.match(r"(\w+(?:, \w+)*): ", line)) and set(found[1].split(", ")) <= arguments:
                text.append("")
                line = f"**{found[1]}**: {line[found.end() :]}"
        text.append(line)
    if sections:
        text = NumpyDocstring("\n".join(text), Config(napoleon_use_rtype=False), app, what, name, item, options).lines()
    lines[:] = text


def setup(app):
    prepare_examples()
    app.connect("autodoc-process-docstring", plain)
