"""A notebook that is larger than any file that is read: nearly all of it is outputs, so its cells of code are read without them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from stablint.syntax import limits
from stablint.syntax import text as source_text
from stablint.syntax.tree import Document, Problem, Text

LARGEST = 30_000_000
"""Bytes of the largest notebook that is read so."""


def documents(
    path: str, name: str, refused: source_text.Unreadable, parse: Callable[[Text], tuple[Document, ...]]
) -> tuple[Document, ...]:
    """What `parse` makes of the notebook without outputs and prose, which says so; `refused` where that is too large as well.

    The text is not that of the file: nothing in it can be repaired.
    """
    content = source_text.read(path, name, LARGEST)
    if isinstance(content, source_text.Unreadable):
        return (Document(content.text, "notebook", 0, None, (content.problem,)),)
    try:
        slim = content._replace(text=json.dumps(_code(json.loads(content.text)), ensure_ascii=False, indent=1))
    except (ValueError, RecursionError):
        return (Document(refused.text, "notebook", 0, None, (refused.problem,)),)
    if len(slim.text) > source_text.LARGEST:
        return (Document(refused.text, "notebook", 0, None, (refused.problem,)),)
    first, *others = parse(slim)
    millions = f"{len(content.text) / 1_000_000:.0f} million characters"
    words = f"the notebook has {millions}: only its cells of code were read, without outputs"
    told = Problem(limits.LEFT_OUT, words, 0, 0)
    return (first._replace(problems=(*first.problems, told)), *others)


def _code(notebook: Any) -> Any:
    """The same notebook with what a check reads of it. Raises ValueError for what is none."""
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("no notebook")
    return {"cells": [_cell(cell) for cell in notebook["cells"]], "metadata": notebook.get("metadata")}


def _cell(cell: Any) -> Any:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return {"cell_type": "markdown", "source": ""}
    return {"cell_type": "code", "source": cell.get("source", "")}
