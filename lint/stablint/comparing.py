"""`stablint diff A B`: what differs between two runs once defaults, spellings and releases are worked out, whatever dialect each is written in."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from stablint.assemble import Options
from stablint.cli import CLEAN, FOUND
from stablint.diagnose import reported
from stablint.discover import NoSuchPath
from stablint.inspect import effective, inspect
from stablint.options import Wrong
from stablint.outputs import hand_over, say, wants_color
from stablint.report.masking import mask
from stablint.report.model import ReportedFact
from stablint.report.origin import reference
from stablint.report.plain import jsonable, plain, shown, to_json
from stablint.report.style import Style
from stablint.run.fact import ABSENT, Fact, Secret, is_unknown
from stablint.run.releases import field_names
from stablint.run.world import Run, World

# Derived facts that say what a run does. The others are yardsticks of the rules.
_DOES = (
    "method", "objective", "config_class", "compute_dtype", "weights_dtype", "world_size", "effective_batch", "total_steps", "warmup_steps",
    "lora_scale", "zero_stage", "fsdp", "deepspeed",
)  # fmt: skip
_LIBRARIES = ("transformers", "trl", "peft", "accelerate", "deepspeed")


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
            f"{given.a} has {len(first.runs)} runs and {given.b} has {len(second.runs)}: name two files that each make one"
        )
    pairs = [compare(one, other) for one, other in zip(first.runs, second.runs, strict=True)]
    secrets = first.secrets | second.secrets
    if given.output_format == "json":
        hand_over(mask(render_json(pairs), secrets))
    else:
        say(mask(render(pairs, color=wants_color(given.color)), secrets))
    return FOUND if given.exit_code and any(pair.differences for pair in pairs) else CLEAN


def _inspected(path: str, options: Options) -> Any:
    try:
        found = inspect([path], options, known=())
    except NoSuchPath as error:
        raise Wrong(f"`{error}` does not exist") from error
    if not found.runs:
        raise Wrong(f"{path}: no training configuration, nothing to compare")
    return found


def compare(a: Run, b: Run) -> Compared:
    one, other = effective(a), effective(b)
    names = dict.fromkeys([*_settings(a), *_settings(b), *(f"derived.{word}" for word in _DOES)])
    found = [difference for name in sorted(names) if (difference := _difference(name, one, other)) is not None]
    return Compared(_side(a, one), _side(b, other), tuple(found))


def _settings(run: Run) -> Iterator[str]:
    """What is stated or supplied, and every field of the config classes: a default may be what differs."""
    yield from (name for name in run.explicit if not name.startswith("keys."))
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
    yield style.paint("bold", f"{_title(pair.a)} → {_title(pair.b)}")
    count = len(pair.differences)
    if not count:
        yield "  the same run: no effective setting differs"
        return
    yield f"  {count} effective setting{'s differ' if count > 1 else ' differs'}"
    for namespace, group in groupby(pair.differences, key=lambda one: one.name.partition(".")[0]):
        rows = [(plain(one.name), f"{_value(one.a)} → {_value(one.b)}", _origins(one)) for one in group]
        widths = [min(max(len(row[column]) for row in rows), 48) for column in (0, 1)]
        yield ""
        yield f"  {style.paint('bold', plain(namespace))}"
        for name, change, origins in rows:
            yield f"    {name:<{widths[0]}}  {change:<{widths[1]}}  {style.paint('dim', origins)}"


def _title(side: Side) -> str:
    releases = ", ".join(f"{library} {version}" for library, version in side.releases.items())
    return f"{', '.join(plain(file) for file in side.files)} ({'; '.join(filter(None, [', '.join(side.dialects), releases]))})"


def _value(fact: ReportedFact) -> str:
    if fact.origin["kind"] == "unknown" and fact.value is None:
        return "?" if fact.origin.get("reason") != "it is not set" else "(not set)"
    return shown(fact.value, 40)


def _origins(one: Difference) -> str:
    a, b = reference(one.a), reference(one.b)
    return a if a == b else f"{a} → {b}"
