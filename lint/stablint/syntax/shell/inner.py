"""Commands inside a command: `bash -c "…"`, `bash <<EOF`, `eval "…"`, `sbatch --wrap="…"`, `ray job submit -- python …`, `docker run image torchrun …`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stablint.syntax.shell.embedded import Inner
from stablint.syntax.shell.launchers import starters
from stablint.syntax.shell.values import Chunk, Field

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_RUNS = frozenset({"-c", "-lc", "-ic", "-ec", "-xc", "-exc", "-euxc"})
# They start a program elsewhere, with flags of their own that nobody here knows.
_CARRIERS = frozenset({
    "docker", "podman", "nerdctl", "singularity", "apptainer", "enroot", "ssh", "kubectl", "mpirun", "mpiexec", "xargs", "setsid", "flock", "conda", "mamba",
    "micromamba", "salloc", "ts", "tsp", "script",
})  # fmt: skip
_MANY = frozenset({"mpirun", "mpiexec"})  # they start it many times; their name stays in front of the command
_WRAPPERS = frozenset({"bash", "sh", "uv", "srun", "env", "nohup"})
_PYTHON = re.compile(r"python[0-9.]*\Z")
_TYPES = frozenset({
    "new-session", "new", "new-window", "neww", "split-window", "splitw", "send-keys", "send", "respawn-pane", "respawnp",
})  # fmt: skip
_QUEUES = frozenset({"sbatch", "qsub", "bsub"})  # without a file they take the script that they are given
_JOINTS = frozenset({"&&", "||", ";", "|"})


def scripts_in(fields: list[Field], texts: list[str]) -> Iterator[Inner]:
    """The inner scripts among the arguments of a command; `texts` are what `text_of` makes of these."""
    if texts[0] == "eval":
        chunks: list[Chunk] = []
        for field in fields[1:]:
            chunks += [*field.chunks, Chunk(" ", field.end, field.end, exact=False)]
        yield from _inner(chunks)
        return
    for number, text in enumerate(texts[:-2]):
        if text.rpartition("/")[2] in _SHELLS and texts[number + 1] in _RUNS:
            yield from _inner(fields[number + 2].chunks)
            return
    if texts[0] == "ssh" and len(texts) > 1 and " " in texts[-1]:
        yield from _inner(fields[-1].chunks)
    if texts[0] == "tmux" and not _TYPES.isdisjoint(texts):
        for field, text in zip(fields, texts, strict=True):
            if " " in text:  # names and keys are one word
                yield from _inner(field.chunks)
    if texts[0] == "sbatch":
        for number, text in enumerate(texts):
            if text == "--wrap" and number + 1 < len(fields):
                yield from _inner(fields[number + 1].chunks)
            elif text.startswith("--wrap="):
                first, *rest = fields[number].chunks
                value = first.value
                if isinstance(value, str) and value.startswith("--wrap="):
                    yield from _inner([first._replace(value=value[7:], start=first.start + 7), *rest])


def runs_its_input(texts: list[str]) -> bool:
    """Whether a command runs what it reads: `bash -s`, `ssh host bash`, `docker exec -i box sh -e`, `sbatch` (of which nobody knows here which word is a
    file, and which the value of an option)."""
    if texts[0].rpartition("/")[2] in _QUEUES:
        return True
    flags = next((n for n, text in enumerate(reversed(texts)) if not text.startswith(("-", "+"))), len(texts))
    last = texts[len(texts) - flags - 1] if flags < len(texts) else ""
    if last.rpartition("/")[2] in _SHELLS:
        return _RUNS.isdisjoint(texts[len(texts) - flags :])
    return texts[0] == "ssh" and len(texts) == flags + 2


def started_by(fields: list[Field], texts: list[str]) -> tuple[int, list[list[Field]]]:
    """Where a program's own arguments end, and the commands that it starts: behind `--`, or among its words if it is one that carries others."""
    number = texts.index("--") if "--" in texts else 0
    if 0 < number < len(texts) - 1:
        found = [part for part in _parts(fields[number + 1 :]) if _starts(text_of(part[0]))]
        return (number, found) if found else (len(fields), [])
    if texts[0].rpartition("/")[2] in _CARRIERS:
        for number in range(1, len(texts) - 1):
            if texts[number - 1] == "--entrypoint" and _starts(texts[number]) and texts[number + 1][:1] != "-":
                return number, [[fields[number], *fields[number + 2 :]]]  # the image stands between them
            if _starts(texts[number]) and texts[number - 1] not in ("--name", "-n", "-e", "--env", "-w"):
                parts = _parts(fields[number:])
                return number, [[fields[0], *part] for part in parts] if texts[0] in _MANY else parts
    return len(fields), []


def _starts(text: str) -> bool:
    name = text.rpartition("/")[2]
    return name in _WRAPPERS or name in starters() or _PYTHON.match(name) is not None


def _parts(fields: list[Field]) -> list[list[Field]]:
    """Commands with `&&` between them, which is escaped where the program that gets it is to see it."""
    parts: list[list[Field]] = [[]]
    for field in fields:
        if text_of(field) in _JOINTS:
            parts.append([])
        else:
            parts[-1].append(field)
    return [part for part in parts if part]


def _inner(chunks: Iterable[Chunk]) -> Iterator[Inner]:
    content = Inner(chunks)
    if content.view.source.strip():
        yield content


def text_of(field: Field) -> str:
    """What is known of an argument."""
    if len(field.chunks) == 1 and isinstance(field.chunks[0].value, str):
        return field.chunks[0].value
    return "".join(chunk.value for chunk in field.chunks if isinstance(chunk.value, str))
