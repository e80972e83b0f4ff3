"""`stablint show`: every effective setting of a run, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from stablint.base.language import gettext, ngettext
from stablint.report.model import ReportedFact
from stablint.report.origin import reference
from stablint.report.plain import Style, jsonable, named, plain, shown, to_json
from stablint.report.words import columns
from stablint.secrets.masking import mask

_SETTING_COLUMNS = 64
# What a run comes to (commands/run_summary.py), in its order.
_LABELS = (
    "framework", "releases", "training", "method", "objective", "precision", "learning rate", "steps", "effective batch", "warm-up steps", "sharding",
    "checkpoints", "GPU",
)  # fmt: skip

_LAST = frozenset(["derived", "launch", "model", "target", "versions"])  # what is no setting stands behind the settings


class RunShow(NamedTuple):
    """`summary` is what the run will do, in words and in order: `{"method": "lora", "steps": "1,250"}`."""

    files: tuple[str, ...]
    dialects: tuple[str, ...]
    facts: tuple[ReportedFact, ...]
    summary: Mapping[str, str]


def render(
    runs: Sequence[RunShow], *, color: bool = False, secrets: frozenset[str] = frozenset(), whole: bool = True
) -> str:
    """`secrets` are masked before long values are cut. `whole`: with what rules ask for besides, which is worked out from the settings."""
    style = Style(color)
    return "\n".join("".join(f"{line}\n" for line in _run(run, style, secrets, whole)) for run in runs)


def render_json(runs: Sequence[RunShow]) -> str:
    return to_json(
        {
            "schema_version": 1,
            "runs": [
                {
                    "files": list(run.files),
                    "dialects": list(run.dialects),
                    "summary": dict(run.summary),
                    "facts": [
                        {"name": fact.name, "value": jsonable(fact.value), "origin": jsonable(fact.origin)}
                        for fact in run.facts
                    ],
                }
                for run in runs
            ],
        }
    )


def _run(run: RunShow, style: Style, secrets: frozenset[str], whole: bool) -> Iterator[str]:
    files = named(", ".join(plain(file) for file in run.files))
    yield style.paint("bold", f"{files} ({', '.join(run.dialects)})")
    labels = {name: gettext(name) for name in run.summary}
    longest = max(map(columns, labels.values()), default=0)
    for name, words in run.summary.items():
        yield f"  {labels[name]}{' ' * (longest - columns(labels[name]))}  {plain(words)}"
    told = [fact for fact in run.facts if whole or _namespace(fact) != "derived"]
    ordered = sorted(told, key=lambda fact: (_namespace(fact) in _LAST, _namespace(fact), fact.name))
    for namespace, facts in groupby(ordered, key=_namespace):
        yield ""
        yield f"  {style.paint('bold', plain(namespace))}"
        yield from _aligned(
            [(f"{plain(fact.name)} = {_value(fact, secrets)}", reference(fact)) for fact in facts], style
        )
    if rest := len(run.facts) - len(told):
        yield ""
        more = ngettext(
            "{number} fact more that rules ask for is worked out from these: --all prints it",
            "{number} facts more that rules ask for are worked out from these: --all prints them",
            rest,
        )
        yield f"  {style.paint('dim', more.format(number=rest))}"


def _namespace(fact: ReportedFact) -> str:
    return fact.name.partition(".")[0]


def _value(fact: ReportedFact, secrets: frozenset[str]) -> str:
    if fact.origin["kind"] == "unknown":
        return "?"
    value: Any = fact.value
    return shown(mask(value, secrets) if isinstance(value, str) else value)


def _aligned(rows: list[tuple[str, str]], style: Style) -> Iterator[str]:
    """Origins in one column, as far as most settings fit in front of it."""
    width = min(max(len(setting) for setting, _ in rows), _SETTING_COLUMNS)
    for setting, origin in rows:
        yield f"    {setting:<{width}}   {style.paint('dim', origin)}"
