"""Literals that nobody has thought of: letters and digits without an order, wherever they stand in a file.

Names of classes, models and runs have letters and digits as well, but their small letters stand together, as words do. The bounds below are
measured (benchmarks/README.md): the names of a thousand repositories lie on the one side, what tokens are made of on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from stablint.base.light import Pattern
from stablint.secrets.hints import words_of

_LONGEST = 200  # characters; what is longer holds data, as pictures in notebooks do
_MOST = 2_000  # of a file; with more of them it holds data
_SHORTEST = 12
_LETTERS = Pattern(r"[A-Za-z0-9]{12,}")
_PIECE = Pattern(r"(?<![A-Za-z0-9])[A-Za-z0-9]{12,200}(?![A-Za-z0-9])")
_CAMEL = Pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_HEX = Pattern(r"(?:[0-9a-f]{20,200}|[0-9A-F]{20,200})\Z")
_DIGESTS = (32, 40, 64)  # hexadecimal digits of keys and of digests
_VARIED = 8  # different digits, which no word and nothing that is counted up or repeated has
_RUN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+~")
_SHORTEST_BASE64 = 40
_BASE64 = Pattern(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40,200}={0,2}(?![A-Za-z0-9+/=_.-])")
_BREAKS = frozenset(" \t\r\n\"'`<>,;|()")
# What is said of a file, a record or a commit, and of no person: the key in front of the value.
_OF_DATA = Pattern(
    r"""(?ix)(?:id|ids|integrity|_?fingerprint|sha(?:1|256|384|512)|md5|hash|digest|checksum|etag)(?:_(?:id|hash|sha))?["'`]?\]?[ \t]{0,4}[:=(-]"""
    r"""[ \t]{0,4}["'`]?\Z"""
)
# The same of hexadecimal digits, and signs that no key is in front of them.
_OF_COMMITS = Pattern(
    r"""(?ix)(?:(?<![a-z])(?:revision|rev|commit|sha|blob|ref|snapshots?|checkout|parent|layout|style|children|version|tree)s?(?:_(?:id|hash|sha))?
        ["'`]?\]?[ \t]{0,4}[:=(/\\ ]{1,3}[ \t]{0,4}["'`]? | ={1,2}[0-9.]{0,20}=?(?:cuda|py)? | IPY_MODEL_ | [@/\#])\Z"""
)
# The name of a file that is called by its digest.
_SUFFIX = Pattern(
    r"\.(?:safetensors|bin|pth?|ckpt|gguf|jsonl?|ya?ml|parquet|arrow|npz?|txt|log|csv|tar|gz|zip|png|jpe?g)(?![A-Za-z0-9])"
)
_LEFT = 40  # characters of the line that are looked at


def generated(text: str, most: int = _MOST) -> Iterator[tuple[int, int]]:
    """Where such literals stand, of the first so many."""
    count = 0
    long = "\n".join([word for word in words_of(text) if len(word) >= _SHORTEST])
    random = {piece for piece in _LETTERS.findall(long) if _is_random(piece)}
    for found in _PIECE.finditer(text) if random else ():
        if found[0] in random:
            start, end = _whole(text, *found.span())
            if not _is_of_data(text, start, *found.span()):
                yield start, end
            count += 1
            if count >= most:
                return
    in_base64 = "/" in text and any("/" in word for word in text.split() if len(word) >= _SHORTEST_BASE64)
    for found in _BASE64.finditer(text) if in_base64 else ():
        if "/" in found[0] and _is_random(found[0].replace("/", "").replace("+", "").rstrip("=")):
            yield found.span()


def _whole(text: str, start: int, end: int) -> tuple[int, int]:
    """With what belongs to the same word: a token may have dashes in it, and its vendor's letters in front."""
    least, most = max(0, start - _LONGEST), min(len(text), end + _LONGEST)
    first, last = start, end
    while first > least and text[first - 1] in _RUN:
        first -= 1
    while last < most and text[last] in _RUN:
        last += 1
    return first, last


def _is_random(piece: str) -> bool:
    length = len(piece)
    digits = sum(map(str.isdigit, piece))
    if digits == length:
        return False
    if length in _DIGESTS and _HEX.match(piece) is not None and len(set(piece)) >= _VARIED:
        return True
    if piece.islower() or piece.isupper():
        change_points = sum(a.isdigit() != b.isdigit() for a, b in pairwise(piece))
        return length >= 16 and change_points >= (0.3 if length >= 20 else 0.44) * length
    words = len(_CAMEL.findall(piece))
    if length < 16:
        return digits >= 2 and words >= 0.5 * length
    return words >= (0.34 if digits > 1 or length >= 24 else 0.41) * length


def _is_of_data(text: str, first: int, start: int, end: int) -> bool:
    """A part of an address or of a path, or what is said of a commit or a record."""
    least, at = max(0, first - _LONGEST), first
    while at > least and text[at - 1] not in _BREAKS:
        at -= 1
    if text[at:first].endswith("/") or "://" in text[at:first]:
        return True
    if _OF_DATA.search(text[max(0, first - _LEFT) : first]) is not None:
        return True
    if _HEX.match(text, start, end) is None:
        return False
    return (
        text[end : end + 2] == '":'
        or _SUFFIX.match(text, end) is not None
        or _OF_COMMITS.search(text[max(0, start - _LEFT) : start]) is not None
    )
