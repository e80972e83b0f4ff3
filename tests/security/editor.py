"""What an editor says to `stablint server` that opens files, points at their lines and asks for repairs; and all that it is answered."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_LANGUAGES = {".py": "python", ".json": "json", ".sh": "shellscript", ".ipynb": "json"}


def messages(folder: Path, files: Mapping[str, str], language: str) -> Iterator[tuple[str, Any, bool]]:
    """Method, parameters, and whether it asks for an answer."""
    yield "initialize", {"processId": None, "rootUri": folder.as_uri(), "locale": language, "capabilities": {}}, True
    yield "initialized", {}, False
    for name, text in files.items():
        uri = (folder / name).as_uri()
        lines = text.split("\n")
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines), "character": 0}}
        document = {"textDocument": {"uri": uri}}
        kind = _LANGUAGES.get(Path(name).suffix, "yaml")
        opened = {"uri": uri, "languageId": kind, "version": 1, "text": text}
        yield "textDocument/didOpen", {"textDocument": opened}, False
        for number, line in enumerate(lines[:60]):
            place = {**document, "position": {"line": number, "character": max(len(line) - 2, 0) if number % 2 else 2}}
            yield "textDocument/hover", place, True
            if number % 16 == 7:
                yield "textDocument/completion", place, True
        yield "textDocument/codeAction", {**document, "range": whole, "context": {"diagnostics": []}}, True
        yield "textDocument/inlayHint", {**document, "range": whole}, True
        yield "textDocument/documentLink", document, True
        change = [{"text": text + "\n"}]
        yield "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": change}, False
        yield "textDocument/hover", {**document, "position": {"line": 0, "character": 0}}, True
    yield "shutdown", None, True
    yield "exit", None, False


def replies(folder: Path, files: Mapping[str, str], language: str = "en") -> str:
    """Both streams of the server, letters as they are read."""
    said = b""
    for number, (method, parameters, asks) in enumerate(messages(folder, files, language), start=1):
        message = {"jsonrpc": "2.0", "method": method, "params": parameters, **({"id": number} if asks else {})}
        body = json.dumps(message).encode()
        said += b"Content-Length: %d\r\n\r\n" % len(body) + body
    ran = subprocess.run(
        [sys.executable, "-m", "stablint", "server"],
        input=said,
        capture_output=True,
        cwd=folder,
        timeout=300,
        check=False,
    )
    output = (ran.stdout + ran.stderr).decode("utf-8", "replace")
    return output + json.dumps(output)  # escaped once more: nothing hides behind an escape
