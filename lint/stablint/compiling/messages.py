"""knowledge/messages → what libraries print where something fails, as words and gaps, with the few words that lines are sifted by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml

READS = ("messages",)

_GAP = re.compile(r"(?<!\{)\{([^{}]*)\}(?!\})")
_ENOUGH = 80  # characters of the last run: people shorten what they paste
_WORD = re.compile(r"[A-Za-z_]{5,}")
_KEYS = {"text", "source", "hazards", "symptom", "about", "decides", "beside", "numbers", "called", "at_most", "causes"}
_KEPT = ("text", "hazards", "symptom", "about", "decides", "beside", "numbers", "called", "at_most", "source")
# Words of healthy logs: a line is not looked at because it has one, unless nothing else of its message is rarer.
_COMMON = frozenset(
    "train training trainer model models loading loaded step steps epoch batch dataset tokens token loss learning number using process rank "  # noqa: SIM905
    "device config file from parameters evaluation value values please should which warning learning_rate python torch transformers".split()
)


def compile_messages(root: Path) -> dict[str, object]:
    """`messages`: templates, words, symptoms, harmless. Raises ValueError for a row that names no cause, or a symptom that is not there."""
    folder = root / "messages"
    symptoms = read_yaml(folder / "symptoms.yaml")
    rows = [_row(row, symptoms) for row in read_yaml(folder / "printed.yaml")]
    written = {tuple(row["runs"]) for row in rows}
    raised = json.loads((folder / "raised.json").read_text(encoding="utf-8"))["messages"]
    rows += [row for row in map(_raised, raised) if tuple(row["runs"]) not in written]
    written |= {tuple(row["runs"]) for row in rows}
    refused = json.loads((folder / "refused.json").read_text(encoding="utf-8"))["messages"]
    rows += [row for row in map(_refused, refused) if tuple(row["runs"]) not in written]
    harmless = [_harmless(row, symptoms) for row in read_yaml(folder / "harmless.yaml")]
    return {
        "messages": {
            "templates": [{key: value for key, value in row.items() if key != "text"} for row in rows],
            "harmless": harmless,
            "words": _words([*rows, *harmless]),
            "symptoms": symptoms,
        }
    }


def _row(row: dict[str, Any], symptoms: dict[str, Any]) -> dict[str, Any]:
    named = [key for key in ("hazards", "symptom", "decides") if key in row]
    if not row.keys() <= _KEYS or not row.get("source") or not named:
        raise ValueError(
            f"messages/printed.yaml, {row.get('text')}: a row has a text, a source and a cause, and no other keys"
        )
    if row.get("symptom", next(iter(symptoms))) not in symptoms:
        raise ValueError(f"messages/printed.yaml, {row['text']}: no symptom is called {row['symptom']}")
    split = _split(row["text"])
    for gap in (
        row.get("about"),
        row.get("decides", {}).get("gap"),
        *row.get("numbers", ()),
        *row.get("called", ()),
        *row.get("at_most", ()),
    ):
        if gap is not None and gap not in split["gaps"]:
            raise ValueError(f"messages/printed.yaml, {row['text']}: the text has no gap {gap}")
    rest: dict[str, Any] = {key: row[key] for key in _KEPT if key in row}
    return {**split, **rest, "kind": "raise", "several": row.get("causes") == "several"}


def _harmless(row: dict[str, Any], symptoms: dict[str, Any]) -> dict[str, Any]:
    if (
        not row.keys() <= {"text", "why", "until", "source", "unless"}
        or row.get("unless", next(iter(symptoms))) not in symptoms
    ):
        raise ValueError(
            f"messages/harmless.yaml, {row.get('text')}: a row has a text and a reason, and names a symptom if any"
        )
    return {**_split(row["text"]), "why": row["why"], "until": row.get("until", ""), "unless": row.get("unless", "")}


def _raised(row: dict[str, Any]) -> dict[str, Any]:
    source = f"{row['library']} {row['last']} {row['path']}"
    return {**_split(row["text"]), "text": row["text"], "hazards": row["hazards"], "kind": row["kind"], "several": False, "source": source}  # fmt: skip


def _refused(row: dict[str, Any]) -> dict[str, Any]:
    """A message that names the settings which it refuses, and that no rule tells."""
    return {
        **_split(row["text"]),
        "symptom": "setting-refused",
        "settings": row["settings"],
        "kind": "raise",
        "several": False,
    }


def _split(text: str) -> dict[str, Any]:
    pieces = _GAP.split(" ".join(text.split()))
    runs = [run.replace("{{", "{").replace("}}", "}") for run in pieces[0::2]]
    runs[-1] = _clipped(runs[-1])
    # The full stop is left out by people who paste, and by libraries in other releases.
    if len(runs[-1].rstrip(".")) > 1 or len(runs) == 1:
        runs[-1] = runs[-1].rstrip(".")
    return {"runs": runs, "gaps": pieces[1::2]}


def _clipped(run: str) -> str:
    return run if len(run) <= _ENOUGH else run[:_ENOUGH].rpartition(" ")[0]


def _words(rows: Iterable[dict[str, Any]]) -> dict[str, list[int]]:
    """A small set of words of which every text has one → the numbers of these texts. Greedy: the word that most of the rest share."""
    words = [set(_WORD.findall(max(row["runs"], key=len))) or {max(row["runs"], key=len).strip()} for row in rows]
    left = set(range(len(words)))
    chosen: dict[str, list[int]] = {}
    while left:
        counts: dict[str, int] = {}
        for number in left:
            rare = {word for word in words[number] if word.lower() not in _COMMON} or words[number]
            for word in rare:
                counts[word] = counts.get(word, 0) + 1
        word = max(sorted(counts), key=lambda word: counts[word])
        chosen[word] = sorted(number for number in left if word in words[number])
        left.difference_update(chosen[word])
    return chosen
