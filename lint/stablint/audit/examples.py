"""Hazards that no example pins: without a bad text, without a look-alike, with a condition that could be another."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from stablint.audit.doubt import ERROR, INFO, WARNING, Doubt
from stablint.audit.mutants import dies, looks, mutants
from stablint.audit.sayings import HazardText
from stablint.hazard.model import Hazard

_OF_THE_TEXT = "file."  # what is wrong with a text itself is no fact of a run


def of_examples(
    texts: list[HazardText],
    hazards: dict[str, Hazard],
    examples: dict[str, list[dict[str, Any]]],
    tell: Callable[[str], None],
) -> Iterator[Doubt]:
    """`tell` hears the name of each hazard before its mutants are tried, which takes most of the time of an audit."""
    for text in texts:
        hazard, own = hazards[text.data["id"]], examples[text.data["id"]]
        yield from _written(text, own)
        if own and not hazard.at.startswith(_OF_THE_TEXT):
            tell(hazard.id)
            yield from _survivors(text, hazard, own)


def _written(text: HazardText, examples: list[dict[str, Any]]) -> Iterator[Doubt]:
    def doubt(kind: str, severity: str, words: str) -> Doubt:
        return Doubt(kind, severity, text.file, text.line_of("\nexamples:") + 1, text.data["id"], words)

    if not examples:
        yield doubt("no-example", INFO if text.data["code"][0] == "F" else ERROR, "no example draws it")
        return
    if not any(example.get("near") for example in examples):
        yield doubt("no-look-alike", WARNING, "no near example shows when it must be silent")
    applied = [remedy["title"] for remedy in text.data.get("remedies") or () if remedy["safety"] != "manual"]
    if applied and not any(example.get("fixed") for example in examples):
        yield doubt("no-fixed", WARNING, f"no example shows what becomes of a file by `{applied[0]}`")


def _survivors(text: HazardText, hazard: Hazard, examples: list[dict[str, Any]]) -> Iterator[Doubt]:
    with tempfile.TemporaryDirectory(prefix="stablint-") as folder:
        runs = list(looks(hazard, examples, Path(os.path.realpath(folder))))
        for said, conditions in mutants(hazard.when):
            if not dies(hazard, conditions, runs):
                # A whole condition that nothing needs is a defect; a bound or an operator may have no text that tells them apart.
                kind, severity = ("no-need", WARNING) if said.startswith("without ") else ("not-pinned", INFO)
                yield Doubt(
                    kind,
                    severity,
                    text.file,
                    text.line_of("\nwhen:") + 1,
                    hazard.id,
                    f"its examples cannot tell it from itself {said}",
                )
