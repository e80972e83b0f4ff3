"""A setting under the cursor: what it comes to, where that is from, and what it means for the run. And what the run comes to, in the margin."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import Hover, InlayHint, MarkupContent, MarkupKind

from stablint.base.knowledge import rows
from stablint.base.language import gettext, told, translated
from stablint.engine.diagnostics import reported
from stablint.fitting.answer import answer
from stablint.fitting.text import VERDICTS
from stablint.policy import is_about
from stablint.report.markdown import for_editor, span_of
from stablint.report.origin import reference, releases
from stablint.report.plain import shown
from stablint.report.said import clean, finding, reason
from stablint.report.words import grade, severity
from stablint.run.fact import ABSENT, Derived, Explicit, Fact, Statement, is_unknown
from stablint.run.releases.allowed import known_keys
from stablint.run.releases.pep440 import text_of
from stablint.run.releases.taken import release_of
from stablint.run.world import Run, World
from stablint.server.offering import names
from stablint.server.places import position, span
from stablint.server.session import Checked, at, statements, worlds


def hover(checked: Checked, path: str, offset: int) -> Hover | None:
    """None where neither a setting stands nor anything is found."""
    hit = at(statements(checked, path), offset)
    if not hit:
        return _found_at(checked, path, offset)
    secrets = checked.secrets
    first = hit[0][1]
    assert isinstance(first.origin, Explicit)
    place = first.origin.place
    text = place.document.text.text
    start, end = place.entry.key_start if place.entry is not None else place.start, place.end
    lines = [*_told(checked, path, first, secrets), *_findings(checked, path, start, end)]
    return Hover(MarkupContent(MarkupKind.Markdown, "\n\n".join(lines)), span(text, start, max(end, start)))


def _found_at(checked: Checked, path: str, offset: int) -> Hover | None:
    """What is found where no setting stands: a key that is said twice, a line that no parser reads."""
    lines = list(_findings(checked, path, offset, offset))
    return Hover(MarkupContent(MarkupKind.Markdown, "\n\n".join(lines))) if lines else None


def _findings(checked: Checked, path: str, start: int, end: int) -> Iterator[str]:
    """What is found within a span, why, and how sure that is."""
    why = rows("texts")
    for found in checked.inspection.report.diagnostics:
        here = found.suppressed is None and found.text is not None and found.text.path == path
        if here and (
            start <= found.start <= end or start <= found.end <= end or found.start <= start <= end <= found.end
        ):
            because = for_editor(reason(translated(found.rule, why.get(found.rule, {}))))
            shows = gettext("evidence: {grade}").format(grade=grade(str(found.evidence.get("grade", ""))))
            said = for_editor(finding(found, checked.secrets))
            yield f"**{severity(found.severity)} {found.code}** {said}\n\n{because} _({shows})_"


def _told(checked: Checked, path: str, one: Statement, secrets: frozenset[str]) -> Iterator[str]:
    assert isinstance(one.origin, Explicit)
    setting = clean(one.origin.place.setting, secrets)
    world = next((world for run, world in worlds(checked, path) if one.fact in run.explicit), None)
    if world is None:
        yield f"**{for_editor(setting)}**"
    else:
        yield from _of_run(checked, path, world, one, setting, secrets)


def _of_run(
    checked: Checked, path: str, world: World, one: Statement, setting: str, secrets: frozenset[str]
) -> Iterator[str]:
    fact = world.fact(one.fact)
    yield f"**{for_editor(setting)}** = {_value(fact, secrets)}"
    place = clean(reference(reported(fact)), secrets)
    place = span_of(place) if isinstance(fact.origin, Explicit) else for_editor(place)
    if isinstance(fact.origin, Explicit) and isinstance(one.origin, Explicit) and fact.origin.place != one.origin.place:
        yield gettext("What counts is {place}.").format(place=place)
    elif one.fact.rpartition(".")[2] != setting.rpartition(".")[2] and not one.fact.startswith("keys."):
        yield gettext("It sets {fact}, from {place}.").format(fact=span_of(one.fact), place=place)
    else:
        yield gettext("It comes from {place}.").format(place=place)
    default = world.default(one.fact)
    if default.value is not ABSENT and not is_unknown(default.value):
        origin = reported(default).origin
        value = span_of(shown(default.value))
        if origin["kind"] == "default":
            where = releases(origin["library"], origin["releases"])
            yield gettext("Left out, it is {value} {where}.").format(value=value, where=where)
        else:
            yield gettext("Left out, it is {value}.").format(value=value)
    elif usual := _usual(checked, path, setting, world.run):
        yield usual
    if by_release := _by_release(checked, path, setting, world.run):
        yield by_release
    follows = [f"- {gettext(words)}: {_value(fact, secrets)}" for words, fact in _following(world, one.fact)]
    if follows:
        yield gettext("For the run:") + "\n\n" + "\n".join(follows)
    if rules := _rules(one.fact, world.run.framework or ""):
        more = ["- …"] if len(rules) > _MOST else []
        yield gettext("Rules that look at it:") + "\n\n" + "\n".join([*rules[:_MOST], *more])


def _usual(checked: Checked, path: str, setting: str, run: Run) -> str:
    """The default of the class that declares a setting, where what this run falls back on is not known: a program may say something else."""
    for word in names(checked.inspection.files.fragments(path), run.releases, tuple(setting.split(".")[:-1])):
        declared = word.declared
        release = release_of(run.releases, declared.library) if declared is not None and word.name == setting else None
        if declared is not None and release is not None:
            default = declared.default_at(release)[1]
            known = default is not ABSENT and not is_unknown(default)
            where = f"{declared.library_class}.{declared.name}"
            return (
                gettext("The default of `{where}` is {value} ({library} {release}).").format(
                    where=where, value=span_of(shown(default)), library=declared.library, release=text_of(release)
                )
                if known
                else ""
            )
    return ""


_MOST = 4  # defaults and rules that are told


def _by_release(checked: Checked, path: str, setting: str, run: Run) -> str:
    """The defaults that the class has had, the newest first, where there was more than one."""
    section = tuple(setting.split(".")[:-1])
    declared = next(
        (
            word.declared
            for word in names(checked.inspection.files.fragments(path), run.releases, section)
            if word.name == setting and word.declared is not None
        ),
        None,
    )
    if declared is None:
        return ""
    rows = []
    for exists, default, members in declared.over(known_keys(declared.library)):
        value = span_of(shown(default)) if exists and default is not ABSENT and not is_unknown(default) else ""
        if not exists:
            value = gettext("not there")
        if value:
            rows.append(
                gettext("{value} from {first} to {last}").format(
                    value=value, first=text_of(members[0]), last=text_of(members[-1])
                )
            )
    if len(rows) < 2:
        return ""
    more = ["…"] if len(rows) > _MOST else []
    return gettext("By release of {library}: {rows}.").format(
        library=declared.library, rows="; ".join([*rows[:_MOST], *more])
    )


def _rules(name: str, framework: str) -> list[str]:
    """The rules that are told at a fact of such a run, the loudest first."""
    order = ("error", "warning")
    found = [
        (order.index(text["severity"]), str(text["code"]), translated(rule, text))
        for rule, text in rows("texts").whole().items()
        if text.get("at") == name and text["severity"] in order and is_about(text, framework)
    ]
    return [
        f"- {code} {severity(order[rank])}: {for_editor(str(text['title']))}"
        for rank, code, text in sorted(found, key=lambda row: row[:2])
    ]


# What is worth telling of what follows from a setting, in words.
_CONSEQUENCES = {
    "derived.effective_batch": "rows a step, over all processes",
    "derived.batch_per_device": "rows a step of each process",
    "derived.total_steps": "steps",
    "derived.warmup_steps": "steps of warm-up",
    "derived.method": "what is trained",
    "derived.objective": "objective",
    "derived.compute_dtype": "computed in",
    "derived.zero_stage": "ZeRO stage",
    "derived.checkpointing": "activations are computed anew",
    "derived.effective_lora_rate": "rate times the adapter's scale",
    "derived.weights_per_card_gib": "GiB of weights on a card",
}


# What is told beside a setting though it follows from others.
_BESIDE = {"training.learning_rate": {"derived.learning_rate_band": "rates that published runs of this kind have"}}


def _following(world: World, name: str) -> Iterator[tuple[str, Fact]]:
    """What is worked out from a setting, as far as it is known."""
    beside = _BESIDE.get(name, {})
    for derived, words in (beside | _CONSEQUENCES).items():
        fact = world.fact(derived)
        known = fact.value is not ABSENT and not is_unknown(fact.value)
        if known and (derived in beside or (isinstance(fact.origin, Derived) and name in fact.origin.facts)):
            yield words, fact


def _value(fact: Fact, secrets: frozenset[str]) -> str:
    if is_unknown(fact.value):
        return span_of(gettext("not known: {why}").format(why=clean(told(str(fact.value.reason)), secrets)))
    return span_of(
        clean(shown(reported(fact).value), secrets)
    )  # as `show` tells it: a word behind a key of somebody's own stays hidden


# Behind which setting what the run comes to is shown: the first that is known.
_HINTS = {
    "training.per_device_train_batch_size": ("derived.effective_batch", "derived.batch_per_device"),
    "training.num_train_epochs": ("derived.total_steps",),
    "training.warmup_ratio": ("derived.warmup_steps",),
}
_UNITS = {
    "derived.effective_batch": "= {number} rows a step",
    "derived.batch_per_device": "= {number} rows a step of each process",
    "derived.total_steps": "= {number} steps",
    "derived.warmup_steps": "= {number} steps of warm-up",
}
_MODEL = "model.name_or_path"


def hints(checked: Checked, path: str, start: int, end: int) -> list[InlayHint]:
    """The effective batch, the steps, and with a GPU in the settings the peak of memory behind the model's name."""
    found: list[InlayHint] = []
    several = list(worlds(checked, path))
    if len({run.id for run, _ in several}) != 1:
        return found  # of several runs each comes to something else
    world = several[0][1]
    done: set[str] = set()
    for _, one in statements(checked, path):
        assert isinstance(one.origin, Explicit)
        place = one.origin.place
        if one.fact in done or not start <= place.end <= end:
            continue
        words = _peak(several) if one.fact == _MODEL else _sum(world, one.fact)
        if words:
            done.add(one.fact)
            found.append(InlayHint(position(place.document.text.text, place.end), f"  {words}", padding_left=True))
    return found


def _sum(world: World, name: str) -> str:
    """The first that is known."""
    for derived in _HINTS.get(name, ()):
        value = world.fact(derived).value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return gettext(_UNITS[derived]).format(number=shown(value))
    return ""


def _peak(several: list[tuple[Run, World]]) -> str:
    told = []
    for run, world in several:
        if run.target:
            answered = answer(world, run.target)
            if answered.estimate is not None:
                low, usual, high = answered.peak
                told.append(f"{run.target}: {_range(low, usual, high)}, {gettext(VERDICTS[answered.verdict])}")
    return "; ".join(told)


_WIDE = 8  # where the ends are so many times apart, the middle says nothing


def _range(low: float, usual: float, high: float) -> str:
    if high > _WIDE * low:
        return f"{gettext('{low} to {high}').format(low=f'{low:.0f}', high=f'{high:.0f}')} GiB"
    return f"{usual:.1f} GiB ({gettext('{low} to {high}').format(low=f'{low:.1f}', high=f'{high:.1f}')})"
