"""Silence on whole repositories: what is recognised, which rules fire how often, and how many errors and warnings a file draws.

    python benchmarks/repositories.py FOLDER_OR_GIT_DIR… [--verbose]

A folder is checked as it is, a bare or mirrored git directory as its newest commit is; folders of tests are left out, since they hold what must fail.
What is counted are the files that hold a training setting, by the words that benchmarks/first_sight.py looks for, not the files that were looked at.
Exits 1 where an error is not in the table of docs/official-recipes.md, or where more of these files than the bars say draw anything, or a warning
that rests on reports and estimates: the others are shown in a library's source, or were reproduced. Meant for the repositories of the frameworks
themselves, whose recipes run: what fires there is wrong, or belongs on that page.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import first_sight

import stablint

PROOFS = Path(__file__).resolve().parent.parent / "docs" / "official-recipes.md"
ANYTHING, LOUD = (
    0.20,
    0.04,
)  # the most of the files with a training setting that may draw anything, and a warning that rests on reports
_REPORTED = frozenset({"reported", "folklore"})
_SUFFIXES = ("yaml", "yml", "json", "py", "ipynb", "sh", "bash", "slurm", "sbatch", "txt", "toml", "lock", "conf")
_LINK = re.compile(r"github\.com/([^/]+/[^/]+)/blob/[0-9a-f]{40}/([^)#]+)")
_TESTS = frozenset({"test", "tests", "tests_v1"})
_LARGEST = 3_000_000


class Found(NamedTuple):
    """What one repository draws; a diagnostic comes with the path of its file within the repository."""

    name: str
    files: int
    recognised: int
    training: frozenset[str]
    errors: list[tuple[str, Any]]
    warnings: list[tuple[str, Any]]
    infos: list[tuple[str, Any]]


def proven(page: str) -> set[tuple[str, str]]:
    """(path within its repository, code) of every row of the page that links a file at a commit."""
    rows = set()
    for line in page.splitlines():
        cells = line.split(" | ")
        if len(cells) > 2:
            paths = [path for _, path in _LINK.findall(cells[0])]
            rows |= {(path, code) for path in paths for code in re.findall(r"\b[A-Z][0-9]{3}\b", cells[1])}
    return rows


def unpacked(git: Path, folder: Path) -> None:
    """The newest commit's files that are read here; blobs that a partial clone lacks are left out."""
    command = ["git", f"--git-dir={git}"]
    listed = subprocess.run([*command, "ls-tree", "-r", "-l", "-z", "HEAD"], capture_output=True, text=True, check=True)
    wanted: list[tuple[str, str]] = []
    for row in filter(None, listed.stdout.split("\0")):
        head, _, path = row.partition("\t")
        mode, _, blob, size = head.split()
        if mode.startswith("100") and path.rpartition(".")[2].lower() in _SUFFIXES and size.isdigit():
            if int(size) <= _LARGEST:
                wanted.append((blob, path))
    asked = "".join(f"{blob}\n" for blob, _ in wanted).encode()
    content = subprocess.run([*command, "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout
    at = 0
    for _, path in wanted:
        end = content.index(b"\n", at)
        words, at = content[at:end].split(), end + 1
        if words[-1] == b"missing":
            continue
        size = int(words[2])
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content[at : at + size])
        at += size + 1


def checked(root: Path, name: str) -> Found:
    report = stablint.check(root, isolated=True)

    def within(path: str) -> str:
        return Path(path).resolve().relative_to(root.resolve()).as_posix()

    def is_test(path: str) -> bool:
        return not _TESTS.isdisjoint(path.split("/")[:-1])

    files = [(within(file.file), file.status) for file in report.files]
    told = [(within(one.text.path), one) for one in report.diagnostics if one.text is not None]
    return Found(
        name,
        sum(not is_test(path) for path, _ in files),
        sum(status == "checked" and not is_test(path) for path, status in files),
        frozenset(path for path in first_sight.training_files(root) if not is_test(path)),
        *(
            [
                (path, one)
                for path, one in told
                if one.severity == severity and not is_test(path) and one.suppressed is None
            ]
            for severity in ("error", "warning", "info")
        ),
    )


def look(path: Path) -> Found:
    name = path.name if path.name not in (".git", "repo") else path.parent.name
    if not (path / "HEAD").is_file():
        return checked(path, name)
    with tempfile.TemporaryDirectory() as folder:
        unpacked(path, Path(folder))
        return checked(Path(folder), name)


def table(title: str, found: list[tuple[str, Any]]) -> None:
    print(f"\n{title}")
    for (code, rule), count in Counter((one.code, one.rule) for _, one in found).most_common():
        print(f"  {count:4} {code} {rule}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repository", nargs="+", type=Path, help="folders and git directories")
    parser.add_argument("--verbose", action="store_true", help="a line for every error and warning")
    given = parser.parse_args()
    known = proven(PROOFS.read_text("utf-8"))
    found = []
    for path in given.repository:
        one = look(path)
        found.append(one)
        print(
            f"{one.name:36} {len(one.training):5} with a setting {one.recognised:5} recognised {len(one.errors):4} errors {len(one.warnings):4} warnings",
            flush=True,
        )
        for place, diagnostic in (*one.errors, *one.warnings) if given.verbose else ():
            print(f"    {diagnostic.severity:7} {diagnostic.code} {place}: {diagnostic.message}")
    errors = [row for one in found for row in one.errors]
    warnings = [row for one in found for row in one.warnings]
    unproven = [(path, one) for path, one in errors if (path, one.code) not in known]
    table("errors by rule", errors)
    table("warnings by rule", warnings)
    table("infos by rule", [row for one in found for row in one.infos])
    training = sum(len(one.training) for one in found) or 1
    drawing = [{path for path, _ in (*one.errors, *one.warnings, *one.infos)} & one.training for one in found]
    loud = [
        {path for path, told in one.warnings if told.evidence and told.evidence["grade"] in _REPORTED} & one.training
        for one in found
    ]
    anything, unknown = sum(map(len, drawing)) / training, sum(map(len, loud)) / training
    wrong = len({(id(one), path) for one in found for path, _ in one.errors})
    print(
        f"\n{training} files with a training setting (of {sum(one.files for one in found)} looked at, {sum(one.recognised for one in found)} recognised): "
        f"{anything:.1%} draw anything (bar {ANYTHING:.0%}), {unknown:.1%} a warning that rests on reports (bar {LOUD:.0%}); "
        f"{len(errors)} errors in {wrong} files, {len(unproven)} of them not proven"
    )
    for path, one in unproven:
        print(f"not proven: {one.code} {path}: {one.message}")
    return int(bool(unproven) or anything > ANYTHING or unknown > LOUD)


if __name__ == "__main__":
    sys.exit(main())
