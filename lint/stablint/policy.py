"""What a settings file and a baseline say about findings; made by settings, read by suppress."""

from __future__ import annotations

from typing import NamedTuple

from stablint.source.globs import matches
from stablint.source.tree import Text


class Accepted(NamedTuple):
    """A table `[[ignore]]` of the settings; `text` and `start` are where it stands in them."""

    file: str | None
    setting: str | None
    rules: tuple[str, ...]
    reason: str
    text: Text
    start: int


class Policy(NamedTuple):
    """What settings and baseline say about findings. Globs are relative to `folder`."""

    folder: str = ""
    per_path: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()  # globs, rules that are off there
    accepted: tuple[Accepted, ...] = ()
    extra_keys: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    require_reasons: bool = False
    baseline: dict[tuple[str, str, str], int] = {}  # noqa: RUF012  (path, rule, fingerprint) → how many; never changed

    def excludes(self, path: str) -> bool:
        return matches(path, self.folder, self.exclude)


def means(word: str, code: str, rule: str) -> bool:
    """Whether a rule's code begins with the word, or its id is the word."""
    return word == rule or code.startswith(word.upper())
