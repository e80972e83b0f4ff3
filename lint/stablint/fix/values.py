"""The value that a remedy writes: a literal, a fact's value, or one made of it (`{training.optim:lower}`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from stablint.base.libraries import ast, yaml
from stablint.base.light import Any
from stablint.fix.editors import Impossible
from stablint.run.fact import ABSENT, is_unknown

_FIELD = re.compile(r"\{([a-z_]+(?:\.[A-Za-z0-9_-]+)*)(?::([a-z]+))?\}")


def resolved(wanted: Any, world: Any) -> Any:
    """Every `{fact}` replaced by its value. A list in a list adds its items that are not there yet, `without: […]` takes some away.

    Raises Impossible.
    """
    if isinstance(wanted, dict):
        return {key: resolved(value, world) for key, value in wanted.items()}
    if isinstance(wanted, list):
        return _joined([(one, resolved(one, world)) for one in wanted])
    if not isinstance(wanted, str):
        return wanted
    whole = _FIELD.fullmatch(wanted)
    if whole is not None:
        return _value(whole, world)
    return _FIELD.sub(lambda found: _word(_value(found, world)), wanted)


def _joined(items: list[tuple[Any, Any]]) -> list[Any]:
    result: list[Any] = []
    for written, value in items:
        if isinstance(written, dict) and [*written] == ["without"]:
            result = [one for one in result if one not in value["without"]]
            if not result:
                raise Impossible("nothing would be left")
            continue
        several = value if isinstance(value, (list, tuple)) and isinstance(written, str) else [value]
        result += [one for one in several if one not in result]
    return result


def _value(found: re.Match[str], world: Any) -> Any:
    value = world.value(found[1])
    if is_unknown(value) or value is ABSENT:
        raise Impossible(f"`{found[1]}` is not known")
    if found[2] is None:
        return value
    try:
        return _FORMS[found[2]](value)
    except (ArithmeticError, ValueError, TypeError):
        raise Impossible(f"`{found[1]}` cannot be put that way") from None


def _word(value: Any) -> str:
    """A value within a text; the only item of a list stands for it."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        (value,) = value
    if not isinstance(value, (str, int, float)):
        raise Impossible("it is no single word")
    return str(value)


def _whole(value: Any) -> int:
    """The nearest whole number."""
    return round(float(value))


def _truth(value: Any) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if str(value).strip().lower() not in words:
        raise ValueError(value)
    return words[str(value).strip().lower()]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _json(value: Any) -> str:
    """A Python or YAML dictionary in a text → the same as JSON."""
    try:
        read = ast.literal_eval(_text(value))
    except (ValueError, SyntaxError):
        try:
            read = yaml.safe_load(_text(value))
        except yaml.YAMLError:
            raise ValueError(value) from None
    if not isinstance(read, dict):
        raise ValueError(value)
    return json.dumps(read)


def _tenth(value: Any) -> int:
    """A tenth of a number, rounded down, at least 1."""
    return max(1, int(value) // 10)


def _share(parts: int) -> Callable[[Any], int]:
    """One of so many equal parts of a whole number that has them."""

    def part(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < parts or value % parts:
            raise ValueError(value)
        return value // parts

    return part


def _times(factor: int) -> Callable[[Any], int]:
    def product(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(value)
        return factor * value

    return product


_FORMS: dict[str, Callable[[Any], Any]] = {
    "int": _whole,
    "float": float,
    "bool": _truth,
    "lower": lambda value: _text(value).strip().lower(),
    "upper": lambda value: _text(value).strip().upper(),
    "json": _json,
    "tenth": _tenth,
    "half": _share(2),
    "quarter": _share(4),
    "eighth": _share(8),
    "double": _times(2),
    "fourfold": _times(4),
    "eightfold": _times(8),
}
