"""Notebooks: their code cells as one Python module, their shell commands as scripts, the files that they write as files.

All of them are views of the notebook's own text. Names flow from cell to cell in the order of the file, as when all cells are run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from stablint.syntax import embedded, limits
from stablint.syntax.embedded import Builder, Parse, remapped, start_in_view
from stablint.syntax.embedded import documents as documents_of
from stablint.syntax.json import reader as json_reader
from stablint.syntax.notebook import databricks
from stablint.syntax.notebook.cells import Cell, NoNotebook, Notebook, notebook
from stablint.syntax.notebook.magics import Span, Written, binds_only, divide
from stablint.syntax.python import parse as python_parse
from stablint.syntax.python import reader as python_reader
from stablint.syntax.shell.launchers import starters
from stablint.syntax.shell.reader import BROKEN
from stablint.syntax.text import conflict
from stablint.syntax.tree import Document, Module, Piece, Problem, Scalar, Seen, Text, View


@cache
def _starter() -> re.Pattern[str]:
    """A shell line that starts something; the others (`!pip install`, `!ls`) are not read."""
    return re.compile(rf"\b(?:python[\d.]*|{'|'.join(map(re.escape, sorted(starters(), key=len, reverse=True)))})\b")


_FETCHES = re.compile(
    r"\s*(?:sudo\s+)?(?:uv\s+)?(?:python[\d.]*\s+-m\s+)?(?:pip3?|conda|mamba|apt(?:-get)?|git|wget|curl|uv|ls|cat)\b"
)
# `{name}`, and `{name.member}`, `{name[0]}`, `{call(1, "a")}`, `{a * b}`, each with `!r` or `:.2f` behind it; no list of a shell (`{a,b}`).
_EXPANDED = re.compile(r"(?<![${\\])\{([^\W\d]\w*)(?:[ \t]*[.\[(+*/%:!-][^{}\n]*)?\}(?!\})")
_LONGEST = 900_000  # characters of all cells: syntax/python/reader.py reads a million
_LONGEST_CELL = 100_000  # more than that is data, where a notebook is that long


def documents(text: Text, parse: Parse, kind_of: Callable[[str], str]) -> tuple[Document, ...]:
    """The Python first, then shell commands and written files in their order. A file that is no notebook is one document without a root.
    `kind_of` says how a file that a cell writes is read; empty for text of another language.
    """
    try:
        read = databricks.notebook(text.text) if databricks.is_notebook(text.text) else notebook(text.text)
    except NoNotebook as wrong:
        return (Document(text, "notebook", 0, None, (Problem("not-a-notebook", str(wrong), 0, 0),)),)
    except (ValueError, RecursionError):
        return (Document(text, "notebook", 0, None, _refused(text)),)
    if read.language not in ("", "python", "ipython", "python3"):
        return (Document(text, "notebook", 0, None),)
    found, whole = _python(text, read)
    module = found[0] = found[0]._replace(problems=(*found[0].problems, *_unmoved(read, whole)))
    constants = _constants(module)
    for span in whole.shell:
        if _starts(span):
            if len(found) >= limits.DOCUMENTS.most:
                at = start_of(span.cell, span.start)
                found[0] = module._replace(problems=(*module.problems, limits.DOCUMENTS.problem(at, at)))
                break
            commands = documents_of(text, _command(span, constants, read.host), "shell", len(found), parse)
            if not (span.guessed and any(document.problems for document in commands)):
                found += [_as_one_line(document) if span.expands else document for document in commands]
    for written in whole.written:
        kind = kind_of(written.name)
        if kind not in ("notebook", ""):
            found += documents_of(text, _file(written, read.host), kind, len(found), parse)
    return tuple(found)


# `!cd folder` by itself; what moves the kernel; a file that a command looks for in its own folder.
_CHANGES_ALONE = re.compile(r"[ \t]{0,8}cd[ \t]{1,8}[^\s;&|#~-][^\s;&|#]{0,200}[ \t]{0,8}\n?\Z")
_MOVES = re.compile(r"(?:^|\n)[ \t]{0,40}(?:%cd\b|cd[ \t])|\bchdir\(|%%(?:bash|sh)\b")
_RELATIVE = re.compile(r"[ \t](?![/~$-])[\w./-]{1,200}\.(?:py|ya?ml|sh)\b")


def _unmoved(read: Notebook, whole: _Whole) -> tuple[Problem, ...]:
    """A `!cd` that is its command's all, before a command that looks for a file from where it stands: each `!` has a shell of its own."""
    if any(_MOVES.search(cell.source) for cell in read.cells):
        return ()
    first: Span | None = None
    for span in whole.shell:
        if not span.expands or span.prefix:
            continue
        if first is None and _CHANGES_ALONE.match(span.cell.source, span.start, span.end):
            first = span
        elif first is not None and _starts(span) and _RELATIVE.search(span.cell.source, span.start, span.end):
            if not re.search(r"\bcd[ \t]", span.cell.source[span.start : span.end]):
                at, end = start_of(first.cell, first.start), start_of(first.cell, first.end - 1)
                words = "this changes the folder of its own shell, which ends with the line: the commands below run where they ran before"
                return (Problem("notebook-folder-unchanged", words, at, end),)
    return ()


def _as_one_line(document: Document) -> Document:
    """A `!` command, which IPython joins to one line before a shell sees it: only a comment within ends it before its flags do."""
    if not document.problems:
        return document
    kept = tuple(one for one in document.problems if one.kind != BROKEN or one.message.startswith("the comment"))
    return document._replace(problems=kept)


def _refused(text: Text) -> tuple[Problem, ...]:
    """Why it is no JSON, in the words of the reader of JSON."""
    return json_reader.document(text).problems or (Problem("syntax-error", "not JSON", 0, 0),)


class _Whole:
    """All cells: their Python in one text, and what is no Python. `broken` are the numbers of cells that Python refuses."""

    def __init__(self, read: Notebook, broken: frozenset[int] = frozenset()) -> None:
        self.read = read
        self.shell: list[Span] = []
        self.written: list[Written] = []
        self.left_out: list[Cell] = []
        long = sum(len(cell.source) for cell in read.cells) > _LONGEST
        builder = Builder()
        for cell in read.cells:
            if long and len(cell.source) > _LONGEST_CELL:
                binds_only(cell, builder)
                self.left_out.append(cell)
                continue
            if cell.number in broken:
                binds_only(cell, builder)
                self.shell.append(Span(cell, 0, len(cell.source), guessed=True))
                continue
            parts = divide(cell, builder)
            self.shell += parts.shell
            self.written += parts.written
        self.view = builder.view(read.host)


def _python(text: Text, read: Notebook) -> tuple[list[Document], _Whole]:
    """The Python of all cells, and the files that it writes. A cell that is none is left out, and what it seems to define is unknown; it may be shell."""
    whole = _Whole(read)
    found = python_reader.documents(Text(text.path, text.name, whole.view.source), cells=True)
    problems, conflicts = found[0].problems, list[tuple[Cell, Problem]]()
    if found[0].root is None and (not problems or problems[0].kind in (python_parse.UNPARSED, "syntax-error")):
        broken = [cell for cell in read.cells if _is_broken(cell)]
        whole = _Whole(read, frozenset(cell.number for cell in broken))
        found = python_reader.documents(Text(text.path, text.name, whole.view.source), cells=True)
        conflicts = [(cell, told) for cell in broken if (told := conflict(cell.source))]
    outer = [remapped(document, text, whole.view, document.number) for document in found]
    for cell, told in conflicts[:1]:
        told = told._replace(start=start_of(cell, told.start), end=start_of(cell, told.end))
        outer[0] = outer[0]._replace(problems=(*outer[0].problems, told))
    if whole.left_out:
        at = start_of(whole.left_out[0], 0)
        cells = ", ".join(str(cell.number) for cell in whole.left_out)
        words = f"the notebook is longer than {_LONGEST:,} characters, and its cells of more than {_LONGEST_CELL:,} were left out: {cells}"
        outer[0] = outer[0]._replace(problems=(*outer[0].problems, Problem(limits.LEFT_OUT, words, at, at)))
    return outer, whole


def _is_broken(cell: Cell) -> bool:
    builder = Builder()
    divide(cell, builder)
    source = builder.view("notebook").source
    return python_parse.tree_of(source) is None


def _constants(document: Document) -> dict[str, str]:
    """The names whose value is known, as IPython puts it into a command."""
    if not isinstance(document.root, Module):
        return {}
    return {
        entry.key: str(entry.value.value)
        for entry in document.root.names.entries
        if isinstance(entry.value, Scalar) and isinstance(entry.value.value, (str, int, float))
    }


def _starts(span: Span) -> bool:
    """Whether it may start a training. A cell of several lines may install something first."""
    source = span.cell.source
    if span.prefix:
        return True
    installs = span.expands and _FETCHES.match(source, span.start)
    return bool(_starter().search(source, span.start, span.end)) and not installs


def _command(span: Span, constants: dict[str, str], host: str) -> View:
    cell, builder = span.cell, Builder()
    at = span.start
    if span.prefix:
        builder.take(cell.source, cell.pieces, at, at)
        start = start_of(cell, at)
        builder.put(span.prefix, start, start)
    for found in _EXPANDED.finditer(cell.source, span.start, span.end) if span.expands else ():
        builder.take(cell.source, cell.pieces, at, found.start())
        known = constants.get(found[1]) if found[0] == f"{{{found[1]}}}" else None
        builder.put(
            f"${{{found[1]}}}" if known is None else known,
            start_of(cell, found.start()), start_of(cell, found.end() - 1) + 1,
        )  # fmt: skip
        at = found.end()
    builder.take(cell.source, cell.pieces, at, span.end)
    return builder.view(host)


def _file(written: Written, host: str) -> View:
    builder = Builder()
    builder.take(written.span.cell.source, written.span.cell.pieces, written.span.start, written.span.end)
    return builder.view(host, written.name)


def start_of(cell: Cell, offset: int) -> int:
    return embedded.start_in_file(View(cell.source, cell.pieces, "notebook"), offset)


def seen(text: Text, start: int, end: int) -> Seen | None:
    """Where in which cell a part of the file is; None for what stands in no cell of code."""
    for cell in _cells(text.text):
        inside = _inside(cell.pieces, start)
        if inside is not None:
            last = start_in_view(cell.pieces, end)
            return Seen(cell.number, cell.source, inside, max(inside, last if last is not None else inside))
    return None


_latest: list[tuple[str, tuple[Cell, ...]]] = []  # of the text that was asked for last


def _cells(text: str) -> tuple[Cell, ...]:
    if not _latest or _latest[0][0] != text:
        try:
            _latest[:] = [(text, notebook(text).cells)]
        except (ValueError, RecursionError):
            _latest[:] = [(text, ())]
    return _latest[0][1]


def _inside(pieces: tuple[Piece, ...], offset: int) -> int | None:
    return start_in_view(pieces, offset) if pieces and pieces[0].at <= offset <= pieces[-1].till else None
