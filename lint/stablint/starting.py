"""Where the program starts. Ctrl-C has an answer before a module is loaded; a command that has begun answers by itself, with what became of the files."""

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, which itself takes a millisecond of every start for its enumerations
import os
import sys

TYPE_CHECKING = False  # `typing` is not worth its price here
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = 130  # as a shell says it of a program that the signal ended


def script() -> None:
    """The console script, and `python -m stablint`."""
    try:
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:  # else whoever started it wants it ignored
            _signal.signal(_signal.SIGINT, _end)
        sys.unraisablehook = _unraisable
        from stablint.cli import script as answer

        answer()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)


def answers_itself() -> None:
    """From here on Ctrl-C is an exception: whoever writes files finishes them, or puts them back."""
    if _signal.getsignal(_signal.SIGINT) is _end:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def is_over() -> None:
    """The command has answered: Ctrl-C ends what is left to do."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)


def _end(number: int, frame: "Any") -> None:
    """Nothing has begun, or all is done: there is nothing to put back, and no module need be whole to say so."""
    os._exit(128 + number)


def _unraisable(what: "Any") -> None:
    """Python prints and forgets what is raised where nobody can take it, as when an object is taken apart. Ctrl-C is not forgotten."""
    if what.exc_type is not None and issubclass(what.exc_type, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    sys.__unraisablehook__(what)
