"""`stablint fit --output-format json` (DESIGN §7): sizes in GiB, one object where there is one run and one card, else a list under `runs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stablint.fitting.answer import BECAUSE, UNKNOWN, Told, decides
from stablint.fitting.remedies import Remedy
from stablint.fitting.terms import GIB
from stablint.memory.plan import Range


class Fit(NamedTuple):
    """What `stablint.fit` gives back for one run on one card. Sizes are in GiB; None where nothing can be said, and `reason` says why."""

    files: tuple[str, ...]
    gpu: str
    usable_gib: float | None
    verdict: str  # fits | tight | does-not-fit | unknown
    reason: str
    peak_gib: float | None
    range_gib: tuple[float, float] | None
    moment: str | None
    components: dict[str, float]
    host_gib: float | None
    assumptions: tuple[str, ...]
    remedies: tuple[Remedy, ...]
    most_rows: int | None = None  # at a time, that fit; 0: not even one
    host_node_gib: float | None = None
    bounds_gib: tuple[float, float] | None = None  # what no run with these settings falls short of or exceeds


def as_fit(files: Sequence[str], told: Told, remedies: Sequence[Remedy]) -> Fit:
    data = as_data(files, told, remedies)
    ends, bounds = data["range_gib"], data["bounds_gib"]
    return Fit(
        tuple(files), told.target, told.usable, told.verdict, data["reason"], data["peak_gib"], (ends[0], ends[1]) if ends else None,
        data["moment"], {name: part["gib"] for name, part in data["components"].items()}, data["host_gib"], tuple(data["assumptions"]),
        tuple(remedies), data["most_rows"], data["host_node_gib"], (bounds[0], bounds[1]) if bounds else None,
    )  # fmt: skip


def as_data(files: Sequence[str], told: Told, remedies: Sequence[Remedy]) -> dict[str, Any]:
    estimate = told.estimate
    data: dict[str, Any] = {
        "schema_version": 1,
        "files": list(files),
        "target": {"gpu": told.target, "usable_gib": told.usable},
        "verdict": told.verdict,
        "reason": told.why or decides(told),
        "peak_gib": None, "range_gib": None, "bounds_gib": None, "moment": None, "components": {}, "moments": {}, "host_gib": None, "host_node_gib": None,
        "most_rows": told.rows, "readings": [], "assumptions": [],
        "remedies": [_remedy(one) for one in remedies],
    }  # fmt: skip
    if estimate is None or told.reading is None:
        return data
    return {
        **data,
        "peak_gib": _gib(estimate.peak.usual),
        "range_gib": [round(told.likely[0], 3), round(told.likely[2], 3)],
        "bounds_gib": _range(estimate.peak),
        "moment": estimate.moment,
        "components": {
            name: {"gib": _gib(size), "facts": list(BECAUSE[name][1])} for name, size in estimate.components.items()
        },
        "moments": {name: _gib(size) for name, size in estimate.moments.items()},
        "host_gib": _gib(estimate.host),
        "host_node_gib": _gib(estimate.host * on_node(told)),
        "readings": [
            {
                "start": reading.start, "processes": reading.plan.sharding.processes, "peak_gib": _gib(one.peak.usual),
                "range_gib": _range(one.peak), "verdict": word,
            }
            for reading, one, word in told.readings
        ],
        "assumptions": list(told.reading.assumptions),
    }  # fmt: skip


def on_node(told: Told) -> int:
    """Processes whose cards are those that were named: all of them, if they stand in one machine."""
    assert told.reading is not None
    return told.reading.plan.sharding.processes


def _remedy(one: Remedy) -> dict[str, Any]:
    return {
        "title": one.title, "facts": one.facts, "peak_gib": round(one.peak[1], 2), "range_gib": [round(one.likely[0], 2), round(one.likely[2], 2)],
        "verdict": one.verdict, "cost": one.cost,
        "edits": [
            {"file": file.text.name, "start": edit.start, "end": edit.end, "new_text": edit.new_text} for file in one.files for edit in file.edits
        ],
    }  # fmt: skip


def worst(verdicts: Sequence[str]) -> str:
    """Of several the one that the exit code tells: one that does not fit, else one of which nothing can be said."""
    for word in ("does-not-fit", UNKNOWN):
        if word in verdicts:
            return word
    return "fits"


def _gib(size: float) -> float:
    return round(size / GIB, 3)


def _range(size: Range) -> list[float]:
    return [_gib(size.low), _gib(size.high)]
