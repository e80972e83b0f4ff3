"""Live objects as plain values: what a config object holds, and which of it somebody chose. None of the libraries is imported here."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from dataclasses import MISSING
from enum import Enum
from typing import Any, NamedTuple

_DEEPEST = 20
_EMPTY: tuple[Any, ...] = (None, "", "none", [], {})
# What a process fills in about itself, whatever was given.
_OF_THE_PROCESS = frozenset({"local_rank", "logging_dir", "run_name"})
_ASSIGNED = re.compile(r"\bself\.(\w+)\s*=[^=]")


class Opaque(NamedTuple):
    """A value that has no plain form: a function, a tensor, a class."""

    type: str


class Field(NamedTuple):
    """One field of a config object; `chosen` when it is not what the class gives to a field that is left out."""

    name: str
    value: Any
    chosen: bool


def plain(value: Any, depth: int = 0) -> Any:
    """Strings, numbers, lists and dicts; enums by their value, sets sorted, torch's dtypes by their name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        member = getattr(value, "value", value)  # an enum that is also a string
        return member if type(member) in (bool, int, float, str, type(None)) else value
    if depth > _DEEPEST:
        return Opaque(type(value).__name__)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict):
        inner = {str(plain(key, depth + 1)): plain(child, depth + 1) for key, child in value.items()}
        return {key: child for key, child in inner.items() if not isinstance(child, Opaque)}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(child, depth + 1) for child in value), key=str)
    if isinstance(value, (list, tuple)):
        return [plain(child, depth + 1) for child in value]
    if type(value).__module__ == "torch" and str(value).startswith("torch."):
        return str(value).removeprefix("torch.")
    if _is_enum(value):
        return plain(value.value, depth + 1)
    if hasattr(type(value), "__dataclass_fields__") and not isinstance(value, type):
        return {field.name: field.value for field in fields(value, depth + 1)}
    return Opaque(type(value).__name__)


def _is_enum(value: Any) -> bool:
    return isinstance(value, Enum)


def fields(config: Any, depth: int = 0) -> Iterator[Field]:
    """The fields of a dataclass instance in the order of the class; private ones and those without a plain value are left out."""
    filled = _filled(type(config))
    for name, field in type(config).__dataclass_fields__.items():
        if name.startswith("_") or not field.init or not hasattr(config, name):
            continue
        held = getattr(config, name)
        value = plain(held, depth)
        if not isinstance(value, Opaque):
            left_out = _is_default(value, held, plain(_default(field), depth), name in filled)
            yield Field(name, value, not left_out and name not in _OF_THE_PROCESS)


def _default(field: Any) -> Any:
    """What the class gives to a field that is left out; Opaque where it must be given."""
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else Opaque("required")


def _is_default(value: Any, held: Any, default: Any, filled: bool) -> bool:
    """Equal to the default; or a blank default that the class itself fills in, with a switch or a number."""
    if type(value) is type(default) and value == default:
        return True
    if isinstance(value, (int, float)) and isinstance(default, (int, float)) and not isinstance(value, bool):
        return not isinstance(default, bool) and value == default
    if (
        value == [default] or default == [value] or (value == "no" and default is False)
    ):  # later releases write the old default in a new form
        return True
    if default not in _EMPTY and default != "auto":
        return False
    if value in _EMPTY:
        return True
    if hasattr(type(held), "__dataclass_fields__"):
        return all(not field.chosen for field in fields(held))
    if isinstance(value, dict) and filled:
        return all(child in (None, False, 0) for child in value.values())  # fsdp_config without FSDP
    return filled and isinstance(value, (bool, int, float))


_filled_by: dict[type, frozenset[str]] = {}


def _filled(owner: type) -> frozenset[str]:
    """The fields to which a method of the class assigns, such as TRL's `self.bf16 = not self.fp16`."""
    if owner not in _filled_by:
        names: set[str] = set()
        for base in owner.__mro__[:-1]:
            try:
                source = inspect.getsource(base)
            except (OSError, TypeError):  # a class that was typed in has no source
                continue
            names.update(_ASSIGNED.findall(source))
        _filled_by[owner] = frozenset(names)
    return _filled_by[owner]


def signature_fields(config: Any) -> Iterator[Field]:
    """The same for a class that is built by its own `__init__` (BitsAndBytesConfig): its parameters against their defaults."""
    filled = _filled(type(config))
    for name, parameter in inspect.signature(type(config).__init__).parameters.items():
        if (
            parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            or name == "self"
            or not hasattr(config, name)
        ):
            continue
        value = plain(getattr(config, name))
        default = Opaque("required") if parameter.default is parameter.empty else plain(parameter.default)
        if not isinstance(value, Opaque):
            blank = default is None and name in filled
            yield Field(
                name,
                value,
                not (_is_default(value, value, default, name in filled) or (blank and value in ("float32", "uint8"))),
            )
