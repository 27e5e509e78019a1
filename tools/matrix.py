"""Check that cibuildwheel, configured by pyproject.toml and wheels.yml, builds exactly the promised wheels."""

import fnmatch
import sys
import tomllib

import common
from ruamel.yaml import YAML

PYTHONS = ("cp311", "cp312", "cp313", "cp314", "cp314t", "cp315", "cp315t")
PLATFORMS = (
    *(f"{libc}linux_{arch}" for libc in ("many", "musl")
      for arch in ("x86_64", "aarch64", "ppc64le", "s390x", "armv7l", "riscv64")),
    "win_amd64", "win_arm64", "macosx_arm64", "macosx_x86_64",
)  # fmt: skip
PROMISED = {f"{python}-{platform}" for python in PYTHONS for platform in PLATFORMS}
PROMISED |= {f"{python}-pyodide_wasm32" for python in ("cp313", "cp314", "cp315")}


def main():
    """Return the number of wheels that are missing, not promised, or tested on the wrong platforms."""
    workflow = YAML(typ="safe").load((common.ROOT / ".github/workflows/wheels.yml").read_text("utf-8"))
    settings = tomllib.loads((common.ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    built, wrong = set(), []
    for job in workflow["jobs"]["wheels"]["strategy"]["matrix"]["include"]:
        options = (f"--platform={job['platform']}", f"--archs={job['archs']}")
        found = set(
            common.said(
                sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", *options, cwd=common.ROOT
            ).split()
        )
        skipped = {
            name for name in found for pattern in settings["test-skip"].split() if fnmatch.fnmatch(name, pattern)
        }
        wrong += [f"wheels.yml: {name}: tested?" for name in (skipped if job["tested"] else found - skipped)]
        wrong += [f"{name}: built twice" for name in found & built]
        built |= found
        print(f"{job['platform']} {job['archs']}: {' '.join(sorted(found))}")
    wrong += [f"{name}: promised, not built" for name in sorted(PROMISED - built)]
    wrong += [f"{name}: built, not promised" for name in sorted(built - PROMISED)]
    print(*wrong, f"{len(built)} wheels, {len(wrong)} faults", sep="\n")
    return len(wrong)
