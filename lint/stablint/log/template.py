"""A message that a library prints: runs of words with gaps between them, found in a text from left to right in linear time."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from stablint.base import knowledge, language
from stablint.log.unwrap import closed
from stablint.run.releases.signatures import differs

_SHARED = 4  # rules that one message may serve, and yet tell a reader something
LONGEST_GAP = 600  # characters that a gap may hold


_TOLD = 3  # wordings of one rule's messages that a reader is shown
_SAME = 30  # letters at the beginning by which two are one


def printed_by(rule: str) -> list[str]:
    """What the libraries print where this rule bites, `…` for what differs; the wordings of several releases once."""
    found: dict[str, str] = {}
    for row in knowledge.load("messages")["templates"]:
        if rule in row.get("hazards", ()) and len(row.get("hazards", ())) <= _SHARED:
            text = "…".join(row["runs"]).strip()
            found.setdefault(text[:_SAME], text)
    return list(found.values())[:_TOLD]


class Symptom(NamedTuple):
    name: str
    title: str
    why: str
    settings: tuple[str, ...]
    hazards: tuple[str, ...]
    advice: str
    alone: bool = False  # one thing brings it about: the first of its hazards is told itself
    brings: tuple[str, ...] = ()  # other symptoms that it explains
    last: bool = False  # told where nothing else is
    observes: dict[str, str] = {}  # noqa: RUF012  facts that the log has shown to be so


class Found(NamedTuple):
    start: int  # offset of the first word in the text
    gaps: dict[str, str]


class Template:
    """A row of knowledge/messages. `hazards` are those that print it, likeliest first."""

    def __init__(self, number: int, row: dict[str, Any]) -> None:
        self.number = number
        self.runs: list[str] = row["runs"]
        self.names: list[str] = row["gaps"]
        self.kind: str = row.get("kind", "")  # raise | assert | warning
        self.folder: str = (
            row.get("source", "").rpartition(" ")[2].partition("/")[0] if self.kind else ""
        )  # of the library that prints it
        self.several: bool = row.get("several", False)
        self.hazards: tuple[str, ...] = tuple(row.get("hazards", ()))
        self.symptom: str = row.get("symptom", "")
        self.about: str = row.get("about", "")
        self.settings: tuple[str, ...] = tuple(row.get("settings", ()))  # that its own words refuse
        self.decides: dict[str, Any] = row.get("decides", {})
        self.numbers: tuple[str, ...] = tuple(row.get("numbers", ()))
        self.called: tuple[str, ...] = tuple(row.get("called", ()))
        self.at_most: dict[str, float] = row.get("at_most", {})
        self.beside: tuple[str, ...] = tuple(row.get("beside", ()))
        self.why: str = row.get("why", "")  # of a harmless line
        self.until: str = row.get("until", "")  # when it is one no more
        self.unless: str = row.get("unless", "")  # a symptom whose sign it is where the log shows that

    @cached_property
    def _closed(self) -> list[str]:
        return [closed(run) for run in self.runs]

    @cached_property
    def length(self) -> int:
        return sum(map(len, self.runs))

    def find(self, text: str) -> Found | None:
        """In a text with its blanks collapsed. The gaps hold what stands between the runs; the last one all that follows."""
        return self._fitting(_find(text, self.runs, self.names))

    def find_closed(self, text: str) -> Found | None:
        """In a text without blanks. The offset is one of that text."""
        return self._fitting(_find(text, self._closed, self.names))

    def _fitting(self, found: Found | None) -> Found | None:
        if found is not None and not all(found.gaps[name].strip().isdigit() for name in self.numbers):
            return None
        if found is not None and not all(_at_most(found.gaps[name], most) for name, most in self.at_most.items()):
            return None
        if found is not None and self.called:
            function, argument = (found.gaps[name].strip() for name in self.called)
            return found if differs(function.rpartition(".")[2], argument) else None
        return found

    def causes(self, gaps: dict[str, str]) -> tuple[str, ...]:
        if self.decides:
            wanted = gaps.get(self.decides["gap"], "").strip().rstrip(":")
            return tuple(self.decides["values"].get(wanted, ()))
        return self.hazards


def _at_most(said: str, most: float) -> bool:
    """Whether a number is said, and none above that."""
    try:
        return float(said) <= most
    except ValueError:
        return False


def _find(text: str, runs: list[str], names: list[str]) -> Found | None:
    first = next((number for number, run in enumerate(runs) if run.strip()), None)
    if first is None:
        return None
    head = runs[first].lstrip() if first == 0 else runs[first]
    start = text.find(head)
    while start >= 0:
        gaps = _gaps(text, start, start + len(head), runs, names, first)
        if gaps is not None:
            return Found(start, gaps)
        # Only the first run may stand elsewhere: what follows it was not found behind this place, or too far from it.
        start = text.find(head, start + 1)
        if start > 50 * LONGEST_GAP:
            return None
    return None


def _gaps(text: str, start: int, at: int, runs: list[str], names: list[str], first: int) -> dict[str, str] | None:
    """`start` and `at`: where the first run begins and ends."""
    gaps: dict[str, str] = {}
    if first and names[0]:
        gaps[names[0]] = text[max(0, start - LONGEST_GAP) : start].rpartition(" ")[2]
    for number in range(first + 1, len(runs)):
        run, name = runs[number], names[number - 1]
        if not run.strip() and number == len(runs) - 1:
            end = min(len(text), at + LONGEST_GAP)
        else:
            end = text.find(run.rstrip() if number == len(runs) - 1 else run, at, at + LONGEST_GAP + len(run))
            if end < 0:
                return None
        if name:
            gaps[name] = text[at:end]
        at = end + len(run)
    return gaps


class Known:
    """All that knowledge/messages holds."""

    def __init__(self) -> None:
        data = knowledge.load("messages")
        rows = [*data["templates"], *data["harmless"]]
        self.templates = [Template(number, row) for number, row in enumerate(rows)]
        self.harmless = frozenset(range(len(data["templates"]), len(rows)))
        self.words: dict[str, list[int]] = data["words"]
        self.symptoms = {
            name: Symptom(
                name,
                language.gettext(row["title"]),
                language.gettext(row["why"]),
                tuple(row["settings"]),
                tuple(row["hazards"]),
                language.gettext(row["advice"]),
                row.get("alone", False),
                tuple(row.get("brings", ())),
                row.get("last", False),
                row.get("observes", {}),
            )
            for name, row in data["symptoms"].items()
        }

    def possible(self, text: str) -> list[Template]:
        """Those of whose words one stands in the text; the longest first, since a short one may be part of it."""
        numbers = {number for word, texts in self.words.items() if word in text for number in texts}
        return sorted(
            (self.templates[number] for number in numbers), key=lambda template: (-template.length, template.number)
        )
