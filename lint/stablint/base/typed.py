"""What annotations are written with, for modules that every check loads.

Importing `typing` takes a thirtieth of the time of a check of one file, and nothing at run time asks these names for anything.
"""

from __future__ import annotations

import sys

__all__ = ["TYPE_CHECKING", "Any", "BinaryIO", "ParamSpec", "TextIO", "TypeVar", "Union", "cast"]

TYPE_CHECKING = False
if TYPE_CHECKING or sys.version_info >= (3, 14):  # there stablint.base.record needs it anyway
    from typing import Any, BinaryIO, ParamSpec, TextIO, TypeVar, Union, cast
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
