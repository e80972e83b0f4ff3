"""YAML scalars as PyYAML's SafeLoader reads them (YAML 1.1), and values written so that YAML 1.1 and 1.2 both read them back.

In YAML 1.1 `1e-4` is a string (a float needs its point and the sign of its exponent), `yes` is true, `017` is fifteen and `1:30` is ninety.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable

import yaml

from stablint.source.tree import Unknown, Verbatim

_PREFIX = "tag:yaml.org,2002:"
LONGEST_NUMBER = 1000  # characters: Python refuses to convert 4,300 digits, and sixty-based numbers take quadratic time
_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
_BOOLS: dict[str, bool] = yaml.SafeLoader.bool_values

# Words that stay plain: nothing in them means anything to YAML, in block or in flow; YAML 1.2 numbers start otherwise.
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\./|\.\./)[\w./@+=~-]*(?: [\w./@+=~-]+)*\Z", re.ASCII)
_NOT_STRINGS = frozenset({"y", "n", "nan", "inf"})  # bool or float to some reader, though not to PyYAML
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_BOOL_STYLES = {"true": "false", "yes": "no", "on": "off"}


@functools.lru_cache(maxsize=4096)
def _resolve(token: str) -> object:
    for tag, pattern in _RESOLVERS.get(token[:1], ()):
        if pattern.match(token):
            construct = _CONSTRUCT.get(tag)
            return construct(token) if construct else token
    return token


def resolve(token: str) -> object:
    """The value of a plain scalar: bool, int, float, None, or the token itself. Dates stay text, as do numbers too long to be meant."""
    return (
        _resolve(token) if len(token) < 64 else _resolve.__wrapped__(token) if len(token) <= LONGEST_NUMBER else token
    )


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
    return value if isinstance(value, str) else plain(value) or ""


def plain(value: object) -> str | None:
    """A bool, None, int or float as a plain scalar; None for any other value."""
    if isinstance(value, Verbatim):
        return str(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() < 14_000 else None
    if isinstance(value, float):
        return _float(value)
    return None


def quote(value: str, style: str = '"') -> str | None:
    """A quoted scalar on one line, in single quotes where asked for and possible. None for a lone surrogate, which no file can hold."""
    if any("\ud800" <= character <= "\udfff" for character in value):
        return None
    if style == "'" and not _UNPRINTABLE.search(value):
        return "'" + value.replace("'", "''") + "'"
    return '"' + _UNPRINTABLE.sub(_escape, value.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def flow(value: object, like: str = "") -> str | None:
    """Any value on one line, fit for block and flow context. `like` is a token whose quotes or spelling of booleans are taken over.

    None if the value (an Unknown, a lone surrogate, an object) cannot be written.
    """
    if isinstance(value, str) and not isinstance(value, Verbatim):
        if like[:1] in ("'", '"') and like:
            return quote(value, like[0])
        return value if reads_back_plain(value) else quote(value)
    if isinstance(value, bool):
        return _bool_like(value, like)
    if isinstance(value, Unknown):
        return None
    if isinstance(value, (list, tuple)):
        items = [flow(item) for item in value]
        return None if None in items else "[" + ", ".join(item for item in items if item is not None) + "]"
    if isinstance(value, dict):
        pairs = [(flow(str(key)), flow(item)) for key, item in value.items()]
        return (
            None
            if any(None in pair for pair in pairs)
            else "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
        )
    return plain(value)


def reads_back_plain(value: str) -> bool:
    """Whether a string can be written without quotes and is still this string to every YAML reader."""
    return bool(_PLAIN.match(value)) and resolve(value) == value and value.lower() not in _NOT_STRINGS


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


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    mantissa, exponent, power = repr(value).partition("e")
    return mantissa if not exponent else f"{mantissa if '.' in mantissa else mantissa + '.0'}e{power}"


def _bool_like(value: bool, like: str) -> str:
    """`False` for a `True`, `no` for a `yes`: spelled as the boolean that stood there."""
    old = like.lower()
    for word, opposite in _BOOL_STYLES.items():
        if old in (word, opposite):
            new = word if value else opposite
            return new.upper() if like.isupper() else new.title() if like[0].isupper() else new
    return "true" if value else "false"


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 256:
        return {10: "\\n", 13: "\\r", 9: "\\t"}.get(code, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


_CONSTRUCT: dict[str, Callable[[str], object]] = {
    _PREFIX + "bool": lambda token: _BOOLS[token.lower()],
    _PREFIX + "int": _integer,
    _PREFIX + "float": _floating,
    _PREFIX + "null": lambda token: None,
}
