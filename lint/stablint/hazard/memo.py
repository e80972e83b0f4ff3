"""Runs that state the same need not be judged twice: which hazards have nothing to say is remembered by what the run states.

Settings whose values are nearly all different (a seed, an output folder) are left out of what is compared; the hazards that read them, and
those that had something to say, are evaluated again for every run. DESIGN §8 is why: a thousand configs in less than a tenth of a linter's time.
"""

from __future__ import annotations

from typing import Any

from stablint.run.fact import Explicit, Fact
from stablint.run.world import Run

Key = tuple[Any, ...]
_FEW = 8  # so many different values of a setting before it can count as one that always differs


class Memo:
    """One for all runs of one check."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}
        self._times: dict[str, int] = {}
        self.varied: frozenset[str] = frozenset()
        self._left: dict[Key, Any] = {}

    def key(self, run: Run) -> Key:
        """What the verdicts rest on, but for the settings that vary with every run."""
        stated = []
        for name, fact in run.explicit.items():
            token = _token(fact)
            if name not in self.varied:
                stated.append((name, token))
                self._count(name, token)
        return (
            frozenset(stated), run.framework, run.linked, run.dialects, run.target, id(run.releases) if run.releases.is_known() else repr(run.releases),
            tuple(run.scopes.items()), tuple(run.classes.items()), tuple((name, repr(fact.value)) for name, fact in run.supplied.items()), self.varied,
        )  # fmt: skip

    def _count(self, name: str, token: str) -> None:
        seen = self._seen.setdefault(name, set())
        times = self._times[name] = self._times.get(name, 0) + 1
        if len(seen) > _FEW and len(seen) * 2 > times:
            self.varied |= {name}
            self._left.clear()
        elif len(seen) < 1000:
            seen.add(token)

    def get(self, key: Key) -> Any:
        return self._left.get(key)

    def put(self, key: Key, left: Any) -> None:
        if key[-1] == self.varied:
            self._left[key] = left


def _token(fact: Fact) -> str:
    parts = []
    for statement in fact.sources:
        origin = statement.origin
        if type(origin) is Explicit:
            parts.append(f"{origin.layer} {origin.place.path} {statement.raw!r}")
        else:
            parts.append(f"{origin} {statement.raw!r}")
    return "\n".join(parts) if len(parts) > 1 else parts[0] if parts else ""
