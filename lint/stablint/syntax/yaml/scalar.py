"""YAML scalars as PyYAML's SafeLoader reads them (YAML 1.1).

In YAML 1.1 `1e-4` is a string (a float needs its point and the sign of its exponent), `yes` is true, `017` is fifteen and `1:30` is ninety.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from stablint.base.libraries import yaml
from stablint.base.light import Pattern
from stablint.syntax.tree import Unknown

_PREFIX = "tag:yaml.org,2002:"
LONGEST_NUMBER = 1000  # characters: Python refuses to convert 4,300 digits, and sixty-based numbers take quadratic time

_TRUTH = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False, "null": None}
_WORDS: dict[str, object] = {
    "": None,
    "~": None,
    **{form: value for word, value in _TRUTH.items() for form in (word, word.title(), word.upper())},
}
_TELLING = frozenset("+-0123456789.<=")  # what other values than words and text begin with
_NUMBER = Pattern(r"[-+]?(?:(0|[1-9][0-9]*)|([0-9]+\.[0-9]*(?:e[-+][0-9]+)?)|([0-9]+e[-+]?[0-9]+))\Z")


@functools.lru_cache(maxsize=4096)
def remembered(token: str) -> object:
    """`resolve` for tokens short enough to be worth remembering. The plain ones are decided here, PyYAML decides the others."""
    if token[:1] not in _TELLING:
        return _WORDS.get(token, token)
    number = _NUMBER.match(token)
    if number is None:
        return _by_pyyaml(token)
    if number[1]:
        return int(token)
    return float(token) if number[2] else token  # `1e-4`, without its point, is text


def _by_pyyaml(token: str) -> object:
    for tag, pattern in yaml.SafeLoader.yaml_implicit_resolvers.get(token[:1], ()):
        if pattern.match(token):
            construct = _CONSTRUCT.get(tag)
            return construct(token) if construct else token
    return token


def resolve(token: str) -> object:
    """The value of a plain scalar: bool, int, float, None, or the token itself. Dates stay text, as do numbers too long to be meant."""
    if len(token) < 64:
        return remembered(token)
    return remembered.__wrapped__(token) if len(token) <= LONGEST_NUMBER else token


@functools.lru_cache(maxsize=4096)
def is_name(token: str) -> bool:
    """Whether a plain scalar is a key under that very name: no number, no truth value, no `<<`, not empty."""
    return token != "<<" and 0 < len(token) < 64 and type(remembered(token)) is str


def construct(tag: str, token: str) -> object:
    """The value under an explicit tag; Unknown for a tag that no safe loader constructs, or that does not fit the token."""
    kind = tag[len(_PREFIX) :] if tag.startswith(_PREFIX) else tag
    if kind in ("str", "timestamp", "!"):
        return token
    value = resolve(token)
    if kind == "float" and type(value) is int:
        return float(value) if value.bit_length() < 1024 else math.inf
    if kind in ("bool", "int", "float", "null") and type(value).__name__ == {"null": "NoneType"}.get(kind, kind):
        return value
    return Unknown(f"the tag {tag.replace(_PREFIX, '!!')} decides this value")


def key_text(value: object) -> str:
    """A key as text, as YAML prints it: `true` for `yes`, `16` for `0x10`."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _integer(token: str) -> object:
    digits = token.replace("_", "")
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    try:
        if ":" in digits:
            return sign * functools.reduce(lambda total, part: total * 60 + int(part), digits.split(":"), 0)
        if digits[:2] in ("0b", "0x"):
            return sign * int(digits, 0)
        return sign * int(digits, 8 if digits[0] == "0" else 10)
    except ValueError:  # `0x_`, and in Python 3.10.7 and later a long run of digits
        return token


def _floating(token: str) -> object:
    digits = token.replace("_", "").lower()
    sign = -1.0 if digits[0] == "-" else 1.0
    digits = digits.lstrip("+-")
    try:
        if digits in (".inf", ".nan"):
            return sign * math.inf if digits == ".inf" else math.nan
        if ":" in digits:
            return sign * functools.reduce(lambda total, part: total * 60 + float(part), digits.split(":"), 0.0)
        return sign * float(digits)
    except ValueError:
        return token


_CONSTRUCT: dict[str, Callable[[str], object]] = {
    _PREFIX + "bool": lambda token: _WORDS[token],
    _PREFIX + "int": _integer,
    _PREFIX + "float": _floating,
    _PREFIX + "null": lambda token: None,
}
