"""Where a value comes from, in words."""

from __future__ import annotations

import re

from stablint.base.language import gettext, told
from stablint.base.light import Any
from stablint.report.model import ReportedFact
from stablint.report.plain import plain, shown

_SINCE = re.compile(r">=([\w.]+)")
_UNTIL = re.compile(r"<([\w.]+)")
_SAID = ["since {library} {release}", "before {library} {release}"]


def sentence(fact: ReportedFact) -> str:
    """`` `bf16` is true by default since trl 0.19.1 ``"""
    origin = fact.origin
    value = shown(fact.value)
    if origin["kind"] == "explicit":
        place = f"{plain(origin['file'])}{_line(origin)}"
        words = gettext("`{name}` in {place}") if fact.bare else gettext("`{name}` is {value} in {place}")
        return words.format(name=plain(origin["setting"]), value=as_written(fact), place=place)
    if origin["kind"] == "default":
        since = releases(origin["library"], origin["releases"])
        return gettext("`{name}` is {value} by default {releases}").format(
            name=plain(_named(fact)), value=value, releases=since
        )
    if origin["kind"] == "derived":
        return gettext("`{name}` is {value}, from {facts}").format(
            name=plain(fact.name), value=value, facts=_names(origin)
        )
    if origin["kind"] == "supplied":
        several = gettext("`{name}` may be {value} ({option} allows it)")
        words = several if origin.get("is_range") else gettext("`{name}` is {value} ({option})")
        return words.format(
            name=plain(fact.name.removeprefix("versions.")), value=value, option=plain(origin["option"])
        )
    return gettext("`{name}` is unknown: {why}").format(name=plain(fact.name), why=_why(origin))


def as_written(fact: ReportedFact) -> str:
    """The value as the text has it: the reader looks for that word."""
    return shown(fact.value if fact.written is None else fact.written)


def reference(fact: ReportedFact) -> str:
    """`train.yaml:7`, `(default, transformers >=4.28)`, `(from training.fp16)`: for a column of origins."""
    origin = fact.origin
    if origin["kind"] == "explicit":
        return f"{plain(origin['file'])}{_line(origin)}"
    if origin["kind"] == "default":
        whose = f"{plain(origin['library'])} {plain(origin['releases'])}".rstrip()
        return gettext("(default, {whose})").format(whose=whose)
    if origin["kind"] == "derived":
        return gettext("(from {facts})").format(facts=_names(origin))
    if origin["kind"] == "supplied":
        return f"({plain(origin['option'])})"
    return gettext("(unknown: {why})").format(why=_why(origin))


def _why(origin: dict[str, Any]) -> str:
    return plain(told(origin.get("reason") or "nothing states it"))


def _line(origin: dict[str, Any]) -> str:
    """`:7`, in a notebook `:cell 4:7`."""
    cell = f":cell {origin['cell']}" if origin.get("cell") else ""
    return f"{cell}:{origin['line']}" if origin.get("line") else cell


def releases(library: str, specifier: str) -> str:
    """`since trl 0.19.1`, `before trl 0.12`, `in trl >=0.7,<0.9`; the library alone where all its releases are meant."""
    library, specifier = plain(library), plain(specifier)
    for pattern, words in zip((_SINCE, _UNTIL), _SAID, strict=True):
        if found := pattern.fullmatch(specifier):
            return gettext(words).format(library=library, release=found[1])
    return gettext("in {library}").format(library=f"{library} {specifier}".rstrip())


def _names(origin: dict[str, object]) -> str:
    facts = origin.get("facts")
    return (
        ", ".join(plain(str(name)) for name in facts)
        if isinstance(facts, (list, tuple)) and facts
        else gettext("the run")
    )


def _named(fact: ReportedFact) -> str:
    """As the text would spell it: without our namespace, whole below `deepspeed.`; by another name where who fills it in has one."""
    name, field = fact.name.partition(".")[2] or fact.name, str(fact.origin["field"])
    return name if name.endswith(field.rpartition(".")[2]) else field
