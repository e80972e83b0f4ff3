"""A baseline: the findings that a repository had when stablint came. They are accepted; new ones are not.

A finding is known by its rule, its file and the values that decide it: it stays known when lines move, keys change their order, or quotes
and comments come and go. Two equal findings in a file are counted.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Container, Iterable
from typing import Any

from stablint.base import consulted
from stablint.base.libraries import hashlib
from stablint.report.model import Diagnostic
from stablint.report.plain import jsonable
from stablint.secrets import exit, masking

DEFAULT = "stablint-baseline.json"
_VERSION = 1
_LARGEST = 20_000_000  # bytes: some hundred thousand findings

Key = tuple[str, str, str]  # absolute path, rule, fingerprint


class BadBaseline(Exception):
    """A file that is no baseline, and why."""


def key(diagnostic: Diagnostic) -> Key:
    # Of a block only what decides: its other keys come and go.
    stated = sorted(
        (fact.name, json.dumps(jsonable(fact.value), sort_keys=True))
        for fact in diagnostic.facts
        if fact.origin.get("kind") == "explicit" and (fact.name == diagnostic.fact or not isinstance(fact.value, dict))
    )
    content = json.dumps([diagnostic.rule, diagnostic.fact, diagnostic.absent, stated])
    digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return (_told(diagnostic.text.path) if diagnostic.text is not None else "", diagnostic.rule, digest)


def _told(path: str) -> str:
    """A path as a baseline holds it: stars for a whole name of a file or folder that says a secret, so that nothing of it is left to be hidden when
    the baseline is written."""
    if not exit.may_tell(path):
        return path
    return os.sep.join(exit.STARS if _says_a_secret(part) else part for part in path.split(os.sep))


def _says_a_secret(name: str) -> bool:
    return (
        any(True for _ in masking.in_name(name)) or masking.mask(name) != name or masking.mask(name + "/") != name + "/"
    )


def render(diagnostics: Iterable[Diagnostic], path: str, checked: Container[str] = ()) -> str:
    """The file, sorted, with paths relative to its own folder; findings that a comment or the settings suppress are not in it.

    What it holds of files that are there and were not `checked` stays. Raises BadBaseline if there is something else in its place.
    """
    folder = _told(os.path.dirname(os.path.abspath(path)))
    counted = Counter(key(d) for d in diagnostics if d.suppressed is None)
    if os.path.exists(path):
        kept = {row: n for row, n in read(path).items() if row[0] not in checked and os.path.exists(row[0])}
        counted.update(kept)
    rows = [
        {
            "file": _relative(file, folder),
            "rule": rule,
            "fingerprint": digest,
            "count": count,
        }
        for (file, rule, digest), count in counted.items()
    ]
    rows.sort(key=lambda row: (str(row["file"]), str(row["rule"]), str(row["fingerprint"])))
    return json.dumps({"schema_version": _VERSION, "findings": rows}, indent=2, ensure_ascii=False) + "\n"


def _relative(file: str, folder: str) -> str:
    """As it is written: with forward slashes, and whole where no way leads there (another drive of Windows)."""
    try:
        return os.path.relpath(file, folder).replace(os.sep, "/") if file else ""
    except ValueError:
        return file.replace(os.sep, "/")


def read(path: str, name: str = "") -> dict[Key, int]:
    """Raises BadBaseline for a file that cannot be read or is none; `name` is how it is shown."""
    name = name or path
    try:
        return _read(path, name)
    except BadBaseline:
        raise
    except FileNotFoundError:
        wrong = BadBaseline(f"the baseline {name} does not exist: `stablint . --write-baseline` writes it")
    except OSError as error:
        wrong = BadBaseline(f"{name}: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        wrong = BadBaseline(f"{name}: this is no baseline of stablint")
    raise wrong  # out here it holds no frame with the text of the file: a server keeps one error for every request


def _read(path: str, name: str) -> dict[Key, int]:
    there = os.stat(path)
    if not stat.S_ISREG(there.st_mode):
        raise BadBaseline(f"{name}: this is no regular file")
    if there.st_size > _LARGEST:
        raise BadBaseline(f"{name}: more than {_LARGEST:,} bytes are no baseline of stablint")
    consulted.note(path)
    with open(path, encoding="utf-8") as file:
        data = json.loads(file.read(_LARGEST))
    if data["schema_version"] != _VERSION:
        raise BadBaseline(f"{name}: written by another release of stablint: write it anew with --write-baseline")
    folder = os.path.dirname(os.path.abspath(path))
    return {_key(row, folder): _count(row) for row in data["findings"]}


def _key(row: dict[str, Any], folder: str) -> Key:
    file = str(row["file"])
    scheme, is_address, _ = file.partition("://")
    if (
        is_address
    ):  # no path, and no address once its slashes are those of a path, so that nobody would know its secrets
        file = f"{scheme}/{exit.STARS}"
    return (_told(os.path.normpath(os.path.join(folder, file))), str(row["rule"]), str(row["fingerprint"]))


def _count(row: dict[str, Any]) -> int:
    count = row["count"]
    if not isinstance(count, int):
        raise TypeError("a count is a whole number")
    return count


def stale(known: dict[Key, int], diagnostics: Iterable[Diagnostic], checked: set[str]) -> list[tuple[Key, int]]:
    """What the baseline has and nobody finds any more, in files that were checked or are gone."""
    found = Counter(key(d) for d in diagnostics)
    return [
        (row, count - found[row])
        for row, count in sorted(known.items())
        if count > found[row] and (row[0] in checked or not os.path.exists(row[0]))
    ]
