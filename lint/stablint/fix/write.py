"""Repaired texts into their files: each repair whole or not at all, and nothing that somebody typed meanwhile is lost."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from stablint.base.whole import Changed, deferred
from stablint.fix.exchange import CHANGED, Part, Repair, closed, prepared
from stablint.syntax.text import encode
from stablint.syntax.tree import Text


class Outcome(NamedTuple):
    """Paths, each with words for people. `written` are those that were exchanged."""

    written: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]  # a file, and why the repairs that it belongs to were not written
    notes: tuple[tuple[str, str], ...]  # what of a file could not be kept


def write_all(
    texts: dict[str, Text],
    before: dict[str, Text],
    root: Callable[[str], str],
    together: Iterable[Iterable[str]] = (),
    written: list[str] | None = None,
) -> Outcome:
    """`texts` and `before` by absolute path; `root` says of a file which folder it must not leave; `together` are the files of one repair each.

    `written` grows by what is exchanged, also when a signal stops it. Raises OSError or UnicodeEncodeError with every file as it was; Stopped
    where a signal came: before the first file is exchanged none of them is, from then on all are.
    """
    written = [] if written is None else written
    refused: list[tuple[str, str]] = []
    notes: list[tuple[str, str]] = []
    units: list[list[str]] = []
    for unit in _units(texts, together):
        reasons = [(path, why) for path in unit if (why := closed(path, root(path)))]
        refused += reasons
        if not reasons:
            units.append(unit)
    with deferred() as stopped, contextlib.ExitStack() as rubbish:
        repairs = []
        for unit in units:
            parts: list[Part] = []
            for path in unit:
                data = encode(before[path], before[path].text), encode(before[path], texts[path].text)
                part, note = prepared(path, *data)
                rubbish.callback(_remove, part.new)
                parts.append(part)
                notes += [(path, note)] if note else []
                if stopped:
                    return Outcome((), tuple(refused), ())
            repairs.append(Repair(parts))
        begun: list[Repair] = []
        for repair in repairs:
            try:
                repair.begin()
            except Changed as error:
                refused.append((error.path, CHANGED))
                continue
            except OSError:
                for other in begun:
                    with contextlib.suppress(OSError):  # then its journal stays, for the next run
                        other.undo()
                raise
            begun.append(repair)
        for repair in begun:
            try:
                repair.end()
            except Changed as error:
                refused.append((error.path, CHANGED))
                continue
            written += [part.path for part in repair.parts]
        _sync({os.path.dirname(part.target) for repair in begun for part in repair.parts})
    return Outcome(tuple(written), tuple(refused), tuple(note for note in notes if note[0] in written))


def _units(texts: dict[str, Text], together: Iterable[Iterable[str]]) -> list[list[str]]:
    """The files, those together that a repair, or a chain of them, changes together."""
    unit_of = {path: [path] for path in texts}
    for paths in together:
        found = [path for path in paths if path in unit_of]
        for path in found[1:]:
            one, other = unit_of[found[0]], unit_of[path]
            if one is not other:
                one += other
                unit_of.update(dict.fromkeys(other, one))
    return list({id(unit): sorted(unit) for unit in unit_of.values()}.values())


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _sync(folders: set[str]) -> None:
    """The new names survive a power cut as well, where folders can be synced."""
    for folder in folders if os.name == "posix" else ():
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
