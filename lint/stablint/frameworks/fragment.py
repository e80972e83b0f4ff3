"""What a dialect makes of one block of text: statements of facts, what absence means there, and the files it points to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as Table

from stablint.base import knowledge
from stablint.base.light import Any, NamedTuple, Pattern
from stablint.frameworks.codec import CODECS
from stablint.run.fact import HIDDEN, MAYBE_HIDDEN, Explicit, Place, Secret, Statement
from stablint.secrets.keys import conceal, may_be_none, names_secret
from stablint.syntax.limits import Limit
from stablint.syntax.tree import Call, Command, Document, Entry, Mapping, Node, Scalar, Sequence, Unknown


class Block(NamedTuple):
    """One group of keys and values: a whole YAML or JSON document, one Python call, the flags of one shell command."""

    document: Document
    kind: str  # document | call | flags
    name: str  # of the call or the command: "trl.SFTConfig", "torchrun"; "" for a document
    mapping: Mapping
    start: int  # where a finding about something absent is shown
    end: int
    number: int = 0  # of the call or the command in its document
    origin: Call | Command | None = None


class Link(NamedTuple):
    """Another file that this block makes part of the run."""

    role: str  # deepspeed | accelerate | fsdp | config | model | script | adapter | helper | constants
    path: str
    place: Place
    folder: str = ""  # from which the path counts, where a script has gone there
    reader: str = ""  # the command that reads it, where that says which keys it takes: "trl sft"


class Fragment(NamedTuple):
    dialect: str
    block: Block
    layer: str  # call | flags | file | deepspeed-file | accelerate-flags | accelerate-file | environment | model-file | adapter-file
    statements: tuple[Statement, ...]
    scopes: Table[str, str]  # namespace → closed | presumed | open
    classes: Table[str, tuple[str, ...]]  # namespace → config classes whose defaults hold, own class first
    links: tuple[Link, ...] = ()
    entry: bool = False  # does it make a run of its own
    framework: str = ""
    weak: bool = False  # says nothing of training itself: a run only if a file that it names does
    presumed: bool = False  # the caller may say otherwise
    edited: bool = False  # a program may change it before it hands it on, or say something else in its place
    pins: Table[str, str] = {}
    cut: tuple[Limit, ...] = ()  # what was not followed to its end


class Row(NamedTuple):
    """One entry of a dialect's table: `key` there is `fact` here; the codec reads and writes its words."""

    key: str
    fact: str
    codec: str = "plain"


def table(framework: str, part: str = "rows") -> dict[str, Row | tuple[Row, ...]]:
    """A table of a framework's keys as its record has it (`reads` in knowledge/frameworks)."""
    found: dict[str, Row | tuple[Row, ...]] = {}
    for key, facts in knowledge.load(f"reads/{framework}")[part].items():
        rows = tuple(Row(key, fact, codec) for fact, codec in facts)
        found[key] = rows[0] if len(rows) == 1 else rows
    return found


def listed(framework: str, part: str) -> frozenset[str]:
    """A list of keys there."""
    return frozenset(knowledge.load(f"reads/{framework}")[part])


NUMBERS = frozenset(["float", "int"])
"""Functions that make a number of a text."""


def plain_value(node: Node) -> Any:
    """A node as the value that the reading library gets."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain_value(item) for item in node.items]
    if isinstance(node, Mapping):
        if node.open:
            return Unknown("some of its keys come from elsewhere", there=True)
        return {entry.key: plain_value(entry.value) for entry in node.entries}
    word = node.name.rpartition(".")[2]
    asked = node.positional[0] if word == "get" and node.positional else None
    key = asked.value if isinstance(asked, Scalar) and isinstance(asked.value, str) else ""
    if (
        node.name in (*NUMBERS, "bool")
        and len(node.positional) == 1
        and isinstance(inner := plain_value(node.positional[0]), Unknown)
    ):
        key = inner.key
    return Unknown(f"the result of `{node.name}(…)`", there=word[:1].isupper() or node.name in _NEVER_NULL, key=key)


# By convention what begins with a capital is a class, whose call gives an object; these give a value of their type.
_NEVER_NULL = frozenset({
    "str", "int", "float", "bool", "list", "dict", "tuple", "set", "os.path.join", "os.path.abspath", "json.load", "json.loads",
})  # fmt: skip


Rows = Table[str, "Row | tuple[Row, ...]"]
Rename = Callable[[str], "Row | None"]


# Every key of every file comes through here. A named tuple is made without its Python frame, and its fields are taken by number:
# by name each costs twice as much.
_new = tuple.__new__


# Objects of an argument that hold settings and nothing else: what they are made with is read like a dictionary's keys.
_OF_SETTINGS = frozenset({
    "accelerate.ParallelismConfig", "accelerate.parallelism_config.ParallelismConfig", "accelerate.utils.ParallelismConfig",
})  # fmt: skip


def lower_mapping(block: Block, rows: Rows, layer: str, other: Rename, *, flags: bool = False) -> list[Statement]:
    """One statement a key, nested keys as dotted paths; `other` names the fact of a key that the table does not list.

    A key that decides several facts (`quantization_bit: 4`) has several rows.
    """
    found: list[Statement] = []
    document, number, reader = block.document, block.number, block.name if block.kind == "call" else ""
    pending: dict[tuple[str, ...], Mapping] = {(): block.mapping}
    while pending:
        above, mapping = pending.popitem()
        for entry in mapping.entries:
            key, node = entry[0], entry[3]
            if flags:
                key = key.replace("-", "_")
            path = (*above, key) if above else (key,)
            dotted = ".".join(path) if above else key
            row = rows.get(dotted) or other(dotted)
            if pending:  # of duplicate keys the last wins, with all that is below, be that nothing
                pending.pop(path, None)
            if type(node) is Mapping and node.entries:
                pending[path] = node
            elif type(node) is Call and node.name in _OF_SETTINGS and not node.local and not node.positional:
                pending[path] = node.arguments
            if type(row) is Row:
                found.append(_statement(document, layer, number, reader, entry, path, row))
            elif row is not None:
                found += [_statement(document, layer, number, reader, entry, path, one) for one in row]  # type: ignore[arg-type]
    return found


def statement(block: Block, entry: Entry, path: tuple[str, ...], row: Row, layer: str) -> Statement:
    """What one entry says of the row's fact."""
    reader = block.name if block.kind == "call" else ""
    return _statement(block.document, layer, block.number, reader, entry, path, row)


# What stands where a value is left out; `???` is OmegaConf's.
_HOLES = frozenset({"...", "…", "???"})


def _statement(
    document: Document, layer: str, number: int, reader: str, entry: Entry, path: tuple[str, ...], row: Row
) -> Statement:
    node: Any = entry[3]
    raw = node[0] if type(node) is Scalar else plain_value(node)
    kind = type(raw)
    if kind is str and raw in _HOLES:
        raw = Unknown("somebody fills it in")
    if kind is dict or kind is list or (kind is not bool and names_secret(path[-1])):
        concealed = conceal(path[-1], raw, HIDDEN)
        raw = MAYBE_HIDDEN if concealed is HIDDEN and may_be_none(raw, document.text.name, path[-1]) else concealed
    value = raw if isinstance(raw, Secret) else CODECS[row[2]](raw)
    start, end = (node[1], node[2]) if type(node) is Scalar else (node.start, node.end)
    place = _new(Place, (document, ".".join(path) if len(path) > 1 else entry[0], start, end, entry, path))
    return _new(Statement, (row[1], value, raw, _new(Explicit, (place, layer, number, reader, None))))


_last: tuple[Mapping | None, frozenset[str]] = None, frozenset()


def keys_of(mapping: Mapping) -> frozenset[str]:
    """The keys of a mapping. Recognising a document and lowering it ask for the same ones in turn."""
    global _last
    if _last[0] is not mapping:
        _last = mapping, frozenset([entry[0] for entry in mapping.entries])
    return _last[1]


# Names of programs and classes that tell of another objective than supervised fine-tuning.
PURPOSE = Pattern(
    r"(?<![a-z])(dpo|kto|orpo|simpo|cpo|ppo|grpo|rloo|rlhf|reward|rm|pretrain(?!ed)\w*|cpt|distil\w*|unlearn[a-z]*|forget[a-z]*|rerank[a-z]*|contrastive"
    r"|embedding[a-z]*|retriev[a-z]*|classif[a-z]*|ner)(?![a-z])"
)


def spelled(text: str) -> str:
    return text.replace("-", "_")


def last_word(name: str) -> str:
    return name.rpartition(".")[2]


def first(statements: Iterable[Statement], fact: str) -> Statement | None:
    return next((s for s in statements if s.fact == fact), None)


def override(word: Scalar) -> Entry | None:
    """`optimizer.lr=1e-4`, a word of a command, as a key with its value; edited in place where nothing is quoted."""
    text = word.value if isinstance(word.value, str) else ""
    key, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][\w.]*", key):
        return None
    start = word.start + len(key) + 1
    plain = word.end - word.start == len(text)
    form = "default" if word.form == "default" else "plain"
    return Entry(key, word.start, start - 1, Scalar(value, start, word.end, form, plain and word.editable))


_HALF_KNOWN = Pattern(r"[\"']?[+~]{0,2}([A-Za-z_][\w.]*)=")


def overrides(words: Iterable[Node], text: str) -> tuple[tuple[Entry, ...], bool]:
    """Words of a command as keys with their values, and whether one may be any of them: of `eval_dataset=$name` the key is known, of
    `$EXTRA` and `"$@"` nothing is. `text`: of the script, which the words stand in."""
    found: list[Entry] = []
    is_open = False
    for word in words:
        if not isinstance(word, Scalar):
            continue
        entry = override(word)
        if entry is None and isinstance(word.value, Unknown):
            half = _HALF_KNOWN.match(text, word.start, word.end)
            is_open = is_open or half is None
            if half is not None:
                value = Scalar(word.value, half.end(), word.end, "unknown", False)
                entry = Entry(half[1], half.start(1), half.end(1), value)
        if entry is not None:
            found.append(entry)
    return tuple(found), is_open


def hydra_words(command: Command, text: str) -> tuple[tuple[Entry, ...], bool]:
    """`key=value`, `+key=value` behind a program: Hydra's words, which are no flags; otherwise as `overrides`."""
    plain = (
        word._replace(value=word.value.lstrip("+~"), editable=False)
        if isinstance(word.value, str) and word.value[:1] in ("+", "~")
        else word
        for word in command.positionals
    )
    return overrides(plain, text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


_EXPONENT = Pattern(r"[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+\Z")
_YAML_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "": None}


def as_yaml(entry: Entry) -> Entry:
    """A word of a command as OmegaConf reads it, which takes each for YAML, with `1e-5` for a number and without the quotes that the shell left;
    other numbers are read where the fact wants one."""
    value = entry.value
    if not isinstance(value, Scalar) or not isinstance(value.value, str):
        return entry
    text = value.value
    if text in _YAML_WORDS:
        return entry._replace(value=value._replace(value=_YAML_WORDS[text]))
    if _EXPONENT.match(text):
        return entry._replace(value=value._replace(value=float(text)))
    if text[0] == "{" and not _is_json(text):
        return entry._replace(value=value._replace(value=Unknown("a dictionary in YAML's words")))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return entry._replace(value=value._replace(value=text[1:-1], editable=False))
    return entry
