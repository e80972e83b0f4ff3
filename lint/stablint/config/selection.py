"""Which rules count, and at what severity: words of the command line and of settings against the rules that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stablint.base.language import gettext
from stablint.base.light import NamedTuple
from stablint.base.meant import did_you_mean
from stablint.config.options import Wrong
from stablint.hazard.model import Hazard
from stablint.policy import beginnings, means, nearest_rules, rule_names
from stablint.secrets import exit

GRADES = ("folklore", "reported", "reproduced", "maintainer-confirmed", "proven-in-source")


class Selection(NamedTuple):
    """`select` empty: all that are on by default; what is off, and infos that rest on a guess, are taken in by code or id, in `select` or `severity`.
    Words are codes, beginnings of codes, or ids."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    grade: str = "reported"
    severity: Mapping[str, str] = {}

    def words(self) -> list[str]:
        return [*self.select, *self.ignore, *self.severity]


def chosen(known: Iterable[Hazard], wanted: Selection) -> tuple[Hazard, ...]:
    lowest = GRADES.index(wanted.grade)
    selected, ignored = _meaning(wanted.select), _meaning(wanted.ignore)
    exactly = frozenset(wanted.select)
    by_name = exactly.union(wanted.severity)
    return tuple(
        hazard
        if not (wanted.select or wanted.severity or hazard.quiet or hazard.guesses)
        else (weighed(hazard, wanted.severity) if wanted.severity else hazard)._replace(
            quiet=False, guesses=_is_named(hazard, by_name)
        )
        for hazard in known
        if (not wanted.select or selected(hazard))
        and not ignored(hazard)
        and (not hazard.quiet or _is_named(hazard, by_name))
        and (GRADES.index(hazard.grade) >= lowest or _is_named(hazard, exactly))
    )


def trusted(known: Iterable[Hazard], promote: Iterable[str], demote: Iterable[str]) -> tuple[Hazard, ...]:
    """The rules with what the settings say of their repairs; who is in both lists is demoted."""
    up, down = _meaning(promote), _meaning(demote)
    return tuple(
        hazard._replace(trust="demote") if down(hazard) else hazard._replace(trust="promote") if up(hazard) else hazard
        for hazard in known
    )


def _is_named(hazard: Hazard, words: frozenset[str]) -> bool:
    """Whether it is asked for by its own name."""
    return hazard.code in words or hazard.id in words


def weighed(hazard: Hazard, severities: Mapping[str, str]) -> Hazard:
    """The most exact word about a rule counts: its id or code before a beginning of codes."""
    words = sorted(
        (word for word in severities if means(word, hazard.code, hazard.id)),
        key=lambda word: len(word) if word != hazard.id else 1000,
    )
    return hazard._replace(severity=severities[words[-1]], error_when=()) if words else hazard


def all_known(words: Iterable[str], known: Iterable[Hazard], where: str = "") -> None:
    """Raises Wrong for a word that means no rule. `where`: the settings that say it."""
    rules = tuple(known)
    names_of_all = {hazard.id for hazard in rules}
    begins = {begin for hazard in rules for begin in beginnings(hazard.code)}
    for word in words:
        if word not in names_of_all and word.upper() not in begins:
            names = [name for hazard in rules for name in (hazard.id, hazard.code)]
            said = exit.quoted(word, names) if where else f"`{word}`"
            raise Wrong(
                gettext("{where}no rule is called {word} or begins so{meant}").format(
                    where=where, word=said, meant=meant(word, rules)
                )
            )


def meant(word: str, known: Iterable[Hazard]) -> str:
    return did_you_mean(nearest_rules(word, rule_names(known))) or gettext("; `stablint rules` lists them")


def _meaning(words: Iterable[str]) -> Callable[[Hazard], bool]:
    """Whether any of the words means a rule. A list may say the same a thousand times: each rule is looked for in it, and not the list gone through."""
    names = frozenset(words)
    begins = frozenset(word.upper() for word in names)
    return lambda hazard: hazard.id in names or not begins.isdisjoint(beginnings(hazard.code))


def listed(text: str) -> tuple[str, ...]:
    """`P101, L` as words."""
    return tuple(word.strip() for word in text.split(",") if word.strip())
