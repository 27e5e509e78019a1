"""The built pages: the search finds common queries, and no link is broken. Needs Sphinx, and Node for the search."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

for module in ("sphinx", "myst_parser", "furo", "sphinx_gallery", "sphinx_design", "sphinx_copybutton"):
    pytest.importorskip(module)

DOCS = Path(__file__).parents[2] / "docs"
SEARCHED = {
    "rope": "constraints",
    "jitter": "mistakes",
    "stutter": "mistakes",
    "tunnelling": "mistakes",
    "explosion": "mistakes",
    "save": "snapshots",
    "pause": "recipes",
    "screen shake": "recipes",
    "install": "first-ten-minutes",
    "units": "units",
    "kinematic": "levels",
    "screen wrap": "periodic",
    "delta time": "game-loop",
    "physics interpolation": "game-loop",
    "deterministic lockstep": "determinism",
    "notebook": "teaching",
    "tutorial": "tutorial-ball",
    "memory map": "recording",
    "Contacts": "api/contacts",
    "ODEStepper": "api/odestepper",
}
ASK = """
const fs = require("fs"), vm = require("vm"), [site, ...queries] = process.argv.slice(1);
const nothing = () => null;
const page = {documentElement: {dataset: {content_root: ""}}, addEventListener: nothing, getElementById: nothing,
  readyState: "loading", currentScript: {}};
const context = vm.createContext({document: page, console, URLSearchParams,
  DOCUMENTATION_OPTIONS: {FILE_SUFFIX: ".html"},
  SPHINX_HIGHLIGHT_ENABLED: false, localStorage: {removeItem: nothing, setItem: nothing}});
context.window = context;
for (const file of ["_static/language_data.js", "_static/doctools.js", "_static/searchtools.js", "searchindex.js"])
  vm.runInContext(fs.readFileSync(`${site}/${file}`, "utf8"), context);
context.queries = queries;
const found = vm.runInContext(`queries.map(query =>
  Search._performSearch(...Search._parseQuery(query)).reverse().slice(0, 3).map(hit => hit[0]))`, context);
console.log(JSON.stringify(Object.fromEntries(queries.map((query, i) => [query, found[i]]))));
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built pages: $KICKDRIFT_SITE, as in .ci/run, or a new build."""
    if folder := os.environ.get("KICKDRIFT_SITE"):
        return Path(folder)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(DOCS), str(folder)]
    subprocess.run(command, check=True, timeout=1200)
    return folder


def test_the_search_finds_common_queries(site):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    command = [node, "-e", ASK, str(site), *SEARCHED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    hits = json.loads(done.stdout)
    assert {query: hits[query] for query, page in SEARCHED.items() if page not in hits[query]} == {}


class Links(HTMLParser):
    """Collect link targets and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            if name in ("href", "src") and value:
                self.targets.add(value)


def test_no_link_is_broken(site):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = set()
    for path, links in pages.items():
        for target in links.targets:
            if re.match(r"[a-z]+:|//", target):
                continue
            file, _, anchor = unquote(target.partition("?")[0] if "#" not in target else target).partition("#")
            goal = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not goal.exists() or (anchor and goal in pages and anchor not in pages[goal].anchors):
                broken.add((str(path.relative_to(site)), target))
    assert not broken


def test_code_in_the_reference_can_be_copied(site):
    """Examples contain no backslashes of the markup, and none has been parsed as a parameter."""
    for path in (site / "api").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        code = re.sub(r"<[^>]+>", "", "".join(re.findall(r"(?s)<pre>.*?</pre>", text)))
        assert not re.findall(r".*\\\*.*", code), path
        assert not re.findall(r"<(?:strong|li|td)[^>]*>(?:<p>)?(?:&gt;){3}", text), path


def test_lessons_are_pages_with_all_questions(site):
    for notebook in (DOCS / "notebooks").glob("*.ipynb"):
        cells = notebook.read_text(encoding="utf-8")
        page = (site / "lessons" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert page.count("<details>") == cells.count("<details>") > 0
        assert page.count("<img") >= cells.count('"image/png"') > 0
        assert f"/{notebook.name}" in page
        assert f"lessons/{notebook.stem}.html" in (site / "teaching.html").read_text(encoding="utf-8")


def test_pages_load_nothing_from_other_sites(site):
    """Pages work without a network: formulas are MathML, fonts and scripts are local."""
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="https?:', text), path
