"""`stablint watch`: a log is read while it grows, until it shows a cause."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.commands.diagnose import Diagnosis, Learner, diagnose, of_reading, say, split, stays_within
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN, FOUND
from stablint.files.discover import NoSuchPath
from stablint.log.cause import CERTAIN, LIKELY, Cause
from stablint.log.follow import Buffer, Look, Tail
from stablint.log.reading import Reader, Reading
from stablint.log.source import Unreadable, logs
from stablint.log.template import Known
from stablint.report.plain import plain
from stablint.secrets import exit

_SURE = {"certain": (CERTAIN,), "likely": (CERTAIN, LIKELY)}


def run_watch(given: argparse.Namespace, options: Options) -> int:
    """0 where the log came to its end without a cause, 1 at the first that is sure enough. Raises Wrong."""
    if given.interval <= 0:
        raise Wrong(gettext("--interval {interval:g}: it is above 0").format(interval=given.interval))
    log, files = _named(given.paths)
    try:
        stays_within(log, options)
        for one in (
            _documents(log, files, options, given) if log.endswith(".json") else _growing(log, files, options, given)
        ):
            causes = [cause for cause in one.causes if cause.confidence in _SURE[given.at]]
            if causes:
                return _sick(one, causes, given)
    except (OSError, Unreadable) as error:
        raise Wrong(f"{log}: {error.strerror or error}" if isinstance(error, OSError) else str(error)) from error
    exit.tell(plain(gettext("{log}: nothing known has shown").format(log=log)))
    return CLEAN


def _named(paths: list[str]) -> tuple[str, list[str]]:
    """One log, which need not be there yet, and the settings."""
    there = [path for path in paths if path == "-" or os.path.lexists(path)]
    found, files = split(there)
    to_come = [path for path in paths if path not in there]
    if to_come:  # what a notebook printed is of another run than the one that is waited for
        found = [path for path in found if not path.endswith(".ipynb")]
    if len(found) + len(to_come) != 1:
        names = ", ".join(f"`{path}`" for path in (*found, *to_come))
        raise Wrong(
            f"one log is watched, and these are {len(found) + len(to_come)}: {names}" if names else "no log is named"
        )
    log = (found + to_come)[0]
    try:
        return (logs(log)[0] if found else log), files
    except Unreadable as error:
        raise Wrong(str(error)) from error


def _growing(log: str, files: list[str], options: Options, given: argparse.Namespace) -> Iterator[Diagnosis]:
    """A diagnosis whenever the log has shown something new."""
    known = Known()
    reader, before, learner = Reader(known), None, Learner()
    for look in _of_stream() if log == "-" else _of_file(log, given):
        if look.anew:
            exit.tell(plain(gettext("{log} was {anew}: lines count from 1 again").format(log=log, anew=look.anew)))
            if look.anew == "truncated":
                reader, before = Reader(known), None  # another run begins
        for block in look.blocks:
            learner.learn(block)
            reader.block(block)
        reading = reader.result()
        shown = _shown(reading)
        if shown and shown != before:
            before = shown
            yield of_reading(log, reading, files, options, known)


def _shown(reading: Reading) -> tuple[object, ...]:
    return (
        *((match.template.number, match.line) for match in reading.matches),
        *((one.symptom, one.line) for one in reading.sick),
    )


def _of_file(log: str, given: argparse.Namespace) -> Iterator[Look]:
    tail, last = Tail(log), time.monotonic()
    try:
        while True:
            look = tail.look()
            yield look
            if look.grown:
                last = time.monotonic()
            elif given.idle is not None and time.monotonic() - last >= given.idle:
                yield Look(tail.end(), False)
                return
            if not look.more:
                time.sleep(given.interval)
    finally:
        tail.close()


def _of_stream() -> Iterator[Look]:
    buffer = Buffer()
    while data := os.read(sys.stdin.fileno(), 1 << 20):
        yield Look(buffer.take(data), True)
    yield Look(buffer.take(b"", end=True), False)


def _documents(log: str, files: list[str], options: Options, given: argparse.Namespace) -> Iterator[Diagnosis]:
    """`trainer_state.json` is written anew at every checkpoint: it is read whole whenever it is another one."""
    before, last = None, time.monotonic()
    while True:
        try:
            state = os.stat(log)
            now: tuple[float, int] | None = (state.st_mtime, state.st_size)
        except FileNotFoundError:
            now = None
        if now is not None and now != before:
            before, last = now, time.monotonic()
            try:
                yield from diagnose([log, *files], options)
            except NoSuchPath:
                before = None  # replaced while we looked
        elif given.idle is not None and time.monotonic() - last >= given.idle:
            return
        time.sleep(given.interval)


def _sick(one: Diagnosis, causes: list[Cause], given: argparse.Namespace) -> int:
    if one.found is not None:
        exit.learn(one.found.secrets)
    say([one._replace(causes=tuple(causes))], given)
    exit.flush()
    if given.on_sick:
        words = {"STABLINT_RULE": causes[0].rule, "STABLINT_LOG": one.log, "STABLINT_LINE": str(causes[0].at)}
        code = subprocess.run(given.on_sick, shell=True, env={**os.environ, **words}, check=False).returncode
        if code:
            exit.tell(
                plain(
                    gettext("--on-sick ended with {code}: {command}").format(
                        code=code, command=exit.masked(given.on_sick)
                    )
                )
            )
    return FOUND
