"""The words of a command of verl, each a fact `keys.verl.KEY`; and those with a `+` in front, each a fact `keys.verl-appended.KEY`.

Hydra composes the files of verl's package into a configuration that takes no other key. A word `+key=value` adds one, and is refused where the
key has a value already; `++key=value` and a list or mapping are taken either way (hydra 1.3.8 _internal/config_loader_impl.py, _apply_overrides_to_config).
"""

from __future__ import annotations

import re

from stablint.frameworks.fragment import Fragment, Row, statement
from stablint.run.fact import Statement
from stablint.run.releases.reader_keys import reader
from stablint.syntax.tree import Command, Scalar

_PROGRAMS = ("main_ppo", "fsdp_sft_trainer", "sft_trainer")
_OTHER_FILES = frozenset({"config_path", "config_name", "config_dir", "cp", "cn", "cd"})
_MARK = re.compile(r"[\"']?(\+{1,2}|~)?([A-Za-z_][\w.]*)")


def with_own_keys(fragment: Fragment, names: tuple[str, ...]) -> Fragment:
    """The fragment, with a statement for every word that some release of the program refuses."""
    block = fragment.block
    module = block.name.partition(" ")[0].rpartition(".")
    origin = block.origin
    if (
        block.kind != "flags"
        or module[0] != "verl.trainer"
        or module[2] not in _PROGRAMS
        or not isinstance(origin, Command)
    ):
        return fragment
    taken, present = reader(f"verl.{module[2]}"), reader(f"verl.{module[2]}_set")
    if (
        taken is None
        or present is None
        or {entry.key.replace("-", "_") for entry in origin.flags.entries} & _OTHER_FILES
    ):
        return fragment
    marks = _marks(origin, block.document.text.text)
    added = {key for key, mark in marks if mark in ("+", "++")}
    flags = {entry.key_start for entry in origin.flags.entries}
    counted: dict[str, int] = {}
    for key, _ in marks:
        counted[key] = counted.get(key, 0) + 1
    found: list[Statement] = []
    for entry in block.mapping.entries:
        key = entry.key
        if entry.key_start in flags or key.partition(".")[0] == "hydra" or counted.get(key) != 1:
            continue
        mark = next(one for name, one in marks if name == key)
        if mark == "" and key not in taken.always and not _is_added(key, added):
            found.append(statement(block, entry, (key,), Row(key, f"keys.verl.{key}"), fragment.layer))
        elif mark == "+" and "model_engine" not in counted and _is_plain(entry.value):
            found.append(statement(block, entry, (key,), Row(key, f"keys.verl-appended.{key}"), fragment.layer))
    if not found:
        return fragment
    owners = {"keys.verl": (taken.name,), "keys.verl-appended": (present.name,)}
    return fragment._replace(statements=(*fragment.statements, *found), classes={**fragment.classes, **owners})


def _marks(command: Command, text: str) -> list[tuple[str, str]]:
    """The keys of the words as they stand there, each with `+`, `++`, `~` or nothing before it."""
    matches = (_MARK.match(text, word.start, word.end) for word in command.positionals)
    return [(found[2], found[1] or "") for found in matches if found is not None]


def _is_added(key: str, added: set[str]) -> bool:
    """Whether another word adds it, or a section that it stands in."""
    return any(key == one or key.startswith(f"{one}.") for one in added)


def _is_plain(value: object) -> bool:
    """Neither a list nor a mapping, which are merged into what is there."""
    return (
        isinstance(value, Scalar)
        and (
            value.value is None
            or isinstance(value.value, (int, float))
            or str(value.value)[:1] not in ("[", "{", "$", "<")
        )
        and isinstance(value.value, (str, int, float, bool, type(None)))
    )
