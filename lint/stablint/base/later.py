"""Modules that are loaded when somebody first uses them, so that one file is checked without the price of all that others need.

A room says in its `__init__` which of its modules wait: `later(__name__, "block", "full")`. Who needs one imports it at the top as any other,
`from stablint.report import full`, and it is loaded at the first `full.render(…)`. `from stablint.report.full import render` at the top
of a module loads it there and then.

`importlib.util.LazyLoader` looks for every file when it is named, and what waits stands in `sys.modules`, where pickle and others who look through
all modules would load it.
"""

import sys
from importlib import import_module

TYPE_CHECKING = False  # `typing` and `types` are not worth their price here
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any
else:
    ModuleType = type(sys)


_OWN = frozenset({"__class__", "__name__"})


def later(package: str, *names: str) -> None:
    """Load these modules of the package at their first use."""
    room = sys.modules[package]
    for name in names:
        if not hasattr(room, name):
            setattr(room, name, Waiting(f"{package}.{name}"))


class Waiting(ModuleType):
    """Stands for a module: whatever is asked of it or put into it is the module's."""

    def __getattribute__(self, name: str) -> "Any":
        own = ModuleType.__getattribute__
        return own(self, name) if name in _OWN else getattr(import_module(own(self, "__name__")), name)

    def __setattr__(self, name: str, value: "Any") -> None:
        setattr(import_module(self.__name__), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(import_module(self.__name__), name)
