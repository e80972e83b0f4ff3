"""Where a text is no code: comments and texts of several lines, in which a key and its value stand as people write them; and what is a bare name."""

from __future__ import annotations

from bisect import bisect_right

from stablint.base.light import Pattern
from stablint.secrets.keys import (
    SURE,
    holds_secret,
    is_of_text,
    is_placeholder,
    looks_generated,
)
from stablint.secrets.literals import Literal, Read, literal

# Texts and comments of Python, from the left: what begins first holds the others.
_TEXTS = Pattern(
    r'(?P<long>"""(?:[^"\\]|\\.|"(?!""))*(?:"""|\Z)|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*(?:\'\'\'|\Z))'
    r'|(?P<text>"(?:[^"\\\n]|\\.)*"?|\'(?:[^\'\\\n]|\\.)*\'?)|(?P<comment>\#[^\n]*|^[ \t]*[%!][^\n]*)',
    16 | 8,  # DOTALL, MULTILINE
)


class Texts:
    """The texts and comments of a program in Python, read when they are first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] | None = None
        self._ends: list[int] = []
        self._prose: list[bool] = []

    def _at(self, place: int) -> int:
        if self._starts is None:
            self._starts = []
            for found in _TEXTS.finditer(self._text):
                self._starts.append(found.start())
                self._ends.append(found.end())
                self._prose.append(found.lastgroup != "text")
        number = bisect_right(self._starts, place) - 1
        return number if number >= 0 and place < self._ends[number] else -1

    def is_code(self, place: int) -> bool:
        return self._at(place) < 0

    def is_prose(self, place: int) -> bool:
        """In a comment, or in a text of several lines."""
        number = self._at(place)
        return number >= 0 and self._prose[number]


def is_comment(text: str, start: int) -> bool:
    """In a comment of a shell script or of YAML."""
    line = max(text.rfind("\n", max(0, start - 400), start) + 1, start - 400, 0)
    head = text[line:start]
    return head.lstrip()[:1] == "#" or " #" in head or "\t#" in head


_SAID = Pattern(
    r"""["'`)\]]{0,2}(?:
          (?P<sign>[ ]?:[ ](?:invalid|unexpected|wrong)[ ](?:choice|value)[ ]?:[ ] | [ \t]{0,4}(?:==?|[:\uff1a])[ \t]{0,8}
              | [ ](?:for|of)[ ][\w@.-]{1,40}[ ]?:[ ] | [ ](?:for|of)[ ]'[^'\n]{1,100}'[ ]?:[ ])
        | (?P<column>[ \t]{0,4}(?:->|=>|\.{3,200})[ \t]{0,8} | [ \t]{0,40}[|\u2502][ \t]{0,40} | [ \t]{2,60} | \t)
        | [ \t]{1,4}(?P<said>(?:(?:is|was|has\ been)[ ])?(?:set\ to|changed\ to|now)|is|was)(?:[ ]?:)?[ \t]{1,4}
        | [ \t]to(?P<set>[ \t])
        | [ \t](?P<given>passed|provided|given|supplied|used|found|rejected)(?P<colon>[ ]?:)?[ \t]{1,4}
        | (?P<weak>[ \t])
    )["'`(<]?(?P<value>[^\s"'`,;()<>|\\]{3,400})""",
    64,  # VERBOSE
)
_ENDS = Pattern(r"""["'`)>]?[.,;]?[ \t]{0,40}(?:\r?\n|\(|\\n|["'`|\u2502]|\Z|\*/)""")
_BEGINS = Pattern(r"""[^\w\n]{0,40}(?:[A-Za-z]{1,20}[ \t]{1,4}){0,2}["'`]?\Z""")
_HANDED_OVER = Pattern(
    r"(?i)\b(?:with|using|invalid|incorrect|wrong|bad|expired|unknown|my|your|use)[ ](?:[a-z]{1,12}[ ])?\Z"
)
_IDENTITY = Pattern(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")
_TYPE = Pattern(
    r"(?:str|int|bool|float|bytes|Any|Optional|Union|List|Dict|list|dict|string|boolean|type|text|see|the|a|an|your)\b"
)
_CODE = Pattern(r"[A-Za-z_][\w.]{0,200}[(\[]|(?:self|args|cfg|config|os|opt|hparams)\.")
_DIGIT = frozenset("0123456789")
_KINDS = (Pattern(r"[A-Z]"), Pattern(r"[a-z]"), Pattern(r"[0-9]"), Pattern(r"[!#$%&*+?@^~]"))


def _begin(text: str, start: int) -> int:
    """Of the text, the comment or the line in which it stands."""
    least = max(0, start - 100)
    return max(least, *(text.rfind(sign, least, start - (sign != "\n")) + 1 for sign in "\n\"'#"))


def _is_chosen(word: str) -> bool:
    """Capitals, small letters, digits and a mark, as people make up passwords: no sentence has such a word behind `password`."""
    return len(word) >= 8 and all(kind.search(word) for kind in _KINDS)


def said(text: str, start: int, done: int, name: str, strength: int) -> Read | None:
    """`password: …`, `the token is …`, `SSH_PASS …`: a word that ends its line, or one that no sentence has."""
    found = _SAID.match(text, done)
    if found is None or (strength != SURE and not looks_generated(found["value"].rstrip(".:!?"))):
        return None
    value = found["value"].rstrip(".:!?")
    at = found.start("value")
    if _CODE.match(text, at) or _TYPE.match(value) or is_placeholder(value):
        return None
    if value.lower() == name.lower().rpartition(".")[2]:  # `credential=credential`
        return None
    number = literal(value)
    if not holds_secret(strength, number) or (isinstance(number, int) and name.lower().endswith(("token", "tokens"))):
        return None
    word = name.lower().rpartition("_")[2]
    bare = name.lower()
    plain = is_of_text(name) or bare in ("secret", "secrets") or (bare == "pass" and "=" not in (found["sign"] or ""))
    named = not plain or not name.isascii()
    telling = len(value) >= 4 and not _DIGIT.isdisjoint(value[:100])
    ends = _ENDS.match(text, at + len(value)) is not None
    if (telling and looks_generated(value)) or _IDENTITY.match(value):
        sure = True
    elif found["weak"]:
        sure = (named and _is_chosen(found["value"])) or (
            ends
            and (telling or not name.isascii())
            and (named or _HANDED_OVER.search(text, max(0, start - 40), start) is not None)
        )
    elif found["set"]:
        sure = named and ends and text.endswith(("set ", "Set "), 0, start)
    elif found["column"]:
        sure = named and ends
    elif found["sign"]:
        alone = ends and _BEGINS.match(text, _begin(text, start), start) is not None
        sure = telling or alone or (named and ends)
        sure = sure and (named or word != "token" or (telling and "=" not in value))  # "the leading token: start=1"
    else:
        sure = telling or bool(found["colon"]) or (ends and (bool(found["given"]) or "_" in name))
    return Read([Literal(at, at + len(value))], at + len(value)) if sure else None
