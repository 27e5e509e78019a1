"""Does the sdist hold all that is needed to build and test, and the wheel no more than is needed to run?"""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

BUDGET = 3 * 2**20  # bytes of a wheel for Linux on x86-64, with all instruction sets
GENERATED = r"^src/.*\.(c|cpp)$|\.(so|pyd|py[cod])$"
WANTED = (
    r"kickdrift/.*\.(py|pyi)|kickdrift/py\.typed|kickdrift/.*\.(so|pyd)|kickdrift-[^/]*\.dist-info/.*"
    r"|kickdrift/native\.pxd|kickdrift/include/kickdrift/[^/]*\.h"
)
FOLDERS = ("src", "tests", "tools", "bench", "docs", "examples")
SOURCES = (
    "*.py",
    "*.pyx",
    "*.pxd",
    "*.pyi",
    "*.c",
    "*.h",
    "*.txt",
    "*.md",
    "*.png",
    "*.webp",
    "*.svg",
    "*.css",
    "*.yaml",
    "*.ipynb",
    "py.typed",
)


def check_sdist(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        "README.md", "CHANGELOG.md", "CONTRIBUTING.md",
        "CODE_OF_CONDUCT.md", "SECURITY.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "pyproject.toml", "setup.py",
        *(str(file) for folder in FOLDERS for kind in SOURCES for file in Path(folder).rglob(kind)
          if ".egg-info" not in str(file)),
    }  # fmt: skip
    return [
        *(f"{name} is missing" for name in sorted(needed - names)),
        *(f"{name} is generated" for name in sorted(names) if re.search(GENERATED, name)),
    ]


def check_wheel(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
    package = Path("src/kickdrift")
    kinds = ("*.py", "*.pyi", "py.typed", "native.pxd", "*.h")
    needed = {str(file.relative_to("src")) for kind in kinds for file in package.rglob(kind)}
    parts = {f"baseline_{part}" for part in ("coupled", "formulas")}  # of a module, see setup.py
    stubs = {str(file.relative_to("src").with_suffix("")) for file in package.rglob("*.pyx") if file.stem not in parts}
    # setup.py makes the modules of all instruction sets from those of the baseline.
    stubs |= {re.sub("baseline", isa, name) for name in stubs for isa in ("avx2", "avx512")}
    # Made by Cython alone, for the others.
    modules = {*stubs, "kickdrift/engine/cython_utility"}
    compiled = {name.partition(".")[0] for name in sizes if name.endswith((".so", ".pyd"))}
    for name, size in sorted(sizes.items()):
        print(f"{size:9,}  {name}")
    print(f"{path.stat().st_size:9,}  compressed")
    return [
        *(f"{name} is missing" for name in sorted(needed - sizes.keys())),
        *(f"{name} has no stub" for name in sorted(stubs) if f"{name}.pyi" not in sizes),
        *(f"{name} is no module of ours" for name in sorted(compiled - modules)),
        *(f"{name} does not belong here" for name in sizes if not re.fullmatch(WANTED, name)),
        *([f"{path.stat().st_size:,} bytes, of {BUDGET:,.0f} allowed"] if path.stat().st_size > BUDGET else []),
    ]


def main(folder: Path) -> int:
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    faults = [f"{sdist.name}: {fault}" for fault in check_sdist(sdist)]
    faults += [f"{wheel.name}: {fault}" for fault in check_wheel(wheel)]
    print("\n".join(faults) or f"{sdist.name} and {wheel.name} hold what they should")
    return bool(faults)


sys.exit(main(Path(sys.argv[1])))
