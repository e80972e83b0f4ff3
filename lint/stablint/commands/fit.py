"""`stablint fit`: how much memory a run needs on a card, and what would make it fit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from stablint.assemble.asked import Options
from stablint.base.language import gettext, ngettext
from stablint.commands import repairs
from stablint.commands.outputs import skipped, tell_faults, tell_untried, wants_color, why_none, write_picture
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN, FOUND, WRONG
from stablint.engine import repair
from stablint.engine.inspect import Inspection, effective, inspect
from stablint.files.discover import NoSuchPath
from stablint.fitting import data, text
from stablint.fitting import picture as fit_picture
from stablint.fitting.answer import FITS, NOT, UNKNOWN, Told, answer
from stablint.fitting.batch import most_rows
from stablint.fitting.remedies import Remedy, remedies, with_facts
from stablint.hazard.model import load as hazards
from stablint.hazard.verdict import check
from stablint.report.model import FileEdits
from stablint.report.plain import to_json
from stablint.run.world import Run, World
from stablint.secrets import exit
from stablint.syntax.edit import apply

_Change = TypeVar("_Change")
_CODES = {FITS: CLEAN, "tight": CLEAN, NOT: FOUND, UNKNOWN: WRONG}


class Forecast(NamedTuple):
    """One run on one card."""

    files: tuple[str, ...]
    world: World
    told: Told
    remedies: tuple[Remedy, ...]


def run_fit(given: argparse.Namespace, options: Options) -> int:
    """0 fits or tight, 1 does not fit, 2 nothing can be said."""
    base = os.getcwd()
    if given.apply is not None:
        repairs.undo_half_done(given.paths, options, base)
    try:
        found, forecasts = forecast(given.paths, options)
    except NoSuchPath as error:
        raise Wrong(gettext("`{path}` does not exist").format(path=error)) from error
    tell_faults(found)
    tell_untried(found)
    exit.learn(found.secrets)
    if given.output_format == "json":
        rows = [data.as_data(one.files, one.told, one.remedies) for one in forecasts]
        exit.hand_over(to_json(rows[0] if len(rows) == 1 else {"schema_version": 1, "runs": rows}))
    else:
        color = wants_color(given.color)
        exit.say("\n".join(text.render(one.files, one.world, [(one.told, one.remedies)], color=color) for one in forecasts))  # fmt: skip
    if given.plot:
        picture = fit_picture.draw([(one.files, one.told) for one in forecasts])
        if picture is None:
            raise Wrong(
                gettext("--plot {plot}: nothing is known of the memory of {names}").format(
                    plot=given.plot, names=", ".join(forecasts[0].files)
                )
            )
        write_picture(given.plot, picture, skipped(found))
    if given.apply is not None:
        return _apply(given, options, found, forecasts, base)
    return WRONG if found.report.incomplete else _code(forecasts)


def _code(forecasts: Sequence[Forecast]) -> int:
    return _CODES[data.worst([one.told.verdict for one in forecasts])]


def forecast(paths: list[str], options: Options) -> tuple[Inspection, list[Forecast]]:
    """Every run under the paths on every card that is named. Raises discover.NoSuchPath, Wrong where there is no run or no card."""
    found = inspect(paths, options)
    if not found.runs:
        raise Wrong(gettext("{files}: nothing to tell the memory of").format(files=why_none(found)))
    if not options.gpus:
        raise Wrong(gettext('name the card: --gpu "RTX 4090", --gpu "A100-80GB x4", --gpu auto, or --gpu-memory 20'))
    forecasts = []
    for run in found.runs:
        world = effective(run)
        told = answer(world, run.target)
        told = told._replace(rows=most_rows(world, told))
        offered = [one for one in remedies(world, told) if holds(paths, options, found, run.id, told, one)]
        forecasts.append(Forecast(run.files, world, told, tuple(offered)))
    return found, forecasts


def holds(paths: list[str], options: Options, before: Inspection, run: str, told: Told, one: Remedy) -> bool:
    """Whether the changed text gives the promised peak, and draws no finding that was not there. What is done by hand is linted by its facts."""
    if not one.files:
        return draws_nothing_new(effective(before_run(before, run, told.target)), one.facts)
    world = reread(paths, options, before, run, told.target, one.files)
    again = answer(world, told.target) if world is not None else None
    return again is not None and again.estimate is not None and abs(again.peak[1] - one.peak[1]) < 0.01 * one.peak[1]


def before_run(before: Inspection, run: str, target: str) -> Run:
    return next(one for one in before.runs if (one.id, one.target) == (run, target))


_A_TRIAL = 2_000  # characters that reading a file again counts for, however short it is
# A stage of ZeRO comes with a DeepSpeed file, whatever it is called.
_WITH_STAGE = {"training.deepspeed": "ds_config.json"}


def draws_nothing_new(world: World, facts: Mapping[str, Any]) -> bool:
    """Whether the run with these settings, which no text takes, draws no warning and no error that it does not draw now."""
    more = (
        _WITH_STAGE
        if "deepspeed.zero_optimization.stage" in facts and not world.is_stated("training.deepspeed")
        else {}
    )
    known = {one.hazard.id for one in check(world.run, hazards())[0]}
    found, _ = check(with_facts(world, {**facts, **more}).run, hazards())
    return all(one.severity == "info" or one.hazard.id in known for one in found)


def reread(
    paths: list[str], options: Options, before: Inspection, run: str, target: str, files: tuple[FileEdits, ...]
) -> World | None:
    """The run as the changed texts make it; None where they draw a finding that was not there, or there is no such run any more, and where
    the files were read again so often that no more is tried."""
    purse = before.files.kept.changed
    if not all(purse.spend(file.text.path, len(file.text.text) + _A_TRIAL) for file in files):
        return None
    texts = {file.text.path: file.text._replace(text=apply(file.text.text, file.edits)) for file in files}
    after = inspect(paths, options, texts=texts, earlier=before)
    known = {(d.rule, d.text.name if d.text else "") for d in before.report.diagnostics}
    new = [
        d
        for d in after.report.diagnostics
        if d.severity != "info" and d.suppressed is None and (d.rule, d.text.name if d.text else "") not in known
    ]
    same = next((other for other in after.runs if other.id == run and other.target == target), None)
    return None if new or same is None else effective(same)


def _apply(given: argparse.Namespace, options: Options, found: Inspection, forecasts: list[Forecast], base: str) -> int:
    """Write the remedy of that number."""
    one = chosen(given.apply, [forecast.remedies for forecast in forecasts])
    if not one.files:
        raise Wrong(
            gettext("--apply {apply}: no file at hand has a place for it; by hand: {how}").format(
                apply=given.apply, how=_by_hand(one)
            )
        )
    if not write_files(given.paths, options, found, one.files, one.title, base):
        return WRONG
    return _CODES[one.verdict]


def chosen(number: int, runs: Sequence[Sequence[_Change]]) -> _Change:
    """The change of that number; the run that it is offered to must be the only one. Raises Wrong."""
    if len(runs) != 1:
        raise Wrong(gettext("--apply needs one run on one card: name one file and one --gpu"))
    (offered,) = runs
    if not 1 <= number <= len(offered):
        raise Wrong(
            ngettext(
                "--apply {number}: there is {offered} to choose from",
                "--apply {number}: there are {offered} to choose from",
                len(offered),
            ).format(number=number, offered=len(offered))
        )
    return offered[number - 1]


def write_files(
    paths: list[str], options: Options, found: Inspection, files: tuple[FileEdits, ...], title: str, base: str
) -> bool:
    """Write the edits of one change, all of them or none, and say which files have changed. False where something could not be written."""
    root = repairs.roots(paths, base, options)
    texts = {file.text.path: file.text._replace(text=apply(file.text.text, file.edits)) for file in files}
    done = repair.Repaired(texts, {file.text.path: file.text for file in files}, found, 1, (), repairs=(tuple(texts),))
    changed: list[str] = []
    try:
        done = repairs.write(done, base, root, (), changed, lambda: found)
    except KeyboardInterrupt as error:
        raise repairs.interrupted(error, changed, base) from None
    for path in changed:
        exit.tell(f"{os.path.relpath(path, base)}: {title}")
    return not done.unwritten


def _by_hand(chosen: Remedy) -> str:
    return ", ".join(f"{name.partition('.')[2]}: {value}" for name, value in chosen.facts.items())
