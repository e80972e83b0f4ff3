"""What stablint itself failed at, kept to the file that it failed on: the others are checked and reported all the same.

This is the one place that takes any exception. With STABLINT_DEBUG set (or `--debug`) its traceback goes to standard error.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from stablint.base.libraries import traceback
from stablint.base.light import NamedTuple, ParamSpec, TypeVar
from stablint.secrets import exit
from stablint.syntax.tree import Text

P = ParamSpec("P")
T = TypeVar("T")
DEBUG = "STABLINT_DEBUG"
_wanted = [bool(os.environ.get(DEBUG))]
_LONGEST = 200  # characters of an exception's own words


class Fault(NamedTuple):
    path: str
    name: str
    stage: str  # what was being done: "reading the file", "the rule P101"
    error: str  # type and words of the exception
    rule: str = "internal-fault"  # the rule that tells it

    def line(self) -> str:
        return f"{self.name}: {self.stage}: {self.error}"


class Faults:
    """Those of one check."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def refuse(self, path: str, name: str, why: str) -> None:
        """The system keeps back a file or a folder that is there."""
        fault = Fault(path, name, "reading the file", why, "unopened-file")
        if fault not in self.found:
            self.found.append(fault)

    def add(self, text: Text, stage: str, error: Exception) -> None:
        fault = Fault(text.path, text.name, stage, said(error))
        if fault not in self.found:
            self.found.append(fault)

    def guard(self, stage: str, text: Text, otherwise: T, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the work; `otherwise` where it raises, which is then a fault of that file."""
        result, error = attempt(work, *args, **kwargs)
        if error is not None:
            self.add(text, stage, error)
            return otherwise
        return result  # type: ignore[return-value]

    def of(self, path: str) -> Fault | None:
        """The first one of a file."""
        return next((fault for fault in self.found if fault.path == path), None)


def attempt(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> tuple[T | None, Exception | None]:
    """The result, or the exception. MemoryError and RecursionError are among them; Ctrl-C and an exit are not."""
    try:
        return work(*args, **kwargs), None
    except Exception as error:
        if isinstance(
            error.__cause__, KeyboardInterrupt
        ):  # Python 3.10 and 3.11 wrap what is raised while a class is made
            raise error.__cause__ from error
        trace(error)
        return None, error


def said(error: BaseException) -> str:
    """Type and words of an exception, in one short line."""
    words = " ".join(str(error).split())
    words = exit.cut(words, _LONGEST)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def debug(wanted: bool) -> None:
    """Whether tracebacks go to standard error; the environment can ask for them as well."""
    _wanted[:] = [wanted or bool(os.environ.get(DEBUG))]


def trace(error: BaseException) -> None:
    """Its traceback, to whoever asked for it."""
    if _wanted[0]:
        exit.say("".join(traceback.format_exception(error)) + "\n", error=True)
