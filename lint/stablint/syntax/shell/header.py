"""The `#SBATCH` lines at the head of a script, as flags of `sbatch`."""

from __future__ import annotations

import re

from stablint.syntax.tree import Entry, Mapping, Scalar

_LINE = re.compile(r"#SBATCH[ \t]+([^\r\n]*)")
_OPTION = re.compile(r"(--?)([A-Za-z][\w-]*)(?:(=|[ \t]+)?(\"[^\"]*\"|'[^']*'|[^\s#\"'-][^\s#]*|))?")
_SHORT = {"N": "nodes", "n": "ntasks", "C": "constraint", "G": "gpus", "w": "nodelist", "p": "partition", "c": "cpus-per-task"}  # fmt: skip


def header(source: str) -> Mapping:
    """Every option in order. sbatch stops at the first line that is neither empty nor a comment."""
    entries: list[Entry] = []
    at = 0
    while at < len(source):
        end = source.find("\n", at) + 1 or len(source)
        line = source[at:end].strip()
        if line and not line.startswith("#"):
            break
        found = _LINE.match(source, at)
        if found:
            entries += _options(source, found.start(1), found.end(1))
        at = end
    return Mapping(tuple(entries), 0, at)


def _options(source: str, at: int, end: int) -> list[Entry]:
    entries = []
    while at < end and (found := _OPTION.match(source, at, end)):
        dashes, key, _, value = found.groups()
        start, stop = found.span(4)
        if len(dashes) == 1 and not value and len(key) > 1:  # `-N2`
            key, value, start, stop = key[0], key[1:], found.start(2) + 1, found.end(2)
        name = _SHORT.get(key, key) if len(dashes) == 1 else key
        quoted = int(value[:1] in ("'", '"') and bool(value))
        text = value[quoted : len(value) - quoted] if value else ""
        node = Scalar(text, start, stop) if value else Scalar(True, found.start(), found.end(2), "flag")
        entries.append(Entry(name, found.start(2), found.start(2) + len(key), node))
        at = found.end()
        while at < end and source[at] in " \t":
            at += 1
        if source[at : at + 1] != "-":
            break
    return entries
