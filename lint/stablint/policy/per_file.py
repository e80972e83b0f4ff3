"""What settings and a baseline say about files, runs and findings; made by project, asked by inspect, assemble and suppress."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from stablint.base.record import NamedTuple
from stablint.base.typed import Any
from stablint.files.globs import matches
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


def means(word: str, code: str, rule: str) -> bool:
    """Whether a rule's code begins with the word, or its id is the word. Letters are those of a category or of a house, whole: `P` is not `PLAN001`."""
    return word == rule or word.upper() in beginnings(code)


@cache
def beginnings(code: str) -> frozenset[str]:
    """`P101` → P, P1, P10, P101."""
    return frozenset(code[:end] for end in range(1, len(code) + 1) if end == len(code) or code[end].isdigit())
