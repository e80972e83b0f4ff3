"""Notebook files for tests, as Jupyter writes them."""

from __future__ import annotations

import json


def notebook(
    *cells: str, listed: bool = True, ascii_only: bool = False, indent: int | None = 1, **metadata: object
) -> str:
    """One code cell a text; a text that begins with `#md ` is a cell of words. `listed`: sources as lists of lines."""
    written = []
    for text in cells:
        source = text.splitlines(keepends=True) if listed else text
        if text.startswith("#md "):
            written.append({"cell_type": "markdown", "metadata": {}, "source": source})
        else:
            outputs = [{"name": "stdout", "output_type": "stream", "text": ["learning_rate=1\n"]}]
            written.append(
                {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": outputs, "source": source}
            )
    data = {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=indent, ensure_ascii=ascii_only) + "\n"


def sources(text: str) -> list[str]:
    """What the cells of code say."""
    cells = json.loads(text)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
