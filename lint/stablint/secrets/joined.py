"""A text as those read it who run it: keys that are put together, spelled with escapes, or that go on in the next line, as one word."""

from __future__ import annotations

import re
from bisect import bisect_right

from stablint.base.light import Pattern

# Two quotes with nothing but a sign between them, a line that goes on in the next, and an escape of an ASCII letter.
APART = Pattern(
    r"""["'\\](?:
          (?: (?<=[\w-]")(?:[ \t]{1,8}(?:\+[ \t]{0,8})?|\+[ \t]{0,8})" | (?<=[\w-]')(?:[ \t]{1,8}(?:\+[ \t]{0,8})?|\+[ \t]{0,8})'
            | (?<=[\w-]\\)\r?\n[ \t]{0,80} )(?=[\w-])
          | (?<=\\)(?:(?:x|u00|U000000)([2-7][0-9a-fA-F]) | (1[0-7]{2}))
      )""",
    re.VERBOSE,
)


class Joined:
    """Raises nothing; `text` is the text without what keeps its words apart."""

    def __init__(self, text: str) -> None:
        self._begin: list[int] = []  # where a piece begins here
        self._places: list[tuple[int, int]] = []  # where it begins there, and how long it is there
        parts: list[str] = []
        at = here = 0
        for found in APART.finditer(text):
            written = found[1] or found[2]
            letter = chr(int(written, 16 if found[1] else 8)) if written else ""
            if written and not (letter.isalnum() or letter in "_-"):
                continue
            for piece, length in (
                (text[at : found.start()], found.start() - at),
                (letter, found.end() - found.start()),
            ):
                if piece:
                    self._begin.append(here)
                    self._places.append((at, length))
                    parts.append(piece)
                    here += len(piece)
                at += length
        self._begin.append(here)
        self._places.append((at, len(text) - at))
        self.text = "".join([*parts, text[at:]])

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where it stands in the text that this one was made of."""
        return self._there(start)[0], self._there(max(start, end - 1))[1]

    def _there(self, at: int) -> tuple[int, int]:
        """The first place of a letter, and the one behind it."""
        number = bisect_right(self._begin, at) - 1
        begin, there, length = self._begin[number], *self._places[number]
        if length > 1 and self._begin[number + 1 : number + 2] == [begin + 1]:  # an escape
            return there, there + length
        return there + at - begin, there + at - begin + 1
