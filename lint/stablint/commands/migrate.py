"""`stablint migrate`: settings that newer releases renamed, removed or read by another type are rewritten, and changed defaults are written down."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import NamedTuple

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.commands.diff import compare
from stablint.commands.outputs import tell_faults
from stablint.commands.repairs import interrupted, recover, roots, write
from stablint.config.options import Wrong
from stablint.config.spec import CLEAN, FOUND, WRONG
from stablint.engine.inspect import Inspection, effective, inspect
from stablint.engine.repair import Repaired, repair
from stablint.files.discover import NoSuchPath
from stablint.fix.pin import Default, Pinned, pin
from stablint.hazard import model as hazards
from stablint.report.plain import named, plain, shown
from stablint.run.fact import Secret
from stablint.run.releases.fields import field
from stablint.run.world import Run
from stablint.secrets import exit
from stablint.syntax.edit import apply

_PINNED = ("training.", "lora.", "quantization.", "trainer.")  # namespaces whose defaults belong to a release


class Migrated(NamedTuple):
    done: Repaired  # with the pins in its texts
    pinned: tuple[Pinned, ...]
    by_hand: tuple[str, ...]
    unsaid: tuple[str, ...]  # libraries whose old release nobody names


def run_migrate(given: argparse.Namespace, new: Options, old: Options) -> int:
    """0 where the files are as the new releases want them; 1 where something is left to do by hand, or --diff would change something."""
    base, changed = os.getcwd(), list[str]()
    root = roots(given.paths, base, new)
    try:
        if not given.diff:
            recover(given.paths, base, root)
        made = migrate(given.paths, new, old)
    except NoSuchPath as error:
        raise Wrong(gettext("`{path}` does not exist").format(path=error)) from error
    if given.diff:
        from stablint.commands.check import print_patch

        changes = print_patch(made.done)
        _tell(made, False)
        tell_faults(made.done.inspection)
        if made.done.inspection.report.incomplete:
            return WRONG
        return FOUND if changes or made.by_hand else CLEAN
    try:
        done = write(made.done, base, root, (), changed, lambda: made.done.inspection)
    except KeyboardInterrupt as error:
        raise interrupted(error, changed, base) from None
    _tell(made._replace(done=done), True)
    tell_faults(done.inspection)
    if done.inspection.report.incomplete or done.unwritten:
        return WRONG
    return FOUND if made.by_hand else CLEAN


def migrate(paths: list[str], new: Options, old: Options) -> Migrated:
    """The files under `paths` for the releases of `new`; `old` says which they were written for, as far as that is known. Writes nothing.

    Raises discover.NoSuchPath.
    """
    base = os.getcwd()
    new, old = new._replace(assumed=True), old._replace(assumed=True)
    rules = tuple(migrations())
    before = inspect(paths, old, base=base, known=())
    if not before.runs:
        raise Wrong(gettext("{paths}: no training configuration, nothing to migrate").format(paths=paths[0]))
    done = repair(paths, new, unsafe=True, base=base, known=rules, read=before.files)
    pinned: list[Pinned] = []
    state, tried = done.inspection, set()
    while True:
        left = (
            (run, one)
            for was, run in _pairs(before, state)
            for one in _changed(was, run)
            if (_entry(run), one.fact) not in tried
        )
        run, default = next(left, (None, None))
        if run is None or default is None:
            break
        tried.add((_entry(run), default.fact))
        (one,) = pin(run, [default])
        trial = _applied(one, done)
        after = inspect(paths, new, base=base, texts=trial.texts, known=rules, read=before.files)
        if one.files and _holds(default, _entry(run), after):
            done, state = trial, after
        elif one.files:
            one = one._replace(files=(), why="the value would not stand as it was")
        pinned.append(one)
    if any(
        one.files for one in pinned
    ):  # the name used longest, which a default is written down under, may have a successor too
        last = repair(paths, new, unsafe=True, base=base, texts=done.texts, known=rules, read=before.files)
        state = last.inspection
        done = last._replace(
            texts={**done.texts, **last.texts},
            before={**last.before, **done.before},
            repairs=(*done.repairs, *last.repairs),
            inspection=state._replace(report=state.report._replace(fixed=())),  # the words of the last repairs alone
        )
    wrong = [d for d in state.report.diagnostics if d.severity == "error" and d.suppressed is None]
    by_hand = tuple(f"{d.text.name if d.text else ''}: {d.code} {d.message}" for d in wrong)
    return Migrated(done, tuple(pinned), by_hand, tuple(_unsaid(before, new)))


def migrations() -> Iterator[hazards.Hazard]:
    """The rules about releases, but for those that guess by likeness what was meant: a key of somebody's own stays as it is."""
    for hazard in hazards.load():
        guesses = any("item.correction" in pair for remedy in hazard.remedies for pair in remedy.swap)
        if hazard.code.startswith("V") and not guesses:
            yield hazard


def _pairs(before: Inspection, after: Inspection) -> Iterator[tuple[Run, Run]]:
    """The runs as they were and as they are, in the order of the files; none where there are not as many as before."""
    one = [run for run in before.runs if run.target == before.runs[0].target]
    other = [run for run in after.runs if run.target == after.runs[0].target]
    yield from zip(one, other, strict=True) if len(one) == len(other) else ()


def _changed(was: Run, run: Run) -> Iterator[Default]:
    """What neither text states and the two releases fill in differently."""
    for row in compare(was, run).differences:
        if row.kind != "changed" or not row.name.startswith(_PINNED) or isinstance(row.a.value, Secret):
            continue
        library = row.a.origin.get("library", "")
        if row.a.value is None and not _may_be_null(row.name, run):
            continue  # what was not set then cannot be unset now
        if row.a.origin["kind"] == row.b.origin["kind"] == "default" and was.releases.stated(library):
            yield Default(
                row.name, row.a.value, f"{library} {was.releases.text(effective(was).choice[library], library)}"
            )


def _may_be_null(name: str, run: Run) -> bool:
    head, _, key = name.partition(".")
    for owner in run.classes.get(head, ()):
        spans = field(owner.removeprefix("?"), key)
        newest = run.releases.newest(spans.library) if spans is not None else None
        if spans is not None and newest is not None and spans.exists_at(newest):
            return "None" in (spans.type_at(newest) or "None")
    return False


def _entry(run: Run) -> tuple[str, int]:
    return run.anchor.document.path, run.anchor.document.number


def _applied(one: Pinned, done: Repaired) -> Repaired:
    texts, originals = dict(done.texts), dict(done.before)
    for file in one.files:
        originals.setdefault(file.text.path, file.text)
        texts[file.text.path] = file.text._replace(text=apply(file.text.text, file.edits))
    return done._replace(
        texts=texts, before=originals, repairs=(*done.repairs, tuple(file.text.path for file in one.files))
    )


def _holds(default: Default, entry: tuple[str, int], after: Inspection) -> bool:
    """Whether the run has its old value again, and nothing became an error by that."""
    same = next((run for run in after.runs if _entry(run) == entry), None)
    return same is not None and bool(effective(same).fact(default.fact).value == default.value)


def _unsaid(before: Inspection, new: Options) -> Iterator[str]:
    """Without the old release there is no telling which defaults have changed."""
    for library, _ in new.releases:
        if not all(run.releases.stated(library) for run in before.runs):
            yield library


def _tell(made: Migrated, written: bool) -> None:
    exit.learn(made.done.inspection.secrets)
    verb = "rewritten" if written else "to rewrite"
    for path in sorted(made.done.texts):
        exit.say(f"{named(plain(made.done.texts[path].name))}: {verb}\n") if written else None
    for one in made.pinned:
        setting = f"{one.default.fact.partition('.')[2]}: {shown(one.default.value, 40)}"
        if one.files:
            exit.say(
                gettext("  {setting} is written down: the default of {release}\n").format(
                    setting=plain(setting), release=one.default.release
                )
            ) if written else None
        else:
            exit.tell(
                gettext("{setting} was the default of {release}; add it by hand: {why}").format(
                    setting=plain(setting), release=one.default.release, why=one.why
                )
            )
    for line in made.by_hand:
        exit.tell(gettext("by hand: {line}").format(line=plain(line)))
    for library in made.unsaid:
        exit.tell(
            gettext('which defaults of {library} have changed is not known: say --from "{library}==VERSION"').format(
                library=library
            )
        )
