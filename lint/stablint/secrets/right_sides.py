"""What the readers of all languages share: texts in quotes, plain words, and how far a value goes that stands alone."""

from __future__ import annotations

import re

from stablint.base.light import Pattern
from stablint.secrets.keys import holds_secret
from stablint.secrets.languages import PYTHON
from stablint.secrets.literals import Literal, Read, closing, flow, literal

Span = tuple[int, int]
QUOTED = Pattern(r"""(?P<lead>[rbfuRBFU]{0,2})(?P<mark>\\{1,3}["']|\"\"\"|'''|["'])""")
_NEXT_PIECE = Pattern(r"""[ \t]{0,8}(?:\+[ \t]{0,8})?(?=[rbfuRBFU]{0,2}["'])""")
WORD = Pattern(r"""[^\s"'`,;&|<>()\[\]{}\\]{1,4096}""")
FLOW_REST = Pattern(r"(?:[^,}\]\n\r#]|(?<![ \t])#){1,4096}")
CODE = Pattern(r"[A-Za-z_][\w.]{0,200}[(\[]|[A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80})+\Z")
_TYPE = Pattern(
    r"(?:str|int|bool|float|bytes|Any|None|Optional|Union|List|Dict|list|dict|Sequence|SecretStr|string|boolean)\b"
)
_LOOKED_AT = 300  # characters of a word that are looked at for a digit
NOTHING = Read([], 0)


def plain_value(text: str, at: int, key: str, strength: int) -> Read:
    """Whatever stands there: a collection, a text in quotes, a word."""
    if text[at : at + 1] in ("{", "["):
        return flow(text, at, key, strength)
    quoted = QUOTED.match(text, at)
    if quoted is not None:
        end = closing(text, quoted.end(), quoted["mark"])
        if holds_secret(strength, text[quoted.end() : end]):
            return Read([Literal(quoted.end(), end)], end)
        return Read([], end)
    word = FLOW_REST.match(text, at)
    if word is not None and holds_secret(strength, literal(word[0].strip())):
        return Read([Literal(at, at + len(word[0].rstrip()))], word.end())
    return Read([], at)


def pieces(text: str, strength: int, quoted: re.Match[str], language: str) -> Read:
    """A quoted text, with those that Python adds to it: `"hf_" + "…"`, and what the shell writes directly behind it: `'…'…`."""
    spans: list[Span] = []
    found: re.Match[str] | None = quoted
    end = quoted.end()
    while found is not None and len(spans) < 50:
        mark = found["mark"]
        begin = found.end()
        stop = closing(text, begin, mark)
        spans.append((begin, stop))
        end = min(stop + len(mark), len(text))
        more = _NEXT_PIECE.match(text, end)
        found = QUOTED.match(text, more.end()) if more else None
    if language != PYTHON:
        tail = WORD.match(text, end)
        if tail is not None and tail[0][0].isalnum():
            spans.append(tail.span())
            end = tail.end()
    whole = "".join(text[begin:stop] for begin, stop in spans)
    if not holds_secret(strength, whole):
        return Read(
            [], end if len(whole) > 100 else 0
        )  # it may be a key itself: `key: "HF_TOKEN"`, and its value below
    return Read([Literal(begin, stop) for begin, stop in spans if stop > begin], end)


def telling(value: str) -> bool:
    """Not what a name or an English word looks like."""
    if CODE.match(value) or _TYPE.match(value):
        return False
    return len(value) >= 4 and any(c.isdigit() for c in value[:_LOOKED_AT])


_BEGINS = Pattern(r"""\n?[ \t]{0,200}(?:\#[ \t]{0,20})?(?:-[ \t]{1,20}){0,4}(?:\?[ \t]{1,8})?["']?\Z""")


def begins_line(text: str, start: int) -> bool:
    """Is it a key of a block mapping, not a word of a sentence or of a flow mapping?"""
    line = max(text.rfind("\n", max(0, start - 300), start), start - 300, 0)
    return _BEGINS.match(text, line, start) is not None
