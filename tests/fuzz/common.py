"""What all fuzzers share: outcomes that can be compared, what can be seen of a stepper, and how much was compared."""

import dataclasses
import pickle
import struct

import numpy as np

import kickdrift as kd


@dataclasses.dataclass
class Tally:
    """How much was done: a fuzzer that compares nothing finds nothing."""

    operations: int = 0
    comparisons: int = 0


tally = Tally()

#: What is left out of examples, by name: operations, and parts of `observe`. To look behind what is known.
without: set[str] = set()


def plain(value):
    """A value in a form that compares by bits; every NaN is the same, since payloads are no part of the promise."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "f":  # events, numbers of bodies
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
    """What a call returns or raises."""
    try:
        return "returned", plain(call(*arguments))
    except Exception as error:
        return "raised", type(error).__name__, str(error)


def same(what, actual, expected):
    """Count a comparison, and make it."""
    tally.comparisons += 1
    if actual != expected:
        raise AssertionError(f"{what}: {shown(actual)}, not {shown(expected)}{first_difference(actual, expected)}")


def check(condition, message):
    """The same for what must hold by itself."""
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
    """The arrays that later steps depend on."""
    return stepper._arrays()


def finite(stepper):
    return all(np.isfinite(array).all() for array in numbers(stepper))


def observe(stepper):
    """All that can be seen of a stepper without changing it."""
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
    if finite(stepper):  # how snapshots keep a NaN is not promised
        if hasattr(stepper, "interpolate"):
            seen["drawn"] = outcome(lambda: stepper.interpolate(0.25))
        seen["checksum"] = outcome(stepper.checksum)
        seen["snapshot"] = outcome(stepper.snapshot)
    return {name: value for name, value in seen.items() if name not in without}


def same_state(what, actual, expected):
    """Compare all that `observe` sees, part by part, so that a find says which."""
    check(actual.keys() == expected.keys(), f"{what}: one has a clock or is finite, the other not")
    for name in actual:
        same(f"{what}: {name}", actual[name], expected[name])


def without_clock(snapshot):
    """The bytes of a snapshot but for the clock's tick, which steppers without a clock do not have, and the CRC."""
    return snapshot[:12] + snapshot[16:24] + snapshot[32:]


class Twins:
    """A compiled stepper and its reference, which are one stepper to whoever looks."""

    def __init__(self, fast, book):
        self.fast, self.book = fast, book

    def do(self, name, operation, *, may_raise=()):
        """Do the same to both: they must return or raise the same, and look the same afterwards.

        may_raise: the names of errors that are in order; anything else is a find, also where both agree.
        """
        if name in without:
            return None
        tally.operations += 1
        results = [outcome(operation, stepper) for stepper in (self.fast, self.book)]
        same(name, *results)
        if results[0][0] == "raised" and may_raise is not None:
            check(results[0][1] in may_raise, f"{name} raised {results[0][1]}: {results[0][2]}")
        self.compare(name)
        return results[0]

    def refuse(self, name, operation):
        """Bad arguments: the same error from both, and nothing has changed."""
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
        """Small numbers again, as the message of NonFiniteError says."""
        for stepper in (self.fast, self.book):
            for array in stepper._sampled():
                array[...] = np.linspace(-0.5, 0.5, array.size).reshape(array.shape)
            if hasattr(stepper, "restart"):
                stepper.restart()

    def replace(self, name, make):
        """Go on with what is made from each, such as copies."""
        if name in without:
            return
        tally.operations += 1
        made = [make(stepper) for stepper in (self.fast, self.book)]
        for copy, stepper in zip(made, (self.fast, self.book), strict=True):
            # A copy has nothing to draw from, counts its own evaluations, and may write one number for many equal ones.
            own = ("drawn", "evaluations", "forces")
            kept = [{k: v for k, v in observe(s).items() if k not in own} for s in (copy, stepper)]
            same_state(name, *kept)
        self.fast, self.book = made
        self.compare(name)


def pickled(stepper):
    return pickle.loads(pickle.dumps(stepper))


PROLOGUE = struct.Struct("<8sII")
NUMBERS = struct.Struct("<qqqqdQ")
