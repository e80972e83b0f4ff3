"""Texts of configurations that lie in a table and not on a disk: a row each, checked by itself. What Ray and Spark run on their workers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from stablint.assemble.asked import Options
from stablint.hazard.model import load
from stablint.inspect import inspect
from stablint.options import options
from stablint.policy import Policies, Policy
from stablint.report import json as as_json
from stablint.report.once import joined
from stablint.secrets.masking import mask
from stablint.selection import Selection, chosen
from stablint.source import text as source_text

_NOWHERE = os.path.join(os.sep, "nowhere", "of", "stablint")  # no folder of this machine is part of what is checked


class Asked(NamedTuple):
    """What is asked of every row. It goes to the workers as it is."""

    gpus: tuple[str, ...] = ()
    model: str | None = None
    releases: tuple[str, ...] = ()
    select: tuple[str, ...] = ()


class Checked(NamedTuple):
    """Of one row. `findings` is a JSON list of objects as in `diagnostics` of the JSON report, secrets masked."""

    status: str  # checked | skipped (no training configuration) | unreadable
    errors: int
    warnings: int
    infos: int
    findings: str


def asked_of(
    gpu: str | Iterable[str] | None, model: str | None, releases: Iterable[str], select: Iterable[str] = ()
) -> Asked:
    """Raises ValueError for a GPU or release that is not known, before any worker starts."""
    from stablint.options import Wrong

    gpus = (gpu,) if isinstance(gpu, str) else tuple(gpu or ())
    if "auto" in gpus:
        raise ValueError("gpu: `auto` would ask the worker's machine; name the GPU that the runs will have")
    found = Asked(gpus, model, tuple(releases), tuple(select))
    try:
        settled(found)
    except Wrong as error:
        raise ValueError(str(error)) from error
    return found


@lru_cache(maxsize=8)
def settled(asked: Asked) -> Options:
    """The options of a check, with the rules that are on where nobody chooses. Raises Wrong."""
    rules = chosen(load(), Selection(asked.select))
    return options(asked.gpus, asked.model, asked.releases)._replace(policies=Policies(Policy(rules=rules)))


def check_text(path: str | None, text: str | bytes | None, asked: Asked) -> Checked:
    """One row. The path chooses the format by its suffix and is what the findings name; the file that it names is not opened."""
    name = str(path or "train.yaml").replace("\\", "/").lstrip("/") or "train.yaml"
    if text is None:
        return Checked("unreadable", 0, 0, 0, "[]")
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    absolute = os.path.normpath(os.path.join(_NOWHERE, name))
    content = source_text.decode(data, absolute, name) if len(data) <= source_text.LARGEST else None
    if content is None or isinstance(content, source_text.Unreadable) or not absolute.startswith(_NOWHERE + os.sep):
        return Checked("unreadable", 0, 0, 0, "[]")
    found = inspect([absolute], settled(asked), base=_NOWHERE, texts={absolute: content})
    report = joined(found.report)
    count = {"error": 0, "warning": 0, "info": 0}
    for diagnostic in report.diagnostics:
        count[diagnostic.severity] += diagnostic.suppressed is None
    told = [as_json.diagnostic_object(diagnostic) for diagnostic in report.diagnostics]
    findings = json.dumps(told, ensure_ascii=False, sort_keys=True, default=str)
    secrets = found.secrets if told else frozenset[str]()
    status = report.files[0].status if report.files else "skipped"
    return Checked(status, count["error"], count["warning"], count["info"], mask(findings, secrets, data=True))


def columns(paths: Iterable[Any], texts: Iterable[Any], asked: Asked) -> dict[str, list[Any]]:
    """The new columns of a batch, in the order of its rows."""
    rows = [check_text(path, text, asked) for path, text in zip(paths, texts, strict=True)]
    return {name: [getattr(row, name) for row in rows] for name in Checked._fields}
