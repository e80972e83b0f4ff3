"""`fit --apply`, `advise --apply`, `migrate` and `diagnose --fix` promise what `--fix` does: the file that was read is replaced whole, or nothing is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.commands import repairs as repairing
from stablint.fix import exchange, strays
from tests.fitting.test_fit import LLAMAFACTORY
from tests.runs import written

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, modes and links are others there")

OTHER = "model_name_or_path: Qwen/Qwen2-7B-Instruct\noutput_dir: other\n"
COMMANDS = {
    "fit": ["fit", "train.yaml", "--isolated", "--gpu", "RTX 4090 x4", "--apply", "1"],
    "advise": ["advise", "train.yaml", "--isolated", "--gpu", "A100-80GB", "--apply", "1"],
    "migrate": [
        "migrate",
        "train.yaml",
        "--isolated",
        "--from",
        "transformers==4.43.4",
        "--with",
        "transformers==4.57.6",
    ],
    "diagnose": ["diagnose", "../run.log", "train.yaml", "--isolated", "--gpu", "T4", "--fix", "--unsafe-fixes"],
}
LOG = "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0\n"
each = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    written(tmp_path, {"run.log": LOG})
    written(project, {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER})
    return project


def there(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}


def changed(folder: Path) -> str:
    """The file that the command writes; the other stays."""
    (name,) = [
        name for name, text in {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER}.items() if there(folder)[name] != text
    ]
    return name


def code(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as end:
        return int(end.code or 0)


def targets(words: list[str], folder: Path) -> str:
    """What it writes, found by letting it; afterwards all is as it was."""
    assert code(words) != 2
    name = changed(folder)
    written(folder, {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER})
    return name


@each
def test_what_a_killed_repair_left_is_undone_before_the_files_are_judged(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "train.yaml").write_text("half: done\n", encoding="utf-8")

    def undone(folders: object, top: str) -> list[tuple[str, str]]:
        (here / "train.yaml").write_text(LLAMAFACTORY, encoding="utf-8")
        return []

    monkeypatch.setattr(strays, "recover", undone)
    assert code(words) != 2
    assert changed(here) in there(here)


@each
def test_mode_and_owner_are_kept(words: list[str], here: Path) -> None:
    for path in here.iterdir():
        path.chmod(0o640)
        if os.getuid() == 0:
            os.chown(path, 1000, 1001)
    before = (here / "train.yaml").stat()
    assert code(words) != 2
    after = (here / changed(here)).stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o640, before.st_uid, before.st_gid)


@each
def test_a_read_only_file_is_left_alone(words: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = targets(words, here)
    (here / name).chmod(0o444)
    assert code(words) == 2
    said = capsys.readouterr().err
    assert f"{name}: not written: it is read-only" in said and "internal" not in said
    assert there(here) == {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER}


@each
def test_hard_links_are_not_parted(words: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = targets(words, here)
    os.link(here / name, here / "twin.txt")
    assert code(words) == 2
    said = capsys.readouterr().err
    assert f"{name}: not written: it has 2 hard links" in said and "internal" not in said
    assert (here / name).stat().st_nlink == 2


@each
def test_what_is_typed_meanwhile_stays(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = targets(words, here)
    original = repairing.write_all

    def late(*arguments: object, **named: object) -> object:
        with open(here / name, "a", encoding="utf-8") as file:
            file.write("\n")
        return original(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(repairing, "write_all", late)
    assert code(words) == 2
    said = capsys.readouterr().err
    assert f"{name}: not written: " in said and "internal" not in said
    assert there(here) == {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER} | {
        name: {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER}[name] + "\n"
    }


@each
@pytest.mark.parametrize("call", ["open", "fsync", "chmod", "replace"])
def test_a_full_disk_leaves_all_as_it_was(
    call: str, words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = getattr(os, call)

    def fail(first: object, *rest: object, **named: object) -> object:
        reads = call == "open" and not int(rest[0]) & (os.O_WRONLY | os.O_RDWR)
        if not reads and (call == "fsync" or str(here) in str(first)):
            raise OSError(28, "No space left on device")
        return original(first, *rest, **named)

    monkeypatch.setattr(os, call, fail)
    monkeypatch.setattr(exchange, "exchanged", lambda one, other: False)
    assert code(words) == 2
    assert "nothing was written: " in capsys.readouterr().err
    assert there(here) == {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER}


# Words: what happens ("kill" or "stop"), before which call of the file system, and the command line.
DISTURBED = """
import os, signal, sys
from stablint.cli import main
what, moment, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
count = [0]
def disturb(original):
    def late(*arguments, **named):
        count[0] += 1
        if count[0] == moment:
            os.kill(os.getpid(), signal.SIGKILL if what == "kill" else signal.SIGINT)
        return original(*arguments, **named)
    return late
for name in ("fsync", "link", "replace", "unlink", "chmod"):
    setattr(os, name, disturb(getattr(os, name)))
sys.exit(main(words))
"""


@each
@pytest.mark.parametrize("what", ["kill", "stop"])
@pytest.mark.parametrize("moment", [1, *(pytest.param(later, marks=pytest.mark.slow) for later in (2, 3, 5))])
def test_it_is_whole_when_it_is_ended(what: str, moment: int, words: list[str], here: Path) -> None:
    name = targets(words, here)
    done = subprocess.run(
        [sys.executable, "-c", DISTURBED, what, str(moment), *words],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    after = there(here)
    old = {"train.yaml": LLAMAFACTORY, "other.yaml": OTHER}
    assert {key: text for key, text in after.items() if key in old and key != name} == {
        key: text for key, text in old.items() if key != name
    }
    assert after[name] == old[name] or after[name].count("\n") >= old[name].count("\n")
    if what == "stop":
        assert after.keys() == old.keys() and (done.returncode == 130 or after[name] != old[name])
    written(here, old)
    assert code(words) != 2 and changed(here) == name
    assert there(here).keys() == old.keys()  # what the killed one left behind is swept


UNREAD = [["show"], ["fit", "--gpu", "T4"], ["advise", "--gpu", "T4"], ["migrate", "--with", "trl==0.20.0"]]


@pytest.mark.parametrize("words", UNREAD, ids=" ".join)
def test_a_file_that_may_not_be_read_is_told(
    words: list[str], here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = os.open

    def shut(path: object, *rest: object, **named: object) -> int:
        if str(path).endswith("train.yaml"):
            raise PermissionError(13, "Permission denied", str(path))
        return original(path, *rest, **named)  # type: ignore[arg-type,call-overload]

    monkeypatch.setattr(os, "open", shut)
    if os.getuid():
        (here / "train.yaml").chmod(0)
    assert code([words[0], "train.yaml", "--isolated", *words[1:]]) == 2
    told = capsys.readouterr()
    assert "train.yaml" in told.err + told.out and "Traceback" not in told.err and "internal" not in told.err
