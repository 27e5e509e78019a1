"""Check that modules built by a compiler that contracts a * b + c are refused at import."""

import platform
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import common

PRETEND = ("-O1", "-fexpensive-optimizations", "-ffp-contract=fast", "-mfma")  # GCC contracts with these
INTEGERS = {"kickdrift.engine.cython_utility", "kickdrift.kernels.instruction_sets.processor"}  # no floats

# Import a module of the unsound build into a sound package: in an unsound one, another module could be refused first.
IMPORT = """
import sys
from importlib.util import module_from_spec, spec_from_file_location

name, path, sound = sys.argv[1:]
sys.path.insert(0, sound)
import kickdrift

spec = spec_from_file_location(name, path)
try:
    spec.loader.exec_module(module_from_spec(spec))
except ImportError as error:
    print(error)
"""


def main():
    """Needs x86-64 with FMA, GCC, and a sound kickdrift to import."""
    if platform.machine() not in ("x86_64", "AMD64"):
        raise SystemExit("-mfma is an option of x86-64; elsewhere `prove.py cross` has the last word")
    import kickdrift
    from kickdrift import kernels

    tree = common.copy_of_tree("contraction")
    cc = common.compiler("contracting", common.gcc(), *PRETEND)
    common.run(sys.executable, "setup.py", "--quiet", "build", "--build-lib", "lib", cwd=tree, env={"CC": cc})
    lib = tree / "lib"
    wrong = 0
    for path in sorted(path for path in lib.rglob("*") if path.name.endswith(EXTENSION_SUFFIXES[0])):
        name = ".".join(path.relative_to(lib).parts).removesuffix(EXTENSION_SUFFIXES[0])
        isa = name.rpartition(".")[2].partition("_")[0]
        if name in INTEGERS or (isa in kernels.KNOWN and isa not in kernels.isas):
            continue
        sound = Path(kickdrift.__file__).parent.parent
        refusal = common.said(sys.executable, "-c", IMPORT, name, path, sound).strip()
        print(refusal or f"{name}: imported, though its compiler contracts")
        wrong += not refusal.startswith(f"{name}: ")
    common.run(sys.executable, "-c", "try: from kickdrift import Stepper\nexcept ImportError as e: print(e)\n"
               "else: raise SystemExit('kickdrift.Stepper: not refused')", cwd=lib)  # fmt: skip
    return wrong
