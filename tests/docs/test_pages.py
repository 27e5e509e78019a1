"""Pages in docs/: their code runs, their links and names exist. `.ci/run` builds them."""

import ast
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from engines import FAKES, Frames

import kickdrift as kd
from kickdrift import cli
from kickdrift.clock import options
from kickdrift.constraints.base import Constraint
from kickdrift.demos.loops import LOOPS
from kickdrift.forces.base import Term

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
make_api, make_tables = import_module("make_api"), import_module("make_tables")
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
TEXTS = {name: (DOCS / name).read_text(encoding="utf-8") for name in PAGES}
NEEDS = {
    "beyond-one-machine.md": "dask",
    "own-code.md": "numba",
    "integrators.md": "matplotlib",
    "teaching.md": "matplotlib",
}


def blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```", TEXTS[name], re.MULTILINE | re.DOTALL)


def rows(name, header):
    """Return the cells of the table whose header row starts with `header`."""
    (body,) = re.findall(rf"^\| {header} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", TEXTS[name], re.MULTILINE)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in body.splitlines()]


@pytest.mark.parametrize("name", [name for name in PAGES if "```python" in TEXTS[name]])
def test_the_code_of_a_page_runs(name, monkeypatch, tmp_path):
    """Run the code from top to bottom in one program, with fake engines that show thirty frames."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for number, block in enumerate(blocks(name, "python")):
        for engine, fake in FAKES.items():
            monkeypatch.setitem(sys.modules, engine, fake(Frames()))
        exec(compile(block, f"{name}, block {number}", "exec"), names)


def test_every_code_block_names_its_language():
    for name, text in TEXTS.items():
        opened = re.findall(r"^```(\S*)\n", text, re.MULTILINE)
        kinds = {kind for kind in opened if kind}
        assert kinds <= {"python", "sh", "c", "text", "{toctree}", "{include}", "{glossary}"}, name


def test_every_page_is_in_the_table_of_contents():
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
def test_commands_can_be_parsed(name, capsys):
    for block in blocks(name, "sh"):
        for arguments in re.findall(r"^python -m kickdrift (.*)$", block, re.MULTILINE):
            if ".py" not in arguments:
                cli._parser().parse_args(arguments.split())


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_short(name):
    """A page has at most 900 words, without code and tables."""
    text = re.sub(r"^```.*?^```", "", TEXTS[name], flags=re.MULTILINE | re.DOTALL)
    assert len(re.sub(r"^\|.*$", "", text, flags=re.MULTILINE).split()) <= 900


def test_recipes_are_short():
    assert all(len(block.splitlines()) <= 20 for block in blocks("recipes.md", "python"))


def test_figures_equal_the_benchmark_results():
    if not make_tables.RESULTS.exists():
        pytest.skip("bench/ is not in this copy")
    for page in (make_tables.SPEED, make_tables.README):
        assert make_tables.filled(page) == page.read_text(encoding="utf-8"), "python docs/make_tables.py"


def test_the_api_pages_list_every_public_name():
    public = {name for name in kd.__all__ if not name.startswith("_")}
    assert public - make_api.public() == {"INTEGRATORS", "flows", "math", "reference"}
    assert make_api.public() <= public
    pages = {page for group in make_api.PAGES.values() for page in group} | make_api.MODULES.keys()
    assert set(re.findall(r"^api/([a-z-]+)$", TEXTS["api.md"], re.MULTILINE)) == pages


@pytest.mark.parametrize("name", sorted(make_api.public()))
def test_a_table_of_parameters_has_all_of_them(name):
    item = getattr(kd, name)
    assert make_api.undocumented(item) == set()
    steps_or_goes_back = name in {*make_api.WHOLE, "Stepper", "Worlds"}
    for member in (*dir(item), *make_api.MEMBERS.get(name, "").split()) if steps_or_goes_back else ():
        if not member.startswith("_"):
            assert make_api.undocumented(getattr(item, member)) == set(), member


def test_parameters_are_found_in_a_docstring():
    """A parameter begins a line or a sentence; its text ends with the paragraph, or before the list of exceptions."""
    text = """A b: c.

stiffness: k in N/m, of
each: one. damping: kg/s
second. potential(position): in N m,

alpha, pairs,
gamma: as before. Raises Error.

>>> pairs: int = 2 * 3
pairs: 6"""
    lines = text.splitlines()
    rest, found = make_api.arguments(lines, {"stiffness", "damping", "potential", "alpha", "pairs", "gamma"})
    assert found == {
        "stiffness": "k in N/m, of each: one.",
        "damping": "kg/s second.",
        "potential": "called as potential(position): in N m,",
        "alpha, pairs, gamma": "as before.",
    }
    assert [line for line in rest if line] == ["A b: c.", "Raises Error.", ">>> pairs: int = 2 * 3", "pairs: 6"]


def test_units_come_from_the_first_sentence():
    for text, unit in {
        "k >= 0 in N/m, scalar": "N/m",
        "T in N m, of a body": "N m",
        "s in m²/s²": "m²/s²",
        "m, 0, or (dim,)": "m",
        "seconds per step": "s",
        "steps per second": "Hz",
        "whether it takes longer than two seconds": "–",
        "how many. Each is in m": "–",
        "a mask": "–",
    }.items():
        assert make_api.unit(text) == unit, text


def test_the_api_pages_list_every_member_of_stepper():
    grouped = [name for _, names in make_api.STEPPER.values() for name in names.split()]
    assert sorted(grouped) == sorted(name for name in dir(kd.Stepper) if not name.startswith("_"))


def test_glossary_entries_link_to_one_page():
    (body,) = blocks("glossary.md", r"\{glossary\}")
    for entry in body.strip().split("\n\n"):
        assert len(re.findall(r"\]\([a-z-]+\.md\)", entry)) == 1, entry


def test_the_table_of_clocks():
    calls = [row[0].strip("`") for row in rows("clock.md", "clock")]
    assert sorted(calls) == sorted(loop.call for loop in LOOPS)
    assert {row[2]: row[0].strip("`") for row in rows("clock.md", "clock") if row[2] < "5"} == {
        loop.name: loop.call for loop in LOOPS if loop.name < "5"
    }
    for call in re.findall(r"`(FixedClock\([^`]*\))`", TEXTS["clock.md"]):
        assert eval(call, {"FixedClock": kd.FixedClock}).tick == 0


def test_the_table_of_overload_rules():
    rules = [row[0].strip("`") for row in rows("clock.md", "`overload=`")]
    assert [rule.strip('"').partition("(")[0] for rule in rules] == list(options.OVERLOADS)
    for rule in rules:
        kd.FixedClock(overload=rule.strip('"'))


def test_the_table_of_integrators():
    described = {}
    for name, order, forces, symplectic, advice in rows("integrators.md", "name"):
        described[name.strip("`")] = order, forces, symplectic
        assert advice.endswith(".")
    assert described.keys() == kd.INTEGRATORS.keys()
    for name, (order, forces, symplectic) in described.items():
        scheme = kd.INTEGRATORS[name]()
        if scheme.order_with_drag == scheme.order:
            assert order == ("exact" if name == "exact" else f"{scheme.order:g}")
        else:
            assert order == f"{scheme.order:g} (drag: {scheme.order_with_drag:g})"
        if name == "energy_euler":
            assert forces == "1, –"
        elif scheme.force_evaluations is None:
            assert forces == "iterates"
        else:
            assert forces == f"{scheme.force_evaluations}, {scheme.force_evaluations_with_drag}"
        assert symplectic == ("yes" if scheme.symplectic else "no")


def names(base):
    """Return the names of kickdrift's derived classes; other tests may define their own."""
    derived = [cls for cls in base.__subclasses__() if cls.__module__.startswith("kickdrift.")]
    return set().union(*map(names, derived)) or {base.__name__}


def test_the_table_of_terms():
    signatures = [row[0].strip("`") for row in rows("forces.md", "force")]
    assert {signature.partition("(")[0] for signature in signatures} == names(Term)


def test_the_table_of_constraints():
    signatures = [row[0].strip("`") for row in rows("constraints.md", "constraint")]
    assert {signature.partition("(")[0] for signature in signatures} == names(Constraint)


EXPRESSIONS = sorted({found for text in TEXTS.values() for found in re.findall(r"`(kd\.[A-Z]\w+\([^`]*\))`", text)})


@pytest.mark.parametrize("expression", [each for each in EXPRESSIONS if "..." not in each])
def test_instances_in_the_text_can_be_created(expression):
    assert eval(expression, {"kd": kd}) is not None


def test_every_example_is_in_the_gallery():
    """Each example is in the gallery and has a title in conf.py for sphinx-gallery."""
    files = sorted((DOCS.parent / "examples").glob("*.py"))
    (titles,) = re.findall(
        r"^TITLES = ({.*?^})", (DOCS / "conf.py").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert sorted(ast.literal_eval(titles)) == [file.stem for file in files]
    for file in [*files, *(DOCS.parent / "examples").glob("*.ipynb")]:
        assert f"`{file.name}`" in TEXTS["gallery.md"], file.name
        if file.suffix == ".py" and file.stem != "netplay":  # has no window
            assert f"(pictures/gallery-{file.stem}.png)" in TEXTS["gallery.md"], file.name


def test_names_and_instances_of_clock_options():
    """A name and the instance beside it select the same option."""
    for argument, header in (("policy", "policy"), ("overload", "overload rule")):
        table = rows("clock.md", header)
        known_options = options.POLICIES if argument == "policy" else options.OVERLOADS
        assert [row[0].strip('`"').partition("(")[0] for row in table] == list(known_options)
        for name, instance in table:
            made = kd.FixedClock(60, **{argument: eval(instance.strip("`"), {"kd": kd})})
            named = kd.FixedClock(60, **{argument: name.strip('`"')})
            assert getattr(made, argument) == getattr(named, argument) == name.strip('`"')


def test_pictures_are_small():
    for path in DOCS.glob("pictures/*.png"):
        assert path.stat().st_size < 150_000, path.name
    for path in DOCS.glob("pictures/*.webp"):
        assert path.stat().st_size < 1_500_000, path.name
