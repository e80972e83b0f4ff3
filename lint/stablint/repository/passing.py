"""What becomes of single keys of a configuration in the program that reads it: one is handed to the library under the name that followed its own,
another is not handed on at all, as the program has a value of its own for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from stablint.assemble.files import Files
from stablint.base.knowledge import load
from stablint.base.light import Pattern
from stablint.frameworks import huggingface
from stablint.repository.programs import programs_of
from stablint.repository.referrers import content
from stablint.run.releases.fields import field

# `eval_strategy=cfg.training.evaluation_strategy`, `"eval_strategy": str(config["training"].get("evaluation_strategy", "no"))`
_GIVES = Pattern(
    r"""(?:\b(\w{1,60})\s{0,9}=(?!=)|["'](\w{1,60})["']\s{0,9}:)\s{0,20}(?:\w{1,20}\(\s{0,9})?[A-Za-z_]\w{0,60}(?:\.\w{1,60}|\[["']\w{1,60}["']\]){0,6}?"""
    r"""(?:\.(?!get\b)([a-z]\w{1,60})(?![\w(.\[])|\[\s{0,9}["'](\w{1,60})["']\s{0,9}\](?!\s{0,9}[\[.])|\.get\(\s{0,9}["'](\w{1,60})["'])"""
)


@cache
def _followers() -> dict[str, frozenset[str]]:
    """Every name that is gone or going, with those that came after it."""
    found: dict[str, set[str]] = {}
    for rows in load("renames").values():
        for old, row in rows.items():
            if row.get("new"):
                found.setdefault(old, set()).add(row["new"])
    return {old: frozenset(names) for old, names in found.items()}


def renamed(root: str, keys: Iterable[str], files: Files) -> dict[str, str]:
    """Of these keys those that a program of the repository hands on under their new names, with that program's path."""
    old = _followers().keys() & frozenset(keys)
    words = [one.encode() for one in old]
    found: dict[str, str] = {}
    for path in programs_of(root, files) if old else ():
        raw = content(path, files)
        if not path.endswith(".py") or not any(word in raw for word in words):
            continue
        for name, quoted, *read in _GIVES.findall(raw.decode("utf-8", "replace")):
            key = next(filter(None, read))
            if key in old and (name or quoted) in _followers()[key]:
                found.setdefault(key, path)
    return found


def replaced(text: str, keys: Iterable[str]) -> frozenset[str]:
    """Of these keys those that the program reads nowhere, and has a value of its own for: `"warmup_steps": int(max_steps * 0.1)`. What it hands
    on whole it need not name."""
    return frozenset(
        key for key in keys if key in text and field(huggingface.BASE, key) is not None and _is_set_only(text, key)
    )


def _is_set_only(text: str, key: str) -> bool:
    """Whether every place that names the key gives it a value."""
    name = re.escape(key)
    named = len(re.findall(rf"\b{name}\b", text))
    given = len(
        re.findall(
            rf"""(?:["']{name}["']\s{{0,9}}:|(?<![.\w"']){name}\s{{0,9}}=(?!=))(?!\s{{0,9}}(?:None|\w+\s{{0,9}}[,)\]}}]))""",
            text,
        )
    )
    return 0 < given == named
