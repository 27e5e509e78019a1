"""The test suite on instrumented builds: sanitizers, bounds checks, line coverage."""

import subprocess
import sys

import common

QUIET = ("-q", "-p", "no:cacheprovider")
SERIAL = (*QUIET, "-p", "no:xdist")


def build(mode):
    """Build a copy of the tree in place, with this value of KICKDRIFT_BUILD."""
    tree = common.copy_of_tree(mode)
    common.run(
        sys.executable, "setup.py", "--quiet", "build_ext", "--inplace",
        cwd=tree, env={"KICKDRIFT_BUILD": mode, "CC": common.gcc()}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return tree, {"PYTHONPATH": tree / "src"}


def sanitized():
    """Return the tree built with sanitizers, and its environment."""
    tree, environment = build("sanitize")
    libraries = [common.said("gcc", f"-print-file-name=lib{name}.so").strip() for name in ("asan", "ubsan")]
    environment |= {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONMALLOC": "malloc",  # arenas of pymalloc would hide buffer overruns
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # CPython does not free all memory at exit
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    return tree, environment


def sanitize(*tests):
    """Run under AddressSanitizer and UndefinedBehaviorSanitizer, which abort at the first error."""
    tree, environment = sanitized()
    common.run(sys.executable, "-m", "pytest", *QUIET, *tests, cwd=tree, env=environment)


def debug(*tests):
    """Run with Cython's checks of bounds and of uninitialised views."""
    tree, environment = build("debug")
    common.run(sys.executable, "-m", "pytest", *QUIET, *tests, cwd=tree, env=environment)


def coverage(*tests):
    """Measure line coverage of .py and .pyx; Cython cannot trace inline functions of .pxd files."""
    tree, environment = build("trace")
    # The default core of coverage from Python 3.14 on does not support plugins.
    environment |= {"COVERAGE_CORE": "ctrace", "COVERAGE_RCFILE": tree / "tools" / "coveragerc"}
    tool = (sys.executable, "-m", "coverage")
    common.run(*tool, "erase", cwd=tree, env=environment)
    # With line tracing, tests of 20 million frames would take hours.
    chosen = ("-m", "not signals", "-k", "not hundred_hours and not over_a_day")
    common.run(*tool, "run", "-m", "pytest", *SERIAL, *chosen, *tests, cwd=tree, env=environment)
    common.run(*tool, "combine", "--quiet", cwd=tree, env=environment)
    common.run(*tool, "report", cwd=tree, env=environment)
