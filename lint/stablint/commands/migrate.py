"""`stablint migrate`: settings that newer releases renamed, removed or read by another type are rewritten, and changed defaults are written down."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.commands.check import print_patch
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
from stablint.syntax import limits
from stablint.syntax.edit import apply, overlaps
from stablint.syntax.tree import Edit, Text

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

    def check(texts: dict[str, Text], earlier: Inspection) -> Inspection:
        return inspect(paths, new, base=base, texts=texts, known=rules, earlier=earlier, read=before.files)

    done, pinned = _pinned(before, done, check)
    state = done.inspection
    if any(
        one.files for one in pinned
    ):  # the name used longest, which a default is written down under, may have a successor too
        last = repair(
            paths, new, unsafe=True, base=base, texts=done.texts, known=rules, read=before.files, earlier=state
        )
        state = last.inspection
        done = last._replace(
            texts={**done.texts, **last.texts},
            before={**last.before, **done.before},
            repairs=(*done.repairs, *last.repairs),
            inspection=state._replace(report=state.report._replace(fixed=())),  # the words of the last repairs alone
        )
    wrong = [d for d in state.report.diagnostics if d.severity == "error" and d.suppressed is None]
    by_hand = tuple(f"{d.text.name if d.text else ''}: {d.code} {d.message}" for d in wrong)
    return Migrated(done, tuple(pinned), (*by_hand, *_uneven(before, state)), tuple(_unsaid(before, new)))


def migrations() -> Iterator[hazards.Hazard]:
    """The rules about releases, but for those that guess by likeness what was meant: a key of somebody's own stays as it is."""
    for hazard in hazards.load():
        guesses = any("item.correction" in pair for remedy in hazard.remedies for pair in remedy.swap)
        if hazard.code.startswith("V") and not guesses:
            yield hazard


class _Wanted(NamedTuple):
    """A default that one run is to have again: the file that the run begins in, and which of its runs it is."""

    path: str
    number: int
    one: Pinned


class _Trials:
    """The defaults of files that hang together: all of them at once, and halves of those that do not hold."""

    def __init__(self, wanted: list[_Wanted]) -> None:
        self.queue, self.accepted, self.refused = [wanted], list[_Wanted](), list[tuple[_Wanted, str]]()
        self.tried = 0

    def settle(self, after: _Runs) -> None:
        """What became of the trial of what is accepted and the first of the queue."""
        first, self.tried = self.queue.pop(0), self.tried + 1
        if all(_holds(one, after) for one in (*self.accepted, *first)):
            self.accepted += first
        elif len(first) == 1:
            self.refused.append((first[0], "the value would not stand as it was"))
        elif self.tried < limits.TRIED.most:
            self.queue[:0] = [first[: len(first) // 2], first[len(first) // 2 :]]
        else:
            self.queue.insert(0, first)
            self.refused += [(one, "too many beside it did not hold") for several in self.queue for one in several]
            self.queue.clear()


_Runs = dict[str, list[Run]]  # by the file that they begin in


def _pinned(
    before: Inspection, done: Repaired, check: Callable[[dict[str, Text], Inspection], Inspection]
) -> tuple[Repaired, list[Pinned]]:
    """With what neither text states and the two releases fill in differently written down: a check for all files, and one more for each choice
    among those that do not hold together."""
    pinned: list[Pinned] = []
    tried: set[tuple[str, int, str]] = set()
    old, purse, rounds = _runs(before), limits.Purse(limits.REREAD), 0
    while wanted := list(_wanted(old, _runs(done.inspection), tried, purse)):
        rounds += 1
        if rounds > limits.TRIED.most:
            pinned += [one.one._replace(files=(), why="too many others touch the same text") for one in wanted]
            break
        pinned += [one.one for one in wanted if not one.one.files]
        groups = [_Trials(several) for several in _together(_apart(wanted))]
        tried |= {(path, number, one.default.fact) for path, number, one in wanted if not one.files}
        tried |= {(path, number, one.default.fact) for group in groups for path, number, one in group.queue[0]}
        start, state = done, done.inspection
        while trying := [group for group in groups if group.queue]:
            chosen = [one for group in groups for one in (*group.accepted, *(group.queue[0] if group.queue else ()))]
            done = _applied(chosen, start)
            state = check(done.texts, state)
            for group in trying:
                group.settle(_runs(state))
        kept = _applied([one for group in groups for one in group.accepted], start)
        if any(group.refused for group in groups):
            state = check(kept.texts, state)
        done = kept._replace(inspection=state)
        pinned += [one.one for group in groups for one in group.accepted]
        pinned += [one.one._replace(files=(), why=why) for group in groups for one, why in group.refused]
    return done, pinned


def _runs(found: Inspection) -> _Runs:
    """Of one target, in the order of each file."""
    runs: _Runs = {}
    for run in found.runs:
        if run.target == found.runs[0].target:
            runs.setdefault(run.anchor.document.path, []).append(run)
    return runs


def _wanted(before: _Runs, after: _Runs, tried: set[tuple[str, int, str]], purse: limits.Purse) -> Iterator[_Wanted]:
    """What was not tried yet; nothing of a file that does not have as many runs as before."""
    for path, runs in after.items():
        old = before.get(path, [])
        for number, (was, run) in enumerate(zip(old, runs, strict=True) if len(old) == len(runs) else ()):
            fresh = [one for one in _changed(was, run) if (path, number, one.fact) not in tried]
            yield from (_Wanted(path, number, one) for one in pin(run, fresh, purse))


def _uneven(before: Inspection, after: Inspection) -> Iterator[str]:
    """The files of which nobody knows which run has become which: their defaults are not written down."""
    old = _runs(before)
    for path, runs in _runs(after).items():
        if len(runs) != len(old.get(path, ())):
            yield gettext(
                "{file}: {new} runs where there were {old}; defaults that changed are not written down"
            ).format(file=runs[0].anchor.document.text.name, new=len(runs), old=len(old.get(path, ())))


def _apart(wanted: list[_Wanted]) -> list[_Wanted]:
    """Those that touch nothing of one another and say no setting of a file twice; the others come when these are settled."""
    chosen: list[_Wanted] = []
    spans: dict[str, list[Edit]] = {}
    said: set[tuple[str, str, int]] = set()
    for one in wanted:
        made = [(file.text.path, edit) for file in one.one.files for edit in file.edits]
        fact = one.one.default.fact
        names = {(path, fact, edit.start) for path, edit in made}
        if (
            not made
            or names & said
            or any(overlaps(edit, other) for path, edit in made for other in spans.get(path, ()))
        ):
            continue
        said |= names
        for path, edit in made:
            if edit.start < edit.end:  # an insertion is in nobody's way
                spans.setdefault(path, []).append(edit)
        chosen.append(one)
    return chosen


def _together(wanted: list[_Wanted]) -> list[list[_Wanted]]:
    """In groups that have no file in common."""
    chain: dict[str, list[_Wanted]] = {}
    for one in wanted:
        paths = {one.path, *(file.text.path for file in one.one.files)}
        joined = list({id(chain[path]): chain[path] for path in paths if path in chain}.values())
        group = [*(each for several in joined for each in several), one]
        for member in group:
            for path in {member.path, *(file.text.path for file in member.one.files)}:
                chain[path] = group
    return list({id(group): group for group in chain.values()}.values())


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


def _applied(several: list[_Wanted], done: Repaired) -> Repaired:
    texts, originals, repairs = dict(done.texts), dict(done.before), list(done.repairs)
    edits: dict[str, tuple[Text, list[Edit]]] = {}
    for wanted in several:
        repairs.append(tuple(file.text.path for file in wanted.one.files))
        for file in wanted.one.files:
            edits.setdefault(file.text.path, (file.text, []))[1].extend(file.edits)
    for path, (text, made) in edits.items():
        originals.setdefault(path, text)
        texts[path] = text._replace(text=apply(text.text, made))
    return done._replace(texts=texts, before=originals, repairs=tuple(repairs))


def _holds(wanted: _Wanted, after: _Runs) -> bool:
    """Whether the run has its old value again."""
    runs, default = after.get(wanted.path, []), wanted.one.default
    return wanted.number < len(runs) and bool(effective(runs[wanted.number]).fact(default.fact).value == default.value)


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
