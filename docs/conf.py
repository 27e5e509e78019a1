"""Sphinx configuration of these pages: python -m sphinx -W -b html docs build/docs."""

import inspect
import os
import re
import sys
from importlib import import_module
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes

import kickdrift

project = "kickdrift"
author = copyright = "The kickdrift maintainers"
release = version = kickdrift.__version__

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
make_api, make_lessons = import_module("make_api"), import_module("make_lessons")  # in this folder

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_gallery.gen_gallery"]
extensions += ["sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"kickdrift {version}"
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = html_favicon = "_static/logo.svg"
html_copy_source = False
html_math_renderer = "mathml"
nitpicky = False
suppress_warnings = ["config.cache"]  # Order cannot be pickled
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "NDArray": "NDArray"}
autodoc_member_order = "bysource"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
copybutton_exclude = ".linenos, .gp, .go"

EXAMPLES = DOCS.parent / "build" / "examples"  #: input of sphinx-gallery
TITLES = {
    "pygame_scene": "pygame-ce: bouncing balls",
    "pyglet_scene": "pyglet: more balls",
    "arcade_scene": "arcade: sparks around the mouse",
    "raylib_scene": "raylib: pendulums",
    "panda3d_scene": "Panda3D: balls in a room",
    "asteroids": "Asteroids",
    "breakout": "Breakout",
    "pinball": "Pinball",
    "platformer": "A platformer",
    "ball_pit": "A ball pit",
    "marble_run": "A marble run",
    "pool": "Pool",
    "fountain": "A fountain in the wind",
    "netplay": "Netplay",
    "torn_cloth": "A curtain that tears",
    "rope_bridge": "A rope bridge",
    "grapple": "A grapple",
    "ragdoll_stairs": "Ragdolls on the stairs",
    "solar_system": "The solar system",
    "magnetic_bottle": "A magnetic bottle",
    "lennard_jones": "A Lennard-Jones fluid",
    "predator_prey": "Foxes and rabbits",
    "air_hockey": "Air hockey that is learned",
    "golf_search": "Minigolf by tree search",
}


class Order:
    """Sort the examples by their order in TITLES."""

    def __init__(self, folder):
        pass

    def __call__(self, name):
        return list(TITLES).index(name.removesuffix(".py"))


sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "examples",
    "within_subsection_order": Order,
    "plot_gallery": "False",  # examples open windows: docs/make_gallery.py takes their pictures
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
}


def prepare_examples():
    """Copy the examples for sphinx-gallery, with a title and a picture at the top."""
    EXAMPLES.mkdir(parents=True, exist_ok=True)
    head = ":orphan:\n\nPrograms\n========\n"
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
    """Convert backticks to code literals, and escape bars, stars and underscores."""
    line = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line)
    parts = re.split(r"(``.*?``)", line)
    parts[::2] = [re.sub(r"([|*\\]|(?<=\w)_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def marked(lines):
    """Apply `inline` to all lines that are not code: neither indented, nor an example."""
    example = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        yield line if example or line.startswith(" ") else inline(line)


def plain(app, what, name, item, options, lines):
    """Convert docstrings, which are written for help(), to reStructuredText with a table of the parameters."""
    try:
        names = set(inspect.signature(item).parameters)
    except (TypeError, ValueError):
        names = set()
    rest, found = make_api.arguments(marked(lines), names)
    text, raised, example, code = [], [], False, False
    for line in rest:
        if line.lstrip().startswith(">>>") and not example:
            text += [*raises(raised), ".. rubric:: Example", ""]
            raised = []
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            indented = line.startswith(" ")
            if indented and not code:
                text += ["::", ""]
            code = indented or (code and not line.strip())
            if raised and line.strip() and raised[-1]:
                raised.append(line)
                continue
            if (begin := re.search(r"(?:^|(?<=\. ))Raises (?=\w)", line)) and not code:
                if line[: begin.start()].strip():
                    text.append(line[: begin.start()].strip())
                raised.append(line[begin.end() :])
                continue
        text.append(line)
    if found:
        at = text.index("") if "" in text else len(text)
        text[at:at] = make_api.table(item, found)
    text += raises(raised)
    if what == "class" and found and not any("Raises" in line for line in lines):
        text += raises(["TypeError or ValueError, which name the argument."])
    if cost := make_api.COST.get(name.rpartition(".")[2] if what == "class" else ""):
        text += [f"**Cost**: {inline(cost)}.", ""]
    lines[:] = text


def shortened(app, what, name, item, options, signature, returned):
    """Shorten the default of masks and types that are not evaluated, and leave out `self` of compiled methods."""
    if signature:
        signature = re.sub(r"^\(self(?:, )?", "(", signature)
        signature = re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", signature.replace(str(2**64 - 1), "2**64 - 1"))
    return signature, returned


def raises(lines):
    return ["", f"**Raises**: {' '.join(line.strip() for line in lines)}", ""] if lines else [""]


def link_names(app, doctree):
    """Link `kd.Name` to the API page of that name, and `name.py` to the page of that example."""
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        found = re.fullmatch(r"(?:kd\.)?([A-Z]\w+)(?:\(.*\))?", text, re.DOTALL)
        if isinstance(literal.parent, (nodes.reference, nodes.title)):
            continue
        if found and found[1] in make_api.public():
            target = {"refdomain": "py", "reftype": "obj", "reftarget": f"kickdrift.{found[1]}"}
        elif text.removeprefix("examples/").removesuffix(".py") in TITLES and text.endswith(".py"):
            target = {"refdomain": "std", "reftype": "doc", "reftarget": f"/examples/{Path(text).stem}"}
        else:
            continue
        link = addnodes.pending_xref(
            "", literal.deepcopy(), **target, refexplicit=True, refwarn=False, refdoc=app.env.docname
        )
        literal.replace_self(link)


def link_lessons(app, doctree):
    """Link a notebook to its page of docs/lessons, which has the notebook to download."""
    for link in list(doctree.findall(addnodes.download_reference)):
        path = Path(link["reftarget"])
        if path.parent.name == "notebooks" and not app.env.docname.startswith("lessons/"):
            target = {"refdomain": "std", "reftype": "doc", "reftarget": f"/lessons/{path.stem}"}
            page = addnodes.pending_xref("", **target, refexplicit=True, refwarn=True, refdoc=app.env.docname)
            page += nodes.inline("", link.astext())
            link.replace_self(page)


def stack_tables(app, doctree):
    """Label the cells of wide tables, and of tables whose last column is text: on phones each row is a paragraph."""
    for table in doctree.findall(nodes.table):
        head, *rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
        prose = len(head) > 2 and max(len(row[-1].astext()) for row in rows) > 24
        prose = prose or "parameters" in table["classes"]
        if not prose and len(head) < 6:
            continue
        table["classes"] += ["stacked", "prose"] if prose else ["stacked"]
        for row in rows:
            for label, cell in list(zip(head, row, strict=True))[1 : -1 if prose else None]:
                if label.astext() and cell.children:
                    cell[0].insert(0, nodes.inline("", f"{label.astext()} ", classes=["stacked-label"]))


def index_words(app, doctree):
    """Add the words of the glossary to the search index of the pages that explain them."""
    entries = []
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    for words, meaning in re.findall(r"((?:^\w.*\n)+)((?:^  .*\n)+)", text, re.MULTILINE):
        if f"]({app.env.docname}.md)" in meaning:
            entries += [("single", word, "", "main", None) for word in words.splitlines()]
    if entries:
        doctree.insert(0, addnodes.index(entries=entries, inline=False))


def drop_compiled(app):
    """Remove compiled modules, which have no Python source, from the list of sources."""
    app.env._viewcode_modules = {name: entry for name, entry in app.env._viewcode_modules.items() if entry}
    return []


def inline_math(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def block_math(translator, node):
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app):
    prepare_examples()
    make_api.write()
    make_lessons.write()
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    app.connect("autodoc-process-docstring", plain)
    app.connect("autodoc-process-signature", shortened)
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", link_lessons)
    app.connect("doctree-read", stack_tables)
    app.connect("doctree-read", index_words)
    app.connect("html-collect-pages", drop_compiled, priority=0)
