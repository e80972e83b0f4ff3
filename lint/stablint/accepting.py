"""Baselines of a check: written where the settings name them, and told where they hold what nobody finds any more."""

from __future__ import annotations

import os
import sys

from stablint.baseline import DEFAULT, BadBaseline, render, stale
from stablint.cli import CLEAN, WRONG
from stablint.inspect import Inspection
from stablint.options import Wrong
from stablint.policy import Policies
from stablint.report.model import Diagnostic
from stablint.report.plain import plain


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
        try:
            text = render(group, path, checked)
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except BadBaseline as error:
            raise Wrong(str(error)) from error
        except OSError as error:
            raise Wrong(f"--write-baseline: {path}: {error.strerror}") from error
        count, name = sum(d.suppressed is None for d in group), plain(os.path.relpath(path))
        how = (
            ""
            if any(policy.baseline_file == path for policy in policies.asked())
            else f"; accepted with --baseline {name}"
        )
        print(f"stablint: {count} finding{'' if count == 1 else 's'} written to {name}{how}", file=sys.stderr)
    return WRONG if found.report.internal_errors else CLEAN


def _checked(found: Inspection, base: str) -> set[str]:
    return {os.path.normpath(os.path.join(base, status.file)) for status in found.report.files}


def tell_stale(policies: Policies, found: Inspection, base: str) -> None:
    known = {id(policy.baseline): policy.baseline for policy in policies.asked() if policy.baseline}
    checked = _checked(found, base)
    rows = [row for baseline in known.values() for row in stale(baseline, found.report.diagnostics, checked)]
    for (path, rule, _), count in rows:
        times = f" ({count} times)" if count > 1 else ""
        name = os.path.relpath(path, base).replace(os.sep, "/")
        print(
            f"stablint: baseline: {plain(name)}: {rule} is not found any more{times}; --write-baseline takes it out",
            file=sys.stderr,
        )
