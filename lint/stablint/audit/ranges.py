"""Ranges that nothing falls into any more: a hazard that can bite nobody who could still meet it."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.audit.doubt import ERROR, INFO, WARNING, Doubt
from stablint.audit.sayings import HazardText
from stablint.audit.sources import listed, minors_between
from stablint.compiling.hazards import condition
from stablint.run.releases.pep440 import matcher, text_of

ENDED = 24
"""Minor releases, two years of monthly ones, after which hardly anybody trains with what a range ended at."""
_ORDERED = (">", ">=", "<", "<=")


def of_ranges(hazards: list[HazardText], ended: int = ENDED) -> Iterator[Doubt]:
    for hazard in hazards:
        for library, specifier in _ranges(hazard).items():
            found = _judged(library, specifier, ended)
            if found is not None:
                kind, severity, text = found
                line = hazard.line_of("versions")
                yield Doubt(kind, severity, hazard.file, line, hazard.data["id"], f"`{library} {specifier}`: {text}")


def _ranges(hazard: HazardText) -> dict[str, str]:
    """The declared ranges, narrowed by what the conditions ask of a release outside of groups."""
    found = {library: str(specifier) for library, specifier in (hazard.data.get("versions") or {}).items()}
    for written in hazard.data.get("when") or ():
        operator, fact, kind, operand = condition(written) if isinstance(written, str) else ("", "", 0, None)
        if fact.startswith("versions.") and operator in _ORDERED and kind == 1:
            library = fact.removeprefix("versions.")
            found[library] = ",".join(filter(None, (found.get(library), f"{operator}{operand}")))
    return found


def _judged(library: str, specifier: str, ended: int) -> tuple[str, str, str] | None:
    every = listed(library)
    if not every:
        return "unlisted", WARNING, f"no release of {library} is known: knowledge/releases/versions.yaml lists none"
    test = matcher(specifier)
    inside = [key for key in every if test(key)]
    if not inside:
        return "no-release", ERROR, "no release that is known falls into it"
    after = minors_between(library, inside[-1], every[-1])
    if after > ended:
        return "ended", INFO, f"it ended {after} minor releases ago, at {text_of(inside[-1])}"
    return None
