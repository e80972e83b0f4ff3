"""Which keys name a secret, by their words, and which values behind them are placeholders."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

from stablint.secrets.hints import may_hold_key
from stablint.secrets.words import (
    ABOUT,
    ALWAYS,
    BY_LOOKS,
    KEYS_OF,
    KEYS_OF_DATA,
    NO_PASS,
    TAIL,
    TOKENS_OF_PEOPLE,
    TOKENS_OF_TEXT,
    VENDORS,
    VOCABULARY,
)

NO, LIKELY, SURE = 0, 1, 2
"""Whether a key names a secret. Behind a likely one only a value that looks generated is one."""

_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_LONGEST_KEY = 200

_strengths: dict[str, int] = {}


def names_secret(key: str) -> int:
    """NO, LIKELY or SURE, by the words of the key's last part: `hub_token`, `deepspeed.wandb.apiKey`, `--api-key`."""
    known = _strengths.get(key)
    if known is None:
        if len(_strengths) > 20_000:  # keys come from files, which may have any number of them
            _strengths.clear()
        known = _strengths[key] = _strength(key)
    return known


def _strength(key: str) -> int:
    name = key.rpartition(".")[2]
    if len(name) > _LONGEST_KEY or not may_hold_key(name.lower()):
        return NO
    words = [word.lower() for word in re.findall(_WORD, name)]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in TAIL):
        words.pop()
    if not words:
        return NO
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    upper = name.isupper()
    if last in ABOUT:
        return LIKELY if last == "id" and before == "key" and "access" in words else NO
    if before in ("num", "n", "max", "min", "has", "is", "no", "count", "mask", "masked", "redacted", "hide"):
        return NO
    if last in ("token", "tokens"):
        return _of_token(last, before)
    if last in ("key", "keys"):
        return _of_key(last, before, upper)
    if last == "pass":
        return NO if before in NO_PASS else SURE
    if last == "pwd":  # the shell's own are folders
        return LIKELY if name in ("PWD", "OLDPWD", "pwd") else SURE
    if last == "pat":
        return SURE if before in VENDORS else LIKELY if upper else NO
    if last in ALWAYS:
        return SURE
    if last in BY_LOOKS:
        return LIKELY
    if last in ("string", "str") and before in ("connection", "conn"):
        return LIKELY
    for end in ("password", "passwd", "passphrase", "apikey", "secret"):
        if last.endswith(end):
            return SURE
    for end in ("token", "key"):
        if last.endswith(end) and last[: -len(end)] in VENDORS:
            return SURE
    return NO


def _of_token(last: str, before: str) -> int:
    if last == "tokens":
        return SURE if before in VENDORS or before in ("api", "auth", "access", "secret", "bearer", "refresh") else NO
    if before in TOKENS_OF_PEOPLE:
        return SURE
    return NO if before in TOKENS_OF_TEXT or (not before.isalpha() and before != "") else SURE


def _of_key(last: str, before: str, upper: bool) -> int:
    if last == "keys":
        return SURE if before in ("api", "access", "secret", "private") else NO
    if before in VENDORS or before in KEYS_OF:
        return SURE
    if before in KEYS_OF_DATA:
        return NO
    if upper and before:
        return SURE
    return LIKELY


_FILLED = r"""(?ix)
      (?:none|null|nil|true|false|yes|no|on|off|auto|default|empty|undefined|unset|n/?a|tbd|todo|fixme|optional|required|str|string|any)\Z
    | [<\[{(].*[>\]})]\Z | <[^>]*>          # <token>, [PAD], {token}, {{ secrets.X }}
    | .*(?:\$\{|\$\(|\{\{|<[a-z_ -]+>|%\()  # with a variable in it
    | \$[a-z_]\w*\Z | %\w+%\Z | @\w+@\Z | `.*
    | [-x*.…#_?=]+\Z | [0]+\Z
    | (?:hf_|sk-|sk-proj-|sk-ant-|sk-or-|gh[a-z]_|r8_|gsk_|pk-|key-|token-|glpat-)?[-x*.…#_]{3,}\Z
    | .*(?:\*{3}|x{5}|\.{3}|…)
    | (?:.*[-_ ])?(?:no|not|without)[-_ ]?(?:api|auth|key|token|secret|password|login|needed|necessary|required)(?:[-_ ].*)?\Z
    | os\.(?:environ|getenv).* | getpass\.? .* | env(?:iron)?[:.].* | (?:file|vault|secret|ssm|op|env|sops|kms|ref|arn|https?)://?[^@]*\Z
    | .*(?:\A|[^a-z])(?:your|yours|placeholder|redacted|changeme|change[-_ ]?me|replace|insert|enter|fill|filled|todo|dummy|fake|example|
        sample|here|hidden|masked|mock|foo|foobar|nope|notused|not[-_ ]used|unused|paste|goes)(?:\Z|[^a-z])"""
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")  # the name of a variable
_FOLDER = (
    r"(?:~|\.{1,2})/|/(?:home|root|etc|run|var|mnt|data|tmp|opt|usr|work|workspace|content|kaggle|secrets?|app|src|path|dev|proc|Users|Volumes)"
    r"(?:/|\Z)|[A-Za-z]:\\"
)
_FILE = r"[\w./~-]+\.(?:pem|key|crt|json|ya?ml|txt|env|cfg|ini|toml|py|sh|pub|p12|pfx|jks)\Z"
_PIECE = r"[^A-Za-z0-9]+"


@lru_cache(maxsize=1)
def _placeholders() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in (_FILLED, _CAPITALS, _FOLDER, _FILE))


def is_placeholder(value: str) -> bool:
    """Text that stands for a secret and is none: `YOUR_TOKEN`, `<token>`, `${HF_TOKEN}`, `hf_xxx`, `os.environ["X"]`, a path, nothing."""
    text = value.strip().strip("\"'")
    if not text:
        return True
    short = text if len(text) <= 300 else text[:300]
    if any(pattern.match(short) for pattern in _placeholders()):
        return True
    words = [word.lower() for word in re.split(_PIECE, short) if word]
    return not words or all(word in VOCABULARY for word in words)


def looks_generated(value: str) -> bool:
    """Letters and digits without blanks, in an order that nobody would think of: `4b9d0c7e5a1f`, not `eval_loss_2024`."""
    if not 12 <= len(value) <= 4096 or any(character.isspace() for character in value):
        return False
    for piece in re.split(_PIECE, value):
        digits = sum(character.isdigit() for character in piece)
        turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(piece))
        if len(piece) >= 8 and digits and (turns >= 3 or len(piece) >= 20) and digits < len(piece):
            return True
        if len(piece) >= 20 and any(c.islower() for c in piece) and sum(c.isupper() for c in piece[1:]) >= 4:
            return True
    return False


def is_secret(key: str, value: Any) -> bool:
    """Whether a literal behind this key is a secret: `hub_token: hf_…`, `password: 12345678`; not `pad_token: "<pad>"`."""
    strength = names_secret(key)
    if not strength or isinstance(value, bool):
        return False
    if isinstance(value, int):
        return strength == SURE and value >= 1000
    if isinstance(value, float):
        return strength == SURE and value >= 1000
    if not isinstance(value, str) or is_placeholder(value):
        return False
    if strength == LIKELY:
        return looks_generated(value)
    return len(value) >= 3


def conceal(key: str, value: Any, hidden: Any) -> Any:
    """The value with `hidden` in the place of every secret in it: itself, an item of a list, a value behind a key of its own."""
    if isinstance(value, dict):
        return {name: conceal(name, child, hidden) if isinstance(name, str) else child for name, child in value.items()}
    if isinstance(value, list):
        return [conceal(key, child, hidden) for child in value]
    return hidden if is_secret(key, value) else value
