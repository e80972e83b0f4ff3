"""Literals behind keys that name a secret, found in text alone: in files that do not parse, in lines shown beside a finding, in messages.

`NAME=value`, `name: value`, `"name": "value"`, `--name value`, `os.environ["NAME"] = "value"`, `setenv NAME value`. Every pass is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.secrets.keys import SURE, is_secret, looks_generated, names_secret

Span = tuple[int, int]

PYTHON, SHELL, YAML, JSON, LINE = "python", "shell", "yaml", "json", ""
"""How bare words are read: as names of a program (Python), as literals (shell, YAML); of a line on its own nobody knows."""

_LANGUAGES = {
    **dict.fromkeys(("py",), PYTHON),
    **dict.fromkeys(("sh", "bash", "slurm", "sbatch", "zsh", "ksh", "env"), SHELL),
    **dict.fromkeys(("yaml", "yml"), YAML),
    **dict.fromkeys(("json", "jsonc", "ipynb"), JSON),
}

# Any key that `names_secret` knows holds one of these, in whatever case; whether a word begins, and ends, with it.
_MARKS = (
    *((word, False, False) for word in ("token", "key", "secret", "pass", "pwd", "cred", "auth", "bearer", "cookie", "signature", "dsn")),
    *((word, False, False) for word in ("webhook", "hmac", "jwt", "connection")),
    *((word, False, True) for word in ("_pat", "_sk", "_ak", "_sas", "api")),
    *((word, True, True) for word in ("pat", "sk", "ak")),
)  # fmt: skip
# What is an ASCII letter to a reader who makes no difference between capitals and small letters.
_ALIKE = (("\u212a", "k"), ("\u017f", "s"), ("\u0130", "i"), ("\u0131", "i"))
# The rest of a key from there on, what closes it, and what stands between it and its value.
_REST = re.compile(
    r"""(?P<close>\\{0,2}["'])?(?P<bracket>[ \t]{0,4}\])?(?:
          (?P<sign>[ \t]{0,40}(?::=|\+=|[:=](?!=))[ \t]{0,40}(?:\\\n[ \t]{0,80}|\([ \t]{0,8}(?:\n[ \t]{0,80})?)?)
        | (?P<comma>[ \t]{0,4},[ \t]{0,4})
        | (?P<gap>[ \t]{1,8})
        | (?P<annotated>[ \t]{0,4}:[ \t]{0,4}[\w.]{1,60}(?:\[[^\n=]{0,100}\])?(?:[ \t]{0,2}\|[ \t]{0,2}\w{1,40}){0,4}[ \t]{0,4}=(?!=)[ \t]{0,4})
    )""",
    re.VERBOSE,
)
_TAIL = re.compile(r"[A-Za-z0-9_.-]{1,200}")
_ANNOTATION = re.compile(
    r"[ \t]{0,4}[\w.]{1,60}(?:\[[^\n=]{0,100}\])?(?:[ \t]{0,2}\|[ \t]{0,2}\w{1,40}){0,4}[ \t]{0,4}=(?!=)[ \t]{0,4}"
)
_QUOTED = re.compile(r"""(?P<lead>[rbfuRBFU]{0,2})(?P<mark>\\{1,3}["']|\"\"\"|'''|["'])""")
_NEXT_PIECE = re.compile(r"""[ \t]{0,8}(?:\+[ \t]{0,8})?(?=[rbfuRBFU]{0,2}["'])""")
_NUMBER = re.compile(r"[0-9][0-9_]{3,100}(?:\.[0-9]{1,40})?(?![\w.])")
_WORD = re.compile(r"""[^\s"'`,;&|<>()\[\]{}\\]{1,4096}""")
_SHELL_WORD = re.compile(r"""(?:[^\s"'`;&|<>()\\]|\\.){1,4096}""")
_YAML_REST = re.compile(r"""[^\n\r]{1,4096}?(?=[ \t]{1,40}\#|[ \t]{0,40}(?:\r|\n|\Z))""")
_YAML_HEAD = re.compile(r"(?:[&!][^\s]{0,100}[ \t]{1,8}){0,3}")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}[ \t]{0,20}(?:\#[^\n]{0,200})?\r?\n")
_ITEM = re.compile(r"[ \t]{0,40}-[ \t]{1,20}")
_CODE = re.compile(r"[A-Za-z_][\w.]{0,200}[(\[]|[A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80})+\Z")
_TYPE = re.compile(
    r"(?:str|int|bool|float|bytes|Any|None|Optional|Union|List|Dict|list|dict|Sequence|SecretStr|string|boolean)\b"
)
_LEFT = 80  # characters of a key that are looked at in front of the word that made it one
_IN_KEY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


def language_of(path: str) -> str:
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), LINE)


def assigned(text: str, language: str = LINE) -> Iterator[Span]:
    """Where such values stand, without their quotes; in order, though one may lie within another."""
    done = 0
    for mark, end in _marks(text):
        if mark < done:
            continue
        start = mark
        least = max(done, start - _LEFT)
        while start > least and text[start - 1] in _IN_KEY:
            start -= 1
        tail = _TAIL.match(text, mark)
        done = tail.end() if tail is not None else end
        rest = _REST.match(text, done)
        if rest is None:
            continue
        key = text[start:done].strip(".-")
        strength = names_secret(key.replace("-", "_"))
        if not strength:
            continue
        for span in _values(text, start, key, rest, language):
            yield span
            done = max(done, span[1])


def _marks(text: str) -> list[Span]:
    """Where a key may name a secret: the words that tell it, apart from each other and in order."""
    small = text
    if not text.isascii():
        for letter, plain in _ALIKE:
            small = small.replace(letter, plain)
    small = small.lower()
    found = []
    for word, begins, ends in _MARKS:  # looking for one word after the other is many times faster than a pattern of all
        at = small.find(word)
        while at >= 0:
            end = at + len(word)
            if not (begins and _is_letter(text, at - 1)) and not (ends and _is_letter(text, end)):
                found.append((at, end))
            at = small.find(word, end)
    found.sort()
    kept: list[Span] = []
    for span in found:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _is_letter(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def _values(text: str, start: int, key: str, rest: re.Match[str], language: str) -> Iterator[Span]:
    flag = text[max(0, start) : start + 2] == "--" or text[max(0, start - 2) : start] == "--"
    at = rest.end()
    if rest["sign"] is None and rest["annotated"] is None:
        if rest["gap"] and not flag and not _sets(text, start):
            return
        if rest["comma"] and not (rest["close"] and _called(text, start)):
            return
    annotated = _ANNOTATION.match(text, at) if rest["sign"] and ":" in rest["sign"] else None
    if annotated is not None and language in (PYTHON, LINE):  # `token: Optional[str] = "…"`
        at = annotated.end()
    name = key.replace("-", "_")
    quoted = _QUOTED.match(text, at)
    if quoted is None and language == YAML and not flag:
        head = _YAML_HEAD.match(text, at)
        at = head.end() if head else at
        quoted = _QUOTED.match(text, at)
    if quoted is not None:
        yield from _pieces(text, name, quoted, rest)
        return
    if rest["comma"]:
        return
    if text[at : at + 1] == "[":
        yield from _items(text, at, name)
        return
    yield from _bare(text, start, at, name, flag, rest, language)


def _called(text: str, start: int) -> bool:
    """The first word of a call: `os.environ.setdefault("NAME", "value")`, `monkeypatch.setenv("NAME", "value")`."""
    head = text[max(0, start - 4) : start].rstrip("\"'\\")
    return head.endswith("(")


_SETTERS = re.compile(r"(?:setenv|env|set|config|export)[ \t]{1,8}(?:--?\w{1,20}[ \t]{1,4})?\Z")


def _sets(text: str, start: int) -> bool:
    """`setenv NAME value`, `%env NAME value`, `conda env config vars set NAME value`."""
    return _SETTERS.search(text, max(0, start - 40), start) is not None


def _pieces(text: str, name: str, quoted: re.Match[str], rest: re.Match[str]) -> Iterator[Span]:
    """A quoted text, with those that Python adds to it: `"hf_" + "…"`."""
    spans: list[Span] = []
    found: re.Match[str] | None = quoted
    while found is not None and len(spans) < 50:
        mark = found["mark"]
        begin = found.end()
        end = _closing(text, begin, mark)
        spans.append((begin, end))
        more = _NEXT_PIECE.match(text, min(end + len(mark), len(text)))
        found = _QUOTED.match(text, more.end()) if more else None
    whole = "".join(text[begin:end] for begin, end in spans)
    if (
        rest["comma"] and not name.isupper() and not looks_generated(whole)
    ):  # `("api_key", "its title")` may be anything
        return
    if is_secret(name, whole):
        yield from ((begin, end) for begin, end in spans if end > begin)


_ITEM_WORD = re.compile(r"""["']([^"'\n]{1,4096})["']|([^\s,\[\]"'\\]{1,4096})""")


def _items(text: str, at: int, name: str) -> Iterator[Span]:
    """The texts of a list: `api_keys: ["…", "…"]`."""
    close = text.find("]", at, at + 4_000)
    for item in _ITEM_WORD.finditer(text, at, max(close, at)):
        part = 1 if item[1] else 2
        if is_secret(name, item[part]):
            yield item.span(part)


def _closing(text: str, begin: int, mark: str) -> int:
    """Where a quoted text ends: at its mark, else with its line."""
    limit = min(len(text), begin + 20_000)
    if len(mark) == 3 and mark[0] != "\\":
        end = text.find(mark, begin, limit)
        return limit if end < 0 else end
    if mark[0] == "\\":
        ends = [text.find(mark, begin, limit), text.find("\n", begin, limit)]
        return min((end for end in ends if end >= 0), default=limit)
    at = begin
    while at < limit:
        character = text[at]
        if character == mark or character == "\n":
            return at
        at += 2 if character == "\\" else 1
    return limit


def _bare(text: str, start: int, at: int, name: str, flag: bool, rest: re.Match[str], language: str) -> Iterator[Span]:
    number = _NUMBER.match(text, at)
    if number is not None and language in (PYTHON, JSON):
        if names_secret(name) == SURE:
            yield number.span()
        return
    if language == PYTHON and not flag and not _in_words(text, start):
        return
    if language == YAML and not flag and rest["sign"] and ":" in rest["sign"] and _begins(text, start):
        yield from _yaml(text, start, at, name)
        return
    if language == SHELL:
        yield from _shell(text, at, name)
        return
    word = _WORD.match(text, at)
    if word is None:
        return
    value = word[0].rstrip(".:!?)")
    if not value or not is_secret(name, value) or text[word.end() : word.end() + 1] in ("(", "["):
        return
    # Of a line on its own nobody knows whether a bare word is a name of the program's, a word of a sentence, or the secret.
    sure = flag or (name.isupper() and bool(rest["sign"]))
    if (sure and not _CODE.match(value)) or _telling(value):
        yield word.start(), word.start() + len(value)


def _in_words(text: str, start: int) -> bool:
    """Within quotes of a program: a command line that it starts (`"WANDB_API_KEY=… python train.py"`), or a line of a notebook for the shell."""
    line = max(text.rfind("\n", max(0, start - 400), start) + 1, start - 400, 0)
    head = text[line:start]
    return head.lstrip()[:1] in ("!", "%") or head.count('"') % 2 == 1 or head.count("'") % 2 == 1


def _telling(value: str) -> bool:
    """Not what a name or an English word looks like."""
    if _CODE.match(value) or _TYPE.match(value):
        return False
    return any(c.isdigit() for c in value) and len(value) >= 4 and not value.replace("_", "").isalpha()


def _shell(text: str, at: int, name: str) -> Iterator[Span]:
    """A word of the shell may be quoted in parts: `abc"def"ghi`."""
    word = _SHELL_WORD.match(text, at)
    if word is None or (text[at] == "-" and text[at : at + 2] == "--"):
        return
    end = word.end()
    while end < len(text) and text[end] in "\"'" and end - at < 8192:
        end = min(_closing(text, end + 1, text[end]) + 1, len(text))
        more = _SHELL_WORD.match(text, end)
        end = more.end() if more else end
    value = text[at:end]
    if is_secret(name, int(value) if value.isdigit() and len(value) < 30 else value):
        yield at, end


_BEGINS = re.compile(r"""\n?[ \t]{0,200}(?:-[ \t]{1,20}){0,4}["']?\Z""")


def _begins(text: str, start: int) -> bool:
    """Is it a key of a block mapping, not a word of a sentence or of a flow mapping?"""
    line = max(text.rfind("\n", max(0, start - 300), start), start - 300, 0)
    return _BEGINS.match(text, line, start) is not None


def _yaml(text: str, start: int, at: int, name: str) -> Iterator[Span]:
    """The rest of the line; a block or a list below it."""
    line_start = text.rfind("\n", max(0, start - 400), start) + 1
    indent = start - line_start
    block = _BLOCK.match(text, at)
    if block is not None or at >= len(text) or text[at] in "\r\n" or "\n" in text[start:at]:
        yield from _below(text, block.end() if block else text.find("\n", start) + 1, indent, name, block is not None)
        return
    if text[at] in "*{[":
        return
    value = _YAML_REST.match(text, at)
    if value is not None:
        plain = value[0].strip()
        number = int(plain) if plain.isdigit() and len(plain) < 30 else plain
        if is_secret(name, number):
            yield at, at + len(value[0].rstrip())


def _below(text: str, at: int, indent: int, name: str, block: bool) -> Iterator[Span]:
    """The lines of a block scalar, or the items of a list, that belong to the key."""
    lines = 0
    while 0 < at < len(text) and lines < 500:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        body = line.strip()
        depth = len(line) - len(line.lstrip())
        item = _ITEM.match(line)
        if body and not (depth > indent or (not block and item is not None and depth >= indent)):
            return
        begin = item.end() if item is not None and not block else depth
        value = line[begin:].strip()
        if value and not block and (item is None or re.match(r"[\w.-]{1,80}:(?:\s|\Z)", value)):
            return
        value = value.strip("\"'")
        if value and is_secret(name, value):
            where = text.index(value, at)
            yield where, where + len(value)
        at, lines = end + 1, lines + 1
