"""`stablint diagnose`: from the log of a failed or sick run to the setting that causes it."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.commands import diagnose_repairs, repairs
from stablint.commands.outputs import skipped, tell_faults, wants_color, write_picture
from stablint.config.options import Wrong
from stablint.config.options import options as asked
from stablint.config.spec import CLEAN, FOUND, WRONG
from stablint.engine.inspect import A_LINK_OUT, Inspection, effective, inspect
from stablint.files.discover import NoSuchPath, is_link_out
from stablint.hazard import model as hazards
from stablint.log import picture as log_picture
from stablint.log import told
from stablint.log.cause import Cause
from stablint.log.join import Join, settings_of, wanted
from stablint.log.reading import Reading, read
from stablint.log.series import Series
from stablint.log.source import LARGEST_JSON, Block, Unreadable, blocks, logs, opened
from stablint.log.template import Known
from stablint.report.plain import to_json
from stablint.run.fact import ABSENT, is_unknown
from stablint.secrets import exit
from stablint.secrets.masking import generated_in
from stablint.secrets.masking import known as secrets_of
from stablint.syntax.text import bytes_of
from stablint.syntax.tree import Text

_ECHO = "command in the log"  # a file that is none: the echoed command, where no settings were named


class Diagnosis(NamedTuple):
    log: str
    reading: Reading
    causes: tuple[Cause, ...]
    found: Inspection | None
    options: Options  # under which the settings were judged: with what the log states
    files: tuple[str, ...]
    series: Series | None = None  # of its numbers, where a picture is asked for


def run_diagnose(given: argparse.Namespace, options: Options) -> int:
    """0 nothing known, 1 a cause is named, 2 wrong usage."""
    try:
        if given.fix and not given.diff:
            repairs.undo_half_done(split(given.paths)[1], options, os.getcwd())
        diagnoses = diagnose(given.paths, options, pictured=bool(given.plot))
    except NoSuchPath as error:
        raise Wrong(gettext("`{path}` does not exist").format(path=error)) from error
    except Unreadable as error:
        raise Wrong(str(error)) from error
    for one in diagnoses:
        if one.found is not None:
            tell_faults(one.found)
            exit.learn(one.found.secrets)
    if given.plot:
        _plot(given.plot, diagnoses)
    if given.fix or given.diff:
        return diagnose_repairs.repair_causes(diagnoses, given)
    say(diagnoses, given)
    if any(one.found is not None and one.found.report.incomplete for one in diagnoses):
        return WRONG
    return FOUND if any(one.causes for one in diagnoses) else CLEAN


def say(diagnoses: Sequence[Diagnosis], given: argparse.Namespace) -> None:
    """The causes in the format that is asked for."""
    if given.output_format == "json":
        exit.hand_over(to_json(told.data([cause for one in diagnoses for cause in one.causes])))
    elif given.output_format == "markdown":
        exit.say("\n".join(told.markdown(one.log, one.reading, one.causes) for one in diagnoses))
    else:
        color, verbose = wants_color(given.color), given.verbose
        exit.say(
            "\n".join(told.render(one.log, one.reading, one.causes, color=color, verbose=verbose) for one in diagnoses)
        )


def split(paths: list[str]) -> tuple[list[str], list[str]]:
    """The logs, and what is read as settings. A notebook is a program in either case: it is a log too where it ends in an error, or where nothing else
    is one and it has outputs. Raises NoSuchPath, Unreadable."""
    kinds = {path: _kind(path) for path in paths}
    named = [path for path in paths if kinds[path] is _Kind.LOG or kinds[path] is _Kind.FAILED]
    named = named or [path for path in paths if kinds[path] is _Kind.PRINTED]
    return named, [path for path in paths if kinds[path] is not _Kind.LOG]


def _plot(path: str, diagnoses: list[Diagnosis]) -> None:
    """One picture, of the log with the most numbers. Raises Wrong where none has any."""

    def rows(one: Diagnosis) -> int:
        return sum(len(curve.points) for curve in one.series.curves.values()) if one.series is not None else 0

    best = max(diagnoses, key=rows)
    picture = log_picture.draw(best.log, best.series, best.causes) if best.series is not None else None
    if picture is None:
        raise Wrong(
            gettext("--plot {path}: no numbers in {names}").format(
                path=path, names=", ".join(one.log for one in diagnoses)
            )
        )
    no_configurations = [name for one in diagnoses if one.found is not None for name in skipped(one.found)]
    write_picture(path, picture, no_configurations, [one.log for one in diagnoses])


def diagnose(paths: list[str], options: Options, *, pictured: bool = False) -> list[Diagnosis]:
    """Logs and settings in any order: what is read as a configuration is one. Raises NoSuchPath, Unreadable, Wrong where no log is named."""
    named, files = split(paths)
    if not named:
        raise Wrong(
            gettext(
                "no log is named: a text file, trainer_state.json, a notebook with outputs, a run's folder, or - for standard input"
            )
        )
    known = Known()
    return [_one(log, files, options, known, pictured) for path in named for log in logs(path)]


def _one(log: str, files: list[str], options: Options, known: Known, pictured: bool) -> Diagnosis:
    series = Series() if pictured else None
    stays_within(log, options)
    return of_reading(log, _read(log, known, series), files, options, known)._replace(series=series)


def stays_within(log: str, options: Options) -> None:
    """Raises Unreadable for a log that is a link of a repository out of it: what it leads to would be quoted."""
    if log != "-" and options.root is None and is_link_out(log):
        raise Unreadable(f"{log}: {A_LINK_OUT}")


def of_reading(log: str, reading: Reading, files: list[str], options: Options, known: Known) -> Diagnosis:
    """What was read of a log, beside the settings."""
    exit.learn(generated_in("\n".join(_quoted(reading))))
    rules = wanted(reading, known)
    stated = _with_stated(options, reading)
    found = _inspected(log, files, reading, stated, rules) if rules or files else None
    shown = _shown(reading, known, found)
    if shown:
        stated = stated._replace(sets=(*stated.sets, *shown))
        found = _inspected(log, files, reading, stated, rules)
    causes = Join(log, reading, known, settings_of(found)).causes()
    return Diagnosis(log, reading, tuple(_nameless(cause) for cause in causes), found, stated, tuple(files))


def _quoted(reading: Reading) -> Iterator[str]:
    """The lines that are shown of a log. Whatever key may stand before it, or none that is known: what looks generated is hidden in them."""
    yield from (one.text for one in (*reading.matches, *reading.harmless))
    yield from (one.text for one in reading.sick)
    if reading.exception is not None:
        yield reading.exception.said


_MOST_LEARNT = 8_000_000  # bytes of a log whose secrets are looked for everywhere in what is told of it


_ALIKE = 8  # lines of one kind that are read for secrets


class Learner:
    """What a log tells of a secret in one line, with its key, is hidden in every other as well."""

    def __init__(self) -> None:
        self._left = _MOST_LEARNT
        self._alike: dict[bytes, int] = {}  # lines but for their figures → how often they have come

    def learn(self, block: Block) -> None:
        if self._left > 0:
            self._left -= len(block.data)
            fresh = b"\n".join(self._fresh(block.data.replace(b"\r", b"\n").split(b"\n")))
            exit.learn(secrets_of(fresh.decode("utf-8", "replace")))

    def _fresh(self, lines: list[bytes]) -> Iterator[bytes]:
        """A row or a bar comes a thousand times with other figures, a key with its secret does not."""
        alike = self._alike
        for line in lines:
            key = line.translate(None, b"0123456789")
            times = alike.get(key, 0)
            if times < _ALIKE:
                alike[key] = times + 1
                yield line


def _learning(blocks: Iterator[Block]) -> Iterator[Block]:
    learner = Learner()
    for block in blocks:
        learner.learn(block)
        yield block


def _read(log: str, known: Known, series: Series | None) -> Reading:
    if log == "-":
        return read(_learning(blocks(sys.stdin.buffer, "-")), known, series)
    try:
        with opened(log) as stream:
            return read(_learning(blocks(stream, log)), known, series)
    except OSError as error:
        raise Unreadable(f"{log}: {error.strerror or error}") from error


def _inspected(
    log: str, files: list[str], reading: Reading, options: Options, rules: frozenset[str]
) -> Inspection | None:
    """What `check` says of the files by the rules that the log speaks of; of the echoed command where there are no files."""
    chosen = tuple(hazard._replace(quiet=False) for hazard in hazards.load() if hazard.id in rules)
    if files:
        return inspect(files, options._replace(policies=None), known=chosen)
    if not reading.stated.commands or log == "-":
        return None
    base = os.getcwd()
    path = os.path.join(base, "echoed.sh")
    text = "".join(f"{command}\n" for _, command in reading.stated.commands)
    return inspect([], options._replace(policies=None), texts={path: Text(path, _ECHO, text)}, known=chosen)


def _shown(reading: Reading, known: Known, found: Inspection | None) -> tuple[tuple[str, str], ...]:
    """Facts that the sickness has shown, such as a model that overflows in fp16: of runs whose settings know nothing of them, and only where no
    rule explains it without."""
    names = {match.template.symptom for match in reading.matches if match.template.symptom} | {
        one.symptom for one in reading.sick
    }
    symptoms = [known.symptoms[name] for name in names if known.symptoms[name].observes]
    if (
        found is None
        or not symptoms
        or any(one.rule in symptom.hazards for one in found.report.diagnostics for symptom in symptoms)
    ):
        return ()
    facts = {fact: value for symptom in symptoms for fact, value in symptom.observes.items()}
    worlds = [effective(run) for run in found.runs]
    return tuple((fact, value) for fact, value in facts.items() if all(_is_open(world.value(fact)) for world in worlds))


def _is_open(value: object) -> bool:
    return value is ABSENT or is_unknown(value) or value == "unknown"


def _with_stated(options: Options, reading: Reading) -> Options:
    """With the releases and the card that the log states, where the command line says none."""
    said = dict(options.releases)
    more: list[tuple[str, str]] = []
    for library, release in reading.stated.releases.items():
        if library not in said:
            try:
                more += asked(releases=[f"{library}=={release}"]).releases
            except Wrong:
                continue  # a release that never was: something else in the log looks like one
    cards = options.gpus
    if not cards and len(reading.stated.cards) == 1:
        try:
            cards = asked(gpus=reading.stated.cards).gpus
        except Wrong:
            cards = ()
    return options._replace(releases=(*options.releases, *more), gpus=cards)


def _nameless(cause: Cause) -> Cause:
    """The echoed command is no file that could be changed."""
    return (
        cause._replace(file=None, line=None, fix=cause.fix and cause.fix._replace(files=()))
        if cause.file == _ECHO
        else cause
    )


_LOGS = (".log", ".out", ".txt", ".err", ".jsonl")
_STATES = ("trainer_state.json",)


class _Kind(Enum):
    LOG = "log"
    SETTINGS = "settings"
    FAILED = "a notebook with an error"
    PRINTED = "a notebook with outputs, a folder of checkpoints"


def _kind(path: str) -> _Kind:
    """By its name where that says it, by what it holds where it could be both. Raises NoSuchPath, Unreadable."""
    if path == "-":
        return _Kind.LOG
    if not os.path.lexists(path):
        raise NoSuchPath(path)
    if os.path.isdir(path):
        return _of_folder(list(os.scandir(path)))
    name = os.path.basename(path).lower()
    if name.endswith(_LOGS) or name in _STATES or "." not in name:
        return _Kind.SETTINGS if name.startswith("requirements") else _Kind.LOG
    if name.endswith(".ipynb"):
        return _of_notebook(_head(path, LARGEST_JSON))
    if name.endswith(".json"):
        return _Kind.LOG if b'"log_history"' in _head(path, 1 << 20) else _Kind.SETTINGS
    return _Kind.LOG if name.rpartition(".")[2].isdigit() else _Kind.SETTINGS  # train.log.1, slurm-123.4


def _of_folder(entries: list[os.DirEntry[str]]) -> _Kind:
    """Of a run's folder; one that holds checkpoints alone is a log where nothing else is one."""
    if any(entry.name.endswith(_LOGS) or entry.name in _STATES for entry in entries):
        return _Kind.LOG
    states = (os.path.join(entry.path, name) for entry in entries if entry.is_dir() for name in _STATES)
    return _Kind.PRINTED if any(map(os.path.isfile, states)) else _Kind.SETTINGS


def _head(path: str, largest: int) -> bytes:
    try:
        return bytes_of(path, largest) or b""
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error


_OUTPUT = re.compile(rb'"output_type"\s*:\s*"(error|stream|execute_result|display_data)"')


def _of_notebook(data: bytes) -> _Kind:
    kinds = {match.group(1) for match in _OUTPUT.finditer(data)}
    return _Kind.FAILED if b"error" in kinds else _Kind.PRINTED if kinds else _Kind.SETTINGS
