"""One module per instruction set: chosen at import, forced by KICKDRIFT_ISA, none run where it cannot."""

import os
import platform
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import kickdrift as kd
from kickdrift import kernels

KNOWN = ("baseline", "avx2", "avx512")


def run(code, isa=None, returncode=0):
    """A script's output (or what it wrote to stderr, where it is to fail) under KICKDRIFT_ISA."""
    environment = {name: value for name, value in os.environ.items() if name != "KICKDRIFT_ISA"}
    if isa is not None:
        environment["KICKDRIFT_ISA"] = isa
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == returncode, done.stderr
    return (done.stderr if returncode else done.stdout).strip()


SHOW = """
import sys
import kickdrift as kd
kd.Stepper([[0.0]], forces=[kd.Gravity((1,))]).step(60)
kd.damp(kd.Stepper([[1.0]]).velocity, 0.5, 1.0)
names = ("baseline", "avx2", "avx512")
loaded = [name for name in names if f"kickdrift.kernels.instruction_sets.{name}" in sys.modules]
print(kd.build_info()["isa"], *loaded)
"""


@pytest.mark.parametrize("isa", kernels.isas)
def test_forced(isa):
    # Only the module that is used is loaded: even its start-up code may contain such instructions.
    assert run(SHOW, isa) == f"{isa} {isa}"


def test_tests_keep_to_the_one_that_is_forced():
    assert run("from kickdrift import kernels; print(*kernels.isas)", "baseline") == "baseline"


@pytest.mark.parametrize("isa", [None, ""])
def test_the_best_is_chosen_unless_forced(isa):
    best = kernels.available[-1]
    assert run(SHOW, isa) == f"{best} {best}"


def test_unknown():
    error = run("import kickdrift", "nonsense", returncode=1)
    known = ", ".join(kernels.available)
    assert error.endswith(f"ImportError: KICKDRIFT_ISA=nonsense: unknown; expected one of {known}")


# A processor that has no more than the baseline, for all that the package can tell.
OLD = """
import sys
from importlib.machinery import PathFinder

class Old:
    def find_spec(name, path, target=None):
        if name != "kickdrift.kernels.instruction_sets.processor":
            return None
        spec = PathFinder.find_spec(name, path)
        exec_module = spec.loader.exec_module
        def exec_and_forget(module):
            exec_module(module)
            module.SUPPORTED = ("baseline",)
        spec.loader.exec_module = exec_and_forget
        return spec

sys.meta_path.insert(0, Old)
"""


def test_an_old_processor_gets_the_baseline_and_loads_nothing_else():
    assert run(OLD + SHOW) == "baseline baseline"
    assert run(OLD + "import kickdrift as kd; print(kd.build_info()['isas'])") == "('baseline',)"


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_forced_on_a_machine_that_lacks_it(isa):
    error = run(OLD + "import kickdrift", isa, returncode=1)
    expected = f"KICKDRIFT_ISA={isa}: not supported by this machine or build; expected one of baseline"
    assert error.endswith("ImportError: " + expected)


def test_build_info():
    info = kd.build_info()
    assert info["version"] == kd.__version__
    assert info["isas"] == kernels.available
    assert set(kernels.isas) <= set(info["isas"])
    assert info["isas"][0] == "baseline"
    assert set(info["isas"]) <= set(KNOWN)
    assert info["isa"] in info["isas"]
    assert info["build"] in ("release", "debug", "sanitize", "trace")
    assert re.match(r"gcc|clang|msvc", info["compiler"])
    assert "fast-math" not in info["flags"]
    assert "-ffp-contract=off" in info["flags"] or "/fp:precise" in info["flags"]


# What the modules are made of.


# By their names; modules of instruction sets that this machine lacks are looked at too, but not imported.
MODULES = {
    path.name.partition(".")[0]: path
    for path in Path(kd.__file__).parent.rglob("*")
    if path.name.endswith(EXTENSION_SUFFIXES[0])
}


@cache
def instructions(name):
    """A compiled module, disassembled."""
    text = subprocess.run(["objdump", "-d", MODULES[name]], capture_output=True, text=True, check=True).stdout
    assert text.count("\n") > 500
    return text


def registers(name):
    """The kinds of vector registers that a compiled module uses, and the instructions that came with AVX."""
    text = instructions(name)
    return set(re.findall(r"%([xyz]mm)\d", text)), set(re.findall(r"\t(v[a-z0-9]+)\b", text))


needs_objdump = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or not shutil.which("objdump"), reason="needs objdump and x86-64"
)


def test_all_modules_are_found():
    assert {
        "baseline",
        "scalar",
        "processor",
        "bodies",
        "clockwork",
        "ode",
    } <= MODULES.keys()


@needs_objdump
@pytest.mark.parametrize("name", sorted(name for name in MODULES if not name.startswith("avx")))
def test_what_every_processor_loads_has_no_avx(name):
    kinds, used = registers(name)
    assert kinds <= {"xmm"}
    assert not used


@needs_objdump
@pytest.mark.parametrize(
    ("name", "kind"), [pair for pair in (("avx2", "ymm"), ("avx512", "zmm")) if pair[0] in MODULES]
)
def test_the_other_modules_use_theirs(name, kind):
    kinds, used = registers(name)
    assert kind in kinds
    assert "zmm" not in kinds or name.startswith("avx512")
    assert "vmulpd" in used


@needs_objdump
@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_has_a_fused_multiply_add(name):
    """It rounds once where the reference rounds twice.

    Flags alone do not see to it: vectorisers of GCC contract some patterns in spite of -ffp-contract=off.
    """
    assert not re.findall(r"\tvfn?m\w+", instructions(name))
