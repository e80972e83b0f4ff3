"""Argument sets for the config classes: valid ones, broken ones, and those near the edges, drawn from what the class itself says of its fields."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.differential.subjects import OUTSIDE, SUBJECTS, Given, Subject

__all__ = ["SUBJECTS", "Given", "Subject", "arguments"]

POOLS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("pools.yaml").read_text(encoding="utf-8"))
# Whole files made of dotted names: what is drawn from.
_NESTED: dict[str, dict[str, list[Any]]] = {
    "trainer+deepspeed": POOLS["both"],
    "accelerate+deepspeed": POOLS["launch"] | POOLS["accelerate_deepspeed"],
    "accelerate+deepspeed-file": POOLS["accelerate_file"],
    "accelerate+fsdp": POOLS["launch"] | POOLS["accelerate_fsdp"],
}
# A value of another type, as a slip of the hand or a template makes it.
_FOREIGN: tuple[Any, ...] = ("true", "false", "1e-4", "4", "", 1, 0, 0.5, True, [1], ["a"], {"a": 1}, None)
# What needs data or packages that the worker does not have.
_UNREACHABLE = ("corda", "loftq", "lora_ga")
# Names that were fields once, belong to another class, or never existed.
_STRANGE = (
    "evaluation_strategy", "max_seq_length", "warmup_ratio", "no_cuda", "lr", "batch_size", "lora_r", "group_by_length", "dtype", "tokenizer_name",
    "per_gpu_train_batch_size", "overwrite_output_dir", "use_flash_attention_2", "max_prompt_length", "bnb_4bit_compute_type", "alpha",
)  # fmt: skip


def _own(kind: str, name: str) -> list[Any]:
    """What is known of the field by name."""
    if kind == "deepspeed":
        return list(POOLS["deepspeed"].get(name, []))
    if kind.startswith("peft."):
        return list(POOLS["peft"].get(name, []))
    if "output_dir" in SUBJECTS[kind].base:
        return list(POOLS["common"].get(name, []))
    return list(POOLS["quantised"].get(name, []))


def _slips(words: list[str]) -> list[str]:
    """Words as they are misspelled: another case, a letter short, the other dash."""
    found = []
    for word in words:
        found += [word.upper() if word.islower() else word.lower(), word[:-1], word.replace("_", "-"), f"{word}s"]
    return [word for word in found if word not in words]


def values(kind: str, name: str, field: Given) -> list[Any]:
    """Values for a field by its name and annotation: right ones, edges, and a few that are wrong."""
    written, default = str(field.get("type", "")), field.get("default")
    found: list[Any] = [] if default is None else [default]
    choices = field.get("choices") or []
    if choices:
        found += choices + _slips([c for c in choices if isinstance(c, str)])[: max(2, len(choices) // 2)]
    elif "bool" in written or isinstance(default, bool):
        found += [True, False, True, False]
    if "int" in written or (isinstance(default, int) and not isinstance(default, bool)):
        found += [0, 1, 2, 4, 8, -1, 1000]
    if "float" in written or isinstance(default, float):
        found += [0.0, 0.1, 0.5, 1.0, 1.5, -0.5, 1, 1e-5, 100.0]
    if ("str" in written or isinstance(default, str)) and not choices:
        found += [default or "x", "nonsense"]
    if "list" in written.lower():
        found += [["q_proj"], []] if kind.startswith("peft.") else [["a", "b"], []]
    if "dict" in written.lower():
        found += [{}, {"a": 1}]
    if "None" in written or "Optional" in written:
        found += [None]
    return found or [True, 1, "x"]


def _value(draw: Any, kind: str, name: str, field: Given, constants: list[Any]) -> Any:
    near = [c for c in constants if isinstance(c, str) and c not in _UNREACHABLE]
    for number in constants:
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            near += [number, number + 1, number - 1]
    own = _own(kind, name)
    choice = draw(st.integers(0, 99))
    if near and choice < 30:
        return draw(st.sampled_from(near))
    if choice >= 90:
        return draw(st.sampled_from(_FOREIGN))
    if own and choice >= 45:
        return draw(st.sampled_from(own))
    return draw(st.sampled_from(values(kind, name, field) if field else own))


@st.composite
def arguments(draw: Any, subject: Subject, description: Given) -> Given:
    """The smallest set with one field changed, two, or those that one check reads together; now and then a name that no field has."""
    pool = _NESTED.get(subject.kind)
    if pool is not None:
        return nested(subject.base, {name: draw(st.sampled_from(pool[name])) for name in _some(draw, sorted(pool), 4)})
    fields: Given = {n: f for n, f in description["fields"].items() if n not in OUTSIDE | subject.left_out}
    groups = [g for g in description["groups"] if set(g["fields"]) & set(fields)]
    if subject.kind == "deepspeed":
        fields = {name: fields.get(name, {}) for name in (*fields, *POOLS["deepspeed"])}
        groups = [{"fields": one, "constants": []} for one in POOLS["deepspeed_together"]]
    changed: Given = {}
    kind = draw(st.integers(0, 99))
    if groups and kind < 60:
        group = draw(st.sampled_from(groups))
        for name in group["fields"]:
            if name in fields:
                changed[name] = _value(draw, subject.kind, name, fields[name], group["constants"])
    if kind >= 96:
        changed |= {_strange(draw, sorted(fields)): draw(st.sampled_from((True, 1, 0.1, "x")))}
    if not changed or draw(st.booleans()):
        for name in _some(draw, sorted(fields), 3):
            changed[name] = _value(draw, subject.kind, name, fields[name], [])
    if "output_dir" in subject.base and kind % 8 == 0:
        changed["_gpu"] = draw(st.sampled_from(("T4", "V100-32GB")))
    return nested(subject.base, changed) if subject.kind == "deepspeed" else subject.base | changed


def _strange(draw: Any, names: list[str]) -> str:
    """A field's name with a slip, or one of another class or time."""
    name: str = draw(st.sampled_from(names))
    return str(draw(st.sampled_from((name[:-1], f"{name}s", name.replace("_", "", 1), *_STRANGE))))


def _some(draw: Any, names: list[str], most: int) -> list[str]:
    return list(draw(st.lists(st.sampled_from(names), min_size=1, max_size=most, unique=True)))


def nested(base: Given, changed: Given) -> Given:
    """Dotted names as nested mappings; a plain value in the way of a nested one gives way."""
    made = copy.deepcopy(base)
    for name in sorted(changed, key=lambda n: n.count(".")):
        *above, last = name.split(".")
        at = made
        for key in above:
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[last] = copy.deepcopy(changed[name])
    return made
