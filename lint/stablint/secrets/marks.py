"""Where a key stands that may name a secret: the words that tell one, and keys of several words."""

from __future__ import annotations

import re

from stablint.base.light import Pattern
from stablint.secrets.hints import OTHERS, PLAIN_OTHERS, vocabulary
from stablint.secrets.languages import YAML
from stablint.secrets.right_sides import begins_line

Span = tuple[int, int]
# Any key that `names_secret` knows holds one of these, in whatever case; whether a word begins, and ends, with it.
_MARKS = (
    *((word, False, False) for word in ("token", "key", "secret", "pass", "pwd", "cred", "auth", "bearer", "cookie", "signature", "dsn")),
    *((word, False, False) for word in ("webhook", "hmac", "jwt", "connection", "stringdata")),
    *((word, False, True) for word in ("_pat", "_sk", "_ak", "_sas", "api", "pw", "psw", "_otp", "_mdp", "_login")),
    *((word, True, True) for word in ("pat", "sk", "ak", "sas", "otp", "mdp", "clave")),
    *((word, False, False) for word in PLAIN_OTHERS if "passe" not in word),
)  # fmt: skip
# What is an ASCII letter to a reader who makes no difference between capitals and small letters.
_ALIKE = (("\u212a", "k"), ("\u017f", "s"), ("\u0130", "i"), ("\u0131", "i"))
_OTHERS = Pattern("|".join(OTHERS))
BREAKS = frozenset(" \t*?")
JOINTS = frozenset(" /:")
_WORDS_BEFORE = Pattern(r"""(?:\A|[\n"'])(?:[ \t]{0,40}(?:-[ \t]{1,4})?)((?:[A-Za-z][A-Za-z0-9]{0,20}[ /:]){1,3})\Z""")
_WORDS_BEHIND = Pattern(
    r"""((?:[ \t]{1,2}[(\[]?[\w./-]{1,30}[)\]]?){0,4}[ \t*?]{0,3})(?=["']?[ \t]{0,4}:(?:\s|["']|\Z))"""
)


def of_several_words(text: str, start: int, done: int, language: str) -> tuple[str, int] | None:
    """A key with blanks in it, which quotes or the beginning of a line of YAML and a colon hold together: `"password (db)":`, `api key:`. Its
    words as one, and where it ends."""
    before = text[start - 1 : start]
    opened = before if before in ("'", '"') else ""
    first = ""
    if not opened and before in JOINTS:
        head = _WORDS_BEFORE.search(text, max(0, start - 64), start)
        if head is None:
            return None
        first, opened = head[1], head[0][0] if head[0][0] in "\"'" else ""
    behind = _WORDS_BEHIND.match(text, done)
    if behind is None or not (first or behind[1]):
        return None
    if opened:
        if text[behind.end() : behind.end() + 1] != opened:
            return None
    elif (
        language != YAML
        or text[behind.end() : behind.end() + 1] in ("'", '"')
        or not (first or begins_line(text, start))
    ):
        return None
    words = re.findall(r"\w+", f"{first}{text[start : behind.end()]}")
    return "_".join(words), behind.end()


def marks_in(text: str) -> list[Span]:
    """Where a key may name a secret: the words that tell it, apart from each other and in order."""
    small = text
    if not text.isascii():
        for letter, plain in _ALIKE:
            small = small.replace(letter, plain)
    small = small.lower()
    there = vocabulary(text) if text.isascii() else small
    found = []
    for word, begins, ends in _MARKS:  # looking for one word after the other is many times faster than a pattern of all
        at = small.find(word) if word in there else -1
        while at >= 0:
            end = at + len(word)
            if not (begins and _is_letter(text, at - 1)) and not (ends and _is_letter(text, end)):
                found.append((at, end))
            at = small.find(word, end)
    others = "" if text.isascii() else "\n".join({word for word in small.split() if not word.isascii()})
    if others and any(word in others for word in OTHERS):
        found += [found_at.span() for found_at in _OTHERS.finditer(small)]
    found.sort()
    kept: list[Span] = []
    for span in found:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _is_letter(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")
