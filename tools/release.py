"""List the missing prerequisites of a release, and the file in which each is set."""

import re
import subprocess
import tomllib

import common

VERSION = "src/kickdrift/__init__.py"
CHECKED = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "tools/conda-forge/recipe.yaml", VERSION)


def lacking(texts, tags=()):
    """Return [(file, setting, purpose)] of the missing settings. texts: contents of the files in CHECKED, by name."""
    project = tomllib.loads(texts["pyproject.toml"])["project"]
    urls, (version,) = project.get("urls", {}), re.findall(r'^__version__ = "(.*)"', texts[VERSION], re.MULTILINE)
    (cited,) = re.findall(r"^version: (.*)$", texts["CITATION.cff"], re.MULTILINE)
    (packed,) = re.findall(r'^  version: "(.*)"$', texts["tools/conda-forge/recipe.yaml"], re.MULTILINE)
    (digest,) = re.findall(r"^  sha256: (\w+)", texts["tools/conda-forge/recipe.yaml"], re.MULTILINE)
    dated = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", texts["CHANGELOG.md"], re.MULTILINE)
    checks = [
        ("pyproject.toml", '[project.urls] Source = "https://..."', "the repository", "Source" in urls),
        ("pyproject.toml", '[project.urls] Documentation = "https://..."',
         "the published pages: links of README on the index, canonical addresses of the site", "Documentation" in urls),
        ("pyproject.toml", '[project.urls] Issues = "https://..."', "where faults are reported", "Issues" in urls),
        ("pyproject.toml", '[project.urls] Index = "https://pypi.org/p/NAME"',
         "the name on the index, once it is reserved for the workflow wheels.yml", "Index" in urls),
        ("pyproject.toml", "[project] authors: email", "reports that are not public", "email" in project["authors"][0]),
        ("CITATION.cff", "doi: 10...", "citations; reserve one before the release",
         re.search(r"^doi: 10\.", texts["CITATION.cff"], re.MULTILINE)),
        ("CITATION.cff", "date-released: YYYY-MM-DD", "the day of the release",
         re.search(r"^date-released: \d", texts["CITATION.cff"], re.MULTILINE)),
        ("CITATION.cff", f"version: {version}", "the version of the package", cited == version),
        ("CHANGELOG.md", f"## [{version}] - YYYY-MM-DD", "the day of the release", dated),
        ("tools/conda-forge/recipe.yaml", f'version: "{version}"', "the version of the package", packed == version),
        ("tools/conda-forge/recipe.yaml", "sha256: ...", "the sdist; after it is on the index", set(digest) != {"0"}),
        ("tools/conda-forge/recipe.yaml", "recipe-maintainers: [...]", "who keeps the feedstock",
         not re.search(r"recipe-maintainers: \[\]", texts["tools/conda-forge/recipe.yaml"])),
        ("git", f"git tag v{version}", "wheels.yml builds and publishes tags", f"v{version}" in tags),
    ]  # fmt: skip
    return [(file, setting, purpose) for file, setting, purpose, found in checks if not found]


def main():
    """Print the missing prerequisites; return their number."""
    texts = {name: (common.ROOT / name).read_text("utf-8") for name in CHECKED}
    tags = subprocess.run(["git", "tag"], cwd=common.ROOT, capture_output=True, text=True, check=False).stdout.split()
    missing = lacking(texts, tags)
    for file, setting, purpose in missing:
        print(f"{file}: {setting}\n    {purpose}")
    print(f"{len(missing)} things lack" if missing else "Nothing lacks: push the tag")
    return len(missing)
