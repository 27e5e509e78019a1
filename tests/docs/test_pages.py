"""The pages in docs/: their code runs, their links and names exist. `.ci/run` builds them."""

import re
import sys
from pathlib import Path

import pytest
from engines import FAKES, Frames

import kickdrift as kd
from kickdrift import cli

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
TEXTS = {name: (DOCS / name).read_text(encoding="utf-8") for name in PAGES}
NEEDS = {"beyond-one-machine.md": "dask", "own-code.md": "numba"}


def blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXTS[name], re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", [name for name in PAGES if "```python" in TEXTS[name]])
def test_the_code_of_a_page_runs(name, monkeypatch, tmp_path):
    """From top to bottom, in one program, with engines that show thirty frames."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, block in enumerate(blocks(name, "python")):
        for engine, fake in FAKES.items():
            monkeypatch.setitem(sys.modules, engine, fake(Frames()))
        exec(compile(block, f"{name}, block {number}", "exec"), names)


def test_every_block_says_what_it_is():
    for name, text in TEXTS.items():
        opened = re.findall(r"^```(\S*)\n", text, re.MULTILINE)
        kinds = {kind for kind in opened if kind}
        assert kinds <= {"python", "sh", "c", "text", "{toctree}", "{eval-rst}"}, name


def test_every_page_is_in_the_contents():
    listed = re.findall(r"^([a-z-]+)$", "".join(blocks("index.md", r"\{toctree\}")), re.MULTILINE)
    assert sorted([*(f"{name}.md" for name in listed), "index.md"]) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_links_and_pictures_exist(name):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", TEXTS[name]):
        assert (DOCS / target).is_file(), target


@pytest.mark.parametrize("name", PAGES)
def test_names_in_the_text_exist(name):
    for attribute in re.findall(r"`kd\.(\w+)", TEXTS[name]):
        assert hasattr(kd, attribute), attribute


@pytest.mark.parametrize("name", PAGES)
def test_commands_are_understood(name, capsys):
    for block in blocks(name, "sh"):
        for arguments in re.findall(r"^python -m kickdrift (.*)$", block, re.MULTILINE):
            if ".py" not in arguments:
                cli._parser().parse_args(arguments.split())


def test_the_reference_lists_every_public_name():
    listed = set(re.findall(r"^\.\. auto\w+:: (\w+)", TEXTS["api.md"], re.MULTILINE))
    public = {name for name in kd.__all__ if not name.startswith("_")}
    assert public - listed <= {"INTEGRATORS", "flows", "reference"}
    assert listed - {"kickdrift"} <= public
