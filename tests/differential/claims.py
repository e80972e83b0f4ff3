"""What the error hazards' own examples hand to constructors: every example and look-alike as calls, and each call with one value spelled otherwise."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from stablint.base import knowledge
from stablint.engine.examples import legal
from stablint.hazard import model

LIBRARIES = ("transformers", "trl", "peft")
Given = dict[str, Any]


class Claim(NamedTuple):
    """A call that a hazard's example or look-alike stands for."""

    hazard: model.Hazard
    kind: str
    given: Given
    told: bool  # the example draws the hazard; a look-alike must not
    where: str


def claims() -> Iterator[Claim]:
    """Of every hazard that says error, what a constructor can be asked."""
    examples: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
    for hazard in model.load():
        if hazard.severity != "error":
            continue
        for number, example in enumerate(examples[hazard.id], 1):
            for kind, given in as_calls(example["files"]):
                yield Claim(hazard, kind, given, True, f"example {number}")
            for place, (files, _) in enumerate(legal(example), 1):
                for kind, given in as_calls(files):
                    yield Claim(hazard, kind, given, False, f"example {number}, look-alike {place}")


def as_calls(files: dict[str, str]) -> list[tuple[str, Given]]:
    """The constructors that these files call; none where there is more than a constructor can judge."""
    names = set(files)
    if len(names) == 1 and (name := names.pop()).endswith(".py"):
        return _python(files[name])
    if set(files) == {"ds.json"}:
        loaded = _loaded(files["ds.json"])
        return [("deepspeed", loaded)] if loaded else []
    if "accelerate.yaml" in files and set(files) <= {"accelerate.yaml", "ds.json"}:
        given = _loaded(files["accelerate.yaml"])
        if given is None:
            return []
        if "ds.json" in files:
            beside = _loaded(files["ds.json"])
            return [("accelerate+deepspeed-file", given | {"ds": beside})] if beside else []
        return [("accelerate+deepspeed" if "deepspeed_config" in given else "accelerate+fsdp", given)]
    return []


def _loaded(text: str) -> Given | None:
    try:
        loaded = yaml.safe_load(text)
        json.dumps(loaded)
    except (yaml.YAMLError, ValueError, TypeError):
        return None
    return loaded if isinstance(loaded, dict) else None


def _python(text: str) -> list[tuple[str, Given]]:
    """Calls of imported config classes with literals only; none where the text does more than import and make them."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    modules = {
        name.asname or name.name: node.module or ""
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            continue
        value = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
        if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name)) or value.args:
            return []
        module = modules.get(value.func.id, "")
        if module.split(".")[0] not in LIBRARIES or not value.func.id.endswith(("Config", "Arguments")):
            return []
        try:
            given = {str(word.arg): ast.literal_eval(word.value) for word in value.keywords if word.arg}
            json.dumps(given)
        except (ValueError, TypeError):
            return []
        if len(given) == len(value.keywords):
            found.append((f"{module}.{value.func.id}", given))
    return found


def variants(kind: str, given: Given) -> Iterator[tuple[str, Given]]:
    """The call with one value spelled otherwise, left out, or made idle by what is switched off around it."""
    for path, value in _leaves(given):
        for other in _otherwise(value):
            yield f"{'.'.join(path)}={other!r}", _with(given, path, other)
        yield f"without {'.'.join(path)}", _without(given, path)
    for words in SWITCHES.get(kind, SWITCHES["transformers"] if "deepspeed" not in kind else ()):
        if any(given.get(key) != word for key, word in words.items()):
            yield f"with {words}", given | words


# What takes the sense from other settings: the part that they belong to is not in use.
SWITCHES: dict[str, tuple[Given, ...]] = {
    "accelerate+fsdp": ({"distributed_type": "MULTI_GPU"}, {"distributed_type": "NO", "num_processes": 1}),
    "accelerate+deepspeed": ({"distributed_type": "MULTI_GPU"}, {"distributed_type": "NO", "num_processes": 1}),
    "accelerate+deepspeed-file": ({"distributed_type": "MULTI_GPU"},),
    "deepspeed": (
        {"zero_optimization": {"stage": 0}}, {"fp16": {"enabled": False}}, {"bf16": {"enabled": True}},
    ),
    "transformers": ({"fsdp": ""}, {"fsdp": None}, {"bf16": False}, {"fp16": False}, {"use_cpu": True}),
}  # fmt: skip


def _leaves(given: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in given.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, str(key)))
        if (*path, key) != ("output_dir",):
            yield (*path, str(key)), value


def _otherwise(value: Any) -> list[Any]:
    """The same or nothing in another spelling."""
    others: list[Any] = [None, True, False, 0, 1, -1, "", [], {}]
    if isinstance(value, bool):
        others += [str(value), str(value).lower(), "yes", "no"]
    elif isinstance(value, (int, float)):
        others += [str(value), float(value), [value], 0.5, 2]
    elif isinstance(value, str):
        others += [value.upper(), value.lower(), value.capitalize(), f" {value}", [value]]
    elif isinstance(value, list) and value:
        others += [value[0], value[:1], ",".join(str(one) for one in value)]
    return [other for other in others if repr(other) != repr(value)]


def _with(given: Given, path: tuple[str, ...], value: Any) -> Given:
    made = copy.deepcopy(given)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def _without(given: Given, path: tuple[str, ...]) -> Given:
    made = copy.deepcopy(given)
    at = made
    for key in path[:-1]:
        at = at[key]
    del at[path[-1]]
    return made
