"""Runs that state the same need not be judged twice: which hazards have nothing to say is remembered by what the run states.

Settings whose values are nearly all different (a seed, an output folder) are left out of what is compared; the hazards that read them, and
those that had something to say, are evaluated again for every run. DESIGN §8 is why: a thousand configs in less than a tenth of a linter's time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stablint.hazard.model import Hazard
from stablint.run.fact import Derived, Explicit, Fact
from stablint.run.world import Run

Key = tuple[Any, ...]
Pair = tuple[Hazard, str]  # a hazard, and the setting that `item` stands for
Tokens = dict[str, Any]
Quiet = dict[
    tuple[str, ...], set[tuple[Any, ...]]
]  # what it reads → the statements of that of which it had nothing to say
_FEW, _MANY = (
    8,
    32,
)  # so many different values of a setting before it may, and before it does, count as one that always differs


_WATCHED = 300  # runs after which it is settled what varies


class Memo:
    """One for all runs of one check."""

    def __init__(self) -> None:
        self._runs = 0
        self._told: tuple[Any, tuple[Any, ...]] = (None, ())
        self._seen: dict[str, set[Any]] = {}
        self._times: dict[str, int] = {}
        self.varied: frozenset[str] = frozenset()
        self._kinds: dict[tuple[Any, ...], int] = {}
        self._left: dict[Key, Any] = {}
        self._asked: dict[tuple[Any, ...], list[tuple[Hazard, str, Quiet]]] = {}
        self._quiet: dict[tuple[Any, ...], Quiet] = {}

    def key(self, run: Run) -> tuple[Key, Tokens]:
        """What the verdicts rest on but for the settings that vary with every run, and what the run states, by fact."""
        tokens = {name: _token(fact) for name, fact in run.explicit.items()}
        if self._runs < _WATCHED:
            self._runs += 1
            for name, fact in run.explicit.items():
                if name not in self.varied:
                    value = fact.value  # not the token: the same few values in five formats are few
                    self._count(name, value if type(value) in _PLAIN else repr(value))
        varied = self.varied
        stated = tokens.copy() if varied else tokens
        for name in varied:
            if name in stated:
                stated[name] = _kind(run.explicit[name])
        kind = (
            run.framework, run.linked, run.dialects, run.target, id(run.releases) if run.releases.is_known() else repr(run.releases),
            tuple(run.scopes.items()), tuple(run.classes.items()), self._supplied(run), run.by_spelling,
        )  # fmt: skip
        return (tuple(stated.items()), self._kinds.setdefault(kind, len(self._kinds)), varied), tokens

    def _supplied(self, run: Run) -> Any:
        """What the options and the model's name supply: the name itself is a stated setting already."""
        last, told = self._told
        if last is not run.supplied:
            told = tuple(
                (name, repr(fact.value)) for name, fact in run.supplied.items() if not isinstance(fact.origin, Derived)
            )
            self._told = run.supplied, told
        return told

    def _count(self, name: str, value: Any) -> None:
        seen = self._seen.setdefault(name, set())
        times = self._times[name] = self._times.get(name, 0) + 1
        if len(seen) > _MANY or (len(seen) > _FEW and len(seen) * 2 > times):
            self.varied |= {name}
            self._left.clear()
        else:
            seen.add(value)

    def asked(self, run: Run, key: Key, ask: Callable[[], list[Pair]]) -> list[tuple[Hazard, str, Quiet]]:
        """The hazards, with the settings, that are to be asked: they depend on which settings are stated, not on their values."""
        shape = (tuple(run.explicit), key[1])
        asked = self._asked.get(shape)
        if asked is None:
            asked = self._asked[shape] = [
                (hazard, item, self._quiet.setdefault((hazard.id, item, key[1]), {})) for hazard, item in ask()
            ]
        return asked

    def get(self, key: Key) -> Any:
        return self._left.get(key)

    def put(self, key: Key, left: Any) -> None:
        if key[-1] == self.varied:
            self._left[key] = left


def was_quiet(known: Quiet, tokens: Tokens) -> tuple[str, ...] | None:
    """What a hazard reads, if it had nothing to say in a run of the same kind that states the same of all that."""
    for names, stated in known.items():
        if tuple([tokens.get(name) for name in names]) in stated:
            return names
    return None


def say_quiet(known: Quiet, tokens: Tokens, read: Iterable[str]) -> None:
    """`read` are the facts that its verdict rests on."""
    names = tuple(sorted(read))
    known.setdefault(names, set()).add(tuple([tokens.get(name) for name in names]))


def _kind(fact: Fact) -> Any:
    """All of a statement but its value."""
    if len(fact.sources) == 1:
        _, value, raw, origin = fact.sources[0]
        return (
            (fact.presumed, origin[1], origin[0][5], origin[3], type(raw), type(value))
            if type(origin) is Explicit
            else (origin, type(raw))
        )
    return _token(fact)


def _token(fact: Fact) -> Any:
    sources = fact.sources
    if len(sources) == 1:
        raw, origin = sources[0][2], sources[0][3]
        kind = type(raw)
        if kind not in _PLAIN:
            raw = repr(raw)
        if type(origin) is Explicit:
            return (fact.presumed, origin[1], origin[0][5], origin[3], kind, raw)  # layer, path, reader
        return (origin, kind, raw)
    return repr([(type(s.origin) is Explicit and s.origin.layer, s.raw) for s in sources])


_PLAIN = frozenset({str, int, float, bool, type(None)})
