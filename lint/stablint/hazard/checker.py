"""Every hazard asked of a run, and of a run like one before it only what may differ."""

from __future__ import annotations

from typing import Any

from stablint.hazard.checked import Checked
from stablint.hazard.condition import GROUPS, facts_read, reads_files
from stablint.hazard.memo import Memo, Pair, say_quiet, was_quiet
from stablint.hazard.model import Finding, Hazard, Open
from stablint.hazard.verdict import all_turns, asks_news, examine, settled_false, verdict_of
from stablint.run.fact import OPEN
from stablint.run.world import Run, World
from stablint.source.limits import TOLD


def check(run: Run, hazards: tuple[Hazard, ...], memo: Memo | None = None) -> tuple[list[Finding], list[Open]]:
    """Every finding and every undetermined hazard of one run. `memo` is shared by the runs of one check."""
    key, tokens = memo.key(run) if memo is not None else ((), {})
    remembered = memo.get(key) if memo is not None else None
    findings, undetermined = (
        _afresh(run, hazards, memo, key, tokens) if remembered is None else _again(run, *remembered)
    )
    fired = {finding.hazard.id for finding in findings}
    kept = [f for f in findings if not any(other in fired for other in f.hazard.yields_to)]
    return kept, [o for o in undetermined if not any(other in fired for other in o.hazard.yields_to)]


def _afresh(
    run: Run, hazards: tuple[Hazard, ...], memo: Memo | None, key: Any, tokens: dict[str, Any]
) -> tuple[list[Finding], list[Open]]:
    """Ask every hazard, and remember which of them a like run need not be asked about."""
    checked = Checked(run)
    findings: list[Finding] = []
    undetermined: list[Open] = []
    again: list[Pair] = []
    settled: list[tuple[Hazard, tuple[str, ...]]] = []

    def ask() -> list[Pair]:
        return [(hazard, item) for hazard in hazards if _may_hold(hazard, run) for item in _items(hazard, checked)]

    asked = memo.asked(run, key, ask) if memo is not None else [(hazard, item, {}) for hazard, item in ask()]
    many: dict[str, int] = {}
    for hazard, item, quiet in asked:
        if item and many.get(hazard.id, 0) > TOLD.most:
            continue
        read = was_quiet(quiet, tokens) if quiet else None
        outcome = None if read is not None else examine(hazard, checked, item)
        if type(outcome) is Finding:
            findings.append(outcome)
            many[hazard.id] = many.get(hazard.id, 0) + 1
        elif type(outcome) is Open:
            undetermined.append(outcome)
        if memo is None:
            continue
        if read is None and outcome is None and not reads_files(hazard.when):
            read = tuple(_rests_on(hazard, checked.newest, item))
            say_quiet(quiet, tokens, read)
        known = read is not None and memo.varied.isdisjoint(read)
        if type(outcome) is Finding or (not known and _varies(hazard, checked, item, memo)):
            again.append((hazard, item))
        elif type(outcome) is Open:
            settled.append((hazard, outcome.needs))
    if memo is not None:
        memo.put(key, (again, settled))
    return findings, undetermined


def _again(
    run: Run, pairs: list[Pair], settled: list[tuple[Hazard, tuple[str, ...]]]
) -> tuple[list[Finding], list[Open]]:
    """A run like one before it: only those hazards are asked whose answer may differ."""
    undetermined = [Open(hazard, run, needs) for hazard, needs in settled]
    if not pairs:
        return [], undetermined
    checked = Checked(run)
    outcomes = [examine(hazard, checked, item) for hazard, item in pairs]
    return (
        [outcome for outcome in outcomes if type(outcome) is Finding],
        undetermined + [outcome for outcome in outcomes if type(outcome) is Open],
    )


def _rests_on(hazard: Hazard, world: World, item: str) -> set[str]:
    names = world.rests_on([name for name in facts_read(hazard.when) if not name.startswith("item")])
    return names | {item} if item else names


def _varies(hazard: Hazard, checked: Checked, item: str, memo: Memo) -> bool:
    """Does its verdict rest on a setting whose value differs from run to run, or on the file system?

    It does not where the conditions that read no such value are false already, in every release.
    """
    if not (memo.varied or reads_files(hazard.when)):
        return False
    fixed = [c for c in hazard.when if not reads_files([c]) and not _reads_varied(c, checked.newest, item, memo)]
    if len(fixed) == len(hazard.when):
        return False
    rest = hazard._replace(when=fixed)
    newest = checked.view(checked.newest, item)
    if settled_false(rest, newest) or (item and verdict_of(rest, newest) is False):
        return False
    at = all_turns(rest, newest)
    return not at or any(verdict_of(rest, checked.view(world, item)) is not False for _, world in checked.others(at))


def _reads_varied(condition: Any, world: World, item: str, memo: Memo) -> bool:
    """Words about a setting other than its value (its type, its renames) are the same whatever the value."""
    if condition[0] in GROUPS:
        return any(_reads_varied(inner, world, item, memo) for inner in condition[1])
    names = list(facts_read([condition]))
    of_type = condition[0] in _VALUE_FREE or (condition[0] in ("is", "is-not") and condition[2:] == [1, None])
    if of_type and (condition[1] == "item" or condition[1] in world.run.explicit):
        return False
    if item in memo.varied and "item" in names:
        return True
    return not memo.varied.isdisjoint(world.rests_on([name for name in names if not name.startswith("item")]))


_VALUE_FREE = frozenset({"unknown-key", "is-set", "is-absent", "is-default", "type"})


def _items(hazard: Hazard, checked: Checked) -> list[str]:
    if not hazard.each:
        return [""]
    found = _stated(hazard, checked.run)
    return [name for name in found if checked.is_news(name)] if asks_news(hazard) else found


def _stated(hazard: Hazard, run: Run) -> list[str]:
    matching = _matching.setdefault(tuple(hazard.each), {})
    for name in run.explicit:
        if name not in matching:
            matching[name] = any(_covers(pattern, name) for pattern in hazard.each)
    return [name for name in run.explicit if matching[name]]


def _covers(pattern: str, name: str) -> bool:
    head, star, _ = pattern.partition("*")
    if not star:
        return name == pattern
    return (
        name.startswith(head)
        and len(name) > len(head)
        and (pattern.endswith("**") or not head or "." not in name[len(head) :])
    )


_matching: dict[tuple[str, ...], dict[str, bool]] = {}


def _may_hold(hazard: Hazard, run: Run) -> bool:
    """Not where a condition reads a fact that nobody stated and that may stand outside the files: it stays unknown, and no option says more."""
    explicit, scopes = run.explicit, run.scopes
    return not any(name not in explicit and scopes.get(head, OPEN) == OPEN for head, name in hazard.reads)
