"""`stablint diff A B`: what differs between two runs once defaults, spellings and releases are worked out, whatever dialect each is written in."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.commands.outputs import tell_faults, wants_color
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN, FOUND, WRONG
from stablint.engine.diagnostics import reported
from stablint.engine.inspect import effective, inspect
from stablint.files.discover import NoSuchPath
from stablint.report.model import ReportedFact
from stablint.report.origin import reference
from stablint.report.plain import Style, jsonable, plain, shown, to_json
from stablint.run.fact import ABSENT, Fact, Secret, is_unknown
from stablint.run.releases.allowed import library_names
from stablint.run.releases.fields import field_names
from stablint.run.world import ASKED, Run, World
from stablint.secrets import exit

# Derived facts that say what a run does. The others are yardsticks of the rules.
_DOES = (
    "method", "objective", "config_class", "compute_dtype", "weights_dtype", "world_size", "effective_batch", "total_steps", "warmup_steps",
    "lora_scale", "zero_stage", "fsdp", "deepspeed",
)  # fmt: skip
_KIND = frozenset({"model.type", "model.parameters", "model.native_dtype"})
_ORDER = (
    "derived", "model", "training", "trainer", "lora", "quantization", "deepspeed", "accelerate", "fsdp", "launch", "data",
)  # fmt: skip
_LIBRARIES = ("transformers", "trl", "peft", "accelerate", "deepspeed")


_SAME = "  the same run: no effective setting differs"
_NOTHING = "–"  # not said by the files, and not known


class Difference(NamedTuple):
    """`kind`: changed, or only-a / only-b for a setting that the other run does not have at all."""

    name: str
    kind: str
    a: ReportedFact
    b: ReportedFact


class Side(NamedTuple):
    files: tuple[str, ...]
    dialects: tuple[str, ...]
    releases: dict[str, str]  # as far as they were stated


class Compared(NamedTuple):
    a: Side
    b: Side
    differences: tuple[Difference, ...]


def run_diff(given: argparse.Namespace, a: Options, b: Options) -> int:
    """0, or with --exit-code 1 if something differs."""
    first, second = _inspected(given.a, a), _inspected(given.b, b)
    if len(first.runs) != len(second.runs):
        raise Wrong(
            gettext("{a} has {first} runs and {b} has {second}: name two files that each make one").format(
                a=given.a, first=len(first.runs), b=given.b, second=len(second.runs)
            )
        )
    pairs = list(_once(compare(one, other) for one, other in zip(first.runs, second.runs, strict=True)))
    exit.learn(first.secrets | second.secrets)
    if given.output_format == "json":
        exit.hand_over(render_json(pairs))
    else:
        exit.say(render(pairs, color=wants_color(given.color)))
    if first.report.incomplete or second.report.incomplete:
        return WRONG
    return FOUND if given.exit_code and any(pair.differences for pair in pairs) else CLEAN


def _inspected(path: str, options: Options) -> Any:
    try:
        found = inspect([path], options, known=(), shown=True)
    except NoSuchPath as error:
        raise Wrong(gettext("`{path}` does not exist").format(path=error)) from error
    tell_faults(found)
    if not found.runs:
        raise Wrong(gettext("{path}: no training configuration, nothing to compare").format(path=path))
    return found


def _once(pairs: Iterable[Compared]) -> Iterator[Compared]:
    """A run that is meant for several targets differs from another one in the same way on all of them."""
    seen = set()
    for pair in pairs:
        key = repr(pair)
        if key not in seen:
            yield pair
        seen.add(key)


def compare(a: Run, b: Run) -> Compared:
    a, b = _of_one_day(a, b)
    one, other = effective(a), effective(b)
    names = {*_settings(a), *_settings(b), *(f"derived.{word}" for word in _DOES), *ASKED}
    found = [
        difference
        for name in sorted(names, key=_place)
        if not _by_nature(name) and (difference := _difference(name, one, other)) is not None
    ]
    tables = {difference.name.rpartition(".")[0] for difference in found}  # told by their leaves
    return Compared(_side(a, one), _side(b, other), tuple(row for row in found if row.name not in tables))


def _of_one_day(a: Run, b: Run) -> tuple[Run, Run]:
    """The runs in the same releases of every library of which neither states one, as far as both may use them. What is stated of another
    library only dates those, and a default of theirs is no difference that it makes."""
    of_a, of_b = a.releases, b.releases
    for library in library_names():
        if any(of.stated(library) or of.is_unread(library) for of in (a.releases, b.releases)):
            continue
        one, other = a.releases.allowed(library), b.releases.allowed(library)
        common = tuple(key for key in one if key in other)
        if one != other and common:
            of_a, of_b = of_a.presume_only(library, common), of_b.presume_only(library, common)
    return a._replace(releases=of_a), b._replace(releases=of_b)


def _place(name: str) -> tuple[int, str]:
    """First what a run does, then what was set for it."""
    namespace = name.partition(".")[0]
    return (_ORDER.index(namespace) if namespace in _ORDER else len(_ORDER), name)


def _by_nature(name: str) -> bool:
    """What a model is by nature follows from its name: its kind and size are enough to tell two apart."""
    return name.startswith("model.") and name not in ASKED and name not in _KIND


def _settings(run: Run) -> Iterator[str]:
    """What is stated or supplied, and every field of the config classes: a default may be what differs."""
    yield from (name for name in run.explicit if not name.startswith(("keys.", "launch.calls.")))
    yield from run.supplied
    for head, owners in run.classes.items():
        for owner in owners if "." not in head else ():
            newest = run.releases.newest(owner.removeprefix("?").partition(".")[0])
            names = field_names(owner.removeprefix("?"), newest) if newest is not None else ()
            yield from (f"{head}.{name}" for name in names if not name.startswith("_"))


def _difference(name: str, one: World, other: World) -> Difference | None:
    a, b = one.fact(name), other.fact(name)
    if _same(a, b):
        return None
    has_a, has_b = _known(a), _known(b)
    if has_a and has_b:
        return Difference(name, "changed", reported(a), reported(b))
    # A field that only one release has, and that nobody states, changes nothing of this run.
    if (has_a and not a.sources) or (has_b and not b.sources) or not (a.sources or b.sources):
        return None
    return Difference(name, "only-a" if a.sources else "only-b", reported(a), reported(b))


def _known(fact: Fact) -> bool:
    return not is_unknown(fact.value) and fact.value is not ABSENT


def _same(a: Fact, b: Fact) -> bool:
    if isinstance(a.value, Secret) and isinstance(b.value, Secret):
        return True  # never kept, so never compared
    if is_unknown(a.value) or is_unknown(b.value):
        return is_unknown(a.value) and is_unknown(b.value)
    if _off(a.value) and _off(b.value):
        return True
    if isinstance(a.value, bool) != isinstance(b.value, bool):
        return False
    return bool(a.value == b.value)


def _off(value: Any) -> bool:
    """Left out, switched off, or empty: releases write the same in several ways."""
    return (
        value is ABSENT
        or value is None
        or value is False
        or value in ("", "no")
        or (isinstance(value, (list, dict)) and not value)
    )


def _side(run: Run, world: World) -> Side:
    stated = {
        library: run.releases.text(world.choice[library], library)
        for library in _LIBRARIES
        if run.releases.stated(library)
    }
    return Side(run.files, run.dialects, stated)


def render_json(pairs: list[Compared]) -> str:
    return to_json({"schema_version": 1, "comparisons": [_object(pair) for pair in pairs]})


def _object(pair: Compared) -> dict[str, Any]:
    return {
        "a": {"files": list(pair.a.files), "dialects": list(pair.a.dialects), "releases": pair.a.releases},
        "b": {"files": list(pair.b.files), "dialects": list(pair.b.dialects), "releases": pair.b.releases},
        "differences": [
            {
                "name": one.name,
                "kind": one.kind,
                "a": {"value": jsonable(one.a.value), "origin": jsonable(one.a.origin)},
                "b": {"value": jsonable(one.b.value), "origin": jsonable(one.b.origin)},
            }
            for one in pair.differences
        ],
    }


def render(pairs: list[Compared], *, color: bool = False) -> str:
    return "\n".join("".join(f"{line}\n" for line in _lines(pair, Style(color))) for pair in pairs)


def _lines(pair: Compared, style: Style) -> Iterator[str]:
    count = len(pair.differences)
    settings = f"{count} effective setting{'' if count == 1 else 's'}"
    changed = _changed_releases(pair)
    if pair.a.files == pair.b.files and changed:
        yield style.paint("bold", f"{_files(pair.a)} ({', '.join(pair.a.dialects)})")
        yield f"  {changed} change{'s' if changed.count('→') == 1 else ''} {settings if count else 'no effective setting'}"
    else:
        yield style.paint("bold", f"{_title(pair.a)} → {_title(pair.b)}")
        yield f"  {settings} {'differs' if count == 1 else 'differ'}" if count else _SAME
    for namespace, group in groupby(pair.differences, key=lambda one: one.name.partition(".")[0]):
        rows = [(plain(one.name), f"{_value(one.a)} → {_value(one.b)}", _origins(one, pair)) for one in group]
        widths = [min(max(len(row[column]) for row in rows), 60) for column in (0, 1)]
        yield ""
        yield f"  {style.paint('bold', plain(namespace))}"
        for name, change, origins in rows:
            yield f"    {name:<{widths[0]}}  {change:<{widths[1]}}  {style.paint('dim', origins)}"


def _changed_releases(pair: Compared) -> str:
    """`transformers 4.57.6 → 5.23.0, trl 0.24.0 → 1.16.0`"""
    a, b = pair.a.releases, pair.b.releases
    libraries = [library for library in {**a, **b} if a.get(library) != b.get(library)]
    return ", ".join(f"{library} {a.get(library, 'any')} → {b.get(library, 'any')}" for library in libraries)


def _title(side: Side) -> str:
    releases = ", ".join(f"{library} {version}" for library, version in side.releases.items())
    return f"{_files(side)} ({'; '.join(filter(None, [', '.join(side.dialects), releases]))})"


def _files(side: Side) -> str:
    return ", ".join(plain(file) for file in side.files)


def _value(fact: ReportedFact) -> str:
    return _NOTHING if _unsaid(fact) else shown(fact.value, 40)


def _unsaid(fact: ReportedFact) -> bool:
    return fact.origin["kind"] == "unknown" and fact.value is None


def _origins(one: Difference, pair: Compared) -> str:
    """Where both values come from; nowhere is not said."""
    a, b = _origin(one.a, pair.a), _origin(one.b, pair.b)
    if a == b:
        return a
    if _unsaid(one.a) or _unsaid(one.b):
        return b if _unsaid(one.a) else a
    return f"{a} → {b}"


def _origin(fact: ReportedFact, side: Side) -> str:
    """`line 7` of the file that the side is called by, `ds.json:7` of another."""
    origin = fact.origin
    if origin["kind"] != "explicit" or not side.files:
        return reference(fact)
    if origin["file"] == side.files[0] and not origin.get("cell"):
        return f"line {origin['line']}"
    return reference(fact._replace(origin={**origin, "file": origin["file"].rpartition("/")[2]}))
