"""The ledgers of changes: every entry is decided, what it names is there, and nothing that the tool lists is missing."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.releases.archived import Archives
from tools.releases.commits import History, essence

ROOT = Path(__file__).resolve().parents[2]
CHANGES = ROOT / "knowledge" / "changes"
LEDGERS = sorted(path for path in CHANGES.glob("*.yaml") if path.stem != "reasons")
HAZARDS = {path.stem for path in (ROOT / "knowledge" / "hazards").rglob("*.yaml")}
MOST_WORDS = 15

each_ledger = pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.stem)


def read(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def every(ledger: Any) -> list[dict[str, Any]]:
    """Entries of commits, and behind the last one those of what archives differ in."""
    return ledger["entries"] + ledger.get("later", [])


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in str(release).split("."))


def test_there_are_ledgers():
    assert LEDGERS


@each_ledger
def test_every_entry_is_decided(path: Path):
    reasons = {f"none: {reason}" for reason in read(CHANGES / "reasons.yaml")}
    undecided = [one for one in every(read(path)) if one["decision"] not in reasons | HAZARDS]
    assert not undecided


@each_ledger
def test_the_ledger_holds_as_many_as_the_tool_listed(path: Path):
    ledger = read(path)
    commits = [one["commit"] for one in ledger["entries"]]
    assert len(set(commits)) == len(commits) == ledger["covered"]["candidates"]


@each_ledger
def test_entries_lie_in_the_releases_that_it_says_it_covers(path: Path):
    ledger = read(path)
    first, last = number(ledger["covered"]["from"]), number(ledger["covered"]["to"])
    assert not [one for one in ledger["entries"] if not first <= number(one["release"]) <= last]


@each_ledger
def test_what_archives_tell_begins_where_the_commits_end(path: Path):
    ledger = read(path)
    releases = ledger["archives"]["releases"] if "archives" in ledger else []
    assert not releases or number(releases[0]) <= number(ledger["covered"]["to"]) <= number(releases[1])
    assert {str(one["release"]) for one in ledger.get("later", [])} <= set(releases[1:])
    assert all(one["in"] for one in ledger.get("later", []))


@each_ledger
def test_titles_are_short(path: Path):
    assert not [one for one in every(read(path)) if not 1 <= len(one["title"].split()) <= MOST_WORDS]


BEFORE = '''
"""What it is for."""
import os


class Trainer:
    epochs: int = 3

    def step(self, loss):
        """One step."""
        if loss is None:
            raise ValueError("no loss")
        logger.warning("slow")
        return loss / self.steps
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""One step."""', '"""A step."""'),
        ("def step(self, loss):", "def step(self, loss: float) -> float:"),
        ("import os", "import sys"),
        ('"no loss"', '"there is no loss"'),
        ('logger.warning("slow")', 'logger.info("slow, " + str(1))'),
        ("epochs: int = 3", "epochs: float = 4.0"),
    ],
)
def test_what_only_readers_and_tables_see_is_left_out(old: str, new: str):
    assert essence(BEFORE.replace(old, new)) == essence(BEFORE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("loss / self.steps", "loss"),
        ("if loss is None", "if not loss"),
        ("raise ValueError", "raise KeyError"),
        ("self, loss)", "self, loss=0)"),
    ],
)
def test_what_is_computed_counts(old: str, new: str):
    before, after = essence(BEFORE), essence(BEFORE.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == {"Trainer.step"}


def test_a_history_gives_the_commits_that_change_a_training(tmp_path: Path):
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(subject: str, text: str, version: str) -> None:
        (tmp_path / "trainer.py").write_text(text)
        (tmp_path / "version.py").write_text(f'__version__ = "{version}"\n')
        git("add", ".")
        git("commit", "-m", subject)

    git("init", "-q")
    commit("begin (#1)", BEFORE, "1.0.0.dev0")
    commit("words (#2)", BEFORE.replace("One step", "A step"), "1.0.0.dev0")
    commit("halve (#3)", BEFORE.replace("self.steps", "2"), "1.1.0.dev0")
    commit("upload (#4)", BEFORE.replace("self.steps", "2") + "\n\ndef push_to_hub():\n    return 1\n", "1.1.0.dev0")
    history = History(tmp_path, "HEAD", ["trainer.py"], ["version.py"], "hub")
    found = [(one.subject, one.release, one.pull, one.functions) for one in history.commits("2000-01-01")]
    assert found[1:] == [("halve (#3)", "1.1.0", 3, ("Trainer.step",))]


def test_archives_give_the_places_that_two_releases_differ_in(tmp_path: Path):
    texts = {"1.0.0": BEFORE, "1.1.0": BEFORE.replace("One step", "A step"), "1.2.0": BEFORE.replace("self.steps", "2")}
    for release, text in texts.items():
        whole = text + f"\n\ndef push_to_hub():\n    return {len(release)}{release[2]}\n"
        with zipfile.ZipFile(tmp_path / f"lib-{release}-py3-none-any.whl", "w") as archive:
            archive.writestr("lib/trainer.py", whole)
        with tarfile.open(tmp_path / f"source-{release}.tar.gz", "w:gz") as source:
            held = tarfile.TarInfo(f"source-{release}/src/lib/trainer.py")
            held.size = len(whole.encode())
            source.addfile(held, io.BytesIO(whole.encode()))
    for name, watched, place in (
        ("lib", "src/lib/trainer.py", "trainer.py:"),
        ("source", "src/lib/trainer.py", "trainer.py:"),
        ("lib", "src/lib", "lib/trainer.py:"),
    ):
        found = Archives(tmp_path, name, [watched], "hub").changed(list(texts))
        assert list(found) == [("1.2.0", f"{place}Trainer.step")]
