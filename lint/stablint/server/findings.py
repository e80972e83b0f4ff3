"""What is found in a text, as an editor's diagnostics, and what it offers to do about them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeDescription,
    CreateFile,
    CreateFileOptions,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    Location,
    OptionalVersionedTextDocumentIdentifier,
    Position,
    Range,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)
from pygls.uris import from_fs_path

from stablint.base.language import gettext
from stablint.config.settings import NAMES, nearest, read
from stablint.engine.inspect import Inspection
from stablint.files.faults import attempt
from stablint.report.model import Diagnostic as Finding
from stablint.report.model import Fix
from stablint.report.place import line_starts, line_text, locate
from stablint.report.said import clean, finding, repair
from stablint.secrets.masking import mask
from stablint.server.places import span
from stablint.server.session import Checked
from stablint.suppressions.comments import comments
from stablint.syntax.tree import Edit, Text

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
            words = clean(other.setting, secrets) or gettext("this as well")
            yield DiagnosticRelatedInformation(Location(uri_of(text.path), Range(at, at)), words)


def actions(checked: Checked, path: str, start: int, end: int, *, creates: bool = False) -> list[CodeAction]:
    """The repairs of the findings that touch a span of the text, and what accepts each. `creates`: the editor can make new files."""
    secrets = checked.secrets
    found: list[CodeAction] = []
    for one in _active(checked.inspection):
        if one.text is None or one.text.path != path or one.end < start or one.start > end:
            continue
        shown = _diagnostic(one, one.text, checked, secrets)
        edit = _written(one.fix, secrets) if one.fix is not None and one.fix.applicability != "manual" else None
        if one.fix is not None and edit is not None:
            unsafe = one.fix.applicability == "unsafe"
            title = f"{one.code}: {clean(one.fix.title, secrets)}{gettext(' (changes the training)') if unsafe else ''}"
            found.append(
                CodeAction(title, CodeActionKind.QuickFix, [shown], is_preferred=not unsafe or None, edit=edit)
            )
        accepted = _accepted(one, one.text, checked, creates)
        if accepted is not None:
            found.append(
                CodeAction(
                    gettext("{code}: accept it here, with a reason").format(code=one.code),
                    CodeActionKind.QuickFix,
                    [shown],
                    edit=accepted,
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
        gettext("stablint: apply all safe repairs"),
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


_OF_A_CELL = re.compile(r"(?P<code>.*?)(?:\\n)?\",?\s*\Z")


def _accepted(one: Finding, text: Text, checked: Checked, creates: bool) -> WorkspaceEdit | None:
    """A comment behind the line, to be completed with a reason; where the format has no comments a row of the settings. None where the line
    has a comment already."""
    documents = checked.inspection.files.documents(text.path)
    if not documents:
        return None
    if documents[0].format not in _COMMENTED:
        return _in_settings(one, text, checked, creates)
    line = locate(text.text, one.start).line
    if documents[0].format == "shell":  # within a continued command there is no room for a comment
        while line_text(text.text, line).endswith("\\") and line < len(line_starts(text.text)):
            line += 1
    begin = line_starts(text.text)[line - 1]
    end = begin + len(line_text(text.text, line))
    if documents[0].view is not None:
        cell = _OF_A_CELL.match(line_text(text.text, line)) if text.path.endswith(".ipynb") else None
        if cell is None or "#" in cell["code"]:
            return None
        end = begin + cell.end("code")
    elif any(begin <= start <= end for start, _ in comments(documents).spans):
        return None
    words = f"  # stablint: ignore[{one.code}] -- "
    return WorkspaceEdit({uri_of(text.path): [TextEdit(span(text.text, end, end), words)]})


def _in_settings(one: Finding, text: Text, checked: Checked, creates: bool) -> WorkspaceEdit | None:
    """At the end of the settings that count for the file, or of new ones at the top of its repository."""
    root = checked.inspection.files.root(text.path)
    path = nearest(os.path.dirname(text.path), {})
    here = path or os.path.join(root, NAMES[0])
    if path is None and not creates:
        return None
    settings, _ = attempt(read, path, root, root) if path is not None else (None, None)
    if path is not None and settings is None:
        return None
    found = settings.text if settings is not None else ""
    folder = os.path.relpath(text.path, os.path.dirname(here)).replace(os.sep, "/")
    if any(mask(word, checked.secrets) != word or not word.isprintable() for word in (folder, one.setting or "")):
        return None
    table = "tool.stablint.accept" if os.path.basename(here) == "pyproject.toml" else "accept"
    rows = [f"[[{table}]]", f"file = {json.dumps(folder, ensure_ascii=False)}"]
    if one.setting:
        rows.append(f"setting = {json.dumps(one.setting, ensure_ascii=False)}")
    rows += [f'rules = ["{one.code}"]', 'reason = ""']
    before = "" if not found else "\n" if found.endswith("\n") else "\n\n"
    edit = TextEdit(span(found, len(found), len(found)), before + "\n".join(rows) + "\n")
    if path is not None:
        return WorkspaceEdit({uri_of(path): [edit]})
    new = CreateFile(uri_of(here), options=CreateFileOptions(ignore_if_exists=True))
    return WorkspaceEdit(
        document_changes=[new, TextDocumentEdit(OptionalVersionedTextDocumentIdentifier(uri_of(here)), [edit])]
    )
