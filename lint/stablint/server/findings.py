"""What is found in a text, as an editor's diagnostics, and what it offers to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    Location,
    Position,
    Range,
    TextEdit,
    WorkspaceEdit,
)
from pygls.uris import from_fs_path

from stablint.comments import comments
from stablint.inspect import Inspection
from stablint.report.model import Diagnostic as Finding
from stablint.report.model import Fix
from stablint.report.place import line_starts, line_text, locate
from stablint.report.said import clean, finding, repair
from stablint.secrets.masking import mask
from stablint.server.places import span
from stablint.server.session import Checked
from stablint.source.tree import Edit, Text

SOURCE = "stablint"
_SEVERITIES = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "info": DiagnosticSeverity.Information,
}
_COMMENTED = frozenset({"yaml", "python", "shell"})


def uri_of(path: str) -> str:
    uri: str | None = from_fs_path(path)
    if uri is None:
        raise ValueError(f"{path!r} is no path")
    return uri


def diagnostics(checked: Checked) -> dict[str, list[Diagnostic]]:
    """By path: a finding may stand in a file that this one links to."""
    found: dict[str, list[Diagnostic]] = {}
    secrets = checked.secrets
    for one in _active(checked.inspection):
        if one.text is not None:
            found.setdefault(one.text.path, []).append(_diagnostic(one, one.text, checked, secrets))
    return found


def _active(found: Inspection) -> Iterator[Finding]:
    return (one for one in found.report.diagnostics if one.suppressed is None and one.text is not None)


def _diagnostic(one: Finding, text: Text, checked: Checked, secrets: frozenset[str]) -> Diagnostic:
    words = finding(one, secrets)
    mended = repair(one, secrets)
    return Diagnostic(
        range=_range(one, text),
        message=f"{words}\n{mended}" if mended else words,
        severity=_SEVERITIES[one.severity],
        code=one.code,
        code_description=_described(one),
        source=SOURCE,
        related_information=list(_related(one, checked, secrets)) or None,
        data=one.fingerprint,
    )


def _described(one: Finding) -> CodeDescription | None:
    """A page about the finding: the rule's own, or the first source of its evidence that is an address."""
    if one.url:
        return CodeDescription(one.url)
    sources: list[Any] = one.evidence.get("sources", [])
    urls = [source["url"] for source in sources if isinstance(source, dict) and str(source.get("url", "")).startswith("https://")]  # fmt: skip
    return CodeDescription(urls[0]) if urls else None


def _range(one: Finding, text: Text) -> Range:
    """Within one line: an editor underlines all of a range, and a finding about something absent stands for its whole block."""
    end = one.end
    if locate(text.text, one.start).line != locate(text.text, max(one.start, end - 1)).line:
        line = locate(text.text, one.start).line
        end = line_starts(text.text)[line - 1] + len(line_text(text.text, line))
    return span(text.text, one.start, max(end, one.start))


def _related(one: Finding, checked: Checked, secrets: frozenset[str]) -> Iterator[DiagnosticRelatedInformation]:
    paths = {text.name: text for text in checked.inspection.files.texts()}
    for other in one.related:
        text = paths.get(other.file)
        if text is not None and other.location is not None:
            line = other.location.line - 1
            at = Position(line, other.location.column - 1)
            words = clean(other.setting, secrets) or "this as well"
            yield DiagnosticRelatedInformation(Location(uri_of(text.path), Range(at, at)), words)


def actions(checked: Checked, path: str, start: int, end: int) -> list[CodeAction]:
    """The repairs of the findings that touch a span of the text, and a comment that accepts each."""
    secrets = checked.secrets
    found: list[CodeAction] = []
    for one in _active(checked.inspection):
        if one.text is None or one.text.path != path or one.end < start or one.start > end:
            continue
        shown = _diagnostic(one, one.text, checked, secrets)
        edit = _written(one.fix, secrets) if one.fix is not None and one.fix.applicability != "manual" else None
        if one.fix is not None and edit is not None:
            unsafe = one.fix.applicability == "unsafe"
            title = f"{one.code}: {clean(one.fix.title, secrets)}{' (changes the training)' if unsafe else ''}"
            found.append(
                CodeAction(title, CodeActionKind.QuickFix, [shown], is_preferred=not unsafe or None, edit=edit)
            )
        accepted = _accepted(one, one.text, checked)
        if accepted is not None:
            found.append(
                CodeAction(
                    f"{one.code}: accept it here, with a reason", CodeActionKind.QuickFix, [shown], edit=accepted
                )
            )
    return found


def fix_all(checked: Checked, path: str) -> CodeAction | None:
    """Every safe repair of this file that touches no other one, in one edit."""
    taken: list[Edit] = []
    text: Text | None = None
    for one in _active(checked.inspection):
        if one.fix is None or one.fix.applicability != "safe" or one.fix.by_name or len(one.fix.files) != 1:
            continue
        file = one.fix.files[0]
        apart = all(edit.end <= other.start or other.end <= edit.start for edit in file.edits for other in taken)
        if file.text.path == path and apart and _written(one.fix, checked.secrets) is not None:
            text = file.text
            taken += file.edits
    if text is None:
        return None
    edits = [TextEdit(span(text.text, edit.start, edit.end), edit.new_text) for edit in sorted(taken)]
    return CodeAction(
        "stablint: apply all safe repairs",
        f"{CodeActionKind.SourceFixAll.value}.{SOURCE}",
        edit=WorkspaceEdit({uri_of(path): list(edits)}),
    )


def _written(fix: Fix, secrets: frozenset[str]) -> WorkspaceEdit | None:
    """None where nothing is to be written, or where what is written would carry a secret: it would be hidden on its way out."""
    changes = {}
    for file in fix.files:
        if any(mask(edit.new_text, secrets) != edit.new_text for edit in file.edits):
            return None
        changes[uri_of(file.text.path)] = [
            TextEdit(span(file.text.text, edit.start, edit.end), edit.new_text) for edit in file.edits
        ]
    return WorkspaceEdit(dict(changes)) if changes else None


def _accepted(one: Finding, text: Text, checked: Checked) -> WorkspaceEdit | None:
    """A comment behind the line, to be completed with a reason. None where the format has no comments, or the line has one already."""
    documents = checked.inspection.files.documents(text.path)
    if not documents or documents[0].format not in _COMMENTED or documents[0].view is not None:
        return None
    line = locate(text.text, one.start).line
    begin = line_starts(text.text)[line - 1]
    end = begin + len(line_text(text.text, line))
    spans = comments(documents).spans
    if any(begin <= start <= end for start, _ in spans) or line_text(text.text, line).endswith("\\"):
        return None
    words = f"  # stablint: ignore[{one.code}] -- "
    return WorkspaceEdit({uri_of(text.path): [TextEdit(span(text.text, end, end), words)]})
