"""Commands inside a word of a command: `bash -c "…"`, `eval "…"`, `sbatch --wrap="…"`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablint.source.shell_values import Chunk, Field
from stablint.source.shell_view import Inner

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_RUNS = frozenset({"-c", "-lc", "-ic", "-ec", "-xc", "-exc", "-euxc"})
_LONGEST = 20_000


def scripts_in(fields: list[Field]) -> Iterator[Inner]:
    """The inner scripts among the arguments of a command."""
    texts = [_text(field) for field in fields]
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
    if texts[0] == "sbatch":
        for number, text in enumerate(texts):
            if text == "--wrap" and number + 1 < len(fields):
                yield from _inner(fields[number + 1].chunks)
            elif text.startswith("--wrap="):
                first, *rest = fields[number].chunks
                value = first.value
                if isinstance(value, str) and value.startswith("--wrap="):
                    yield from _inner([first._replace(value=value[7:], start=first.start + 7), *rest])


def _inner(chunks: Iterable[Chunk]) -> Iterator[Inner]:
    content = Inner(chunks)
    if content.view.source.strip() and len(content.view.source) <= _LONGEST:
        yield content


def _text(field: Field) -> str:
    return "".join(chunk.value for chunk in field.chunks if isinstance(chunk.value, str))
