"""Texts that are written for people: of which words they may be made, in whatever script, and which words in them say that a secret follows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from stablint.base.light import Pattern
from stablint.secrets.hints import IN_OTHER_LANGUAGES, TOKENS_ELSEWHERE
from stablint.secrets.keys import SURE, names_secret

_LATIN = Pattern(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]{3,}")
_ENGLISH = frozenset(
    ["and", "are", "for", "from", "has", "have", "into", "not", "of", "opens", "that", "the", "then", "this", "was", "with", "you", "your"]
)  # fmt: skip
# A language of Latin letters with accents: one word in so many has one.
_ACCENTED = 6
_CODE = Pattern(
    r"(?<![代编編解译譯源页頁号號掩乱亂转轉数數条條字机機器维維作扫掃])[码碼](?![率表])|(?<![稠紧緊精加細细亲親茂绵綿])密(?![集度切封])"
)
"""`提取码`, `验证码`, `账户密`: whatever lets in is called so, apart from programs, encodings, numbers and densities."""
_COUNTED = ("token", "tokens", "key", "keys")
"""Words that name a secret, and in these texts mostly what a tokenizer or a dictionary has: only with their value behind them."""
_VALUE = Pattern(
    rf"(?:{'|'.join((*_COUNTED, *TOKENS_ELSEWHERE))})[\w\s\"'`）)]{{0,12}}?(?:[:：=]|是|为|為|は|is\b|это|—)"
)
_CHUNK = Pattern(r"[!-~]+")
_PIECE = Pattern(r"[A-Za-z0-9]+")
_LETTERS = Pattern(r"[A-Za-z]+")
_ORDINARY = Pattern(
    r"\d+|[A-Za-z]\d+[a-z]?|\d+(?:[kKmMbBgGtTwWxXhHsSdDpPeEvVlL]|[kKmMgGtT][iI]?[bB]|[mM][sS]|min|hr|st|nd|rd|th|px|it|bits?|epochs?|steps?|gpus?|cards?|nodes?)"
    r"|\d+(?:[xX][A-Za-z]?\d+)+[A-Za-z]{0,3}|\d+[hms]\d+[ms]?|\d*[eE]\d+|[wW]\d+[aA]\d+|[eE]\dm\d\w{0,3}|v\d+[a-z]?\d*|(?:[a-z]{2}|[A-Z]{2})\d+"
)
"""Of letters and digits together: `A100`, `7B`, `16k`, `8x7b`, `1e5`, `w4a16`, `e4m3`, `bf16`."""
_NAMES = Pattern(r"[A-Za-z][A-Za-z0-9_-]{1,60}")


def is_written_for_people(said: str, is_known: Callable[[str], bool]) -> bool:
    """Whether a text with letters beyond ASCII may be shown: sentences in another language, in which each English word is a known one and nothing
    speaks of a secret. Of a language with Latin letters the words without an accent are not known: they pass where the others are."""
    if said.isascii():
        return False
    text = unicodedata.normalize("NFKC", said)
    if _speaks_of_secrets(text) or (text != said and holds_a_code(text, is_known)):
        return False
    words = _LATIN.findall(text)
    accented = [word for word in words if not word.isascii()]
    foreign = (
        accented and len(accented) * _ACCENTED >= len(words) and _ENGLISH.isdisjoint(word.lower() for word in words)
    )
    return all(
        not word.isascii() or is_known(word) or (foreign and word.isalpha() and word[1:].islower()) for word in words
    )


def holds_a_code(text: str, is_known: Callable[[str], bool]) -> bool:
    """`ab12cd34`, `K9#mQ2$vL7`: letters and digits in turns, or a number that counts nothing."""
    return any(_is_code(chunk, is_known) for chunk in _CHUNK.findall(text) if "://" not in chunk)


def _is_code(chunk: str, is_known: Callable[[str], bool]) -> bool:
    pieces = _PIECE.findall(chunk)
    if any(piece.isdigit() and len(piece) > 5 and piece.strip("0")[1:] for piece in pieces):
        return True
    odd = [piece for piece in pieces if not _is_ordinary(piece, is_known)]
    return any(_turns(piece) > 1 for piece in odd) or (bool(odd) and _turns("".join(pieces)) > 2)


def _is_ordinary(piece: str, is_known: Callable[[str], bool]) -> bool:
    if piece.isalpha() or _ORDINARY.fullmatch(piece):
        return not piece.isalpha() or is_known(piece)
    letters = _LETTERS.findall(piece)  # `qwen2`, `bf16`
    return len(letters) == 1 and _turns(piece) == 1 and len(letters[0]) > 2 and is_known(letters[0])


def _turns(piece: str) -> int:
    return sum(a.isdigit() != b.isdigit() for a, b in pairwise(piece))


@lru_cache(maxsize=1)
def _of_secrets() -> re.Pattern[str]:
    """Words that say a secret follows, or stands before: where a text that is not English holds one, it may hold the secret as well."""
    from stablint.base.knowledge import load

    words = [word.partition("!") for word in load("vocabulary")["of_secrets"]]
    words += [(word.replace("_", " "), "", "") for word in IN_OTHER_LANGUAGES if not word.isascii()]
    return re.compile(
        "|".join(
            sorted({re.escape(_bare(word)) + (f"(?!{re.escape(_bare(on))})" if on else "") for word, _, on in words})
        )
    )


def _bare(text: str) -> str:
    """In small letters as one compares them: those who write in capitals leave marks out (`ΚΩΔΙΚΟΣ`), and a Turkish one is two letters when made small.
    Of Latin letters the others keep their marks: `clé` is no part of `article`."""
    kept, base = [], ""
    for letter in unicodedata.normalize("NFD", text.casefold()):
        if not unicodedata.combining(letter):
            base = letter
        elif base > "\u024f" or (base == "i" and letter == "\u0307"):
            continue
        kept.append(letter)
    return unicodedata.normalize("NFC", "".join(kept))


def _speaks_of_secrets(text: str) -> bool:
    lowered = text.lower()
    if _of_secrets().search(_bare(text)) or _CODE.search(lowered) or _VALUE.search(lowered) is not None:
        return True
    return any(
        name not in _COUNTED and names_secret(name.replace("-", "_")) == SURE for name in _NAMES.findall(lowered)
    )
