"""A check by several processes (`--jobs`): each inspects whole repositories, and the report is, byte for byte, that of one process.

Files of one repository may name one another and are told together, so a repository is the smallest share. The processes are forks, which
have the list, the options and the knowledge already; what comes back is a report. Whatever one process alone can tell of all files (a
baseline, an acceptance in settings that several repositories share, a fault of stablint's own, patterns that search too long) makes the
caller do the work by itself: `inspected` then answers None.
"""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.base import consulted
from stablint.engine import diagnostics, inspect, summary
from stablint.files import discover
from stablint.files.faults import attempt
from stablint.hazard.condition import refill, searched
from stablint.report.model import FileStatus, Report
from stablint.secrets import exit
from stablint.syntax.limits import SEARCHED

if TYPE_CHECKING:
    from stablint.report.progress import Watch

Listed = list[tuple[str, bool]]

WORTH = 120  # files for each process, below which starting it costs more than it saves
_SHARES = 4  # for each process, so that none waits long for the last one
_MOST_SHARES = 1_000  # their numbers wait in a pipe, which holds at least a page of 4 KB
_NUMBER = struct.Struct("<I")


class Part(NamedTuple):
    """What a process tells of its share."""

    report: Report
    recognised: int
    unread: discover.Missed
    referring: tuple[str, ...]
    secrets: frozenset[str]
    unfound: dict[str, str]
    frameworks: set[str]
    linked: set[str]
    searched: int
    faulty: bool
    consulted: tuple[frozenset[str], frozenset[str]]


def inspected(
    listed: Listed,
    missed: discover.Missed,
    files: Files,
    options: Options,
    watch: Watch | None = None,
) -> inspect.Inspection | None:
    """The inspection of the files by as many processes as `options.jobs` says (0: by the size of the work); None where one does it as well."""
    if not hasattr(os, "fork") or options.live is not None:
        return None
    wanted = options.jobs or min(_cores(), len(listed) // WORTH)
    if wanted < 2 or _speaks_of_all(options) or any(isinstance(words, discover.Refusal) for _, words in missed):
        return None
    shares = _shares(listed, files.root, wanted)
    if len(shares) < 2:
        return None
    done = _work(shares, min(wanted, len(shares)), lambda share: _part(share, files, options))
    parts: dict[int, Part] = {}

    def told() -> Iterator[tuple[str, bool]]:
        for number, part in done:
            parts[number] = part
            yield from shares[number]

    for _ in told() if watch is None else watch(told(), len(listed), "files"):
        pass
    return _whole([parts.get(number) for number in range(len(shares))], listed, missed, files, options)


def _cores() -> int:
    """Those that are free to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _speaks_of_all(options: Options) -> bool:
    """Whether settings accept single findings: which of their words are used is known when all files are."""
    return options.policies is not None and any(policy.speaks() for policy in options.policies.asked())


def _shares(listed: Listed, root: Callable[[str], str], jobs: int) -> list[Listed]:
    """The list in pieces, in its order, none of which ends within a repository, or within one that holds others."""
    roots = sorted({os.path.join(root(path), "") for path, _ in listed})
    outermost: list[str] = []
    for one in roots:
        if not outermost or not one.startswith(outermost[-1]):
            outermost.append(one)
    repositories: list[Listed] = []
    last = ""
    for path, named in listed:  # sorted, as the roots are: a folder's files stand together
        if not last or not path.startswith(last):
            last = next((one for one in outermost if path.startswith(one)), os.path.join(os.path.dirname(path), ""))
            repositories.append([])
        repositories[-1].append((path, named))
    size = max(1, -(-len(listed) // min(jobs * _SHARES, _MOST_SHARES)))
    shares: list[Listed] = []
    for repository in repositories:
        if shares and len(shares[-1]) + len(repository) // 2 < size:
            shares[-1].extend(repository)
        else:
            shares.append(list(repository))
    return shares


def _part(share: Listed, whole: Files, options: Options) -> Part:
    missed: discover.Missed = []
    files, before = Files(whole.root, whole.base, whole.reach), searched()
    found = inspect.inspected(share, missed, files, options, {})
    words, frameworks = summary.unfound(files, found.runs)
    return Part(
        found.report, found.recognised, list(found.unread), found.referring, found.secrets, words, frameworks,
        files.linked, searched() - before, bool(files.faults.found), consulted.noted(),
    )  # fmt: skip


def _whole(
    parts: list[Part | None],
    listed: Listed,
    missed: discover.Missed,
    files: Files,
    options: Options,
) -> inspect.Inspection | None:
    """The parts as one inspection; None where a part is missing, or where they do not add up to it."""
    done = [part for part in parts if part is not None]
    for path in {path for part in done for path in part.linked}:
        if options.policies is not None:
            options.policies.at(path)  # they may be under settings of their own
    if (
        len(done) < len(parts)
        or any(part.faulty for part in done)
        or sum(part.searched for part in done) > SEARCHED.most
        or _speaks_of_all(options)
    ):
        refill()
        return None
    words: dict[str, str] = {}
    for part in done:
        consulted.add(part.consulted)
        for path, text in part.unfound.items():
            words.setdefault(path, text)
    statuses: list[FileStatus] = [status for part in done for status in part.report.files]
    report = Report(
        tuple(statuses),
        tuple(run for part in done for run in part.report.runs),
        tuple(sorted((one for part in done for one in part.report.diagnostics), key=diagnostics.order)),
        tuple(sorted({one for part in done for one in part.report.undetermined})),
        (),
        tuple(summary.lacking(words, {name for part in done for name in part.frameworks})) if words else (),
        tuple(dict.fromkeys(note for part in done for note in part.report.notes)),
    )
    return inspect.Inspection(
        report, [], (), files,
        sum(part.recognised for part in done),
        frozenset(files.name(path) for path, named in listed if named),
        (*((files.name(path), why) for path, why in missed), *(row for part in done for row in part.unread)),
        tuple(listed),
        tuple(path for part in done for path in part.referring),
        frozenset().union(*(part.secrets for part in done)),
    )  # fmt: skip


def _work(shares: list[Listed], jobs: int, inspect: Callable[[Listed], Part]) -> Iterator[tuple[int, Part]]:
    """Parts by the number of their share. One that raised, or whose process was ended from outside, is missing."""
    tickets, tickets_in = os.pipe()
    with os.fdopen(tickets_in, "wb") as waiting:
        waiting.write(b"".join(map(_NUMBER.pack, range(len(shares)))))
    children: dict[int, int] = {}
    try:
        for _ in range(jobs - 1):
            out, into = os.pipe()
            child = os.fork()
            if child == 0:
                _live(into, [out, *children.values()], lambda: dict(_taken(tickets, shares, inspect)))
            os.close(into)
            children[child] = out
        yield from _taken(tickets, shares, inspect)
        for child, out in list(children.items()):
            with os.fdopen(out, "rb") as answer:
                children.pop(child)
                found, _ = attempt(pickle.load, answer)
            os.waitpid(child, 0)
            yield from (found or {}).items()
    finally:
        os.close(tickets)
        for child, out in children.items():  # this process was interrupted, and so are the others
            os.close(out)
            with suppress(ProcessLookupError):
                os.kill(child, 9)
            os.waitpid(child, 0)


def _taken(tickets: int, shares: list[Listed], inspect: Callable[[Listed], Part]) -> Iterator[tuple[int, Part]]:
    """Whoever is ready takes the next share."""
    while len(ticket := os.read(tickets, _NUMBER.size)) == _NUMBER.size:
        number = _NUMBER.unpack(ticket)[0]
        part, _ = attempt(inspect, shares[number])
        if part is not None:
            yield number, part


def _live(into: int, others: list[int], work: Callable[[], dict[int, Part]]) -> None:
    """A child's whole life: nothing of it reaches the streams, and whatever ends it, it never goes back to its caller."""
    code = 1
    try:
        exit.silence()  # what raises here is told by the parent, which does the work again
        for descriptor in others:
            os.close(descriptor)
        found = work()
        with os.fdopen(into, "wb") as answer:
            pickle.dump(found, answer, pickle.HIGHEST_PROTOCOL)
        code = 0
    except KeyboardInterrupt:
        code = 130  # the parent has it as well, and says so
    finally:
        os._exit(code)
