"""Live config objects → the fragments that the Python calls which built them would have given. Everything behind that is the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from stablint.assemble.asked import Live
from stablint.frameworks import deepspeed as deepspeed_json
from stablint.frameworks import peft
from stablint.frameworks.fragment import Block, Fragment, Row
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import parts as python_parts
from stablint.frameworks.programs import reader as python
from stablint.integrate.model import Described
from stablint.integrate.values import Field, fields, plain, signature_fields
from stablint.run.fact import CLOSED, LIVE, PRESUMED, Default, Explicit, Fact, Statement, Supplied
from stablint.run.framework import UNSLOTH
from stablint.secrets.keys import is_secret
from stablint.syntax.tree import Call, Document, Entry, Mapping, Module, Node, Notes, Scalar, Sequence, Text

NAME = "live objects"


class NotAConfig(TypeError):
    """An object that is none of the configs that the parameter takes."""


class _Paper:
    """Numbers the values: every one needs a place of its own, though there is no text."""

    def __init__(self) -> None:
        self.last = 0

    def node(self, value: Any) -> Node:
        self.last += 1
        at = self.last
        if isinstance(value, dict):
            return self.mapping(value)
        if isinstance(value, list):
            return Sequence(tuple(self.node(child) for child in value), at, at, False)
        return Scalar(value, at, at, "plain", False)

    def mapping(self, values: dict[str, Any]) -> Mapping:
        at = self.last
        return Mapping(tuple(self.entry(key, value) for key, value in values.items()), at, at, False, False)

    def entry(self, key: str, value: Any) -> Entry:
        node = self.node(value)
        return Entry(key, node.start, node.start, node)

    def call(self, name: str, values: dict[str, Any]) -> Call:
        self.last += 1
        at = self.last
        return Call(name, self.mapping(values), (), at, at, at, at)


def live(
    *, training_args: Any = None, model: Described | None = None, peft_config: Any = None, quantization_config: Any = None,
    deepspeed: dict[str, Any] | None = None, tokenizer: Any = None, folder: str = "", complete: bool = False, alone: bool = False,
) -> Live | None:  # fmt: skip
    """Raises NotAConfig. `folder` is where relative paths begin; `complete` says that no other object will join (a
    built trainer), `alone` that no file does."""
    paper, calls, facts = _Paper(), list[tuple[str, Call]](), list[Fact]()
    if training_args is not None:
        name, found = _arguments(training_args)
        if deepspeed is not None and not any(field.name == "deepspeed" and field.chosen for field in found):
            found, deepspeed = [*found, Field("deepspeed", deepspeed, True)], None
        calls.append(("training_args", paper.call(name, _chosen(found))))
        facts += _left_out(found, name)
        facts += _process(found, alone and deepspeed is None)
    if peft_config is not None:
        name, found = _adapter(peft_config)
        calls.append(("peft_config", paper.call(name, _chosen(found))))
        facts += _left_out(found, name)
    if quantization_config is not None:
        name, found = _quantiser(quantization_config)
        calls.append(("quantization_config", paper.call(name, _chosen(found))))
        facts += _left_out(found, name)
    if model is not None:
        calls.append(("model", paper.call("transformers.AutoModelForCausalLM.from_pretrained", model.asked)))
        facts += [Fact(name, value, Supplied("model")) for name, value in model.nature.items()]
    if tokenizer is not None:
        facts += _tokenizer(tokenizer)
    if not calls and deepspeed is None:
        return None
    text = Text(os.path.join(folder, NAME), NAME, "")
    document = Document(text, LIVE, 0, Module(tuple(call for _, call in calls), Mapping((), 0, 0), Notes()))
    found_fragments = list(python.lower(document))
    fragments = [_named(f, word) for f in found_fragments for word, call in calls if f.block.origin is call]
    if deepspeed is not None:
        fragments.append(_deepspeed(document, deepspeed, paper))
    known_model = model is not None
    scopes = {
        "lora": CLOSED if peft_config is not None or complete or (model is not None and model.loaded) else PRESUMED,
        "quantization": CLOSED if quantization_config is not None or known_model or complete else PRESUMED,
        "model": CLOSED if known_model else PRESUMED,
    }
    if UNSLOTH in sys.modules:  # it has patched the others
        fragments = [f._replace(framework=UNSLOTH) if f.entry else f for f in fragments]
    return Live(
        tuple(f._replace(scopes={**f.scopes, **{k: v for k, v in scopes.items() if k in f.scopes}}) for f in fragments),
        tuple(facts),
    )


def _process(found: Iterable[Field], alone: bool) -> Iterator[Fact]:
    """What the process itself says, as launchers told it: accelerate's switches (accelerate 1.15.0 state.py) and torchrun's WORLD_SIZE."""
    given = {field.name for field in found if field.value not in (None, "", [], False)}
    for part in ("deepspeed", "fsdp") if alone else ():
        variable = f"ACCELERATE_USE_{part.upper()}"
        if part not in given:
            switched = os.environ.get(variable, "").lower() in ("true", "1", "yes")
            yield Fact(f"derived.{part}", switched, Supplied(f"training_args and {variable}"))
    size = os.environ.get("WORLD_SIZE", "")
    if size.isdigit():
        yield Fact("derived.world_size", int(size), Supplied("WORLD_SIZE"))


def _chosen(found: Iterable[Field]) -> dict[str, Any]:
    """Without secrets: in memory they stand for nothing that anybody could read in a file."""
    return {field.name: field.value for field in found if field.chosen and not is_secret(field.name, field.value)}


def _left_out(found: Iterable[Field], owner: str) -> Iterator[Fact]:
    """The fields that hold what the class gives by itself: known, but stated by nobody."""
    library, _, name = owner.partition(".")
    for row in found:
        if row.chosen or row.value is None:
            continue
        for fact in _facts_of(row.name, name):
            yield Fact(fact, row.value, Default(library, row.name, ""))


def _facts_of(key: str, owner: str) -> Iterator[str]:
    if owner in python_kinds.ARGUMENTS:
        row = python_parts.ARGUMENT_ROWS.get(key) or python_parts.argument_row(key)
        yield from (one.fact for one in ((row,) if isinstance(row, Row) else row or ()))
    else:
        yield ("quantization." if owner in python_kinds.QUANTISERS else "lora.") + key


def _arguments(config: Any) -> tuple[str, list[Field]]:
    """The config class that stablint knows, of the object or of a class that it extends; fields of a subclass of one's own are not its."""
    for base in type(config).__mro__:
        if (
            base.__name__ in python_kinds.ARGUMENTS
            and not python_kinds.encoder(base.__name__)  # what it adds to transformers' is not known
            and hasattr(base, "__dataclass_fields__")
        ):
            own = base.__dataclass_fields__
            return python_kinds.ARGUMENTS[base.__name__], [field for field in fields(config) if field.name in own]
    raise NotAConfig(f"training_args: {type(config).__name__} is neither TrainingArguments nor a TRL config")


def _adapter(config: Any) -> tuple[str, list[Field]]:
    if isinstance(config, dict) and len(config) == 1:  # model.peft_config of a PeftModel: adapter name → config
        config = next(iter(config.values()))
    for base in type(config).__mro__:
        if base.__name__ in peft.TYPES and hasattr(base, "__dataclass_fields__"):
            return f"peft.{base.__name__}", [field for field in fields(config) if field.name not in _OWN_WORDS]
    raise NotAConfig(f"peft_config: {type(config).__name__} is no PEFT config")


# What PEFT writes into a config by itself: its kind, where it came from.
_OWN_WORDS = frozenset(
    {"peft_type", "peft_version", "auto_mapping", "base_model_name_or_path", "revision", "runtime_config"}
)


def _quantiser(config: Any) -> tuple[str, list[Field]]:
    if isinstance(config, dict):
        kinds = {method: name for name, method in python_kinds.QUANTISERS.items()}
        name = kinds.get(str(plain(config.get("quant_method", "bitsandbytes"))), "BitsAndBytesConfig")
        words = {
            key: plain(value) for key, value in config.items() if not key.startswith("_") and key != "quant_method"
        }
        return f"transformers.{name}", [Field(key, value, value not in (None, False)) for key, value in words.items()]
    for base in type(config).__mro__:
        if base.__name__ in python_kinds.QUANTISERS:
            return f"transformers.{base.__name__}", list(signature_fields(config))
    raise NotAConfig(f"quantization_config: {type(config).__name__} is no quantisation config")


def _tokenizer(tokenizer: Any) -> Iterator[Fact]:
    for name in ("pad_token", "eos_token", "padding_side", "model_max_length"):
        value = plain(getattr(tokenizer, name, None))
        if isinstance(value, (str, int)):
            yield Fact(f"tokenizer.{name}", value, Supplied("tokenizer"))


def _deepspeed(document: Document, config: dict[str, Any], paper: _Paper) -> Fragment:
    block = Block(document, "call", "deepspeed", paper.mapping(plain(config)), paper.last, paper.last, 99)
    return _named(deepspeed_json.lower(block), "deepspeed")


def _named(fragment: Fragment, word: str) -> Fragment:
    """Settings are told as they are asked of the object: `training_args.learning_rate`."""
    return fragment._replace(statements=tuple(_at(statement, word) for statement in fragment.statements))


def _at(statement: Statement, word: str) -> Statement:
    origin = statement.origin
    if not isinstance(origin, Explicit):
        return statement
    place = origin.place
    by_name = place.entry is not None and isinstance(place.entry.value, Scalar) and place.entry.value.form == "name"
    setting = word if by_name else f"{word}.{place.setting}"
    return statement._replace(origin=origin._replace(place=place._replace(setting=setting)))
