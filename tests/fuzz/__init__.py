"""Fuzzers that compare the compiled steppers with the reference and the documentation.

A subject is a function of a seed that runs one example: it raises AssertionError for a finding, and counts its
comparisons in `common.tally`. tests/engine/test_fuzz.py runs a few seeds of each, `python tools/prove.py fuzz` many.
"""

from importlib import import_module

#: Subjects: the module of their function, and the number of examples in the test suite.
SUBJECTS = {
    "stepper": ("machines", 1),
    "ode": ("machines", 1),
    "rollback": ("machines", 1),
    "clock": ("clocks", 20),
    "worlds": ("worlds", 60),
    "snapshots": ("forged", 60),
    "callbacks": ("callbacks", 120),
    "threads": ("threads", 12),
    "signals": ("signals", 60),
    "texts": ("texts", 10),
}


def subject(name):
    """Return the function of a subject."""
    return getattr(import_module(f"fuzz.{SUBJECTS[name][0]}"), name)
