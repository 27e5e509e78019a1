"""Check the layers of pyproject.toml. import-linter reads Python: Cython imports become Python in a copy."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORT = re.compile(r"^ *from +(\S+) +c?import +(\([^)]*\)|[^#\n*]+)", re.MULTILINE)

with tempfile.TemporaryDirectory() as folder:
    shutil.copytree("src/kickdrift", f"{folder}/kickdrift", ignore=shutil.ignore_patterns("*.so", "*.pyd", "*.pyi"))
    for path in [*Path(folder).rglob("*.pyx"), *Path(folder).rglob("*.pxd")]:
        with path.with_suffix(".py").open("a", encoding="utf-8") as file:
            for module, names in IMPORT.findall(path.read_text("utf-8")):
                file.write(f"\nfrom {module} import {names}\n")
    command = ["lint-imports", "--no-cache", "--config", Path("pyproject.toml").absolute()]
    sys.exit(subprocess.run(command, cwd=folder).returncode)
