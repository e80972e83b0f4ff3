"""Files that a program reads by a path which it computes: `Path("config") / f"{name}.yaml"`, `os.path.join(folder, args.config + ".yaml")`,
`glob("recipes/*.yml")`. Which of a folder's files that is, nobody can tell; that it is one of them, the text says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import islice

from stablint.assemble.files import Files
from stablint.base.light import NamedTuple
from stablint.syntax.limits import PIECES

_ENDING = r"(\.(?:ya?ml|json|toml))"
# The last piece of a path: text, something computed, and an ending that stands there.
_PIECES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"""\b(?:[fF][rR]?|[rR][fF])["']([^"'{{}}\n]{{0,200}})\{{([^"'\n]{{0,200}}){_ENDING}["']""",  # f"{name}.yaml"
        rf"""["']([^"'%\n]{{0,200}})%[sd]([^"'\n]{{0,200}}?){_ENDING}["'](?=\s*%)""",
        rf"""["']([^"'{{\n]{{0,200}})\{{([^"'\n]{{0,200}}?){_ENDING}["'](?=\s*\.format\()""",
        rf"""glob\(\s*[rf]?["']([^"'*\n]{{0,200}})\*([^"'\n]{{0,200}}?){_ENDING}["']""",
        rf"""(?:["']([\w./-]{{1,200}}/)["']\s*\+\s*)?([\w.\[\]()"']{{1,200}})\s*\+\s*["']{_ENDING}["']""",  # name + ".yaml"
        rf"""()(\.with_suffix\(\s*)["']{_ENDING}["']""",
    )
)
HINT = re.compile(rb"""[}*sd]\.(?:ya?ml|json|toml)["']|\+\s*["']\.(?:ya?ml|json|toml)["']|\bwith_suffix\(""")
_LINES = 4  # of a statement, before the piece
_SEGMENTS = re.compile(r"""["']([\w./-]{1,200})["']""")
_STATEMENT = re.compile(r"""^[ \t]*(?:(\w+(?:\.\w+)*)[ \t]*(?::[^=\n]{1,80})?=(?!=)|return\b|yield\b|with\b|for\b)""")
_FOLDER_NAME = re.compile(r"""(?:\bjoin\(\s*|[(=,]\s*|\breturn\s+)([A-Za-z_][\w.]*)\s*[/,]""")
_READS = r"(?:open|load\w*|read\w*|from_file|parse\w*|safe_load|glob)"
_WRITES = re.compile(r"""\A[^\n]{0,200}?,\s*(?:mode\s*=\s*)?["'][wax]|\A\s*\)*\.(?:write|open\(\s*["'][wax])""")
_CALLS = re.compile(rf"\b{_READS}\(\s*(?:str\(|os\.path\.\w+\()?[^\n]*\Z")


class Folder(NamedTuple):
    """`parts`: the folder as the program writes it, relative to nobody says what; empty where it is computed as well. `deep`: folders of
    unknown names lie between."""

    parts: tuple[str, ...]
    ending: str
    deep: bool = False

    def may_hold(self, path: str, root: str) -> bool:
        """Whether a file of the repository is one of those that the program reads, its folder being told."""
        if not self.parts or not path.endswith(self.ending):
            return False
        inner = tuple(os.path.dirname(os.path.relpath(path, root)).replace(os.sep, "/").split("/"))
        many = len(self.parts)
        if self.deep:
            return any(inner[at : at + many] == self.parts for at in range(len(inner) - many + 1))
        return inner[-many:] == self.parts


def folders(text: str, path: str, files: Files) -> frozenset[Folder]:
    """The folders whose files a program reads by names that it computes."""
    found: set[Folder] = set()
    for pattern in _PIECES:
        pieces = pattern.finditer(text)
        found.update(folder for one in islice(pieces, PIECES.most) if (folder := _folder(text, one)) is not None)
        if next(pieces, None) is not None:
            files.cut_program(path, PIECES)
    return frozenset(found)


def holds(found: Iterable[Folder], path: str, root: str) -> bool:
    return any(folder.may_hold(path, root) for folder in found)


def _folder(text: str, piece: re.Match[str]) -> Folder | None:
    prefix, inside, ending = piece[1] or "", piece[2], piece[3]
    head = _head(text, piece.start())
    if not _is_read(text, head, piece.end()):
        return None
    statement = _STATEMENT.match(head)
    expression = head[statement.end() :] if statement else head
    opened = max(expression.rfind(word) for word in ("open(", "load(", "read("))
    expression = expression[opened:] if opened >= 0 else expression
    said = [*_SEGMENTS.findall(expression), prefix.rpartition("/")[0]]
    parts = tuple(part for one in said for part in one.split("/") if part not in ("", ".", ".."))
    name = None if parts else _FOLDER_NAME.search(f"={expression.strip()}{_after_name(expression, piece[0])}")
    if name is not None:
        parts = _constant(text, name[1])
    deep = "/" in inside.rpartition("}")[0] or "/" in inside.partition("}")[2] or "**" in piece[0] or "rglob" in head
    return Folder(parts, ending, deep)


def _after_name(expression: str, piece: str) -> str:
    """Nothing where a folder's name stands before the piece, as in `FOLDER / f"{name}.yaml"`."""
    return "" if expression.rstrip().endswith(("/", ",")) or "glob" in piece else ","


def _head(text: str, at: int) -> str:
    """The statement up to a place, from the line that begins it."""
    begin = text.rfind("\n", 0, at) + 1
    for _ in range(_LINES):
        head = text[begin:at]
        inside = head.count("(") - head.count(")") + head.count("[") - head.count("]")
        if begin == 0 or _STATEMENT.match(head) or (inside > 0 and not head.lstrip().startswith((")", "/", "+"))):
            break
        if head.strip() and inside == 0 and not _opens(text[:begin]):
            break
        begin = text.rfind("\n", 0, begin - 1) + 1
    return text[begin:at]


def _opens(before: str) -> bool:
    """Whether the line before leaves a bracket or a path open."""
    return before.rstrip()[-1:] in ("(", "[", ",", "/", "+", "\\")


def _is_read(text: str, head: str, end: int) -> bool:
    """Whether what lies there is read: the path is opened here and not for writing, or the name that it gets, or the caller does so."""
    if _WRITES.match(text[end : end + 300]):
        return False
    statement = _STATEMENT.match(head)
    name = statement[1] if statement else None
    if name is None or _CALLS.search(head):
        return statement is not None or _CALLS.search(head) is not None
    own = re.escape(name)
    opened = re.compile(
        rf"\b{_READS}\(\s*(?:str\()?{own}\b(?P<rest>[^\n]*)|\b{own}\.(?:open|read_text|read_bytes)\((?P<mode>[^\n]*)"
    )
    return (
        any(
            not re.match(r"""\s*\)?,\s*(?:mode\s*=\s*)?["'][wax]""", one["rest"] or "")
            and not re.match(r"""\s*(?:mode\s*=\s*)?["'][wax]""", one["mode"] or "")
            for one in opened.finditer(text)
        )
        or re.search(rf"\breturn\s+{own}\b", text) is not None
    )


def _constant(text: str, name: str) -> tuple[str, ...]:
    """The folder that a name stands for: `CONFIGS = Path(__file__).parent / "configs"`."""
    said = re.search(
        rf"""^[ \t]*{re.escape(name)}\b[^=\n]{{0,80}}=(?!=)[^\n]*?((?:["'][\w./-]+["'][\s/,)]*)+)$""",
        text,
        re.MULTILINE,
    )
    if said is None:
        return ()
    return tuple(part for one in _SEGMENTS.findall(said[1]) for part in one.split("/") if part not in ("", ".", ".."))
