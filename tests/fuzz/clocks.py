"""The clock against its reference: operations of tests/clock/test_agreement.py with other seeds."""

import random

from clock.test_agreement import Compiled, Reference, made, observe, outcome, some_operation, some_settings

from .common import same, tally


def clock(seed, rounds=20, length=50):
    rng = random.Random(seed)
    for _ in range(rounds):
        settings = some_settings(rng)
        reference, compiled = made(Reference, settings), made(Compiled, settings)
        if isinstance(reference, tuple):
            same(f"made of {settings}", compiled, reference)
            continue
        for _ in range(length):
            operation = some_operation(rng, reference)
            expected = outcome(reference, operation)
            tally.operations += 1
            same(f"with {settings}", outcome(compiled, operation), expected)
            same(f"with {settings}, after {str(expected)[:80]}", observe(compiled), observe(reference))
