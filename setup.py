"""Extension modules, directives and flags only; all metadata is in pyproject.toml."""

import gc
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

MODE = os.environ.get("KICKDRIFT_BUILD", "release")
if MODE not in ("release", "debug", "sanitize", "trace"):
    raise SystemExit(f"KICKDRIFT_BUILD={MODE}: expected release, debug, sanitize or trace")
CHECKED = MODE != "release"
# Kernels are inline functions, which belong to no module that coverage knows: they are not traced. Where others
# include them: line tracing boxes what functions return, which it cannot do with vectors.
TRACE = [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0"), ("KICKDRIFT_SCALAR", "1")]

# Wheels are compressed: what is compressed within them is larger, and takes its time in each import.
PLAIN_STRINGS = ("CYTHON_COMPRESS_STRINGS", "0")

DIRECTIVES = {
    "language_level": "3",
    "boundscheck": CHECKED,
    "initializedcheck": CHECKED,
    "overflowcheck": False,  # checked arithmetic calls functions that need the GIL
    "wraparound": False,
    "cdivision": True,
    "auto_pickle": False,
    "autotestdict": False,
    "embedsignature": True,
    "embedsignature.format": "python",
    "freethreading_compatible": True,
}

# The same bits everywhere: no contraction of a * b + c. The next two change no value, but without
# them GCC does not vectorise loops with square roots and choices. The last one is for kernels that
# look at the same bytes as vectors and as single numbers.
UNIX = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"]
UNIX += ["-O3", "-g0"] if MODE == "release" else ["-O1", "-g"]
MSVC = ["/O2", "/fp:precise"]
LINK = []
X86 = re.search(r"x86_64|amd64", sysconfig.get_platform() + os.environ.get("ARCHFLAGS", ""))
if MODE == "sanitize":
    LINK = ["-fsanitize=address,undefined"]
    UNIX += [*LINK, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]

# Functions of arrays are two thirds as large, and as fast, if compilers unroll short loops and copy no functions.
SMALLER = ["-O2", "-fpeel-loops"]
# Loops over single numbers want theirs copied, for each dimension.
COPIED = [*SMALLER, "-fipa-cp-clone"]
# Clang has heard of most of GCC's flags, and ignores them; others it refuses.
REFUSED = {"-fipa-cp-clone"}

# What Cython adds to any module (functions, memoryviews, errors) is compiled once, in a module of its own.
UTILITY = "engine.cython_utility"
# Wheels are downloaded before they are fast: what calls kernels, and is no loop itself, is made small, and no
# symbols are shipped, nor tables that only debuggers and exceptions of C++ need, nor stubs for functions of Python,
# nor functions that nobody calls.
NAMES = ("binding", "bodies", "coefficients", "constraints", "coupled", "events", "formulas", "frames")
NAMES += ("interactions", "neighbours", "ode", "runner", "slots", "snapshots", "verbs", "walls")
# Cython's own short cuts into the insides of Python's objects are for loops: what is called once for each stepper, or
# once in each step, takes as long without them.
PLAIN = ["-DCYTHON_USE_DICT_VERSIONS=0", "-DCYTHON_USE_PYLONG_INTERNALS=0"]
PLAIN += ["-DCYTHON_USE_TYPE_SLOTS=0", "-DCYTHON_UNPACK_METHODS=0"]
SMALL = ["-Os", *PLAIN]
GLUE = {"clock.clockwork": SMALL, UTILITY: SMALL} | {f"engine.{name}": SMALL for name in NAMES}
# What is called on its own takes up to a twentieth longer without them.
GLUE |= {f"engine.{name}": ["-Os"] for name in ("slots", "snapshots", "verbs")}
# On the way of each step and frame, or loops themselves. Where functions begin in their cache line makes a tenth of a
# short step's time: it shall not depend on what else is in a module.
ALIGNED = ["-falign-functions=64"]
# Within functions only loops are worth the padding, and in `runner` these are not either.
DENSE = ["-falign-jumps=1", "-falign-labels=1"]
DENSER = [*DENSE, "-falign-loops=1"]
GLUE |= {"engine.bodies": ["-Os", *ALIGNED, *PLAIN], "engine.runner": ["-O2", *ALIGNED, *DENSER, *PLAIN]}
GLUE |= {"engine.frames": ["-O2", *ALIGNED], "engine.neighbours": [*SMALLER, "-fno-tree-vectorize", *PLAIN]}
if MODE == "release" and sys.platform == "linux":
    LINK = ["-s", "-Wl,--build-id=none", "-Wl,--gc-sections"]
    UNIX += ["-fno-asynchronous-unwind-tables", "-fno-plt"]
    UNIX += ["-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"]
    # These processors order instructions themselves. What is alike stays alike then, and is compressed better.
    UNIX += ["-fno-schedule-insns2"] if X86 else []

# What is written in vectors needs no vectoriser, which would make it half as large again.
VECTORS = ["-fno-tree-vectorize", "-Wno-maybe-uninitialized"]
# The loops over single bodies are written as many small functions each: inlining is what makes the constants
# constant. Compilers' own choice, which serves the others, would leave half of the speed, in half of the time.
# With instructions in any other order, steps of rk4 take up to a tenth longer.
INLINED = ["-DCYTHON_INLINE=__inline__ __attribute__((always_inline))", "-fschedule-insns2", *ALIGNED, *DENSE]
# Kernels of coupled bodies are still smaller, and as fast, if compilers do not take `inline` for a wish: the large
# ones are not inlined then wherever they are called.
UNASKED = ["-DCYTHON_INLINE=", "-Wno-unused"]
PART = {"": INLINED, "formulas": SMALLER, "coupled": SMALLER + UNASKED}
# GCC 12 has an internal error where it copies functions of SSE2's vectors for constant arguments.
UNCOPIED = ["-fno-ipa-cp"]
ISAS = {
    "baseline": {"unix": [], "msvc": []},
    "avx2": {"unix": ["-mavx2"], "msvc": ["/arch:AVX2"]},
    "avx512": {"unix": ["-march=x86-64-v4", "-mprefer-vector-width=512"], "msvc": ["/arch:AVX512"]},
}
if not X86:
    ISAS = {"baseline": ISAS["baseline"]}
# A third of the work while a kernel is written: run with KICKDRIFT_ISA=baseline then.
if os.environ.get("KICKDRIFT_ISAS") == "baseline":
    ISAS = {"baseline": ISAS["baseline"]}


# Each instruction set has a module of three parts, and one module serves all. The largest come first, so that no core
# is idle at the end. What Cython writes to make a module of a part is not exported, so linkers leave it out.
SETS = "kernels.instruction_sets"
PARTS = ("", "_coupled", "_formulas")
KERNELS = {f"{SETS}.{isa}": [f"{SETS}.{isa}{part}" for part in PARTS] for isa in reversed(ISAS)}
KERNELS |= {f"{SETS}.scalar": [f"{SETS}.scalar"]}
NO_MODULE = ("CYTHON_NO_PYINIT_EXPORT", "1")
C = Path("build/cython")
# Modules that exchange structs compare this when they are imported: one from before a change in abi/ would read them
# wrongly. Comments count too, which does no harm: whoever cimports a file is compiled again when it changes.
ABI = hashlib.blake2b(digest_size=8)
for path in sorted(Path("src/kickdrift/kernels/abi").glob("*.pxd")):
    ABI.update(path.read_bytes())


def flags_of(name):
    """What a part is compiled with beside what all are, by compilers other than Microsoft's."""
    isa, _, part = name.rpartition(".")[2].partition("_")
    if isa not in (*ISAS, "scalar"):
        return GLUE.get(name, []) if MODE == "release" else []
    optimised = VECTORS + (PART[part] if isa in ISAS else COPIED) if MODE == "release" else []
    optimised += UNCOPIED if part and isa == "baseline" else []
    return optimised + (ISAS[isa]["unix"] if isa in ISAS else [])


def is_gcc(command):
    return "Free Software Foundation" in subprocess.run([*command, "--version"], capture_output=True, text=True).stdout


class BuildExt(build_ext):
    """Translate, then choose compiler and flags by the compiler that there is: it is known only now."""

    def build_extensions(self):
        self.parallel = self.parallel or os.cpu_count()
        self.translate()
        msvc = self.compiler.compiler_type == "msvc"
        clang = self.take_clang() if msvc else []
        common = MSVC if msvc and not clang else UNIX
        refused = set() if not msvc and is_gcc(self.compiler.compiler_so) else REFUSED
        for extension in self.extensions:
            for name in extension.parts:
                isa = name.rpartition(".")[2].partition("_")[0]
                flags = [*common, *(ISAS.get(isa, {}).get("msvc", []) if common is MSVC else flags_of(name))]
                flags = [flag for flag in flags if flag not in refused]
                if name == f"{SETS}.processor":
                    flags += [f'-DKICKDRIFT_FLAGS="{" ".join(common)}"', f'-DKICKDRIFT_BUILD="{MODE}"']
                if clang:
                    flags = [*clang, *(flag if flag.startswith("-D") else f"/clang:{flag}" for flag in flags)]
                extension.flags[name] = flags
            extension.extra_link_args += LINK
        super().build_extensions()

    def build_extension(self, extension):
        """Compile the parts that are older than their C, each with its flags, and link them."""
        for name, source in extension.parts.items():
            (compiled,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
            if self.force or older(Path(compiled), Path(source)):
                macros = [*extension.define_macros, *([NO_MODULE] if f"kickdrift.{name}" != extension.name else [])]
                self.compiler.compile(
                    [source], output_dir=self.build_temp, macros=macros, debug=self.debug,
                    extra_postargs=extension.flags[name],
                )  # fmt: skip
            extension.depends.append(compiled)
            extension.extra_objects.append(compiled)
        super().build_extension(extension)

    def copy_extensions_to_source(self):
        """What is not built, as KICKDRIFT_ISAS says, is not left there from an earlier build either."""
        super().copy_extensions_to_source()
        built = {Path(self.get_ext_filename(extension.name)).name for extension in self.extensions}
        for path in Path("src/kickdrift/kernels/instruction_sets").glob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
            if path.name not in built:
                path.unlink()

    def translate(self):
        """Have Cython make C of each .pyx, once: the modules of instruction sets differ in their name alone."""
        from Cython.Build import cythonize

        gc.disable()  # Cython makes much and drops little: a third of its time would go into looking for garbage
        for traced in (False, True):
            chosen = [
                (extension, part)
                for extension in self.extensions
                for part in extension.parts
                if extension.traced == traced and not re.search("avx2|avx512", part)
            ]
            for (extension, part), translated in zip(
                chosen,
                cythonize(
                    [Extension(f"kickdrift.{part}", sources_of(part)) for _, part in chosen],
                    # Coverage looks for the C beside the .pyx, and for the lines in its comments.
                    build_dir=None if traced else C,
                    compiler_directives=DIRECTIVES | {"linetrace": traced, "emit_code_comments": CHECKED},
                    shared_utility_qualified_name=None if traced else f"kickdrift.{UTILITY}",
                    nthreads=0 if sys.platform == "win32" else self.parallel,
                ),
                strict=True,
            ):
                (extension.parts[part],) = translated.sources
        for extension in self.extensions:
            for part in extension.parts:
                if isa := re.search("avx2|avx512", part):
                    (source,) = sources_of(part)
                    extension.parts[part] = renamed(C / Path(source).with_suffix(".c"), isa[0])

    def take_clang(self):
        """Have Clang compile in place of Microsoft's compiler, which has no vectors; its flags, or none without it."""
        clang = shutil.which("clang-cl")
        # By itself Clang compiles for the processor that it runs on.
        processor = {"win-amd64": "x86_64", "win-arm64": "aarch64"}.get(self.plat_name)
        if not (clang and processor):
            return []
        if not self.compiler.initialized:
            self.compiler.initialize()
        self.compiler.cc = clang
        return [f"--target={processor}-pc-windows-msvc"]


class BdistWheel(bdist_wheel):
    """Wheels as small as they can be; without the package `deflate` they stay as zlib packs them."""

    def run(self):
        super().run()
        sys.path.insert(0, str(Path(__file__).parent / "tools"))
        from squeeze import squeeze

        for kind, _, path in self.distribution.dist_files:
            if kind == "bdist_wheel" and importlib.util.find_spec("deflate"):
                squeeze(Path(path))


def renamed(source, isa):
    """The C of the baseline's module as that of another instruction set."""
    text = source.read_text("utf-8").replace("baseline", isa)
    path = source.with_name(source.name.replace("baseline", isa))
    # Text that is the same counts as new where the baseline's was translated anew: what it is compiled with may differ.
    if older(path, source) or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
    return str(path)


def older(path, than):
    return not path.exists() or path.stat().st_mtime < than.stat().st_mtime


def sources_of(part):
    """What Cython translates; it writes the shared utility module by itself."""
    path = re.sub("avx2|avx512", "baseline", part).replace(".", "/")
    return [] if part == UTILITY else [f"src/kickdrift/{path}.pyx"]


def module(name):
    extension = Extension(f"kickdrift.{name}", [])
    extension.parts = dict.fromkeys(KERNELS.get(name, [name]))  # and the C of each, once there is some
    extension.flags = {}
    extension.traced = MODE == "trace" and not name.startswith("kernels.")
    abi = ("KICKDRIFT_ABI", f"0x{ABI.hexdigest()}ULL")
    extension.define_macros = [PLAIN_STRINGS, abi, *(TRACE if extension.traced else [])]
    return extension


if __name__ == "__main__":  # Cython's processes import this file
    setup(
        cmdclass={"build_ext": BuildExt, "bdist_wheel": BdistWheel},
        ext_modules=[module(name) for name in (*KERNELS, *GLUE, f"{SETS}.processor")],
    )
