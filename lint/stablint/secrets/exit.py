"""The one way out of the program: standard output, standard error, and the files of reports. What leaves here holds no secret.

Commands use the functions below and nothing else (tests/test_architecture.py holds them to it). What others write by themselves, as argparse does
its messages and the interpreter its tracebacks, meets the same mask: while a command runs, both streams are guarded.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from stablint.base import whole
from stablint.base.light import Any, BinaryIO, Pattern, TextIO
from stablint.secrets import masking, veil
from stablint.secrets.hints import may_hold_secret

STARS = "*" * 8
_MOST_HELD = 1_000_000  # characters of a line without an end that wait for it

# GitHub Actions obeys `::error …::` at the beginning of a line of a log, behind blanks as well.
_COMMAND_LINE = Pattern(r"(?m)^([ \t]*):(?=:)")

_known: list[frozenset[str]] = [frozenset()]
_words: list[str] = []


def learn(secrets: Iterable[str]) -> None:
    """Secrets of the files at hand: from now on they are hidden in everything, whatever stands around them."""
    _known[0] |= frozenset(secrets)


def forget() -> None:
    _known[0] = frozenset()
    _words.clear()


def masked(text: str, *, data: bool = False) -> str:
    """What may leave of `text`. `data`: it is JSON."""
    if _words:
        _learn_words()
    if not _known[0] and not may_tell(text):
        return text
    return masking.mask(text, _known[0], data=data)


def masked_within(value: Any) -> Any:
    """The same of every text within data: each is read as a sentence, as where people are told it."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, (list, tuple)):
        return [masked_within(one) for one in value]
    return {key: masked_within(one) for key, one in value.items()} if isinstance(value, dict) else value


_NARROWEST = 40  # columns: less is no terminal that somebody reads a report in
_BEHIND = 4_096  # characters behind a cut that may belong to what begins in front of it


def silence() -> None:
    """From now on nothing of this process reaches its standard error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def cut(text: str, longest: int) -> str:
    """At most `longest` characters of a text, masked before it is cut: half a token has lost the shape by which it is known."""
    return text if len(text) <= longest else masked(text[: longest + _BEHIND])[: longest - 1] + "…"


def quoted(word: str, near: Iterable[str] = ()) -> str:
    """A word of a settings file as a message quotes it; `near`: what may stand there."""
    return f"`{word if veil.is_no_secret(word, near) else STARS}`"


def may_tell(text: str) -> bool:
    """A cheap look: whether a text may hold a secret at all."""
    return may_hold_secret(text)


def learn_names(paths: Iterable[str]) -> None:
    """What the names of files and folders say behind a key that names a secret, and a message about one of them would repeat."""
    telling = [path for path in paths if may_tell(path)]
    if telling:
        learn(secret for path in telling for secret in masking.in_name(path))


def _learn_words() -> None:
    """The words of the command line itself: a message may quote one of them without its key."""
    words = list(_words)
    line = " ".join("'" + word.replace("'", "'\\''") + "'" if " " in word else word for word in _words)
    _words.clear()
    if may_tell(line):
        learn(masking.known(line, "shell"))
        learn(masking.named(words))
        learn(secret for word in words for secret in masking.in_name(word))


class _Guarded(io.TextIOBase, TextIO):
    """A text stream that writes whole lines without their secrets. It begins nothing of its own: encoding, terminal and descriptor are the inner one's."""

    def __init__(self, inner: Any) -> None:
        self.inner = io.StringIO() if inner is None else inner  # closed by whoever started the program: nobody reads it
        self._held = ""

    def write(self, text: str) -> int:
        held = self._held + text
        cut = held.rfind("\n") + 1
        if len(held) - cut > _MOST_HELD:
            cut = len(held)
        self._held = held[cut:]
        if cut:
            self.inner.write(masked(held[:cut]))
        return len(text)

    def write_masked(self, text: str) -> None:
        """What has been masked as a whole, and waits for nothing."""
        if self._held or not text.endswith("\n"):
            self.write(text)
        else:
            self.inner.write(text)

    def flush(self) -> None:
        held, self._held = self._held, ""
        if held:
            self.inner.write(masked(held))
        self.inner.flush()

    def close(self) -> None:
        if not self.inner.closed:  # Python, when it ends, may have closed the inner one before
            super().close()

    def isatty(self) -> bool:
        return bool(self.inner.isatty())

    def fileno(self) -> int:
        return int(self.inner.fileno())

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> Any:  # type: ignore[override]
        return self.inner.encoding

    @property
    def errors(self) -> Any:  # type: ignore[override]
        return self.inner.errors

    @property
    def buffer(self) -> Any:
        return self.inner.buffer


@contextmanager
def guarded(words: list[str]) -> Iterator[None]:
    """Both streams are guarded within, and what is learnt there is forgotten behind it. `words` are the command line's."""
    outer = sys.stdout, sys.stderr
    forget()
    _words[:] = words
    out, error = _Guarded(outer[0]), _Guarded(outer[1])
    sys.stdout, sys.stderr = out, error
    try:
        yield
    finally:
        for stream in (out, error):
            try:
                stream.flush()
            except (BrokenPipeError, ValueError):  # the reader has seen enough, or has closed it
                stream.inner = io.StringIO()
        sys.stdout, sys.stderr = outer
        forget()


def guard(words: list[str]) -> None:
    """For the rest of the process."""
    _words[:] = words
    sys.stdout, sys.stderr = _Guarded(sys.stdout), _Guarded(sys.stderr)


def is_guarded() -> bool:
    return isinstance(sys.stdout, _Guarded)


def say(text: str, *, error: bool = False) -> None:
    """For people. What the terminal's own encoding cannot show is written as an escape, instead of an error."""
    _write(sys.stderr if error else sys.stdout, masked(unlike_a_command(text)))


def unlike_a_command(text: str) -> str:
    """A text for people, no line of which begins as a workflow command: `\\x3a:error::`."""
    return _COMMAND_LINE.sub(r"\1\\x3a", text) if "::" in text else text


def tell(line: str) -> None:
    """One line about the program itself, on standard error."""
    say(f"stablint: {line}\n", error=True)


def hand_over(text: str) -> None:
    """For programs: UTF-8 and line feeds, whatever the encoding of the console; a terminal gets what it can show."""
    text = masked(text, data=text[:1] in ("{", "["))
    if is_terminal():
        _write(sys.stdout, text)
    else:
        _bytes(text.encode("utf-8", "backslashreplace"))


def hand_over_patch(data: bytes) -> None:
    """A patch, whose every byte counts; what would show a secret has been left out of it before."""
    _bytes(masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))


def hand_back(data: bytes) -> None:
    """A file that came on standard input and goes to standard output: it is the caller's, secrets and all."""
    _bytes(data)


def write_report(path: str, text: str, before: tuple[int, ...] | None = None) -> None:
    """A report's file, whole or not at all: on a full disk the old one stays. Raises OSError; Changed where the file is no longer what it was
    `before` (whole.state)."""
    data = masked(text, data=text[:1] in ("{", "[")).encode("utf-8", "backslashreplace")
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):  # a pipe, a terminal, /dev/stdout
        with open(target, "wb") as file:
            file.write(data)
        return
    new = whole.beside(target)
    with whole.deferred(f"{path} is written, whole"):
        try:
            with open(new, "xb") as file:
                file.write(data)
            if os.path.exists(target):
                os.chmod(new, stat.S_IMODE(os.stat(target).st_mode))
            if before is None:
                os.replace(new, target)
            else:
                whole.take_place(new, target, before)
        except BaseException:
            with suppress(OSError):
                os.unlink(new)
            raise


def is_terminal(*, error: bool = False) -> bool:
    return (sys.stderr if error else sys.stdout).isatty()


def columns(most: int) -> int:
    """How many columns a line for people may take: `most`, or what COLUMNS or the terminal has, if that is less."""
    said = os.environ.get("COLUMNS", "")
    wide = int(said) if said.isdecimal() else 0
    if not wide and sys.stdout.isatty():
        with suppress(OSError):  # a terminal that does not tell
            wide = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(_NARROWEST, min(most, wide)) if wide else most


def stream(*, error: bool = False) -> TextIO:
    """For those that draw and redraw a line, such as a count of files."""
    return sys.stderr if error else sys.stdout


def binary() -> BinaryIO:
    """For a protocol whose messages are framed: whoever writes there masks each message before its length is told."""
    return sys.stdout.buffer


def warn(text: str, above: int) -> None:
    """Python's own warning, in the name of the caller that many calls `above`."""
    warnings.warn(masked(text), stacklevel=above + 1)


def flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


def flush_for_good() -> None:
    """At the end of the process, whether somebody still reads or not."""
    with suppress(OSError, ValueError):
        flush()


def close_output() -> None:
    """Nobody reads any more: what is still to be written goes nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(stream: TextIO, text: str) -> None:
    """`text` is masked."""
    encoding = stream.encoding or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    if isinstance(stream, _Guarded):
        stream.write_masked(text)
    else:
        stream.write(text)


def _bytes(data: bytes) -> None:
    """To standard output as they are: no line end and no letter is exchanged."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
