"""Shared by the proofs: a copy of the tree, virtual environments and compiler wrappers."""

import os
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "prove"  # persistent, for incremental builds
IGNORED = shutil.ignore_patterns(
    ".git", "build", "dist", ".venv*", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "*.so", "*.pyd"
)


def run(*command, **options):
    """Print and run a command; exit on failure. `env` is added to the environment."""
    command = [str(word) for word in command]
    added = {name: str(value) for name, value in options.pop("env", {}).items()}
    shown = [f"{name}={shlex.quote(value)}" for name, value in added.items()] + [shlex.join(command)]
    print("+", " ".join(shown), file=sys.stderr, flush=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KICKDRIFT_", "PYTHON"))}
    done = subprocess.run(command, env=environment | added, text=True, **options)
    if done.returncode:
        raise SystemExit((done.stdout or "") + (done.stderr or "") + f"{command[0]}: exit code {done.returncode}")
    return done


def said(*command, **options):
    """Return the output of a command."""
    return run(*command, stdout=subprocess.PIPE, **options).stdout


def copy_of_tree(name, copy=shutil.copy2):
    """Copy the sources to a directory, in which older build products stay. `copy` copies a single file."""
    place = WORK / name
    if (place / "src").exists():
        for path in [*(place / "src").rglob("*.p*"), *(place / "tests").rglob("*.py")]:  # deleted or renamed files
            if path.is_file() and not (ROOT / path.relative_to(place)).exists():
                path.unlink()
    shutil.copytree(ROOT, place, ignore=IGNORED, dirs_exist_ok=True, copy_function=copy)
    return place


def environment(name, python=sys.executable, packages=()):
    """Create a virtual environment with these packages; return its interpreter."""
    place = WORK / "environments" / name
    shutil.rmtree(place, ignore_errors=True)
    if python == sys.executable:
        venv.create(place, with_pip=True)
    else:
        run(python, "-m", "venv", place)
    interpreter = place / "bin" / "python"
    if packages:
        run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return interpreter


def compiler(name, command, *flags):
    """Return the path of a script that runs a compiler, with these flags after all others."""
    path = WORK / "compilers" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    # Zig writes processor names with underscores.
    rename = "case $word in -march=x86-64-v4) word=-march=x86_64_v4;; esac; " if "ziglang" in command else ""
    loop = f'for word; do shift; {rename}set -- "$@" "$word"; done\n' if rename else ""
    path.write_text(f'#!/bin/sh\n{loop}exec {command} "$@" {shlex.join(flags)}\n')
    path.chmod(0o755)
    return path


def gcc():
    return "ccache gcc" if shutil.which("ccache") else "gcc"
