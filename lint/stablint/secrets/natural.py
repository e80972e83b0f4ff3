"""Texts that are written for people: of which words they may be made, in whatever script, and which words in them say that a secret follows."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
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
_TELLING = (
    *(word.replace("_", " ") for word in IN_OTHER_LANGUAGES if not word.isascii()),
    "钥匙", "鑰匙", "暗语", "暗語", "暗证", "登录", "登錄", "登陆", "登入", "解锁", "解鎖", "开门", "開門", "机密", "機密", "合言葉", "合い言葉", "鍵",
    "ログイン", "열쇠", "로그인", "ключ", "вход", "войти", "логин", "clé", "clef", "schlüssel", "κλειδί", "مفتاح", "מפתח",
    "khóa", "mật khẩu", "klíč", "kľúč", "anahtar", "contraseña", "mot de passe", "identifiant", "contrase", "llave",
    "senha", "chave", "passwort", "kennwort", "wachtwoord", "parola", "sleutel", "klucz", "secret", "password",
    "passwd", "passphrase", "passcode", "pwd", "credential", "api key", "apikey", "login",
)  # fmt: skip
"""In small letters: where a text that is not English says one of these, it may say the secret as well, before it or behind it."""
_COUNTED = ("token", "tokens", "key", "keys")
"""Words that name a secret, and in these texts mostly what a tokenizer or a dictionary has: only with their value behind them."""
_VALUE = Pattern(
    rf"(?:{'|'.join((*_COUNTED, *TOKENS_ELSEWHERE))})[\w\s\"'`）)]{{0,12}}?(?:[:：=]|是|为|為|は|is\b|это|—)"
)
_MIXED = Pattern(r"[A-Za-z0-9]{6,}")
_NAMES = Pattern(r"[A-Za-z][A-Za-z0-9_-]{1,60}")


def is_written_for_people(said: str, is_known: Callable[[str], bool]) -> bool:
    """Whether a text with letters beyond ASCII may be shown: sentences in another language, in which each English word is a known one and nothing
    speaks of a secret. Of a language with Latin letters the words without an accent are not known: they pass where the others are."""
    if said.isascii():
        return False
    text = unicodedata.normalize("NFKC", said)
    if _speaks_of_secrets(text.lower()) or any(_is_mixed(piece) for piece in _MIXED.findall(text)):
        return False
    words = _LATIN.findall(text)
    accented = [word for word in words if not word.isascii()]
    foreign = (
        accented and len(accented) * _ACCENTED >= len(words) and _ENGLISH.isdisjoint(word.lower() for word in words)
    )
    return all(
        not word.isascii() or is_known(word) or (foreign and word.isalpha() and word[1:].islower()) for word in words
    )


def _is_mixed(piece: str) -> bool:
    """`ab12cd34`: letters and digits in turns, or a number that counts nothing."""
    if piece.isdigit():
        return bool(piece.strip("0")[1:]) and len(piece) > 5
    return sum(a.isdigit() != b.isdigit() for a, b in pairwise(piece)) >= 3


def _speaks_of_secrets(lowered: str) -> bool:
    if any(word in lowered for word in _TELLING) or _VALUE.search(lowered) is not None:
        return True
    return any(
        name not in _COUNTED and names_secret(name.replace("-", "_")) == SURE for name in _NAMES.findall(lowered)
    )
