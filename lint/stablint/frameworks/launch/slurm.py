"""`#SBATCH` lines: which GPUs a job asks for, and how many tasks srun starts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import Block, Fragment, Row, statement
from stablint.run.fact import Statement
from stablint.syntax.tree import Command, Document, Entry, Mapping, Scalar, Script, Unknown

# `gpu:a100:8`, `gpu:8`, `gpu`; and behind --gpus, --gpus-per-node, --gpus-per-task `a100:8`, `8`.
_GENERIC = re.compile(r"(?:gres/)?gpu(?::(?P<name>[A-Za-z][\w.-]*))?(?:[:=](?P<count>[0-9]+))?\Z")
_GPUS = re.compile(r"(?:(?P<name>[A-Za-z][\w.-]*):)?(?P<count>[0-9]+)\Z")
_FEATURE = re.compile(r"[\w.-]+\Z")
_WHOLE = re.compile(r"[0-9]+\Z")


def lower(document: Document, command: Command, launcher: str, index: int) -> Fragment | None:
    """What the header says of a command's machine; None where there is none."""
    root = document.root
    if not isinstance(root, Script) or not root.header.entries:
        return None
    block = Block(document, "flags", "sbatch", root.header, command.start, command.end, index)
    statements = [*_gpus(block, root.header), *_tasks(block, root.header, command, launcher)]
    return Fragment("shell", block, "environment", tuple(statements), {}, {}) if statements else None


def _gpus(block: Block, header: Mapping) -> Iterator[Statement]:
    """`target.gpu.name` as it is written, and how many of them the job has in all."""
    nodes, tasks = _number(header, "nodes", 1), _number(header, "ntasks", None)
    for entry in header.entries:
        text = entry.value.value if isinstance(entry.value, Scalar) else None
        if not isinstance(text, str):
            continue
        if entry.key == "constraint" and _FEATURE.match(text):
            yield _stated(block, entry, "target.gpu.name", text)
            continue
        times = {"gres": nodes, "gpus-per-node": nodes, "gpus": 1, "gpus-per-task": tasks}
        if entry.key not in times:
            continue
        parts = text.split(",") if entry.key == "gres" else [text]
        found = [match for part in parts if (match := (_GENERIC if entry.key == "gres" else _GPUS).match(part))]
        if len(found) != 1:
            continue
        if found[0]["name"]:
            yield _stated(block, entry, "target.gpu.name", found[0]["name"])
        factor = times[entry.key]
        if factor is not None:
            yield _stated(block, entry, "target.gpu.count", int(found[0]["count"] or 1) * factor)


def _tasks(block: Block, header: Mapping, command: Command, launcher: str) -> Iterator[Statement]:
    """srun starts a program once a task. Launchers of their own say how many they are, whatever the job has."""
    if "srun" not in command.words or launcher in ("torchrun", "accelerate", "deepspeed"):
        return
    for entry in header.entries:
        value = _number(header, entry.key, None)
        if entry.key == "nodes" and value is not None:
            yield _stated(block, entry, "launch.nodes", value)
        elif entry.key in ("ntasks", "ntasks-per-node") and value != 1:
            yield _stated(
                block, entry, "launch.processes", Unknown("the program itself makes its tasks one run, or not")
            )


def _number(header: Mapping, key: str, otherwise: int | None) -> int | None:
    node = header.get(key)
    if node is None:
        return otherwise
    text = node.value if isinstance(node, Scalar) else None
    return int(text) if isinstance(text, str) and _WHOLE.match(text) and len(text) < 6 else None


def _stated(block: Block, entry: Entry, fact: str, value: object) -> Statement:
    return statement(block, entry, (entry.key,), Row(entry.key, fact, "text"), "environment")._replace(value=value)
