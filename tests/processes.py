"""Run scripts in separate processes."""

import subprocess
import sys


def python(code, *arguments):
    """Return the output of a script that runs in a separate process."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
