"""Facts and hazards meet here: which hazards hold in a run, in which releases, at what weight, and what it rests on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from stablint.hazard.condition import Verdict, deciding, evaluate, every, facts_read, reads_files, turns
from stablint.hazard.item import ItemWorld
from stablint.hazard.memo import Memo, Pair, say_quiet, was_quiet
from stablint.hazard.model import Finding, Hazard, Open, Remedy
from stablint.run.derived import RULES
from stablint.run.fact import ABSENT, OPEN, PRESUMED, Derived, Explicit, Fact, Place, Secret, is_unknown
from stablint.run.pep440 import matcher
from stablint.run.releases import Releases, known_libraries
from stablint.run.world import NO_TURNS, Run, Turns, World

_WORLDS = 64  # at most so many combinations of releases are looked at
_RANK = {"info": 0, "warning": 1, "error": 2}


_choices: dict[int, tuple[Releases, dict[str, Any]]] = {}


def _newest(releases: Releases) -> dict[str, Any]:
    """The newest release of every library; the same object for the same releases, so that worlds share what they know."""
    found = _choices.get(id(releases))
    if found is None or found[0] is not releases:
        choice = {
            library: newest for library in known_libraries(releases) if (newest := releases.newest(library)) is not None
        }
        found = _choices[id(releases)] = (releases, choice)
    return found[1]


class Checked:
    """One run with its worlds: the newest releases first, others when a verdict depends on the release."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._worlds: dict[tuple[tuple[str, Any], ...], World] = {}
        self._news: dict[str, bool] = {}
        self._views: dict[tuple[int, str], ItemWorld] = {}
        self._intervals: dict[Turns, list[tuple[dict[str, Any], World]]] = {}
        self.newest = World(run, RULES, _newest(run.releases))

    def world(self, choice: dict[str, Any]) -> World:
        key = tuple(sorted(choice.items()))
        if key not in self._worlds:
            self._worlds[key] = World(self.run, RULES, choice)
        return self._worlds[key]

    def view(self, world: World, item: str) -> World:
        """The world in which `item` is that fact."""
        if not item:
            return world
        key = (id(world), item)
        if key not in self._views:
            self._views[key] = _key_world(world, item) if item[:5] == "keys." else ItemWorld(world, item)
        return self._views[key]

    def is_news(self, item: str) -> bool:
        """Is there anything to say of the key itself: unknown, renamed, on its way out?"""
        if item not in self._news:
            view = self.view(self.newest, item)
            self._news[item] = isinstance(view, ItemWorld) and (
                view.item_unknown() is not False or view.rename() is not None
            )
        return self._news[item]

    def others(self, at: Turns) -> list[tuple[dict[str, Any], World]]:
        """One world for every combination of release intervals between the turns, newest first, with the interval that each library is in."""
        if at not in self._intervals:
            self._intervals[at] = list(self._others(at))
        return self._intervals[at]

    def _others(self, at: Turns) -> Iterator[tuple[dict[str, Any], World]]:
        intervals: dict[str, list[tuple[Any, Any]]] = {}
        for library in sorted({library for library, _ in at}):
            allowed = self.run.releases.allowed(library)
            cuts = sorted(key for name, key in at if name == library)
            groups: list[list[Any]] = []
            for release in allowed:
                place = sum(cut <= release for cut in cuts)
                if groups and groups[-1][0] == place:
                    groups[-1][2] = release
                else:
                    groups.append([place, release, release])
            if groups:
                intervals[library] = [(first, last) for _, first, last in reversed(groups)]
        for combination in itertools.islice(itertools.product(*intervals.values()), _WORLDS):
            chosen = dict(zip(intervals, combination, strict=True))
            yield chosen, self.world({**self.newest.choice, **{library: last for library, (_, last) in chosen.items()}})


def _key_world(world: World, item: str) -> ItemWorld:
    """What frameworks read of their keys is loaded only where some may be unread."""
    from stablint.hazard.key import KeyWorld

    return KeyWorld(world, item)


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
    for hazard, item, quiet in asked:
        read = was_quiet(quiet, tokens) if quiet else None
        outcome = None if read is not None else _examine(hazard, checked, item)
        if type(outcome) is Finding:
            findings.append(outcome)
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
    outcomes = [_examine(hazard, checked, item) for hazard, item in pairs]
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
    if reads_files(hazard.when):
        return True
    if not memo.varied:
        return False
    fixed = [condition for condition in hazard.when if not _reads_varied(condition, checked.newest, item, memo)]
    if len(fixed) == len(hazard.when):
        return False
    rest = hazard._replace(when=fixed)
    newest = checked.view(checked.newest, item)
    if _settled_false(rest, newest) or (item and _verdict(rest, newest) is False):
        return False
    at = _all_turns(rest, newest)
    return not at or any(_verdict(rest, checked.view(world, item)) is not False for _, world in checked.others(at))


def _reads_varied(condition: Any, world: World, item: str, memo: Memo) -> bool:
    """Words about a setting other than its value (its type, its renames) are the same whatever the value."""
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
    return [name for name in found if checked.is_news(name)] if _asks_news(hazard) else found


# Words about a setting that are empty for one that its class has, unchanged, in the chosen release.
_NEWS = frozenset({"item.removed_in", "item.renamed_to", "item.moved_to", "item.deprecated_in", "item.suggestion"})


def _asks_news(hazard: Hazard) -> bool:
    return any(c[0] == "unknown-key" or (c[0] == "is-set" and c[1] in _NEWS) for c in hazard.when)


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


def _examine(hazard: Hazard, checked: Checked, item: str) -> Finding | Open | None:
    newest = checked.view(checked.newest, item)
    if _settled_false(hazard, newest):
        return None
    verdict = _verdict(hazard, newest)
    if item and verdict is False:
        return None  # a setting that some older release did not have is no news
    at = _all_turns(hazard, newest)
    if not at:
        if verdict is True:
            return _finding(hazard, checked, newest, item, {}, False)
        return _open(hazard, newest, ()) if verdict is None else None
    seen: list[tuple[dict[str, Any], World, Verdict]] = []
    for _ in range(3):  # another world may turn at releases that the newest one never asked about
        seen = [
            (interval, view := checked.view(world, item), _verdict(hazard, view))
            for interval, world in checked.others(at)
        ]
        more = at.union(*(_all_turns(hazard, view) for _, view, _ in seen))
        if more == at:
            break
        at = more
    return _over_releases(hazard, checked, item, seen)


def _settled_false(hazard: Hazard, world: World) -> bool:
    """Is a condition false whatever the release? Most hazards end here, at their first condition."""
    patterns = []
    for condition in hazard.when:
        if condition[0] == "matches":  # the first use of a pattern costs more than all the rest
            patterns.append(condition)
        elif evaluate(condition, world) is False and not turns([condition], world):
            return True
    return any(evaluate(condition, world) is False and not turns([condition], world) for condition in patterns)


def _all_turns(hazard: Hazard, world: World) -> Turns:
    return turns(hazard.when, world) | _range_turns(hazard, world)


def _verdict(hazard: Hazard, world: World) -> Verdict:
    in_range = _in_range(hazard, world)
    if in_range is False:
        return False
    verdict = every(hazard.when, world)
    return in_range if verdict is True else verdict


def _in_range(hazard: Hazard, world: World) -> Verdict:
    verdict: Verdict = True
    for library, specifier in hazard.versions.items():
        chosen = world.choice.get(library)
        if chosen is None:
            verdict = None
        elif not matcher(specifier)(chosen):
            return False
    return verdict


def _range_turns(hazard: Hazard, world: World) -> Turns:
    found = NO_TURNS
    for library, specifier in hazard.versions.items():
        allowed = world.run.releases.allowed(library)
        inside = [matcher(specifier)(key) for key in allowed]
        found |= frozenset((library, allowed[n]) for n in range(1, len(allowed)) if inside[n] != inside[n - 1])
    return found


def _over_releases(
    hazard: Hazard, checked: Checked, item: str, seen: list[tuple[dict[str, Any], World, Verdict]]
) -> Finding | Open | None:
    """True in all: as declared. True in some, the newest among them: at most a warning. True in older ones only: undetermined."""
    true = [(interval, view) for interval, view, verdict in seen if verdict is True]
    if seen and all(verdict is True for _, _, verdict in seen):
        return _finding(hazard, checked, seen[0][1], item, {}, False)
    libraries = sorted({library for interval, _, _ in seen for library in interval})
    if true and seen[0][2] is True:
        return _finding(hazard, checked, seen[0][1], item, _releases(true, seen, libraries, checked), True)
    if true:
        unstated = tuple(
            f"versions.{library}" for library in libraries if len(checked.run.releases.allowed(library)) > 1
        )
        return Open(hazard, checked.run, unstated) if unstated else None
    unknown = [view for _, view, verdict in seen if verdict is None]
    return _open(hazard, unknown[0], ()) if unknown else None


def _releases(
    true: list[tuple[dict[str, Any], Any]], seen: list[Any], libraries: list[str], checked: Checked
) -> dict[str, str]:
    """The releases in which it holds, as a specifier a library; libraries that make no difference are left out."""
    texts = {}
    for library in libraries:
        intervals = sorted({interval[library] for interval, _ in true})
        if len(intervals) == len({interval[library] for interval, _, _ in seen}):
            continue
        allowed = checked.run.releases.allowed(library)
        first, last = intervals[0][0], intervals[-1][1]
        text = checked.run.releases.text
        parts = ([f">={text(first)}"] if first != allowed[0] else []) + (
            [f"<={text(last)}"] if last != allowed[-1] else []
        )
        texts[library] = ",".join(parts)
    return {library: text for library, text in texts.items() if text}


def _open(hazard: Hazard, world: World, extra: tuple[str, ...]) -> Open | None:
    """Worth telling: something explicit speaks for it, nothing against it, and all that is unknown could be supplied."""
    needs: set[str] = set(extra)
    spoken = False
    for condition in hazard.when:
        found = evaluate(condition, world)
        if found is True:
            spoken = spoken or any(_rests_on_text(world, name) for name in facts_read([condition]))
            continue
        for name in facts_read([condition]):
            if is_unknown(world.fact(name).value):
                more = world.needs(name)
                if more is None:
                    return None
                needs |= more
    for library in hazard.versions:
        if world.choice.get(library) is None:
            needs.add(f"versions.{library}")
    return Open(hazard, world.run, tuple(sorted(needs))) if spoken and needs else None


def _rests_on_text(world: World, name: str) -> bool:
    return any(True for _ in leaves(world, name))


def leaves(world: World, name: str, depth: int = 0) -> Iterator[Fact]:
    """The explicit facts at the end of a fact's provenance, deciding ones first."""
    fact = world.fact(name)
    if isinstance(fact.origin, Explicit):
        yield fact
    elif isinstance(fact.origin, Derived) and depth < 8:
        for source in fact.origin.facts:
            if source != name:
                yield from leaves(world, source, depth + 1)


def _finding(
    hazard: Hazard, checked: Checked, world: World, item: str, releases: dict[str, str], partly: bool
) -> Finding:
    names = list(dict.fromkeys(name for name in deciding(hazard.when, world) if not name.startswith("item.")))
    facts = tuple(world.fact(name) for name in names)
    presumed = [fact for fact in facts if fact.presumed]
    severity, notes = hazard.severity, []
    if presumed:
        severity = min(severity, "warning", key=_RANK.__getitem__)
        notes.append(_presumption(presumed))
    if partly:
        # Flags of somebody's own script were written for the releases of their time, which that project pins.
        least = "info" if item and world.scope(item) == PRESUMED else "warning"
        severity = min(severity, least, key=_RANK.__getitem__)
    fact, place, absent = _place(hazard, world, names, item)
    shown = _leaf_facts(world, facts)
    return Finding(
        hazard,
        checked.run,
        world,
        severity,
        fill(hazard.message, world),
        place,
        fact,
        absent,
        shown,
        _remedy(hazard, world),
        releases,
        tuple(notes),
        item,
    )


def _presumption(facts: list[Fact]) -> str:
    if any(fact.name == "derived.method" for fact in facts):
        return "if every weight is trained: no adapter is set in the files at hand"
    return "unless set elsewhere: " + ", ".join(f"`{fact.name}`" for fact in facts[:3])


def _leaf_facts(world: World, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts that were read, each followed by the explicit ones that it came from."""
    found: dict[str, Fact] = {}
    for fact in facts:
        found.setdefault(fact.name, fact)
        for leaf in leaves(world, fact.name):
            found.setdefault(leaf.name, leaf)
    return tuple(found.values())


def _place(hazard: Hazard, world: World, names: list[str], item: str) -> tuple[str, Place, bool]:
    """Where the text decides it: the first explicit leaf of `at`, of the other facts read, else the run's anchor."""
    wanted = item if hazard.at == "item" and item else hazard.at
    for leaf in leaves(world, wanted):
        if isinstance(leaf.origin, Explicit):
            place = leaf.origin.place
            return leaf.name, _at_key(place) if wanted == item and _about_keys(hazard.when) else place, False
    fact = world.fact(wanted)
    if fact.value is not ABSENT and not isinstance(fact.origin, Derived):
        return wanted, world.run.anchor, True
    for name in names:
        for leaf in leaves(world, name):
            if isinstance(leaf.origin, Explicit):
                return leaf.name, leaf.origin.place, False
    return wanted, world.run.anchor, True


def _at_key(place: Place) -> Place:
    """Where a value is written elsewhere, behind a name, what is wrong with its key stands at the key."""
    entry = place.entry
    if entry is not None and place.start < entry.key_start:
        return place._replace(start=entry.key_start, end=entry.key_end)
    return place


def _about_keys(conditions: list[list[Any]]) -> bool:
    """Whether the key itself is what a hazard is about: unknown, renamed, removed."""
    return any(
        one[0] == "unknown-key" or one[1] in ("item.renamed_to", "item.removed_in", "item.moved_to")
        if not isinstance(one[1], list)
        else _about_keys(one[1])
        for one in conditions
    )


def _remedy(hazard: Hazard, world: World) -> Remedy | None:
    """The first whose condition is true; one whose condition is not known is not offered."""
    for remedy in hazard.remedies:
        if all(evaluate(condition, world) is True for condition in remedy.when):
            return remedy
    return None


_FIELD = re.compile(r"\{([a-z_]+(?:\.[A-Za-z0-9_-]+)*)(?::([a-z_]+))?\}")


def fill(template: str, world: World) -> str:
    """`{fact}` is the deciding leaf as spelled with its value, `{fact:value}` the value, `{item:word}` a word about the item."""
    return _FIELD.sub(lambda found: _word(found[1], found[2], world), template)


def _word(name: str, form: str | None, world: World) -> str:
    if form == "value":
        return value_text(world.fact(name).value)
    if form is not None:
        return _word(f"{name}.{form}", None, world)
    if name.startswith("item."):
        value = world.fact(name).value
        return "" if value is None or is_unknown(value) else value_text(value)
    leaf = next(iter(leaves(world, name)), None)
    if name == "item" and leaf is not None and isinstance(leaf.origin, Explicit):
        return leaf.origin.place.setting
    if leaf is None or not isinstance(leaf.origin, Explicit):
        return f"{name.partition('.')[2] or name}: {value_text(world.fact(name).value)}"
    raw = leaf.sources[0].raw if leaf.sources else leaf.value
    setting = leaf.origin.place.setting
    return setting if isinstance(raw, (dict, list)) and len(str(raw)) > 40 else f"{setting}: {value_text(raw)}"


def value_text(value: Any) -> str:
    if isinstance(value, Secret):
        return "(not shown)"
    if is_unknown(value):
        return "unknown"
    if value is ABSENT:
        return "absent"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) >= 0.001 and abs(value) < 1e6 else f"{value:g}"
    if isinstance(value, list):
        return ", ".join(value_text(one) for one in value)
    return str(value)


__all__ = ["Checked", "check", "fill", "leaves", "value_text"]
