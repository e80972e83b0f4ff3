"""Commands inside a word of a command: `bash -c "…"`, `eval "…"`, `sbatch --wrap="…"`."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.source.shell_values import Field
from stablint.source.shell_view import Segment, View, segments_of

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_RUNS = frozenset({"-c", "-lc", "-ic", "-ec", "-xc", "-exc", "-euxc"})
_LONGEST = 20_000


def scripts_in(fields: list[Field]) -> Iterator[View]:
    """The inner scripts among the arguments of a command."""
    texts = [_text(field) for field in fields]
    if texts[0] == "eval":
        segments: list[Segment] = []
        for field in fields[1:]:
            segments += segments_of(field.chunks)
            segments.append(Segment(" ", field.end, field.end, False))
        yield from _view(segments)
        return
    for number, text in enumerate(texts[:-1]):
        shell = text.rpartition("/")[2] in _SHELLS and texts[number + 1] in _RUNS and number + 2 < len(fields)
        if shell:
            yield from _view(segments_of(fields[number + 2].chunks))
            return
    if texts[0] == "sbatch":
        for number, text in enumerate(texts):
            if text == "--wrap" and number + 1 < len(fields):
                yield from _view(segments_of(fields[number + 1].chunks))
            elif text.startswith("--wrap="):
                segments = segments_of(fields[number].chunks)
                first = segments[0]._replace(text=segments[0].text[7:], start=segments[0].start + 7)
                yield from _view([first, *segments[1:]])


def _view(segments: list[Segment]) -> Iterator[View]:
    view = View(segments)
    if view.text.strip() and len(view.text) <= _LONGEST:
        yield view


def _text(field: Field) -> str:
    return "".join(chunk.value for chunk in field.chunks if isinstance(chunk.value, str))
