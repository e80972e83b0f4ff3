"""Frameworks whose files are maps of keys, each of them a fact or several: their record says which (`files` in knowledge/frameworks), and no code.

`module_of` gives every framework's reader: its own module, or what stands here for its record. Both have `ROWS`, `recognise`, `lower`, `lower_flags`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module

from stablint.base.light import Any
from stablint.frameworks import huggingface
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs that records name
from stablint.frameworks.codec import CODECS, WRITERS, Unwritable
from stablint.frameworks.fragment import (
    Block,
    Fragment,
    Link,
    Row,
    as_yaml,
    lower_mapping,
    override,
    overrides,
    spelled,
    statement,
)
from stablint.run.fact import CLOSED, OPEN, Place, Statement
from stablint.run.framework import framework
from stablint.syntax.tree import Command, Mapping, Scalar, Unknown


@cache
def module_of(name: str) -> Any:
    """The reader of a framework's files and flags, loaded where a text may be its own."""
    return (
        Keyed(name)
        if framework(name).files is not None
        else import_module(f"stablint.frameworks.{framework(name).module}")
    )


class Keyed:
    """The reader of one framework, by its record."""

    def __init__(self, name: str) -> None:
        files = framework(name).files
        assert files is not None
        self.name, self.files = name, files
        self.ROWS = _rows(name, files.keys)
        self._with_flags = {**self.ROWS, **_rows(name, files.flags)}

    def recognise(self, keys: frozenset[str], block: Block) -> int:
        """All sections that tell its files, and one of those beside them."""
        sections = (block.mapping.get(key) for key in self.files.told_by)
        return _SURE if not keys.isdisjoint(self.files.beside) and all(type(one) is Mapping for one in sections) else 0

    def lower(self, block: Block, layer: str = "file", command: str = "") -> Fragment:
        statements = (*self._stated(block, self.ROWS, layer), *self._sections(block, layer))
        state = OPEN if block.mapping.open else CLOSED
        lora = any(one.fact == "training.finetuning_type" and one.value == "lora" for one in statements)
        quantised = any(one.fact.startswith("quantization.") for one in statements)
        classes = {
            key: (f"{self.name}.{key}",) for key, there in (("lora", lora), ("quantization", quantised)) if there
        }
        scopes = dict.fromkeys(_SCOPES, OPEN) | dict.fromkeys(self.files.closed, state)
        links = huggingface.links(statements)
        return Fragment(self.name, block, layer, statements, scopes, classes, links, entry=True, framework=self.name)

    def lower_flags(self, block: Block, layer: str = "flags", command: str = "") -> Fragment:
        """The file stands behind the command or its flag; dotted flags and `key=value` say its keys anew."""
        words = [one for one in self._words(block) if isinstance(one.value, str)]
        named = next((one for one in words if str(one.value).endswith((".yaml", ".yml"))), None)
        if named is not None and (pair := override(named)) is not None:
            named = pair.value if pair.key in self.files.file_flags and isinstance(pair.value, Scalar) else None
            words = [one for one in words if override(one) != pair]
        entries, more = overrides([one for one in words if one is not named], block.document.text.text)
        mapping = block.mapping._replace(
            entries=(*block.mapping.entries, *map(as_yaml, entries)), open=block.mapping.open or more
        )
        over = block._replace(mapping=mapping)
        statements = tuple(self._stated(over, self._with_flags, layer, flags=True))
        links = list(huggingface.links(statements))
        if named is not None:
            links.append(Link("config", str(named.value), Place(block.document, "config", named.start, named.end)))
        return Fragment(
            self.name, over, layer, statements, {"training": OPEN}, {}, tuple(links), entry=True, framework=self.name
        )

    def entry(self, words: tuple[str, ...]) -> str:
        """The module that reads its file, where a command starts it."""
        return next((word for word in words if word in self.files.modules), "")

    def _stated(self, block: Block, rows: dict[str, Any], layer: str, flags: bool = False) -> Iterator[Statement]:
        """What its keys mean; and each as it stands, where checks of its own are told by that."""
        yield from lower_mapping(block, rows, layer, _no_other, flags=flags)
        if self.files.rest:
            yield from lower_mapping(block, {}, layer, lambda key: Row(key, f"{self.files.rest}.{key}"), flags=flags)

    def _words(self, block: Block) -> Iterator[Scalar]:
        yield from (
            one.value
            for one in block.mapping.entries
            if spelled(one.key) in self.files.file_flags and isinstance(one.value, Scalar)
        )
        if isinstance(block.origin, Command):
            yield from block.origin.positionals

    def _sections(self, block: Block, layer: str) -> Iterator[Statement]:
        for entry in block.mapping.entries:
            there = not isinstance(entry.value, Scalar) or entry.value.value is not None
            for fact, value in self.files.sections.get(entry.key, {}).items() if there else ():
                yield statement(block, entry, (entry.key,), Row(entry.key, fact, "plain"), layer)._replace(value=value)


_SURE = 95
_SCOPES = (
    "training", "lora", "quantization", "model", "deepspeed", "accelerate", "fsdp", "data", "trainer", "tokenizer",
)  # fmt: skip


def _no_other(key: str) -> None:
    return None


def _rows(name: str, keys: dict[str, list[dict[str, Any]]]) -> dict[str, Row | tuple[Row, ...]]:
    found: dict[str, Row | tuple[Row, ...]] = {}
    for key, facts in keys.items():
        rows = tuple(Row(key, one["fact"], _codec(name, key, one)) for one in facts)
        found[key] = rows[0] if len(rows) == 1 else rows
    return found


def _codec(name: str, key: str, said: dict[str, Any]) -> str:
    """The codec that a record names, or one of the words that it lists."""
    if "words" not in said:
        return str(said.get("as", "plain"))
    codec = f"{name} {key} {said['fact']}"
    _register(codec, said["words"])
    return codec


def _register(codec: str, words: Sequence[Sequence[Any]]) -> None:
    """A dotted path is told by its last word; what is none of the words is unknown, and not written."""

    def read(raw: Any) -> Any:
        if type(raw) is Unknown:
            return raw
        last = raw.rpartition(".")[2] if isinstance(raw, str) else raw
        return next(
            (means for word, means in words if word == last and type(word) is type(last)),
            Unknown("it is a word of its own"),
        )

    def write(value: Any, old: Any) -> Any:
        found = [word for word, means in words if means == value and type(means) is type(value)]
        if not found:
            raise Unwritable(f"no word means `{value}`")
        return found[0]

    CODECS[codec], WRITERS[codec] = read, write
