"""The value behind a key of a line whose language nobody knows: of a log, a table, a command, a file of settings."""

from __future__ import annotations

import re

from stablint.base.light import Pattern
from stablint.secrets.in_programs import in_words
from stablint.secrets.in_shell import shell_value
from stablint.secrets.keys import SURE, holds_secret, inherited, is_placeholder, looks_generated
from stablint.secrets.languages import JSON, PYTHON, SHELL
from stablint.secrets.literals import Literal, Read
from stablint.secrets.right_sides import CODE, NOTHING, QUOTED, WORD, begins_line, pieces, plain_value, telling

_NUMBER = Pattern(r"-?(?:[0-9][0-9_]{3,100}(?:\.[0-9]{1,40})?|0[xX][0-9a-fA-F_]{4,100})(?![\w.])")
_COLOUR = r"(?:\x1b\[[0-9;]{0,12}m)?"
# How logs and tables put a key and its value beside each other. Where a blank alone stands between them (`weak`) only what looks generated is a value.
_LOGGED = Pattern(
    rf"""["']?{_COLOUR}(?:
          [ \t]{{0,4}}\.{{3,200}}[ \t]{{0,4}} | [ \t]{{0,40}}(?:->|=>|\u2192|[|\u2502])[ \t]{{0,40}} | [ \t]{{2,60}} | \t
        | [ \t]{{1,4}}(?:(?:is|was|provided|given|set\ to)[:=]?)[ \t]{{1,4}}
        | [ \t]{{0,2}}[(\[][^()\[\]\n]{{0,40}}[)\]][ \t]{{0,4}}[:=][ \t]{{1,4}}
        | (?:[ \t][A-Z_]{{1,40}})?[ \t]{{1,2}}[(\[](?:(?:default|current)[:=][ \t]{{0,4}})?
        | [ \t]{{0,40}}[:=]{_COLOUR}[ \t]{{0,40}}{_COLOUR}(?:Some\()? | {_COLOUR}[:=]
        | %3[Dd] | %22%3A%22 | &\#61; | (?:&quot;|&\#34;)[ ]?[:=][ ]?(?:&quot;|&\#34;) | >
        | (?P<weak>[ \t])
    ){_COLOUR}["']?(?P<value>[^\s"'<>|\u2502,;&()\[\]\x1b]{{6,400}})""",
    re.VERBOSE,
)


def logged(text: str, done: int) -> Read | None:
    found = _LOGGED.match(text, done)
    if found is None:
        return None
    value = found["value"].rstrip(".:!?")
    surely = looks_generated(value) or (not found["weak"] and telling(value) and not value.isdigit())
    if not surely or CODE.match(value) or text[found.end() : found.end() + 1] in ("(", "[") or is_placeholder(value):
        return None
    start = found.start("value")
    return Read([Literal(start, start + len(value))], found.end())


# `<password>…</password>`, and the cell or the text of a property list behind the one that is called so.
_ELEMENT = Pattern(r"(?:[ \t][^<>\n]{0,200})?>\s{0,80}(?P<value>[^<>]{1,400})</")
_NEXT_CELL = Pattern(
    r"</\w{1,12}>\s{0,80}<(?:td|dd|string|value|code)\b[^<>\n]{0,80}>\s{0,80}(?P<value>[^<>]{1,400})</"
)


def element(text: str, start: int, done: int, strength: int) -> Read | None:
    """What an element of XML or HTML holds whose name, or the one in front of it, names a secret."""
    opens = text[start - 1 : start] in ("<", ":") and text.find("<", max(0, start - 40), start) >= 0
    found = (_ELEMENT.match(text, done) if opens else None) or _NEXT_CELL.match(text, done)
    if found is None or not holds_secret(strength, found["value"].strip()):
        return None
    begin = found.start("value")
    return Read([Literal(begin, begin + len(found["value"].rstrip()))], found.end("value"))


SECTION = Pattern(r"\][ \t]{0,40}\r?\n")
_SETTING = Pattern(r"""[ \t]{0,40}["']?([\w.-]{1,80})["']?[ \t]{0,8}[=:][ \t]{0,8}""")


def ini(text: str, at: int, name: str, strength: int) -> Read:
    """What stands in a section called after secrets, as INI and TOML write it: `[secrets]`, `wandb = "…"`."""
    found: list[Literal] = []
    for _ in range(50):
        setting = _SETTING.match(text, at)
        if setting is None:
            break
        value = plain_value(text, setting.end(), name, inherited(name, setting[1], strength))
        found += value.literals
        at = text.find("\n", setting.end(), setting.end() + 4_000) + 1
        if not at:
            break
    return Read(found, at or len(text))


_SETTERS = Pattern(
    r"(?:(?:setenv|env|set_env|set|config|export|ENV|ARG)[ \t]{1,8}(?:--?\w{1,20}[ \t]{1,4})?|--arg[ \t]{1,4}|setx[ \t]{1,4}|"
    r"config[ \t]{1,4}set[ \t]{1,4}[^\s]{1,60}|printf[ \t]{1,4}-v[ \t]{1,4})\Z"
)


def sets(text: str, start: int) -> bool:
    """`setenv NAME value`, `%env NAME value`, `conda env config vars set NAME value`, `printf -v NAME %s value`."""
    return _SETTERS.search(text, max(0, start - 40), start) is not None


_PRINTED = Pattern(r"""(?:-b|--body)[ \t=]{1,4}|["']?%[sb](?:\\n)?["']?[ \t]{1,8}""")


def argument(text: str, start: int, at: int, name: str, strength: int, language: str) -> Read:
    """`--name value`, `setenv NAME value`"""
    form = _PRINTED.match(text, at)
    at = form.end() if form is not None else at
    if text.startswith("--", at):
        return NOTHING
    if language == SHELL:
        return shell_value(text, at, strength)
    quoted = QUOTED.match(text, at)
    if quoted is not None:
        return pieces(text, strength, quoted, language)
    word = WORD.match(text, at)
    value = word[0].rstrip(".:!?)") if word is not None else ""
    if word is None or not value or text[word.end() : word.end() + 1] in ("(", "[") or CODE.match(value):
        return NOTHING
    if holds_secret(strength, value):
        return Read([Literal(at, at + len(value))], word.end())
    return NOTHING


def bare(
    text: str, start: int, at: int, name: str, strength: int, flag: bool, rest: re.Match[str], language: str
) -> Read:
    number = _NUMBER.match(text, at)
    if number is not None and language in (PYTHON, JSON):
        return Read([Literal(*number.span())] if strength == SURE else [], number.end())
    if language == PYTHON and not flag and not in_words(text, start):
        return NOTHING
    word = WORD.match(text, at)
    if word is None:
        return NOTHING
    value = word[0].rstrip(".:!?)")
    if not value or not holds_secret(strength, value) or text[word.end() : word.end() + 1] in ("(", "["):
        return NOTHING
    # Of a line on its own nobody knows whether a bare word is a name of the program's, a word of a sentence, or the secret.
    sure = (
        flag
        or name.isupper()
        or ";" in (text[start - 1 : start], text[word.end() : word.end() + 1])  # `Uid=ada;Pwd=…;`
        or (rest["sign"] == "=" and (language in (PYTHON, JSON) or _is_line(text, start, word.end())))
    )
    sure = sure or (language == JSON and strength == SURE and _is_line_in_text(text, start, word.end()))
    sure = sure or (
        "_" in name and text[start - 1 : start] in ("'", '"') and rest["sign"].strip() == ":"
    )  # a header: 'X-Api-Key: …'
    if (sure and not CODE.match(value)) or telling(value):
        return Read([Literal(at, at + len(value))], word.end())
    return NOTHING


def _is_line_in_text(text: str, start: int, end: int) -> bool:
    """`"key: value\\n"` and nothing else, as a notebook holds the lines of a file that a cell writes."""
    return text[max(0, start - 80) : start].rstrip(" \t-").endswith('"') and text.startswith(("\\n", '"'), end)


def _is_line(text: str, start: int, end: int) -> bool:
    """`key=value` and nothing else, as in files of settings."""
    return begins_line(text, start) and not text[end : end + 1].strip()
