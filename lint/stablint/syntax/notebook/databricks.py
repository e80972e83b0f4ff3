"""Databricks notebooks that are kept as Python source: a first line that says so, `# COMMAND ----------` between the cells, and `# MAGIC`
in front of each line that is no Python. Some exports leave `%pip` and `!` lines as they are.
"""

from __future__ import annotations

import re

from stablint.syntax.embedded import Builder
from stablint.syntax.notebook.cells import Cell, Notebook

MARK = "# Databricks notebook source"
HOST = "databricks"

_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_BORDER = re.compile(r"# COMMAND -{3,}[ \t\r]*(?:\n|\Z)")
_MAGIC = re.compile(r"# (?:MAGIC|magic)(?: |(?=\r?\n|\Z))")
# Cells of another language: all of the cell is left out.
_FOREIGN = re.compile(r"\s*%(?:md|md-sandbox|html|sql|scala|r|fs)(?![\w-])")


def is_notebook(text: str) -> bool:
    return text.startswith(MARK)


def notebook(text: str) -> Notebook:
    """The cells of Python and of a shell, counted from one with all the others."""
    builders = [Builder()]
    for found in _LINE.finditer(text, min(text.find("\n") + 1 or len(text), len(text))):
        if found.end() == found.start():
            break
        if _BORDER.match(text, found.start()):
            builders.append(Builder())
            continue
        magic = _MAGIC.match(text, found.start())
        start = magic.end() if magic else found.start()
        builders[-1].keep(text[start : found.end()], start)
    views = [builder.view(HOST) for builder in builders]
    cells = [Cell(number, "code", view.source, view.pieces) for number, view in enumerate(views, 1)]
    return Notebook("python", tuple(cell for cell in cells if not _FOREIGN.match(cell.source)), HOST)
