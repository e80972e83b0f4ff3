"""Where the decisions of a generator come from: a seeded random generator, hypothesis, or the bytes of a coverage-guided fuzzer.

A generator asks only for whole numbers, so that one grammar serves all three, and the same answers make the same text.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Source(Protocol):
    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1."""


class Choices:
    """Decisions by name, over any source of whole numbers."""

    def __init__(self, source: Source) -> None:
        self.below = source.below

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def between(self, least: int, most: int) -> int:
        return least + self.below(most - least + 1)

    def some(self, items: Sequence[Item], most: int) -> list[Item]:
        return [self.pick(items) for _ in range(self.between(0, most))] if items else []


class Randomness:
    """`random.Random`, or the one that hypothesis controls."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator

    def below(self, limit: int) -> int:
        return self._generator.randrange(limit)


class Bytes:
    """The bytes of a coverage-guided fuzzer; zero where they have run out."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def below(self, limit: int) -> int:
        width = 1 if limit <= 256 else 2 if limit <= 65_536 else 4
        chunk = self._data[self._at : self._at + width]
        self._at += width
        return int.from_bytes(chunk, "little") % limit


def seeded(seed: str) -> Choices:
    return Choices(Randomness(random.Random(seed)))
