"""Where a value comes from, in words."""

from __future__ import annotations

import re
from typing import Any

from stablint.report.model import ReportedFact
from stablint.report.plain import plain, shown

_SINCE = re.compile(r">=([\w.]+)")
_UNTIL = re.compile(r"<([\w.]+)")


def sentence(fact: ReportedFact) -> str:
    """`` `bf16` is true by default since trl 0.19.1 ``"""
    origin = fact.origin
    value = f"is {shown(fact.value)}"
    if origin["kind"] == "explicit":
        return f"`{plain(origin['setting'])}` {value} in {plain(origin['file'])}{_line(origin)}"
    if origin["kind"] == "default":
        return f"`{plain(_last(fact.name))}` {value} by default {releases(origin['library'], origin['releases'])}"
    if origin["kind"] == "derived":
        return f"`{plain(fact.name)}` {value}, from {_names(origin)}"
    if origin["kind"] == "supplied":
        return f"`{plain(fact.name)}` {value} ({plain(origin['option'])})"
    return f"`{plain(fact.name)}` is unknown: {plain(origin.get('reason') or 'nothing states it')}"


def reference(fact: ReportedFact) -> str:
    """`train.yaml:7`, `(default, transformers >=4.28)`, `(from training.fp16)`: for a column of origins."""
    origin = fact.origin
    if origin["kind"] == "explicit":
        return f"{plain(origin['file'])}{_line(origin)}"
    if origin["kind"] == "default":
        return f"(default, {plain(origin['library'])} {plain(origin['releases'])})".replace(" )", ")")
    if origin["kind"] == "derived":
        return f"(from {_names(origin)})"
    if origin["kind"] == "supplied":
        return f"({plain(origin['option'])})"
    return f"(unknown: {plain(origin.get('reason') or 'nothing states it')})"


def _line(origin: dict[str, Any]) -> str:
    """`:7`, in a notebook `:cell 4:7`."""
    cell = f":cell {origin['cell']}" if origin.get("cell") else ""
    return f"{cell}:{origin['line']}" if origin.get("line") else cell


def releases(library: str, specifier: str) -> str:
    """`since trl 0.19.1`, `before trl 0.12`, `in trl >=0.7,<0.9`; the library alone where all its releases are meant."""
    library, specifier = plain(library), plain(specifier)
    for pattern, word in ((_SINCE, "since"), (_UNTIL, "before")):
        if found := pattern.fullmatch(specifier):
            return f"{word} {library} {found[1]}"
    return f"in {library} {specifier}".rstrip()


def _names(origin: dict[str, object]) -> str:
    facts = origin.get("facts")
    return ", ".join(plain(str(name)) for name in facts) if isinstance(facts, (list, tuple)) and facts else "the run"


def _last(name: str) -> str:
    """The name that its library gives it: without our namespace, and whole below `deepspeed.`."""
    return name.partition(".")[2] or name
