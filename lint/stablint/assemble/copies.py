"""Copies of a framework that a repository carries: it is what runs there, and has the arguments that it declares, whatever the releases have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice

from stablint.files import discover
from stablint.run.framework import framework as record_of
from stablint.syntax.text import read
from stablint.syntax.tree import Text

# How a framework's own classes and parsers declare an argument.
_DECLARES = re.compile(r"^[ \t]+(\w+)[ \t]*:|[\"']--([\w-]+)[\"']", re.MULTILINE)
_TELLING = ("dataclass", "BaseModel", "add_argument(")
_FILES = 400  # of a copy are looked at
_FOLDERS = 60  # of the root
_LARGEST = 1_000_000


def declared(framework: str, root: str) -> frozenset[str]:
    """The arguments that copies of the framework below this root declare; none where there is no copy."""
    found: set[str] = set()
    for folder in _copies(framework, root):
        for path, _ in islice(discover.files([folder], folder), _FILES):
            text = read(path, path, _LARGEST) if path.endswith(".py") else None
            if isinstance(text, Text) and any(word in text.text for word in _TELLING):
                found.update(one or other.replace("-", "_") for one, other in _DECLARES.findall(text.text))
    return frozenset(found)


def _copies(framework: str, root: str) -> Iterator[str]:
    """In the root, below `src`, or so in one of the root's folders."""
    if not os.path.isdir(root):  # a text from elsewhere may be called anything
        return
    try:
        inner = sorted(name for name in os.listdir(root) if name[:1] != ".")[:_FOLDERS]
    except OSError:
        return
    for above in ("", *inner):
        for package in record_of(framework).packages:
            for place in (os.path.join(root, above, package), os.path.join(root, above, "src", package)):
                if os.path.isdir(place) and not os.path.islink(place):
                    yield place
