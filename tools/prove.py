"""The slower checks, one command each.

    python tools/prove.py sanitize      the suite under AddressSanitizer and UndefinedBehaviorSanitizer
    python tools/prove.py debug         the suite with Cython's bounds checks
    python tools/prove.py coverage      lines of .py and .pyx that the suite runs
    python tools/prove.py wheels        sdist, wheel, contents, manylinux, fresh environments, the suite in each
    python tools/prove.py cross [...]   a table of digests: processors, compilers, optimization levels
    python tools/prove.py scalar        every module is valid C without vector types, as for Microsoft's compiler
    python tools/prove.py contraction   builds of a contracting compiler are refused at import
    python tools/prove.py matrix        the wheels that cibuildwheel would build are the promised ones
    python tools/prove.py fuzz [...]    random plans, snapshots, callbacks, threads and signals, for any time
    python tools/prove.py functions [...]  kd.math in float32 is correctly rounded for all 2**32 arguments
    python tools/prove.py fluid         pressure and energy of a Lennard-Jones fluid, against the literature
    python tools/prove.py netplay [...] rollback netplay of two peers over a lossy line for a million ticks
    python tools/prove.py mutate [...]  mutation testing with listed mutants: which test detects each
    python tools/prove.py mutmut [...]  mutation testing of plain Python modules with mutmut
    python tools/prove.py release       missing prerequisites of a release, and where each is set
    python tools/prove.py digests DIR   digests of other machines in DIR are equal

CONTRIBUTING.md lists the requirements of each. They build in build/prove and do not change the tree.
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
