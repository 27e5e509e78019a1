"""Generate the pages of docs/lessons: the notebooks with their stored outputs. conf.py calls it before Sphinx reads."""

import base64
import json
from pathlib import Path

FOLDER = Path(__file__).parent / "lessons"
NOTEBOOKS = FOLDER.with_name("notebooks")


def write():
    FOLDER.mkdir(exist_ok=True)
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        parts = [part for number, cell in enumerate(cells) for part in shown(cell, f"{notebook.stem}-{number}")]
        title, _, text = "\n\n".join(parts).partition("\n")
        download = f"[Download this lesson as a notebook](../notebooks/{notebook.name})"
        save(FOLDER / f"{notebook.stem}.md", f"{title}\n\n{download}\n{text}\n".encode())


def shown(cell, name):
    """Yield the parts of a cell as Markdown; name: of its pictures."""
    source = "".join(cell["source"])
    yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
    for number, output in enumerate(cell.get("outputs", [])):
        data = output.get("data", {})
        if "image/png" in data:
            save(FOLDER / f"{name}-{number}.png", base64.b64decode("".join(data["image/png"])))
            yield f"![The figure that this code draws]({name}-{number}.png)"
        else:
            text = "".join(output.get("text") or data["text/plain"])
            yield f"```text\n{text.rstrip()}\n```"


def save(path, content):
    """Write a file only if it changes, because Sphinx reads changed files again."""
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)
