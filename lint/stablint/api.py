"""The library's door: `stablint.check(…)` on files, `stablint.assert_safe(…)` before training. `import stablint` loads none of it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from stablint.inspect import inspect
from stablint.options import options
from stablint.report.model import Diagnostic, Report


class UnsafeConfig(Exception):
    """At least one finding is an error. `report` holds every finding, warnings and infos included."""

    def __init__(self, report: Report) -> None:
        self.report = report
        errors = [d for d in report.diagnostics if d.severity == "error"]
        super().__init__("; ".join(f"{d.code} {d.message}" for d in errors))


def check(
    *paths: str | os.PathLike[str],
    gpu: str | Iterable[str] = (),
    model: str | None = None,
    releases: Iterable[str] = (),
    facts: Iterable[str] = (),
) -> Report:
    """Check files and folders. `releases` are specifiers such as "trl==1.16.0", `facts` overrides such as "training.fp16=true".

    Raises FileNotFoundError for a path that does not exist and ValueError for a GPU or specifier that is not known.
    """
    from stablint.discover import NoSuchPath
    from stablint.options import Wrong

    try:
        wanted = options([gpu] if isinstance(gpu, str) else gpu, model, releases, facts)
        return inspect([os.fspath(path) for path in paths], wanted).report
    except NoSuchPath as error:
        raise FileNotFoundError(str(error)) from error
    except Wrong as error:
        raise ValueError(str(error)) from error


def assert_safe(
    *paths: str | os.PathLike[str],
    gpu: str | Iterable[str] = (),
    model: str | None = None,
    releases: Iterable[str] = (),
    facts: Iterable[str] = (),
) -> Report:
    """The report, if nothing in it is an error; raises UnsafeConfig otherwise."""
    report = check(*paths, gpu=gpu, model=model, releases=releases, facts=facts)
    if any(diagnostic.severity == "error" for diagnostic in report.diagnostics):
        raise UnsafeConfig(report)
    return report


__all__ = ["Diagnostic", "Report", "UnsafeConfig", "assert_safe", "check"]
