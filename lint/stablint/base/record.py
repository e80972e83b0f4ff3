"""`NamedTuple` as in typing, for modules that every check loads: a class is made without compiling its annotations and its constructor.

Both cost `typing.NamedTuple` most of a tenth of a millisecond a class, a tenth of a check of one file. What the classes can do is the same
(tests/test_record.py).
"""

from __future__ import annotations

import sys

__all__ = ["NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING or sys.version_info >= (3, 14):  # where annotations are kept in another way
    from typing import NamedTuple
else:
    from collections import _tuplegetter

    _new = tuple.__new__
    _constructors = {}

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
