"""The notebooks of docs/notebooks: they run, and their stored outputs are what they print."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
make_notebooks = import_module("make_notebooks")
NOTEBOOKS = sorted(make_notebooks.FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored(path):
    pytest.importorskip("matplotlib")
    book = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    for cell, outputs in zip(cells, make_notebooks.run(book), strict=True):
        assert [output["output_type"] for output in outputs] == [output["output_type"] for output in cell["outputs"]]
        if "varies" not in cell["metadata"].get("tags", []):  # times differ between machines
            assert make_notebooks.texts(outputs) == make_notebooks.texts(cell["outputs"]), (
                "python docs/make_notebooks.py"
            )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_questions_and_folded_answers(path):
    text = "".join("".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"])
    assert text.count("**Question ") == text.count("<details><summary>Answer</summary>\n\n") >= 3
    assert text.count("\n\n</details>") == text.count("<details>")
    assert f"](notebooks/{path.name})" in (DOCS / "teaching.md").read_text(encoding="utf-8")


def test_there_are_five():
    assert len(NOTEBOOKS) == 5
