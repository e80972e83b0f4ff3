"""An editor opens a file of each dialect, and is told of it what it is told of every other: `dialects.yaml` is the table, this the client."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest_lsp = pytest.importorskip("pytest_lsp")

from lsprotocol import types as lsp  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient  # noqa: E402

from stablint.compiling.reading import LOADER  # noqa: E402
from stablint.frameworks import registry  # noqa: E402
from stablint.server.places import offset, position  # noqa: E402
from tests.sampling import sampled  # noqa: E402

CASES: dict[str, dict[str, Any]] = yaml.load(
    Path(__file__).with_name("dialects.yaml").read_text(encoding="utf-8"), LOADER
)
PARTS = ("hover", "finding", "repair", "keys", "values", "hint", "link")
ABLE = lsp.ClientCapabilities(
    workspace=lsp.WorkspaceClientCapabilities(
        workspace_edit=lsp.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[lsp.ResourceOperationKind.Create]
        )
    )
)


def test_every_dialect_is_in_the_table() -> None:
    assert {case.get("dialect", name) for name, case in CASES.items()} >= {*registry.NAMES}


@pytest.mark.parametrize("name", CASES)
def test_what_a_dialect_does_not_have_is_said_with_its_reason(name: str) -> None:
    case = CASES[name]
    without = case.get("without", {})
    has = {*case, *(["repair"] if "finding" in case and "repair" not in without else [])}
    assert not set(PARTS) - has - set(without)
    assert all(reason.strip() for reason in without.values())
    assert set(without) <= {*PARTS} and not set(without) & set(case)


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[sys.executable, "-m", "stablint", "server"]))
async def client(lsp_client: LanguageClient, tmp_path: Path):
    await begin(lsp_client, tmp_path)
    yield
    await lsp_client.shutdown_session()


async def begin(client: LanguageClient, folder: Path) -> None:
    """A session in the folder, in which what the server publishes is kept."""
    await client.initialize_session(
        lsp.InitializeParams(capabilities=ABLE, root_uri=folder.as_uri(), initialization_options={"gpu": ["A100-80GB"]})
    )
    client.folder = folder
    client.published = published = {}

    def publish(told: lsp.PublishDiagnosticsParams) -> None:
        published[told.uri] = (told.version, told.diagnostics)

    client.protocol.fm.features[lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = publish


class Editor:
    """One file in an editor."""

    def __init__(self, client: LanguageClient, case: dict[str, Any]) -> None:
        self.client, self.case, self.text, self.version = client, case, case["text"], 1
        self.path = client.folder / case["file"]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for name, text in {case["file"]: "", **case.get("beside", {})}.items():
            (client.folder / name).write_text(text, encoding="utf-8")  # on the disk the file itself is empty
        self.uri = self.path.as_uri()
        self.document = lsp.TextDocumentIdentifier(self.uri)

    async def told(self, version: int) -> list[lsp.Diagnostic]:
        """What is published for a version of the text."""
        while self.client.published.get(self.uri, (0, []))[0] != version:
            await asyncio.sleep(0.005)
        return list(self.client.published[self.uri][1])

    async def open(self) -> list[lsp.Diagnostic]:
        item = lsp.TextDocumentItem(self.uri, "text", 1, self.text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.told(1)

    async def type(self, text: str) -> list[lsp.Diagnostic]:
        self.text, self.version = text, self.version + 1
        changed = lsp.VersionedTextDocumentIdentifier(self.version, self.uri)
        whole = [lsp.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(changed, whole))
        return await self.told(self.version)

    def place(self, words: str) -> lsp.Position:
        return position(self.text, self.text.index(words) + 1)

    async def hover(self, words: str) -> str:
        found = await self.client.text_document_hover_async(lsp.HoverParams(self.document, self.place(words)))
        assert found is not None and isinstance(found.contents, lsp.MarkupContent), words
        return found.contents.value

    async def actions(self, one: lsp.Diagnostic) -> list[lsp.CodeAction]:
        asked = lsp.CodeActionParams(self.document, one.range, lsp.CodeActionContext([one]))
        return [
            action
            for action in await self.client.text_document_code_action_async(asked) or ()
            if isinstance(action, lsp.CodeAction) and action.title.startswith(f"{one.code}:")
        ]

    async def offered(self, wanted: dict[str, str]) -> dict[str, lsp.CompletionItem]:
        """What is offered at the `|` of a line that is typed below another."""
        lines = self.case["text"].splitlines(keepends=True)
        at = len(lines)
        if self.case["text"].startswith("{") and "under" not in wanted:
            at = 2 if wanted["typing"].startswith("    ") else 1
        if "under" in wanted:
            at = next(n for n, line in enumerate(lines) if wanted["under"] in line) + 1
        typed = wanted["typing"].replace("|", "")
        before = "".join(lines[:at]) + typed
        await self.type(before + "\n" + "".join(lines[at:]))
        params = lsp.CompletionParams(self.document, position(self.text, len(before)))
        found = await self.client.text_document_completion_async(params)
        assert isinstance(found, list)
        await self.type(self.case["text"])
        return {item.label: item for item in found}


@pytest.mark.asyncio
@pytest.mark.parametrize("name", sampled(CASES, 8))
async def test_an_editor_is_told_of_each_dialect_what_it_is_told_of_every_other(
    client: LanguageClient, name: str
) -> None:
    """One server a dialect, asked all that an editor asks; the file is empty on the disk."""
    editor = Editor(client, CASES[name])
    found = await editor.open()
    await _hovers(editor)
    await _offers(editor)
    await _hints_and_links(editor)
    if "beside" in editor.case and "ds.json" in editor.case["beside"]:
        await _counts_a_linked_buffer(editor)
    if "finding" in editor.case:
        await _stands_where_it_belongs(editor, found)
        await _is_repaired_and_accepted(editor)
        await _obeys_the_workspace(editor)


def mine(case: dict[str, Any], found: list[lsp.Diagnostic]) -> list[lsp.Diagnostic]:
    return [one for one in found if one.code == case.get("finding")]


async def _stands_where_it_belongs(editor: Editor, found: list[lsp.Diagnostic]) -> None:
    """And goes with what draws it."""
    case = editor.case
    assert all(one.source == "stablint" for one in found)
    (one,) = mine(case, found)
    line = editor.text.splitlines()[one.range.start.line]
    assert case["at"] in line and one.range.start.line == one.range.end.line and one.message
    asked = lsp.HoverParams(editor.document, one.range.start)
    told = await editor.client.text_document_hover_async(asked)
    assert told is not None and isinstance(told.contents, lsp.MarkupContent)
    assert case["finding"] in told.contents.value and "evidence: " in told.contents.value
    assert not mine(case, await editor.type("\n"))


async def _hovers(editor: Editor) -> None:
    for words, says in editor.case["hover"].items():
        told = await editor.hover(words)
        assert not [one for one in says if one not in told], told


async def _is_repaired_and_accepted(editor: Editor) -> None:
    """Each edit clears the finding: the repairs, and the comment or row of the settings that accepts it."""
    case, client = editor.case, editor.client
    (one,) = mine(case, await editor.type(case["text"]))
    actions = await editor.actions(one)
    repairs = [action for action in actions if not action.title.endswith("accept it here, with a reason")]
    assert bool(repairs) != ("repair" in case.get("without", {}))
    for repair in repairs:
        assert repair.edit is not None and repair.edit.changes is not None
        assert not mine(case, await editor.type(edited(case["text"], repair.edit.changes[editor.uri])))
        await editor.type(case["text"])
    (accept,) = [action for action in actions if action not in repairs]
    assert accept.edit is not None
    if accept.edit.changes is not None:
        after = edited(case["text"], accept.edit.changes[editor.uri])
        assert not mine(case, await editor.type(after.replace("] -- ", "] -- an experiment", 1)))
    else:
        create, change = accept.edit.document_changes or ()
        assert isinstance(create, lsp.CreateFile) and isinstance(change, lsp.TextDocumentEdit)
        settings = edited("", [one for one in change.edits if isinstance(one, lsp.TextEdit)])
        (client.folder / "stablint.toml").write_text(settings.replace('""', '"an experiment"'), encoding="utf-8")
        assert create.uri == (client.folder / "stablint.toml").as_uri()
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(editor.document))
        client.published.clear()
        assert not mine(case, await editor.type(case["text"]))
        (client.folder / "stablint.toml").unlink()
        client.text_document_did_save(lsp.DidSaveTextDocumentParams(editor.document))


def edited(text: str, edits: list[lsp.TextEdit] | Any) -> str:
    for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        text = text[: offset(text, edit.range.start)] + edit.new_text + text[offset(text, edit.range.end) :]
    return text


async def _offers(editor: Editor) -> None:
    """In the middle of a word."""
    for part in ("keys", "values"):
        if part in editor.case:
            offered = await editor.offered(editor.case[part])
            assert editor.case[part]["offers"] in offered, sorted(offered)


async def _hints_and_links(editor: Editor) -> None:
    case, client = editor.case, editor.client
    whole = lsp.Range(lsp.Position(0, 0), position(editor.text, len(editor.text)))
    hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(editor.document, whole))
    if "hint" in case:
        assert any(case["hint"] in str(hint.label) for hint in hints or ())
    links = await client.text_document_document_link_async(lsp.DocumentLinkParams(editor.document))
    if "link" in case:
        targets = {link.target: link.range for link in links or ()}
        wanted = case["link"] if "://" in case["link"] else (client.folder / case["link"]).as_uri()
        assert wanted in targets
        place = targets[wanted]
        assert editor.text[offset(editor.text, place.start) : offset(editor.text, place.end)].strip("\"'\\") in wanted


async def _counts_a_linked_buffer(editor: Editor) -> None:
    """What is typed there, and not saved, is told there."""
    case = editor.case
    linked = Editor(editor.client, {**case, "file": "ds.json", "text": case["beside"]["ds.json"], "beside": {}})
    await linked.open()
    found = await linked.type('{"zero_optimization": {"stage": 7}, "train_micro_batch_size_per_gpu": "auto"}')
    assert [one for one in found if one.severity == lsp.DiagnosticSeverity.Error], found
    assert not [one for one in await linked.type(linked.case["text"]) if one.severity == lsp.DiagnosticSeverity.Error]


async def _obeys_the_workspace(editor: Editor) -> None:
    case = editor.case
    assert mine(case, await editor.type(case["text"]))
    settings = {"stablint": {"ignore": [case["finding"]]}}
    editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings))
    assert not mine(case, await editor.type(case["text"] + "\n"))


@pytest.mark.asyncio
async def test_requests_that_are_taken_back_are_not_answered(client: LanguageClient) -> None:
    """An editor takes back what it asked when somebody types on. Some may be answered already, on a busy machine all of a volley; the next one is
    answered, whatever was taken back."""
    editor = Editor(client, CASES["llamafactory"])
    await editor.open()
    asked = lsp.HoverParams(editor.document, editor.place("learning_rate"))
    for volley in range(100):
        sent = []
        for name in (f"hover-{volley}-{number}" for number in range(30)):
            sent.append(client.protocol.send_request(lsp.TEXT_DOCUMENT_HOVER, asked, msg_id=name))
            client.cancel_request(lsp.CancelParams(name))  # at once: a busy client is slower than the server
        ended = await asyncio.gather(*map(asyncio.wrap_future, sent), return_exceptions=True)
        if any(isinstance(one, Exception) and "cancel" in str(one).lower() for one in ended):
            break
    else:
        pytest.fail("none of 3,000 requests was taken back in time")
    assert "learning_rate" in await editor.hover("learning_rate")
