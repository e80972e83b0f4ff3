"""Literals behind keys that name a secret, found in text alone: in files that do not parse, in lines shown beside a finding, in messages.

`NAME=value`, `name: value`, `"name": "value"`, `--name value`, `os.environ["NAME"] = "value"`, `setenv NAME value`, `name: NAME` and
`value: …` below it. How far a right side goes, and what is literal in it, is read in `literals`. What one reader has read no other reads
again: every pass is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base.light import Pattern
from stablint.secrets.in_lines import SECTION, argument, bare, element, ini, logged, sets
from stablint.secrets.in_programs import (
    AMONG,
    APPENDED,
    LAST_TARGET,
    MORE_TARGETS,
    RETURNED,
    TURNED,
    behind_comma,
    called_with,
    class_body,
    compared,
    has_more_targets,
    in_comment,
    is_program,
    logins,
    opens_block,
)
from stablint.secrets.in_recipes import defined
from stablint.secrets.in_shell import DEFAULT, HERE_DOCUMENT, HERE_STRING, named_items, shell_value, through_shell
from stablint.secrets.in_yaml import ALIAS, NEXT_ITEM, anchored, anchors_of, yaml_value
from stablint.secrets.joined import Joined
from stablint.secrets.keys import (
    LIKELY,
    SURE,
    holds_secret,
    inherited,
    is_of_text,
    looks_generated,
    names_secret,
    names_section,
)
from stablint.secrets.languages import JSON, LINE, PYTHON, RECIPE, SHELL, TOML, YAML
from stablint.secrets.literals import Literal, Read, call_frame, expression, flow, literal
from stablint.secrets.marks import BREAKS, JOINTS, marks_in, of_several_words
from stablint.secrets.one_of_two import ONE_OF_TWO, Others
from stablint.secrets.prose import Texts, is_comment, said
from stablint.secrets.right_sides import NOTHING, QUOTED, begins_line, pieces, plain_value
from stablint.secrets.words import VENDORS

# The rest of a key from there on, what closes it, and what stands between it and its value.
_REST = Pattern(
    r"""(?P<close>\\{0,2}["'`])?(?P<bracket>[ \t]{0,4}\])?(?:
          (?P<sign>[ \t\u00a0\u200b]{0,400}(?::=|\+=|==|!=|[:=\uff1a](?!=))[ \t\u00a0\u200b]{0,400}(?:\\\n[ \t]{0,80})?)
        | (?P<comma>[ \t]{0,4},[ \t]{0,4}(?:\r?\n[ \t]{0,80})?)
        | (?P<gap>[ \t]{1,8}(?:\\\r?\n[ \t]{0,80})?)
    )""",
    re.VERBOSE,
)
_NEXT_LINE = Pattern(r"\s{0,80}:\s{1,80}")  # JSON and `? key` may have their sign on a line of its own
_TAIL = Pattern(r"[\w.-]{1,200}")
_ESCAPE = Pattern(r"\\(?:[abefnrtv0]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[0-7]{3})")
_TICKED = Pattern(r"(?P<lead>)(?P<mark>`)")
_ANNOTATION = Pattern(
    r"[ \t]{0,4}[\w.]{1,60}(?:\[[^\n=]{0,100}\])?(?:[ \t]{0,2}\|[ \t]{0,2}\w{1,40}){0,4}[ \t]{0,4}=(?!=)[ \t]{0,4}"
)
_LEFT = 80  # characters of a key that are looked at in front of the word that made it one
_IN_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


_READ_AS = {TOML: (LINE,), RECIPE: (SHELL, LINE)}


def assigned(text: str, language: str = LINE) -> Iterator[Literal]:
    """Where such values stand, without their quotes; one may lie within another."""
    for one in _READ_AS.get(language, (language,)):
        yield from _assigned(text, one)
    if language == RECIPE:
        yield from defined(text)
    if "\\" in text or language == PYTHON:
        joined = Joined(text)
        if joined.text != text:
            for found in _assigned(joined.text, _READ_AS.get(language, (language,))[0]):
                yield Literal(*joined.span(found.start, found.end), found.told)


def _assigned(text: str, language: str) -> Iterator[Literal]:
    done = bodies = 0
    anchors: dict[str, int] | None = None
    followed: set[tuple[str, int]] = set()
    texts, others = Texts(text), Others(text, language)
    for mark, end in marks_in(text):
        if mark < done:
            continue
        start, done, key = _key(text, mark, end, done, language)
        strength = names_secret(key.replace("-", "_"))
        if key in ("key", "keys", "token") and text[start - 1 : start] == " ":
            whose = _WHOSE.search(text, max(0, start - 24), start)
            if whose is not None and whose[1].lower() in _WHOSE_KEYS and _is_prose(text, start, None, language, texts):
                key, strength = f"{whose[1]}_{key}", SURE
        if strength == LIKELY and key.lower() in ONE_OF_TWO and others.has(start, done):
            strength = SURE
        if (
            not strength
            and text[done : done + 1] == "("
            and language in (PYTHON, JSON)
            and key.rpartition(".")[2] in APPENDED
        ):
            owner = key.rpartition(".")[0]
            strength = names_secret(owner)
            if strength:
                read = expression(text, done + 1, owner, strength, within=call_frame(owner, strength, ""))
                yield from read.literals
                done = max(done, read.end)
            continue
        if not strength and not names_section(key):
            continue
        rest = _REST.match(text, done)
        read = _values(text, start, done, key, strength, rest, language)
        if not read.literals and strength:
            told = said(text, start, done, key.replace("-", "_"), strength)
            if told is not None and _is_prose(text, start, rest, language, texts):
                read = told
        yield from read.literals
        if language == YAML and rest is not None:
            for alias in ALIAS.finditer(text, rest.end(), max(read.end, rest.end() + 82)):
                if alias.start() >= read.end and "\n" in text[rest.end() : alias.start()]:
                    break
                anchors = anchors_of(text) if anchors is None else anchors
                if alias[1] in anchors and (alias[1], strength) not in followed:
                    followed.add((alias[1], strength))
                    yield from anchored(text, anchors[alias[1]], key, strength)
        if language == PYTHON and start >= bodies and text.endswith("class ", 0, start):
            bodies = yield from class_body(text, start, done, key, strength)
        done = max(done, read.end)
    if "login" in text:
        yield from logins(text)


def _key(text: str, mark: int, end: int, done: int, language: str) -> tuple[int, int, str]:
    """Where the key begins and ends that the word in `text[mark:end]` is of, and its words; nothing before `done` is of it, nor is another line."""
    start = mark
    least = max(done, start - _LEFT)
    while start > least and (text[start - 1] in _IN_KEY or (text[start - 1] > "\x7f" and text[start - 1].isalnum())):
        start -= 1
    if start and text[start - 1] == "\\":
        escape = _ESCAPE.match(text, start - 1)
        start = min(escape.end(), mark) if escape is not None else start
    tail = _TAIL.match(text, mark)
    done = max(tail.end() if tail is not None else end, end)
    dots = text.find("...", end, done) if language == LINE else -1
    done = dots if dots >= 0 else done
    around = None
    if text[done : done + 1] in BREAKS or text[start - 1 : start] in JOINTS:
        around = of_several_words(text, start, done, language)
    key, done = around if around is not None else (text[start:done].strip(".-"), done)
    return start, done, key


_SENTENCE = Pattern(r"[ ][a-z]{2,12}[ ]")  # the number of tokens to …
_SCALAR_BEHIND = Pattern(r"""["']?:[ \t]{1,8}[\w"'<.+-]""")


def named_in_yaml(text: str) -> Iterator[int]:
    """In which lines a key stands that may name a secret, or what stands below it: where none does, `assigned` finds nothing."""
    done = 0
    for mark, end in marks_in(text):
        if mark < done:
            continue
        _, done, key = _key(text, mark, end, done, YAML)
        strength = names_secret(key.replace("-", "_"))
        if key == "tokens" and _SENTENCE.match(text, done):
            if any(looks_generated(word) for word in text[done : text.find("\n", done)].split()):
                yield mark
            continue
        if strength or (names_section(key) and not _SCALAR_BEHIND.match(text, done)):
            yield mark


def _is_prose(text: str, start: int, rest: re.Match[str] | None, language: str, texts: Texts) -> bool:
    """Whether what stands there is written for people: a line of a log, a comment, a text within a program or a file of JSON."""
    if language == PYTHON:
        return texts.is_prose(start) or ((rest is None or not rest["close"]) and not texts.is_code(start))
    if language in (SHELL, YAML):
        return is_comment(text, start)
    return language == LINE or rest is None or not rest["close"]


_WHOSE = Pattern(r"\b([A-Za-z]{2,16})[ ]\Z")
_WHOSE_KEYS = VENDORS | {"api", "access", "auth", "secret", "bearer", "refresh", "private"}


def _values(
    text: str, start: int, done: int, key: str, strength: int, rest: re.Match[str] | None, language: str
) -> Read:
    flag = text[start : start + 1] == "-" or text[max(0, start - 2) : start] == "--"
    name = key.replace("-", "_")
    if strength and text[done : done + 1] in (">", "<", " "):
        read = element(text, start, done, strength)
        if read is not None:
            return read
    if language == LINE and (strength == SURE or (strength and text[start - 4 : start].lower() == "api ")):
        read = logged(text, done)
        if read is not None:
            return read
    if name.lower().rpartition("_")[2] in _PAIRS:
        pair = _PAIR.match(text, done)
        if pair is not None and holds_secret(SURE, pair["quoted"] or pair["bare"]):
            return Read([Literal(*pair.span("quoted" if pair["quoted"] else "bare"))], pair.end())
    if language == SHELL and text[max(0, start - 2) : start] == "${":
        default = DEFAULT.match(text, done)
        if default is not None:
            held = holds_secret(strength, default[1].strip("\"'"))
            return Read([Literal(*default.span(1))] if held else [], default.end())
        if text.startswith((":?", ":-}"), done):  # a message, nothing
            return Read([], done + 2)
    if strength and not flag:
        section = SECTION.match(text, done) if text[start - 1 : start] == "[" else None
        if section is not None and begins_line(text, start - 1):
            return ini(text, section.end(), name, strength)
        formatted = _FORMATTED.match(text, done)
        if formatted is not None:
            quoted = QUOTED.match(text, formatted.end())
            return pieces(text, strength, quoted, PYTHON) if quoted is not None else NOTHING
    if strength == SURE and not flag:
        read = _apart(text, start, done, name, strength, language)
        if read is not None:
            return read
    if language in (PYTHON, SHELL) and text[done : done + 1] in ("[", "'", '"', "]"):
        owned = _OWNED.match(text, done)
        if owned is not None:
            strength = strength if owned[1].isdigit() else inherited(name, owned[1], strength)
            if not strength:
                return NOTHING
            return (
                shell_value(text, owned.end(), strength)
                if language == SHELL
                else expression(text, owned.end(), name, strength)
            )
    if language == SHELL and strength:
        read = through_shell(text, start, done, name, strength)
        if read is not None:
            return read
    if flag and strength and language == YAML:
        item = NEXT_ITEM.match(text, done)
        if item is not None:
            return plain_value(text, item.end(), name, strength)
    if rest is None:
        return NOTHING
    at = rest.end()
    if language == PYTHON and opens_block(text, rest):
        return NOTHING
    if name == "Authorization" or (rest["close"] and name.lower() == "authorization"):
        strength = SURE
    if (
        rest["comma"] is not None
        and language == YAML
        and not rest["close"]
        and text[start - 1 : start] == "["
        and strength == SURE
    ):
        return plain_value(text, at, name, strength) if name.isupper() else NOTHING
    if rest["comma"] is not None:
        if not strength or not rest["close"]:
            return NOTHING
        if rest["bracket"]:
            more = MORE_TARGETS.match(text, rest.end("bracket")) if language == PYTHON else None
            return expression(text, more.end(), name, strength, commas=True) if more is not None else NOTHING
        return behind_comma(text, start, at, name, strength, flag=flag)
    if (
        rest["gap"] is not None
        and strength == SURE
        and language == PYTHON
        and name != "pass"
        and not in_comment(text, start)
    ):
        among = AMONG.match(text, done)
        if among is not None:
            of_text = is_of_text(name)  # `if token in ("the", "a")`
            return expression(text, among.end(), name, LIKELY if of_text else strength)
    if rest["gap"] is not None:
        if not strength or not (flag or sets(text, start)):
            return NOTHING
        return argument(text, start, at, name, strength, language)
    sign = rest["sign"].strip(" \t\r\n\\\u00a0\u200b").replace("\uff1a", ":")
    if sign in ("==", "!=") and language == SHELL and strength == SURE:
        return shell_value(text, at, strength)
    if sign in ("==", "!="):
        return compared(text, at, name, strength) if strength == SURE and language in (PYTHON, JSON) else NOTHING
    if ":" in sign and language in (PYTHON, LINE):
        annotated = _ANNOTATION.match(text, at)
        if annotated is not None:  # `token: Optional[str] = "…"`
            at, sign = annotated.end(), "="
    if rest["close"] and language in (JSON, LINE, YAML) and text[at : at + 1] in ("\n", "\r"):
        space = text[at : at + 200]
        at += len(space) - len(space.lstrip())  # JSON may go on in the next line
    if sign == ":" and text[at : at + 1] in ("{", "[") and language != PYTHON:
        return flow(text, at, name, strength)
    if language == YAML and sign == ":" and not flag:
        return yaml_value(text, start, at, name, strength, closed=bool(rest["close"]))
    if strength != SURE and names_section(name):
        if language == SHELL and text[at : at + 1] == "(":
            items = named_items(text, at, name)
            if items.literals or not strength:
                return items
        if language == PYTHON and (text[at : at + 1] == "{" or text.startswith("dict(", at)):
            return expression(text, at, name, strength)
    if not strength:
        return NOTHING
    if language == SHELL and (flag or text[at - 1 : at] in ("=", ":")) and not rest["close"]:
        return shell_value(text, at, strength)
    if rest["close"] is None and text[at : at + 1] == "(" and key.rpartition(".")[2] == "auth":
        return expression(
            text, at + 1, name, SURE, within=call_frame(name, SURE, "auth")
        )  # a user's name and the password
    if strength == SURE and not flag and is_program(text, start, at, rest["close"], sign, language):
        outer = '"' if language == JSON and rest["close"] != '"' else ""
        return expression(text, at, name, strength, outer=outer, commas=has_more_targets(text, start))
    quoted = QUOTED.match(text, at) or (_TICKED.match(text, at) if language == LINE and rest["close"] == "`" else None)
    if quoted is not None:
        return pieces(text, strength, quoted, language)
    if text[at : at + 1] == "[":
        return flow(text, at, name, strength)
    if text[at : at + 1] == "(":
        return expression(text, at, name, strength)
    return bare(text, start, at, name, strength, flag, rest, language)


_PAIRS = frozenset(("auth", "cred", "creds", "login", "credentials"))
# A user and what opens the door: `auth: [ada, …]`
_PAIR = Pattern(
    r"""["']?[ \t]{0,8}[:=][ \t]{0,8}[\[(]{1,2}[ \t]{0,4}(?:"[^"\n]{1,100}"|'[^'\n]{1,100}'|[^\s"',\[\](){}]{1,100})[ \t]{0,4},[ \t]{0,4}
    (?:(["'])(?P<quoted>[^"'\n]{3,400})\1|(?P<bare>[^\s"',\[\](){}]{3,400}))[ \t]{0,4},?[ \t]{0,4}[\])]""",
    re.VERBOSE,
)
_FORMATTED = Pattern(r"""[ \t]{0,2}[:=][ \t]{0,2}(?:%[sr]|\{\})[^"'\n]{0,40}["'][ \t]{0,4},[ \t]{0,4}""")
_OWNED = Pattern(
    r"""(?:["'][ \t]?\])?(?:\[[ \t]?["']?([\w.-]{1,80})["']?[ \t]?\]){1,3}[ \t]{0,8}(?::[ \t]?\w{1,40}[ \t]{0,4})?\+?=(?!=)[ \t]{0,8}"""
)
_PAIR_NAME = Pattern(
    r"""(?:\b(?:name|key|variable|var|k|path|env|env_name|envvar|option|field|param(?:eter)?|header|id)|Name|Key)\\{0,2}["']?[ \t]{0,8}[:=]"""
    r"""[ \t]{0,8}\\{0,2}["']?(?:/(?:[\w-]{1,40}/){0,6})?\Z"""
)
_PAIR_VALUE = Pattern(
    r"""\\{0,2}["']?[ \t]{0,8},?[ \t]{0,8}(?:\#[^\n]{0,100})?(?:\\n"[ \t]{0,8},)?"""
    r"""(?:\r?\n[ \t]{0,80}(?:(?:\#|type:|required:)[^\n]{0,100})?){0,3}\\{0,2}["']?"""
    r"""(?:value|Value|default|val|v|is|content|data)\\{0,2}["']?[ \t]{0,8}[:=][ \t]{0,8}"""
)
_VALUE_NAME = Pattern(r"""(?:\bvalue|\bdefault|\bval|Value)\\{0,2}["']?[ \t]{0,8}[:=][ \t]{0,8}\\{0,2}""")
_VALUE_BEFORE = Pattern(
    r"""(?:(["'])(?P<quoted>[^"'\n\\]{3,400})\\{0,2}\1|(?P<bare>[^\s,"'{}\[\]]{3,400})(?=[\s,"']))"""
    r"""[ \t]{0,8},?[ \t]{0,8}(?:\r?\n[ \t]{0,80})?\\{0,2}["']?(?:name|key|Name|Key|variable)\\{0,2}["']?[ \t]{0,8}[:=][ \t]{0,8}"""
    r"""\\{0,2}["']?\Z"""
)
_NEAREST = 2  # of the words for a value in front of a name


def _apart(text: str, start: int, done: int, name: str, strength: int, language: str) -> Read | None:
    """Values that do not stand directly behind their key: `name: KEY` and `value: …`, `key, a = …`, `read KEY <<< …`, `save_token(…)`."""
    head = text[max(0, start - 60) : start]
    if head[-1:] in (" ", "\t", '"', "'", "=", ":", "/") and _PAIR_NAME.search(head):
        behind = _PAIR_VALUE.match(text, done)
        if behind is not None:
            return plain_value(text, behind.end(), name, strength)
        for named in list(_VALUE_NAME.finditer(text, max(0, start - 600), start))[-_NEAREST:]:
            before = _VALUE_BEFORE.match(text, named.end(), start)
            if before is None:
                continue
            part = "quoted" if before["quoted"] else "bare"
            if holds_secret(strength, literal(before[part])):
                return Read([Literal(*before.span(part))], done)
    following = text[done : done + 1]
    if language in (PYTHON, JSON) and head[-3:] in ("== ", "!= "):
        turned = TURNED.search(head)
        if turned is not None and not is_of_text(name) and holds_secret(strength, turned[1]):
            begin = max(0, start - 60)
            return Read([Literal(begin + turned.start(1), begin + turned.end(1))], done)
    if following == "(" and head.endswith("def "):
        returned = RETURNED.match(text, done)
        if returned is not None:
            return expression(text, returned.end(), name, strength)
    if following == "(":
        return called_with(text, start, done, name, strength)
    if following in (" ", "\t", "<") and language != PYTHON:
        here = HERE_STRING.match(text, done)
        if here is not None:
            return shell_value(text, here.end(), strength)
        document = HERE_DOCUMENT.match(text, done)
        if document is not None:
            end = text.find(f"\n{document[1]}", document.end() - 1, document.end() + 4_000)
            return Read([Literal(document.end(), max(end, document.end()))], max(end, done))
    if following in (" ", "\t", ",", ")") and language in (PYTHON, JSON):
        more = (
            LAST_TARGET.match(text, done)
            if following == ")" and has_more_targets(text, start)
            else MORE_TARGETS.match(text, done)
        )
        if more is not None:
            outer = '"' if language == JSON else ""
            return expression(text, more.end(), name, strength, outer=outer, commas=True)
    if language in (YAML, JSON) and following in (" ", "\t", "\r", "\n", '"'):
        behind = _NEXT_LINE.match(text, done + (following == '"'))
        if (
            behind is not None
            and "\n" in behind[0].partition(":")[0]
            and (following == '"' or head.rstrip("\"'").endswith("? "))
        ):
            return plain_value(text, behind.end(), name, strength)
    return None
