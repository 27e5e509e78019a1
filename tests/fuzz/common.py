"""Shared by all fuzzers: comparable outcomes, the observable state of a stepper, and counts of comparisons."""

import dataclasses
import pickle
import struct

import numpy as np

import kickdrift as kd


@dataclasses.dataclass
class Tally:
    """Counts of operations and comparisons: a fuzzer without comparisons finds nothing."""

    operations: int = 0
    comparisons: int = 0


tally = Tally()

#: Errors that keep the steps completed before them.
STEPS_FAIL = ("NonFiniteError", "ConvergenceError")

#: Names of operations and parts of `observe` to omit from examples, to search beyond known findings.
without: set[str] = set()


def plain(value):
    """Convert a value for bitwise comparison; all NaNs are equal because payloads are unspecified."""
    if isinstance(value, np.ndarray) and value.dtype.names:  # events, contacts, hits
        return {name: plain(np.ascontiguousarray(value[name])) for name in value.dtype.names}
    if isinstance(value, np.ndarray) and value.dtype.kind != "f":  # body ids, masks
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, np.where(np.isnan(value), np.nan, value).astype(value.dtype).tobytes()
    if isinstance(value, (float, np.floating)):
        return type(value).__name__, "nan" if np.isnan(value) else float(value).hex()
    if isinstance(value, (kd.Stepper, kd.ODEStepper, kd.reference.Stepper, kd.reference.ODEStepper)):
        return "a stepper"
    if dataclasses.is_dataclass(value):
        return type(value).__name__, [plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value


def outcome(call, *arguments):
    """Return the result or the exception of a call in comparable form."""
    try:
        return "returned", plain(call(*arguments))
    except Exception as error:
        return "raised", type(error).__name__, str(error)


def same(what, actual, expected):
    """Count and make a comparison."""
    tally.comparisons += 1
    if actual != expected:
        raise AssertionError(f"{what}: {shown(actual)}, not {shown(expected)}{first_difference(actual, expected)}")


def check(condition, message):
    """Count and check a condition."""
    tally.comparisons += 1
    if not condition:
        raise AssertionError(message)


def shown(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:200]} ... {text[-60:]}"


def first_difference(actual, expected):
    if isinstance(actual, bytes) and isinstance(expected, bytes) and len(actual) == len(expected):
        return f", first at byte {next(i for i in range(len(actual)) if actual[i] != expected[i])}"
    return ""


def numbers(stepper):
    """Return the arrays that later steps depend on."""
    return stepper._arrays()


def finite(stepper):
    return all(np.isfinite(array).all() for array in numbers(stepper))


def observe(stepper):
    """Return the observable state of a stepper without changing it."""
    seen = {
        "tick": stepper.tick,
        "dt": stepper.dt.hex(),
        "time": outcome(lambda: stepper.time),
        "arrays": [plain(array) for array in numbers(stepper)],
    }
    if hasattr(stepper, "evaluations"):
        seen["evaluations"] = stepper.evaluations
    else:
        seen["evaluations"] = stepper.force_evaluations
        seen["forces"] = plain(stepper.forces), plain(stepper.constraints)
        seen["alive"] = plain(stepper.ids)
    clock = stepper._clock
    if clock is not None:
        seen["clock"] = tuple(clock.state()), repr(clock)
        seen["alpha"] = outcome(lambda: stepper.alpha)
    if finite(stepper):  # NaNs in snapshots are unspecified
        if hasattr(stepper, "interpolate"):
            seen["drawn"] = outcome(lambda: stepper.interpolate(0.25))
        seen["checksum"] = outcome(stepper.checksum)
        seen["snapshot"] = outcome(stepper.snapshot)
    return {name: value for name, value in seen.items() if name not in without}


def same_state(what, actual, expected):
    """Compare all parts of `observe` one by one, so that a finding names its part."""
    check(actual.keys() == expected.keys(), f"{what}: one has a clock or is finite, the other not")
    for name in actual:
        same(f"{what}: {name}", actual[name], expected[name])


def without_clock(snapshot):
    """Remove the clock's tick, which steppers without a clock lack, and the CRC from a snapshot."""
    return snapshot[:12] + snapshot[16:24] + snapshot[32:]


class Twins:
    """A compiled stepper and its reference, which must be indistinguishable."""

    def __init__(self, fast, book):
        self.fast, self.book = fast, book

    def do(self, name, operation, *, may_raise=(), atomic=False):
        """Run an operation on both: results, exceptions and the observable state afterwards must be equal.

        may_raise: names of permitted exceptions; any other exception is a finding, even if both agree. atomic: the
        state must not change in a call that raises, except for steps completed before.
        """
        if name in without:
            return None
        tally.operations += 1
        before = observe(self.fast) if atomic else None
        results = [outcome(operation, stepper) for stepper in (self.fast, self.book)]
        same(name, *results)
        if atomic and results[0][0] == "raised" and results[0][1] not in STEPS_FAIL:
            same_state(f"{name} that raised {results[0][2]}", observe(self.fast), before)
        if results[0][0] == "raised" and may_raise is not None:
            check(results[0][1] in may_raise, f"{name} raised {results[0][1]}: {results[0][2]}")
        self.compare(name)
        return results[0]

    def refuse(self, name, operation):
        """Run an operation with invalid arguments: both raise equal errors and do not change."""
        if name in without:
            return
        before = observe(self.fast)
        result = self.do(name, operation, may_raise=None)
        check(result[0] == "raised", f"{name} was accepted")
        check(result[1] in ("TypeError", "ValueError", "IndexError", "SnapshotError"), f"{name} raised {result[1:]}")
        same_state(f"after {name}", observe(self.fast), before)

    def compare(self, name):
        same_state(f"after {name}", observe(self.fast), observe(self.book))
        if not finite(self.fast):
            self.repair()

    def repair(self):
        """Write small numbers into the state, as the message of NonFiniteError suggests."""
        for stepper in (self.fast, self.book):
            for array in stepper._sampled().values():
                array[...] = np.linspace(-0.5, 0.5, array.size).reshape(array.shape)
            if hasattr(stepper, "restart"):
                stepper.restart()

    def replace(self, name, make):
        """Continue with steppers made from both, such as copies."""
        if name in without:
            return
        tally.operations += 1
        made = [make(stepper) for stepper in (self.fast, self.book)]
        for copy, stepper in zip(made, (self.fast, self.book), strict=True):
            # A copy has no frame to interpolate, its own evaluation count, and may merge equal coefficients.
            own = ("drawn", "evaluations", "forces")
            kept = [{k: v for k, v in observe(s).items() if k not in own} for s in (copy, stepper)]
            same_state(name, *kept)
        self.fast, self.book = made
        self.compare(name)


def pickled(stepper):
    return pickle.loads(pickle.dumps(stepper))


PROLOGUE = struct.Struct("<8sII")
NUMBERS = struct.Struct("<qqqqdQ")
