"""Repairs as `check --fix` and `migrate` write them: what was left half done is undone first, what is not written is told, Ctrl-C as well."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Container

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.base.whole import Stopped
from stablint.config.options import Wrong
from stablint.engine.inspect import Inspection
from stablint.engine.repair import Repaired
from stablint.files import discover
from stablint.fix import strays
from stablint.fix.write import write_all
from stablint.report.plain import plain
from stablint.secrets import exit

Root = Callable[[str], str]


def roots(paths: list[str], base: str, options: Options) -> Root:
    """Below which folder each file may be written. A settings file, which comes with the repository, may let files be read outside of it; only
    the command line lets them be written there."""
    return discover.Roots(paths, base).of if options.root is None else lambda path: str(options.root)


def undo_half_done(paths: list[str], options: Options, base: str) -> None:
    """Where something is to be written: before anything is judged by what a killed repair has left half done."""
    recover(paths, base, roots(paths, base, options))


def recover(paths: list[str], base: str, root: Root) -> None:
    """Undo what killed repairs left half done where these paths lie, and remove what they left behind; a line for each file."""
    by_root: dict[str, set[str]] = {}
    there = [path for path in paths if os.path.lexists(os.path.join(base, path))]
    for path, _ in discover.files(there, base):
        top, folder = root(path), os.path.dirname(os.path.realpath(path))
        folders = by_root.setdefault(top, set())
        while folder not in folders and os.path.join(folder, "").startswith(os.path.join(os.path.realpath(top), "")):
            folders.add(folder)
            folder = os.path.dirname(folder)
    for top, folders in by_root.items():
        for path, words in strays.recover(folders, top):
            _tell(path, base, words)


def write(
    done: Repaired, base: str, root: Root, given: Container[str], changed: list[str], again: Callable[[], Inspection]
) -> Repaired:
    """Write what was repaired, but for the texts that were `given` instead of files; `changed` grows by what is written. What could not
    be is told, and `again` looks at what is there then. Raises Wrong where nothing could be written.
    """
    texts = {path: text for path, text in done.texts.items() if path not in given}
    for path, why in done.closed:
        _tell(path, base, f"not written: {why}; --diff shows the changes as a patch")
    try:
        outcome = write_all(texts, done.before, root, done.repairs, changed)
    except (OSError, UnicodeEncodeError) as error:
        raise Wrong(
            gettext("nothing was written: {error}").format(error=getattr(error, "strerror", None) or error)
        ) from error
    for path, why in outcome.refused:
        _tell(path, base, f"not written: {why}")
    for path, why in outcome.notes:
        _tell(path, base, why)
    if not outcome.refused:
        return done
    lost = texts.keys() - set(outcome.written)
    kept = {path: text for path, text in done.texts.items() if path not in lost}
    whole = [lost.isdisjoint(paths) for paths in done.repairs]
    told = done.inspection.report.fixed  # empty where what is written repairs no finding: --apply
    fixed = tuple(one for one, is_whole in zip(told, whole, strict=True) if is_whole) if told else ()
    now = again()
    now = now._replace(report=now.report._replace(fixed=fixed))
    return done._replace(texts=kept, inspection=now, fixed=sum(whole), unwritten=True)


def interrupted(error: KeyboardInterrupt, changed: list[str], base: str) -> Stopped:
    """The same with words that say which files are written."""
    names = [os.path.relpath(path, base) for path in changed]
    stopped = Stopped(f"these files were written, each whole: {', '.join(names)}" if names else "nothing was written")
    stopped.number = getattr(error, "number", signal.SIGINT)
    return stopped


def _tell(path: str, base: str, words: str) -> None:
    name = os.path.relpath(path, base) if os.path.isabs(path) else path
    exit.tell(f"{plain(name)}: {plain(words)}")
