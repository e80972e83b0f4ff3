"""Globs of many stars are walked, not matched by `re`: the same answers, and no path makes them explode."""

from __future__ import annotations

import random

from stablint.files import globs
from tests.pace import cost

LETTERS = ["a", "b", "/", "*", "**", "**/", "?", "a/"]


def test_walking_answers_as_the_expression_does() -> None:
    dice = random.Random(7)
    for _ in range(4_000):
        glob = "".join(dice.choices(LETTERS, k=dice.randint(1, 6))).lstrip("/") or "a"
        path = "/f/" + "/".join("".join(dice.choices("ab", k=dice.randint(1, 3))) for _ in range(dice.randint(1, 3)))
        expected = globs._compiled(glob, "/f").match(path) is not None
        assert globs._walked(globs._text(glob), "/f", path) is expected, (glob, path)


def test_many_stars_take_one_pass() -> None:
    def walk() -> None:
        assert not globs.matches("/f/" + "a" * 250 + ".yaml", "/f", ["*a" * 30 + "b"])
        assert globs.matches("/f/" + "a" * 250 + "b", "/f", ["*a" * 30 + "b"])

    assert cost(walk, 2) <= 2
