"""Versions as tuples that sort as PEP 440 says, and the specifiers that select among them. https://peps.python.org/pep-0440/

`packaging` does the same, but importing it costs more than a whole check. A key is `(epoch, *release, phase, …)`: release numbers
without trailing zeros, then a negative phase, so that a longer release sorts after a shorter one whatever follows. The local part
(`+cu121`) does not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Key = tuple[int, ...]
Matcher = Callable[[Key], bool]

_DEV, _ALPHA, _BETA, _CANDIDATE, _FINAL = -5, -4, -3, -2, -1
_PHASES = {
    "a": _ALPHA,
    "alpha": _ALPHA,
    "b": _BETA,
    "beta": _BETA,
    "rc": _CANDIDATE,
    "c": _CANDIDATE,
    "pre": _CANDIDATE,
    "preview": _CANDIDATE,
}
_PATTERN = (
    r"\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
    r"(?:[-_.]?(alpha|beta|preview|pre|rc|a|b|c)[-_.]?(\d*))?"
    r"(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?"
    r"(?:[-_.]?(dev)[-_.]?(\d*))?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\s*"
)


def release_key(version: str) -> Key:
    """A key by which versions compare as PEP 440 orders them. Raises ValueError for what is no version."""
    parts = version.split(".")
    if all(map(_is_number, parts)):
        return (0, *_significant([int(part) for part in parts]), _FINAL)
    found = re.fullmatch(_PATTERN, version.lower(), re.ASCII)
    if found is None:
        raise ValueError(f"{version!r} is not a version (PEP 440)")
    epoch, release, pre, pre_number, implicit_post, post, post_number, dev, dev_number = found.groups()
    numbers = _significant([int(part) for part in release.split(".")])
    head = (int(epoch or 0), *numbers)
    posted = -1 if implicit_post is None and post is None else int(implicit_post or post_number or 0)
    if pre is None and posted < 0:
        return (*head, _FINAL) if dev is None else (*head, _DEV, int(dev_number or 0))
    phase = (_FINAL, 0) if pre is None else (_PHASES[pre], int(pre_number or 0))
    return (*head, *phase, posted + 1, *((0, 0) if dev is None else (-1, int(dev_number or 0))))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _significant(numbers: list[int]) -> list[int]:
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return numbers


def numbers_of(key: Key) -> Key:
    """The release numbers of a key, without trailing zeros: (4, 57, 6)."""
    for place in range(1, len(key)):
        if key[place] < 0:
            return key[1:place]
    return key[1:]


def minor_of(key: Key) -> Key:
    """Epoch, major and minor."""
    numbers = (*numbers_of(key), 0)
    return (key[0], numbers[0], numbers[1])


def text_of(key: Key) -> str:
    """A version that has this key; trailing zeros are lost, so that it is for versions which nobody wrote down."""
    numbers = numbers_of(key)
    text = ".".join(map(str, numbers if len(numbers) > 1 else (*numbers, 0)))
    phase, rest = key[len(numbers) + 1], key[len(numbers) + 2 :]
    prefix = f"{key[0]}!" if key[0] else ""
    if phase == _DEV:
        return f"{prefix}{text}.dev{rest[0]}"
    names = {_ALPHA: "a", _BETA: "b", _CANDIDATE: "rc"}
    text += f"{names[phase]}{rest[0]}" if phase in names else ""
    if len(rest) > 1 and rest[1] > 0:
        text += f".post{rest[1] - 1}"
    if len(rest) > 3 and rest[2] < 0:
        text += f".dev{rest[3]}"
    return prefix + text


_OPERATORS = ("===", "==", "~=", "!=", ">=", "<=", ">", "<")
_matchers: dict[str, Matcher] = {}


def clauses(specifier: str) -> list[tuple[str, str]]:
    """`>=4.46,<5` → [(">=", "4.46"), ("<", "5")]; a bare version counts as `==`. Raises ValueError."""
    result = []
    for part in specifier.split(","):
        part = part.strip()
        operator = next((op for op in _OPERATORS if part.startswith(op)), "")
        version = part[len(operator) :].strip()
        if not version or (version.endswith(".*") and operator not in ("", "==", "!=")):
            raise ValueError(f"{specifier!r} is not a version specifier (PEP 440), such as '>=4.46,<5'")
        result.append((operator or "==", version))
    return result


def matcher(specifier: str) -> Matcher:
    """Whether a key satisfies all clauses of the specifier; pre-releases count like any other version. Raises ValueError."""
    made = _matchers.get(specifier)
    if made is None:
        tests = [_clause(operator, version) for operator, version in clauses(specifier)]
        made = tests[0] if len(tests) == 1 else lambda key: all(test(key) for test in tests)
        _matchers[specifier] = made
    return made


def _clause(operator: str, version: str) -> Matcher:
    if version.endswith(".*"):
        prefix = _prefix(version[:-2])
        return prefix if operator == "==" else lambda key: not prefix(key)
    bound = release_key(version)
    if operator in ("==", "==="):
        return lambda key: key == bound
    if operator == "!=":
        return lambda key: key != bound
    if operator == ">=":
        return lambda key: key >= bound
    if operator == "<=":
        return lambda key: key <= bound
    if operator == "<":  # 5.0rc1 is not < 5.0
        first = bound if _is_early(bound) else _first_dev(bound)
        return lambda key: key < first
    if operator == ">":  # 5.0.post1 is not > 5.0
        if _is_dev(bound) or _is_posted(bound):
            return lambda key: key > bound
        stem = _stem(bound)
        return lambda key: key > bound and key[: len(stem)] != stem
    written = _written(version)
    series = _series(bound[0], written[:-1])
    if len(written) < 2:
        raise ValueError(f"'~={version}' needs at least two numbers, such as '~=4.46'")
    return lambda key: key >= bound and series(key)


def _suffix(key: Key) -> Key:
    return key[len(numbers_of(key)) + 1 :]


def _is_dev(key: Key) -> bool:
    suffix = _suffix(key)
    return suffix[0] == _DEV or (len(suffix) > 3 and suffix[3] < 0)


def final_of(key: Key) -> Key:
    """The release that a development version was on the way to; any other version itself."""
    return (*key[: -len(_suffix(key))], _FINAL) if _suffix(key)[0] == _DEV else key


def _is_early(key: Key) -> bool:
    """A pre-release or a development version."""
    return _suffix(key)[0] < _FINAL or _is_dev(key)


def _is_posted(key: Key) -> bool:
    suffix = _suffix(key)
    return len(suffix) > 2 and suffix[2] > 0


def _stem(key: Key) -> Key:
    """What a version has in common with its post-releases: epoch, release, phase and its number."""
    suffix = (*_suffix(key), 0)
    return (key[0], *numbers_of(key), suffix[0], suffix[1])


def _first_dev(key: Key) -> Key:
    """The key of the first development version of a final or post-release."""
    head = (key[0], *numbers_of(key))
    return (*head, _FINAL, 0, _suffix(key)[2], -1, 0) if _is_posted(key) else (*head, _DEV, 0)


def _written(version: str) -> Key:
    """The release numbers as they are written, trailing zeros included."""
    release = version.strip().lower().lstrip("v").split("!")[-1]
    digits = ""
    for character in release:
        if not (character.isdigit() or character == "."):
            break
        digits += character
    return tuple(int(part) for part in digits.split(".") if part)


def _prefix(version: str) -> Matcher:
    parts = version.lower().lstrip("v").split("!")
    if len(parts) > 2 or not all(_is_number(part) for text in parts for part in text.split(".")):
        raise ValueError(f"'{version}.*' is not a version prefix, such as '4.46.*'")
    return _series(int(parts[0]) if len(parts) == 2 else 0, _written(parts[-1]))


def _series(epoch: int, prefix: Key) -> Matcher:
    """All versions whose release starts with these numbers."""

    def matches(key: Key) -> bool:
        numbers = (*numbers_of(key), *(0,) * len(prefix))
        return key[0] == epoch and numbers[: len(prefix)] == prefix

    return matches
