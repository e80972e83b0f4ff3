"""No repair takes away a key that another release of the library has: whoever wrote it has that release, or goes there. None renames one to what the
stated release lacks."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stablint.base import knowledge
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import inspect
from stablint.engine.repair import repair
from stablint.hazard import model
from stablint.run.releases import fields
from stablint.run.releases.allowed import known_keys
from stablint.run.releases.pep440 import matcher, release_key, text_of

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


RENAMES = [
    (of, old)
    for of, rows in knowledge.load("renames").items()
    for old, row in rows.items()
    if row["new"] and of != "deepspeed.json" and known_keys(of.partition(".")[0]) and knowledge.load(f"fields/{of}")
]
TRAINER = "from {} import {}\n\nt = {}(model='m', {}=2, train_dataset=rows)\nt.train()\n"


def edges(of: str, old: str) -> list[str]:
    """The first releases in which the class has another part of an old name and what it became."""
    new, found, before = knowledge.load("renames")[of][old]["new"], [], None
    for key in known_keys(of.partition(".")[0]):
        names = fields.field_names(of, key)
        if fields.class_exists_at(of, key) and (has := (old in names, new in names)) != before:
            found.append(text_of(key))
            before = has
    return found


@pytest.mark.parametrize(("of", "old"), RENAMES)
def test_a_name_becomes_one_that_the_release_has_and_safely_only_where_it_is_gone(
    of: str, old: str, tmp_path: Path
) -> None:
    library, _, name = of.partition(".")
    form = TRAINER if name.endswith("Trainer") else "from {} import {}\n\nargs = {}('out', {}=2)\n"
    text = form.format(library, name, name, old)
    for number, release in enumerate(edges(of, old)):
        folder = str(tmp_path / str(number))
        write({".git/HEAD": "", "t.py": text}, folder)
        given, names = (
            example_options({"with": [f"{library}=={release}"]}),
            fields.field_names(of, release_key(release)),
        )
        for unsafe in (False, True):
            after = repair([folder], given, unsafe=unsafe, base=folder)
            for written in after.texts.values():
                added = set(re.findall(r"(\w+)=", written.text)) - set(re.findall(r"(\w+)=", text))
                assert added <= set(names), (release, written.text)
                assert unsafe or old not in names, (release, written.text)


def test_only_what_a_library_renamed_itself_is_renamed_safely() -> None:
    for hazard in model.load():
        for remedy in hazard.remedies:
            assert remedy.safety != "safe" or all(new == "item.renamed_to" for _, new in remedy.swap), hazard.code
