"""What `import kickdrift` and a stepper load: programs should not wait for modules that they do not use."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kickdrift as kd

LOADED = """
import sys
import kickdrift as kd
{code}
print(*sorted(name.removeprefix("kickdrift.") for name in sys.modules if name.startswith("kickdrift.")))
"""


def loaded(code=""):
    command = [sys.executable, "-W", "error", "-c", LOADED.format(code=code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_only_the_detection_of_instruction_sets():
    assert loaded() == {"kernels", "kernels.instruction_sets", "kernels.instruction_sets.processor"}


def test_a_stepper_loads_only_its_own_constraints_and_forces():
    found = loaded("kd.Stepper([[0.0]], hz=60, forces=[kd.Gravity((-9.81,))]).advance(0.1)")
    assert {"engine.bodies", "forces.fields", "clock.fixed_clock", "constraints.base"} <= found
    assert {name for name in found if name.startswith("constraints.")} == {
        "constraints.base",
        "constraints.broad_phase",
        "constraints.periodic",
    }
    assert {name for name in found if name.startswith("forces.")} == {"forces.applied", "forces.base", "forces.fields"}
    others = {"demos", "distributed", "engine.neighbours", "engine.ode", "flows", "math", "ode", "reference", "verbs"}
    assert not found & {*others, "rollback.rollback", "rollback.tape"}


def test_calls_in_a_running_game_do_not_import_masked_arrays():
    """Regression: np.unique imports numpy.ma, and the first `kill` of a game took 10 ms."""
    code = """
from kickdrift import Boxes, Contacts, Distance, Events, Pin, Rollback, Stepper
import numpy as np
rope = Distance([(0, 1), (1, 2)], max_length=1.0)
tiles = Boxes([(0, -1)], [(9, 0)])
constraints = [Pin(5), rope, Contacts(0.1, shapes=[tiles])]
world = Stepper(np.eye(6, 2), hz=60, constraints=constraints, events=Events(), alive=6)
world.add(extra := Distance([(3, 4)]))
world.step()
world.kill(world.ids[[1, 1]])
world.kill(np.arange(6) == 2)
world.spawn([[3.0, 4.0]], rows=[2, 1])
world.teleport(3, (1.0, 9.0))
world.teleport(([3, 4], 0), (1.0, 9.0))
world.events.where(world.events.take(), tiles)
peer = Rollback(world)
for _ in range(9):
    peer.save()
    world.step()
peer.rollback(world.tick - 3)
world.touching(), world.grounded(), world.cast((0, 9), (0, -20)), world.overlap((0, 0), 3.0), world.load(extra)
world.set(tiles, enabled=[False])
world.restore(world.snapshot())
assert "numpy.ma" not in sys.modules
"""
    loaded(code)


def test_a_clock_loads_no_stepper():
    found = loaded("kd.FixedClock(60).advance(0.1)")
    assert not {name for name in found if name.startswith(("stepper", "forces", "constraints", "integrators"))}


@pytest.mark.parametrize("name", kd.__all__)
def test_each_public_name_can_be_imported(name):
    assert getattr(kd, name) is getattr(kd, name)
    assert name in dir(kd)


def test_the_stub_file_lists_the_same_public_names():
    tree = ast.parse(Path(kd.__file__).with_suffix(".pyi").read_text("utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    homes = {name.asname: node.module for node in imports for name in node.names}
    assert homes == {**kd._MODULES, **dict.fromkeys(("flows", "math", "reference")), "build_info": "kernels"}
    assert {*homes, "__version__"} == {*kd.__all__}


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Gravty'"):
        kd.Gravty  # noqa: B018
    for word, ours in (("Rope", "Distance"), ("World", "Stepper"), ("Body", "Stepper"), ("Springz", "Springs")):
        with pytest.raises(AttributeError, match=f"has no attribute '{word}'; did you mean '{ours}'"):
            getattr(kd, word)


def test_words_of_other_libraries_are_no_names_of_ours():
    words = " ".join(kd._OTHER_WORDS.values()).split()
    assert len(set(words)) == len(words)
    assert not {*words} & {*kd.__all__}
    assert {*kd._OTHER_WORDS} < {*kd.__all__}
