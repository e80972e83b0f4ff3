"""The language server protocol over standard input and output. The one module that knows pygls.

Texts are checked when nothing was typed for a moment; a request that an editor has cancelled meanwhile is not answered. All that leaves goes through
the exit of the program, as everything else does: a message about a line with a token holds no token.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from stablint import __version__
from stablint.base import language
from stablint.base.language import gettext
from stablint.config.options import Wrong
from stablint.files.faults import attempt, said, trace
from stablint.report.plain import plain
from stablint.secrets import exit
from stablint.server import completing, findings, linking, meaning
from stablint.server.places import offset
from stablint.server.session import Checked, Session

_PAUSE = 0.02  # seconds without a keystroke before a text is checked
_GRACE = 0.002  # seconds before each answer, in which the editor can say that it does not want it any more
_FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.{findings.SOURCE}"


class Outlet:
    """A stream of messages, each with its header, whose texts are masked on their way, one by one: what stands beside one another in a message
    is no assignment."""

    def __init__(self, inner: BinaryIO) -> None:
        self._inner = inner
        self.failed: OSError | None = None

    def write(self, data: bytes) -> int:
        header, _, body = data.partition(b"\r\n\r\n")
        said = json.loads(body)
        if (clean := exit.masked_within(said)) != said:
            body = json.dumps(clean).encode("utf-8")
            lines = [line for line in header.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
            header = b"\r\n".join([b"Content-Length: %d" % len(body), *lines])
        try:
            self._inner.write(header + b"\r\n\r\n" + body)
            self._inner.flush()
        except OSError as error:  # told to the same editor, it would fail once more, and so on
            self.failed = error
            raise SystemExit from error
        return len(data)

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        """The stream is the program's, which still has to end."""
        self._inner.flush()


class _InOneLine(logging.Handler):
    """What pygls logs with a traceback, as of a message that is none, is a line for people: nothing of ours has failed."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        words = record.getMessage().partition("\n")[0]
        exit.tell(plain(words if error is None else f"{words}: {said(error)}"))
        if error is not None:
            trace(error)


class Server(LanguageServer):
    def __init__(self) -> None:
        super().__init__("stablint", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.session = Session("")
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.told: set[str] = set()
        self._one = asyncio.Lock()
        self.creates = False  # whether the editor makes new files
        self._found: dict[str, dict[str, list[lsp.Diagnostic]]] = {}  # by checked file, and by the file where it stands
        self._unsent: set[str] = set()  # files about which something new is to be said

    def path(self, uri: str) -> str | None:
        return to_fs_path(uri) if uri.startswith("file:") else None

    def checked(self, uri: str, *, useful: bool = False) -> tuple[str, Checked] | None:
        """The path and its check; None where there is nothing to say, which has been told where it is a fault."""
        path = self.path(uri)
        if path is None or path not in self.session.open():
            return None
        found, fault = attempt(self.session.useful if useful else self.session.check, path)
        if fault is not None:
            name = self.session.name(path)
            self.tell(
                str(fault)
                if isinstance(fault, Wrong)
                else gettext("internal error while checking {name}: {fault}").format(name=name, fault=said(fault))
            )
        if found is None:
            return None
        exit.learn(found.secrets)
        for line in found.inspection.report.broken:
            self.tell(line)
        return path, found

    def tell(self, message: str) -> None:
        """Once: an editor shows each as a window."""
        if message not in self.told:
            self.told.add(message)
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"stablint: {exit.masked(message)}"))

    async def turn(self) -> None:
        """Requests are answered one after the other, and what comes in is read between two of them: one that is taken back ends where it waits."""
        async with self._one:
            await asyncio.sleep(_GRACE)

    def later(self, uri: str) -> None:
        """Check a text when the keyboard rests."""
        if uri in self.waiting:
            self.waiting[uri].cancel()
        self.waiting[uri] = asyncio.get_running_loop().create_task(self._rested(uri))

    async def _rested(self, uri: str) -> None:
        await asyncio.sleep(_PAUSE)
        self.waiting.pop(uri, None)
        path = self.path(uri)
        for other in self.session.readers(path) if path is not None else ():
            await asyncio.sleep(0)  # what was asked meanwhile is answered first
            self._renew(findings.uri_of(other))
        self._send_renewed()  # after all of them: what another file said of the text before is not said of the new one

    def publish(self, uri: str) -> None:
        self._renew(uri)
        self._send_renewed()

    def _renew(self, uri: str) -> None:
        checked = self.checked(uri)
        if checked is None:
            return
        path, found = checked
        before = self._found.get(path, {})
        self._found[path] = findings.diagnostics(found)
        self._unsent |= {path, *self._found[path], *before}

    def _send_renewed(self) -> None:
        while self._unsent:
            self._send(self._unsent.pop())

    def _of(self, path: str) -> list[lsp.Diagnostic]:
        """What all open files say about one, each thing once."""
        told: dict[tuple[Any, ...], lsp.Diagnostic] = {}
        for by_file in self._found.values():
            for one in by_file.get(path, ()):
                told.setdefault((one.code, one.data, one.range.start.line, one.range.start.character), one)
        return list(told.values())

    def _send(self, path: str) -> None:
        uri = findings.uri_of(path)
        version = self.workspace.text_documents[uri].version if uri in self.workspace.text_documents else None
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, self._of(path), version))

    def forget(self, path: str) -> None:
        """A file is closed: what was found in it alone is taken back."""
        for other in self._found.pop(path, {}):
            self._send(other)


def serve(stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> None:
    """Until the editor says `exit`, or its end of the pipe closes. Raises OSError where it cannot be told anything."""
    outlet = Outlet(stdout or exit.binary())
    log = logging.getLogger("pygls")
    log.propagate, log.handlers = False, [_InOneLine(logging.WARNING)]
    try:
        made().start_io(stdin or sys.stdin.buffer, outlet)  # type: ignore[arg-type]
    except SystemExit:
        if outlet.failed is None:
            raise
    if outlet.failed is not None:
        raise outlet.failed


def made() -> Server:
    server = Server()

    @server.feature(lsp.INITIALIZE)
    def initialize(parameters: lsp.InitializeParams) -> None:
        language.follow(parameters.locale or "")
        folders = parameters.workspace_folders or []
        uri = folders[0].uri if folders else parameters.root_uri or ""
        server.session = Session((to_fs_path(uri) if uri else None) or parameters.root_path or "/")
        workspace = parameters.capabilities.workspace
        edits = workspace.workspace_edit if workspace is not None else None
        server.creates = bool(edits and edits.document_changes) and lsp.ResourceOperationKind.Create in (
            edits.resource_operations or () if edits else ()
        )
        configure(parameters.initialization_options)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(parameters: lsp.DidChangeConfigurationParams) -> None:
        configure(parameters.settings)
        for path in server.session.open():
            server.later(findings.uri_of(path))

    def configure(settings: Any) -> None:
        own = settings.get("stablint", settings) if isinstance(settings, Mapping) else {}
        server.session.configure(own if isinstance(own, Mapping) else {})
        server.told.clear()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(parameters: lsp.DidOpenTextDocumentParams) -> None:
        changed_to(parameters.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(parameters: lsp.DidChangeTextDocumentParams) -> None:
        changed_to(parameters.text_document.uri)

    def changed_to(uri: str) -> None:
        path = server.path(uri)
        if path is not None:
            server.session.put(path, server.workspace.get_text_document(uri).source)
            server.later(uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(parameters: lsp.DidSaveTextDocumentParams) -> None:
        server.session.renew()
        for path in server.session.open():
            server.later(findings.uri_of(path))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(parameters: lsp.DidCloseTextDocumentParams) -> None:
        path = server.path(parameters.text_document.uri)
        if path is not None:
            server.session.close(path)
            server.forget(path)
            for other in server.session.readers(path):
                server.later(findings.uri_of(other))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(parameters: lsp.HoverParams) -> lsp.Hover | None:
        await server.turn()
        at = server.checked(parameters.text_document.uri)
        return at and meaning.hover(at[1], at[0], offset(server.session.text(at[0]), parameters.position))

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]),
    )
    async def act(parameters: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        await server.turn()
        at = server.checked(parameters.text_document.uri)
        if at is None:
            return []
        path, found = at
        text = server.session.text(path)
        wanted = [str(getattr(kind, "value", kind)) for kind in parameters.context.only or ()]
        some: list[lsp.CodeAction] = []
        if not wanted or any("quickfix".startswith(kind) for kind in wanted):
            start, end = (offset(text, place) for place in (parameters.range.start, parameters.range.end))
            some = findings.actions(found, path, start, end, creates=server.creates)
        if not wanted or any(_FIX_ALL.startswith(kind) for kind in wanted):
            every = findings.fix_all(found, path)
            some += [every] if every is not None else []
        return some

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[":", " ", '"']))
    async def complete(parameters: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        await server.turn()
        at = server.checked(parameters.text_document.uri, useful=True)
        if at is None:
            return []
        text = server.session.text(at[0])
        return completing.complete(at[1], at[0], text, offset(text, parameters.position))

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def link(parameters: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
        await server.turn()
        at = server.checked(parameters.text_document.uri)
        return linking.links(at[1], at[0]) if at else []

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    async def hint(parameters: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        await server.turn()
        at = server.checked(parameters.text_document.uri)
        if at is None:
            return []
        text = server.session.text(at[0])
        start, end = (offset(text, place) for place in (parameters.range.start, parameters.range.end))
        return meaning.hints(at[1], at[0], start, end)

    return server
