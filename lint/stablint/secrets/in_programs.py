"""The value of a name of Python, of a program in a notebook too: what a class holds, what a function is called with, further targets."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from stablint.base.light import Pattern
from stablint.secrets.keys import LIKELY, SURE, holds_secret, inherited, is_of_text, looks_generated
from stablint.secrets.languages import JSON, PYTHON
from stablint.secrets.literals import Literal, Read, call_frame, closing, expression
from stablint.secrets.right_sides import NOTHING, QUOTED, pieces, telling
from stablint.secrets.words import DEFAULTS, READERS, SAVERS, SETTING

_CALL = Pattern(r"\(*[^\W\d][\w.]{0,200}[ \t]{0,2}\(")
_MEMBER = Pattern(r"([ \t]+)(?:([A-Za-z_]\w{0,80})[ \t]{0,4}(?::[^=\n]{0,80})?=(?!=)[ \t]{0,4})?")
_LONGEST_BODY = 60  # lines


def class_body(text: str, start: int, done: int, owner: str, strength: int) -> Generator[Literal, None, int]:
    """What a class called after secrets holds: `class Secrets:` and `wandb = "…"` below it. Returns where it ends."""
    indent = start - len("class ") - (text.rfind("\n", max(0, start - 400), start) + 1)
    if owner.lower().endswith(("token", "tokens")):
        strength = min(strength, LIKELY)  # of a text, mostly
    at = text.find("\n", done, done + 400) + 1
    for _ in range(_LONGEST_BODY if at else 0):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        member = _MEMBER.match(text, at, end)
        if text[at:end].strip() and (member is None or len(member[1]) <= indent):
            break
        if member is not None and member[2]:
            yield from expression(text, member.end(), owner, inherited(owner, member[2], strength)).literals
        at = end + 1
        if end >= len(text):
            break
    return at


_LOGIN = Pattern(r"(?<!def )(?:\b|_)login[ \t]?\(")
_OF_LOGIN = frozenset(("", "key", "token", "api_key", "password"))


def logins(text: str) -> Iterator[Literal]:
    """`login(` and its arguments, over several lines or in one."""
    end = 0
    for found in _LOGIN.finditer(text):
        if found.start() >= end:
            frame = call_frame("token", SURE, "login", only=_OF_LOGIN)
            read = expression(text, found.end(), "token", SURE, within=frame)
            yield from read.literals
            end = read.end


AMONG = Pattern(r"""[ \t]{1,4}(?:not[ \t])?in[ \t]{1,4}(?=[(\[{])""")
APPENDED = ("append", "extend", "insert", "add", "from_dict")
RETURNED = Pattern(
    r"""\([^()\n]{0,100}\)[^\n:]{0,60}:[ \t]{0,8}(?:\n(?:[^\n]{0,200}\n){0,3}?[ \t]{1,40})?return[ \t]{1,8}(?=[rbfuRBFU]{0,2}["'])"""
)
TURNED = Pattern(r"""["']([^"'\n]{3,200})["'][ \t]{0,4}[!=]=[ \t]{0,4}(?:[A-Za-z_]\w{0,40}\.){0,3}\Z""")


def opens_block(text: str, rest: re.Match[str]) -> bool:
    """`def f() -> Token:` and what is said below it."""
    return (
        not rest["close"] and (rest["sign"] or "").strip() == ":" and text[rest.end() : rest.end() + 1] in ("\r", "\n")
    )


def in_comment(text: str, start: int) -> bool:
    line = max(text.rfind("\n", max(0, start - 200), start) + 1, start - 200, 0)
    return "#" in text[line:start]


def is_program(text: str, start: int, at: int, close: str | None, sign: str, language: str) -> bool:
    """Whether an expression of a program stands there, and not a value alone."""
    if language == PYTHON:
        if close in ("'", '"') and text[start - 1 : start] == close and sign == ":":
            return True  # of a dictionary
        return not (_BARE_WORD.match(text, at) is not None and in_words(text, start))
    if language == JSON:
        return close != '"' and _BARE_WORD.match(text, at) is None
    return _CALL.match(text, at) is not None and "=" in sign


_BARE_WORD = Pattern(r"""[\w.+/@:!?#$%^*~-]{3,400}(?=[\s"'\\;&|]|\Z)""")
_TARGETS = Pattern(r"[ \t]{0,80}\(?[\w.,*\[\] \t]{0,200},[ \t]{0,8}\Z")
MORE_TARGETS = Pattern(
    r"""(?:[ \t]{0,8},[ \t]{0,8}[\w.*]{1,80}(?:\[[^\]\n]{0,80}\])?){1,8},?[ \t]{0,8}\)?[ \t]{0,8}=(?!=)[ \t]{0,8}"""
)
LAST_TARGET = Pattern(r"\)[ \t]{0,8}=(?!=)[ \t]{0,8}")


def has_more_targets(text: str, start: int) -> bool:
    """`user, password = "…", "…"`: what is before the key on its line are targets as well."""
    if text[start - 1 : start] not in (" ", ","):
        return False
    line = max(text.rfind("\n", max(0, start - 200), start) + 1, start - 200, 0)
    return _TARGETS.match(text, line, start) is not None


def called_with(text: str, start: int, done: int, name: str, strength: int) -> Read | None:
    """A function that takes a secret: `SecretStr("…")`, `save_token("…")`. What it is defined with are no values."""
    function = name.rpartition(".")[2].lstrip("_")
    if text[max(0, start - 4) : start] == "def " or function.startswith(("Invalid", "Missing", "Expired", "Bad", "No")):
        return None
    if not (function[:1].isupper() or function.partition("_")[0].lower() in SAVERS or function[:3] in ("set", "add")):
        return None
    return expression(
        text, done + 1, name, strength, within=call_frame(name, strength, function.lower() + "(")
    )  # its own name, that of no other function


def compared(text: str, at: int, name: str, strength: int) -> Read:
    quoted = QUOTED.match(text, at)
    if quoted is None or is_of_text(name):
        return NOTHING
    return pieces(text, strength, quoted, PYTHON)


_CALLEE = Pattern(r"""([\w.]{0,80})[(\[]\s{0,80}(?:[\w.\[\]"' \t-]{0,80},[ \t]{0,8})?\\{0,2}["']?\Z""")
_OPTION = Pattern(
    r"(?:add_argument|option|Option|argument|Argument|add_option|DEFINE_\w{1,20}|parameter|Field|field|config)\Z"
)


def behind_comma(text: str, start: int, at: int, name: str, strength: int, *, flag: bool) -> Read:
    """The first words of a call or a pair: `getenv("NAME", "value")`, `["--name", "value"]`, `add_argument("--name", default="value")`."""
    head = text[max(0, start - 170) : start].rstrip("-")
    called = _CALLEE.search(head)
    quoted = QUOTED.match(text, at)
    if flag:
        if called is not None and called[1] and (quoted is None or _OPTION.search(called[1])):
            frame = call_frame(name, strength, "", place=1, only=DEFAULTS)
            return expression(text, at, name, strength, within=frame)
        if quoted is not None and text[quoted.end() : quoted.end() + 1] != "-":
            return pieces(text, strength, quoted, PYTHON)
        return NOTHING
    if called is None:
        return NOTHING
    callee = called[1].rpartition(".")[2].lower()
    if callee.startswith("define_") and quoted is not None:
        return pieces(text, strength, quoted, PYTHON)
    if callee in READERS or callee in SETTING:
        return expression(text, at, name, strength, within=call_frame(name, strength, callee, place=2))
    if quoted is None:
        if _OPTION.search(called[1]):
            return expression(text, at, name, strength, within=call_frame(name, strength, "", place=1, only=DEFAULTS))
        return NOTHING
    end = closing(text, quoted.end(), quoted["mark"])
    value = text[quoted.end() : end]
    listed = called[0][len(called[1])] == "["  # `["token", "label"]` may be columns
    surely = name.isupper() or looks_generated(value)
    # `Textbox("api_key", "its title")` may be anything
    alone = not any(c.isspace() for c in value)
    if (surely or (alone and not listed and (not callee or telling(value)))) and holds_secret(strength, value):
        return Read([Literal(quoted.end(), end, surely)], end)
    return NOTHING


def in_words(text: str, start: int) -> bool:
    """Within quotes of a program: a command line that it starts (`"WANDB_API_KEY=… python train.py"`), or a line of a notebook for the shell."""
    line = max(text.rfind("\n", max(0, start - 400), start) + 1, start - 400, 0)
    head = text[line:start]
    return head.lstrip()[:1] in ("!", "%") or head.count('"') % 2 == 1 or head.count("'") % 2 == 1
