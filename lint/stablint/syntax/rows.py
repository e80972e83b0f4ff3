"""The first rows of a file of examples: their columns stand for those of all the others, and no more of the file is read."""

from __future__ import annotations

import json
import re

from stablint.base.light import Any
from stablint.syntax.text import bytes_of

_HEAD = 64 << 10  # bytes
_MOST = 50  # rows
_BETWEEN = re.compile(r"[\s,]{0,1000}")


def first(path: str) -> tuple[dict[str, Any], ...]:
    """The first rows of a file of JSON objects, one a line or in one list; of a table by commas one row of its columns. Empty where no row is whole."""
    if not path.endswith((".json", ".jsonl", ".csv")):
        return ()
    try:
        head = (bytes_of(path, _HEAD) or b"").decode("utf-8-sig", "ignore")
    except OSError:
        return ()
    if path.endswith(".csv"):
        line, end, _ = head.partition("\n")
        return (dict.fromkeys(line.strip().split(",")),) if end and '"' not in line else ()
    return tuple(_rows(head))


def _rows(head: str) -> list[dict[str, Any]]:
    """Of a list and of lines alike: one object behind the other."""
    read = json.JSONDecoder().raw_decode
    found: list[dict[str, Any]] = []
    at = len(head) - len(head.lstrip())
    at += head[at : at + 1] == "["
    while len(found) < _MOST:
        between = _BETWEEN.match(head, at)
        at = between.end() if between else at
        try:
            row, at = read(head, at)
        except (ValueError, RecursionError):  # the end, or the row that the head cuts off
            break
        if not isinstance(row, dict):
            return []
        found.append(row)
    return found
