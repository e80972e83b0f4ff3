"""Whole repositories through `--fix --unsafe-fixes`, with parsers that are not ours as judges.

    python benchmarks/repairing.py FOLDER …

Each folder is copied, repaired twice, and compared: a file that its language's own parser (ruamel.yaml, json, ast, `bash -n`) took before must be
taken after; nothing but configurations that stablint reads may differ; mode and line ends stay; nothing is left beside them; the second pass
changes nothing; no word of ours says "this is a bug". Prints a line a repository and the sum, exits 1 if anything was bad.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

_REPAIR = ["check", ".", "--fix", "--unsafe-fixes", "--isolated", "--skip-unrecognised", "--statistics"]


class Repaired(NamedTuple):
    changed: int
    bad: list[str]
    seconds: float


def _yaml(text: str) -> None:
    list(YAML(typ="safe", pure=True).compose_all(StringIO(text)))


def _notebook(text: str) -> None:
    """JSON, and every code cell without magics is Python."""
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and not any(
            line.lstrip().startswith(("%", "!", "?")) for line in source.splitlines()
        ):
            ast.parse(source)


def _shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip())


PARSERS: dict[str, Callable[[str], object]] = {
    ".yaml": _yaml, ".yml": _yaml, ".json": json.loads, ".py": ast.parse, ".ipynb": _notebook, ".sh": _shell, ".bash": _shell, ".slurm": _shell,
}  # fmt: skip


def _taken(path: Path, data: bytes) -> str:
    """Why the parser of its language refuses it; empty where it takes it."""
    parser = PARSERS.get(path.suffix.lower())
    if parser is None:
        return ""
    try:
        parser(data.decode("utf-8-sig"))
    except (ValueError, SyntaxError, YAMLError, KeyError, TypeError, RecursionError) as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def repaired(folder: Path) -> Repaired:
    """A copy of the folder after two passes, judged."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / folder.name
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        before, modes = _content(copy), _modes(copy)
        began = time.monotonic()
        first = _run(copy)
        seconds = time.monotonic() - began
        between = _content(copy)
        second = _run(copy)
        after = _content(copy)
        bad = [
            f"{said.strip().splitlines()[-1][:200]}"
            for said in (first, second)
            if "this is a bug" in said or "Traceback" in said or "internal" in said
        ]
        changed = [path for path in before if between.get(path) != before[path]]
        bad += [f"{path}: appeared" for path in after if path not in before]
        bad += [f"{path}: gone" for path in before if path not in after]
        bad += [f"{path}: changed once more" for path in between if after.get(path) != between[path]]
        bad += [f"{path}: another mode" for path, mode in _modes(copy).items() if modes.get(path) != mode]
        for path in changed:
            old, new = before[path], between.get(path, b"")
            if not _taken(Path(path), old) and (why := _taken(Path(path), new)):
                bad.append(f"{path}: {why}")
            if (b"\r\n" in old) != (b"\r\n" in new) or old.endswith(b"\n") != new.endswith(b"\n"):
                bad.append(f"{path}: other line ends")
    return Repaired(len(changed), bad, seconds)


def _run(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-m", "stablint", *_REPAIR], cwd=folder, capture_output=True, text=True, errors="replace"
    )
    return done.stderr if done.returncode in (0, 1) else f"{done.stderr}\ninternal: exit code {done.returncode}"


def _content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _modes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in folder.rglob("*")
        if not path.is_symlink()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Repair copies of repositories and judge the result.")
    parser.add_argument("folders", nargs="+", type=Path)
    total, faults = 0, 0
    folders = parser.parse_args().folders
    for folder in folders:
        done = repaired(folder.resolve())
        total += done.changed
        faults += len(done.bad)
        print(f"{folder.name}: {done.changed} files repaired in {done.seconds:.0f} s, {len(done.bad)} bad", flush=True)
        for line in done.bad:
            print(f"  {line}")
    print(f"{len(folders)} repositories, {total} files repaired, {faults} bad")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
