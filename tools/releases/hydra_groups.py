"""Which keys a tree of Hydra's files composes to: every option of the groups in its place, and what stands there in each of the compositions.

`defaults` names groups as `group@package: option`; an option may name others. Of the first file's groups all options
are read, since a word of the command may choose another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath
from typing import Any

import yaml

from .package import Package

_CONFIG = "trainer/config/"
# Program → the file that its decorator names.
_PROGRAMS = {"main_ppo": "ppo_trainer", "fsdp_sft_trainer": "sft_trainer", "sft_trainer": "sft_trainer_engine"}
_OTHERS = ("ppo_megatron_trainer",)  # which a word `--config-name` names instead


def verl(package: Package) -> dict[str, dict[str, Any]]:
    """A reader for each program, and `…_set`: what is there and not null whichever options are chosen, to which nothing can be appended."""
    files = {
        path[len(_CONFIG) : -len(".yaml")]: document
        for path in package.paths()
        if path.startswith(_CONFIG) and path.endswith(".yaml")
        for document in [yaml.safe_load("".join(package.texts(path)))]
        if isinstance(document, dict)
    }
    readers: dict[str, dict[str, Any]] = {}
    for program, name in _PROGRAMS.items():
        if name not in files:
            continue
        names = (name, *_OTHERS) if program == "main_ppo" else (name,)
        keys = {key for one in names if one in files for key in _every(files, one, "", 0)}
        readers[program] = _reader(keys)
        readers[f"{program}_set"] = _reader(set.intersection(*_compositions(files, name)))
    return readers


def _reader(keys: set[str]) -> dict[str, Any]:
    return {
        "kind": "struct",
        "bases": [],
        "fields": {key: {} for key in sorted(keys) if not key.rpartition(".")[2].startswith("_")},
    }


def _every(files: dict[str, Any], name: str, above: str, depth: int) -> Iterator[str]:
    """The keys of a file in its place, with those of every option of the groups that it names."""
    document = files.get(name)
    if document is None or depth > 6:
        return
    folder, parts = name.rpartition("/")[0], above.split(".")
    yield from (".".join(parts[: end + 1]) for end in range(len(parts)) if above)
    for item in document.get("defaults", ()):
        if isinstance(item, str):
            group, option, place = "", item, above
        elif isinstance(item, dict) and len(item) == 1:
            [(word, option)] = item.items()
            group, _, named = str(word).replace("override ", "").replace("optional ", "").partition("@")
            place = ".".join(part for part in (above, named or group.replace("/", ".")) if part)
        else:
            continue
        if option == "_self_":
            continue
        at = normpath(f"{folder}/{group}").lstrip("/").removeprefix("./") if group or folder else ""
        if group:
            yield from (
                [group] if "@" not in str(next(iter(item))) else []
            )  # `model_engine=megatron` chooses an option
            # of the groups below, a file names the option that it needs
            for one in sorted(files) if depth == 0 or "${" in str(option) else [f"{at}/{option}"]:
                if one.rpartition("/")[0] == at:
                    yield from _every(files, one, place, depth + 1)
        else:
            yield from _every(files, f"{at}/{option}".lstrip("/"), place, depth + 1)
    body = {key: value for key, value in document.items() if key != "defaults"}
    yield from (f"{above}.{key}" if above else key for key in _flat(body, ""))


def _flat(mapping: dict[str, Any], above: str) -> Iterator[str]:
    for key, value in mapping.items():
        path = f"{above}{key}"
        yield path
        if isinstance(value, dict):
            yield from _flat(value, f"{path}.")


def _compositions(files: dict[str, Any], name: str) -> Iterator[set[str]]:
    """What is not null: in the files that verl composes for its engines itself, or in the file where it names no groups."""
    composed = [path for path in files if path.startswith("_generated_ppo") and name == "ppo_trainer"]
    if composed or "defaults" not in files[name]:
        for path in composed or [one for one in (name, *(_OTHERS if name == "ppo_trainer" else ())) if one in files]:
            yield {key for key, value in _values(files[path], "") if value is not None}
    else:  # which option says what is not followed
        own = {key: value for key, value in files[name].items() if key != "defaults"}
        yield {key for key, value in _values(own, "") if value is not None}


def _values(mapping: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in mapping.items():
        yield f"{above}{key}", value
        if isinstance(value, dict):
            yield from _values(value, f"{above}{key}.")
