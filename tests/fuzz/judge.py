"""A case → what went wrong with it: a traceback, an exit code outside the contract, a file touched, a program started, or too much time or memory."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from stablint.cli import main
from tests.fuzz.grammar import Case
from tests.pace import slowness

SECONDS = 2.0  # of a quiet core for a case of files up to 100 KB, as docs/security.md promises
LIMIT = 10.0  # after so much CPU a case is broken off; a pattern that never ends is for the driver to kill
MEBIBYTES = 200  # by which its peak may grow
_FAULTS = re.compile(r"Traceback \(most recent call last\)|this is a bug|internal error|internal-fault")
_PROGRAMS = frozenset(
    {"os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.forkpty", "os.startfile", "subprocess.Popen"}
)
_watched: list[str] = []  # the folder of the case that runs now
_seen: list[str] = []


class _TooLong(BaseException):
    """Of no kind that the program under test could catch."""


def _break_off(signal_number: int, frame: Any) -> None:
    raise _TooLong(f"broken off after {LIMIT:.0f} s of CPU")


class Outcome(NamedTuple):
    faults: tuple[str, ...]
    code: int
    seconds: float


def warm_up() -> None:
    """Load (in a checkout: compile) what every command loads, so that no case pays for it or is blamed for its files."""
    with (
        contextlib.redirect_stdout(_stream()),
        contextlib.redirect_stderr(_stream()),
        tempfile.TemporaryDirectory() as name,
    ):
        path = Path(name) / "ds.json"
        path.write_text('{"fp16": {"enabled": true}, "bf16": {"enabled": true}, "train_batch_size": 8}')
        main(["rules"])
        main(["check", str(path), "--diff"])


def watch() -> None:
    """From now on note every program that is started, every socket, and every file that is opened for writing."""
    # In a fresh checkout Python would write the bytecode of a module that the case is the first to load, and the case would be blamed for it.
    sys.dont_write_bytecode = True
    sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched:
        return
    if event in _PROGRAMS or event.startswith("socket."):
        _seen.append(f"{event} {arguments[:2]!r}")
    elif event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and path != os.devnull:
            _seen.append(f"wrote {path!r}")


def run(case: Case, folder: Path) -> Outcome:
    """Write the files, run the command in their folder, and look. `folder` is emptied before and after. What took too long is measured again."""
    outcome = _run(case, folder)
    return _run(case, folder) if any("s of CPU" in fault for fault in outcome.faults) else outcome


def _run(case: Case, folder: Path) -> Outcome:
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    before = _content(folder)
    here = os.getcwd()
    os.chdir(folder)
    out, err = _stream(), _stream()
    peak, began = _peak(), time.process_time()
    problem = ""
    code = 0
    _watched.append(str(folder))
    signal.signal(signal.SIGVTALRM, _break_off)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(list(case.command))
    except SystemExit as stop:  # argparse
        code = int(stop.code or 0)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        problem = f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        _watched.clear()
        os.chdir(here)
    seconds = time.process_time() - began
    faults = [*_judged(case, code, problem, _said(out), _said(err)), *_seen]
    _seen.clear()
    if seconds > SECONDS and (seconds := seconds / slowness()) > SECONDS:
        faults.append(f"{seconds:.1f} s of CPU")
    if _peak() - peak > MEBIBYTES:
        faults.append(f"{_peak() - peak} MiB more")
    if _content(folder) != before:
        faults.append("a file changed, appeared or went")
    shutil.rmtree(folder, ignore_errors=True)
    return Outcome(tuple(faults), code, seconds)


def _judged(case: Case, code: int, problem: str, out: str, err: str) -> Iterator[str]:
    if problem:
        yield problem
        return
    if code not in (0, 1, 2):
        yield f"exit code {code}"
    listed = () if case.command[0] == "rules" else out.splitlines()  # a list of all rules names that of faults as well
    for line in (*err.splitlines(), *listed):
        if _FAULTS.search(line):
            yield line[:300]
    if code == 2 and not err.strip() and not out.strip():
        yield "exit code 2 without a word"
    if case.command[:3] == ("check", "--output-format", "json") and code != 2:
        try:
            json.loads(out)
        except ValueError:
            yield "the report is no JSON"


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _peak() -> int:
    """MiB. The peak of a process never falls, so a driver starts a new process after a case that raised it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform != "darwin" else 1024**2)
