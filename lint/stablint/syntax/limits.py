"""How much work one file may ask for. Whoever reaches a limit stops that work, and says so as the file's own problem (`over-budget`).

Every limit is far beyond what configurations that people write come to, and low enough that a file of 100 KB, however it is made, is
checked in about a second (tests/security/attack_files.py).
"""

from __future__ import annotations

from stablint.base.light import NamedTuple
from stablint.syntax.tree import Document, Problem

KIND = "over-budget"
IN_PASSING = "checked-in-part"
"""The rule that tells it of a file among others; the rule of the file that was asked for alone is called as the problem."""
LEFT_OUT = "read-in-part"
"""The problem of a file of which a part that holds no settings is left out: a large notebook's outputs and data."""
AROUND = "neighbours-read-in-part"
"""The problem of a file that was checked whole, by less than all that other texts of the repository say of it."""


DEEPEST = 200
"""Levels of nesting that are read of YAML and JSON; real configurations have fewer than ten."""
TOO_DEEP = ("too-deep", f"nested deeper than {DEEPEST} levels")
"""Kind and message of the problem of a text with more."""


class Limit(NamedTuple):
    """`most` of `of`; `then` says what happens to the rest."""

    most: int
    of: str
    then: str
    kind: str = KIND

    def problem(self, start: int, end: int) -> Problem:
        return Problem(self.kind, f"more than {self.most:,} {self.of}: {self.then}", start, end)


# A prompt is as long, and no setting is: that it is not known takes nothing from the check.
VALUE = Limit(10_000, "characters in a value that is put together from others", "it counts as not known", LEFT_OUT)
PARTS = Limit(400, "parts in a value that is put together from others", "it counts as not known", LEFT_OUT)
WORK = Limit(40_000, "steps to put the values of one script together", "the others count as not known")
FOLLOWED = Limit(100_000, "values that names stand for in one program", "the others count as not known")
LOOKED_UP = Limit(
    1_000_000, "assignments to compare for the names of one program", "the other names count as not known"
)
INNER = Limit(60_000, "characters in commands that one script hands to another shell", "the others are left out")
SOURCED = Limit(60_000, "characters in the files that one script reads into itself", "the others are not read")
INNER_LONG = Limit(20_000, "characters in one command that is handed to another shell", "it is left out")
NESTED = Limit(4, "shells within one another", "what the innermost are handed is left out")
SOURCED_DEEP = Limit(8, "scripts that read one another into themselves", "the innermost are not read")
CALLED_DEEP = Limit(20, "functions that call one another", "the innermost calls are left out")
EXPORTS = Limit(200, "variables that one script exports", "the others count as not exported")
COMMANDS = Limit(10_000, "commands of one script, as often as they are run", "the others are left out")
CALLS = Limit(2_000, "commands in functions that one script calls again and again", "the other calls are left out")
WRITTEN = Limit(30, "configurations that one script writes", "the others are not read")
WRITTEN_LONG = Limit(50_000, "characters in a configuration that a script writes", "it is not read")
LINES = Limit(500, "lines of one Makefile or justfile that go to shells", "the others are not read")
FILLED = Limit(50_000, "variables filled in in one Makefile", "the lines behind are not read")
STEPS = Limit(200, "steps of one workflow", "the others are not read")
CONTAINERS = Limit(200, "containers, variables or files of one part of a manifest", "the others are not read")
REVIEWED = Limit(80, "containers and files of one object of a cluster", "the others are not judged")
REFERENCES = Limit(2_000, "references in the values of one file", "the others are left as they are written")
FAULTS = Limit(100, "faults in one text", "the others are not told, and what the text says is not judged")
REPEATS = Limit(50, "times the same keys set anew in one text", "what the text says is not judged")
KEYS = Limit(5_000, "keys of one table in a JSON file above 300 KB", "the table is not read")
DOCUMENTS = Limit(1_000, "documents in one file", "the others are not read")
BLOCKS = Limit(300, "parts of one file that say something of a run", "the others are not judged")
SETTINGS = Limit(1_000, "settings of one run", "that run is not judged")
RUNS = Limit(100, "runs in one file", "the others are not judged")
GROUPS = Limit(40, "groups that one list `defaults` names", "the files of the others are not read")
TABLE = Limit(
    400, "entries in a table of a configuration that a program of its own reads", "the settings behind are not read"
)
HELPERS = Limit(20, "functions of other modules that make one program's model", "the others are not followed")
MODULES = Limit(
    40, "modules of its own from which one program may take its arguments or its loop", "the others are not read"
)
IMPORTS = Limit(1_000, "names that one program imports", "the others are not followed")
PIECES = Limit(40, "file names of one kind that one program puts together", "the others are not looked at")
READERS = Limit(200, "programs that may read the configurations of one repository", "the others are not asked", AROUND)
NAMED = Limit(40, "modules of a repository that name one configuration", "the others are not followed", AROUND)
PLACES = Limit(
    200, "places at which one text of the repository names this file", "the others are not looked at", AROUND
)
GUIDES = Limit(200, "texts of one folder that say how files are used", "the others are not read", AROUND)
LISTS = Limit(40, "lists of requirements that one reads into itself", "the others are not read", AROUND)
REFERRERS = Limit(
    200,
    "other files that name what was asked for",
    "the others are not read with it, as runs that it is part of",
    AROUND,
)
LOOKED_AT = Limit(
    5_000_000, "bytes in a file that may read or name others", "what stands behind them is not looked at", AROUND
)
ENTRIES = Limit(
    20_000, "entries in the folders of one repository", "the files of the other folders are not looked at", AROUND
)
CROWDED = Limit(2_000, "entries in one folder of a repository", "its files are not looked at", AROUND)
AIMED = Limit(300, "runs in one file times the targets that they are meant for", "the other runs are not judged")
CONFIRMED = Limit(
    16_000, "characters in a YAML text that is repaired", "libyaml confirms the repair in the place of ruamel.yaml"
)
SEARCHED = Limit(
    3_000_000, "steps that the patterns of house hazards take in one check", "their answers count as not known"
)
MATCHED = Limit(1_000, "characters in a value that a pattern is asked about", "the answer counts as not known")
REREAD = Limit(
    250_000, "characters read again to prove the repairs of a notebook or here-document", "those told first come first"
)
CHANGED = Limit(
    400_000, "characters read again to try changes of one file", "the other changes are not tried, and not offered"
)
TRIED = Limit(
    24,
    "trials to find which repairs of files that belong together spoil one another",
    "the others are left for another run of `--fix`",
)
TOLD = Limit(100, "findings of one rule in one file", "the others are not told")


def told_too_often(rule: str, start: int, end: int) -> Problem:
    """The problem of a file in which one rule finds more than is told."""
    return Problem(KIND, f"more than {TOLD.most:,} findings of `{rule}` in this file: {TOLD.then}", start, end)


class Purse:
    """What of one limit the texts of a check have used up, each for itself."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._used: dict[str, int] = {}
        self._refused: dict[str, None] = {}

    def is_empty(self, path: str, amount: int = 0) -> bool:
        """Whether that much more would be too much."""
        return self._used.get(path, 0) + amount > self.limit.most

    def reached(self) -> list[str]:
        """The texts for which there was no more room when they were asked for."""
        return list(self._refused)

    def spend(self, path: str, amount: int) -> bool:
        """Whether there is room for that; then it is used up."""
        if self.is_empty(path, amount):
            self._refused[path] = None
            return False
        self.pay(path, amount)
        return True

    def pay(self, path: str, amount: int) -> None:
        self._used[path] = self._used.get(path, 0) + amount


class Spent:
    """The limits that one text has reached, each with the place where it first did."""

    def __init__(self) -> None:
        self.problems: dict[Limit, Problem] = {}

    def reached(self, limit: Limit, start: int, end: int) -> None:
        if limit not in self.problems:
            self.problems[limit] = limit.problem(start, end)

    def told_of(self, document: Document) -> Document:
        """The document with what was left out of it."""
        more = tuple(self.problems.values())
        return document._replace(problems=(*document.problems, *more)) if more else document


def within(documents: tuple[Document, ...]) -> tuple[Document, ...]:
    """The documents of one file up to the fault that is one too many. That document counts as not read, with the faults before it."""
    faults = repeats = 0
    for number, document in enumerate(documents):
        for place, problem in enumerate(document.problems):
            faults, repeats = faults + 1, repeats + (problem.kind == "duplicate-key")
            limit = FAULTS if faults > FAULTS.most else REPEATS if repeats > REPEATS.most else None
            if limit is not None:
                told = (*document.problems[:place], limit.problem(problem.start, problem.end))
                return (*documents[:number], document._replace(root=None, problems=told))
    return documents
