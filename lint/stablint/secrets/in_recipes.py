"""What Makefiles, justfiles and Dockerfiles define on a line of its own, whose value is the rest of the line: `ENV KEY a b`, `KEY ?= $(or $(X),a)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base.light import Pattern
from stablint.secrets.keys import SURE, holds_secret, names_secret
from stablint.secrets.literals import Literal

_REST = r"(?P<value>(?:\\\r?\n|[^\n])*)"
_DEFINED = Pattern(
    rf"""(?m)^[ \t]{{0,40}}(?:[\w%./-]{{1,80}}:[ \t]{{1,8}})?(?:(?:export|override|private)[ \t]{{1,8}}){{0,3}}
    (?P<key>[^\W\d][\w.-]{{0,80}})[ \t]{{0,40}}[?:+!]{{0,3}}=(?!=){_REST}""",
    re.VERBOSE,
)
_WORDS = Pattern(rf"(?mi)^[ \t]{{0,40}}(?:ENV|ARG|LABEL)[ \t]{{1,8}}(?P<key>[^\W\d][\w.-]{{0,80}})[ \t]{{1,8}}{_REST}")
_BLOCK = Pattern(r"(?m)^define[ \t]{1,8}(?P<key>[\w.-]{1,80})[^\n]{0,20}\n(?P<value>(?:(?!endef)[^\n]*\n){0,200})")
_HOLES = Pattern(
    r"\$[({][\w.-]{1,80}[)}]|\$\$?\w{1,80}|\$\(\w{1,20}[ \t]|\{\{[^{}\n]{0,200}\}\}|env(?:_var(?:_or_default)?)?\(|[\s'\"(),+\\]"
)


def defined(text: str) -> Iterator[Literal]:
    """Right sides that hold more than other variables. One that calls something is hidden, and taken for no value."""
    for pattern in (_DEFINED, _WORDS, _BLOCK):
        for found in pattern.finditer(text):
            if names_secret(found["key"].replace("-", "_").replace(".", "_")) != SURE:
                continue
            start, end = found.span("value")
            value = text[start:end]
            start, end = start + len(value) - len(value.lstrip()), start + len(value.rstrip())
            value = text[start:end]
            if holds_secret(SURE, _HOLES.sub("", value[:4_000])):
                yield Literal(start, end, told=not _HOLES.search(value))
