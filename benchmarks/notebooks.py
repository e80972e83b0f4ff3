"""What `stablint fit` says of notebooks that print what their run held: GPU, memory before the first step, and the most at the end.

    python benchmarks/notebooks.py FOLDER [--verbose]

Unsloth's notebooks print these lines (`GPU = Tesla T4. Max memory = 14.741 GB.`). A run that printed its peak has fitted, so that `does-not-fit` is wrong
of each, and the low end of the range must not be above what was seen. Notebooks of one text are counted once.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import stablint

_CARD = re.compile(r"GPU = (.+?)\. Max memory = ([\d.]+) GB")
_START = re.compile(r"([\d.]+) GB of memory reserved")
_PEAK = re.compile(r"Peak reserved memory = ([\d.]+) GB")
_NAMES = {
    "Tesla T4": "T4", "NVIDIA A100-SXM4-80GB": "A100-80GB", "NVIDIA A100-SXM4-40GB": "A100-40GB", "NVIDIA L4": "L4", "NVIDIA A10G": "A10G",
}  # fmt: skip


class Seen(NamedTuple):
    path: Path
    gpu: str
    start: float
    peak: float


def seen(path: Path) -> tuple[Seen, str] | None:
    """What a notebook prints of its run, and the text of its cells."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError):
        return None
    said = "\n".join(_text(output) for cell in cells for output in cell.get("outputs", []))
    card, start, peak = _CARD.search(said), _START.search(said), _PEAK.search(said)
    if card is None or start is None or peak is None or card[1] not in _NAMES:
        return None
    code = "\n".join(_joined(cell.get("source", "")) for cell in cells if cell.get("cell_type") == "code")
    return Seen(path, _NAMES[card[1]], float(start[1]), float(peak[1])), code


def _text(output: dict[str, Any]) -> str:
    return _joined(output.get("text") or (output.get("data") or {}).get("text/plain") or "")


def _joined(text: object) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    texts: set[str] = set()
    verdicts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    weights: list[float] = []
    above: list[str] = []
    inside = estimated = 0
    for path in sorted(given.folder.rglob("*.ipynb")):
        found = seen(path)
        if found is None or found[1] in texts:
            continue
        one = found[0]
        texts.add(found[1])
        try:
            told = stablint.fit(path, gpu=one.gpu, isolated=True)
        except ValueError as error:
            verdicts["nothing that trains"] += 1
            reasons[str(error)] += 1
            continue
        run = max(told, key=lambda fit: fit.peak_gib or 0.0)
        verdicts[run.verdict] += 1
        if run.range_gib is None:
            reasons[run.reason.partition(" (")[0]] += 1
            continue
        estimated += 1
        # What the notebooks print leaves out CUDA's context, of which a run has 0.4 GiB at the least.
        least = run.bounds_gib[0] - 0.4 if run.bounds_gib is not None else 0.0
        low, high = run.range_gib
        low -= 0.4
        inside += low <= one.peak <= high
        start = sum(run.components.get(name, 0.0) for name in ("weights", "adapters"))
        weights.append(abs(start - one.start) / one.start)
        if least > one.peak:
            above.append(path.name)
        if given.verbose or run.verdict == "does-not-fit" or least > one.peak:
            print(
                f"{run.verdict:12} {path.name}: start {one.start:.1f} ({start:.1f}), peak {one.peak:.1f} in {low:.1f} to {high:.1f}"
            )
    print(f"{len(texts)} notebooks of different texts: {dict(verdicts)}")
    for reason, number in reasons.most_common():
        print(f"  {number} unknown: {reason}")
    if weights:
        weights.sort()
        print(
            f"start against weights and adapter: median {statistics.median(weights):.1%}, 90% below {weights[int(len(weights) * 0.9)]:.1%}"
        )
        print(f"peak inside the range: {inside} of {estimated}; least that it may be above the peak: {len(above)}")


if __name__ == "__main__":
    main()
