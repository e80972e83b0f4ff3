"""What is wrong with suppressions: nothing is found there any more, no such rule, no reason. Each is a finding of its own (S111 to S113)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stablint.base.meant import did_you_mean
from stablint.files.globs import matches
from stablint.hazard.model import Hazard
from stablint.policy import Accepted, Policies, means, nearest_rules, rule_names
from stablint.report.model import Undetermined
from stablint.report.place import line_text, locate
from stablint.suppressions.directives import Directive
from stablint.syntax.tree import Document, Problem


class Judge:
    """Which suppressions do nothing. A rule that was not checked, or could not be decided, condemns nobody."""

    def __init__(
        self, known: tuple[Hazard, ...] | None, every: tuple[Hazard, ...], waiting: tuple[Undetermined, ...], used: set[tuple[str, int, str]],
        policies: Policies, checked: dict[str, str],
    ) -> None:  # fmt: skip
        """`known`: the rules that were checked, if not those of the policies; `used`: (path, start, word) of what suppressed something;
        `checked`: names of the checked files by path.
        """
        self.known, self.every, self.used, self.policies, self.checked = known, every, used, policies, checked
        self.waiting = {(item.file, item.rule) for item in waiting}

    def comments(self, path: str, documents: tuple[Document, ...], here: tuple[Directive, ...]) -> Iterator[Problem]:
        name = documents[0].text.name
        for directive in here:
            if directive.fault:
                yield Problem("unknown-suppression", directive.fault, directive.start, directive.end)
                continue
            yield from self._words(path, path, name, directive.words, directive.start, directive.places)
            if self.policies.at(path).require_reasons and not directive.reason:
                yield Problem(
                    "suppression-without-reason", "a suppression without a reason", directive.start, directive.end
                )

    def settings(self) -> Iterator[tuple[Document, Problem]]:
        """Tables of the settings; one about files that were not read says nothing now."""
        rows = {row: policy for policy in self.policies.asked() for row in policy.accepted}
        for row, policy in rows.items():
            document = Document(row.text, "toml", 0, None)
            end = row.start + len(line_text(row.text.text, locate(row.text.text, row.start).line).rstrip())
            seen = self._checked(row, policy.folder)
            if seen is not None:
                for problem in self._words(
                    row.text.path, seen, self.checked[seen], row.rules, row.start, [(row.start, end)] * len(row.rules)
                ):
                    yield document, problem
            if policy.require_reasons and not row.reason:
                yield (
                    document,
                    Problem("suppression-without-reason", "an accepted finding without a reason", row.start, end),
                )

    def _checked(self, row: Accepted, folder: str) -> str | None:
        """A checked file that the row is about, and that is under its settings."""
        paths = (path for path in self.checked if row.file is not None and matches(path, folder, (row.file,)))
        return next((path for path in paths if row in self.policies.at(path).accepted), None)

    def _words(
        self, path: str, about: str, name: str, words: tuple[str, ...], at: int, places: Sequence[tuple[int, int]]
    ) -> Iterator[Problem]:
        """`path` is where the words stand, `about` the file that they are about and `name` how it is shown; `at` is where their comment or table
        begins, `places` where each of them stands."""
        own = self.policies.at(about).rules
        known = self.known if self.known is not None else self.every if own is None else own
        for word, (start, end) in zip(words, places, strict=True):
            if not any(means(word, hazard.code, hazard.id) for hazard in self.every):
                yield Problem(
                    "unknown-suppression", f"no rule is called `{word}` or begins so{self._meant(word)}", start, end
                )
                continue
            checked = [hazard for hazard in known if means(word, hazard.code, hazard.id)]
            open_ones = any((name, hazard.id) in self.waiting for hazard in checked)
            if checked and not open_ones and (path, at, word) not in self.used:
                yield Problem(
                    "unused-suppression",
                    f"`{word}` is not found here any more: the suppression does nothing",
                    start,
                    end,
                )

    def _meant(self, word: str) -> str:
        return did_you_mean(nearest_rules(word, rule_names(self.every)))
