"""One run in the worlds that it may meet: a choice of releases each, the newest first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from stablint.base.light import Any
from stablint.hazard import call_subject, key_subject
from stablint.hazard.setting_subject import SettingSubject
from stablint.run.derived.registry import RULES
from stablint.run.world import ChangePoints, Facts, Run, World

ROUNDS = 4  # another world may turn at releases that the newest one never asked about
WORLDS = 64  # at most so many combinations of releases are looked at


class Checked:
    """One run with its worlds: the newest releases first, others when a verdict depends on the release."""

    def __init__(self, run: Run, alone: bool = False) -> None:
        """`alone`: no world takes a fact from another."""
        self.run = run
        self._alone = alone
        self._worlds: dict[tuple[tuple[str, Any], ...], World] = {}
        self._changed: dict[str, bool] = {}
        self._views: dict[tuple[int, str], SettingSubject] = {}
        self._intervals: dict[ChangePoints, list[tuple[dict[str, Any], World]]] = {}
        self._values: dict[str, list[World]] = {}
        self._certain: Checked | None = None
        self.newest = World(run, RULES, run.releases.newest_of_all())

    def certain(self) -> Checked:
        """The run without what is presumed of its releases."""
        if self._certain is None:
            self._certain = Checked(
                self.run._replace(releases=self.run.releases.certain().shared(), by_spelling=False), self._alone
            )
        return self._certain

    def world(self, choice: dict[str, Any]) -> World:
        key = tuple(choice.items())
        if key not in self._worlds:
            self._worlds[key] = World(self.run, RULES, choice, None if self._alone else self.newest)
        return self._worlds[key]

    def all_worlds(self) -> list[World]:
        """Every world that was looked at."""
        return [self.newest, *self._worlds.values(), *(self._certain.all_worlds() if self._certain is not None else ())]

    def view(self, world: World, item: str) -> Facts:
        """The world, or that statement of it as `item`."""
        if not item:
            return world
        key = (id(world), item)
        if key not in self._views:
            self._views[key] = (
                _key_subject(world, item)
                if item[:5] == "keys."
                else _call_subject(world, item)
                if item[:13] == "launch.calls."
                else SettingSubject(world, item)
            )
        return self._views[key]

    def spelled(self, item: str) -> str:
        """The setting's key, as its class or framework spells it."""
        view = self.view(self.newest, item)
        assert isinstance(view, SettingSubject)
        return view.spelled

    def has_change(self, item: str) -> bool:
        """Is there anything to say of the key itself: unknown, renamed, on its way out?"""
        if item not in self._changed:
            world = self.certain().newest if self.run.by_spelling else self.newest
            view = self.view(world, item)
            self._changed[item] = isinstance(view, SettingSubject) and (
                view.item_unknown() is not False or view.rename() is not None
            )
        return self._changed[item]

    def at_all_values(self, name: str) -> list[World]:
        """Worlds among which the fact has every value that it has at some release; none where they are too many to look at."""
        found = self._values.get(name)
        if found is None:
            found, at = [], self.newest.fact(name).change_points
            for _ in range(ROUNDS):
                worlds = [world for _, world in self.others(at)]
                more = at.union(*(world.fact(name).change_points for world in worlds))
                if more == at:
                    found = worlds if len(worlds) < WORLDS else []
                    break
                at = more
            self._values[name] = found
        return found

    def others(self, at: ChangePoints) -> list[tuple[dict[str, Any], World]]:
        """One world for every combination of release intervals between the change points, newest first, with the interval that each library is in."""
        if at not in self._intervals:
            self._intervals[at] = list(self._others(at))
        return self._intervals[at]

    def _others(self, at: ChangePoints) -> Iterator[tuple[dict[str, Any], World]]:
        intervals: dict[str, tuple[tuple[Any, Any], ...]] = {}
        for library in sorted({library for library, _ in at}):
            found = self.run.releases.intervals(library, frozenset([key for name, key in at if name == library]))
            if found:
                intervals[library] = found
        for combination in itertools.islice(itertools.product(*intervals.values()), WORLDS):
            chosen = dict(zip(intervals, combination, strict=True))
            yield chosen, self.world({**self.newest.choice, **{library: last for library, (_, last) in chosen.items()}})


def _key_subject(world: World, item: str) -> SettingSubject:
    """What frameworks read of their keys is loaded only where some may be unread."""
    return key_subject.KeySubject(world, item)


def _call_subject(world: World, item: str) -> SettingSubject:
    """Signatures are loaded only where some call may not fit one."""
    return call_subject.CallSubject(world, item)
