"""The texts that are open in an editor, and what was made out of each with the files that it links to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.config.arguments import check_parser
from stablint.config.options import Wrong
from stablint.config.project import options_of
from stablint.engine.inspect import Inspection, effective, inspect
from stablint.files.discover import NoSuchPath
from stablint.frameworks.fragment import Fragment
from stablint.run.fact import Explicit, Statement
from stablint.run.world import Run, World
from stablint.syntax.text import LARGEST, Unreadable, decode
from stablint.syntax.tree import Text

# Settings of the workspace, as editors send them, and the options of `check` that they are.
OPTIONS = {
    "gpu": "--gpu", "gpu-memory": "--gpu-memory", "model": "--model",
    "with": "--with", "set": "--set", "select": "--select", "ignore": "--ignore", "config": "--config",
}  # fmt: skip


class Checked(NamedTuple):
    """One open file: what was found, and the settings that it holds by place."""

    inspection: Inspection
    options: Options
    secrets: frozenset[str]  # what its files hold that nothing may show


class Session:
    """Raises Wrong from `check` for settings that cannot be used; a text that cannot be read is a finding like any other."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.settings: Mapping[str, Any] = {}
        self._open: dict[str, str] = {}
        self._checked: dict[str, Checked] = {}
        self._useful: dict[str, Checked] = {}  # the last check of each file in which it could be read
        self._whole: dict[
            str, Checked
        ] = {}  # the check for which the disk was asked as well: settings, programs of the repository
        self._read: dict[str, frozenset[str]] = {}  # which files the last check of each open one has read

    def put(self, path: str, text: str) -> None:
        self._open[path] = text
        self._changed(path)

    def close(self, path: str) -> None:
        """From now on its text is what the disk holds, for the files that link to it too."""
        self._open.pop(path, None)
        self._changed(path)
        self._read.pop(path, None)
        for kept in (self._checked, self._useful, self._whole):
            kept.pop(path, None)

    def _changed(self, path: str) -> None:
        for other in self.readers(path):
            self._checked.pop(other, None)

    def configure(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.renew()

    def renew(self) -> None:
        """The disk may hold something else than it did."""
        self._checked.clear()
        self._whole.clear()

    def open(self) -> tuple[str, ...]:
        return tuple(self._open)

    def text(self, path: str) -> str:
        return self._open.get(path, "")

    def readers(self, path: str) -> list[str]:
        """The open files whose last check has read this one, itself included."""
        return [other for other in self._open if other == path or path in self._read.get(other, ())]

    def check(self, path: str) -> Checked | None:
        """What is found in the text as it is now. None for what no configuration can be: too large, or no text."""
        if path not in self._open:
            return None
        if path not in self._checked:
            texts = dict(self._texts(path))
            if path not in texts:
                return None
            whole = self._whole.get(path)
            if whole is None:
                options = self._options(path)
                try:
                    found = inspect([path], options, base=self.root, texts=texts)
                except NoSuchPath:  # a text that has no file yet is its own file
                    found = inspect([], options, base=self.root, texts=texts)
            else:  # while one types, only what is typed is read
                options = whole.options
                found = inspect([path], options, base=self.root, texts=texts, earlier=whole.inspection)
            checked = self._checked[path] = Checked(found, options, found.secrets)
            self._read[path] = frozenset(text.path for text in found.files.texts())
            self._whole.setdefault(path, checked)
            if found.files.fragments(path):
                self._useful[path] = checked
        return self._checked[path]

    def useful(self, path: str) -> Checked | None:
        """The check of the text as it is, or of its last state that could be read: half a line breaks a file while it is typed."""
        now = self.check(path)
        return now if now is not None and now.inspection.files.fragments(path) else self._useful.get(path)

    def _texts(self, path: str) -> Iterator[tuple[str, Text]]:
        for name, content in self._open.items():
            data = content.encode("utf-8", "surrogatepass")
            if (name != path and not os.path.lexists(name)) or len(data) > LARGEST:
                continue
            text = decode(data, name, self.name(name))
            if isinstance(text, Text):
                yield name, text
            elif isinstance(text, Unreadable) and name == path:
                yield name, Text(name, self.name(name), text.text.text)

    def name(self, path: str) -> str:
        """As a report names it: below the root without it."""
        inside = path.startswith(os.path.join(self.root, ""))
        return (os.path.relpath(path, self.root) if inside else path).replace(os.sep, "/")

    def _options(self, path: str) -> Options:
        words = [path]
        for setting, option in OPTIONS.items():
            said = self.settings.get(setting)
            for one in said if isinstance(said, list) else [said]:
                if isinstance(one, str) and one:
                    words += [f"{option}={one}"]
                elif one is not None and not isinstance(one, str):
                    raise Wrong(
                        gettext("the setting `stablint.{setting}` takes words, and {one!r} is none").format(
                            setting=setting, one=one
                        )
                    )
        given, _ = check_parser().read(words, [])
        return options_of(given, [], [path])._replace(skip_unrecognised=True)


def statements(checked: Checked, path: str) -> Iterator[tuple[Fragment, Statement]]:
    """What a file says, with the block that it says it in."""
    for fragment in checked.inspection.files.fragments(path):
        for one in fragment.statements:
            if isinstance(one.origin, Explicit) and one.origin.place.document.text.path == path:
                yield fragment, one


def worlds(checked: Checked, path: str) -> Iterator[tuple[Run, World]]:
    """The runs that a file is part of, each at the newest releases that it allows."""
    name = checked.inspection.files.name(path)
    for run in checked.inspection.runs:
        if name in run.files:
            yield run, effective(run)


def at(found: Iterable[tuple[Fragment, Statement]], offset: int) -> list[tuple[Fragment, Statement]]:
    """The statements whose key or value stands at an offset; one key may say several things."""
    hit = []
    for fragment, one in found:
        assert isinstance(one.origin, Explicit)
        place = one.origin.place
        start = place.entry.key_start if place.entry is not None else place.start
        if start <= offset <= max(place.end, start):
            hit.append(((place.end - start), fragment, one))
    narrowest = min((width for width, _, _ in hit), default=0)
    return [(fragment, one) for width, fragment, one in hit if width == narrowest]
