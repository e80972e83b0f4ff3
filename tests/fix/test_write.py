"""Nothing is lost by `--fix`: a repair is written whole or not at all, and what somebody else did to a file meanwhile stays."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.fix import exchange, strays
from stablint.fix.exchange import CHANGED, Repair, closed, prepared
from stablint.fix.write import write_all
from stablint.syntax.tree import Text
from tests.runs import written

POSIX = pytest.mark.skipif(os.name == "nt", reason="signals, modes and links are others there")
OLD, NEW = "a: 1\n", "a: 2\n"


def texts(folder: Path, *names: str) -> tuple[dict[str, Text], dict[str, Text]]:
    """The new and the old texts of files that hold OLD."""
    written(folder, {name: OLD for name in names if not (folder / name).exists()})
    paths = [str(folder / name) for name in names]
    return {path: Text(path, path, NEW) for path in paths}, {path: Text(path, path, OLD) for path in paths}


def there(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}


def put(folder: Path, *names: str, together: bool = True) -> object:
    new, old = texts(folder, *names)
    return write_all(new, old, lambda path: str(folder), [list(new)] if together else [])


def test_all_files_of_a_repair_and_nothing_else(tmp_path: Path) -> None:
    outcome = put(tmp_path, "a.yaml", "b.yaml")
    assert there(tmp_path) == {"a.yaml": NEW, "b.yaml": NEW}
    assert outcome.written == (str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")) and not outcome.refused


@pytest.mark.parametrize("together", [True, False])
def test_an_edit_since_it_was_read_stays(together: bool, tmp_path: Path) -> None:
    texts(tmp_path, "a.yaml", "b.yaml")
    time_of = (tmp_path / "a.yaml").stat().st_mtime
    (tmp_path / "b.yaml").write_text("b: 3\n")  # as long as it was
    os.utime(tmp_path / "b.yaml", (time_of, time_of))
    outcome = put(tmp_path, "a.yaml", "b.yaml", together=together)
    assert outcome.refused == ((str(tmp_path / "b.yaml"), CHANGED),)
    assert there(tmp_path) == {"a.yaml": OLD if together else NEW, "b.yaml": "b: 3\n"}


def pair(folder: Path) -> list[Path]:
    """Two files that stand in nobody's way."""
    (folder / "pair").mkdir()
    paths = [folder / "pair" / name for name in ("one", "other")]
    for path in paths:
        path.touch()
    return paths


# Somebody does this at the worst moment: between the comparison and the exchange of the last file.
def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("typed: 1\n")


def replace(path: Path) -> None:
    path.with_name("new").write_text(OLD + "typed: 1\n")
    os.replace(path.with_name("new"), path)


@pytest.mark.parametrize("edit", [append, replace])
@pytest.mark.parametrize("moment", ["link", "_same", "exchanged", "replace"])
def test_an_edit_at_the_worst_moment_stays(
    moment: str, edit: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (moment, edit) == ("replace", replace):
        pytest.skip("two calls of the system apart: where it cannot exchange two names nobody can tell")
    module = os if moment in ("link", "replace") else exchange
    if moment == "replace":
        monkeypatch.setattr(exchange, "exchanged", lambda one, other: False)
    if moment == "exchanged" and not exchange.exchanged(*(str(path) for path in pair(tmp_path))):
        pytest.skip("this file system cannot exchange two names")
    original = getattr(module, moment)
    typed = []

    def late(first: object, *rest: object, **named: object) -> object:
        result = original(first, *rest, **named) if moment == "link" else None
        if any("b.yaml" in str(word) for word in (first, *rest)) and not typed:
            typed.append(True)
            edit(tmp_path / "b.yaml")
        return result if moment == "link" else original(first, *rest, **named)

    texts(tmp_path, "a.yaml", "b.yaml")
    monkeypatch.setattr(module, moment, late)
    outcome = put(tmp_path, "a.yaml", "b.yaml")
    assert typed and outcome.refused == ((str(tmp_path / "b.yaml"), CHANGED),)
    assert there(tmp_path) == {"a.yaml": OLD, "b.yaml": OLD + "typed: 1\n"}


@pytest.mark.skipif(sys.platform != "linux", reason="only there the system says who has a file open")
@pytest.mark.parametrize("seconds", [0.2, 1.5], ids=["a moment", "longer than anybody waits"])
def test_who_has_it_open_to_write_is_waited_for(seconds: float, tmp_path: Path) -> None:
    """Opened before the exchange, written behind it, when the old file has no name any more."""
    texts(tmp_path, "a.yaml", "b.yaml")
    program = f"import sys, time\nfile = open('b.yaml', 'a')\nprint(flush=True)\ntime.sleep({seconds})\nfile.write('typed: 1\\n')\n"
    editor = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE)
    assert editor.stdout is not None and editor.stdout.readline()
    outcome = put(tmp_path, "a.yaml", "b.yaml")
    editor.communicate()
    assert outcome.refused == ((str(tmp_path / "b.yaml"), CHANGED),)
    assert there(tmp_path) == {"a.yaml": OLD, "b.yaml": OLD + "typed: 1\n"}


@pytest.mark.parametrize("call", ["open", "link", "replace", "fsync", "chmod"])
def test_a_disk_that_fails_leaves_every_file_as_it_was(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts(tmp_path, "a.yaml", "b.yaml", "c.yaml")
    original, calls = getattr(os, call), []

    def fail(*arguments: object, **named: object) -> object:
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return original(*arguments, **named)

    monkeypatch.setattr(os, call, fail)
    monkeypatch.setattr(exchange, "exchanged", lambda one, other: False)
    if call == "link":  # there are file systems without a second name; a copy does as well
        assert not put(tmp_path, "a.yaml", "b.yaml", "c.yaml").refused
        assert there(tmp_path) == dict.fromkeys(("a.yaml", "b.yaml", "c.yaml"), NEW)
        return
    with pytest.raises(OSError, match="No space left"):
        put(tmp_path, "a.yaml", "b.yaml", "c.yaml", together=False)
    assert there(tmp_path) == dict.fromkeys(("a.yaml", "b.yaml", "c.yaml"), OLD)


@POSIX
def test_mode_owner_and_attributes_are_kept(tmp_path: Path) -> None:
    texts(tmp_path, "a.yaml")
    file = tmp_path / "a.yaml"
    file.chmod(0o640)
    if os.getuid() == 0:
        os.chown(file, 1000, 1001)
    kept = False
    if hasattr(os, "setxattr"):
        try:
            os.setxattr(file, "user.origin", b"here")
            kept = True
        except OSError:
            pass  # a file system without attributes has none to lose
    before = file.stat()
    assert put(tmp_path, "a.yaml").written
    after = file.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o640, before.st_uid, before.st_gid)
    assert not kept or os.getxattr(file, "user.origin") == b"here"


def test_an_owner_that_cannot_be_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts(tmp_path, "a.yaml")
    original = os.stat

    def somebody_else(path: object, **named: object) -> os.stat_result:
        found = original(path, **named)
        return os.stat_result((*found[:4], 4711, *found[5:])) if str(path).endswith("a.yaml") else found

    def no(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "stat", somebody_else)
    monkeypatch.setattr(os, "chown", no, raising=False)
    assert "belonged to somebody else" in put(tmp_path, "a.yaml").notes[0][1]


@POSIX
def test_what_is_not_written_says_why(tmp_path: Path) -> None:
    root = tmp_path / "root"
    texts(root, "plain.yaml", "shut.yaml", "twin.yaml")
    texts(tmp_path, "outside.yaml")
    (root / "shut.yaml").chmod(0o444)
    os.link(root / "twin.yaml", root / "other-twin.yaml")
    (root / "out.yaml").symlink_to(tmp_path / "outside.yaml")
    (root / "in.yaml").symlink_to("plain.yaml")
    why = {
        name: closed(str(root / name), str(root))
        for name in ("plain.yaml", "in.yaml", "shut.yaml", "twin.yaml", "out.yaml")
    }
    assert (why.pop("plain.yaml"), why.pop("in.yaml")) == ("", "")
    assert {name: words.split(str(root))[0] for name, words in why.items()} == {
        "shut.yaml": "it is read-only",
        "twin.yaml": "it has 2 hard links, and a new file in its place would part them",
        "out.yaml": "it leads outside ",
    }
    before = there(root)
    assert {path for path, _ in put(root, *why).refused} == {str(root / name) for name in why}
    assert there(root) == before


@POSIX
def test_a_repair_that_cannot_be_written_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run0/ds0.json").chmod(0o444)
    before = (tmp_path / "run0/t0.yaml").read_text()
    assert main(["check", ".", "--isolated", "--fix", "--unsafe-fixes", "--gpu", "A100-80GB x2"]) == 2
    assert "run0/ds0.json: not written: it is read-only; --diff shows the changes as a patch" in capsys.readouterr().err
    assert "fp16: true" in before and "fp16: true" in (tmp_path / "run0/t0.yaml").read_text()  # the same repair
    assert "bf16: true" in (tmp_path / "run1/t1.yaml").read_text()


@POSIX
def test_a_link_within_the_root_stays_a_link(tmp_path: Path) -> None:
    texts(tmp_path, "plain.yaml")
    (tmp_path / "in.yaml").symlink_to("plain.yaml")
    put(tmp_path, "in.yaml")
    assert (tmp_path / "in.yaml").is_symlink() and (tmp_path / "plain.yaml").read_text() == NEW


def killed(folder: Path, *names: str, after: int) -> None:
    """A repair whose process ends, without a word, when so many files are exchanged."""
    new, _old = texts(folder, *names)
    program = (
        "import os, sys\n"
        "from stablint.fix import exchange\n"
        "from stablint.fix.write import write_all\n"
        "from stablint.syntax.tree import Text\n"
        f"take, left = exchange._take_place, [{after}]\n"
        "def slow(part, old):\n"
        "    if not left[0]: os._exit(9)\n"
        "    left[0] -= 1\n"
        "    take(part, old)\n"
        "exchange._take_place = slow\n"
        f"new = {{p: Text(p, p, {NEW!r}) for p in sys.argv[1:]}}\n"
        f"old = {{p: Text(p, p, {OLD!r}) for p in sys.argv[1:]}}\n"
        f"write_all(new, old, lambda p: {str(folder)!r}, [list(new)])\n"
    )
    assert subprocess.run([sys.executable, "-c", program, *new], timeout=60, check=False).returncode == 9


@POSIX
@pytest.mark.parametrize("after", [0, 1, 2])
def test_what_a_killed_repair_left_half_done_is_undone(after: int, tmp_path: Path) -> None:
    killed(tmp_path, "a.yaml", "b.yaml", "c.yaml", after=after)
    assert any(strays.ours(name) for name in there(tmp_path))
    told = list(strays.recover([str(tmp_path)], str(tmp_path)))
    assert [Path(path).name for path, _ in told] == ["a.yaml", "b.yaml"][:after]
    assert there(tmp_path) == dict.fromkeys(("a.yaml", "b.yaml", "c.yaml"), OLD)


@POSIX
def test_a_plain_check_tells_of_a_repair_half_done_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    killed(tmp_path, "a.yaml", "b.yaml", after=1)
    before = there(tmp_path)
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--isolated"])
    assert "the next --fix puts its files back" in capsys.readouterr().err
    assert there(tmp_path) == before
    main(["check", ".", "--isolated", "--fix"])
    assert "a.yaml: put back as it was" in capsys.readouterr().err
    assert there(tmp_path) == {"a.yaml": OLD, "b.yaml": OLD}


@POSIX
def test_a_file_that_was_edited_since_the_kill_stays_as_it_is(tmp_path: Path) -> None:
    killed(tmp_path, "a.yaml", "b.yaml", "c.yaml", after=2)
    append(tmp_path / "a.yaml")
    told = dict(strays.recover([str(tmp_path)], str(tmp_path)))
    assert "edited" in told[str(tmp_path / "a.yaml")] and "put back" in told[str(tmp_path / "b.yaml")]
    assert there(tmp_path) == {"a.yaml": NEW + "typed: 1\n", "b.yaml": OLD, "c.yaml": OLD}


def test_what_a_living_process_or_another_machine_works_with_is_left_alone(tmp_path: Path) -> None:
    mine = Path(strays.beside(str(tmp_path / "a"), "tmp"))
    parent = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{os.getppid()}-"))
    foreign = mine.with_name(mine.name.replace(mine.name.split("-")[2], "00000000"))
    for path in (parent, foreign):
        path.write_text("")
    if os.name == "posix":
        assert not list(strays.recover([str(tmp_path)], str(tmp_path)))
        assert {parent, foreign} == set(tmp_path.iterdir())


@POSIX
@POSIX
@pytest.mark.parametrize("kind", ["journal", "old", "tmp"])
@pytest.mark.parametrize("what", ["a pipe", "a giant", "no journal", "nested"])
def test_recovery_waits_for_nothing_and_reads_nothing_whole(kind: str, what: str, tmp_path: Path) -> None:
    """Such files may come with a repository, beside a journal that speaks of them."""
    (tmp_path / "a.yaml").write_text(OLD)
    old = tmp_path / ".stablint-1-00000000-1.old"
    journal = tmp_path / ".stablint-1-00000000-2.journal"
    step = strays.Step(str(tmp_path / "a.yaml"), str(old), strays.digest(b"x"), strays.digest(OLD.encode()))
    journal.write_bytes(strays.journal([step], str(journal)))
    bad = tmp_path / f".stablint-1-00000000-{1 if kind == 'old' else 2 if kind == 'journal' else 3}.{kind}"
    bad.unlink(missing_ok=True)
    if what == "a pipe":
        os.mkfifo(bad)
    else:
        bad.write_bytes({"a giant": b"", "no journal": b"[1]", "nested": b"[" * 100_000}[what])
    if what == "a giant":
        os.truncate(bad, 20_000_000_000)
    for path in tmp_path.glob(".stablint-*"):
        os.utime(path, (1, 1))
    list(strays.recover([str(tmp_path)], str(tmp_path)))
    assert (tmp_path / "a.yaml").read_text() == OLD


def test_a_journal_of_the_repository_reaches_nothing_outside(tmp_path: Path) -> None:
    """Whoever wrote the repository may have written a journal too."""
    root, name = tmp_path / "root", ".stablint-999999999-00000000-1"
    written(root, {f"{name}.old": "evil", "inner/a.yaml": NEW})
    written(tmp_path, {"victim.yaml": NEW, f"{name}.old": "evil"})
    names = ["../victim.yaml", "/etc/hostname", "inner/../../victim.yaml"]
    steps = [
        strays.Step(str(root / one), str(root / f"{name}.old"), strays.digest(b"evil"), strays.digest(NEW.encode()))
        for one in names
    ]
    journal = root / f"{name}.journal"
    journal.write_bytes(strays.journal(steps, str(journal)))
    os.utime(journal, (1, 1))
    list(strays.recover([str(root)], str(root)))
    assert (tmp_path / "victim.yaml").read_text() == NEW


@POSIX
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_waits_until_the_files_are_whole(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, old = texts(tmp_path, "a.yaml", "b.yaml", "c.yaml")
    original, written_ = exchange._take_place, []

    def interrupted(part: exchange.Part, before: str) -> None:
        original(part, before)
        if part.target.endswith("b.yaml"):
            os.kill(os.getpid(), number)

    monkeypatch.setattr(exchange, "_take_place", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        write_all(new, old, lambda path: str(tmp_path), [], written_)
    assert stopped.value.number == number and len(written_) == 3
    assert there(tmp_path) == dict.fromkeys(("a.yaml", "b.yaml", "c.yaml"), NEW)


def test_undoing_by_hand_gives_every_file_back(tmp_path: Path) -> None:
    texts(tmp_path, "a.yaml", "b.yaml")
    parts = [prepared(str(tmp_path / name), OLD.encode(), NEW.encode())[0] for name in ("a.yaml", "b.yaml")]
    repair = Repair(parts)
    repair.begin()
    assert (tmp_path / "b.yaml").read_text() == NEW
    repair.undo()
    assert there(tmp_path) == {"a.yaml": OLD, "b.yaml": OLD}


# The whole command, at random moments.
PAIRS, TIMES = 6, 18
TRAIN = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: d\nlearning_rate: 1e-5\noutput_dir: out\nfp16: true\ndeepspeed: ds{}.json\n"
DEEPSPEED = '{\n  "fp16": {"enabled": true},\n  "zero_optimization": {"stage": 2}\n}\n'


def project(folder: Path) -> dict[str, str]:
    files = {
        f"run{n}/{name}": text.format(n) if "{}" in text else text
        for n in range(PAIRS)
        for name, text in ((f"t{n}.yaml", TRAIN), (f"ds{n}.json", DEEPSPEED))
    }
    written(folder, files)
    return files


def fix(folder: Path) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        "from stablint.starting import script; script()",
        "check",
        ".",
        "--isolated",
        "--fix",
        "--unsafe-fixes",
    ]
    return subprocess.Popen(
        [*command, "--gpu", "A100-80GB x2"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], float]:
    """What an undisturbed repair makes of the project, and how many seconds it takes."""
    folder = tmp_path_factory.mktemp("finished")
    files = project(folder)
    start = time.monotonic()
    fix(folder).communicate(timeout=120)
    took = time.monotonic() - start
    after = {name: (folder / name).read_text() for name in files}
    assert all(after[name] != text for name, text in files.items())
    return after, took


@POSIX
@pytest.mark.parametrize(
    "number", ["SIGKILL", *(pytest.param(name, marks=pytest.mark.slow) for name in ("SIGTERM", "SIGINT"))]
)
def test_killed_at_any_moment(number: str, finished: tuple[dict[str, str], float], tmp_path: Path) -> None:
    after, took = finished
    chance = random.Random(number)
    for turn in range(TIMES // 3):
        folder = tmp_path / str(turn)
        files = project(folder)
        child = fix(folder)
        time.sleep(took * chance.uniform(0.5, 1.0))
        child.send_signal(getattr(signal, number))
        child.communicate(timeout=60)
        now = {name: (folder / name).read_text() for name in files}
        assert all(now[name] in (files[name], after[name]) for name in files), "torn"
        if number != "SIGKILL":  # it may have waited
            halves = {name.split("/")[0] for name in files if now[name] == after[name]} & {
                name.split("/")[0] for name in files if now[name] == files[name]
            }
            assert not halves
        fix(folder).communicate(timeout=60)
        assert {
            str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()
        } == after


def test_typed_while_it_runs(finished: tuple[dict[str, str], float], tmp_path: Path) -> None:
    _, took = finished
    chance = random.Random(5)
    for turn in range(TIMES // 3):
        folder = tmp_path / str(turn)
        files = project(folder)
        child = fix(folder)
        time.sleep(took * chance.uniform(0.4, 1.0))
        name = chance.choice(sorted(files))
        append(folder / name)
        child.communicate(timeout=60)
        assert (folder / name).read_text().endswith("typed: 1\n")
        assert not list(folder.rglob(".stablint-*"))


def test_a_journal_that_git_tracks_came_with_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no repair's: nothing is put back, and nothing of it removed."""
    old, new = tmp_path / ".stablint-1-00000000-1.old", tmp_path / "train.yaml"
    old.write_text("evil: 1\n")
    new.write_text(OLD)
    journal = tmp_path / ".stablint-1-00000000-2.journal"
    step = strays.Step(str(new), str(old), strays.digest(old.read_bytes()), strays.digest(new.read_bytes()))
    journal.write_bytes(strays.journal([step], str(journal)))
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    monkeypatch.setattr(strays, "_at_work", lambda path: False)
    assert not list(strays.recover([str(tmp_path)], str(tmp_path)))
    assert new.read_text() == OLD and old.exists() and journal.exists()
