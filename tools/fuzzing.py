"""Run the fuzzers for any time: each in a process of its own, as many at once as there are processors.

Seeds are random and printed; each finding shows how to reproduce it. Exits with an error after any finding, crash or
hang, or if a fuzzer has made no comparisons.
"""

import argparse
import json
import os
import random
import re
import shlex
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import checked
import common

sys.path.insert(0, str(common.ROOT / "tests"))
import fuzz as fuzzers

TAIL = 4000  # characters to keep of the output of a crashed process


class Subject:
    """A fuzzer that runs in processes, and its results."""

    def __init__(self, name, tree, environment, options):
        self.name, self.tree, self.environment, self.options = name, tree, environment, options
        self.examples = self.operations = self.comparisons = self.crashes = 0
        self.finds = {}  # {kind of finding: (count, first seed, trace)}

    def command(self, seed, *arguments):
        without = ["--without", self.options.without] if self.options.without else []
        return [sys.executable, "-m", "fuzz", self.name, "--seed", str(seed), *without, *arguments]

    def run(self, seed, seconds):
        """Run processes one after the other until the time is over; a crash ends only its own process."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and self.crashes < 20:
            last = self.process(seed, left)
            if last is None:
                return
            seed = last + 1

    def process(self, seed, seconds):
        """Run a process; return the seed of a crash, or None."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("KICKDRIFT_", "PYTHON"))}
        environment |= {name: str(value) for name, value in self.environment.items()}
        process = subprocess.Popen(
            self.command(seed, "--seconds", f"{seconds:.0f}"),
            cwd=self.tree, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        errors = []
        reader = threading.Thread(target=lambda: errors.extend(process.stderr))
        reader.start()
        last, ended = seed, None
        base = (self.operations, self.comparisons)
        for line in process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue  # output of other code
            last = said.get("seed", last)
            if "found" in said:
                self.find(said["found"], said["seed"], said["trace"])
            else:
                self.operations, self.comparisons = base[0] + said["operations"], base[1] + said["comparisons"]
                ended = said.get("done", ended)
        process.wait()
        reader.join()
        self.examples += last - seed + 1
        if ended is not None:
            return None
        self.crashes += 1
        text = "".join(errors)
        where = re.search(r"ERROR: .*|runtime error: .*|Fatal Python error: .*|Timeout .*", text)
        kind = f"the process died with {process.returncode}: {where.group() if where else 'in silence'}"
        self.find(kind, last, text[-TAIL:])
        return last

    def find(self, message, seed, trace):
        # Findings of one kind differ only in numbers, bytes and traces.
        kind = re.sub(r"b'.*|b\".*|0x[0-9a-f.p+-]+|[-+]?[\d.]+(e[-+]?\d+)?", "#", message.partition(" -- ")[0])[:100]
        count, first, text = self.finds.get(kind, (0, seed, trace))
        self.finds[kind] = count + 1, first, text
        if not count:
            print(f"{self.name}, seed {first}: {message[:400]}", flush=True)


def arguments(words):
    parser = argparse.ArgumentParser(prog="python tools/prove.py fuzz", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="subject", help=f"of {', '.join(fuzzers.SUBJECTS)}; all if none")
    parser.add_argument("--minutes", type=float, default=1, help="for each subject")
    parser.add_argument("--seed", type=int, help="of the first example of each, in place of a random one")
    parser.add_argument("--sanitize", action="store_true", help="under AddressSanitizer and UndefinedBehaviorSanitizer")
    parser.add_argument("--without", default="", help="operations and parts of states to leave out, with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many at once")
    parser.add_argument("--traces", action="store_true", help="print the trace of each kind of find at the end")
    chosen = parser.parse_args(words)
    for name in chosen.subjects:
        if name not in fuzzers.SUBJECTS:
            parser.error(f"subject: expected one of {', '.join(fuzzers.SUBJECTS)}, got {name}")
    return chosen


def main(*words):
    options = arguments(words)
    if options.sanitize:
        tree, environment = checked.sanitized()
    else:
        tree, environment = common.ROOT, {"PYTHONPATH": common.ROOT / "src"}
    environment |= {"PYTHONPATH": f"{environment['PYTHONPATH']}{os.pathsep}{tree / 'tests'}"}
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}; {tree}", flush=True)
    subjects = [Subject(name, tree, environment, options) for name in options.subjects or fuzzers.SUBJECTS]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda subject: subject.run(seed, 60 * options.minutes), subjects))
    if options.traces:
        for subject in subjects:
            for kind, (_, first, trace) in subject.finds.items():
                print(f"\n==== {subject.name}, seed {first}: {kind}\n{trace}")
    print(f"\n{'subject':<12}{'examples':>10}{'operations':>12}{'comparisons':>13}{'finds':>7}{'kinds':>7}")
    idle = [subject.name for subject in subjects if not subject.comparisons]
    for subject in subjects:
        found = sum(count for count, _, _ in subject.finds.values())
        print(f"{subject.name:<12}{subject.examples:>10,}{subject.operations:>12,}{subject.comparisons:>13,}"
              f"{found:>7,}{len(subject.finds):>7,}")  # fmt: skip
    for name in idle:
        print(f"{name} compared nothing")
    if any(subject.finds for subject in subjects):
        words = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in environment.items())
        print(f"\nAgain:\n  cd {tree}; export {words}")
        for subject in subjects:
            for kind, (count, first, _) in subject.finds.items():
                print(f"  {sys.executable} -m fuzz {subject.name} --seed {first}    # {count} x {kind}")
    return bool(idle) or any(subject.finds for subject in subjects)
