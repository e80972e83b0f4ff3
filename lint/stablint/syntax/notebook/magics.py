"""What IPython adds to Python: magics, `!` commands, `?` questions. A cell becomes Python, shell commands and files that it writes.

Python is kept as it stands; what is no Python is replaced by a word that binds the same names and says nothing of their values.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from stablint.syntax import embedded
from stablint.syntax.embedded import Builder
from stablint.syntax.notebook.cells import Cell
from stablint.syntax.tree import View

UNKNOWN = "get_ipython()"
"""Python's word for what only IPython knows."""

# Cell magics whose body is Python of this kernel, cell magics for a shell, and magics for a line with Python behind it.
_PYTHON_BODY = frozenset(
    ["capture", "time", "timeit", "prun", "memit", "mprun", "debug", "px", "python", "python3", "pypy", "wandb"]
)
_SHELL_BODY = frozenset(["bash", "sh", "shell", "zsh", "system", "sx"])
_FILE_BODY = frozenset(["writefile", "file"])
_PYTHON_REST = frozenset(["time", "timeit", "prun", "memit", "debug", "capture"])
_INTERPRETERS = re.compile(r"(?:\S*/)?(?:ba|z|da|k)?sh\b")
_FIRST = re.compile(r"\s*%%(!|\w+)[ \t]*([^\n]*)\n?")
_DATABRICKS_SHELL = re.compile(r"\s*%sh[ \t]*\n")
_NAME = r"[^\W\d][\w.]*(?:\[[^\]\n]*\])?"
_MAGIC = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<shell>!!?|%(?:sx|system|sh)[ \t]+)|(?P<magic>%{1,2}[ \t]*[^\W\d]\w*)"
    rf"|(?P<ask>\?\??[ \t]*%{{0,2}}{_NAME}[^\n]*|%{{0,2}}{_NAME}\?{{1,2}}[ \t]*(?=\n|\Z))"
    rf"|(?P<bound>{_NAME}(?:[ \t]*,[ \t]*{_NAME})*)[ \t]*=[ \t]*(?:!|%[ \t]*[^\W\d])"
    r"|(?P<auto>(?:pip3?|conda|mamba|uv)[ \t]+(?:install|pip|uninstall|list|show|env)\b))"
)
_CONTINUED = re.compile(r"[^\n]*\\\n")
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_OPTIONS = re.compile(r"(?:[ \t]+-\w+(?:[ \t]*\d+)?)*[ \t]*")
_TOKEN = re.compile(
    r"'''(?:[^'\\]|\\.|'(?!''))*(?:'''|\Z)|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*(?:\"\"\"|\Z)"
    r"|'(?:[^'\\\n]|\\.)*'?|\"(?:[^\"\\\n]|\\.)*\"?|#[^\n]*|\\\n"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>\n)",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"^[ \t]*([^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*)[ \t]*=(?!=)", re.MULTILINE)
_ENVIRONMENT = re.compile(r"[ \t]+([A-Za-z_]\w*)[ \t]*(?:=|[ \t])[ \t]*([^\s\"\\$]+)[ \t]*(?=\n|\Z)")


class Span(NamedTuple):
    """`cell.source[start:end]`. `prefix` stands in front of it for the shell: `python` for `%run`."""

    cell: Cell
    start: int
    end: int
    prefix: str = ""
    expands: bool = False  # `{name}` of Python
    guessed: bool = False  # a cell that is no Python, and may be another language


class Written(NamedTuple):
    """A cell that writes a file; its name as spelled."""

    name: str
    span: Span


class Parts(NamedTuple):
    shell: tuple[Span, ...]
    written: tuple[Written, ...]


def divide(cell: Cell, python: Builder) -> Parts:
    """Puts the cell's Python into the builder, and gives the rest."""
    start = 0
    while first := _FIRST.match(cell.source, start):
        magic, arguments = first[1], first[2].strip()
        body = Span(cell, first.end(), len(cell.source))
        if magic in _SHELL_BODY or magic == "!" or (magic == "script" and _INTERPRETERS.match(arguments)):
            return Parts((body,), ())
        if magic in _FILE_BODY:
            name = arguments.split()[-1].strip("\"'") if arguments else ""
            appended = arguments.startswith(("-a ", "--append "))
            known = name and not appended and not re.search(r"[{}$]", name)
            return Parts((), (Written(name, body),) if known else ())
        if magic not in _PYTHON_BODY:
            return Parts((), ())
        start = first.end()
    found = _DATABRICKS_SHELL.match(cell.source, start)
    if found:
        return Parts((Span(cell, found.end(), len(cell.source)),), ())
    return Parts(tuple(_Lines(cell, start, python).shell), ())


def binds_only(cell: Cell, python: Builder) -> None:
    """For a cell that is no Python: the names that it seems to bind, and nothing of their values."""
    for found in _ASSIGNED.finditer(cell.source):
        python.put(f"{found[1].strip()} = {UNKNOWN}\n", *_place(cell, found.start(1), found.end(1)))


class _Lines:
    """Goes through the logical lines of a cell."""

    def __init__(self, cell: Cell, start: int, python: Builder) -> None:
        self.cell, self.source, self.python = cell, cell.source, python
        self.shell: list[Span] = []
        indent = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*([ \t]*)").match(self.source, start)
        self.margin = indent[1] if indent else ""  # of the whole cell: IPython takes it away
        while start < len(self.source):
            found = _MAGIC.match(self.source, start)
            start = self.magic(found) if found else self.statement(start)
        python.put("\n", *_place(cell, start, start))

    def statement(self, start: int) -> int:
        """Keep the line that begins here, with those that its brackets and texts go on to."""
        depth = 0
        end = len(self.source)
        for token in _TOKEN.finditer(self.source, start):
            if token.lastgroup == "open":
                depth += 1
            elif token.lastgroup == "close":
                depth = max(depth - 1, 0)
            elif token.lastgroup == "end" and not depth:
                end = token.end()
                break
        self.keep(start, end)
        return end

    def keep(self, start: int, end: int) -> None:
        for line in _LINE.finditer(self.source, start, end):
            if line.end() > line.start():
                margin = self.margin and self.source.startswith(self.margin, line.start())
                self.python.take(
                    self.source, self.cell.pieces, line.start() + (len(self.margin) if margin else 0), line.end()
                )

    def magic(self, found: re.Match[str]) -> int:
        """Replace the line that begins here; the place behind it."""
        end = self.end(found.start())
        if found["shell"]:
            self.shell.append(Span(self.cell, found.end(), end, expands=True))
        elif found["magic"]:
            name = found["magic"].lstrip("%").strip()
            rest = _OPTIONS.match(self.source, found.end())
            if name in _PYTHON_REST and rest and self.source[rest.end() : end].strip():
                self.pad(found["indent"], found.start())
                return self.statement(rest.end())
            if name == "run":
                self.shell.append(Span(self.cell, found.end(), end, prefix="python"))
            elif name in ("env", "set_env") and (setting := _ENVIRONMENT.match(self.source, found.end())):
                self.environment(found, setting)
                self.keep_break(end)
                return end
        word = f"{found['bound']} = {UNKNOWN}" if found["bound"] else "pass"
        self.pad(found["indent"], found.start())
        behind = end - self.source.endswith("\n", 0, end)
        self.python.put(word, *_place(self.cell, found.start() + len(found["indent"]), behind))
        self.keep_break(end)
        return end

    def environment(self, found: re.Match[str], setting: re.Match[str]) -> None:
        """`%env A=b` is `os.environ["A"] = "b"`."""
        self.pad(found["indent"], found.start())
        for before, group in (('__import__("os").environ["', 1), ('"] = "', 2)):
            self.python.put(before, *_place(self.cell, setting.start(group), setting.start(group)))
            self.python.take(self.source, self.cell.pieces, setting.start(group), setting.end(group))
        self.python.put('"', *_place(self.cell, setting.end(2), setting.end(2)))

    def pad(self, indent: str, start: int) -> None:
        """The indentation of a line, less the cell's own."""
        margin = len(self.margin) if indent.startswith(self.margin) else 0
        self.python.take(self.source, self.cell.pieces, start + margin, start + len(indent))

    def keep_break(self, end: int) -> None:
        if self.source.endswith("\n", 0, end):
            self.python.take(self.source, self.cell.pieces, end - 1, end)

    def end(self, start: int) -> int:
        """Behind the line and those that a backslash joins to it."""
        while found := _CONTINUED.match(self.source, start):
            start = found.end()
        line = _LINE.match(self.source, start)
        return line.end() if line else len(self.source)


def _place(cell: Cell, start: int, end: int) -> tuple[int, int]:
    """Where a part of a cell stands in the file."""
    view = View(cell.source, cell.pieces, "notebook")
    first = embedded.end_in_file(view, start) if start >= len(cell.source) else embedded.start_in_file(view, start)
    return first, first if start == end else max(first, embedded.end_in_file(view, end))
