"""Run a fuzzer on consecutive seeds: `python -m fuzz machines --seed 1 --seconds 60`, with tests and src on path.

Prints a line of JSON at the start of each example, for each finding and at the end; tools/fuzzing.py reads them. The
run continues after a finding. A hanging example is killed; faulthandler shows where it hangs or crashes.
"""

import argparse
import faulthandler
import json
import sys
import time
import traceback

from fuzz import SUBJECTS, common, machines, subject

HANG = 300  # seconds per example


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--seed", type=int, default=0, help="of the first example; the next has the next")
    parser.add_argument("--seconds", type=float, help="run so long")
    parser.add_argument("--examples", type=int, default=1, help="or so many, where no seconds are given")
    parser.add_argument("--without", default="", help="operations and parts of states to leave out, with commas")
    parser.add_argument("--shrink", action="store_true", help="make what state machines find as short as can be")
    chosen = parser.parse_args()
    common.without |= set(filter(None, chosen.without.split(",")))
    run = subject(chosen.subject)
    if not chosen.shrink:
        machines.as_they_come()
    faulthandler.enable()
    end = None if chosen.seconds is None else time.monotonic() + chosen.seconds
    examples = found = 0
    while (examples < chosen.examples) if end is None else (time.monotonic() < end):
        seed = chosen.seed + examples
        say(seed=seed, operations=common.tally.operations, comparisons=common.tally.comparisons)
        faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            run(seed)
        except Exception as error:
            found += 1
            text = "".join(traceback.format_exception(error))
            say(found=f"{type(error).__name__}: {error}", seed=seed, trace=text[-6000:])
        faulthandler.cancel_dump_traceback_later()
        examples += 1
    say(done=examples, operations=common.tally.operations, comparisons=common.tally.comparisons)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
