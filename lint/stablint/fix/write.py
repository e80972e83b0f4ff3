"""Several files written, all or nothing: what was written before a failure is put back."""

from __future__ import annotations

from collections.abc import Callable

from stablint.source.text import encode, write_atomically
from stablint.source.tree import Text


def write_all(texts: dict[str, Text], before: dict[str, Text], root: Callable[[str], str]) -> None:
    """`texts` and `before` by absolute path; `root` says of a file which folder it must not leave.

    Raises OSError or UnicodeEncodeError with every file as it was.
    """
    data = {path: encode(before[path], text.text) for path, text in texts.items()}
    written: list[str] = []
    try:
        for path, content in data.items():
            write_atomically(path, content, root(path))
            written.append(path)
    except OSError:
        for path in written:
            write_atomically(path, encode(before[path], before[path].text), root(path))
        raise
