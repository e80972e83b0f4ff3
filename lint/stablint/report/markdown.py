"""A table in GitHub Flavored Markdown: for the summary of a CI job or a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stablint.base.language import gettext
from stablint.report.full import active, summary
from stablint.report.model import Diagnostic, Report
from stablint.report.place import header
from stablint.report.said import clean, finding, repair
from stablint.report.words import severity

_ROWS = 100  # a comment on GitHub holds 65,536 characters
# What markdown or the platform would act on: emphasis, links, images, HTML, the bars of the table.
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>#|~&$]")
_BEGINS = re.compile(r"[\\`*\[\]<>#|~&$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)")
_SPAN = re.compile(r"`([^`]+)`")


def render(report: Report, texts: Mapping[str, Mapping[str, Any]], *, secrets: frozenset[str] = frozenset()) -> str:
    """`texts` are the hazards' texts by rule; `secrets` are masked."""
    return "\n".join(_lines(report, texts, secrets)) + "\n"


def _lines(report: Report, texts: Mapping[str, Mapping[str, Any]], secrets: frozenset[str]) -> Iterator[str]:
    findings = active(report)
    yield "### stablint"
    if findings:
        yield ""
        yield gettext("| | Place | Finding | Fix |")
        yield "|---|---|---|---|"
        for diagnostic in findings[:_ROWS]:
            yield _row(diagnostic, texts.get(diagnostic.rule, {}), secrets)
    if len(findings) > _ROWS:
        yield ""
        yield gettext("… and {number} more.").format(number=f"{len(findings) - _ROWS:,}")
    for line in summary(report):
        yield ""
        yield prose(clean(line, secrets))


def _row(diagnostic: Diagnostic, text: Mapping[str, Any], secrets: frozenset[str]) -> str:
    title = f"<br>{prose(clean(text['title'], secrets))}" if text.get("title") else ""
    cells = (
        f"**{severity(diagnostic.severity)}** {diagnostic.code}",
        code(clean(header(diagnostic), secrets)),
        prose(finding(diagnostic, secrets)) + title,
        prose(repair(diagnostic, secrets)),
    )
    return f"| {' | '.join(cells)} |"


def prose(text: str) -> str:
    """A line of text whose `code spans` stay such and in which nothing else is markup."""
    return _with_spans(text, _literal, code)


def _with_spans(text: str, plain: Callable[[str], str], span: Callable[[str], str]) -> str:
    """Odd parts stand between backticks."""
    return "".join(span(part) if number % 2 else plain(part) for number, part in enumerate(_SPAN.split(text)))


def code(text: str) -> str:
    """`text` as code. Where a bar or a backtick stands in it, as HTML, since tables split cells before they look for code."""
    if text and not set("`|\\") & set(text) and text.strip() == text:
        return f"`{text}`"
    return f"<code>{_entities(text)}</code>"


def for_editor(text: str) -> str:
    """As `prose`, for an editor, which shows HTML as it is written: neither a file's words nor a house hazard's become a link, or an image to fetch."""
    return _with_spans(text, _inert, span_of)


def span_of(text: str) -> str:
    """`text` as code, between more backticks than stand together in it."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if "`" in (text[:1], text[-1:]) else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _inert(text: str) -> str:
    """Words are left as they are: only what begins a link, an image, HTML, an entity or code is not markup any more."""
    return _BEGINS.sub(lambda found: f"&#{ord(found[0])};", text)


def _literal(text: str) -> str:
    """A comment after `@` and in front of a number keeps the platform from making a mention or a reference of it."""
    return _entities(text).replace("@", "@<!-- -->").replace("&#35;", "&#35;<!-- -->").replace("://", ":<!-- -->//")


def _entities(text: str) -> str:
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", text)
