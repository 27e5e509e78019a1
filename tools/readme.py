"""README for package indexes: links to the published pages, or plain text if their address is not set."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def description(text, urls):
    """Return the text with links relative to [project.urls] Documentation."""
    if pages := urls.get("Documentation", "").rstrip("/"):
        text = re.sub(r"\]\(docs/(?:[^()]*/)?([\w-]+\.(?:webp|png))\)", rf"]({pages}/_images/\1)", text)
        return re.sub(r"\]\(docs/([\w/-]+)\.md(#[\w-]+)?\)", rf"]({pages}/\1.html\2)", text)
    text = re.sub(r"!\[[^]]*\]\(docs/[^)]*\)\n*", "", text)
    return re.sub(r"\[([^]]*)\]\(docs/[^)]*\)", r"\1", text)


def metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = description((ROOT / "README.md").read_text("utf-8"), project.get("urls", {}))
    return {"long_description": text, "long_description_content_type": "text/markdown"}
