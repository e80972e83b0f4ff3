"""The known name that a misspelled one resembles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from stablint.base.knowledge import load
from stablint.base.language import gettext
from stablint.base.libraries import difflib
from stablint.base.light import TYPE_CHECKING, Pattern
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


_WORD = Pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+[a-z]*")
# With one of these a name says the opposite.
_NOT = frozenset(["disable", "no", "non", "not", "skip", "without"])
_A_FORM = 3  # letters that an abbreviation keeps: `len`, `opt`


@lru_cache(maxsize=1)
def _names() -> tuple[frozenset[str], frozenset[str]]:
    """Every name that a class or reader ever had, and the words that they are made of."""
    names = frozenset(load("field-names")) | frozenset(load("reader-names"))
    return names, frozenset(word for name in names for word in _words(name))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def is_meant_by(word: str, name: str, written: bool = False) -> bool:
    """Whether a name may be proposed for one that resembles it: no word of one stands in the other's place that is a word of its own, as `neft` in that
    of `eaft` and `train` in that of `eval`. `written`: whether it may be put there, which a name that some class or reader has never is."""
    ours, theirs = _words(word), _words(name)
    if "".join(ours) == "".join(theirs):
        return True
    names, words = _names()
    known = word in names
    if known and written:
        return False
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        left, right = ours[a:b], theirs[c:d]
        if kind == "replace" and len(left) == len(right):
            if not all(_is_form(x, y) or _is_slip(x, y, words) for x, y in zip(left, right, strict=True)):
                return False
        elif kind == "replace":
            x, y = "".join(left), "".join(right)
            if x != y and (words.issuperset(left) or not _is_slip(x, y, words)):
                return False
        elif kind == "delete" and ((known or written) or not _NOT.isdisjoint(left)):
            if not _NOT.isdisjoint(left) or any(x in words for x in left):
                return False
        elif kind == "insert" and ((known and a > 0) or not _NOT.isdisjoint(right)):
            return False
    return True


def _is_form(x: str, y: str) -> bool:
    """Whether one is the other cut short or with an ending: `len` and `length`, `step` and `steps`."""
    short, long = sorted((x, y), key=len)
    return len(short) >= _A_FORM and long.startswith(short)


def _is_slip(x: str, y: str, words: frozenset[str]) -> bool:
    """Whether a hand may have slipped over one word of a name, which then is no word."""
    digits = ["".join(letter for letter in one if letter.isdigit()) for one in (x, y)]
    return x not in words and digits[1] in ("", digits[0]) and difflib.SequenceMatcher(None, x, y).ratio() >= 0.6


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
    word, written = item.spelled.rpartition(".")[2], cutoff >= A_SLIP
    names = [last for name in siblings(item) if (last := name.rpartition(".")[2]) not in set_already]
    near = choose(word, names, cutoff)
    return near if near is not None and is_meant_by(word, near, written) else None


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
