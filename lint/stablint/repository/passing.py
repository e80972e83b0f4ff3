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
from stablint.run.releases.allowed import known_keys
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


_TOP = Pattern(r"^(?=[^\s)])", re.MULTILINE)
_EXTENDS = Pattern(r"class \w{1,80}\((?:\w{1,40}\.)?(\w{1,80}(?:Config|Arguments))\):")
_FIELD = Pattern(r"^[ \t]{1,8}(\w{1,80})[ \t]{0,4}:", re.MULTILINE)


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


def extended(root: str, keys: Iterable[str], files: Files) -> dict[str, str]:
    """Of these keys those that a class of the repository adds to a library's class of arguments, which some release of it has as well; with the path
    of its module."""
    wanted = frozenset(keys)
    found: dict[str, str] = {}
    for path in programs_of(root, files):
        raw = content(path, files) if path.endswith(".py") else b""
        if b"dataclass" not in raw:
            continue
        for block in _TOP.split(raw.decode("utf-8", "replace")):
            head = _EXTENDS.match(block)
            for key in wanted.intersection(_FIELD.findall(block)) if head else ():
                owners = (field(f"{library}.{head[1]}", key) for library in ("trl", "transformers") if head)
                spans = next(filter(None, owners), None)
                if spans is not None and not all(spans.exists_at(one) for one in known_keys(spans.library)):
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
