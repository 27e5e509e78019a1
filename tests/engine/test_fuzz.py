"""Short runs of the fuzzers in tests/fuzz, and a check with planted faults. `python tools/prove.py fuzz` runs long."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest
from fuzz import SUBJECTS, common, machines, subject

import kickdrift as kd
import kickdrift.reference.clock
import kickdrift.reference.events
import kickdrift.reference.lock
from kickdrift.forces import callbacks
from kickdrift.forces.formula import parser
from kickdrift.rollback import rollback
from kickdrift.rollback.snapshots import packed
from kickdrift.stepper import base
from kickdrift.stepper.common import State

#: The fuzzers draw frame times and damping of any size: silence the warnings.
pytestmark = [pytest.mark.filterwarnings("ignore:seconds"), pytest.mark.filterwarnings("ignore:Springs")]

# Fuzzers that need a process of their own: late signals or endless threads would affect other tests.
ALONE = {
    "threads": (),
    "signals": (pytest.mark.signals, pytest.mark.skipif(sys.platform == "win32", reason="needs setitimer")),
}


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in ALONE])
def test_fuzzers_find_nothing(name):
    before = common.tally.comparisons
    for seed in range(SUBJECTS[name][1]):
        subject(name)(seed)
    assert common.tally.comparisons - before > 500


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, marks in ALONE.items()])
def test_fuzzers_in_a_process_of_their_own_find_nothing(name):
    here, package = Path(__file__).parents[1], Path(kd.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{here}"}
    command = [sys.executable, "-m", "fuzz", name, "--examples", str(SUBJECTS[name][1])]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, timeout=300)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    finds = [line["trace"] for line in said if "found" in line]
    assert not finds, "\n".join(finds[:3])
    assert done.returncode == 0, done.stderr
    assert said[-1]["done"] == SUBJECTS[name][1]
    assert said[-1]["comparisons"] > 200


# Each fuzzer must find a planted fault, which shows that it can find something.


def not_forgetting(self, tick):
    self.stepper.restore(packed(self.stepper, self._snapshots[tick]))


def too_early(self, snapshot, *given, restore=State._restore):
    self._commit(resume=(5, False, self.dt))
    restore(self, snapshot, *given)


def swallowing(self, t, position, velocity, out, evaluate=callbacks.PythonFunction.evaluate):
    try:
        evaluate(self, t, position, velocity, out)
    except Exception:
        out[...] = 0


def at_random(self, *arguments, **options):
    return np.random.default_rng().normal(size=(self.n, self.dim))


def body_by_body(self, index, position):
    for i in np.arange(self.n)[index].ravel().tolist():
        self.position[i] = np.array(position)


PLANTS = [
    ("stepper", kd.reference.Stepper, "restart", lambda self: None, "after "),
    ("stepper", kickdrift.reference.events.Log, "cut", lambda self, tick: None, "^events"),
    ("ode", kickdrift.reference.lock, "digest", lambda values, place: 1, "checksum"),
    ("rollback", rollback.Rollback, "rollback", not_forgetting, "ring|ticks|real time"),
    ("clock", kickdrift.reference.clock.FixedClock, "resync", lambda self: None, "with "),
    ("worlds", kd.Worlds, "_kill", lambda self, mask: None, "^kill_some: "),
    ("snapshots", State, "_restore", too_early, "refused: "),
    ("callbacks", callbacks.PythonFunction, "evaluate", swallowing, "raise in |raised|: None"),
    ("threads", kd.Stepper, "interpolate", at_random, "interpolate saw no completed tick"),
    ("texts", parser._Text, "power", lambda self, base, exponent, node: base, ", not "),
    pytest.param("signals", base.StepperBase, "teleport", body_by_body, "teleport struck", marks=ALONE["signals"]),
]


#: First seed for faults that show in few examples only: earlier seeds take long and find nothing.
FIRST = {"cut": 11, "rollback": 3}


@pytest.mark.parametrize(("name", "place", "attribute", "fault", "found"), PLANTS)
def test_planted_faults_are_found(monkeypatch, name, place, attribute, fault, found):
    monkeypatch.setattr(place, attribute, fault)
    unshrunk = hypothesis.settings(machines.SETTINGS, phases=[hypothesis.Phase.generate])
    monkeypatch.setattr(machines, "SETTINGS", unshrunk)
    messages = []
    first = FIRST.get(attribute, 0)
    for seed in range(first, first + 200):
        try:
            subject(name)(seed)
        except Exception as error:
            messages.append(str(error))
            if re.search(found, messages[-1]):
                return
    raise AssertionError(f"not found, but: {messages[:5]}")
