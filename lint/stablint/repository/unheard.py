"""Files that look like a library's and of which it hears nothing: those of accelerate's launcher whose programs make no Accelerator, since the launcher
alone refuses nothing, and tables of data sets that the repository reads itself."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache

from stablint.assemble.files import Files
from stablint.repository import readers
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


# What starts, imports, clones or installs LLaMA-Factory; that something is like its conventions says nothing.
_FACTORY = re.compile(
    rb"llamafactory-cli|\b(?:from|import)[ \t]+(?:llamafactory|llmtuner)\b|-m[ \t]+(?:llamafactory|llmtuner)\b|\btrain_bash\.py|\bswift[ \t]+sft\b"
    rb"|llama-?factory(?:/|\.git\b|\[|[=<>~]=|[ \t]*$)|\b(?:cd|clone)[ \t]+[\w./:-]*llama-?factory",
    re.IGNORECASE | re.MULTILINE,
)
_READS = re.compile(rb"\bjson\.loads?\(|\bread_json\(|\bload_json\(")


def own_tables(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those tables of data sets that a program of their repository names and loads, where nothing starts or installs LLaMA-Factory: no program, no script,
    no list of what is installed and no guide at the top."""
    found: set[str] = set()
    for path in paths:
        root, name = files.root(path), os.path.basename(path).encode("utf-8", "surrogatepass")
        if not os.path.isdir(root):
            continue
        programs = [content(one, files) for one in programs_of(root, files)]
        if not any(names(name, one) and _READS.search(one) for one in programs):
            continue
        others = [*scripts_of(root, files), *(one for one in files.entries(root) if _TELLS.search(one[len(root) :]))]
        if not any(_FACTORY.search(one) for one in [*programs, *(content(one, files) for one in others)]):
            found.add(path)
    return frozenset(found)


_TELLS = re.compile(
    r"^[/\\]?(?:README[^/\\]*|requirements[^/\\]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|environment[^/\\]*\.ya?ml)$"
)


def own_dicts(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those modules of constants whose dict a program of their repository takes apart, key by key, and that none hands on as it is."""
    found: set[str] = set()
    for path in paths:
        dicts = {one.block.name: one.block.mapping for one in files.fragments(path) if one.block.kind == "document"}
        keys = {entry.key for mapping in dicts.values() for entry in mapping.entries}
        root = files.root(path)
        raw = [content(one, files) for one in programs_of(root, files)] if dicts and os.path.isdir(root) else []
        texts = [one.decode("utf-8", "replace") for one in raw if b"[" in one]
        handed = re.compile("|".join(rf"\*\*[ \t]?(?:\w{{1,80}}\.)?{re.escape(name)}\b" for name in dicts))
        if not any(handed.search(one) for one in texts) and any(
            len(readers.taken(one) & keys) >= readers.ENOUGH for one in texts if not readers.HANDS_ON.search(one)
        ):
            found.add(path)
    return frozenset(found)


_REGISTERS = re.compile(rb"\b(?:AutoConfig|AutoModel\w{0,40}|CONFIG_MAPPING|MODEL_MAPPING)\.register\(")


def registering(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of these files in whose repository a program tells the library of a type of models of its own."""
    return _beside(paths, files, _REGISTERS)


# `lr=float(config["learning_rate"])`, and a loop that makes numbers of texts: `isinstance(value, str)`, then `float(value)`.
_CASTS = re.compile(
    rb"\bfloat\([^()\n]{0,80}(?:\([^()\n]{0,80})?\b(?:learning_rate|lr)\b"
    rb"|\bisinstance\((\w{1,40}), ?str\)[^\n]{0,200}\n(?:[^\n]{0,200}\n){0,4}?[^\n]{0,200}\bfloat\(\1\)"
)


def casting(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of these files in whose repository a program makes a number of what it reads, whatever it was written as."""
    return _beside(paths, files, _CASTS)


# A trainer of the repository's own, and a method that asks for the name of the loss.
_TRAINER = re.compile(rb"\bclass[ ]\w{1,80}\([^()]{0,200}Trainer\b")
_ASKS_FOR_LOSS = re.compile(rb"\bself(?:\.args)?\.loss_type[ ]?(?:==|in\b)")


def computing(paths: Iterable[str], files: Files) -> frozenset[str]:
    """Those of these files in whose repository a trainer of its own computes the loss of that name, or may."""
    return _beside(paths, files, _TRAINER, _ASKS_FOR_LOSS)


def _beside(paths: Iterable[str], files: Files, *patterns: re.Pattern[bytes]) -> frozenset[str]:
    """Those of the files in whose repository one program has all of the patterns."""
    answers: dict[str, bool] = {}
    for path in paths:
        root = files.root(path)
        if root not in answers:
            found = programs_of(root, files) if os.path.isdir(root) else ()
            answers[root] = any(
                all(one.search(text) for one in patterns) for text in (content(one, files) for one in found)
            )
    return frozenset(path for path in paths if answers[files.root(path)])


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
