"""The slower proofs, one command each.

    python tools/prove.py sanitize      the suite under AddressSanitizer and UndefinedBehaviorSanitizer
    python tools/prove.py debug         the suite with Cython's bounds checks
    python tools/prove.py coverage      lines of .py and .pyx that the suite runs
    python tools/prove.py wheels        sdist, wheel, contents, manylinux, fresh environments, the suite in each
    python tools/prove.py cross [...]   one table of digests: processors, compilers, levels of optimisation
    python tools/prove.py scalar        every module is C without vectors too, as Microsoft's compiler takes it
    python tools/prove.py contraction   what a contracting compiler built is refused
    python tools/prove.py matrix        the wheels that cibuildwheel would build are the promised ones
    python tools/prove.py fuzz [...]    random plans, snapshots, callbacks, threads and signals, for as long as you like
    python tools/prove.py functions [...]  kd.math in float32 is the nearest float for all 2**32 arguments
    python tools/prove.py fluid         pressure and energy of a Lennard-Jones fluid, against the literature
    python tools/prove.py netplay [...] a million ticks of two peers with rollback over a bad line, without a desync
    python tools/prove.py mutate [...]  small wrong changes, one at a time: which test sees them
    python tools/prove.py mutmut [...]  those that mutmut makes of modules that are plain Python
    python tools/prove.py release       what a release still lacks, and where it is set
    python tools/prove.py digests DIR   the digests that other machines left there are one

CONTRIBUTING.md says what each needs. They build in build/prove and leave the tree alone.
"""

import sys
from importlib import import_module

COMMANDS = {
    "sanitize": ("checked", "sanitize"),
    "debug": ("checked", "debug"),
    "coverage": ("checked", "coverage"),
    "wheels": ("wheels", "main"),
    "cross": ("cross", "main"),
    "scalar": ("cross", "scalar"),
    "contraction": ("contraction", "main"),
    "matrix": ("matrix", "main"),
    "fuzz": ("fuzzing", "main"),
    "functions": ("functions", "main"),
    "fluid": ("fluid", "main"),
    "netplay": ("rollback", "main"),
    "mutate": ("mutation", "main"),
    "mutmut": ("mutmut_run", "main"),
    "release": ("release", "main"),
    "digests": ("cross", "collected"),
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        raise SystemExit(__doc__)
    module, function = COMMANDS[sys.argv[1]]
    sys.exit(min(1, getattr(import_module(module), function)(*sys.argv[2:]) or 0))
