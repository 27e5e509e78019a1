"""Bitwise reproducibility across processors, compilers and optimization levels: a table of digests.

Other processors are emulated by qemu, with Debian's Python for them. Clang is `zig cc`, from PyPI. For Windows and
macOS the code is compiled, but not run.
"""

import platform
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import common

PYTHON = "python3.11"  # the version in Debian 12
ZIG = f"{sys.executable} -m ziglang cc"
# In Debug mode, zig traps undefined behaviour.
CLANG = "-fno-sanitize=undefined"
SCALAR = "-DKICKDRIFT_SCALAR"  # vectors of one lane, as for Microsoft's compiler


@dataclass(frozen=True)
class Processor:
    """An emulated processor: its name in Debian, and its NumPy: from wheels or, without wheels, from Debian."""

    debian: str
    qemu: str
    triplet: str
    wheels: str = ""

    @property
    def place(self):
        return common.WORK / "debian" / self.debian

    @property
    def root(self):
        return self.place / "root"

    def install(self):
        """Unpack Debian's Python for this processor into a directory."""
        if not (self.root / "usr/bin" / PYTHON).exists():
            packages = [PYTHON, f"lib{PYTHON}-dev", "libstdc++6" if self.wheels else "python3-numpy"]
            apt = configured_apt(self.place, self.debian)
            common.run(*apt, "install", "--yes", "--download-only", *packages)
            for package in (self.place / "cache/archives").glob("*.deb"):
                # Cross compilers include their own C library.
                if not package.name.startswith(("libc6-dev", "linux-libc-dev", "libcrypt-dev", "libnsl-dev")):
                    common.run("dpkg", "-x", package, self.root)
        if self.wheels and not (self.place / "site/numpy").exists():
            common.run(
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                *(f"--platform={self.wheels.format(n)}" for n in (17, 27, 28)), "--python-version=3.11",
                "--dest", self.place, "numpy>=2",
            )  # fmt: skip
            (wheel,) = self.place.glob("numpy-*.whl")
            shutil.unpack_archive(wheel, self.place / "site", "zip")

    def build_environment(self):
        """Return the environment in which setup.py builds for this Python."""
        name = f"_sysconfigdata__{self.triplet}"
        folder = self.place / "sysconfig"
        folder.mkdir(exist_ok=True)
        shutil.copy(self.root / f"usr/lib/{PYTHON}/{name}.py", folder)
        return {
            "_PYTHON_SYSCONFIGDATA_NAME": name,
            "_PYTHON_HOST_PLATFORM": f"linux-{self.qemu}",
            "PYTHONPATH": folder,
            "CFLAGS": f"-I{self.root}/usr/include/{PYTHON} -I{self.root}/usr/include",
        }

    def python(self):
        """Return the command that runs this Python, and its environment."""
        libraries = self.root / "usr/lib" / self.triplet
        path = f"LD_LIBRARY_PATH={libraries}/blas:{libraries}/lapack"
        command = (f"qemu-{self.qemu}-static", "-L", self.root, "-E", path, self.root / "usr/bin" / PYTHON)
        # NumPy 1.24: enable the type promotion rules of NumPy 2.
        return command, {"PYTHONPATH": self.place / "site", "NPY_PROMOTION_STATE": "weak"}


AARCH64 = Processor("arm64", "aarch64", "aarch64-linux-gnu", "manylinux_2_{}_aarch64")
S390X = Processor("s390x", "s390x", "s390x-linux-gnu")


@dataclass(frozen=True)
class Target:
    """A build of all extension modules."""

    name: str
    command: str  # the compiler
    flags: tuple[str, ...] = ()  # last, to override others
    processor: Processor | None = None  # None: this machine's

    def build(self, tree):
        """Build, and return the directory with the package."""
        label = self.name.replace(" ", "-").replace(",", "")
        cc = common.compiler(label, self.command, *self.flags)
        environment = self.processor.build_environment() if self.processor else {}
        # Zig's run-time library lacks CPU detection: link with GCC.
        linker = cc if self.processor else "gcc"
        common.run(
            sys.executable, "setup.py", "--quiet", "build", "--build-lib", f"out/{label}", "--build-temp",
            f"build/{label}", cwd=tree, env=environment | {"CC": cc, "LDSHARED": f"{linker} -shared"},
            stdout=sys.stderr,
        )  # fmt: skip
        return tree / "out" / label

    def rows(self, tree):
        """Return a row of the table for each instruction set."""
        command, environment = self.processor.python() if self.processor else ((sys.executable,), {})
        path = f"{self.build(tree)}:{environment.get('PYTHONPATH', '')}"
        text = common.said(
            *command, tree / "tests/golden.py", "--digest", cwd=tree, env=environment | {"PYTHONPATH": path}
        )
        return [(self.name, *line.split("\t")) for line in text.splitlines()]


GROUPS = {
    "native": [
        Target("x86-64, gcc -O3", common.gcc()),
        Target("x86-64, gcc -O1", common.gcc(), ("-O1",)),
        # GCC 12's vectorizer fuses adjacent a * b - c and a * b + c to vfmaddsub, despite -ffp-contract.
        Target("x86-64, gcc -O3, vectors of one as for MSVC", common.gcc(), (SCALAR, "-fno-tree-vectorize")),
        Target("x86-64, clang -O3", ZIG, (CLANG,)),
        Target("x86-64, clang -O1", ZIG, (CLANG, "-O1")),
    ],
    "aarch64": [
        Target("aarch64, clang -O3", f"{ZIG} -target aarch64-linux-gnu", (CLANG,), AARCH64),
        Target("aarch64, clang -O1", f"{ZIG} -target aarch64-linux-gnu", (CLANG, "-O1"), AARCH64),
        Target("aarch64, gcc -O3", "aarch64-linux-gnu-gcc", (), AARCH64),
    ],
    "s390x": [
        Target("s390x (big-endian), clang -O3", f"{ZIG} -target s390x-linux-gnu", (CLANG,), S390X),
        Target("s390x (big-endian), gcc -O3", "s390x-linux-gnu-gcc", (), S390X),
    ],
}


def configured_apt(place, architecture, sources=False):
    """Return an apt-get command for this architecture, with lists and packages separate from those of the system."""
    for folder in ("lists/partial", "cache/archives/partial", "sources"):
        (place / folder).mkdir(parents=True, exist_ok=True)
    (place / "status").touch()
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures::": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "1",
        "Dir::State::Lists": place / "lists",
        "Dir::State::status": place / "status",
        "Dir::Cache": place / "cache",
    }
    if sources:
        for file in Path("/etc/apt/sources.list.d").glob("*.sources"):
            text = file.read_text().replace("Types: deb\n", "Types: deb-src\n")
            (place / "sources" / file.name).write_text(text)
        options |= {"Dir::Etc::sourceparts": place / "sources", "Dir::Etc::sourcelist": "/dev/null"}
    apt = ("apt-get", "--quiet=2", *(f"--option={name}={value}" for name, value in options.items()))
    common.run(*apt, "update")
    return apt


# Compiling alone.


def windows_headers():
    """Return the directory of CPython's headers for Windows, from its source."""
    place = common.WORK / "debian" / "source"
    include = place / "include"
    if not include.exists():
        common.run(
            *configured_apt(place, "amd64", sources=True), "source", "--download-only", "--tar-only", PYTHON, cwd=place
        )
        (archive,) = place.glob("*.orig.tar.*")
        with tarfile.open(archive) as source:
            source.extractall(place, filter="data")
        (headers,) = place.glob("*/Include")
        shutil.copytree(headers, include)
        shutil.copy(headers.parent / "PC/pyconfig.h", include)
    return include


def compile_only(tree, name, target, host, include, flags=()):
    """Compile all modules without linking, and report the number of object files."""
    cc = common.compiler(name, f"{ZIG} -target {target}", CLANG, *flags)
    environment = {"_PYTHON_HOST_PLATFORM": host, "CFLAGS": include, "CC": cc, "LDSHARED": "true"}
    common.run(
        sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", f"out/{name}", "--build-temp",
        f"build/{name}", cwd=tree, env=environment, stdout=sys.stderr,
    )  # fmt: skip
    return f"{name}: {len(list((tree / 'build' / name).rglob('*.o')))} modules compiled"


def windows(tree):
    include = f"-I{windows_headers()} -DMS_WIN64"  # pyconfig.h defines this for MSVC only
    yield compile_only(tree, "x86_64-windows-gnu", "x86_64-windows-gnu", "win-amd64", include)
    yield compile_only(tree, "aarch64-windows-gnu", "aarch64-windows-gnu", "win-arm64", include)


def macos(tree):
    """Compile for macOS with the Linux headers of the same processor: all types have the same sizes."""
    AARCH64.install()
    include = common.WORK / "debian" / "macos"
    shutil.copytree(AARCH64.root / "usr/include" / PYTHON, include, dirs_exist_ok=True)
    shutil.copy(AARCH64.root / "usr/include" / AARCH64.triplet / PYTHON / "pyconfig.h", include)
    yield compile_only(tree, "aarch64-macos", "aarch64-macos", "macosx-11.0-arm64", f"-I{include}")


COMPILE_ONLY = {"windows": windows, "macos": macos}


def scalar():
    """Check that the C of all modules compiles without vector types; generate no output."""
    tree = common.copy_of_tree("contraction")  # where .ci/run has already translated the code
    cc = common.compiler("scalar", "gcc", SCALAR, "-fsyntax-only")
    common.run(
        sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", "out/scalar", "--build-temp",
        "build/scalar", cwd=tree, env={"CC": cc, "LDSHARED": "true"},
    )  # fmt: skip


def main(*names):
    """Run these groups, or all: native, aarch64, s390x, windows, macos."""
    names = names or (*GROUPS, *COMPILE_ONLY)
    if unknown := set(names) - {*GROUPS, *COMPILE_ONLY}:
        raise SystemExit(f"unknown: {', '.join(unknown)}; expected {', '.join((*GROUPS, *COMPILE_ONLY))}")
    if platform.machine() != "x86_64":
        raise SystemExit("this table is made on x86-64")
    tree = common.copy_of_tree("cross")
    rows, left_out = [], []
    for target in (target for name in names for target in GROUPS.get(name, ())):
        if not shutil.which(target.command.split()[0]):
            left_out.append(f"{target.name}: no {target.command}")
            continue
        if target.processor:
            target.processor.install()
        rows += target.rows(tree)
    compiled = [line for name in names if name in COMPILE_ONLY for line in COMPILE_ONLY[name](tree)]
    if rows:
        table(rows)
    print(*left_out, *compiled, sep="\n")
    return verdict(rows)


def collected(folder):
    """Return the digests of other machines, from files written by tests/golden.py."""
    files = sorted(Path(folder).rglob("*.tsv"))
    rows = [(file.stem, *line.split("\t")) for file in files for line in file.read_text("utf-8").splitlines()]
    if not rows:
        raise SystemExit(f"{folder}: no digests")
    table(rows)
    return verdict(rows)


def verdict(rows):
    """Return the number of rows that differ from golden.txt."""
    wrong = [row[0] for row in rows if row[-1] != "equal" or row[-2] != rows[0][-2]]
    if rows:
        print(f"not equal to golden.txt: {', '.join(wrong)}" if wrong else f"all {len(rows)} equal golden.txt")
    return len(wrong)


def table(rows):
    rows = [("target", "instructions", "byte order", "Python", "NumPy", "plans", "digest of all", "golden.txt"), *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    for row in rows:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
