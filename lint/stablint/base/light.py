"""What `typing` and `re` give, for the modules that every check loads, without their price.

Importing `typing` takes a thirtieth of the time of a check of one file, making a class by its `NamedTuple` most of a tenth of a millisecond, and
compiling all patterns as long as checking a file. What the classes can do is the same (tests/test_record.py); nothing at run time asks the other
names of `typing` for anything.
"""

from __future__ import annotations

import re
import sys

__all__ = [
    "TYPE_CHECKING", "Any", "BinaryIO", "NamedTuple", "ParamSpec", "Pattern", "TextIO", "TypeVar", "Union", "cast",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING or sys.version_info >= (3, 14):  # where annotations are kept in another way
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO, NamedTuple, ParamSpec, TextIO, TypeVar, Union, cast
else:
    Any = BinaryIO = TextIO = object

    class Union:
        """`Union["Node", None]` in an alias."""

        def __class_getitem__(cls, members):
            return object

    def TypeVar(name, **options):
        return object

    ParamSpec = TypeVar

    def cast(kind, value):
        return value

    from collections import _tuplegetter

    _new = tuple.__new__
    # A function of so many arguments, each; Python has compiled them when it runs this.
    _SHAPES = (
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
        lambda _cls, a, b, c, d, e, f, g, h, i: _new(_cls, (a, b, c, d, e, f, g, h, i)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j: _new(_cls, (a, b, c, d, e, f, g, h, i, j)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m)),
    )
    _constructors = {place + 1: shape.__code__ for place, shape in enumerate(_SHAPES)}

    def _constructor(fields, defaults):
        """A function of these arguments: one of the same number of arguments under other names."""
        code = _constructors.get(len(fields))
        if code is None:
            names = "".join(f"a{place}, " for place in range(len(fields)))
            made = compile(f"lambda _cls, {names}: _new(_cls, ({names}))", __name__, "eval")
            code = _constructors[len(fields)] = next(one for one in made.co_consts if isinstance(one, type(made)))
        code = code.replace(co_varnames=("_cls", *fields), co_name="__new__")
        return type(_constructor)(code, {"_new": _new}, "__new__", defaults or None)

    class _Record:
        """What every class gets."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            made = _new(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **others):
            made = _new(type(self), map(others.pop, self._fields, self))
            if others:
                raise ValueError(f"Got unexpected field names: {list(others)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self):
            return tuple(self)

    _COMMON = {name: _Record.__dict__[name] for name in ("_make", "_replace", "_asdict", "__repr__", "__getnewargs__")}

    class _Maker(type):
        def __new__(cls, name, bases, body):
            fields = tuple(body.get("__annotations__", ()))
            given = [field for field in fields if field in body]
            if given != list(fields[len(fields) - len(given) :]):
                raise TypeError(f"{name}: a field without a default stands behind one with a default")
            defaults = tuple([body.pop(field) for field in given])
            getters = {field: _tuplegetter(place, "") for place, field in enumerate(fields)}
            own = {
                "_fields": fields, "_field_defaults": dict(zip(given, defaults, strict=True)), "__match_args__": fields,
                "__slots__": (), "__new__": _constructor(fields, defaults),
            }  # fmt: skip
            return type(name, (tuple,), {**_COMMON, **getters, **own, **body})

    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})


class Pattern:
    """What `re.compile` gives. The work is done when a method is first called: many a check needs no pattern at all."""

    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    search: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    findall: Callable[..., list[Any]]
    sub: Callable[..., str]
    subn: Callable[..., tuple[str, int]]
    split: Callable[..., list[str]]

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))  # from then on the pattern's own
        return getattr(compiled, name)


_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")
