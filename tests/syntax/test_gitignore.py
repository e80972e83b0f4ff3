"""What git ignores is not found, as git itself says; what is named, or tracked, is."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from stablint.files import discover, gitignore
from tests.runs import written

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git itself is asked")

FILES = [
    "a.json", "b.yaml", "out/adapter_config.json", "out/keep.json", "conf/a.json", "conf/deep/b.yaml", "conf/deep/out/c.json",
    "logs/x.json", "logs/y1.json", "logs/y2.json", "exp/run-1/ds.json", "exp/run-2/ds.json", "exp/best/ds.json", "a b.json", "#x.json", "z/out",
]  # fmt: skip
PATTERNS = [
    {".gitignore": "out/\n"},
    {".gitignore": "/out\n"},
    {".gitignore": "*.json\n!conf/*.json\n"},
    {".gitignore": "out/*\n!out/keep.json\n"},
    {".gitignore": "out/\n!out/keep.json\n"},
    {".gitignore": "conf/**/c.json\nexp/**\n"},
    {".gitignore": "**/deep\n"},
    {".gitignore": "logs/y[0-1].json\nexp/run-[!2]\n"},
    {".gitignore": "# words\n\\#x.json\na\\ b.json   \n\n"},
    {".gitignore": "exp/*/ds.json\n?.yaml\r\n"},
    {".gitignore": "*.json\n!keep/\n", "conf/.gitignore": "!a.json\ndeep\n"},
    {".git/info/exclude": "logs\n", "exp/.gitignore": "/best\n*-2\n"},
    {".gitignore": "z*u*t*\n**/a**.json\n***\n!*.yaml\n"},
    {".gitignore": "a/**\nconf/\n!conf\n"},
    {".gitignore": "conf/**/out/*.json\n**/run-*/ds.json\nlogs/**/\n"},
    {".gitignore": "**/conf/**/b.yaml\n**/exp/**\n!**/best/**\n"},
    {
        ".gitignore": "*.json\n",
        "conf/.gitignore": "!*.json\n",
        "conf/deep/.gitignore": "*.json\n*.yaml\n",
        "exp/.gitignore": "!*.json\n",
    },
]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "core.quotepath=off", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("patterns", PATTERNS, ids=repr)
def test_found_is_what_git_would_track(patterns: dict[str, str], tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    base = written(tmp_path, dict.fromkeys(FILES, "{}") | patterns)
    wanted = {
        name
        for name in git(tmp_path, "ls-files", "-o", "--exclude-standard", "-z").split("\0")
        if name.endswith((".json", ".yaml"))
    }
    found = {Path(path).relative_to(tmp_path).as_posix() for path, _ in discover.files([base], base)}
    assert found == wanted


def test_what_is_tracked_or_named_is_checked_all_the_same(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    base = written(tmp_path, dict.fromkeys(FILES, "{}") | {".gitignore": "*.json\nconf\n"})
    git(tmp_path, "add", "-f", "exp/best/ds.json", "conf/a.json")
    found = {Path(path).relative_to(tmp_path).as_posix() for path, _ in discover.files([base], base)}
    assert found >= {"b.yaml", "exp/best/ds.json", "conf/a.json"}
    assert not found & {"a.json", "exp/run-1/ds.json", "out/keep.json", "conf/deep/out/c.json"}
    named = {Path(path).name for path, _ in discover.files(["out", "a.json"], base)}
    assert "a.json" in named


def test_without_a_repository_nothing_is_ignored(tmp_path: Path) -> None:
    base = written(tmp_path, {"a.json": "{}", ".gitignore": "*\n"})
    assert [Path(path).name for path, _ in discover.files([base], base)] == ["a.json"]


def test_a_pattern_with_one_run_of_folders_is_as_one_with_several():
    """The short way for `a/**/b`, whose cost does not grow with the depth of a tree, says what the long one says."""
    chance = random.Random(20261123)
    for _ in range(20_000):
        pattern = [chance.choice(("a", "b", "*", "a*", "**")) for _ in range(chance.randrange(1, 5))]
        pattern = [one for before, one in itertools.pairwise(["", *pattern]) if (before, one) != ("**", "**")]
        names = [chance.choice(("a", "b", "ab")) for _ in range(chance.randrange(1, 6))]
        assert gitignore._follow(tuple(pattern), names) is gitignore._follow_any(tuple(pattern), names), (
            pattern,
            names,
        )


def test_the_patterns_of_all_folders_above_are_as_many_as_are_looked_at(tmp_path: Path) -> None:
    folder = tmp_path
    (tmp_path / ".git").mkdir()
    for number in range(12):
        folder = folder / f"d{number}"
        folder.mkdir()
        (folder / ".gitignore").write_text("".join(f"*a*{number}*{line}*\n**/b/**/c{line}\n" for line in range(250)))
    (folder / "train.yaml").write_text("fp16: true\n")
    rules = gitignore.Repository(str(tmp_path)).above(str(folder / "x"))
    assert 3_000 < len(rules) <= 4_000 and sum(rule.names.count("**") > 1 for rule in rules) == 100
    assert [Path(path).name for path, _ in discover.files([str(tmp_path)], str(tmp_path))] == ["train.yaml"]
