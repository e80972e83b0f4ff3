"""What is known of a framework's own keys, whose reader declares no types: the kind and the default that its newest release annotates, what each key
sets for the run, since when it is taken and until when.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from stablint.assemble.asked import Options
from stablint.base.knowledge import load
from stablint.engine.diagnostics import reported
from stablint.engine.inspect import Inspection, effective, inspect
from stablint.report.origin import releases as spelled_releases
from stablint.report.plain import shown
from stablint.run.fact import ABSENT, Default, Explicit, is_unknown
from stablint.run.releases.allowed import known_keys
from stablint.run.releases.pep440 import Key, release_key, text_of
from stablint.run.releases.reader_keys import Reader
from stablint.syntax.tree import Text

# YAML 1.1 reads `1e-5` as a word, of which every reader makes the number.
NUMBER = {"type": "string", "pattern": r"^[-+]?[0-9][0-9_]*(\.[0-9]*)?([eE][-+]?[0-9]+)?$"}
FILLED_IN = {"type": "string", "pattern": r"\$\{.*\}"}
"""What Hydra and shells put in when the file is read."""
_TRUTH = {
    "type": "string",
    "pattern": "^([Yy]([Ee][Ss])?|[Tt]([Rr][Uu][Ee])?|[Oo][Nn]|1|[Nn][Oo]?|[Ff]([Aa][Ll][Ss][Ee])?|[Oo][Ff][Ff]|0)$",
}
# Said once: beside the name of a token the pattern would look like one, and be hidden.
FLAG: list[dict[str, Any]] = [{"type": "boolean"}, {"enum": [0, 1]}, {"$ref": "#/definitions/truth"}]
DEFINITIONS = {"truth": _TRUTH}
_NONE: list[dict[str, Any]] = [{"type": "null"}, FILLED_IN]
_KINDS: dict[str, list[dict[str, Any]]] = {
    "int": [{"type": "integer"}, NUMBER],
    "float": [{"type": "number"}, NUMBER],
}
_TRUE = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}


def kinds(library: str, name: str, release: Key, *, any_case: bool = False) -> dict[str, Any]:
    """`anyOf` and `default` of a key, by what the newest release annotates; an older one may have taken other words, so that they are only offered.
    `any_case`: the reader puts words in capitals itself."""
    table, last = load("values").get(library, {}), name.rpartition(".")[2]
    same = bool(table) and release_key(table["release"]) == release
    told: dict[str, Any] = {}
    if last in table.get("flags", ()):
        told["anyOf"] = [*FLAG, *_NONE]
    elif last in table.get("numbers", {}):
        told["anyOf"] = [*_KINDS[table["numbers"][last]], *_NONE]
    elif last in table.get("words", {}):
        words = table["words"][last]
        twins = [int(word) if word.isdigit() else _TRUE[word] for word in words if word.isdigit() or word in _TRUE]
        others = [in_any_case(word) for word in words] if any_case else []
        told["anyOf"] = [{"enum": [*words, *twins]}, *(others if same else [{"type": "string"}]), *_NONE]
    elif last in table.get("texts", ()):
        told["anyOf"] = [{"type": ["string", "number", "boolean"]}, {"type": "null"}]
    if same and last in table.get("usual", {}) and (told or last not in table.get("words", {})):
        told["default"] = table["usual"][last]
    return told


def in_any_case(word: str) -> dict[str, Any]:
    """JSON Schema has no flag for capitals."""
    letters = "".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else re.escape(c) for c in word)
    return {"type": "string", "pattern": f"^{letters}$"}


class Meaning:
    """What the keys of a kind of file set, as a run that states each of them is read."""

    def __init__(self, dialect: str, names: Iterable[str], asked: Options) -> None:
        self._asked = asked._replace(dialect=dialect, policies=None)
        self._names = tuple(names)

    @cached_property
    def facts(self) -> dict[str, list[str]]:
        """By the key as it is written."""
        found: dict[str, list[str]] = {}
        for key, fact, _ in self._stated(self._read(dict.fromkeys(self._names, 1))):
            if not fact.startswith("keys."):
                found.setdefault(key, []).append(fact)
        return found

    @cached_property
    def defaults(self) -> dict[str, tuple[Any, str]]:
        """What a key is where it is left out, and of which releases that is so; a key that would say it in another way is left out."""
        world = next((effective(run) for run in self._read({"learning_rate": 1e-5}).runs), None)
        found: dict[str, tuple[Any, str, str]] = {}
        for key, facts in self.facts.items() if world is not None else ():
            assert world is not None
            fact = world.default(facts[0])
            if fact.value is ABSENT or is_unknown(fact.value) or not isinstance(fact.origin, Default):
                continue
            if isinstance(fact.value, (bool, int, float, str)):
                origin = reported(fact).origin
                found[key] = fact.value, facts[0], spelled_releases(origin["library"], origin["releases"])
        said = {
            (key, fact): value
            for key, fact, value in self._stated(self._read({key: value for key, (value, _, _) in found.items()}))
        }
        return {
            key: (value, where)
            for key, (value, fact, where) in found.items()
            if type(said.get((key, fact))) is type(value) and said[key, fact] == value
        }

    def _read(self, values: dict[str, Any]) -> Inspection:
        top = os.path.abspath(os.sep)  # where no project says which releases it has
        path = os.path.join(top, "schema.json")
        texts = {path: Text(path, "schema.json", json.dumps(_tree(values)))}
        return inspect([], self._asked, base=top, texts=texts, known=())  # no rule is asked

    def _stated(self, found: Inspection) -> Iterator[tuple[str, str, Any]]:
        """Keys, and the facts that they state."""
        for path in {text.path for text in found.files.texts()}:
            for fragment in found.files.fragments(path, self._asked.dialect):
                for one in fragment.statements:
                    if isinstance(one.origin, Explicit):
                        yield one.origin.place.setting, one.fact, one.value


def _tree(values: dict[str, Any]) -> dict[str, Any]:
    """Dotted names as mappings within mappings."""
    top: dict[str, Any] = {}
    for name in sorted(values):
        at = top
        *above, last = name.split(".")
        for part in above:
            if not isinstance(at.get(part), dict):
                at[part] = {}
            at = at[part]
        if not isinstance(at.get(last), dict):
            at[last] = values[name]
    return top


def lines(name: str, meaning: Meaning, concerned: dict[str, list[str]]) -> Iterator[str]:
    """What a key sets, what that is where it is left out, and which rules look at it."""
    facts = meaning.facts.get(name, [])
    common = [fact for fact in facts if not f".{fact}".endswith(f".{name}")]
    if common:
        yield "sets " + ", ".join(common)
    if name in meaning.defaults:
        value, where = meaning.defaults[name]
        yield f"left out: {shown(value)} ({where})"
    for fact in facts:
        yield from concerned.get(fact, ())


def times(one: Reader, name: str, release: Key) -> Iterator[tuple[str, bool]]:
    """By which plugin a key is taken, since when, and from which known release on it is no longer; whether that is a farewell."""
    known = known_keys(one.library)
    taken = [one.takes(name, key, True) or (one.plugin(name, key) is not None) for key in known]
    if (plugin := one.plugin(name, release)) is not None:
        yield f"read by the plugin {plugin}", False
    at = max((number for number, key in enumerate(known) if key <= release), default=0)
    first = next((number for number in range(at, -1, -1) if taken[number] is False), -1) + 1
    if 0 < first <= at:
        yield f"since {one.library} {text_of(known[first])}", False
    gone = next((key for key, takes in list(zip(known, taken, strict=True))[at + 1 :] if takes is False), None)
    if gone is not None:
        yield f"no longer taken from {one.library} {text_of(gone)} on", True
