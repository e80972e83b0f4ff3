"""One finding as people read it: what is wrong, where it stands, why it is wrong, and what can be done about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stablint.base.language import gettext
from stablint.base.light import Any
from stablint.report.model import Diagnostic, Fix, Related, ReportedFact
from stablint.report.origin import as_written, releases, sentence
from stablint.report.place import header, locate
from stablint.report.plain import Style, plain
from stablint.report.said import how
from stablint.report.snippet import EXCERPT, snippet
from stablint.report.words import WIDTH, columns, first_sentences, grade, message, severity, wrapped
from stablint.secrets.languages import language_of, language_of_cell

_BESIDE = 10  # columns that the number of the line, its bar and the ellipses take
_LABELS = [
    "also",
    "with",
    "because",
    "see",
    "why",
    "fix",
    "releases",
    "targets",
    "runs",
    "evidence",
]  # what stands before the notes
_FACTS = 5  # shown of a finding's; the JSON report has them all


def block(
    diagnostic: Diagnostic,
    text: Mapping[str, Any],
    style: Style,
    secrets: frozenset[str],
    width: int,
    also: Sequence[str] = (),
    more: int = 0,
) -> str:
    """`text` is the hazard's; `secrets` are masked before long lines are cut; `width` in columns; `also` are places where the same holds, beside `more`."""
    return "\n".join(_lines(diagnostic, text, style, secrets, width, also, more))


def _lines(
    diagnostic: Diagnostic,
    text: Mapping[str, Any],
    style: Style,
    secrets: frozenset[str],
    width: int,
    also: Sequence[str],
    more: int,
) -> Iterator[str]:
    how_bad = style.paint(diagnostic.severity, f"{severity(diagnostic.severity)} {diagnostic.code}")
    yield f"{style.paint('bold', plain(header(diagnostic)))}: {how_bad} {plain(diagnostic.rule)}"
    said = plain(message(diagnostic))
    # At its full width a message is one line, which who searches for it finds whole.
    yield from (f"  {style.paint('bold', line)}" for line in (wrapped(said, width - 2) if width < WIDTH else [said]))
    yield from _excerpt(diagnostic, style, secrets, width)
    for label, words in (*_also(also, more), *_notes(diagnostic, text)):
        first, *rest = wrapped(words, width - 13) or [""]
        name = gettext(label)
        yield f"  {style.paint('dim', ' ' * (9 - columns(name)) + name + ':')} {first}"
        yield from (f"{' ' * 13}{line}" for line in rest)


def _also(places: Sequence[str], more: int) -> Iterator[tuple[str, str]]:
    if places:
        words = gettext(", ").join(map(plain, places))
        yield (
            "also",
            gettext("{words} and {number} more (--verbose)").format(words=words, number=more) if more else words,
        )


def _excerpt(diagnostic: Diagnostic, style: Style, secrets: frozenset[str], width: int) -> Iterator[str]:
    if diagnostic.text is None:
        return
    seen = diagnostic.seen
    shown_in = (seen.source, seen.start, seen.end) if seen else (diagnostic.text.text, diagnostic.start, diagnostic.end)
    language = language_of(diagnostic.text.path) if seen is None else language_of_cell(seen.source)
    part = snippet(*shown_in, secrets, language, EXCERPT if width >= WIDTH else width - _BESIDE)
    margin = " " * len(str(part.line))
    bar = style.paint("dim", "|")
    yield f"  {margin} {bar}"
    yield f"  {style.paint('dim', str(part.line))} {bar} {part.source}".rstrip()
    carets = style.paint(diagnostic.severity, "^" * part.carets)
    more = gettext(" … to line {line}").format(line=part.last_line) if part.last_line > part.line else ""
    absent = gettext(" this is where it is missing") if diagnostic.absent else ""
    yield f"  {margin} {bar} {' ' * part.before}{carets}{more}{absent}"


def _notes(diagnostic: Diagnostic, text: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    # What a key has for a value, written elsewhere, says nothing where the key itself is at fault.
    facts = [fact for fact in diagnostic.facts if fact.name != diagnostic.fact or not fact.name.startswith("keys.")]
    beside = [fact for fact in facts if _stands_in(diagnostic, fact) not in (None, _line(diagnostic))]
    if beside:
        yield "with", gettext(", ").join(list(dict.fromkeys(map(_beside, beside)))[:_FACTS])
    elsewhere = [fact for fact in facts if _elsewhere(diagnostic, fact)]
    yield from (("because", sentence(fact)) for fact in elsewhere[:_FACTS])
    told = {(fact.origin.get("file"), _place(fact.origin)) for fact in (*beside, *elsewhere)}
    for related in diagnostic.related:
        where = _related_place(related)
        if where and (related.file, where) in told:
            continue
        cell = f":cell {where[0]}" if where and where[0] else ""
        line = f"{cell}:{where[1]}" if where else ""
        yield (
            "see",
            gettext("`{setting}` in {place}").format(
                setting=plain(related.setting), place=f"{plain(related.file)}{line}"
            ),
        )
    if text.get("why"):
        yield "why", plain(first_sentences(text["why"]))
    if diagnostic.fix:
        yield "fix", _fix(diagnostic.fix, how(diagnostic))
    if diagnostic.releases:
        yield "releases", gettext(", ").join(releases(library, which) for library, which in diagnostic.releases.items())
    if len(diagnostic.targets) > 1:
        yield "targets", ", ".join(plain(target) for target in diagnostic.targets)
    if len(diagnostic.runs) > 1:
        yield (
            "runs",
            gettext("{number} runs read this: {names}").format(
                number=len(diagnostic.runs),
                names=", ".join(plain(run) for run in diagnostic.runs[:3])
                + (", …" if len(diagnostic.runs) > 3 else ""),
            ),
        )
    if diagnostic.url:
        yield "see", plain(diagnostic.url)
    sources = diagnostic.evidence.get("sources") or ()
    known = grade(str(diagnostic.evidence.get("grade") or ""))
    yield "evidence", ", ".join(plain(str(item)) for item in (known, *sources[:1]) if item)


_Place = tuple["int | None", int]  # the cell of a notebook, and the line


def _line(diagnostic: Diagnostic) -> _Place | None:
    if diagnostic.seen is not None:
        return diagnostic.seen.cell, locate(diagnostic.seen.source, diagnostic.seen.start).line
    return diagnostic.text and (None, locate(diagnostic.text.text, diagnostic.start).line)


def _place(origin: dict[str, Any]) -> _Place | None:
    return (origin.get("cell"), origin["line"]) if origin.get("line") else None


def _related_place(related: Related) -> _Place | None:
    if related.seen is not None:
        return related.seen.cell, locate(related.seen.source, related.seen.start).line
    return (None, related.location.line) if related.location else None


def _stands_in(diagnostic: Diagnostic, fact: ReportedFact) -> _Place | None:
    """The line of a fact that stands in the diagnostic's own file."""
    same = diagnostic.text is not None and fact.origin.get("file") == diagnostic.text.name
    return _place(fact.origin) if same else None


def _beside(fact: ReportedFact) -> str:
    setting = plain(fact.origin["setting"])
    stated = f"`{setting}`" if fact.bare else f"`{setting}: {as_written(fact)}`"
    where = gettext("cell {cell}, line {line}") if fact.origin.get("cell") else gettext("line {line}")
    place = where.format(cell=fact.origin.get("cell"), line=fact.origin["line"])
    return gettext("{words} ({notes})").format(words=stated, notes=place)


def _elsewhere(diagnostic: Diagnostic, fact: ReportedFact) -> bool:
    """Whether this file does not show it: a default, another file, an option."""
    return fact.origin["kind"] in ("default", "supplied", "explicit") and _stands_in(diagnostic, fact) is None


def _fix(fix: Fix, flags: str) -> str:
    told = {
        "unsafe": gettext("{title} ({flags}; not safe: {because})"),
        "manual": gettext("{title} ({flags}: {because})"),
    }
    words = told.get(fix.applicability) if fix.because else None
    return plain((words or gettext("{title} ({flags})")).format(title=fix.title, flags=flags, because=fix.because))
