"""Names of files from the top of their repository: what code hosting shows annotations and alerts by, wherever stablint was started."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from stablint.files.discover import repository
from stablint.report.model import Diagnostic, Report
from stablint.syntax.text import is_inside


def rooted(report: Report, base: str) -> Report:
    """The report whose names were relative to the folder `base`. A file outside of every repository keeps its name."""
    top = repository(base)

    @cache
    def name_of(name: str) -> str:
        absolute = os.path.normpath(os.path.join(base, name))
        root = top or repository(os.path.dirname(absolute))
        if name[:1] in ("", "<", "-") or root is None or not is_inside(absolute, root):
            return name
        return os.path.relpath(absolute, root).replace(os.sep, "/")

    return report._replace(diagnostics=tuple(_rooted(one, name_of) for one in report.diagnostics))


def _rooted(found: Diagnostic, name_of: Callable[[str], str]) -> Diagnostic:
    fix = found.fix
    if fix is not None:
        files = tuple(one._replace(text=one.text._replace(name=name_of(one.text.name))) for one in fix.files)
        fix = fix._replace(files=files)
    return found._replace(
        text=found.text and found.text._replace(name=name_of(found.text.name)),
        related=tuple(one._replace(file=name_of(one.file)) for one in found.related),
        fix=fix,
    )
