"""No repair takes away a key that another release of the library has: whoever wrote it has that release, or goes there."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from stablint.base import knowledge
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import inspect
from stablint.hazard import model
from stablint.run.releases.allowed import known_keys
from stablint.run.releases.pep440 import matcher, text_of

EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
OF_KEYS = [
    one for one in model.load() if any(asked.startswith("keys.") and "-names." not in asked for asked in one.each)
]
ABSENT = {"item.since", "item.removed_in"}
KEYS = Path(__file__).parents[2] / "knowledge" / "keys"
# Where a key of that framework's file is told, and what of its releases is read.
FILES = {
    "V125": ("llamafactory", "train"),
    "V127": ("axolotl", "config"),
    "V128": ("ms-swift", "sft"),
    "V204": ("litgpt", "finetune_lora"),
}


def absent(conditions: list[Any]) -> set[str]:
    """What these conditions want to be absent."""
    return {one[1] for one in conditions if one[0] == "is-absent"}


@pytest.mark.parametrize("hazard", OF_KEYS, ids=lambda one: one.id)
def test_a_key_is_taken_away_only_where_no_release_has_it(hazard: model.Hazard) -> None:
    for remedy in hazard.remedies:
        if remedy.safety != "manual" and "item" in (remedy.unset or ()):
            assert absent([*hazard.when, *(remedy.when or ())]) >= ABSENT, remedy.title


def told(code: str) -> list[tuple[str, str, str]]:
    """A few keys that some releases have, each with the first and the last release that has it not."""
    library, of = FILES[code]
    fields = yaml.safe_load((KEYS / f"{library}.json").read_text())["classes"][of]["fields"]
    found = []
    for name, spans in sorted(fields.items()):
        wanted = " || ".join(f">={one['since']}" + (f", <={one['last']}" if "last" in one else "") for one in spans)
        have = [matcher(part) for part in wanted.split(" || ")]
        lack = [key for key in known_keys(library) if not any(one(key) for one in have)]
        if lack and "." not in name and "*" not in name:
            found.append((code, name, text_of(lack[-1])))
    return list(itertools.islice(found, 0, None, max(1, len(found) // 4)))


@pytest.mark.parametrize(("code", "key", "release"), [case for code in FILES for case in told(code)])
def test_a_key_of_another_release_is_left(code: str, key: str, release: str, tmp_path: Path) -> None:
    hazard = next(one for one in model.load() if one.code == code)
    example = next(
        one
        for one in EXAMPLES[hazard.id]
        if len(one["files"]) == 1 and next(iter(one["files"])).endswith((".yaml", ".yml"))
    )
    ((name, text),) = example["files"].items()
    write({".git/HEAD": "", name: f"{text}{key}: 1\n"}, str(tmp_path))
    given = example_options({"with": [f"{FILES[code][0]}=={release}"]})
    for finding in inspect([str(tmp_path)], given, base=str(tmp_path)).findings:
        if finding.item.endswith(f".{key}"):
            assert [
                one.title for one in finding.remedies if one.safety != "manual" and "item" in (one.unset or ())
            ] == []
