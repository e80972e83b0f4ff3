"""Where a place of a file is in a view of it: found by an index, and the same as by looking at every piece."""

from __future__ import annotations

import random

from stablint.syntax.embedded import end_in_view, start_in_view
from stablint.syntax.tree import Piece


def _pieces(chance: random.Random) -> tuple[Piece, ...]:
    """In any order, over one another, some of them empty, some that stand for something else."""
    found, at = [], 0
    for _ in range(chance.randrange(1, 12)):
        length, start = chance.randrange(4), chance.randrange(40)
        till = start + (length if chance.random() < 0.7 else chance.randrange(6))
        found.append(Piece(at, at + length, start, till))
        at += length
    return tuple(found)


def _start(pieces: tuple[Piece, ...], offset: int) -> int | None:
    for piece in pieces:
        if piece.at <= offset < piece.till:
            return piece.start + (offset - piece.at if piece.end - piece.start == piece.till - piece.at else 0)
    for piece in pieces:
        if offset in (piece.at, piece.till):
            return piece.start if offset == piece.at else piece.end
    return None


def _end(pieces: tuple[Piece, ...], offset: int) -> int | None:
    for piece in pieces:
        if piece.at < offset <= piece.till:
            plain = piece.end - piece.start == piece.till - piece.at
            return piece.start + offset - piece.at if plain else piece.end
    return _start(pieces, offset)


def test_the_index_finds_what_looking_at_every_piece_finds() -> None:
    chance = random.Random(11)
    for _ in range(300):
        pieces = _pieces(chance)
        for offset in range(-1, 50):
            assert start_in_view(pieces, offset) == _start(pieces, offset), (pieces, offset)
            assert end_in_view(pieces, offset) == _end(pieces, offset), (pieces, offset)
