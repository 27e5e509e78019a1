"""Run the notebooks of docs/notebooks and store their outputs: python docs/make_notebooks.py. A test compares them.

Cells run in plain Python, so that neither Jupyter nor a kernel is needed.
"""

import ast
import base64
import contextlib
import io
import json
from pathlib import Path

FOLDER = Path(__file__).parent / "notebooks"


def run(book):
    """Run the code cells in order; return the outputs of each: a list for each code cell."""
    import matplotlib

    matplotlib.use("Agg")
    names = {"__name__": "__main__"}
    return [_run(cell, names) for cell in book["cells"] if cell["cell_type"] == "code"]


def _run(cell, names):
    from matplotlib import pyplot

    source = "".join(cell["source"])
    tree, value = ast.parse(source), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, dpi=100, bbox_inches="tight", metadata={"Software": None})
        data = {"image/png": base64.b64encode(picture.getvalue()).decode() + "\n"}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    pyplot.close("all")
    if value is not None and not source.rstrip().endswith(";"):
        data = {"text/plain": repr(value).splitlines(True)}
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


def texts(outputs):
    """Return the texts among the outputs of a cell."""
    return ["".join(output.get("text", output.get("data", {}).get("text/plain", []))) for output in outputs]


def main():
    for path in sorted(FOLDER.glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        found = iter(run(book))
        count = 0
        for cell in book["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                cell["outputs"], cell["execution_count"] = next(found), count
                for output in cell["outputs"]:
                    if output["output_type"] == "execute_result":
                        output["execution_count"] = count
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
