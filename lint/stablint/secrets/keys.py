"""Which keys name a secret, by their words, and which values behind them are placeholders."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise

from stablint.base.light import Any
from stablint.secrets.hints import IN_OTHER_LANGUAGES, TOKENS_ELSEWHERE, may_hold_key
from stablint.secrets.words import (
    ABOUT,
    ALWAYS,
    BESIDE,
    BY_LOOKS,
    CODES,
    FILLERS,
    FILLERS_ALONE,
    KEYS_OF,
    KEYS_OF_DATA,
    NAMES,
    NO_PASS,
    OWNERS,
    PASSWORDS,
    TAIL,
    TOKENS_OF_PEOPLE,
    TOKENS_OF_TEXT,
    VALUES,
    VENDORS,
    VOCABULARY,
)

NO, LIKELY, SURE = 0, 1, 2
"""Whether a key names a secret. Behind a likely one only a value that looks generated is one."""

_WORD = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_LONGEST_KEY = 200
_LOOKED_AT = 300  # characters of a value that are looked at for what it is: a line of text may have a key in every word

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
    above, _, name = key.rpartition(".")
    lowered = name.lower()
    section = above.rpartition(".")[2].lower()
    if section in ("secrets", "credentials", "passwords", "tokens", "api_keys") and lowered in VENDORS:
        return SURE  # `trainer.secrets.wandb`
    if len(name) > _LONGEST_KEY or not may_hold_key(lowered):
        return NO
    if any(word in lowered for word in IN_OTHER_LANGUAGES) or lowered == "stringdata":
        return SURE
    if any(word in lowered for word in TOKENS_ELSEWHERE):
        return LIKELY
    words = [word.lower() for word in re.findall(_WORD, name)]
    if words[-2:-1] == ["pass"] and words[-1].isdigit() and words[-3:-2] and words[-3] not in OWNERS | VENDORS:
        return NO  # the share of tasks solved: `greedy_pass1`
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in TAIL):
        words.pop()
    if not words:
        return NO
    return _of_last(words, name) or _of_earlier(words)


def _of_last(words: list[str], name: str) -> int:
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    upper = name.isupper()
    if last in ABOUT:
        if last == "list":
            return SURE if before == "apikey" or words[-3:-1] == ["api", "key"] else NO
        return (
            LIKELY
            if last == "id" and (before == "secret" or (before == "key" and ("access" in words or "private" in words)))
            else NO
        )
    if before in ("num", "n", "max", "min", "has", "is", "no", "count", "mask", "masked", "redacted", "hide"):
        return NO
    if last in ("token", "tokens"):
        if before == "model" and words[-3:-2] in (["hub"], ["hf"]):
            return SURE
        return _of_token(last, before)
    if last in ("key", "keys"):
        return _of_key(last, before, upper)
    if last == "pass":
        return NO if before in NO_PASS else SURE
    if last == "pwd":  # the shell's own are folders
        return LIKELY if name in ("PWD", "OLDPWD") else SURE
    if last == "pat":
        return SURE if before in VENDORS else LIKELY if upper else NO
    if last in ("ak", "sk", "api") and before in VENDORS:
        return SURE if last != "api" else LIKELY
    if (
        (last == "sk" and upper and before)
        or (last == "code" and before in CODES)
        or (last == "phrase" and (before in CODES or before in ("seed", "pass", "secret")))
        or (last == "tok" and before in VENDORS)
        or (last == "auth" and before in VENDORS)
    ):
        return SURE
    if last == "auth" and before == "basic":
        return SURE
    if last == "login":
        return LIKELY if before in VENDORS else NO
    if before == "pass" and last in ("word", "phrase", "code"):
        return NO if words[-3:-2] and words[-3] in NO_PASS else SURE
    if last in ALWAYS or (last[-1] == "s" and last[:-1] in ALWAYS):
        return SURE
    if last in BY_LOOKS:
        return LIKELY
    if last in ("string", "str") and before in ("connection", "conn"):
        return LIKELY
    for end in ("password", "passwords", "passwd", "passphrase", "apikey", "secret"):
        if last.endswith(end):
            return SURE
    for end in ("pass", "pw"):
        if last.endswith(end) and (last[: -len(end)] in VENDORS or last[: -len(end)] in OWNERS):
            return SURE
    for end in ("token", "key"):
        if last.endswith(end) and last[: -len(end)] in VENDORS:
            return SURE
    return NO


def _of_earlier(words: list[str]) -> int:
    """Where whose secret it is stands behind: `token_hf`, `password_root`, `secret_of_prod`."""
    last = words[-1]
    if len(words) < 2 or last in ABOUT or last in BESIDE:
        return NO
    for at, word in enumerate(words[:-1]):
        if word in PASSWORDS:
            return SURE
        if last in VENDORS and (word in ("token", "secret") or (word == "key" and (at == 0 or words[at - 1] == "api"))):
            return SURE if at == 0 or words[at - 1] not in TOKENS_OF_TEXT | KEYS_OF_DATA else NO
    return NO


_OF_TEXT = r"(?i)(?:[\w.]{0,80}[._])?(?:cur(?:rent)?_|next_|prev(?:ious)?_|coll_|op_)?token(?:_value|_text|_str)?s?\Z"


def is_of_text(name: str) -> bool:
    """A token of a parser or of a tokenizer, mostly, and nobody's."""
    return not name.isupper() and _compiled(_OF_TEXT).match(name) is not None


def inherited(above: str, key: str, strength: int) -> int:
    """How surely the value of `key` is a secret where it stands below `above`, whose own is one by `strength`: `wandb` below `secrets`,
    `hf` below `tokens`."""
    own = names_secret(key)
    if own == SURE or not (strength or names_section(above)):
        return own
    words = [word.lower() for word in re.findall(_WORD, key)]
    if not words or words[-1] in ABOUT or words[-1] in BESIDE:
        return own
    if strength == SURE:
        return SURE
    return SURE if names_section(above) and not VENDORS.isdisjoint(words) else own


_ENDS = frozenset(("ns", "ys", "th", "en", "ey"))


_TOKENS_OF_TEXT = ("special_tokens", "max_tokens", "new_tokens", "eot_tokens", "pad_tokens")


def names_section(key: str) -> bool:
    """Whether vendors' names below this key name secrets: `tokens`, `api_keys`."""
    lowered = key[-14:].lower()
    return (
        lowered[-2:] in _ENDS
        and lowered.endswith(("tokens", "keys", "auth", "token", "key"))
        and not lowered.endswith(_TOKENS_OF_TEXT)
    )


def _of_token(last: str, before: str) -> int:
    if last == "tokens":
        if not before:
            return LIKELY
        return SURE if before in VENDORS or before in ("api", "auth", "access", "secret", "bearer", "refresh") else NO
    if before in TOKENS_OF_PEOPLE:
        return SURE
    return NO if before in TOKENS_OF_TEXT or (not before.isalpha() and before != "") else SURE


def _of_key(last: str, before: str, upper: bool) -> int:
    if last == "keys":
        if before in ("api", "access", "secret", "private"):
            return SURE
        return LIKELY if before in VENDORS else NO
    if before in VENDORS or before in KEYS_OF:
        return SURE
    if before in KEYS_OF_DATA:
        return NO
    if upper and before:
        return SURE
    return LIKELY


_FILLED = r"""(?ix)
      (?:none|null|nil|true|false|yes|no|on|off|auto|default|empty|undefined|unset|n/?a|tbd|todo|fixme|optional|required|str|string|any|inherit)\Z
    | <[^>]*>\Z | <\|.*\|>\Z             # <token>, <|im_end|>
    | [\[{(]\s*[\w.-]{0,3}\s*[\]})]\Z    # [a], {}
    | [\[{(](?=[^_.]*[_.]|(?-i:[A-Z ]*)[\]})])[^0-9]*[\]})]\Z  # {hf_login}, [PAD]
    | (?:(?:bearer|basic|token)\ \{[a-z_][\w.]*(?:[\[(].*|\})|\{[a-z_]\w*[.\[(].*)\Z  # of a text that Python fills in
    | \$(?-i:[A-Z_][A-Z0-9_]*|[a-z_][A-Za-z_]*[0-9]{0,2})\Z | %\w+%\Z | @\w+@\Z | `.*
    | [-x*.…#_?=]+\Z | [0]+\Z | token-abc(?:123)?\Z  # vLLM's documentation has that one
    | (?:hf_|sk-|sk-proj-|sk-ant-|sk-or-|gh[a-z]_|r8_|gsk_|pk-|key-|token-|glpat-)?[-x*.…#_]{3,}\Z
    | .{0,10}(?:\*{3,}|x{5,}|\.{3,}|…).{0,6}\Z
    | (?:.*[-_ ])?(?:no|not|without)[-_ ]?(?:api|auth|key|token|secret|password|login|needed|necessary|required)(?:[-_ ].*)?\Z
    | os\.(?:environ|getenv)[^,]*\Z | getpass\.? .* | env(?:iron)?[:.][^,]*\Z
    | (?:vault|secret|ssm|op|env|sops|kms|ref|arn|https?)://?[^@]*\Z | file:/+(?=[^/])[^@/]*[/.][^@]*\Z"""
_CAPITALS = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z"  # the name of a variable
_LETTERED = r"[^_]*(?:[A-Z][0-9]|[0-9][A-Z])[^_]*(?<=[^_]{8})"  # a part of it that no name has: `ZEBRA11X`
_FOLDER = (
    r"(?:~|\.{1,2})/|/(?:home|root|etc|run|var|mnt|data|tmp|opt|usr|work|workspace|content|kaggle|secrets?|app|src|path|dev|proc|Users|Volumes)"
    r"(?:/|\Z)|[A-Za-z]:\\"
)
_FILE = r"[\w./~-]+\.(?:pem|key|crt|json|ya?ml|txt|env|cfg|ini|toml|py|sh|pub|p12|pfx|jks)\Z"
_PIECE = r"[^A-Za-z0-9]+"
_TO_BE_FILLED = (
    r"(?i)[<《【（(\[]?(?:你的|您的|你自己的|请输入|请填|请替换|此处填|在此处?填|在这里填|填入|填写|替换为|换成你|あなたの|ここに|여기에"
    r"|ваш\b|ваша\b|введите|votre |ta clé|tu clave|seu )[^0-9]{0,40}\Z"
)


_VARIABLE = r"\$?\{\{[^\n]{0,200}?\}\}|\{%[^\n]{0,200}?%\}|\$\{[^{}]{0,200}\}|\$\([^()]{0,200}\)|%\(\w{1,80}\)[sd]?|<[A-Za-z_ -]{1,80}>"
# What stands in for a variable that is not set: `${A:-…}`, `${oc.env:A,…}`, `{{ env("A", "…") }}`, `$(echo …)`.
_STAND_IN = (
    r"\$\{[\w.#!]{1,100}:?[-=+?](?P<shell>[^{}]*)\}|\$\{[\w.]{1,40}:[^,{}]{0,100},(?P<resolver>[^{}]*)\}"
    r"|\$\{[\w.]{1,100}//?[^/{}]{0,100}/(?P<replaced>[^{}]*)\}|\$\{(?:oc\.decode|decode|b64|base64):(?P<decoded>[^{}]*)\}"
    r"|\$\((?:.*<<|(?:.*\|)?\s*(?:echo|printf|base64)\s)(?P<printed>.*)\)"
)
_TEMPLATE_TEXT = r"""(?:,|default[( ]|\bor\b|\belse\b|\{\{)\s*\\?["']([^"'\\]{1,200})"""


@lru_cache(maxsize=1)
def _placeholders() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in (_FILLED, _FOLDER, _FILE))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL if pattern is _STAND_IN else 0)


def is_placeholder(value: str) -> bool:
    """Text that stands for a secret and is none: `YOUR_TOKEN`, `<token>`, `${HF_TOKEN}`, `hf_xxx`, `os.environ["X"]`, a path, nothing."""
    text = value.strip().strip("\"'")
    if not text:
        return True
    short = text if len(text) <= _LOOKED_AT else text[:_LOOKED_AT]
    if any(sign in short for sign in ("${", "$(", "{{", "{%", "%(", "<")):
        rest = _without_variables(short)
        if rest is None:
            return False
        if rest != short:
            rest = rest.strip(" -_:/.,;@+|\"'")
            return (len(rest) <= 8 and not any(c.isdigit() for c in rest)) or _stands_for_one(rest)
    return _stands_for_one(short)


def _without_variables(text: str) -> str | None:
    """The rest of the text; None where a stand-in for a variable is no placeholder itself."""
    for _ in range(4):  # one may stand within another
        for found in _compiled(_VARIABLE).finditer(text):
            if not _is_free(found[0]):
                return None
        shorter = _compiled(_VARIABLE).sub("", text)
        if shorter == text:
            break
        text = shorter
    return text


def _is_free(variable: str) -> bool:
    """Nothing but names in it."""
    if "{{" in variable:
        return all(_stands_for_one(text) or len(text) < 3 for text in _compiled(_TEMPLATE_TEXT).findall(variable))
    found = _compiled(_STAND_IN).match(variable)
    if found is None:
        return True
    return all(len(text) < 3 or _stands_for_one(text.strip("\"'")) for text in found.groups() if text)


def _stands_for_one(text: str) -> bool:
    if any(pattern.match(text) for pattern in _placeholders()):
        return True
    words = [word.lower() for word in re.split(_PIECE, text) if word]
    if _compiled(_CAPITALS).match(text) and not _compiled(_LETTERED).search(text):
        return any(word in VOCABULARY or word in VENDORS or word in FILLERS or word in ALWAYS for word in words)
    if not text.isascii() and any(letter.isalpha() and not letter.isascii() for letter in text):
        return _compiled(_TO_BE_FILLED).match(text) is not None  # `芝麻开门` has no word of English, and is a password
    if all(word in VOCABULARY for word in words):
        return True
    if text.isalpha() and text.lower().startswith("your"):  # `YOURKEY`, `yourapikey`; `mysecret` is what people do take
        rest = text.lower()[len("your") :]
        if any(
            rest[:at] in VOCABULARY and (at == len(rest) or rest[at:] in VOCABULARY) for at in range(3, len(rest) + 1)
        ):
            return True
    if text.isalpha() and (parts := [word.lower() for word in re.findall(_WORD, text)])[1:]:  # `YourHFToken`
        return all(word in VOCABULARY or word in FILLERS for word in parts)
    others = [word for word in words if word not in FILLERS and word not in VOCABULARY]
    if FILLERS.isdisjoint(words):
        return False
    if FILLERS_ALONE.isdisjoint(words):
        return all(len(word) <= 8 and (word.isalpha() or len(word) <= 3) for word in others)
    return all(word.isalpha() or len(word) < 8 for word in others)


def looks_generated(value: str) -> bool:
    """Letters and digits without blanks, in an order that nobody would think of: `4b9d0c7e5a1f`, not `eval_loss_2024`."""
    if not 12 <= len(value) <= 4096 or len(value.split(None, 1)) != 1 or value[0].isspace() or value[-1].isspace():
        return False
    for piece in re.split(_PIECE, value[:_LOOKED_AT]):
        if len(piece) < 8:
            continue
        digits = sum(character.isdigit() for character in piece)
        change_points = sum(a.isdigit() != b.isdigit() for a, b in pairwise(piece))
        if digits and (change_points >= 3 or len(piece) >= 20) and digits < len(piece):
            return True
        if len(piece) >= 20 and any(c.islower() for c in piece) and sum(c.isupper() for c in piece[1:]) >= 4:
            return True
    return False


def is_secret(key: str, value: Any) -> bool:
    """Whether a literal behind this key is a secret: `hub_token: hf_…`, `password: 12345678`; not `pad_token: "<pad>"`."""
    return holds_secret(names_secret(key), value)


def holds_secret(strength: int, value: Any) -> bool:
    """Whether a literal is a secret behind a key that names one as surely as `strength` says."""
    if not strength or isinstance(value, bool):
        return False
    if isinstance(value, int):
        return strength == SURE and value >= 1000
    if isinstance(value, float):
        return strength == SURE and value >= 1000
    if not isinstance(value, str) or (strength == LIKELY and not looks_generated(value)):
        return False
    return (strength == LIKELY or len(value) >= 3) and not is_placeholder(value)


_TESTS = r"(?:\A|[/\\])(?:tests?[/\\]|test_|conftest\b)|_tests?\.py\Z"
_WORD_OF_A_DATA_SET = r"[a-z]{1,16}(?:[_-][a-z]{1,16}){0,3}\Z"
_ISSUED = r"(?i).*(?:token|key)"  # somebody issues them, and no issuer puts a blank into one
_CUT_SHORT = r"(?:sk-|hf_|gh[a-z]_|gsk_|r8_|glpat-|xai-|nvapi-|AIza).{0,19}\Z"


def may_be_none(value: Any, file: str, key: str = "") -> bool:
    """Whether a value that is hidden like a secret may well be none: what nobody generated in a test, a vendor's prefix with less behind
    it than any of its keys has (`sk-1234`), words with blanks between them behind a token or a key, in whatever language they say "put it here",
    and a plain word behind `access_key`, which also names the key that rows are reached by: no vendor makes access keys of small letters alone."""
    if not isinstance(value, str):
        return _compiled(_TESTS).search(file) is not None
    if key == "access_key" and _compiled(_WORD_OF_A_DATA_SET).match(value.strip()):
        return True
    if _compiled(_CUT_SHORT).match(value.strip()):
        return True
    words = value.split()
    if len(words) > 1 and all(word.isalpha() for word in words) and _compiled(_ISSUED).match(key):
        return True
    return _compiled(_TESTS).search(file) is not None and not looks_generated(value) and len(value) < 30


def conceal(key: str, value: Any, hidden: Any) -> Any:
    """The value with `hidden` in the place of every secret in it: itself, an item of a list, a value behind a key of its own or below one."""
    return _concealed(key, names_secret(key), value, hidden)


def _concealed(key: str, strength: int, value: Any, hidden: Any) -> Any:
    if isinstance(value, dict):
        if strength == SURE and value and all(child is None for child in value.values()):
            return hidden  # a set of secrets: its keys are what it holds
        named = next((value[word] for word in NAMES if isinstance(value.get(word), str)), "")
        return {
            name: _concealed(*_below(key, strength, name, named), child, hidden) if isinstance(name, str) else child
            for name, child in value.items()
        }
    if isinstance(value, list):
        return [_concealed(key, strength, child, hidden) for child in value]
    return hidden if holds_secret(strength, value) else value


def _below(above: str, strength: int, key: str, named: str) -> tuple[str, int]:
    """`named`: what the mapping says that its `value` is of."""
    if named and key in VALUES and names_secret(named):
        return named, names_secret(named)
    return key, inherited(above, key, strength)
