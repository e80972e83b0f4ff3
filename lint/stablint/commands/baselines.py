"""Baselines of a check: written where the settings name them, and told where they hold what nobody finds any more."""

from __future__ import annotations

import os

from stablint.base.language import gettext, ngettext, told
from stablint.base.whole import Changed, state
from stablint.commands.outputs import A_LINK
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN, WRONG
from stablint.engine.inspect import Inspection
from stablint.files.discover import leads_out
from stablint.policy import Policies
from stablint.report.model import Diagnostic
from stablint.report.plain import plain
from stablint.secrets import exit
from stablint.suppressions.baseline import DEFAULT, BadBaseline, render, stale

_TRIES = 5  # to write a file that others write as well
_LINES = 5  # at most so many lines about what is gone


def write_baseline(policies: Policies, found: Inspection, base: str) -> int:
    """Accept all that is found now, each finding in the file that --baseline or its settings name."""
    default = os.path.join(base, DEFAULT)
    groups: dict[str, list[Diagnostic]] = {policy.baseline_file or default: [] for policy in policies.asked()}
    for diagnostic in found.report.diagnostics:
        path = diagnostic.text.path if diagnostic.text is not None else ""
        groups.setdefault(policies.at(path).baseline_file or default, []).append(diagnostic)
    checked = _checked(found, base)
    for path, group in groups.items():
        if not group and path == default and len(groups) > 1:
            continue
        if (target := leads_out(path, base)) is not None:
            raise Wrong(
                gettext("--write-baseline: {path}: {why}").format(path=_shown(path, base), why=A_LINK.format(target))
            )
        try:
            _write(group, path, checked)
        except Changed as error:
            raise Wrong(
                gettext("--write-baseline: {path}: it was changed again and again while stablint worked on it").format(
                    path=_shown(path, base)
                )
            ) from error
        except BadBaseline as error:
            raise Wrong(told(str(error))) from error
        except OSError as error:
            raise Wrong(f"--write-baseline: {path}: {error.strerror}") from error
        count, name = sum(d.suppressed is None for d in group), plain(_shown(path, base))
        how = (
            ""
            if any(policy.baseline_file == path for policy in policies.asked())
            else f"; accepted with --baseline {name}"
        )
        exit.tell(
            ngettext("{count} finding written to {name}{how}", "{count} findings written to {name}{how}", count).format(
                count=count, name=name, how=how
            )
        )
    return WRONG if found.report.incomplete else CLEAN


def _write(group: list[Diagnostic], path: str, checked: set[str]) -> None:
    """What the file holds of others is read again where somebody has written it meanwhile. Raises Changed if that does not end."""
    for left in reversed(range(_TRIES)):
        before = state(os.path.realpath(path))
        try:
            exit.write_report(path, render(group, path, checked), before)
        except Changed:
            if not left:
                raise
        else:
            return


def _checked(found: Inspection, base: str) -> set[str]:
    return {os.path.normpath(os.path.join(base, status.file)) for status in found.report.files}


def tell_stale(policies: Policies, found: Inspection, base: str) -> None:
    """What the baselines hold in vain: a line for each, or for each rule where there are many."""
    known = {id(policy.baseline): policy.baseline for policy in policies.asked() if policy.baseline}
    checked = _checked(found, base)
    rows = [row for baseline in known.values() for row in stale(baseline, found.report.diagnostics, checked)]
    if len(rows) <= _LINES:
        lines = [
            f"{rule} in {_shown(path, base)}{f' ({count} times)' if count > 1 else ''}"
            for (path, rule, _), count in rows
        ]
    else:
        lines = [f"{rule} in {len(paths)} file{'' if len(paths) == 1 else 's'}" for rule, paths in _by_rule(rows)]
    for line in lines:
        exit.tell(gettext("baseline: not found any more: {line}").format(line=plain(line)))
    if lines:
        exit.tell(gettext("baseline: --write-baseline takes them out"))


def _by_rule(rows: list[tuple[tuple[str, str, str], int]]) -> list[tuple[str, set[str]]]:
    rules: dict[str, set[str]] = {}
    for (path, rule, _), _count in rows:
        rules.setdefault(rule, set()).add(path)
    return sorted(rules.items())


def _shown(path: str, base: str) -> str:
    try:
        return os.path.relpath(path, base).replace(os.sep, "/")
    except ValueError:  # another drive of Windows
        return path.replace(os.sep, "/")
