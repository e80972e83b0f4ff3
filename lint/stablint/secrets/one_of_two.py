"""Keys that name a secret only beside another one: `key` and `secret`, `username` and `key`, the one key of a service."""

from __future__ import annotations

import re
from bisect import bisect_left

from stablint.base.light import Pattern
from stablint.secrets.languages import YAML
from stablint.secrets.words import STORES, VENDORS

ONE_OF_TWO = frozenset(
    ("key", "ak", "sk", "access_key_id", "aws_access_key_id", "accesskeyid", "secretid", "secret_id")
)
_OTHER_OF_TWO = Pattern(
    r"""(?i)(?<![\w.-])["']?(?:user(?:_?name)?|secret|(?:aws_)?secret_(?:access_)?key"""
    r"""|(?:access_?key_?|client_?)?secret|secretkey|sk|ak)["']?[ \t]{0,4}[:=](?!=)"""
)
_OWNER = Pattern(r"""["']?([\w.-]{1,80})["']?[ \t]{0,8}[:=][ \t]{0,8}(?:dict)?\Z""")
_NEAR = 300  # characters in which the other one is looked for


class Others:
    """Where the other one of two stands in a text. The text is searched once, since one of many keys would have each search all around it."""

    def __init__(self, text: str, language: str) -> None:
        self._text, self._language = text, language
        self._starts: list[int] | None = None
        self._ends: list[int] = []

    def has(self, start: int, done: int) -> bool:
        """`key` and `secret` side by side, `username` and `key`; or the one key that a service gives: `wandb: {key: …}`."""
        text, least = self._text, max(0, start - _NEAR)
        opened = max(text.rfind("{", least, start), text.rfind("(", least, start), text.rfind("\n\n", least, start))
        shut = min(
            (at for sign in "})" if (at := text.find(sign, done, done + _NEAR)) >= 0),
            default=min(len(text), done + _NEAR),
        )
        if self._language == YAML and text[opened : opened + 1] not in ("{", "("):
            return _is_one_of_two_lines(text, start, done)
        if self._between(max(opened, least), shut, start):
            return True
        owner = _OWNER.search(text, max(0, opened - 100), opened) if opened >= 0 else None
        return owner is not None and _gives_one_key(owner[1])

    def _between(self, least: int, most: int, but: int) -> bool:
        if self._starts is None:
            found = [one.span() for one in _OTHER_OF_TWO.finditer(self._text)]
            self._starts, self._ends = [one[0] for one in found], [one[1] for one in found]
        at = bisect_left(self._starts, least)
        while at < len(self._starts) and self._ends[at] <= most:
            if self._starts[at] != but:
                return True
            at += 1
        return False


def _is_one_of_two_lines(text: str, start: int, done: int) -> bool:
    """The same of lines of YAML that stand equally deep, and of the key above them."""
    line = text.rfind("\n", max(0, start - 200), start) + 1
    depth = start - line - (text[start - 1 : start] in ("'", '"'))
    if text[line:start].strip(" -'\""):
        return False
    before = text[max(0, line - 600) : line].splitlines()
    for other in reversed(before):
        deep = len(other) - len(other.lstrip(" -"))
        if not other.strip() or deep > depth:
            continue
        if deep < depth:
            owner = _OWNER.search(other.rstrip() + " ")
            if owner is not None and _gives_one_key(owner[1]):
                return True
            break
        if _OTHER_OF_TWO.match(other, deep):
            return True
    for other in text[done : done + 600].splitlines()[1:]:
        deep = len(other) - len(other.lstrip(" -"))
        if other.strip() and deep < depth:
            break
        if deep == depth and _OTHER_OF_TWO.match(other, deep):
            return True
    return False


def _gives_one_key(owner: str) -> bool:
    words = re.findall(r"[a-z0-9]+", owner.lower())
    return bool(words) and words[-1] in VENDORS and words[-1] not in STORES
