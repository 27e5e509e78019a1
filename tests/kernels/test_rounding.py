"""The self-test at import (rounding.pxd) detects each kind of wrong rounding, if compiled with flags that cause it.

Whole modules are built that way by `python tools/prove.py contraction`.
"""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[2] / "src/kickdrift/kernels/simd"

pytestmark = pytest.mark.skipif(
    not shutil.which("gcc") or not KERNELS.exists() or platform.machine() not in ("x86_64", "AMD64"),
    reason="needs GCC, the sources and x86-64",
)

MAIN = """
#include <stdio.h>
int main(void) {
    printf("%d%d%d%d", kd_as_written_f32(), kd_as_written_f64(), kd_as_written_f32s(), kd_as_written_f64s());
    return 0;
}
"""


def verdicts(folder, *flags):
    """Return a digit for float, double and their vectors each; None if this processor cannot run the flags."""
    c = "".join(re.findall(r'"""\n(.*?)"""', (KERNELS / f"{name}.pxd").read_text("utf-8"), re.DOTALL)[0]
                for name in ("vec", "rounding"))  # fmt: skip
    (folder / "probe.c").write_text(c.replace("\\\\", "\\") + MAIN, "utf-8")
    program = folder / "probe"
    subprocess.run(["gcc", "-w", *flags, folder / "probe.c", "-lm", "-o", program], check=True, timeout=60)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    if done.returncode < 0:
        pytest.skip("this processor has no FMA")
    return done.stdout


SOUND = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing")


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O3"])
@pytest.mark.parametrize("scalar", [(), ("-DKICKDRIFT_SCALAR",)])
def test_sound_flags_pass(tmp_path, level, scalar):
    assert verdicts(tmp_path, level, *scalar, *SOUND, "-mfma") == "1111"


@pytest.mark.parametrize("flags", [("-mfma",), ("-mfma", "-mavx2"), ("-mfma", "-march=x86-64-v4")])
def test_contraction_is_detected(tmp_path, flags):
    assert verdicts(tmp_path, "-O3", "-ffp-contract=fast", *flags) == "0000"


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_excess_precision_is_detected(tmp_path, level):
    # Vector types never use x87, so this is the scalar build.
    assert verdicts(tmp_path, level, "-mfpmath=387", "-DKICKDRIFT_SCALAR") == "0000"


def test_reordering_is_detected(tmp_path):
    assert verdicts(tmp_path, "-O3", "-ffast-math") == "0000"
