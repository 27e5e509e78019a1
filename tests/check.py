"""Run all tests that concern one declaration: `python tests/check.py QuadraticDrag [arguments of pytest]`.

Its samples are in `samples.py`, or in `INTEGRATORS` of `plans.py`. Classes without a sample are listed first.
"""

import sys
from pathlib import Path

import plans
import pytest
import samples

import kickdrift as kd

TESTS = Path(__file__).parent
#: Test files in which only the parametrizations that name the class are run.
FILES = [
    *("docs/test_docs.py", "docs/test_help.py", "docs/test_pages.py", "test_import.py", "stepper/test_declaration.py"),
    *("stepper/test_changes.py", "stepper/test_places.py", "stepper/test_set_rows.py"),
    *(
        f"integrators/test_{name}.py"
        for name in ("convergence", "equal", "evaluation_times", "evaluations", "implicit")
    ),
    *("integrators/test_mathematics.py", "forces/test_merging.py", "docs/test_words.py"),
]
#: Tests that cover all declarations at once, and therefore always run.
ALL = {
    *("test_help_on_the_package_is_an_overview", "test_public_names", "test_the_api_pages_list_every_public_name"),
    *("test_the_table_of_constraints", "test_the_table_of_integrators", "test_the_table_of_terms"),
    *("test_the_stub_file_lists_the_same_public_names", "test_per_body_coefficients_are_declared_exactly"),
    *("test_every_term_has_a_formula_here", "test_no_identifier_is_of_the_private_vocabulary"),
}


class Concerning:
    """Pytest plugin: keep only the tests of one class."""

    def __init__(self, cls):
        self.cls = cls
        self.names = {cls, cls.__name__, cls.__module__, getattr(cls, "name", cls)}

    def concerns(self, value):
        if isinstance(value, (tuple, list)):
            return any(map(self.concerns, value))
        if isinstance(value, str) and value.startswith(f"{self.cls.__name__}("):
            return True
        return isinstance(value, self.cls) or (isinstance(value, (str, type)) and value in self.names)

    def pytest_collection_modifyitems(self, items):
        def kept(item):
            call = getattr(item, "callspec", None)
            return item.name in ALL if call is None else self.concerns(list(call.params.values()))

        items[:] = [item for item in items if kept(item)]


def main(name, *arguments):
    cls = getattr(kd, name, None)
    if cls is None:
        return f"{name}: expected a public name, see _NAMES of kickdrift/__init__.py and __init__.pyi"
    drawn = [*samples.SAMPLES, *plans.INTEGRATORS, *plans.ADDED_INTEGRATORS]
    without = [each for each in samples.missing() if each.partition("(")[0] == name]
    if without or not any(isinstance(one, cls) for one in drawn):
        print(f"without a sample in tests/samples.py or tests/plans.py: {', '.join(without or [name])}")
    files = [str(TESTS / file) for file in FILES]
    return pytest.main(["-q", "-p", "no:xdist", *files, *arguments], plugins=[Concerning(cls)])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if sys.argv[1:] else __doc__)
