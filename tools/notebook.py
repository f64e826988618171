"""A script as a notebook: its docstring is the title, and what is apart in the code is a cell of its own.

`python -m tools.notebook` writes examples/score_my_model.ipynb from the script of the same name.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "examples" / "score_my_model.py"


def notebook(script: str) -> str:
    """The text of the notebook; comments above a paragraph become text cells."""
    title = ast.get_docstring(ast.parse(script)) or ""
    code = script.split('"""', 2)[2].strip()
    cells = [_cell("markdown", f"# {title}")]
    for part in re.split(r"\n\n(?=# )|\n\n\n", code):
        lines = part.splitlines()
        if lines[0].startswith("# "):
            cells.append(_cell("markdown", lines[0].removeprefix("# ") + "."))
            lines = lines[1:]
        cells.append(_cell("code", "\n".join(lines)))
    content = {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str) -> dict[str, object]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].rstrip("\n")
    cell: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": lines}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def main() -> None:
    SCRIPT.with_suffix(".ipynb").write_text(notebook(SCRIPT.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
