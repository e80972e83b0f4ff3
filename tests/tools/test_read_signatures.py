"""The reader of signatures, on a package of a few lines."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from releases.signatures import Callables, read  # noqa: E402

LIBRARY = Callables("pack", "pack", ("pack",), "1", ("*.py",), ("Model",))
FILES = {
    "__init__.py": "from .a import make, Model, Child, Foreign\n",
    "a.py": """
from typing import overload
import other

@overload
def make(x: int) -> int: ...
def make(x, *, size, depth=2): ...

def many(*rest, **more): ...

@deprecate_kwarg("old", new_name="new")
def renamed(new): ...

@compiled
def hidden(x): ...

if something:
    def double(x): ...
else:
    def double(x, y): ...

class Model:
    def __init__(self, path, /, bits=4): ...
    @classmethod
    def load(cls, where, *, strict=True): ...
    @property
    def size(self): ...

class Child(Model):
    pass

class Foreign(other.Base):
    pass

class Made:
    def __new__(cls, x): ...

class _Own:
    def __init__(self, x): ...
""",
    "experimental/a.py": "class Model:\n    def __init__(self, x): ...\n",
}


def test_each_callable_as_python_takes_it() -> None:
    assert read(LIBRARY, FILES) == {
        "Child": "path, /, bits=",
        "Model": "path, /, bits=",
        "Model.load": "where, *, strict=",
        "experimental.Model": "x",
        "make": "x, *, size, depth=",
        "many": "*rest, **",
        "renamed": "~ new",
    }
