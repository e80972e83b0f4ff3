"""Rules of files that are under different settings: a run is checked for those of all its files, a finding counts where it stands."""

from __future__ import annotations

from collections.abc import Collection

from stablint.hazard.model import Finding, Hazard, Open
from stablint.policy.per_file import Policies, Policy
from stablint.run.fact import Explicit
from stablint.run.world import Run

_RANK = {"info": 0, "warning": 1, "error": 2}


class Rulebook:
    def __init__(self, policies: Policies, every: Collection[Hazard]) -> None:
        self._policies, self._every = policies, every
        self._joined: dict[tuple[int, ...], Collection[Hazard]] = {}
        self._own: dict[int, dict[str, Hazard]] = {}

    def same_for_all(self) -> Collection[Hazard] | None:
        """The rules, if all policies that were asked for have the same."""
        first, *rest = [self._rules(policy) for policy in self._policies.asked()] or [self._every]
        return first if all(rules is first or tuple(rules) == tuple(first) for rules in rest) else None

    def of(self, run: Run) -> Collection[Hazard]:
        """Each at the highest severity that it has for any file of the run."""
        origins = (statement.origin for fact in run.explicit.values() for statement in fact.sources)
        paths = [origin.place.document.text.path for origin in origins if isinstance(origin, Explicit)]
        policies = {id(policy): policy for policy in map(self._policies.at, [run.anchor.document.text.path, *paths])}
        key = tuple(sorted(policies))
        if key not in self._joined:
            self._joined[key] = self._join(list(policies.values()))
        return self._joined[key]

    def kept(self, findings: list[Finding]) -> list[Finding]:
        """Those whose rule counts where they stand, at the severity that it has there."""
        return [own for finding in findings if (own := self._under(finding)) is not None]

    def waiting(self, undetermined: list[Open]) -> list[Open]:
        return [item for item in undetermined if item.hazard.id in self._at(item.run.anchor.document.text.path)]

    def _join(self, policies: list[Policy]) -> Collection[Hazard]:
        if len(policies) == 1:
            return self._rules(policies[0])
        found: dict[str, Hazard] = {}
        for hazard in (hazard for policy in policies for hazard in self._rules(policy)):
            known = found.get(hazard.id)
            if known is None or _RANK[hazard.severity] > _RANK[known.severity]:
                found[hazard.id] = hazard
        return tuple(found.values())

    def _under(self, finding: Finding) -> Finding | None:
        own = self._at(finding.place.document.text.path).get(finding.hazard.id)
        if own is None:
            return None
        # What is presumed, or holds for some releases only, stays as quiet as the checker made it.
        return finding._replace(hazard=own, severity=min(finding.severity, own.severity, key=_RANK.__getitem__))

    def _at(self, path: str) -> dict[str, Hazard]:
        policy = self._policies.at(path)
        if id(policy) not in self._own:
            self._own[id(policy)] = {hazard.id: hazard for hazard in self._rules(policy)}
        return self._own[id(policy)]

    def _rules(self, policy: Policy) -> Collection[Hazard]:
        return self._every if policy.rules is None else policy.rules
