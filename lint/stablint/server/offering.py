"""What may be written in a place: the names that a run's own classes and its framework's reader take, and the values that a name may have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from stablint.base.knowledge import load
from stablint.base.language import gettext
from stablint.frameworks import llamafactory_data
from stablint.frameworks.accelerate_keys import LAUNCH, PREFIXES
from stablint.frameworks.fragment import Fragment
from stablint.frameworks.unknown_keys import readers_of
from stablint.report.plain import shown
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.framework import framework
from stablint.run.releases.allowed import Releases
from stablint.run.releases.reader_keys import Reader, reader
from stablint.run.releases.taken import Taken, of_class, of_reader, release_of
from stablint.syntax.tree import Mapping, Scalar

# Of files whose keys are those of one class or reader, whatever the run.
_CLASSES = {"deepspeed": ("deepspeed.json",)}
_FSDP = "transformers.fsdp_config"
_OF_TORCHTUNE = "torchtune."


class Choice(NamedTuple):
    value: Any
    detail: str = ""


def names(fragments: Iterable[Fragment], releases: Releases | None, section: tuple[str, ...]) -> Iterator[Taken]:
    """What stands directly or deeper below a section, with its dotted name; one that several take is told once."""
    told: set[str] = set()
    for fragment in fragments:
        for word in chain(_of_place(fragment, releases, section), _of_fragment(fragment, releases)):
            if word.name not in told:
                told.add(word.name)
                yield word


def _of_fragment(fragment: Fragment, releases: Releases | None) -> Iterator[Taken]:
    readers = [one for name in readers_of(fragment)[:1] if (one := reader(name)) is not None]
    if readers:
        return chain.from_iterable(of_reader(one, releases) for one in readers)
    files = framework(fragment.framework).files
    if files is not None:
        return (Taken(key, fragment.framework, None) for key in files.keys)
    classes = _CLASSES.get(fragment.dialect) or tuple(one for several in fragment.classes.values() for one in several)
    return chain.from_iterable(of_owner(owner.removeprefix("?"), releases) for owner in classes)


def of_owner(name: str, releases: Releases | None) -> Iterator[Taken]:
    """The fields of a class with their declarations, or the keys of a reader."""
    first = next(fields := of_class(name, releases), None)
    return chain((first,), fields) if first is not None else _of(reader(name), releases)


def _of_place(fragment: Fragment, releases: Releases | None, section: tuple[str, ...]) -> Iterator[Taken]:
    """What only this section of such a file takes."""
    dotted = "".join(f"{part}." for part in section)
    if fragment.dialect == "llamafactory-data":
        return (
            Taken(f"{dotted}{key}", "llamafactory", None)
            for key in llamafactory_data.keys_below(section[1:])
            if section
        )
    if fragment.dialect == "torchtune" and (component := _component(fragment, section)) is not None:
        above = f"{component}."
        known = reader("torchtune.components")
        found = of_reader(known, releases) if known is not None else iter(())
        return (one._replace(name=dotted + one.name.removeprefix(above)) for one in found if one.name.startswith(above))
    if fragment.dialect == "accelerate" and section[:1] and section[0] in PREFIXES:
        start = f"{PREFIXES[section[0]].rstrip('_')}_"
        return (
            one._replace(name=f"{dotted}{one.name}")
            for one in _of(reader(LAUNCH), releases)
            if one.name.startswith(start)
        )
    if fragment.dialect == "fsdp" or section == ("fsdp_config",):
        inner = dotted if section == ("fsdp_config",) else ""
        return (one._replace(name=f"{inner}{one.name}") for one in _of(reader(_FSDP), releases))
    return iter(())


def _of(one: Reader | None, releases: Releases | None) -> Iterator[Taken]:
    return of_reader(one, releases) if one is not None else iter(())


def _component(fragment: Fragment, section: tuple[str, ...]) -> str | None:
    """The component of torchtune's own that a section names."""
    at: Any = fragment.block.mapping
    for part in section:
        at = at.get(part) if isinstance(at, Mapping) else None
    node = at.get("_component_") if isinstance(at, Mapping) and section else None
    name = node.value if isinstance(node, Scalar) else None
    return name[len(_OF_TORCHTUNE) :] if isinstance(name, str) and name.startswith(_OF_TORCHTUNE) else None


def choices(word: Taken, releases: Releases | None) -> list[Choice]:
    """The values of a name of which there are few: from its declaration, else from what is known of the framework's own keys."""
    declared = word.declared
    if declared is not None:
        release = release_of(releases, declared.library)
        if release is None:
            return []
        values: list[Any] = list(declared.choices_at(release) or ())
        if not values and re.search(r"\bbool\b", declared.type_at(release) or ""):
            values = [True, False]
        default = declared.default_at(release)[1]
        return [
            Choice(one, gettext("the default") if one == default and type(one) is type(default) else "")
            for one in values
        ]
    files = framework(word.library).files
    if files is not None:
        return [Choice(one) for one in _by_record(files.keys.get(word.name, []))]
    return [Choice(one) for one in _undeclared(word.library, word.name.rpartition(".")[2])]


def _by_record(facts: Iterable[dict[str, Any]]) -> list[Any]:
    """The words that a framework's record lists for a key."""
    listed = [[word for word, _ in one["words"]] for one in facts if "words" in one]
    return [True, False] if any(one.get("as") == "flag" for one in facts) else [*chain.from_iterable(listed)]


def _undeclared(library: str, name: str) -> list[Any]:
    for owner, table in load("kinds").items():
        if owner.partition(".")[0] == library and name in table:
            kind = table[name]
            if isinstance(kind, dict):
                kind = kind["any-case"]
            return list(kind) if isinstance(kind, list) else [True, False] if kind == "flag" else []
    known = load("values").get(library, {})
    if name in known.get("flags", ()):
        return [True, False]
    return list(known.get("words", {}).get(name, ()))


def detail(word: Taken, releases: Releases | None) -> str:
    declared = word.declared
    release = release_of(releases, declared.library) if declared is not None else None
    if declared is None or release is None:
        return word.library
    default = declared.default_at(release)[1]
    kind = declared.type_at(release) or ""
    usual = "" if default is ABSENT or is_unknown(default) else f" = {shown(default)}"
    return f"{kind}{usual}".strip() or declared.library_class
