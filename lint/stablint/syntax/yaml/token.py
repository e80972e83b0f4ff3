"""Values written as YAML tokens that readers of YAML 1.1 and 1.2 alike read back: `1.0e-05`, never `1e-05`; `"no"`, never `no`."""

from __future__ import annotations

import math
import re

from stablint.syntax.tree import Unknown, Verbatim
from stablint.syntax.yaml.scalar import resolve

# Words that stay plain: nothing in them means anything to YAML, in block or in flow; YAML 1.2 numbers start otherwise.
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\./|\.\./)[\w./@+=~-]*(?: [\w./@+=~-]+)*\Z", re.ASCII)
_NOT_STRINGS = frozenset({"y", "n", "nan", "inf"})  # bool or float to some reader, though not to PyYAML
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_BOOL_STYLES = {"true": "false", "yes": "no", "on": "off"}


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
        if like[:1] in ("'", '"'):
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
        if any(None in pair for pair in pairs):
            return None
        return "{" + ", ".join(f"{key}: {item}" for key, item in pairs) + "}"
    return plain(value)


def reads_back_plain(value: str) -> bool:
    """Whether a string can be written without quotes and is still this string to every YAML reader."""
    return bool(_PLAIN.match(value)) and resolve(value) == value and value.lower() not in _NOT_STRINGS


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
