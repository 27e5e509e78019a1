"""Fuzzers, which hold the compiled steppers to what the documentation promises.

A subject is a function of a seed, which makes one example: it raises AssertionError for what it finds, and counts what
it compared in `common.tally`. tests/engine/test_fuzz.py runs a few seeds of each, `python tools/prove.py fuzz` many.
"""

from importlib import import_module

#: The subjects: where their functions are, and how many examples the suite makes of each.
SUBJECTS = {
    "stepper": ("machines", 1),
    "ode": ("machines", 1),
    "rollback": ("machines", 1),
    "clock": ("clocks", 20),
    "snapshots": ("forged", 60),
    "callbacks": ("callbacks", 120),
    "threads": ("threads", 12),
    "signals": ("signals", 60),
    "texts": ("texts", 10),
}


def subject(name):
    """The function of a subject."""
    return getattr(import_module(f"fuzz.{SUBJECTS[name][0]}"), name)
