"""Mutation testing with listed mutants.

tools/mutants/*.toml lists them. `file`: below src/kickdrift; text that has moved is found in other files of the
folder. `old`: the exact text. `new`: its replacement. `wrong`: what breaks. `tests`: files below tests/ that should
detect it, besides the golden rows. `within`: a longer text that contains `old` once, if the file has it several
times. `equivalent`: why no test can detect it.

All mutants are compiled into one build, as `(new if mutant == 7 else old)` or an `if` of whole lines. The environment
variable KICKDRIFT_MUTANT selects one. So a mutant costs the time of tests, but no build.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
import tomllib
import zlib
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import common

LISTS = common.ROOT / "tools" / "mutants"
SOURCE = Path("src", "kickdrift")
# Code inserted into each compiled file with mutants. `volatile` keeps compilers from duplicating loops per mutant.
SWITCH = '''\
cdef extern from *:
    """
    #ifndef KICKDRIFT_MUTANT
    #define KICKDRIFT_MUTANT
    #include <stdlib.h>
    static volatile int kickdrift_mutant;
    __attribute__((constructor)) static void kickdrift_choose_mutant(void) {
        const char* number = getenv("KICKDRIFT_MUTANT");
        kickdrift_mutant = number ? atoi(number) : 0;
    }
    #endif
    """
    int mutant "kickdrift_mutant"

'''
COMPILED = (".pyx", ".pxd")
PYTHON_SWITCH = '__import__("os").environ.get("KICKDRIFT_MUTANT")'
# Compare digests row by row, alternating between all kinds: one difference is sufficient.
GOLDEN = """
import sys, zlib
sys.path.insert(0, "tests")
import golden
expected = golden.written()
cases = sorted(golden.cases(), key=lambda case: zlib.crc32(case[0].encode()))
for name, compute in cases[: int(sys.argv[1]) or None]:
    try:
        found = compute(golden.kd)
    except Exception as error:
        found = repr(error)
    if name in expected and found != expected[name]:
        raise SystemExit(name)
"""
BORDERS = "kernels/test_borders.py"  # tests all conditions of kernels
LIMIT = 900  # seconds, because a mutant may loop forever


@dataclass(frozen=True)
class Mutant:
    number: int
    name: str
    file: str
    old: str
    new: str
    wrong: str
    tests: str = ""
    within: str = ""
    equivalent: str = ""

    def span(self, text):
        """Return the position of its text in the file."""
        start = text.index(self.within or self.old) + (self.within or self.old).index(self.old)
        return start, start + len(self.old)

    def placed(self, sources):
        """Return the mutant with the file that contains its text once: the listed one, or another of its folder."""
        within = self.within or self.old
        if within.count(self.old) != 1:
            raise ValueError(f"{self.name}: expected `old` once in `within`, found {within.count(self.old)} times")
        pairs = ("()", "[]", "{}")
        if self.old.endswith(":") or any(self.old.count(a) != self.old.count(b) for a, b in pairs):
            raise ValueError(f"{self.name}: expected `old` to be an expression or a statement, got {self.old!r}")
        folder = self.file.partition("/")[0] + "/"
        counts = {file: text.count(within) for file, text in sources.items() if within in text and folder in file}
        counts = {self.file: counts[self.file]} if self.file in counts else counts
        if list(counts.values()) != [1]:
            raise ValueError(
                f"{self.name}: expected once in {self.file}, or moved, found {counts or 'nowhere'}: {within!r}"
            )
        return replace(self, file=next(iter(counts)))


def read_mutants():
    """Read the listed mutants; raise an error if one cannot be applied."""
    root = common.ROOT / SOURCE
    paths = [path for suffix in (*COMPILED, ".py") for path in sorted(root.rglob(f"*{suffix}"))]
    sources = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}
    found, errors = {}, []
    for path in sorted(LISTS.glob("*.toml")):
        for name, entry in tomllib.loads(path.read_text("utf-8")).items():
            if name in found:
                raise SystemExit(f"{name}: listed twice")
            try:
                # The number does not depend on other mutants, which avoids recompilation of their files.
                found[name] = Mutant(zlib.crc32(name.encode()) >> 1, name, **entry).placed(sources)
            except ValueError as error:
                errors.append(str(error))
    if errors:
        raise SystemExit("\n".join(errors))
    return list(found.values())


def with_switch(text, start, mutants, compiled):
    """Return an expression or statement that selects between the original and its mutants."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[start + len(mutants[0].old) :].partition("\n")[0]
    whole = not before.strip() and not after.partition("#")[0].strip()
    # Cython types a conditional expression as object unless it is cast.
    logical = any(re.search(r"^not |^(True|False)$| (and|or|[<>]=?|[!=]=) ", mutant.new) for mutant in mutants)
    cast = "<bint> " if compiled and logical and " if " not in mutants[0].old else ""
    found = textwrap.dedent(before + mutants[0].old) if whole else f"{cast}({mutants[0].old})"
    for mutant in mutants:
        chosen = f"mutant == {mutant.number}" if compiled else f'{PYTHON_SWITCH} == "{mutant.number}"'
        if whole:
            new, old = (textwrap.indent(each, "    ") for each in (textwrap.dedent(before + mutant.new), found))
            found = f"if {chosen}:\n{new}\nelse:\n{old}"
        else:
            found = f"{cast}({cast}({mutant.new}) if {chosen} else {found})"
    return textwrap.indent(found, before).removeprefix(before) if whole else found


def mutated(file, text, mutants):
    """Return the text of a file with all its mutants; several mutants may change the same text."""
    compiled = file.endswith(COMPILED)
    places = {}
    for mutant in mutants:
        places.setdefault(mutant.span(text), []).append(mutant)
    spans = sorted(places)
    for (start, end), (next_start, next_end) in pairwise(spans):
        if next_start < end:
            names = [mutant.name for mutant in (*places[start, end], *places[next_start, next_end])]
            raise SystemExit(f"{', '.join(names)}: expected texts that are the same or do not overlap")
    for start, end in reversed(spans):
        text = text[:start] + with_switch(text, start, places[start, end], compiled) + text[end:]
    if compiled:
        first = re.search(r"^(from|cimport|import|cdef|ctypedef) ", text, re.M).start()
        text = text[:first] + SWITCH + text[first:]
    return text


def build(mutants):
    """Build a copy of the tree with all mutants, incrementally."""
    texts = {}
    for file in sorted({mutant.file for mutant in mutants}):
        text = (common.ROOT / SOURCE / file).read_text("utf-8")
        texts[SOURCE / file] = mutated(file, text, [mutant for mutant in mutants if mutant.file == file]).encode()

    def copy(source, to):
        new = texts.get(Path(source).relative_to(common.ROOT)) or Path(source).read_bytes()
        if not Path(to).exists() or Path(to).read_bytes() != new:  # a new time stamp would cause recompilation
            Path(to).write_bytes(new)
            shutil.copymode(source, to)

    tree = common.copy_of_tree("mutate", copy)
    quick = common.compiler("quick", common.gcc(), "-O1")  # halves the build time; the tests are short
    common.run(
        sys.executable, "setup.py", "--quiet", "build_ext", "--inplace",
        cwd=tree, env={"KICKDRIFT_ISAS": "baseline", "CC": quick}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return tree


class Runner:
    """Runner of golden rows and tests in a tree, with a selected mutant."""

    def __init__(self, tree, rows):
        self.tree, self.rows = tree, rows
        self.sound = {}  # {test id: whether it passes without mutants}

    def run(self, mutant, *command):
        """Run a command; return the finished process, or None after a timeout."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("KICKDRIFT_", "PYTHON"))}
        environment |= {"PYTHONPATH": str(self.tree / "src"), "KICKDRIFT_MUTANT": str(mutant)}
        try:
            return subprocess.run(
                [sys.executable, *command], cwd=self.tree, env=environment, text=True, timeout=LIMIT,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None

    def golden(self, mutant):
        """Return the name of a golden row that detects the mutant; empty if none does."""
        done = self.run(mutant, "-c", GOLDEN, str(self.rows))
        if done is None:
            return "golden rows take for ever"
        if done.returncode not in (0, 1):
            return f"golden rows: exit code {done.returncode}"
        return f"golden row {done.stdout.strip().splitlines()[-1]}" if done.returncode else ""

    def tests(self, mutant, files):
        """Return the test that detects the mutant, "" if none does; tests that fail without mutants do not count."""
        if not files:
            return ""
        paths = [str(Path("tests", file)) for file in files]
        quiet = ("-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly")
        skipped = []
        while True:
            done = self.run(mutant, *quiet, *paths, *skipped)
            if done is None:
                return "tests take for ever"
            if done.returncode == 0:
                return ""
            failed = re.search(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - |$)", done.stdout, re.M)
            if failed is None:
                if done.returncode == 1 or done.returncode in (2, 4, 5):
                    raise SystemExit(f"{done.stdout}\nmutant {mutant}: expected tests, got the above")
                return f"tests: exit code {done.returncode}"
            name = failed[1]
            if name not in self.sound:
                alone = self.run(0, *quiet, name)
                self.sound[name] = alone is not None and alone.returncode == 0
            if self.sound[name]:
                return name.removeprefix("tests/")
            skipped += ["--deselect", name]

    def verdict(self, mutant, everything):
        """Return (the row or test that detects the mutant, empty if none does; seconds)."""
        begun = time.monotonic()
        kernel = mutant.file.startswith("kernels")
        files = [BORDERS] * kernel + mutant.tests.split()
        looks = [lambda: self.golden(mutant.number), lambda: self.tests(mutant.number, files)]
        seen = ""
        for look in looks if kernel else looks[::-1]:  # first the check that is more likely to detect the mutant
            seen = seen or look()
        if not seen and everything:
            seen = self.tests(mutant.number, [""])
        return seen, time.monotonic() - begun


def main(*arguments):
    parser = argparse.ArgumentParser(prog="prove.py mutate", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", metavar="NAME", nargs="+", default=[], help="these mutants, by name or part of it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no more are begun after that")
    parser.add_argument("--rows", type=int, default=0, help="so many golden rows, drawn of all kinds, instead of all")
    parser.add_argument("--suite", action="store_true", help="what survives its tests meets the whole suite")
    parser.add_argument("--list", action="store_true", help="check that all apply; build and run nothing")
    options = parser.parse_args(arguments)
    mutants = read_mutants()
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name:40} {mutant.file}: {mutant.wrong}")
        return 0
    runner = Runner(build(mutants), options.rows)
    chosen = [each for each in mutants if not options.only or any(part in each.name for part in options.only)]
    if seen := runner.golden(0):
        raise SystemExit(f"without mutants: {seen}")
    end = time.monotonic() + 60 * options.minutes
    counts = dict.fromkeys(("caught", "equivalent", "SURVIVED", "not run"), 0)

    def try_one(mutant):
        if time.monotonic() > end:
            return mutant, "", None
        return mutant, *runner.verdict(mutant, options.suite)

    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(try_one, mutant) for mutant in chosen]):
            mutant, seen, seconds = done.result()
            kind = (
                "not run"
                if seconds is None
                else "caught"
                if seen
                else "equivalent"
                if mutant.equivalent
                else "SURVIVED"
            )
            counts[kind] += 1
            reason = seen or (mutant.equivalent if kind == "equivalent" else mutant.wrong)
            print(f"{kind:10} {mutant.name:40} {seconds or 0:5.0f} s  {reason}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()), f"of {len(chosen)}")
    return counts["SURVIVED"]
