"""From a keystroke to its diagnostics: `stablint server` as a process, spoken to over its pipes as an editor does.

    python benchmarks/server.py [FILE…] [--keys 200]

Each file (default: the bundled examples of at most 2 KB) is opened, then a digit of its text is typed over and over; what is timed is the way from
the change that is sent to the publication of that version. The server waits 20 ms for a further keystroke before it checks: that is within the time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class Editor:
    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "stablint", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        self.number = 0

    def send(self, method: str, parameters: Any, *, asks: bool = False) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if asks:
            self.number += 1
            message["id"] = self.number
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return dict(json.loads(self.process.stdout.read(length)))

    def published(self, uri: str, version: int) -> None:
        while True:
            told = self.receive()
            if told.get("method") == "textDocument/publishDiagnostics":
                if told["params"]["uri"] == uri and told["params"].get("version") == version:
                    return

    def processor(self) -> float:
        """Seconds of processor time that the server has used, with what it opens and closes; not a number where no /proc tells it."""
        status = Path(f"/proc/{self.process.pid}/stat")
        if not status.exists():
            return float("nan")
        user, system = status.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def measure(editor: Editor, path: Path, keys: int) -> list[float]:
    """Seconds of each keystroke."""
    uri, text = path.resolve().as_uri(), path.read_text(encoding="utf-8")
    at = next((n for n, character in enumerate(text) if character.isdigit()), len(text) - 1)
    document = {"uri": uri, "languageId": "yaml", "version": 0, "text": text}
    editor.send("textDocument/didOpen", {"textDocument": document})
    editor.published(uri, 0)
    took = []
    for number in range(1, keys + 1):
        changed = text[:at] + str(number % 9 + 1) + text[at + 1 :]
        began = time.perf_counter()
        editor.send("textDocument/didChange", {"textDocument": {"uri": uri, "version": number}, "contentChanges": [{"text": changed}]})  # fmt: skip
        editor.published(uri, number)
        took.append(time.perf_counter() - began)
    editor.send("textDocument/didClose", {"textDocument": {"uri": uri}})
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description="Time from a keystroke to its diagnostics.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--keys", type=int, default=200, help="keystrokes a file")
    given = parser.parse_args()
    files = given.files or sorted(one for one in (ROOT / "examples").rglob("*.[yj][as]*") if one.stat().st_size <= 2048)
    editor = Editor()
    editor.send("initialize", {"processId": None, "rootUri": ROOT.as_uri(), "capabilities": {}}, asks=True)
    editor.receive()
    editor.send("initialized", {})
    every: list[float] = []
    used = editor.processor()
    for path in files:
        took = measure(editor, path, given.keys)
        every += took
        print(f"{path.stat().st_size:6} bytes  median {statistics.median(took) * 1000:5.1f} ms  slowest {max(took) * 1000:6.1f} ms  {path.name}")  # fmt: skip
    ordered = sorted(every)
    middle, most = statistics.median(every) * 1000, ordered[int(len(ordered) * 0.95)] * 1000
    print(f"{len(every)} keystrokes: median {middle:.1f} ms, 95% within {most:.1f} ms (bar 100 ms)")
    print(
        f"{(editor.processor() - used) / len(every) * 1000:.1f} ms of processor time a keystroke, whatever else the machine does"
    )
    editor.process.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
