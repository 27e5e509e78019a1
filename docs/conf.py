"""How Sphinx builds these pages: python -m sphinx -W -b html docs build/docs."""

import inspect
import re

from sphinx.ext.napoleon import Config, NumpyDocstring

import kickdrift

project = "kickdrift"
author = copyright = "The kickdrift maintainers"
release = version = kickdrift.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "kickdrift"
html_static_path = []
html_copy_source = False
nitpicky = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"


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
    app.connect("autodoc-process-docstring", plain)
