"""Run mutmut (PyPI) on plain Python modules, and show the mutants that no test detects.

    python tools/prove.py mutmut validation.py stepper/slots.py -- stepper/test_validation.py stepper/test_slots.py

First the modules, below src/kickdrift, then the tests, below tests/, that should detect errors in them. The tree
must be built in place. A function of ten lines has about twenty mutants, each of which runs the tests that call it.
"""

import json
import subprocess
import sys

import common

CONFIGURATION = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = {modules}
also_copy = ["docs", "examples", "README.md"]
pytest_add_cli_args = ["-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:randomly", "-q"]
pytest_add_cli_args_test_selection = {tests}
use_git_change_detection = false
"""


def main(*arguments):
    if "--" not in arguments[1:-1]:
        raise SystemExit(__doc__)
    middle = arguments.index("--")
    modules = [f"src/kickdrift/{name}" for name in arguments[:middle]]
    tests = [f"tests/{name}" for name in arguments[middle + 1 :]]
    for path in (*modules, *tests):
        if not (common.ROOT / path).exists():
            raise SystemExit(f"{path}: expected a file of the tree")
    tree = common.copy_of_tree("mutmut")
    for built in (common.ROOT / "src").rglob("*.so"):
        (tree / built.relative_to(common.ROOT)).write_bytes(built.read_bytes())
    with (tree / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(CONFIGURATION.format(modules=json.dumps(modules), tests=json.dumps(tests)))
    mutmut = (sys.executable, "-m", "mutmut")
    common.run(*mutmut, "run", "--max-children", "2", cwd=tree, stdout=subprocess.DEVNULL)
    results = common.said(*mutmut, "results", "--all", "true", cwd=tree).split("\n")
    survivors = [line.split(":")[0].strip() for line in results if line.endswith(("survived", "no tests"))]
    for name in survivors:
        print(common.said(*mutmut, "show", name, cwd=tree))
    print(f"{len(survivors)} of {sum(': ' in line for line in results)} mutants survived")
    return len(survivors)
