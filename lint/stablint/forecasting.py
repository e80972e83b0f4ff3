"""`stablint fit`: how much memory a run needs on a card, and what would make it fit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import NamedTuple

from stablint.assemble.asked import Options
from stablint.cli import CLEAN, FOUND, WRONG
from stablint.discover import NoSuchPath, Roots
from stablint.fitting import data, text
from stablint.fitting.answer import FITS, NOT, UNKNOWN, Told, answer
from stablint.fitting.remedies import Remedy, remedies
from stablint.fix.apply import Repaired
from stablint.inspect import Inspection, effective, inspect
from stablint.options import Wrong
from stablint.outputs import tell_faults, wants_color
from stablint.repairing import interrupted, recover, write
from stablint.report.plain import to_json
from stablint.run.world import World
from stablint.secrets import exit
from stablint.source.edit import apply

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
    try:
        found, forecasts = forecast(given.paths, options)
    except NoSuchPath as error:
        raise Wrong(f"`{error}` does not exist") from error
    tell_faults(found)
    exit.learn(found.secrets)
    if given.output_format == "json":
        rows = [data.as_data(one.files, one.told, one.remedies) for one in forecasts]
        exit.hand_over(to_json(rows[0] if len(rows) == 1 else {"schema_version": 1, "runs": rows}))
    else:
        color = wants_color(given.color)
        exit.say("\n".join(text.render(one.files, one.world, [(one.told, one.remedies)], color=color) for one in forecasts))  # fmt: skip
    if given.apply is not None:
        return _apply(given, options, found, forecasts, base)
    return WRONG if found.report.internal_errors else _code(forecasts)


def _code(forecasts: Sequence[Forecast]) -> int:
    return _CODES[data.worst([one.told.verdict for one in forecasts])]


def forecast(paths: list[str], options: Options) -> tuple[Inspection, list[Forecast]]:
    """Every run under the paths on every card that is named. Raises discover.NoSuchPath, Wrong where there is no run or no card."""
    found = inspect(paths, options)
    if not found.runs:
        raise Wrong("no training configuration: nothing to tell the memory of")
    if not options.gpus:
        raise Wrong('name the card: --gpu "RTX 4090", --gpu "A100-80GB x4" or --gpu auto')
    forecasts = []
    for run in found.runs:
        world = effective(run)
        told = answer(world, run.target)
        offered = [one for one in remedies(world, told) if _holds(paths, options, found, run.id, told, one)]
        forecasts.append(Forecast(run.files, world, told, tuple(offered)))
    return found, forecasts


def _holds(paths: list[str], options: Options, before: Inspection, run: str, told: Told, one: Remedy) -> bool:
    """Whether the changed text gives the promised peak, and draws no finding that was not there. What is done by hand is not read back."""
    if not one.files:
        return True
    texts = {file.text.path: file.text._replace(text=apply(file.text.text, file.edits)) for file in one.files}
    after = inspect(paths, options, texts=texts, earlier=before)
    known = {(d.rule, d.text.name if d.text else "") for d in before.report.diagnostics}
    new = [
        d
        for d in after.report.diagnostics
        if d.severity != "info" and d.suppressed is None and (d.rule, d.text.name if d.text else "") not in known
    ]
    same = next((other for other in after.runs if other.id == run and other.target == told.target), None)
    if new or same is None:
        return False
    again = answer(effective(same), told.target)
    return again.estimate is not None and abs(again.peak[1] - one.peak[1]) < 0.01 * one.peak[1]


def _apply(given: argparse.Namespace, options: Options, found: Inspection, forecasts: list[Forecast], base: str) -> int:
    """Write the remedy of that number; the run that it belongs to must be the only one."""
    if len(forecasts) != 1:
        raise Wrong("--apply needs one run on one card: name one file and one --gpu")
    (one,) = forecasts
    if not 1 <= given.apply <= len(one.remedies):
        raise Wrong(f"--apply {given.apply}: there {'is' if len(one.remedies) == 1 else 'are'} {len(one.remedies)} to choose from")  # fmt: skip
    chosen = one.remedies[given.apply - 1]
    if not chosen.files:
        raise Wrong(f"--apply {given.apply}: the text cannot take it; by hand: {_by_hand(chosen)}")
    roots = Roots(given.paths, base).of if options.root is None else lambda path: str(options.root)
    recover(given.paths, base, roots)
    texts = {file.text.path: file.text._replace(text=apply(file.text.text, file.edits)) for file in chosen.files}
    done = Repaired(texts, {file.text.path: file.text for file in chosen.files}, found, 1, (), repairs=(tuple(texts),))
    changed: list[str] = []
    try:
        done = write(done, base, roots, (), changed, lambda: found)
    except KeyboardInterrupt as error:
        raise interrupted(error, changed, base) from None
    for path in changed:
        exit.tell(f"{os.path.relpath(path, base)}: {chosen.title}")
    if done.unwritten:
        return WRONG
    return _CODES[chosen.verdict]


def _by_hand(chosen: Remedy) -> str:
    return ", ".join(f"{name.partition('.')[2]}: {value}" for name, value in chosen.facts.items())
