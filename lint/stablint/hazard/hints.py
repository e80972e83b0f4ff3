"""The known name that a misspelled one resembles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from stablint.base.language import gettext
from stablint.base.libraries import difflib
from stablint.base.light import TYPE_CHECKING
from stablint.run.fact import Explicit
from stablint.run.releases.allowed import known_keys, listed_keys
from stablint.run.releases.fields import renamed
from stablint.run.releases.pep440 import Key, release_key


def nearest(word: str, known: Sequence[str], cutoff: float) -> str | None:
    """The one that resembles it most; None below the cutoff."""
    return _nearest(word, tuple(known), cutoff)


def close(word: str, known: Sequence[str], cutoff: float) -> tuple[str, ...]:
    """The three that resemble it most, best first; none below the cutoff."""
    return _close(word, tuple(known), cutoff)


@lru_cache(maxsize=256)
def _close(word: str, known: tuple[str, ...], cutoff: float) -> tuple[str, ...]:
    return tuple(difflib.get_close_matches(word, known, 3, cutoff))


@lru_cache(maxsize=256)  # one slip is often made in many places
def _nearest(word: str, known: tuple[str, ...], cutoff: float) -> str | None:
    return next(iter(difflib.get_close_matches(word, known, 1, cutoff)), None)


def clearly_nearest(word: str, known: Sequence[str], cutoff: float) -> str | None:
    """The same, but None where another one resembles it as much: `bfp16` may be fp16 and bf16."""
    return _clearly_nearest(word, tuple(known), cutoff)


@lru_cache(maxsize=256)
def _clearly_nearest(word: str, known: tuple[str, ...], cutoff: float) -> str | None:
    found = nearest(word, known, cutoff)
    if found is None:
        return None
    ratios = [difflib.SequenceMatcher(None, word, one).ratio() for one in known if one != found]
    return found if difflib.SequenceMatcher(None, word, found).ratio() > max(ratios, default=0.0) + 0.02 else None


if TYPE_CHECKING:
    from stablint.hazard.setting_subject import SettingSubject


_ALIKE = 0.8  # of 1.0: worth a question; `max_seq_len` and `max_seq_length` are 0.88 alike
A_SLIP = 0.85  # a slip of the hand or a forgotten word; `reward_model_0` and `reward_model_type` are 0.84 alike


# What a key is called under which somebody writes to readers, with whatever marks and numbers around it: `_comment_2`, `//note`.
_REMARK = frozenset(
    ["about", "author", "comment", "comments", "desc", "description", "doc", "docs", "explanation", "help", "hint", "info", "memo", "note", "notes",
     "purpose", "readme", "reason", "remark", "remarks", "see", "source", "summary", "title", "todo", "usage", "why"]
)  # fmt: skip


def is_remark(item: SettingSubject) -> bool:
    """Whether the key holds a text for readers, which no slip of a setting's name does."""
    word = item.spelled.rpartition(".")[2].lower().strip("_-/#* 0123456789")
    value = item._fact.value
    lines = value if isinstance(value, (list, tuple)) else [value]
    first = word.replace("-", "_").partition("_")[0]
    return not {word, first}.isdisjoint(_REMARK) and all(isinstance(line, str) for line in lines)


def suggestion(item: SettingSubject, choose: Callable[..., str | None] = nearest, cutoff: float = _ALIKE) -> str | None:
    """The field of the same section whose name is nearest, among those of the chosen release that the same text does not set already."""
    if item.item_unknown() is not True or is_remark(item):
        return None
    set_already = stated_beside(item)
    names = [last for name in siblings(item) if (last := name.rpartition(".")[2]) not in set_already]
    return choose(item.spelled.rpartition(".")[2], names, cutoff)


def correction(item: SettingSubject) -> str | None:
    """The name that may be written in its place: no other is as near, and it differs by a slip or is the one that the library gave up for this."""
    near = suggestion(item, clearly_nearest)
    if near is None or any(
        found is not None and found.new == item.spelled for found in (renamed(owner, near) for owner in item._owners)
    ):
        return near
    return suggestion(item, clearly_nearest, A_SLIP)


def is_meant(near: str) -> str:
    """A remark in brackets: the name that was probably meant."""
    return gettext(" (is `{near}` meant?)").format(near=near)


def there_from(since: str) -> str:
    """A remark in brackets: the first release that has the name."""
    return gettext(" (it is there from {since} on)").format(since=since)


def at_latest(library: str, release: str, read: Sequence[Key] = ()) -> str:
    """The first release that was read without a name, and whether there are others before it, of which nobody knows. `read`: those that were,
    where they are others than those of the library's classes."""
    first = release_key(release)
    before = max((one for one in read or known_keys(library) if one < first), default=None)
    if before is None or not any(before < one < first for one in listed_keys(library)):
        return release
    return gettext("{release} at the latest").format(release=release)


def hint(item: SettingSubject) -> str:
    """A remark in brackets that follows an unknown key in a message."""
    added = item.word("added_in")
    if added is not None:
        return there_from(added)
    near = suggestion(item, clearly_nearest)
    if near is not None:
        return is_meant(near)
    section, _, last = item.spelled.rpartition(".")
    outside = section and item._owners == ("deepspeed.json",) and last in item.names("deepspeed.json")
    return gettext(" (it belongs to the top level of the file)") if outside else ""


def stated_beside(item: SettingSubject) -> frozenset[str]:
    """What the same section of the same text sets already, which cannot be meant a second time."""
    origin = item._fact.origin
    if not isinstance(origin, Explicit):
        return frozenset()
    here, above = origin.place.document, origin.place.path[:-1]
    places = [
        statement.origin.place
        for fact in item.run.explicit.values()
        for statement in fact.sources
        if isinstance(statement.origin, Explicit)
    ]
    return frozenset([one.path[-1] for one in places if one.document is here and one.path and one.path[:-1] == above])


def formerly(item: SettingSubject) -> str | None:
    """The name under which the chosen release has what a later one calls by this key. A setting that took the place of another is not it."""
    if item.word("added_in") is None:
        return None
    for owner in item._owners:
        for name in item.names(owner):
            found = renamed(owner, name)
            if found is not None and found.new == item.spelled and found.kind == "renamed" and not found.values:
                return name
    return None


def siblings(item: SettingSubject) -> list[str]:
    prefix = item.spelled.rpartition(".")[0]
    return [name for owner in item._owners for name in item.names(owner) if name.rpartition(".")[0] == prefix]


def meant(item: SettingSubject) -> str | None:
    """The choice whose name is clearly nearest to a value that is none."""
    choices = [one for one in item.item_choices() or [] if isinstance(one, str)]
    return clearly_nearest(str(item._fact.value).strip().lower(), choices, 0.75)


def belongs(item: SettingSubject) -> str | None:
    """The only section of DeepSpeed's file in which the name of an unknown key is read."""
    if item._owners != ("deepspeed.json",) or item.item_unknown() is not True or suggestion(item) is not None:
        return None
    last = item.spelled.rpartition(".")[2]
    homes = {name.rpartition(".")[0] for name in item.names("deepspeed.json") if name.rpartition(".")[2] == last}
    home = next(iter(homes)) if len(homes) == 1 else ""
    return home or None
