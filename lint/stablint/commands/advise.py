"""`stablint advise`: what would be better in a run that works, each with its edit, what it brings, and how that is known."""

from __future__ import annotations

import argparse
import os
from typing import NamedTuple

from stablint.advising import data, text
from stablint.advising.asking import Idea, changed_by, ideas
from stablint.advising.judging import proposal, ranked
from stablint.advising.model import MOST, Proposal
from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.commands import repairs
from stablint.commands.fit import chosen, draws_nothing_new, holds, reread, write_files
from stablint.commands.outputs import tell_faults, tell_untried, wants_color, why_none
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN, WRONG
from stablint.engine.inspect import Inspection, effective, inspect
from stablint.files.discover import NoSuchPath
from stablint.fitting.answer import Told, answer
from stablint.fitting.remedies import remedies, with_facts
from stablint.report.plain import to_json
from stablint.run.world import World
from stablint.secrets import exit


class Counsel(NamedTuple):
    """What there is to say of one run on one card."""

    files: tuple[str, ...]
    target: str
    proposals: tuple[Proposal, ...]


def run_advise(given: argparse.Namespace, options: Options) -> int:
    """0 whether or not there is something to improve, 2 where nothing could be read, or what --apply names could not be written."""
    base = os.getcwd()
    if given.apply is not None:
        repairs.undo_half_done(given.paths, options, base)
    try:
        found, counsels = advise(given.paths, options)
    except NoSuchPath as error:
        raise Wrong(gettext("`{path}` does not exist").format(path=error)) from error
    tell_faults(found)
    tell_untried(found)
    exit.learn(found.secrets)
    if given.output_format == "json":
        rows = [data.as_data(*one) for one in counsels]
        exit.hand_over(to_json({"schema_version": 1, "runs": rows}))
    else:
        color = wants_color(given.color)
        exit.say("\n".join(text.render(*one, color=color) for one in counsels))
    if given.apply is not None:
        return _apply(given, options, found, counsels, base)
    return WRONG if found.report.incomplete else CLEAN


def advise(paths: list[str], options: Options) -> tuple[Inspection, list[Counsel]]:
    """Every run under the paths on every card that is named. Raises discover.NoSuchPath, Wrong where there is no run."""
    found = inspect(paths, options)
    if not found.runs:
        raise Wrong(gettext("{files}: nothing to improve").format(files=why_none(found)))
    counsels = []
    for run in found.runs:
        world = effective(run)
        told = answer(world, run.target)
        proposals = []
        for several in ideas(run, world, told, changed_by(found.findings, run)):
            tried = (_tried(paths, options, found, world, told, one) for one in several)
            best = next(filter(None, tried), None)
            proposals += [best] if best is not None else []
        offered = [one for one in remedies(world, told) if holds(paths, options, found, run.id, told, one)]
        told_ones = ranked(proposals, offered, told, MOST)
        counsels.append(Counsel(run.files, run.target, tuple(told_ones)))
    return found, counsels


def _tried(
    paths: list[str], options: Options, found: Inspection, world: World, told: Told, idea: Idea
) -> Proposal | None:
    """The idea in the run as it would be: read again from the changed text, else worked out from the facts, and linted either way."""
    if idea.files:
        after = reread(paths, options, found, world.run.id, told.target, idea.files)
    else:
        after = with_facts(world, idea.facts) if draws_nothing_new(world, idea.facts) else None
    return proposal(idea, world, after, told, answer(after, told.target)) if after is not None else None


def _apply(given: argparse.Namespace, options: Options, found: Inspection, counsels: list[Counsel], base: str) -> int:
    """Write the proposal of that number."""
    one = chosen(given.apply, [counsel.proposals for counsel in counsels])
    if not one.files:
        raise Wrong(
            gettext("--apply {apply}: to be done by hand: {by_hand}").format(apply=given.apply, by_hand=one.by_hand)
        )
    return CLEAN if write_files(given.paths, options, found, one.files, one.title, base) else WRONG
