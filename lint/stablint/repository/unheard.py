"""Files of accelerate's launcher whose programs hear nothing of them: these make no Accelerator, and the launcher alone refuses nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache

from stablint.assemble.files import Files
from stablint.repository.programs import programs_of, scripts_of
from stablint.repository.referrers import content, names
from stablint.run.framework import package_names

# Libraries that make an Accelerator for their importers; the frameworks' own packages stand in their records.
_LIBRARIES = ("accelerate", "trl", "unsloth", "sentence_transformers", "diffusers", "alignment")


@cache
def _makes() -> re.Pattern[bytes]:
    """Who makes an Accelerator, or may: importers, trainers that are handed arguments, frameworks that are imported or started."""
    packages = "|".join(map(re.escape, sorted({*_LIBRARIES, *package_names()}))).encode()
    return re.compile(
        rb"\bAccelerator\b|^[ \t]*(?:from|import)[ \t]+(?:" + packages + rb")\b"
        rb"|\bTrainingArguments\b|\bTrainer\b[ \t]*[,(]|\bSeq2SeqTrainer\b"
        rb"|\bfrom[ \t]{1,9}transformers[\w.]{0,60}[ \t]{1,9}import[ \t][^\n]{0,300}Trainer\b"
        rb"|-m[\"', ]+(?:" + packages + rb")\b|\bDeepSpeedPlugin\b",
        re.MULTILINE,
    )


_STARTS = re.compile(
    rb"\bsubprocess\b|\bos\.(?:system|exec\w+|spawn\w+)\(|\bPopen\("
)  # what runs then is another program


def unheard(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of the files that a program of their repository names and no script, where no program there makes an Accelerator."""
    by_root: dict[str, list[str]] = {}
    for path in paths:
        by_root.setdefault(files.root(path), []).append(path)
    return frozenset(path for root, several in by_root.items() for path in _of_repository(root, several, files))


def _of_repository(root: str, paths: list[str], files: Files) -> Iterator[str]:
    called = {path: os.path.basename(path).encode("utf-8", "surrogatepass") for path in paths}
    named: set[bytes] = set()
    others: set[bytes] = set()  # what is named beside another program that starts
    for program in (content(one, files) for one in programs_of(root, files)):
        if _makes().search(program):
            return
        here = {name for name in called.values() if names(name, program)}
        named |= here
        others |= here if _STARTS.search(program) else set()
    for script in (
        content(one, files) for one in scripts_of(root, files)
    ):  # which program that starts, its own run says
        others |= {name for name in named - others if names(name, script)}
    yield from (path for path, name in called.items() if name in named - others)
