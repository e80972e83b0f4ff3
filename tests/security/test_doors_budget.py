"""A log, a text in an editor and an object of a cluster cost as little as a file that is checked, however they are made."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stablint.cli import main
from stablint.files.faults import attempt
from tests.pace import cost
from tests.security import attack_doors
from tests.security.attack_files import CLASSES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX")

SIZE = 100_000  # bytes
# Seconds of a quiet core and megabytes, of one answer.
BOUNDS = {"diagnose": (2.0, 200), "server": (2.0, 200), "webhook": (2.0, 200)}
EVERY = {"diagnose": 1, "server": 12, "webhook": 12}
"""Which of the attacks the tests try; `python -m tests.security.test_doors_budget DOOR 1` tries all."""

Work = tuple[str, Callable[[], object]]


def put(folder: str, files: dict[str, str]) -> None:
    os.mkdir(os.path.join(folder, ".git"))
    for name, text in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))


def asked(*words: str) -> int:
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as said:
        code = main([*words])
    assert "Traceback" not in said.getvalue()
    assert len(printed.buffer.getvalue()) < 1_000_000, "more is told than anybody reads"
    assert code in (0, 1, 2)
    return code


def diagnose(folder: str) -> Iterator[Work]:
    for name, make in attack_doors.LOGS.items():
        put_anew(folder, {"train.log": make(SIZE), **attack_doors.RECIPE})
        yield name, lambda: asked("diagnose", "train.log", "train.yaml", "--isolated")
        yield f"{name}, mended", lambda: asked("diagnose", "train.log", "train.yaml", "--isolated", "--diff")
        yield f"{name}, watched", lambda: asked("watch", "train.log", "--idle", "0", "--interval", "0.01")


def put_anew(folder: str, files: dict[str, str]) -> None:
    os.chdir("/")
    for path in sorted(Path(folder).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    put(folder, files)
    os.chdir(folder)


def server(folder: str) -> Iterator[Work]:
    from stablint.server import completing, findings, linking, meaning, protocol
    from stablint.server.session import Session

    def sent(session: Session, path: str) -> None:
        checked = session.check(path)
        if checked is not None:
            told = {one: [row.message for row in rows] for one, rows in findings.diagnostics(checked).items()}
            protocol.Outlet(io.BytesIO()).write(b"Content-Length: 1\r\n\r\n" + json.dumps(told).encode())

    def requested(session: Session, path: str, text: str) -> None:
        checked = session.useful(path)
        if checked is None:
            return
        for at in (0, len(text) // 2, len(text)):
            meaning.hover(checked, path, at)
            completing.complete(checked, path, text, at)
            findings.actions(checked, path, at, at, creates=True)
        linking.links(checked, path)
        meaning.hints(checked, path, 0, len(text))
        findings.fix_all(checked, path)

    for kind, attacks in CLASSES.items():
        for name, make in attacks.items():
            files = make(SIZE)
            put_anew(folder, dict.fromkeys(files, "# to be typed\n"))
            session = Session(folder)
            path, text = os.path.join(folder, next(iter(files))), next(iter(files.values()))
            for other, content in files.items():
                session.put(os.path.join(folder, other), content)

            def opened(session: Session = session, path: str = path) -> None:
                session.renew()
                sent(session, path)

            def changed(session: Session = session, path: str = path, text: str = text) -> None:
                session.put(path, text + "\n" if session.text(path) == text else text)
                sent(session, path)

            yield f"{kind}: {name}", opened
            yield f"{kind}: {name}, typed on", changed
            yield (
                f"{kind}: {name}, asked about",
                lambda session=session, path=path, text=text: requested(session, path, text),
            )  # type: ignore[misc]


def webhook(folder: str) -> Iterator[Work]:
    from stablint.integrate.kubernetes import reviewed
    from stablint.integrate.texts import asked_of

    wanted = asked_of("A100-80GB", None, [])

    def answered(body: str) -> None:
        answer = reviewed(json.loads(body), wanted)
        assert len(json.dumps(answer)) < 100_000

    for name, make in {**attack_doors.MANIFESTS, **attack_doors.of_files()}.items():
        sys.set_int_max_str_digits(5_000)
        review: dict[str, Any] = {
            "kind": "AdmissionReview",
            "request": {"uid": "u", "operation": "CREATE", "object": make(int(SIZE * 0.8))},
        }
        body = json.dumps(review)
        sys.set_int_max_str_digits(4_300)
        yield name, lambda body=body: answered(body)  # type: ignore[misc]


DOORS = {"diagnose": diagnose, "server": server, "webhook": webhook}


def megabytes() -> float:
    """The most that this process has held."""
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)


def tried(door: str, every: int, first: int = 0) -> dict[str, tuple[float, str]]:
    """Seconds of each answer, and what was raised."""
    done: dict[str, tuple[float, str]] = {}
    most = BOUNDS[door][0]
    gc.disable()
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, work) in enumerate(DOORS[door](os.path.realpath(folder))):
            if (number // (3 if door != "webhook" else 1)) % every != first % every:
                continue
            gc.collect()
            seconds, error = attempt(cost, work, most)
            done[name] = seconds or 0.0, "" if error is None else repr(error)[:300]
        os.chdir("/")
    return done


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_no_answer_takes_long(door: str) -> None:
    if door == "server":
        pytest.importorskip("pygls")
    command = [sys.executable, "-m", "tests.security.test_doors_budget", door, str(EVERY[door])]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, cwd=Path(__file__).parents[2]
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    done, most = json.loads(ran.stdout.splitlines()[-1])
    seconds, memory = BOUNDS[door]
    assert len(done) >= 20
    assert not {name: found for name, found in done.items() if found[1]}
    assert not {name: found for name, found in done.items() if found[0] > seconds}
    assert most < memory


if __name__ == "__main__":
    print(json.dumps([tried(sys.argv[1], int(sys.argv[2])), megabytes()]))
