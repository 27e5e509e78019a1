"""Instruction sets: one module each, chosen at import or by KICKDRIFT_ISA, and never run on unsupported machines."""

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
    """Return the output of a script run under KICKDRIFT_ISA; its stderr if it shall fail."""
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
def test_a_forced_instruction_set_is_used(isa):
    # Only the module in use may be loaded: even its start-up code may contain unsupported instructions.
    assert run(SHOW, isa) == f"{isa} {isa}"


def test_tests_use_only_the_forced_instruction_set():
    assert run("from kickdrift import kernels; print(*kernels.isas)", "baseline") == "baseline"


@pytest.mark.parametrize("isa", [None, ""])
def test_the_best_instruction_set_is_used_by_default(isa):
    best = kernels.available[-1]
    assert run(SHOW, isa) == f"{best} {best}"


def test_an_unknown_instruction_set_is_refused():
    error = run("import kickdrift", "nonsense", returncode=1)
    known = ", ".join(kernels.available)
    assert error.endswith(f"ImportError: KICKDRIFT_ISA=nonsense: unknown; expected one of {known}")


# Simulates a processor without anything beyond the baseline.
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


def test_an_old_processor_loads_the_baseline_only():
    assert run(OLD + SHOW) == "baseline baseline"
    assert run(OLD + "import kickdrift as kd; print(kd.build_info()['isas'])") == "('baseline',)"


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
def test_forcing_an_unsupported_instruction_set_is_refused(isa):
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


# Contents of the compiled modules.


# Extension modules by name; modules that this machine cannot run are inspected but not imported.
MODULES = {
    path.name.partition(".")[0]: path
    for path in Path(kd.__file__).parent.rglob("*")
    if path.name.endswith(EXTENSION_SUFFIXES[0])
}


@cache
def instructions(name):
    """Disassemble a compiled module."""
    text = subprocess.run(["objdump", "-d", MODULES[name]], capture_output=True, text=True, check=True).stdout
    assert text.count("\n") > 500
    return text


def registers(name):
    """Return the kinds of vector registers and the AVX instructions that a compiled module uses."""
    text = instructions(name)
    return set(re.findall(r"%([xyz]mm)\d", text)), set(re.findall(r"\t(v[a-z0-9]+)\b", text))


needs_objdump = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or not shutil.which("objdump"), reason="needs objdump and x86-64"
)


def test_all_modules_are_found():
    assert {"baseline", "scalar", "processor", "bodies", "clockwork", "ode"} <= MODULES.keys()


@needs_objdump
@pytest.mark.parametrize("name", sorted(name for name in MODULES if not name.startswith("avx")))
def test_modules_loaded_on_every_processor_have_no_avx(name):
    kinds, used = registers(name)
    assert kinds <= {"xmm"}
    assert not used


@needs_objdump
@pytest.mark.parametrize(
    ("name", "kind"), [pair for pair in (("avx2", "ymm"), ("avx512", "zmm")) if pair[0] in MODULES]
)
def test_modules_use_their_own_instruction_set(name, kind):
    kinds, used = registers(name)
    assert kind in kinds
    assert "zmm" not in kinds or name.startswith("avx512")
    assert "vmulpd" in used


@needs_objdump
@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_has_a_fused_multiply_add(name):
    """An FMA rounds once where the reference rounds twice.

    Compiler flags are not sufficient: GCC's vectorizer contracts some patterns despite -ffp-contract=off.
    """
    assert not re.findall(r"\tvfn?m\w+", instructions(name))
