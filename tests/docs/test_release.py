"""Consistency of a release: versions, addresses, and README as a package index shows it."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kickdrift as kd

ROOT = Path(__file__).parents[2]
if not (ROOT / "tools" / "release.py").exists() or not (ROOT / "CITATION.cff").exists():
    pytest.skip("not in this copy", allow_module_level=True)
sys.path.insert(0, str(ROOT / "tools"))
readme, release = import_module("readme"), import_module("release")

TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in release.CHECKED}


def test_versions_agree():
    settings = [(file, setting) for file, setting, _ in release.lacking(TEXTS) if "version:" in setting]
    assert not settings
    assert f"version {kd.__version__}" in (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")


def test_a_complete_release_lacks_nothing():
    texts = dict(TEXTS)
    texts["pyproject.toml"] = re.sub(
        r"\[project.urls\]\n",
        '[project.urls]\nSource = "s"\nDocumentation = "d"\nIssues = "i"\nIndex = "x"\n',
        texts["pyproject.toml"],
    ).replace('{ name = "The kickdrift maintainers" }', '{ name = "a", email = "b" }')
    texts["CITATION.cff"] += "doi: 10.5281/zenodo.1\ndate-released: 2027-01-01\n"
    texts["CHANGELOG.md"] = texts["CHANGELOG.md"].replace("- unreleased", "- 2027-01-01")
    recipe = texts["tools/conda-forge/recipe.yaml"].replace("0" * 64, "1" * 64)
    texts["tools/conda-forge/recipe.yaml"] = recipe.replace("recipe-maintainers: []", "recipe-maintainers: [me]")
    assert release.lacking(texts, [f"v{kd.__version__}"]) == []


@pytest.mark.parametrize("address", [None, "https://pages.example/en/stable/"])
def test_links_in_the_description_are_absolute(address):
    """Test with the address of the documentation set, and without."""
    urls = {"Documentation": address} if address else {}
    text = readme.description((ROOT / "README.md").read_text(encoding="utf-8"), urls)
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert all(target.startswith("https://") for target in targets), targets
    pages = [target for target in targets if address and target.startswith(address)]
    assert len(pages) > 10 or not address
    for target in pages:
        name = target.removeprefix(address).partition("#")[0]
        folder = "docs/pictures" if name.startswith("_images/") else "docs"
        assert (ROOT / folder / name.removeprefix("_images/").replace(".html", ".md")).is_file(), target
