"""Modules that are loaded when somebody first uses them, so that one file is checked without the price of all that others need.

A room says in its `__init__` which of its modules wait: `later(__name__, "block", "full")`. Who needs one imports it at the top as any other,
`from stablint.report import full`, and it is loaded at the first `full.render(…)`. `from stablint.report.full import render` at the top
of a module loads it there and then. (`importlib.util.LazyLoader` does the same, but looks for every file when it is named.)
"""

import sys
from _thread import RLock  # `threading` and `types` have their price as well

TYPE_CHECKING = False  # as `typing` has
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any
else:
    ModuleType = type(sys)

# Of the names between underscores those that only the whole module can answer. The others are asked of all that stands in `sys.modules`, by the
# import statement itself and by whoever looks for the module that a file or a function is of.
_OF_ALL = frozenset({"__all__", "__dict__", "__doc__"})
_loading = RLock()  # of several threads one loads, the others wait for the whole module


def later(package: str, *names: str) -> None:
    """Load these modules of the package at their first use."""
    room = sys.modules[package]
    for name in names:
        full = f"{package}.{name}"
        if full not in sys.modules:
            sys.modules[full] = waiting = _Waiting(full)
            setattr(room, name, waiting)


def is_loaded(module: ModuleType) -> bool:
    """Has anybody used it?"""
    return type(module) is not _Waiting


class _Waiting(ModuleType):
    """A module of which nothing but its name is known yet; once loaded it is like any other, and the same object."""

    def __getattribute__(self, name: str) -> "Any":
        if name in _OF_ALL or not (name.startswith("__") and name.endswith("__")):
            with _loading:
                if type(self) is _Waiting and ModuleType.__getattribute__(self, "__spec__") is None:
                    _load(self)
        return ModuleType.__getattribute__(self, name)


def _load(module: _Waiting) -> None:
    name = module.__name__
    folders = sys.modules[name.rpartition(".")[0]].__path__
    spec = next(filter(None, (finder.find_spec(name, folders) for finder in sys.meta_path)))
    assert spec.loader is not None
    inside = ModuleType.__getattribute__(module, "__dict__")
    inside.update(__spec__=spec, __loader__=spec.loader, __package__=spec.parent, __file__=spec.origin)
    try:
        spec.loader.exec_module(module)
    except BaseException:  # Ctrl-C as well: whoever asks next must not meet half a module
        inside["__spec__"] = None
        raise
    ModuleType.__setattr__(module, "__class__", ModuleType)  # and no longer asks
