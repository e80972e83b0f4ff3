"""Changed texts → a patch that `git apply` and `patch -p1` take. No line of it holds a secret: what would need one is left out, and told."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stablint.base.language import gettext
from stablint.syntax.tree import Text

_CONTEXT = 3


class Patch(NamedTuple):
    """`left_out`: names of files that have no part in it, each with its reason."""

    data: bytes
    left_out: tuple[tuple[str, str], ...]


class _Hunk(NamedTuple):
    """Lines of the old text and of the new one, counted from 0, context included; `changes` are the opcodes within."""

    old: tuple[int, int]
    new: tuple[int, int]
    changes: tuple[tuple[int, int, int, int], ...]


def patch(texts: dict[str, Text], before: dict[str, Text], secret: Callable[[str], bool]) -> Patch:
    """`texts` and `before` by absolute path; `secret` says whether a line must not be shown."""
    parts, left_out = [], []
    for path, text in sorted(texts.items()):
        why = "" if text.encoding == "utf-8" else "it is UTF-16" if text.bom else "it is not UTF-8"
        lines = None if why else _file(before[path], text, secret)
        if lines is None:
            left_out.append((text.name, why or gettext("a text that a patch must not show stands beside the change")))
        else:
            parts.append("".join(lines).encode("utf-8", "surrogateescape"))
    return Patch(b"".join(parts), tuple(left_out))


def _file(old: Text, new: Text, secret: Callable[[str], bool]) -> list[str] | None:
    mark = "\ufeff" if old.bom else ""
    a, b = _lines(mark + old.text), _lines(mark + new.text)
    hunks = _hunks(a, b, secret)
    if hunks is None:
        return None
    head = [f"--- {_name('a/' + old.name)}\n", f"+++ {_name('b/' + new.name)}\n"]
    return [*head, *(line for hunk in hunks for line in _written(hunk, a, b))]


def _lines(text: str) -> list[str]:
    """As git counts them: only a line feed ends a line."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])


def _name(name: str) -> str:
    """As git writes it: quoted where it holds what would end it, a tab behind a name with blanks."""
    if any(character in '"\\' or ord(character) < 32 or 127 <= ord(character) < 160 for character in name):
        escaped = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
        return '"' + "".join(escaped.get(c) or _octal(c) for c in name) + '"'
    return name + "\t" if " " in name else name


def _octal(character: str) -> str:
    """The bytes of a control character, C1 included; every other one as it is."""
    if ord(character) >= 160 or 32 <= ord(character) < 127:
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode())


def _hunks(a: list[str], b: list[str], secret: Callable[[str], bool]) -> list[_Hunk] | None:
    """None where a change holds a secret, or one stands right behind it: git wants a line of context there."""
    found: list[_Hunk] = []
    differing = list(changes(a, b))
    for number, (i1, i2, j1, j2) in enumerate(differing):
        if any(secret(line) for line in (*a[i1:i2], *b[j1:j2])):
            return None
        ends = differing[number - 1][1] if number else 0
        begins = differing[number + 1][0] if number + 1 < len(differing) else len(a)
        above = _clean(reversed(a[max(ends, i1 - _CONTEXT) : i1]), secret)
        below = _clean(iter(a[i2 : min(begins, i2 + _CONTEXT)]), secret)
        if not below and i2 < begins:
            return None
        hunk = _Hunk((i1 - above, i2 + below), (j1 - above, j2 + below), ((i1, i2, j1, j2),))
        if hunk.old == (1, 1):  # behind a first line with a secret: git takes `-1,0` for the beginning of the file
            return None
        if found and found[-1].old[1] >= hunk.old[0]:
            last = found.pop()
            hunk = _Hunk((last.old[0], hunk.old[1]), (last.new[0], hunk.new[1]), (*last.changes, *hunk.changes))
        found.append(hunk)
    return found


_MOST_PAIRS = 200_000  # of equal lines that are compared: in an ordinary text nearly every line is there once


def changes(a: list[str], b: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where the lines differ, between what both begin and end with. Where the same line is there a thousand times over, that is one change."""
    shorter = min(len(a), len(b))
    head = next((number for number in range(shorter) if a[number] != b[number]), shorter)
    tail = next((number for number in range(shorter - head) if a[-1 - number] != b[-1 - number]), shorter - head)
    old, new = a[head : len(a) - tail], b[head : len(b) - tail]
    times = Counter(new)
    if sum(times[line] for line in old) > _MOST_PAIRS:
        yield head, len(a) - tail, head, len(b) - tail
        return
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield i1 + head, i2 + head, j1 + head, j2 + head


def _clean(lines: Iterator[str], secret: Callable[[str], bool]) -> int:
    """How many lines come before the first one with a secret."""
    count = 0
    for line in lines:
        if secret(line):
            break
        count += 1
    return count


def _written(hunk: _Hunk, a: list[str], b: list[str]) -> Iterator[str]:
    yield f"@@ -{_range(*hunk.old)} +{_range(*hunk.new)} @@\n"
    at = hunk.old[0]
    for i1, i2, j1, j2 in hunk.changes:
        yield from (_ended(" " + line) for line in a[at:i1])
        yield from (_ended("-" + line) for line in a[i1:i2])
        yield from (_ended("+" + line) for line in b[j1:j2])
        at = i2
    yield from (_ended(" " + line) for line in a[at : hunk.old[1]])


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    """First line and number of lines, as unified diffs count them."""
    count = end - start
    return f"{start + 1 if count else start},{count}"
