"""Extension modules, directives and flags only; all metadata is in pyproject.toml."""

import os
import re
import shutil
import sys
import sysconfig

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODE = os.environ.get("KICKDRIFT_BUILD", "release")
if MODE not in ("release", "debug", "sanitize", "trace"):
    raise SystemExit(f"KICKDRIFT_BUILD={MODE}: expected release, debug, sanitize or trace")
CHECKED = MODE != "release"
# Kernels are inline functions, which belong to no module that coverage knows: they are not traced. Where others
# include them: line tracing boxes what functions return, which it cannot do with vectors.
TRACE = [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0"), ("KICKDRIFT_SCALAR", "1")]

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
# look at the same bytes as lanes and as single numbers.
UNIX = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing"]
UNIX += ["-O3", "-g0"] if MODE == "release" else ["-O1", "-g"]
MSVC = ["/O2", "/fp:precise"]
LINK = []
if MODE == "sanitize":
    LINK = ["-fsanitize=address,undefined"]
    UNIX += [*LINK, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]

# Wheels are downloaded before they are fast: what calls kernels, and is no loop itself, is made small, and no
# symbols are shipped.
LEVELS = {"unix": {}, "msvc": {}}
if MODE == "release":
    LEVELS["unix"] = {name: ["-Os"] for name in ("binding", "coupled", "fields", "holds", "ode", "pushes", "sharing")}
    LEVELS["unix"] |= {name: ["-O2"] for name in ("clock", "core", "runner")}
    if sys.platform == "linux":
        LINK = ["-s"]

# The kernels are written as many small functions for one large loop each: inlining is what makes
# the constants constant. GCC's default budget for unrolling the loops over lanes is too small.
KERNEL = {"unix": [], "msvc": []}
if MODE == "release":
    # What is written in lanes needs no vectoriser, which would make it half as large again.
    KERNEL["unix"] = [
        "-fno-tree-vectorize",
        "-DCYTHON_INLINE=__inline__ __attribute__((always_inline))",
        "-Wno-maybe-uninitialized",
    ]
ISAS = {
    "baseline": {"unix": [], "msvc": []},
    "avx2": {"unix": ["-mavx2"], "msvc": ["/arch:AVX2"]},
    "avx512": {"unix": ["-march=x86-64-v4", "-mprefer-vector-width=512"], "msvc": ["/arch:AVX512"]},
}
if not re.search(r"x86_64|amd64", sysconfig.get_platform() + os.environ.get("ARCHFLAGS", "")):
    ISAS = {"baseline": ISAS["baseline"]}


class BuildExt(build_ext):
    """Choose compiler and flags, by the compiler that there is: it is known only now."""

    def build_extensions(self):
        msvc = self.compiler.compiler_type == "msvc"
        clang = self.take_clang() if msvc else []
        kind = "msvc" if msvc and not clang else "unix"
        self.parallel = self.parallel or os.cpu_count()
        common = MSVC if kind == "msvc" else UNIX
        for extension in self.extensions:
            isa = extension.name.rpartition(".")[2]
            name = extension.name.removeprefix("kickdrift.")
            flags = common + (KERNEL[kind] + ISAS[isa][kind] if isa in ISAS else LEVELS[kind].get(name, []))
            if isa == "processor":
                flags = [*flags, f'-DKICKDRIFT_FLAGS="{" ".join(common)}"', f'-DKICKDRIFT_BUILD="{MODE}"']
            if clang:
                flags = [*clang, *(flag if flag.startswith("-D") else f"/clang:{flag}" for flag in flags)]
            extension.extra_compile_args += flags
            extension.extra_link_args += LINK
        super().build_extensions()

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


def extensions(*names, traced):
    return cythonize(
        [
            Extension(
                f"kickdrift.{name}",
                [f"src/kickdrift/{name.replace('.', '/')}.pyx"],
                define_macros=TRACE if traced else [],
            )
            for name in names
        ],
        # Coverage looks for the C beside the .pyx.
        build_dir=None if traced else "build/cython",
        compiler_directives=DIRECTIVES | {"linetrace": traced},
    )


setup(
    cmdclass={"build_ext": BuildExt},
    ext_modules=[
        *extensions("kernels.processor", *(f"kernels.{isa}" for isa in ISAS), traced=False),
        *extensions(
            "binding",
            "clock",
            "core",
            "coupled",
            "fields",
            "holds",
            "ode",
            "pushes",
            "runner",
            "sharing",
            "stepper",
            "verbs",
            traced=MODE == "trace",
        ),
    ],
)
