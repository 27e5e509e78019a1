"""Extension modules, directives and flags only; all metadata is in pyproject.toml."""

import gc
import hashlib
import os
import re
import sys
import sysconfig
from pathlib import Path
from runpy import run_path
from shutil import which

import setuptools
from Cython.Build import cythonize
from setuptools.command.build_ext import build_ext

if int(setuptools.__version__.partition(".")[0]) < 77:
    raise SystemExit(f"Expected setuptools 77 or newer, got {setuptools.__version__}: pip install 'setuptools>=77'")

MODE = os.environ.get("KICKDRIFT_BUILD", "release")
if MODE not in ("release", "debug", "sanitize", "trace"):
    raise SystemExit(f"KICKDRIFT_BUILD={MODE}: expected release, debug, sanitize or trace")
CHECKED = MODE != "release"
DIRECTIVES = {"language_level": "3", "embedsignature": True, "embedsignature.format": "python", "auto_pickle": False}
DIRECTIVES |= {"wraparound": False, "cdivision": True, "autotestdict": False, "freethreading_compatible": True}
DIRECTIVES |= dict.fromkeys(("boundscheck", "initializedcheck", "emit_code_comments"), CHECKED)
# Flags of all modules: no contraction of a * b + c, for bitwise reproducibility; two flags without effect on results,
# which let GCC convert branches to masks; no strict aliasing, because kernels read memory both as vectors and as single
# numbers.
COMMON = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"]
COMMON += ["-O1", "-g"] if CHECKED else ["-g0", "-fvisibility=hidden", "-ffunction-sections", "-Wno-unused"]
MSVC = ["/O2", "/fp:precise"]
LINK = ["-s", "-Wl,--gc-sections"] if MODE == "release" and sys.platform == "linux" else []
if MODE == "sanitize":
    LINK = ["-fsanitize=address,undefined"]
    COMMON += [*LINK, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
# Kernels use explicit vectors: auto-vectorization only makes them larger. GCC 12 crashes in ipa-cp on functions with
# SSE2 vectors. With -O2, sums with drag take three times as long. Without alignment of functions to cache lines, a step
# of one body takes up to a tenth longer.
KERNELS = ["-O3", "-fno-tree-vectorize", "-fno-ipa-cp", "-falign-functions=64", "-Wno-maybe-uninitialized"]
KERNELS += ["-DKICKDRIFT_INLINE=__inline__ __attribute__((always_inline))"]
# GCC would turn memcpy into `rep movs`, slower for short copies. Tried: -O2 makes modules half as large again.
REST = ["-Os", "-fno-builtin-memcpy", "-fno-builtin-memset", "-falign-functions=64"]

ISAS = {  # flags of GCC and Clang, flags of Microsoft's compiler
    "baseline": ([], []),
    "avx2": (["-mavx2"], ["/arch:AVX2"]),
    "avx512": (["-march=x86-64-v4", "-mprefer-vector-width=512"], ["/arch:AVX512"]),
}
PROCESSOR = sysconfig.get_platform() + os.environ.get("ARCHFLAGS", "")
if not re.search("x86_64|amd64", PROCESSOR) or os.environ.get("KICKDRIFT_ISAS") == "baseline":
    ISAS = {"baseline": ISAS["baseline"]}

# An instruction set is one module of three parts, compiled from the baseline's C; slow compilations come first.
SETS = "kernels.instruction_sets"
MODULES = {f"{SETS}.{isa}": [f"{SETS}.{isa}{part}" for part in ("", "_coupled", "_formulas")] for isa in reversed(ISAS)}
UTILITY = "engine.cython_utility"  # code that Cython would otherwise duplicate in each module
NAMES = [".".join(path.with_suffix("").parts[2:]) for path in sorted(Path("src/kickdrift").rglob("*.pyx"))]
MODULES |= {name: [name] for name in (f"{SETS}.scalar", *NAMES, UTILITY) if f"{SETS}.baseline" not in name}

# Modules that exchange structs compare this digest at import.
ABI = b"".join(path.read_bytes() for path in sorted(Path("src/kickdrift/kernels/abi").glob("*.pxd")))
MACROS = [("CYTHON_COMPRESS_STRINGS", "0")]  # wheels are compressed already, and decompression would slow down imports
MACROS += [("KICKDRIFT_ABI", f"0x{hashlib.blake2b(ABI, digest_size=8).hexdigest()}ULL")]
NO_INIT = [("CYTHON_NO_PYINIT_EXPORT", "1")]  # for parts of a module: lets linkers drop their PyInit
# Coverage cannot trace inline functions: kernels are not traced. Line tracing boxes return values: no vectors.
TRACE = [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0"), ("KICKDRIFT_SCALAR", "1")]


class BuildExt(build_ext):
    """Translate to C first, then choose flags: the compiler is not known earlier."""

    def build_extensions(self):
        self.parallel = self.parallel or os.cpu_count()
        self.c = self.translate(False) | self.translate(True)
        # Microsoft's compiler has no vector types: prefer Clang, whose default target is the host processor.
        self.target, clang = {"win-amd64": "x86_64", "win-arm64": "aarch64"}.get(self.plat_name), which("clang-cl")
        self.msvc = self.compiler.compiler_type == "msvc"
        self.clang = self.msvc and bool(self.target and clang)
        if self.clang:
            if not self.compiler.initialized:
                self.compiler.initialize()
            self.compiler.cc = clang
        super().build_extensions()

    def translate(self, traced):
        """Translate each .pyx to C with Cython, once for all instruction sets; return {name: path}."""
        names = [part for name in MODULES for part in MODULES[name] if is_traced(part) == traced and "avx" not in part]
        gc.disable()  # Cython allocates much and frees little: garbage collection would take a third of the time
        sources = [[] if name == UTILITY else [f"src/kickdrift/{name.replace('.', '/')}.pyx"] for name in names]
        translated = cythonize(
            [setuptools.Extension(f"kickdrift.{name}", source) for name, source in zip(names, sources, strict=True)],
            build_dir=None if traced else "build/cython",  # coverage looks for the C file beside the .pyx file
            compiler_directives=DIRECTIVES | {"linetrace": traced},
            shared_utility_qualified_name=None if traced else f"kickdrift.{UTILITY}",
            nthreads=0 if sys.platform == "win32" else self.parallel,
        )
        return {name: Path(extension.sources[0]) for name, extension in zip(names, translated, strict=True)}

    def flags_of(self, name, isa):
        common = MSVC if self.msvc and not self.clang else COMMON
        tuned = common is COMMON and not CHECKED
        flags = common + ((KERNELS if isa in (*ISAS, "scalar") else REST) if tuned else [])
        flags += ISAS[isa][common is MSVC] if isa in ISAS else []
        if name == f"{SETS}.processor":
            flags += [f'-DKICKDRIFT_FLAGS="{" ".join(common)}"', f'-DKICKDRIFT_BUILD="{MODE}"']
        if self.clang:
            flags = [flag if flag.startswith("-D") else f"/clang:{flag}" for flag in flags]
            flags.append(f"--target={self.target}-pc-windows-msvc")
        return flags

    def build_extension(self, extension):
        """Compile the parts whose C code, flags or compiler have changed, and link them."""
        for name in MODULES[extension.name.partition(".")[2]]:
            isa = name.rpartition(".")[2].partition("_")[0]
            source = self.c[name] if name in self.c else renamed(self.c[name.replace(isa, "baseline")], isa)
            macros = MACROS + (TRACE if is_traced(name) else []) + ([] if name in MODULES else NO_INIT)
            options = {"macros": macros, "debug": self.debug, "extra_postargs": self.flags_of(name, isa)}
            (compiled,) = map(Path, self.compiler.object_filenames([str(source)], output_dir=self.build_temp))
            asked = repr((getattr(self.compiler, "compiler_so", None), options)).encode()
            digest = hashlib.blake2b(source.read_bytes() + asked).hexdigest()
            made_from = compiled.with_suffix(".digest")  # no time stamps: a new environment rewrites equal C
            if self.force or not (compiled.exists() and made_from.exists() and made_from.read_text() == digest):
                made_from.unlink(missing_ok=True)
                self.compiler.compile([str(source)], output_dir=self.build_temp, **options)
                made_from.write_text(digest)
            extension.depends.append(str(compiled))
            extension.extra_objects.append(str(compiled))
        super().build_extension(extension)

    def copy_extensions_to_source(self):
        """Copy the modules, and remove stale ones of instruction sets that KICKDRIFT_ISAS leaves out."""
        super().copy_extensions_to_source()
        for isa in {"avx2", "avx512"} - ISAS.keys():
            Path("src", self.get_ext_filename(f"kickdrift.{SETS}.{isa}")).unlink(missing_ok=True)


def is_traced(name):
    return MODE == "trace" and not name.startswith("kernels.") and name != UTILITY


def renamed(source, isa):
    """Return the C code of the baseline, renamed for another instruction set."""
    path = source.with_name(source.name.replace("baseline", isa))
    path.write_text(source.read_text("utf-8").replace("baseline", isa), "utf-8")
    return path


if __name__ == "__main__":  # not in processes started by Cython, which import this file
    modules = [setuptools.Extension(f"kickdrift.{name}", [], extra_link_args=LINK) for name in MODULES]
    setuptools.setup(cmdclass={"build_ext": BuildExt}, ext_modules=modules, **run_path("tools/readme.py")["metadata"]())
