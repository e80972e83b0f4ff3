"""What settings and a baseline say about files, runs and findings; made by project, asked by inspect, assemble and suppress."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

from stablint.base.libraries import difflib
from stablint.base.light import Any, NamedTuple
from stablint.files.globs import matches
from stablint.hazard.model import Finding, Hazard, Undecided
from stablint.run.fact import Explicit
from stablint.run.world import Run
from stablint.syntax.tree import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stablint.hardware.gpu import Gpu
    from stablint.hazard.model import Hazard


class Accepted(NamedTuple):
    """A table `[[accept]]` of the settings; `text` and `start` are where it stands in them."""

    file: str | None
    setting: str | None
    rules: tuple[str, ...]
    reason: str
    text: Text
    start: int


class Policy(NamedTuple):
    """What counts for one file. Globs are relative to `folder`."""

    folder: str = ""
    accepted: tuple[Accepted, ...] = ()
    extra_keys: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    require_reasons: bool = False
    baseline: dict[tuple[str, str, str], int] = {}  # noqa: RUF012  (path, rule, fingerprint) → how many; never changed
    baseline_file: str | None = None
    fail_on: str = "error"
    allow_outside: bool = False
    pages: str = ""  # the address of a rule's page, with {code} in it
    rules: Collection[Hazard] | None = None  # with their severities; None: those of the knowledge
    # Of a run that begins in such a file.
    gpus: tuple[tuple[str, Gpu], ...] = ()
    model: str | None = None
    releases: tuple[tuple[str, str], ...] = ()
    said: dict[str, str] = {}  # noqa: RUF012  library → where its release is said

    def excludes(self, path: str) -> bool:
        return bool(self.exclude) and matches(path, self.folder, self.exclude)

    def speaks(self) -> bool:
        """Whether it says anything about single findings."""
        return bool(self.accepted or self.extra_keys or self.require_reasons or self.baseline)


class Policies:
    """The policy of each file: the same for all here, that of the nearest settings in a project."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def at(self, path: str) -> Policy:
        """That of the file with this absolute path."""
        return self.policy

    def texts(self) -> dict[str, Any]:
        """Of the hazards of the house, by id."""
        return {}

    def broken(self) -> tuple[str, ...]:
        """A line for each file of the house that is no rule."""
        return ()

    def asked(self) -> tuple[Policy, ...]:
        """All that a file was found to be under."""
        return (self.policy,)


def is_about(text: dict[str, Any], framework: str) -> bool:
    """Whether a rule, by its text, may be about runs of a framework: not where it asks for another one."""
    asked = [
        one.removeprefix(_FRAMEWORK)
        for one in text.get("when", ())
        if isinstance(one, str) and one.startswith(_FRAMEWORK)
    ]
    return not asked or framework in asked


_FRAMEWORK = "derived.framework is "

# Letters that are taken for digits in a code.
_DIGITS = str.maketrans("OIL", "011")


def nearest_rules(word: str, names: Iterable[str], most: int = 1, cutoff: float = 0.7) -> list[str]:
    """The codes and names of rules that were probably meant; of equally near ones those that begin as the word does."""
    every = list(names)
    said = word if "-" in word else word.upper()
    looks_like = said[:1] + said[1:].translate(_DIGITS)
    if looks_like in every:
        return [looks_like]
    near = difflib.get_close_matches(said, every, 5 * most, cutoff)
    if "-" not in said:
        near.sort(key=lambda name: -_alike(said, name))  # keeps the order of those that are as much alike
    return near[:most]


def rule_names(hazards: Iterable[Hazard]) -> list[str]:
    """What rules may be called in settings and comments: their ids and codes."""
    return [name for hazard in hazards for name in (hazard.id, hazard.code)]


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def means(word: str, code: str, rule: str) -> bool:
    """Whether a rule's code begins with the word, or its id is the word. Letters are those of a category or of a house, whole: `P` is not `PLAN001`."""
    return word == rule or word.upper() in beginnings(code)


@cache
def beginnings(code: str) -> frozenset[str]:
    """`P101` → P, P1, P10, P101."""
    return frozenset(code[:end] for end in range(1, len(code) + 1) if end == len(code) or code[end].isdigit())


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

    def waiting(self, undetermined: list[Undecided]) -> list[Undecided]:
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
