"""What a source says that it is: a place in a library's release, a thread, or a page."""

from __future__ import annotations

import re
from typing import NamedTuple

_SHORT = re.compile(
    r"(?P<library>[A-Za-z][\w.-]*) v?(?P<ref>\d+(?:\.\d+)+[\w.]*) (?P<path>[\w./-]+?)(?::(?P<line>\d+)(?:-\d+)?)?(?=[\s,;(]|$)"
)
_ADDRESS = re.compile(
    r"https?://github\.com/(?P<owner>[\w.-]+)/(?P<library>[\w.-]+)/(?:blob|tree)/(?P<ref>[^/\s]+)/(?P<path>[^\s#?]+)(?:#L(?P<line>\d+)(?:-L\d+)?|#[\w-]+)?$"
)
_GITHUB = re.compile(
    r"https?://github\.com/[\w.-]+/[\w.-]+(?:/(?:(?:issues|pull|discussions)/\d+|commit/[0-9a-f]{7,40}|releases/tag/\S+)(?:[#/?]\S*)?)?/?$"
)
_THREAD = re.compile(r"[\w.-]+/[\w.-]+#\d+$")
_PAGE = re.compile(r"https?://(?!github\.com/)[\w-]+(?:\.[\w-]+)+(?:/\S*)?$")
_TAG = re.compile(r"v?(?P<release>\d+(?:\.\d+)+(?:\.?(?:post|rc)\d+)?)$")
_COMMIT = re.compile(r"[0-9a-f]{7,40}$")

# Names on the index where the repository is called otherwise, and import packages where these are.
_DISTRIBUTIONS = {"llama-factory": "llamafactory", "pytorch": "torch", "flash-attention": "flash-attn"}
_PACKAGES = {"ms-swift": "swift", "flash-attn": "flash_attn"}


class Cited(NamedTuple):
    """A place in a library's source."""

    library: str  # as the index calls it
    release: str  # empty for a commit or a branch
    ref: str  # as it is written
    path: str  # inside the import package's parent: trl/trainer/dpo_config.py
    line: int  # 0 where none is named
    repository: str = ""  # of an address: its name, and the path in it
    inside: str = ""

    @property
    def moves(self) -> bool:
        """Whether the text behind it changes: a branch is neither a release nor a commit."""
        return not self.release and not _COMMIT.match(self.ref)


def cited(source: str) -> Cited | None:
    """The place that a source names; None for a thread or a page."""
    found = _SHORT.match(source) or _ADDRESS.match(source)
    if found is None:
        return None
    library = found["library"].lower()
    library = _DISTRIBUTIONS.get(library, library)
    package = _PACKAGES.get(library, library.replace("-", "_"))
    path = found["path"].removeprefix("src/")
    if found.re is _SHORT and not path.startswith(f"{package}/"):
        path = f"{package}/{path}"
    tag = _TAG.match(found["ref"])
    place = Cited(library, tag["release"] if tag else "", found["ref"], path, int(found["line"] or 0))
    return place if found.re is _SHORT else place._replace(repository=found["library"], inside=found["path"])


def is_well_formed(source: str) -> bool:
    """Whether somebody else can open it."""
    return any(pattern.match(source) for pattern in (_SHORT, _ADDRESS, _GITHUB, _THREAD, _PAGE))
