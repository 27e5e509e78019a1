"""Scripts in processes of their own."""

import subprocess
import sys


def python(code, *arguments):
    """The output of a script in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout
