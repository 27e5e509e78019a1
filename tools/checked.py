"""The suite on builds that look at themselves: sanitizers, bounds checks, line coverage."""

import subprocess
import sys

import common

QUIET = ("-q", "-p", "no:cacheprovider")
SERIAL = (*QUIET, "-p", "no:xdist")


def build(mode):
    """A copy of the tree with this KICKDRIFT_BUILD built in place."""
    tree = common.copy_of_tree(mode)
    common.run(
        sys.executable, "setup.py", "--quiet", "build_ext", "--inplace",
        cwd=tree, env={"KICKDRIFT_BUILD": mode, "CC": common.gcc()}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return tree, {"PYTHONPATH": tree / "src"}


def sanitized():
    """Where the build with sanitizers is, and the environment that it runs in."""
    tree, environment = build("sanitize")
    libraries = [common.said("gcc", f"-print-file-name=lib{name}.so").strip() for name in ("asan", "ubsan")]
    environment |= {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONMALLOC": "malloc",  # arenas of Python's own would hide where arrays end
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python frees little at exit
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    return tree, environment


def sanitize(*tests):
    """AddressSanitizer and UndefinedBehaviorSanitizer; they end the run at their first finding."""
    tree, environment = sanitized()
    common.run(sys.executable, "-m", "pytest", *QUIET, *tests, cwd=tree, env=environment)


def debug(*tests):
    """Cython's checks of bounds and of uninitialised views."""
    tree, environment = build("debug")
    common.run(sys.executable, "-m", "pytest", *QUIET, *tests, cwd=tree, env=environment)


def coverage(*tests):
    """Lines of .py and .pyx that the suite runs. What is inline in .pxd files is beyond Cython's tracing."""
    tree, environment = build("trace")
    # The core that is the default from 3.14 on knows no plugins.
    environment |= {"COVERAGE_CORE": "ctrace", "COVERAGE_RCFILE": tree / "tools" / "coveragerc"}
    tool = (sys.executable, "-m", "coverage")
    common.run(*tool, "erase", cwd=tree, env=environment)
    common.run(*tool, "run", "-m", "pytest", *SERIAL, "-m", "not signals", *tests, cwd=tree, env=environment)
    common.run(*tool, "combine", "--quiet", cwd=tree, env=environment)
    common.run(*tool, "report", cwd=tree, env=environment)
