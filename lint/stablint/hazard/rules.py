"""The hazards that count for a run: all of the knowledge's that a choice lets pass, of one run by itself only those that it can wake.

Reading the rows of all hazards costs a tenth of the check of one file, and to ask them a quarter; nine in ten need a statement that
the file does not make. Which statements those are is worked out when the knowledge is compiled (compiling/waking.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from stablint.base import knowledge
from stablint.base.light import Any
from stablint.hazard.model import Hazard, load, load_some, patterns_of
from stablint.run.world import Run

Choice = Callable[[Iterable[Hazard]], tuple[Hazard, ...]]


class Rules(Collection[Hazard]):
    """`choose` takes some hazards of the knowledge, and gives those that count, one by one and in their order."""

    def __init__(self, choose: Choice = tuple) -> None:
        self._choose = choose
        self._every: tuple[Hazard, ...] | None = None

    def every(self) -> tuple[Hazard, ...]:
        if self._every is None:
            self._every = self._choose(load())
        return self._every

    def __contains__(self, hazard: object) -> bool:
        return hazard in self.every()

    def __len__(self) -> int:
        return len(self.every())

    def __iter__(self) -> Iterator[Hazard]:
        return iter(self.every())

    def of_runs(self) -> tuple[Hazard, ...]:
        """Those about what runs say."""
        return tuple(hazard for hazard in self.every() if not hazard.at.startswith("file."))

    def of_files(self) -> tuple[Hazard, ...]:
        """Those about what is wrong with a file's text."""
        index = knowledge.load("waking")
        return self._choose(load_some(index["files"], index["starts"]))

    def woken_by(self, run: Run) -> tuple[Hazard, ...]:
        """Those of `of_runs` that may say something of this run: all others say nothing."""
        index = knowledge.load("waking")
        return self._choose(load_some(sorted(_woken(index["clauses"], run)), index["starts"]))


def needs_of(hazards: tuple[Hazard, ...]) -> list[tuple[frozenset[str], int]]:
    """Facts of which one must be stated, each set with the hazards (bit n is the n-th) that say nothing of a run that states none of them."""
    given = {hazard.id: (hazard.when, 1 << number) for number, hazard in enumerate(hazards)}
    ours = []
    for hazard in load():
        when, bit = given.get(hazard.id, (None, 0))
        ours.append(bit if when == hazard.when else 0)  # of other conditions nothing is known
    found: dict[frozenset[str], int] = {}
    for _, _, facts, numbers in knowledge.load("waking")["clauses"]:
        mask = sum(ours[number] for number in numbers)
        for names in facts if mask else ():
            key = frozenset(names)
            found[key] = found.get(key, 0) | mask
    return list(found.items())


def _woken(clauses: list[Any], run: Run) -> Iterator[int]:
    stated = {*run.explicit, *run.supplied}
    settings: frozenset[str] = frozenset().union(*map(patterns_of, run.explicit))
    framework = "" if "derived.framework" in stated else run.framework  # `--set derived.framework=trl`
    for frameworks, patterns, facts, numbers in clauses:
        if frameworks and framework and framework not in frameworks:
            continue
        if patterns and settings.isdisjoint(patterns):
            continue
        for names in facts:
            if stated.isdisjoint(names):
                break
        else:
            yield from numbers
