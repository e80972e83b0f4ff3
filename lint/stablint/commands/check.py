"""`stablint check`: inspect, filter, repair where it is asked for, print, and say by the exit code what is left."""

from __future__ import annotations

import os
import sys
from functools import cache

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.base.libraries import difflib
from stablint.base.light import TYPE_CHECKING, Any
from stablint.base.meant import did_you_mean
from stablint.commands import baselines, repairs
from stablint.commands import show as show_command
from stablint.commands.outputs import FOR_PEOPLE, Output, emit, outputs, tell_faults, wants_color
from stablint.config import arguments
from stablint.config.options import Given, Wrong
from stablint.config.project import options_of
from stablint.config.selection import listed
from stablint.config.spec import CHECK_OPTIONS, CLEAN, COMMANDS, FOUND, RUN_OPTIONS, SETTINGS_OPTIONS, WRONG
from stablint.engine import repair
from stablint.engine.inspect import Inspection, inspect
from stablint.files.discover import LinkOut, NoSuchPath
from stablint.fix import exchange, patch
from stablint.policy import Policies
from stablint.report import progress
from stablint.report import show as show_report
from stablint.report.model import FileStatus
from stablint.report.plain import plain
from stablint.secrets import exit, languages, masking, veil
from stablint.syntax import text as source_text
from stablint.syntax.tree import Text

if TYPE_CHECKING:
    from stablint.engine.repair import Repaired

_UNREAD = ("unreadable-file", "unopened-file")
_SWITCHES = frozenset(name for name, settings in CHECK_OPTIONS if settings.get("action") == "store_true")
_RANK = {"info": 0, "warning": 1, "error": 2}


def check_command(words: list[str], extra: list[str]) -> int:
    """`stablint check WORDS -- EXTRA`: `extra` are flags as a launcher would add them."""
    given, flags = (None if extra else plainly(words)), extra
    if given is None:
        read, flags = arguments.check_parser().read(words, extra)
        given = Given(vars(read))
    words_of = [given.stdin_filename or "stdin" if path == "-" else path for path in given.paths]
    return run_check(given, options_of(given, flags, words_of))


def plainly(words: list[str]) -> Given | None:
    """A command line of nothing but names that stand together and switches, as hooks write it; argparse, whose import costs more than
    reading a file, is asked of all others."""
    paths = [place for place, word in enumerate(words) if not word.startswith("-") or word == "-"]
    if not paths or paths[-1] - paths[0] != len(paths) - 1:
        return None
    said: dict[str, Any] = {}
    for name, settings in (*RUN_OPTIONS, *SETTINGS_OPTIONS, *CHECK_OPTIONS):
        default = settings.get("default", False if settings.get("action") == "store_true" else None)
        said.setdefault(
            settings.get("dest") or name[2:].replace("-", "_"), list(default) if isinstance(default, list) else default
        )
    for place, word in enumerate(words):
        if not paths[0] <= place <= paths[-1]:
            if word not in _SWITCHES:
                return None
            said[word[2:].replace("-", "_")] = True
    return Given(said | {"paths": words[paths[0] : paths[-1] + 1]})


def run_check(given: Given, options: Options) -> int:
    base = os.getcwd()
    where = outputs(given.outputs)
    if given.jobs < 0:
        raise Wrong(gettext("--jobs {jobs}: a number from 1 on, or 0 for the default").format(jobs=given.jobs))
    if given.write_baseline and any(output.file is not None for output in where):
        raise Wrong(gettext("--write-baseline writes no report: leave --output-file out"))
    options = options._replace(skip_unrecognised=given.skip_unrecognised, jobs=given.jobs)
    policies = options.policies
    assert policies is not None
    paths, texts = _stdin(given, base)
    try:
        if given.fix or given.diff:
            return _repair(given, options, policies, paths, texts, base, where)
        found = inspect(paths, options, base=base, texts=texts, watch=_watch(given))
    except NoSuchPath as error:
        missing = str(error)
        why = gettext("`{path}` does not exist{meant}").format(path=missing, meant=_command_meant(missing, paths))
        if given.write_baseline or all(output.format in FOR_PEOPLE for output in where):
            raise Wrong(why) from error
        _emitted(given, policies, where, _nothing_but(missing, why, options, base))
        return WRONG
    if given.write_baseline:
        return baselines.write_baseline(policies, found, base)
    if any(policy.baseline for policy in policies.asked()):
        baselines.tell_stale(policies, found, base)
    found = _emitted(given, policies, where, found)
    if given.show_facts and any(output.file is None and output.format in FOR_PEOPLE for output in where):
        _show_facts(given, found)
    return _exit_code(given, found, policies)


def _nothing_but(missing: str, why: str, options: Options, base: str) -> Inspection:
    """A report for programs, which want one whatever happened: of a path that is not there, and of nothing else."""
    found = inspect([], options, base=base, texts={})
    status = FileStatus(missing, None, "unreadable", gettext("it does not exist"))
    return found._replace(report=found.report._replace(files=(status,), broken=(why,)))


def _command_meant(missing: str, paths: list[str]) -> str:
    """A first word that is no file may be a command with a slip in it."""
    near = difflib.get_close_matches(missing, COMMANDS, 1, 0.7) if paths[:1] == [missing] else []
    return did_you_mean(f"stablint {command}" for command in near)


def _emitted(
    given: Given, policies: Policies, where: tuple[Output, ...], found: Inspection, fixed: int = 0
) -> Inspection:
    """Print the report as the options have it."""
    return emit(
        where, found, policies.texts(), color=given.color, fixed=fixed, statistics=given.statistics,
        hide_suppressed=given.hide_suppressed, tail="none" if given.quiet else "long" if given.verbose else "short",
    )  # fmt: skip


def _stdin(given: Given, base: str) -> tuple[list[str], dict[str, Text]]:
    if "-" not in given.paths:
        return given.paths, {}
    name = given.stdin_filename or "stdin.yaml"
    path = os.path.normpath(os.path.join(base, name))
    data = sys.stdin.buffer.read(source_text.LARGEST + 1)
    if len(data) > source_text.LARGEST:
        raise Wrong(
            gettext("standard input: larger than {number:g} MB, which no configuration is").format(
                number=source_text.LARGEST / 1000000
            )
        )
    content = source_text.decode(data, path, name.replace(os.sep, "/"))
    if isinstance(content, source_text.Unreadable):
        raise Wrong(gettext("standard input: {message}").format(message=content.problem.message))
    return [name if word == "-" else word for word in given.paths], {path: content}


def _watch(given: Given) -> Any:
    if given.quiet or not exit.is_terminal(error=True):
        return None
    return progress.watching(exit.stream(error=True))


def _repair(
    given: Given,
    options: Options,
    policies: Policies,
    paths: list[str],
    texts: dict[str, Text],
    base: str,
    where: tuple[Output, ...],
) -> int:
    root = repairs.roots(paths, base, options)
    if given.fix and not given.diff:
        repairs.recover(paths, base, root)

    @cache
    def shut(path: str) -> str:
        return "" if given.diff or path in texts else exchange.closed(path, root(path))

    named = listed(given.select)
    watch = _watch(given)
    done = repair.repair(
        paths, options, unsafe=given.unsafe_fixes, base=base, texts=texts, closed=shut, named=named, watch=watch
    )
    for line in done.refused:
        exit.tell(gettext("{line} (this is a bug: please report it)").format(line=plain(line)))
    for line in done.kept_out:
        exit.tell(plain(line))
    if given.diff:
        changes = print_patch(done)
        tell_faults(done.inspection)
        if done.inspection.report.incomplete:
            return WRONG
        return CLEAN if given.exit_zero or not (changes or _left(done.inspection, policies)) else FOUND
    changed: list[str] = []
    try:
        done = repairs.write(done, base, root, texts, changed, lambda: inspect(paths, options, base=base, texts=texts))
        if texts:  # what came on standard input goes to standard output, changed or not
            for path, text in texts.items():
                exit.hand_back(source_text.encode(text, done.texts.get(path, text).text))
            return _exit_code(given, done.inspection, policies)
        found = done.inspection
        found = _emitted(given, policies, where, found, done.fixed)
        code = _exit_code(given, found, policies)
        return WRONG if done.unwritten else code
    except KeyboardInterrupt as error:
        raise repairs.interrupted(error, changed, base) from None


def print_patch(done: Repaired) -> bool:
    """Whether there is something to change. To a terminal goes what can be shown there, elsewhere every byte as it is."""
    if done.texts:
        exit.learn(done.inspection.secrets)
    hidden = {
        line
        for path, text in (*done.texts.items(), *done.before.items())
        for line in (*masking.hidden_lines(text.text, languages.language_of(path)), *veil.veiled_lines(text.text, path))
    }
    made = patch.patch(done.texts, done.before, lambda line: line.rstrip("\n") in hidden or exit.masked(line) != line)
    if exit.is_terminal():
        lines = made.data.decode("utf-8", "replace").split("\n")
        exit.say("\n".join(plain(line) for line in lines))
    else:
        exit.hand_over_patch(made.data)
    for name, why in made.left_out:
        exit.tell(
            gettext("{name}: {why}, so it is not in the patch; --fix writes it").format(name=plain(name), why=why)
        )
    return bool(made.data or made.left_out)


def _show_facts(given: Given, found: Inspection) -> None:
    secrets = found.secrets
    exit.learn(secrets)
    text = show_report.render(
        [show_command.shown(run) for run in found.runs], color=wants_color(given.color), secrets=secrets
    )
    exit.say("\n" + text)


def _left(found: Inspection, policies: Policies) -> bool:
    """Whether something is left that fails the check, by the settings of its file."""
    return any(
        d.suppressed is None and _RANK[d.severity] >= _RANK[policies.at(d.text.path if d.text else "").fail_on]
        for d in found.report.diagnostics
    )


def _exit_code(given: Given, found: Inspection, policies: Policies) -> int:
    _tell_skipped(given, found)
    if found.report.incomplete:
        return WRONG
    asked = found.named or any(isinstance(why, LinkOut) for _, why in found.unread)
    if asked and not found.recognised and not given.skip_unrecognised:
        return WRONG
    return FOUND if _left(found, policies) and not given.exit_zero else CLEAN


def _tell_skipped(given: Given, found: Inspection) -> None:
    """One line on stderr for a file that was named and is none, and for what the system did not give out; what was only found is
    skipped in silence."""
    told = not given.skip_unrecognised and not given.quiet
    for status in found.report.files:
        if status.status == "skipped" and (given.verbose or (told and status.file in found.named)):
            exit.tell(gettext("{file}: no training configuration, skipped").format(file=plain(status.file)))
    spoken = {d.text.name for d in found.report.diagnostics if d.text is not None and d.rule in _UNREAD}
    for name, why in found.unread if not given.quiet else ():
        if name not in spoken:
            exit.tell(f"{plain(name)}: {plain(why)}")
