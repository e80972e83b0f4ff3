"""`stablint diagnose --fix`: the repairs of what a log has shown to be the cause, by the rules of `check --fix`, and no others."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import cache

from stablint.commands.check import print_patch
from stablint.commands.diagnose import Diagnosis
from stablint.commands.outputs import tell_faults
from stablint.commands.repairs import interrupted, roots, write
from stablint.config.spec import CLEAN, FOUND, WRONG
from stablint.engine.inspect import inspect
from stablint.engine.repair import Repaired, repair
from stablint.fix.exchange import closed
from stablint.hazard import model as hazards
from stablint.log.cause import POSSIBLE, Cause
from stablint.report.model import Diagnostic
from stablint.report.plain import named, plain
from stablint.secrets import exit

_Key = tuple[str, str | None, str | None]


def repair_causes(diagnoses: Sequence[Diagnosis], given: argparse.Namespace) -> int:
    """0 where every certain or likely cause is repaired, or there is none; 1 where one is left, or --diff would change something."""
    base = os.getcwd()
    files = list(dict.fromkeys(path for one in diagnoses for path in one.files))
    options = diagnoses[0].options._replace(policies=None)
    sure = [cause for one in diagnoses for cause in one.causes if cause.confidence != POSSIBLE]
    wanted = {_key(cause) for cause in sure if cause.file is not None and cause.code}
    for cause in sure:
        _tell(cause, given)
    if not files or not wanted:
        return FOUND if sure else CLEAN
    root = roots(files, base, options)

    @cache
    def shut(path: str) -> str:
        return "" if given.diff else closed(path, root(path))

    codes = {rule for rule, _, _ in wanted}
    rules = tuple(hazard._replace(quiet=False) for hazard in hazards.load() if hazard.id in codes)
    done = repair(
        files,
        options,
        unsafe=given.unsafe_fixes,
        base=base,
        known=rules,
        closed=shut,
        only=lambda one: _of(one) in wanted,
    )
    for line in (*done.refused, *done.kept_out):
        exit.tell(plain(line))
    tell_faults(done.inspection)
    if given.diff:
        changes = print_patch(done)
        return WRONG if done.inspection.report.incomplete else FOUND if changes or sure else CLEAN
    changed: list[str] = []
    try:
        done = write(done, base, root, (), changed, lambda: inspect(files, options, base=base, known=rules))
    except KeyboardInterrupt as error:
        raise interrupted(error, changed, base) from None
    return _left(done, sure, wanted)


def _left(done: Repaired, sure: Sequence[Cause], wanted: set[_Key]) -> int:
    there = {_of(one) for one in done.inspection.report.diagnostics if one.suppressed is None}
    fixed = {(code, file) for code, file, _ in done.inspection.report.fixed}
    left = [
        cause
        for cause in sure
        if _key(cause) not in wanted or _key(cause) in there or (cause.code, cause.file) not in fixed
    ]
    exit.tell(f"repaired: {len(sure) - len(left)} of {len(sure)} causes" + ("; the others by hand" if left else ""))
    if done.inspection.report.incomplete or done.unwritten:
        return WRONG
    return FOUND if left else CLEAN


def _tell(cause: Cause, given: argparse.Namespace) -> None:
    """What is repaired, on standard error: standard output is the patch's."""
    where = f" {named(plain(cause.file))}:{cause.line}" if cause.file else ""
    fix = cause.fix
    by_hand = fix is None or fix.applicability == "manual" or cause.file is None
    unsafe = fix is not None and fix.applicability == "unsafe" and not given.unsafe_fixes
    how = "by hand" if by_hand else "needs --unsafe-fixes" if unsafe else ""
    title = f": {fix.title}" if fix is not None else ""
    exit.tell(plain(f"{cause.sureness} {cause.code or cause.rule}{where}{title}{f' ({how})' if how else ''}"))


def _key(cause: Cause) -> _Key:
    return cause.rule, cause.setting, cause.file


def _of(one: Diagnostic) -> _Key:
    return one.rule, one.setting, one.text.name if one.text is not None else None
