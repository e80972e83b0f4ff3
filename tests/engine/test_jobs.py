"""`--jobs`: several processes share the repositories, and the report is that of one. What ends a process, or the user, leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.base import knowledge
from stablint.cli import main
from stablint.engine import inspect
from stablint.engine import processes as dividing
from stablint.hazard import condition
from stablint.syntax.limits import SEARCHED
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forks")

REPOSITORIES = 12


@pytest.fixture(scope="module")
def fleet(tmp_path_factory) -> Path:
    """A dozen repositories with an example of every thirtieth rule: files that name one another, that are broken, that name what is not there."""
    base = tmp_path_factory.mktemp("fleet")
    texts = [row["files"] for rows in knowledge.load("examples").values() for row in rows[:1]][::30]
    texts = [files for files in texts if "stablint.toml" not in files]
    texts += [{"train.yaml": "deepspeed: nowhere.json\noutput_dir: out\n"}, {"train.yaml": "fp16: true\nfp16: [\n"}] * 2
    for number, files in enumerate(texts):
        for name, text in files.items():
            path = base / f"repo{number % REPOSITORIES}" / f"run{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for number in range(REPOSITORIES):
        (base / f"repo{number}" / ".git").mkdir()
    (base / "repo3" / "vendor" / ".git").mkdir(parents=True)  # a repository within another one
    (base / "repo3" / "vendor" / "a.yaml").write_text("output_dir: out\nfp16: true\nbf16: true\n", encoding="utf-8")
    (base / "repo5" / "token.yaml").write_text(
        "output_dir: out\nhub_token: hf_" + "aB3dE5fG7h" * 3 + "xyzw\n", encoding="utf-8"
    )
    return base


def report(fleet: Path, capfd, monkeypatch, *words: str, format: str = "json") -> tuple[int, str, str]:
    monkeypatch.chdir(fleet)
    code = main(["check", ".", "--gpu", "V100-32GB", "--output-format", format, *words])
    return code, *capfd.readouterr()


@pytest.mark.parametrize("format", sampled(["json", "sarif", "full"], 4))
def test_the_report_is_that_of_one_process(fleet, capfd, monkeypatch, format):
    alone = report(fleet, capfd, monkeypatch, "--jobs", "1", format=format)
    assert alone[0] == 1 and len(alone[1]) > 10_000
    forks, fork = [], os.fork

    def counted() -> int:
        forks.append(1)
        return fork()

    monkeypatch.setattr(os, "fork", counted)
    for jobs in ("2", "3", "40"):
        forks.clear()
        assert report(fleet, capfd, monkeypatch, "--jobs", jobs, format=format) == alone, jobs
        assert forks, jobs


def test_named_files_are_named_to_all(fleet, capfd, monkeypatch):
    monkeypatch.chdir(fleet)
    names = [str(path.relative_to(fleet)) for path in sorted(fleet.rglob("*.*")) if path.is_file()]
    (fleet / "repo1" / "notes.json").write_text("{}", encoding="utf-8")
    found = []
    for jobs in ("1", "3"):
        code = main(["check", *names, "repo1/notes.json", "--jobs", jobs, "--verbose"])
        found.append((code, *capfd.readouterr()))
    assert found[0] == found[1]
    assert "repo1/notes.json: no training configuration, skipped" in found[0][2]


@pytest.mark.parametrize(
    ("files", "cores", "used"),
    [(dividing.WORTH, 16, 1), (2 * dividing.WORTH - 1, 16, 1), (2 * dividing.WORTH, 16, 2), (9 * dividing.WORTH, 4, 4), (9 * dividing.WORTH, 1, 1)],
)  # fmt: skip
def test_how_many_processes_where_nobody_says(monkeypatch, files, cores, used):
    seen = []
    monkeypatch.setattr(dividing, "_cores", lambda: cores)
    monkeypatch.setattr(dividing, "_work", lambda shares, jobs, _: seen.append(jobs) or iter(()))
    listed = [(f"/work/{number:06}/train.yaml", False) for number in range(files)]
    dividing.inspected(listed, [], Files(os.path.dirname, "/work"), Options(jobs=0))
    assert seen == ([used] if used > 1 else [])


@pytest.mark.parametrize(
    ("roots", "pieces"),
    [
        (["/a"] * 40, [40]),
        (["/a"] * 3 + ["/b"] * 3 + ["/c"] * 3 + ["/d"] * 3, [3, 3, 3, 3]),
        (["/a"] * 8 + ["/b"] + ["/c"] + ["/d"] * 2, [8, 2, 2]),
        (["/a"] * 4 + ["/a/inner"] * 4 + ["/ab"] * 4, [8, 4]),
    ],
)
def test_no_repository_is_cut(roots, pieces):
    listed = [(f"{root}/{number:02}.yaml", False) for number, root in enumerate(roots)]
    of = {path: root for (path, _), root in zip(listed, roots, strict=True)}
    shares = dividing._shares(sorted(listed), of.__getitem__, 1)
    assert [len(share) for share in shares] == pieces
    assert [row for share in shares for row in share] == sorted(listed)


def test_a_negative_number_is_refused(fleet, capfd, monkeypatch):
    code, _, err = report(fleet, capfd, monkeypatch, "--jobs", "-2")
    assert code == 2 and "--jobs -2" in err


ALONE = {
    "an acceptance that several repositories share": {"stablint.toml": '[[accept]]\nrules = ["P101"]\nreason = "seen"\n'},
    "a baseline": {"stablint.toml": 'baseline = "known.json"\n', "known.json": '{"schema_version": 1, "findings": []}'},
}  # fmt: skip


@pytest.mark.parametrize("files", ALONE.values(), ids=ALONE)
def test_what_speaks_of_all_files_is_left_to_one(fleet, capfd, monkeypatch, files):
    for name, text in files.items():
        (fleet / name).write_text(text, encoding="utf-8")
    try:
        monkeypatch.setattr(dividing, "_work", lambda *_: pytest.fail("it was divided"))
        alone = report(fleet, capfd, monkeypatch, "--jobs", "1")
        assert report(fleet, capfd, monkeypatch, "--jobs", "3") == alone
    finally:
        for name in files:
            (fleet / name).unlink()


def failing(monkeypatch, how) -> None:
    inspected = inspect.inspected

    def wrapped(listed, *rest, **more):
        how(listed)
        return inspected(listed, *rest, **more)

    monkeypatch.setattr(inspect, "inspected", wrapped)


def killed_elsewhere(home: int):
    def how(_):
        if os.getpid() != home:
            os.kill(os.getpid(), signal.SIGKILL)

    return how


def raising_on_a_share(_):
    def how(listed):
        if 1 < len(listed) < 20:
            raise MemoryError("as if this share were too much")

    return how


def searching(_):
    def how(listed):
        condition._steps[0] += SEARCHED.most // 2 if len(listed) < 60 else 0

    return how


@pytest.mark.parametrize("how", [killed_elsewhere, raising_on_a_share, searching])
def test_what_ends_a_process_loses_nothing(fleet, capfd, monkeypatch, how):
    alone = report(fleet, capfd, monkeypatch, "--jobs", "1")
    failing(monkeypatch, how(os.getpid()))
    assert report(fleet, capfd, monkeypatch, "--jobs", "3") == alone


def test_descriptors_and_children_are_given_back(fleet, monkeypatch):
    monkeypatch.chdir(fleet)
    before = sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else []
    assert inspect.inspect(["."], Options(jobs=4)).report.diagnostics
    if before:
        assert sorted(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


SLOW = """
import signal, sys, time
from stablint.engine import inspect
from stablint.starting import script
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what was started in the background
inspected = inspect.inspected
def slow(*words):
    time.sleep(3)
    return inspected(*words)
inspect.inspected = slow
sys.argv = ["stablint", "check", ".", "--jobs", "3"]
print("begun", flush=True)
script()
"""


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks for processes in /proc")
def test_ctrl_c_ends_all_of_them_and_says_so_once(fleet):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=fleet,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    for _ in range(1_200):
        if len(family(process.pid)) == 3:
            break
        time.sleep(0.05)
    assert len(family(process.pid)) == 3
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert re.fullmatch(r"stablint: interrupted: nothing was written\n", err), err
    assert family(process.pid) == []


def family(group: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(name))
    return found
