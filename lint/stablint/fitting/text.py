"""`stablint fit` for people: components as bars, the moment of the peak, and what would make it fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stablint.base.language import gettext
from stablint.fitting.answer import BECAUSE, FITS, NOT, TIGHT, UNKNOWN, Told, decides
from stablint.fitting.data import on_node
from stablint.fitting.remedies import Remedy
from stablint.fitting.terms import GIB
from stablint.memory.predict import EVALUATION
from stablint.report.plain import Style, named, plain
from stablint.report.words import columns
from stablint.run.fact import Supplied
from stablint.run.world import World

_INSTEAD = "--model "
_BAR = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
_COLOUR = {FITS: "added", TIGHT: "warning", NOT: "error", UNKNOWN: "info"}
VERDICTS = {FITS: "fits", TIGHT: "tight", NOT: "does not fit", UNKNOWN: "cannot be said"}
# What is looked up by its name.
_NAMES, _REASONS = (*BECAUSE,), tuple(words for words, _ in BECAUSE.values())
_BEYOND = 10  # times what the card has: by how much it is too much then tells nobody anything
_LEAST = 0.05  # GiB: what is smaller has no line


def render(files: Sequence[str], world: World, told: Sequence[tuple[Told, Sequence[Remedy]]], *, color: bool) -> str:
    style = Style(color)
    lines = [
        style.paint(
            "bold", f"{named(', '.join(plain(file) for file in files))}  {plain(_summary(world, told[0][0] if told else None))}"
        )
    ]  # fmt: skip
    for one, remedies in told:
        lines += [*_target(one, world, style), *_remedies(one, remedies, style)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _summary(world: World, told: Told | None) -> str:
    model, method, framework = (
        world.value(name) for name in ("model.name_or_path", "derived.method", "derived.framework")
    )
    known = world.fact("model.parameters").origin
    if isinstance(known, Supplied) and known.option.startswith(
        _INSTEAD
    ):  # of a model that is asked about in place of the file's
        model = known.option.removeprefix(_INSTEAD)
    words = [str(one) for one in (model, method, framework) if isinstance(one, str)]
    if told is not None and told.reading is not None:
        words.append(told.reading.start)
    return ", ".join(words)


def _target(told: Told, world: World, style: Style) -> Iterator[str]:
    room = f" ({told.usable:.1f} {gettext('usable')})" if told.usable is not None else ""
    if told.estimate is None:
        yield f"  {plain(told.target)}{room}: {style.paint(_COLOUR[told.verdict], gettext(VERDICTS[told.verdict]))}: {plain(told.why)}"
        return
    yield f"  {plain(told.target)}{room}    {gettext('peak at:')} {gettext(told.estimate.moment)}"
    largest = max(told.estimate.components.values())
    for name, size in sorted(told.estimate.components.items(), key=lambda item: -item[1]):
        if size / GIB >= _LEAST:
            yield f"    {_cell(gettext(name))}{size / GIB:>7.1f} GiB  {_bar(size / largest):<{_BAR}}  {plain(_because(name, told, world))}"
    least, usual, _ = told.peak
    low, _, high = told.likely
    word = style.paint(_COLOUR[told.verdict], gettext(VERDICTS[told.verdict]))
    more = decides(told)
    ends = gettext("{low} to {high}").format(low=f"{low:.1f}", high=f"{high:.1f}")
    if told.usable is not None and high > _BEYOND * told.usable:
        ends = gettext("{low} and more").format(low=f"{low:.1f}")
    if low - least > _LEAST:
        ends += gettext("; at least {least}").format(least=f"{least:.1f}")
    yield f"    {_cell(gettext('peak'))}{usual:>7.1f} GiB  ({ends})  {word}{f': {more}' if more else ''}"
    if told.estimate.host:
        yield f"    {_cell(gettext('host memory'))}{told.estimate.host / GIB:>7.1f} GiB  {_processes(told)}"
    if told.rows is not None:
        yield f"    {_cell(gettext('batch'))}{told.rows:>7}      {_rows(told.rows)}"
    for text in told.reading.assumptions if told.reading is not None else ():
        yield style.paint("dim", f"    {gettext('assumed:')} {plain(text)}")


def _processes(told: Told) -> str:
    count = on_node(told)
    if count == 1 or told.estimate is None:
        return gettext("for each process")
    return gettext("for each process: {size} GiB for {processes} on one machine").format(
        size=f"{told.estimate.host * count / GIB:.1f}", processes=count
    )


def _rows(rows: int) -> str:
    if not rows:
        return gettext("not even one row at a time surely fits")
    return gettext("the most rows at a time that fit, all of them at their longest")


def _cell(text: str, width: int = 13) -> str:
    return text + " " * (width - columns(text))


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _because(name: str, told: Told, world: World) -> str:
    assert told.reading is not None
    plan = told.reading.plan
    shape, tokens = plan.shape, plan.rows * plan.length.usual
    if name == "weights":
        size = gettext("{number} billion parameters").format(number=f"{shape.parameters / 1e9:.2f}")
        shares = plan.sharding.weights
        return f"{size}, {plan.weights}" + (
            f", {gettext('one of {number} shares').format(number=shares)}" if shares > 1 else ""
        )
    if name == "activations":
        kept = gettext("block inputs and one block") if plan.checkpointed else gettext("everything in every block")
        return f"{kept}, " + gettext("{blocks} blocks x {tokens} tokens").format(
            blocks=shape.layers, tokens=f"{tokens:,.0f}"
        )
    if name == "logits" and plan.loss == "none":
        return gettext("a head of one value a row")
    if name == "logits":
        evaluates = told.estimate is not None and told.estimate.moment == EVALUATION
        how = "" if plan.loss == "full" or evaluates else f", {plan.loss} loss"
        return (
            gettext("{rows} x {tokens} tokens x {words} words").format(
                rows=plan.evaluated if evaluates else plan.rows,
                tokens=f"{plan.length.usual * plan.scored:,.0f}",
                words=f"{shape.vocab:,}",
            )
            + how
        )
    if name == "optimizer":
        value = world.value("training.optim")
        return value if isinstance(value, str) else gettext("AdamW's states, or less")
    if name == "adapters":
        return gettext("{number} million parameters, rank {rank}").format(
            number=f"{(plan.trained + plan.copied) / 1e6:,.0f}", rank=plan.rank
        )
    return gettext(BECAUSE[name][0])


def _remedies(told: Told, remedies: Sequence[Remedy], style: Style) -> Iterator[str]:
    if not remedies:
        return
    yield "  " + gettext("What would make it fit, cheapest first")
    width = max(columns(one.title) for one in remedies)
    for number, one in enumerate(remedies, 1):
        low, usual, high = (f"{size:.1f}" for size in one.likely)
        peak = f"{usual} ({gettext('{low} to {high}').format(low=low, high=high)})"
        word = style.paint(_COLOUR[one.verdict], gettext(VERDICTS[one.verdict]))
        hand = "" if one.files else f"; {gettext('by hand')}"
        yield f"    {number} {_cell(plain(one.title), width)}  {peak:>20} GiB  {word}; {one.cost}{hand}"
