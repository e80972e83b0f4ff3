"""Texts of configurations that lie in a table and not on a disk: a row each, checked by itself. What Ray and Spark run on their workers."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.config.options import Wrong, options
from stablint.config.selection import Selection, chosen
from stablint.engine.inspect import Inspection, inspected
from stablint.hazard.model import load
from stablint.policy import Policies, Policy
from stablint.report import json as as_json
from stablint.report.model import Diagnostic
from stablint.report.once import joined
from stablint.secrets.masking import mask
from stablint.syntax import text as source_text
from stablint.syntax.tree import Text

_NOWHERE = os.path.join(os.sep, "nowhere", "of", "stablint")  # no folder of this machine is part of what is checked


class Asked(NamedTuple):
    """What is asked of every row. It goes to the workers as it is."""

    gpus: tuple[str, ...] = ()
    model: str | None = None
    releases: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    gpu_memory: str | None = None


class Checked(NamedTuple):
    """Of one row. `findings` is a JSON list of objects as in `diagnostics` of the JSON report, secrets masked."""

    status: str  # checked | skipped (no training configuration) | unreadable
    errors: int
    warnings: int
    infos: int
    findings: str


def asked_of(
    gpu: str | Iterable[str] | None,
    model: str | None,
    releases: Iterable[str],
    select: Iterable[str] = (),
    gpu_memory: float | str | None = None,
) -> Asked:
    """Raises ValueError for a GPU, a size or a release that is not known, before any worker starts."""
    gpus = (gpu,) if isinstance(gpu, str) else tuple(gpu or ())
    if "auto" in gpus:
        raise ValueError("gpu: `auto` would ask the worker's machine; name the GPU that the runs will have")
    found = Asked(gpus, model, tuple(releases), tuple(select), None if gpu_memory is None else str(gpu_memory))
    try:
        settled(found)
    except Wrong as error:
        raise ValueError(str(error)) from error
    return found


@lru_cache(maxsize=8)
def settled(asked: Asked) -> Options:
    """The options of a check, with the rules that are on where nobody chooses. Raises Wrong."""
    rules = chosen(load(), Selection(asked.select))
    said = options(asked.gpus, asked.model, asked.releases, gpu_memory=asked.gpu_memory)
    return said._replace(policies=Policies(Policy(rules=rules)))


def check_text(path: str | None, text: str | bytes | None, asked: Asked) -> Checked:
    """One row. The path chooses the format by its suffix and is what the findings name; the file that it names is not opened."""
    return check_texts([(path, text)], asked)[0]


def columns(batch: Any, path: str | None, text: str, asked: Asked) -> dict[str, list[Any]]:
    """The new columns of a batch, in the order of its rows; `path` and `text` name columns of it, without `path` the rows have none."""
    texts = batch[text]
    paths = batch[path] if path is not None else [None] * len(texts)
    rows = check_texts(list(zip(paths, texts, strict=True)), asked)
    return {name: [getattr(row, name) for row in rows] for name in Checked._fields}


def check_texts(rows: Sequence[tuple[Any, Any]], asked: Asked) -> list[Checked]:
    """Rows of path and text. They are judged together, which is several times as fast, and each is below a root of its own: none reads another."""
    texts: dict[str, Text] = {}
    numbers: dict[str, int] = {}
    for number, (path, text) in enumerate(rows):
        if (content := _content(number, path, text)) is not None:
            texts[content.path], numbers[content.path] = content, number
    found = _inspected(texts, numbers, asked)
    report = found.report
    statuses = dict(zip((path for path, _ in found.listed), report.files, strict=True))
    told: dict[int, list[Diagnostic]] = {}
    for diagnostic in report.diagnostics:
        if diagnostic.text is not None:
            told.setdefault(numbers[diagnostic.text.path], []).append(diagnostic)
    secrets = found.secrets if told else frozenset[str]()
    made = dict.fromkeys(range(len(rows)), Checked("unreadable", 0, 0, 0, "[]"))
    for path, number in numbers.items():
        own = joined(report._replace(diagnostics=tuple(told.get(number, ()))))  # of one row, as of one check
        made[number] = _row(statuses[path].status, own.diagnostics, secrets)
    return [made[number] for number in range(len(rows))]


def _content(number: int, path: Any, text: Any) -> Text | None:
    """The text in a folder of its own; None for what is no text, and for a path that leads out of its folder."""
    name = str(path or "train.yaml").replace("\\", "/").lstrip("/") or "train.yaml"
    folder = os.path.join(_NOWHERE, str(number), "")
    absolute = os.path.normpath(folder + name)
    if not isinstance(text, str | bytes) or not absolute.startswith(folder):
        return None
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    content = source_text.decode(data, absolute, name) if len(data) <= source_text.LARGEST else None
    return content if isinstance(content, Text) else None


def _inspected(texts: dict[str, Text], numbers: dict[str, int], asked: Asked) -> Inspection:
    files = Files(lambda path: os.path.join(_NOWHERE, str(numbers.get(path, ""))), _NOWHERE)
    for content in texts.values():
        files.put(content)
    return inspected([(path, True) for path in texts], [], files, settled(asked), texts)


def _row(status: str, told: Sequence[Diagnostic], secrets: frozenset[str]) -> Checked:
    count = Counter(one.severity for one in told if one.suppressed is None)
    findings = json.dumps(
        [as_json.diagnostic_object(one) for one in told], ensure_ascii=False, sort_keys=True, default=str
    )
    return Checked(status, count["error"], count["warning"], count["info"], mask(findings, secrets, data=True))
