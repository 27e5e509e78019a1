"""Fuzzers, one module per subject, that hold the compiled steppers to what README promises.

Each subject is a function of a seed, which makes one example: it raises AssertionError for what it finds, and counts
what it compared in `common.tally`. tests/test_fuzz.py runs a few seeds of each, `python tools/prove.py fuzz` many.
"""
