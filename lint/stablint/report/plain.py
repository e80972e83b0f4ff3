"""Text from files made fit for a terminal: nothing that moves the cursor, reorders a line or breaks the output's encoding."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from stablint.run.fact import ABSENT
from stablint.source.tree import Unknown

# C0, DEL and C1 controls; soft hyphen and zero-width characters; bidirectional marks, embeddings, overrides and isolates;
# line and paragraph separators; half surrogates, which no encoding takes; the byte order mark; tags, which hide text.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_NODES = 500  # of one value: an anchor used a thousand times over need not be written out a thousand times
_LONGEST = 100
_BITS = 1000


def plain(text: str) -> str:
    """One line of `text` with every control, bidirectional or invisible character in a visible form: `\\x1b`, `\\u202e`."""
    return _UNSAFE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else _escaped(code))


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(value: Any, longest: int = _LONGEST) -> str:
    """A value in a line of text, as YAML would have it, cut at `longest` characters."""
    known = jsonable(value)
    text = known if isinstance(known, str) and known else json.dumps(known, ensure_ascii=False)
    return plain(clipped(text, longest))


def clipped(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def to_json(data: Any) -> str:
    """Indented JSON, non-ASCII letters kept, the characters that a terminal must not see as `\\uXXXX`."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    # Outside strings JSON has no such character but its own line feeds, so every other one may be escaped where it stands.
    return _UNSAFE.sub(_json_escape, text) + "\n"


def _json_escape(match: re.Match[str]) -> str:
    return match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1]


def jsonable(value: Any) -> Any:
    """What JSON can hold of a value: null for what is unknown or absent, text for dates, infinities and endless integers."""
    left = _NODES

    def convert(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            return "…"
        if value is None or value is ABSENT or isinstance(value, Unknown):
            return None
        if isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            # Python refuses to write integers of more than 4,300 digits.
            return value if value.bit_length() < _BITS else f"an integer of {value.bit_length()} bits"
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if isinstance(value, dict):
            return {str(convert(key)): convert(child) for key, child in value.items() if left > 0}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [convert(child) for child in value if left > 0]
        return str(value)

    return convert(value)
