"""One cause that shows in several settings of a file (no release is stated, a block has keys of another release) is told once.

Only for what is printed: baselines, comments and repairs know every place.
"""

from __future__ import annotations

from stablint.base.language import gettext
from stablint.report.model import Diagnostic, Location, Related, Report
from stablint.report.place import locate

_NAMED = 3
EVERYWHERE = "everywhere"


def joined(report: Report) -> Report:
    """The first of each such rule in a file speaks, or of the same words in several files, and names the others; what is accepted stays as it is."""
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for one in report.diagnostics:
        if one.once and one.suppressed is None and one.text is not None:
            where = f"`{one.message}" if one.once == EVERYWHERE else one.text.path
            groups.setdefault((one.code, where, one.severity), []).append(one)
    heads = {id(group[0]): _head(group) for group in groups.values() if len(group) > 1}
    if not heads:
        return report
    dropped = {id(one) for group in groups.values() for one in group[1:]}
    kept = tuple(heads.get(id(one), one) for one in report.diagnostics if id(one) not in dropped)
    return report._replace(diagnostics=kept)


def _head(group: list[Diagnostic]) -> Diagnostic:
    first, *others = group
    places = tuple(dict.fromkeys(_place(one) for one in others))
    here = _place(first)
    words = [f"`{one.setting}`{_line(one, here.location)}" if one.file == here.file else _in(one) for one in places]
    more, names = len(words) - _NAMED, gettext(", ").join(words[:_NAMED])
    named = gettext("{names} and {number} more").format(names=names, number=more) if more > 0 else names
    note = gettext("likewise {names}").format(names=named)
    return first._replace(
        notes=(*first.notes, note),
        related=(*first.related, *(place for place in places if place not in first.related)),
        runs=tuple(dict.fromkeys(run for one in group for run in one.runs)),
        targets=tuple(dict.fromkeys(target for one in group for target in one.targets)),
    )


def _line(place: Related, head: Location | None) -> str:
    same = place.location is None or head is None or place.location.line == head.line
    return "" if same or place.location is None else gettext(" in line {line}").format(line=place.location.line)


def _in(one: Related) -> str:
    return one.file if one.location is None else f"{one.file}:{one.location.line}"


def _place(diagnostic: Diagnostic) -> Related:
    assert diagnostic.text is not None
    seen = diagnostic.seen
    where = locate(seen.source, seen.start) if seen else locate(diagnostic.text.text, diagnostic.start)
    return Related(diagnostic.text.name, where, diagnostic.setting, seen)
