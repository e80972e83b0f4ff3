"""Deny by default: of a user's source, which literals may be shown at all.

The rest of this package knows secrets by their key or their shape. A word under a name of the user's own has neither, so of a shown line a
literal stays only where it is a number, a truth value, a path, made of the libraries' words, or the value of a setting of theirs.
Names, punctuation and commands of a program are no literals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from stablint.base.knowledge import load
from stablint.base.light import Any, Pattern
from stablint.secrets.keys import looks_generated, names_secret
from stablint.secrets.languages import JSON, PYTHON, RECIPE, SHELL, TOML, YAML, language_of
from stablint.secrets.natural import hidden_in, holds_a_code, is_written_for_people, narrow

Span = tuple[int, int]
NOTEBOOK = "notebook"

_LONGEST = 1_500_000  # characters of a text that is read whole, as for secrets
_LONGEST_VALUE = 2_000  # characters of a value behind a key that are looked at
_WORD = Pattern(r"[^\W\d_]{3,}|[^\x00-\x7f\W\d_]+")  # of other scripts, whose words are short, each letter counts
_LONG_NUMBER = Pattern(r"(?<![\d.])(?![1-9]0*(?!\d))\d{5,}(?![\d.])")  # `80238113`, and not `100000` or `0.00001`
_PART = Pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")
_HOLES = Pattern(r"\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{[^{}\"']*\}|\$\w+|%\(\w+\)[sd]")
_PATH = Pattern(
    r"(?:\.{0,2}/|~/)[^\s@:]*\Z|[\w./-]+\.(?:jsonl?|ya?ml|py|sh|csv|parquet|txt|bin|pt|pth|safetensors|ipynb|toml|md|log|zst|gguf)\Z"
)
# What languages and shells say themselves, and settings of one plain word whose value is a name that everybody may see.
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "true false none null yes off the and for not inf nan auto default utf main train test eval name path type model dataset http https cuda cpu"
        " gpu bash env usr bin python sbatch srun torchrun accelerate deepspeed llamafactory swift axolotl launch run export conda activate nodes"
        " exclusive partition echo exit source huggingface",
    )
)
_PLAIN = frozenset([
    "model", "path", "type", "dataset", "datasets", "split", "template", "field", "optim", "optimizer", "scheduler", "project", "backend",
    "device", "stage", "method", "adapter", "component", "dir", "dtype", "file", "tokenizer", "strategy", "mode", "kind", "phase", "precision",
    "accelerator", "level", "arch",
])  # fmt: skip
_SAID = Pattern(r"#\s*(?:stablint|noqa|type|fmt|ruff|pylint|!|SBATCH|PBS|%%|-\*-)")


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The libraries' words, their settings, and the words in which this program speaks of them."""
    found = load("vocabulary")
    return (
        frozenset(found["words"].split()) | _COMMON,
        frozenset(found["settings"].split()) | _PLAIN,
        frozenset(found["prose"].split()),
    )


@lru_cache(maxsize=4_096)
def is_setting(key: str) -> bool:
    """Of the libraries, by its name alone, and one that names no secret."""
    name = key.strip("\"' ").lstrip("-").replace("-", "_").rpartition(".")[2].lower()
    if len(name) > 100 or names_secret(name):
        return False
    return name in _vocabulary()[1] or name.strip("_").rpartition("_")[2] in _PLAIN or name.startswith(_environment())


@lru_cache(maxsize=1)
def _environment() -> tuple[str, ...]:
    """What variables of the environment begin with that everybody may see."""
    found: str = load("vocabulary")["environment"]
    return tuple(found.split())


_CREDENTIALS = Pattern(r":[^/@:]{1,200}@")  # `ada:word@host`
_WITHIN = Pattern(r"([\w-]{1,80})\s?[=:]\s?[^\s=:/]")  # `token=word` as one of several arguments in a text


def _is_value(key: str, literal: str) -> bool:
    """Whether it is what a setting of the libraries says, and no credentials."""
    if not is_setting(key) or _CREDENTIALS.search(literal) or _is_out_of_place(key, literal):
        return False
    if "=" not in literal and ":" not in literal:
        return True
    return not any(names_secret(found[1]) for found in _WITHIN.finditer(literal[:_LONGEST_VALUE]))


@lru_cache(maxsize=1)
def _closed() -> dict[str, str]:
    found: dict[str, str] = load("vocabulary")["closed"]
    return found


def _is_out_of_place(key: str, literal: str) -> bool:
    """Whether a setting that takes numbers, truth values or words of a list says something else: no word of the libraries, and no slip of the
    keyboard in one that it takes. A word that was meant for another line may be a secret."""
    name = key.strip("\"' ").lstrip("-").replace("-", "_").rpartition(".")[2].lower()
    taken = _closed().get(name)
    if taken is None or is_said(literal[:_LONGEST_VALUE]):
        return False
    known = {*taken.split(), *_WORD.findall(taken), "true", "false", "none", "null", "yes", "auto"}
    words, _, _ = _vocabulary()
    said = _HOLES.sub(" ", literal[:_LONGEST_VALUE])
    return any(
        word.lower() not in words and not any(_is_near(word.lower(), one) for one in known)
        for word in _WORD.findall(said)
    )


def _is_near(word: str, other: str) -> bool:
    """Whether all but two letters in one place are the same."""
    least = max(len(word), len(other)) - 2
    if abs(len(word) - len(other)) > 2:
        return False
    alike = 0
    for one, two in zip(word, other, strict=False):
        if one != two:
            break
        alike += 1
    for one, two in zip(reversed(word[alike:]), reversed(other[alike:]), strict=False):
        if one != two:
            break
        alike += 1
    return alike >= least


def may_be_shown(key: str, literal: str) -> bool:
    """Whether a literal may be shown behind a key: a setting's value; behind a key of the user's own a number, a path, or what every language says."""
    said = _unquoted(literal.strip())
    if key.rpartition(".")[2].lstrip("-") in ("include", "exclude") and _SLOTS.fullmatch(said):
        return True
    if is_setting(key):
        return _is_value(key, literal)
    if "/" in key and said.isdecimal():  # how much is taken of a data set on the hub: no name of a secret has a slash
        return True
    if names_secret(key.strip("\"' ").lstrip("-")):
        return _is_plain(literal)
    return _is_plain(literal) or said in _choices() or _are_words(_LISTED.findall(said) if _LIST.match(said) else [])


# Hosts and their cards, as DeepSpeed's launcher has them: `localhost:0,1@worker-2:0`. No key is as short.
_HOST = r"(?:localhost|(?:worker|node|host|gpu)[-_]?\d{0,4})(?::\d{1,2}(?:,\d{1,2})*)?"
_SLOTS = Pattern(rf"{_HOST}(?:@{_HOST})*")
_ITEM = r"""["']?[A-Za-z_]{2,30}["']?"""
_LIST = Pattern(rf"[\[(]\s*{_ITEM}(?:(?:\s*,\s*|\s+){_ITEM})*\s*(?:,\s*)?[\])]\Z")
_LISTED = Pattern(r"[A-Za-z_]+")


def _are_words(listed: list[str]) -> bool:
    """Whether there are several, each of which the libraries say as well: `[model,optimizer,extra]` is nobody's secret."""
    return len(listed) > 1 and all(_LISTED.fullmatch(one) and is_said(one) for one in listed)


@lru_cache(maxsize=1)
def _choices() -> frozenset[str]:
    """Words of the libraries' lists and enumerations as these spell them, `adamw_torch_fused`: they tell nothing, whatever they stand behind."""
    return frozenset(word for words in _closed().values() for word in words.split())


def _is_plain(literal: str) -> bool:
    text = narrow(_HOLES.sub(" ", literal[:_LONGEST_VALUE])).strip()
    if _PATH.match(_unquoted(text)):
        return True
    return not _LONG_NUMBER.search(text) and all(word.lower() in _COMMON for word in _WORD.findall(text))


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def is_said(literal: str, *, prose: bool = False) -> bool:
    """Whether everybody may see it: no word in it but the libraries', or a path. `prose`: plain words of the subject as well."""
    text = _HOLES.sub(" ", literal).strip()
    if _PATH.match(text):
        return True
    words, _, plain = _vocabulary()
    return all(
        word.lower() in words or (prose and word.lower() in plain) or _made_of(word, words)
        for word in _WORD.findall(text)
    )


_ACRONYM = Pattern(r"(?<![A-Za-z0-9_\u00c0-\u024f])[A-Z]{3,4}(?![A-Za-z0-9_\u00c0-\u024f])")  # `HSV`


def is_for_people(literal: str) -> bool:
    """Of a comment, or of what a program says to its user: plain words of the subject, or sentences in another language."""
    said = _ACRONYM.sub(" ", literal)
    if is_said(said, prose=True):
        return not holds_a_code(said, _is_known)
    return not holds_a_code(said, _is_known) and is_written_for_people(_HOLES.sub(" ", said), _is_known)


def hidden_of(text: str, start: int, end: int) -> Iterator[Span]:
    """Of a text for people, what may not be shown of it."""
    if not is_for_people(text[start:end]):
        yield from ((start + one, start + other) for one, other in hidden_in(text[start:end], _is_known))


def _is_known(word: str) -> bool:
    words, _, plain = _vocabulary()
    return word.lower() in words or word.lower() in plain or _made_of(word, words)


def is_no_secret(word: str, near: Iterable[str] = ()) -> bool:
    """Of a word that stands where no secret belongs: it is made of the libraries' words and does not look generated, or is a slip in one of those `near`."""
    small = word.lower()
    if any(_is_near(small, one.lower()) for one in near):
        return True
    return is_said(word, prose=True) and not looks_generated(word) and not _LONG_NUMBER.search(word)


# What stablint read off a program's structure and a launcher's own words: names of classes and commands, nothing behind a key.
_STRUCTURE = frozenset(
    [
        "launch.command", "launch.loop", "launch.launcher", "launch.own_trainer", "launch.trainer_methods", "launch.shows.model_class",
        "launch.phase", "launch.purpose", "launch.goal", "data.collator", "launch.shows.collator", "trainer.args", "trainer.data_collator",
        "launch.shows.evaluates_apart", "launch.shows.pads_unsaid", "launch.shows.loop_order",
        "launch.shows.collator_without_labels", "launch.shows.model_made_by", "launch.alone.save_state", "target.gpu.vendor",
        "launch.optimizer.made", "launch.file_given", "launch.beside_file.flag", "launch.beside_file.override",
    ]
)  # fmt: skip


# Of a table of data sets: how they are called, where each is, and what its columns are.
_OF_TABLES = ("data.info.",)


def stated_without_words(fact: str, setting: str, value: Any, hidden: Any) -> Any:
    """The same of what a fact states where its setting is called so."""
    if fact in _STRUCTURE or fact.startswith(_OF_TABLES):
        return value
    return without_words(setting if is_setting(setting) else fact, value, hidden)


def without_words(key: str, value: Any, hidden: Any) -> Any:
    """A value with `hidden` in the place of every text in it that may not be shown behind its key."""
    if isinstance(value, str) or type(value) is int:
        return value if may_be_shown(key, str(value)) else hidden
    if isinstance(value, list):
        if all(isinstance(one, str) for one in value) and _are_words(value) and not names_secret(key):
            return value
        return [without_words(key, one, hidden) for one in value]
    if isinstance(value, dict):
        if value and all(one is None for one in value.values()):  # a set: its keys are what it holds
            return value if all(may_be_shown(key, str(name)) for name in value) else hidden
        return {name: without_words(name if isinstance(name, str) else key, one, hidden) for name, one in value.items()}
    return value


def _made_of(word: str, words: frozenset[str]) -> bool:
    """`LlamaForCausalLM`: a name in parts, each of which is one of the words."""
    parts = [part.lower() for part in _PART.findall(word)]
    return word.isascii() and len(parts) > 1 and all(len(part) < 3 or part in words for part in parts)


@lru_cache(maxsize=16)
def veiled(text: str, language: str) -> str:
    """The text with stars in the place of literals that are not to be shown, character for character."""
    if len(text) > _LONGEST:
        return text
    return _starred(text, _READERS.get(language, _plain)(text))


def veiled_line(text: str, start: int, end: int, language: str) -> str:
    """A line as it is shown. Of YAML no more is read than what stands below the same outermost key."""
    if language != YAML:
        return veiled(text, language)[start:end]
    above = start
    while above and not (text[above : above + 1].isalpha() and _begins(text, above)):
        above = text.rfind("\n", 0, above - 1) + 1
    return veiled(text[above:end], language)[start - above :]


def _begins(text: str, at: int) -> bool:
    pair = _PAIR.match(text[at : text.find("\n", at)])
    return pair is not None and pair[2] is not None


def veiled_lines(text: str, path: str) -> frozenset[str]:
    before, after = (
        text.split("\n"),
        veiled(text, NOTEBOOK if path.endswith(".ipynb") else language_of(path)).split("\n"),
    )
    return frozenset(line for line, shown in zip(before, after, strict=True) if line != shown)


def _starred(text: str, spans: Iterator[Span]) -> str:
    parts, at = [], 0
    for start, end in spans:
        if start < at:
            continue
        parts += [text[at:start], re.sub(r"[^\s]", "*", text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


_PYTHON = Pattern(
    r"(?P<comment>#[^\n]*)|(?P<prefix>\b[rbfuRBFU]{1,2})?(?P<mark>\"\"\"|'''|\"|')(?P<body>(?:\\.|(?!(?P=mark))(?:[^\\\n]|\n))*)(?:(?P=mark)|\\?\Z)",
    re.DOTALL,
)
_KEY_BEFORE = Pattern(
    r"(?<!\w)([A-Za-z_]\w{0,80})[\"']?\]?\s*(?::\s*[\w\[\]| .]{1,40}=|[=!]?=|:)\s*(?:[A-Za-z_][\w.]*\(\s*)?(?:[\[({]+\s*)?"
    r"(?:[rbfu]{0,2}[\"'][^\"'\n]*[\"']\s*,\s*)*\Z"
)
_CALL_BEFORE = Pattern(r"(?<!\w)([A-Za-z_]\w{0,80})\(\s{0,80}\Z")
_INDEX = Pattern(r"[\w\])]\[\s*\Z")
_BEFORE_KEY = Pattern(r"(?:\A|[{,(\[|])[\s\\]*(?:[\"']{3})?\Z")  # what stands before a key of a dict, in its line
_NEAR = 240  # characters before a literal in which its name is looked for


# What is said to people: by a call, or behind a key.
_TELLS = Pattern(
    r"(?:(?<![\w.])(?:print|echo|warn|input)|(?<!\w)(?:logger|logging|log|warnings|console|tqdm|st|rprint)\.\w{1,20}|[A-Z]\w{0,60}(?:Error|Exception|Warning))\(\s{0,80}\Z"
)
_FOR_PEOPLE = frozenset(
    ["comment", "desc", "description", "doc", "epilog", "help", "message", "msg", "note", "notes", "remark", "title"]
)


def _is_told(key: str, literal: str) -> bool:
    return key.strip("\"' ").lower() in _FOR_PEOPLE and is_for_people(literal)


def _python(text: str) -> Iterator[Span]:
    for found in _PYTHON.finditer(text):
        if found["comment"]:
            yield from _comment(text, *found.span())
            continue
        start, end = found.span("body")
        line = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _NEAR)
        before, behind = text[line : found.start()], text[found.end() : found.end() + 2].lstrip()[:1]
        if (behind == ":" and not found["prefix"] and _BEFORE_KEY.search(before)) or _INDEX.search(before):
            continue  # a key, and not the end of a condition: `if name == "…":`
        named, called = _KEY_BEFORE.search(before), _CALL_BEFORE.search(before)
        if called and _is_value(called[1], found["body"]):
            continue
        of_text = len(found["mark"]) == 3 and not found["prefix"] and not before.strip()  # that of a function, mostly
        if of_text or _TELLS.search(before):
            yield from hidden_of(text, start, end)
            continue
        if not (_may(named[1], found["body"]) if named else is_said(found["body"])):
            yield start, end


def _may(key: str, literal: str) -> bool:
    return (may_be_shown(key, literal) or _is_told(key, literal)) if key else is_said(literal)


def _comment(text: str, start: int, end: int) -> Iterator[Span]:
    if not _SAID.match(text, start):
        yield from hidden_of(text, start + 1, end)


_STRING = Pattern(r'"((?:[^"\\]|\\.)*)(?:"(\s*:)?|\\?\Z)', re.DOTALL)  # one that is never closed is read once


def _json(text: str) -> Iterator[Span]:
    key = ""
    for found in _STRING.finditer(text):
        if found[2]:
            key = found[1]
        elif not _may(key, found[1]):
            yield found.span(1)


_PAIR = Pattern(
    r"(\s*(?:-\s+)*)(?:(\"[^\"]*\"|'[^']*'|[^\s#\"'{\[\-][^:#]*?|-[^\s:#]*)\s*:(?=\s|\Z))?\s*(.*)\Z", re.DOTALL
)
_TOKEN = Pattern(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^\s,{}\[\]:\"']+(?:(?: +|[:/@])[^\s,{}\[\]:\"']+)*|:(?=\s)|,")
_BEHIND = Pattern(r"(?:^|\s)#")


def _yaml(text: str) -> Iterator[Span]:
    at, keys = 0, list[tuple[int, str]]()
    for line in text.splitlines(keepends=True):
        end = len(line.rstrip("\r\n"))
        mark = _BEHIND.search(line[:end])
        if mark:
            hash_at = mark.end() - 1
            yield_comment = list(_comment(text, at + hash_at, at + end))
            end = hash_at
        else:
            yield_comment = []
        pair = _PAIR.match(line[:end])
        if pair is not None and line[:end].strip():
            indent, key = len(pair[1]), pair[2]
            if key is not None:
                keys = [one for one in keys if one[0] < indent] + [(indent, key)]
            else:
                keys = [one for one in keys if one[0] < indent or (one[0] <= indent and not pair[1].strip())]
            yield from _values(text, at + pair.start(3), at + end, keys[-1][1] if keys else "")
        yield from yield_comment
        at += len(line)


def _values(text: str, start: int, end: int, key: str) -> Iterator[Span]:
    """Scalars of a value, a flow collection included, each by the key next before it."""
    value = text[start:end]
    if value[:1] not in "{[":
        if _may(key, value):
            return
        if " --" in value:  # a command
            yield from ((start + one, start + other) for one, other in _shell(value))
        else:
            yield start, end
        return
    tokens = list(_TOKEN.finditer(text, start, end))
    for number, token in enumerate(tokens):
        word = token[0]
        if word in ",:":
            continue
        if number + 1 < len(tokens) and tokens[number + 1][0] == ":":
            key = word
        elif not _may(key, word):
            yield token.span()


_SHELL = Pattern(
    r"(?P<comment>(?<![^\s;])#[^\n]*)|(?P<break>\n|;|\|\|?|&&?|\$?\(|\))"
    r"|(?P<word>(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\s;|&()\"'\\])+)",
    re.DOTALL,
)
_ASSIGNED = Pattern(r"([A-Za-z_]\w*)\+?=")
# A setting of Hydra's, `trainer.nnodes=1`, and the module that `python -m` runs: names, as a flag and a program are.
_OVERRIDE = Pattern(r"(?:\+\+?|~)?([a-z_][a-z0-9_]{0,40}(?:\.[a-z_][a-z0-9_]{0,40}){1,9})=")
_MODULE = Pattern(r"[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40}){0,9}\Z")
_FLAG = Pattern(r"--?[A-Za-z][\w.-]*")
_ECHO = frozenset(("echo", "printf"))
_HANDS_ON = Pattern(r"[^\n;&|<>]*(?:\||<|>(?!&2))")  # to the end of this command: a line may have thousands of them


def _shell(text: str) -> Iterator[Span]:
    flag, first, echoes = "", True, False
    for found in _SHELL.finditer(text):
        if found["comment"]:
            yield from _comment(text, *found.span())
            continue
        if found["break"]:
            first, flag, echoes = True, "", False
            continue
        word, start, end = found["word"], *found.span()
        if word.strip("\\\n") == "":
            continue  # a continued line
        assigned = _ASSIGNED.match(word) or _OVERRIDE.match(word) if not word.startswith("-") else None
        if assigned and looks_generated(assigned[1]):
            assigned = None
        option = _FLAG.match(word)
        if assigned:
            if not may_be_shown(assigned[1], word[assigned.end() :]):
                yield start + assigned.end(), end
            continue
        if option:
            flag = option[0]
            rest = word[option.end() :].removeprefix("=")
            if rest and not may_be_shown(flag, rest):
                yield end - len(rest), end
            flag = "" if rest else flag
            first = False
            continue
        if word[0] in "\"'" and " --" in word:  # a command in a text
            yield from ((start + 1 + one, start + 1 + other) for one, other in _shell(word[1:-1]))
        elif flag == "-m" and _MODULE.match(word) and not looks_generated(word):
            flag = ""
        elif first:
            echoes = word in _ECHO and _HANDS_ON.match(text, end) is None
        elif not (echoes and is_for_people(word)) and not _may(flag, word.strip("\"'")):
            yield start, end
        first = False


def _notebook(text: str) -> Iterator[Span]:
    """A line is a string of JSON; what it holds is read as a program's."""
    at = 0
    for line in text.splitlines(keepends=True):
        found = _STRING.search(line)
        if found and not found[2]:
            try:
                inner = json.loads(found[0])
            except ValueError:
                inner = found[1]
            reader = _shell if inner.lstrip()[:1] in ("!", "%") else _python
            if any(True for _ in reader(inner.lstrip(" \t!%"))):
                yield at + found.start(1), at + found.end(1)
        elif found:
            rest = line[found.end() :].strip().strip(",")
            if rest.startswith('"') and not is_said(rest):
                yield at + found.end(), at + len(line.rstrip("\r\n,"))
        at += len(line)


_PUNCTUATION = Pattern(r"(?m)^[ \t]{0,8}[@-]{1,2}(?=[^-])|[\[\],](?=[ \t\n\"'])|(?<=[ \t\"'])[\[\]]|[\"'](?=--)")


def _recipe(text: str) -> Iterator[Span]:
    """As the shell's, whose words may stand in a list: `CMD ["torchrun", "--fp16"]`."""
    return _shell(_PUNCTUATION.sub(lambda found: " " * len(found[0]), text))


def _plain(text: str) -> Iterator[Span]:
    return iter(())


_READERS = {
    PYTHON: _python, JSON: _json, YAML: _yaml, SHELL: _shell, NOTEBOOK: _notebook, TOML: _python, RECIPE: _recipe,
}  # fmt: skip
