"""Texts that are written for people: of which words they may be made, in whatever script, and which words in them say that a secret follows."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from stablint.base.knowledge import load
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


_SEEN = Pattern(r"[!-~\u00c0-\u024f\u1e00-\u1eff]+")
_RUN = Pattern(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+|\d+")
_SHORTENED = Pattern(r"(?<=[A-Za-z])['\u2019](?:s|t|d|m|re|ve|ll)(?![A-Za-z])")
_NUMBER = Pattern(r"[-+~]?\d{1,3}(?:[.,]\d{1,3}|[eE][-+]?\d{1,2})?%?")
_QUOTED = Pattern(
    r"\"[^\"\n]{0,400}\"|(?<!\w)'[^'\n]{0,400}'(?!\w)|`[^`\n]{0,400}`|“[^”\n]{0,400}”|‘[^’\n]{0,400}’|「[^」\n]{0,400}」|『[^』\n]{0,400}』|《[^》\n]{0,400}》"
)
_NAMES_WHAT_FOLLOWS = Pattern(r"[:=>]\W{0,3}\Z")  # of the last few signs of a word
_SHORT = frozenset(
    re.findall(r"\w+", "a am an as at be by do go he hi i if in is it me my no of ok on or re so to up us vs we")
)
_SETTINGS = frozenset(
    re.findall(r"\w+", "ai bf bs dp ds ep fp gb gc hf id kl kv lr mb ml os pp pt rl sp tf tp vl vs wd")
)
_STOPS = _SHORT | frozenset(
    re.findall(
        r"\w+",
        "and are but can for from has have into not than that the then this via was when will with without you your per see use using",
    )
)
"""Between two of these, or signs, stands a phrase."""
_LETS_IN = Pattern(
    r"(?i)\b(?:log[ -]?(?:in|on)|sign[ -]?in|unlock\w*|sesame|vault|credential\w*|passw\w*|pass[ -]?(?:phrase|code|key)|magic|secret\w*|auth\w*"
    r"|door|gate|lock|safe|combination|mnemonic|bearer|cookie|opens?)\b"
    r"|\b(?:pass|words?|phrase|codes?|pins?|keys?|tokens?|entry|access|account|user|username|name|pw|pwd|psw)\b[^\w\n]{0,3}(?:\s\w{1,12}){0,2}\s?"
    r"(?:[:=>]|\b(?:is|are|was|be|as)\b)"
    r"|\b(?:user|username|account)\b.{0,80}\b(?:pass|pw|word|code|key|pin)\b"
)
"""A comment that says one of these beside a word that nobody knows may hold what lets somebody in: it is hidden whole."""
_BETWEEN = 2
"""Known words between two that nobody knows, at most, which are hidden with them: they may be one phrase."""


def hidden_in(said: str, is_known: Callable[[str], bool]) -> list[tuple[int, int]]:
    """What may not be shown of a text for people that does not pass as a whole: words that nobody knows, codes and odd numbers, what stands between or
    is quoted with them, and what they name. All of it where the text speaks of secrets, or cannot be compared with how it looks."""
    whole = [(0, len(said))]
    text = narrow(said)
    if not text.isascii() and unicodedata.normalize("NFKC", text) != text:
        return whole
    if _speaks_of_secrets(text) or _LETS_IN.search(text):
        return whole
    chunks = [found.span() for found in _SEEN.finditer(text)]
    odd = [not _passes(text[start:end], is_known) for start, end in chunks]
    near = _near_odd(text, chunks, odd)
    spans: list[tuple[int, int]] = []
    last = -1 - _BETWEEN * 2
    for number, (start, end) in enumerate(chunks):
        if not odd[number] and number not in near:
            continue
        if spans and number - last <= _BETWEEN + 1 and odd[number] and "\n" not in text[spans[-1][1] : start]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        if odd[number]:
            last = number
    if not spans:  # it failed for what no single word tells
        return whole
    ends = [end for _, end in spans]
    quoted = []
    for found in _QUOTED.finditer(text):
        first = bisect_right(ends, found.start())
        if first < len(spans) and spans[first][0] < found.end():
            quoted.append(found.span())
    return _joined(spans + quoted)


def _near_odd(text: str, chunks: list[tuple[int, int]], odd: list[bool]) -> set[int]:
    """The known words that make one phrase with a word that nobody knows, and what such a word names: `velvet morning`, `ada: morning`."""
    near = set[int]()
    for step in (1, -1):
        within = named = False
        before = 0
        for number in range(len(chunks))[::step]:
            start, end = chunks[number]
            chunk = text[start:end]
            left, right = (before, start) if step > 0 else (end, before)
            apart = bool(text[left:right].strip(" \t")) if before else False
            ends, begins = chunk[-1] in ",.;!?)]}", chunk[0] in "([{"
            if (begins if step > 0 else ends or chunk[-1] == ":") or apart:
                within = False
            if odd[number]:
                within, named = True, step > 0 and _NAMES_WHAT_FOLLOWS.search(chunk[-4:]) is not None
            elif named or (within and chunk.lower().strip("\"'()[]{}.,;:!?") not in _STOPS):
                near.add(number)
                named = False
            else:
                within = False
            if ends if step > 0 else begins:
                within = False
            before = end if step > 0 else start
    return near


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def narrow(text: str) -> str:
    """With full-width letters, digits and signs as the ASCII ones, `ａ` as `a`: as many characters as before."""
    return text if text.isascii() else text.translate(_NARROW)


_NARROW = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}


def _passes(chunk: str, is_known: Callable[[str], bool]) -> bool:
    """Of a text in which something is odd: plain words that are known, numbers that count something."""
    chunk = _SHORTENED.sub("", chunk)
    if _NUMBER.fullmatch(chunk.strip("()[]{},;:.!?~<>=*#/|-")):
        return True
    if _is_code(chunk, is_known):
        return False
    return all(_is_plain_piece(piece, is_known) for piece in _RUN.findall(chunk))


def _is_plain_piece(piece: str, is_known: Callable[[str], bool]) -> bool:
    if piece.isdigit():
        return len(piece) < 4 or int(piece) % 100 == 0 or int(piece) % 64 == 0
    return (
        is_known(piece) if len(piece) > 2 else piece.lower() in _SHORT or piece.lower() in _SETTINGS or is_known(piece)
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
    words = [word.partition("!") for word in load("vocabulary")["of_secrets"]]
    words += [(word.replace("_", " "), "", "") for word in IN_OTHER_LANGUAGES if not word.isascii()]
    return re.compile("|".join(sorted({re.escape(_bare(word)) + _not_before(on) for word, _, on in words})))


def _not_before(on: str) -> str:
    return f"(?!{'|'.join(re.escape(_bare(one)) for one in on.split('/'))})" if on else ""


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
