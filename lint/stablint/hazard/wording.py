"""A hazard's sentences, filled with the values of a run."""

from __future__ import annotations

from stablint.base.language import told
from stablint.base.light import Any, Pattern
from stablint.run.fact import ABSENT, Explicit, Fact, Secret, is_unknown
from stablint.run.world import Facts, leaves
from stablint.secrets import veil
from stablint.secrets.exit import STARS, cut

_FIELD = Pattern(r"\{([a-z_]+(?:\.[A-Za-z0-9_-]+)*)(?::([a-z_]+))?\}")


def fill(template: str, world: Facts) -> str:
    """`{fact}` is the deciding leaf as spelled with its value, `{fact:value}` the value, `{item:word}` a word about the item."""
    return _FIELD.sub(lambda found: _word(found[1], found[2], world), template)


def quotes_nothing(template: str, world: Facts, among: frozenset[str]) -> bool:
    """Whether the sentence would quote one of these settings that nobody says: "`x: absent`" is no fault of any file."""
    return any(
        not form and name in among and world.fact(name).value is ABSENT for name, form in _FIELD.findall(template)
    )


def _word(name: str, form: str | None, world: Facts) -> str:
    if form == "value":
        fact = world.fact(name)
        if name == _REASON and isinstance(fact.value, str):
            return value_text(told(fact.value))
        shown = name == "item.key" or _may_be_shown(fact, name, fact.value)  # a key is what stands in front of a value
        return value_text(fact.value) if shown else STARS
    if form is not None:
        return _word(f"{name}.{form}", None, world)
    if name.startswith("item."):
        value = world.fact(name).value
        return _UNSAID.get(name, "") if value is None or is_unknown(value) else value_text(value)
    leaf = next(iter(leaves(world, name)), None)
    if name == "item" and leaf is not None and isinstance(leaf.origin, Explicit):
        return (leaf.origin.key or leaf.origin.place).setting
    if leaf is None or not isinstance(leaf.origin, Explicit):
        return f"{name.partition('.')[2] or name}: {value_text(world.fact(name).value)}"
    raw = leaf.sources[0].raw if leaf.sources else leaf.value
    setting = leaf.origin.place.setting
    if isinstance(raw, (dict, list)) and len(str(raw)) > 40:
        return setting
    return f"{setting}: {value_text(raw) if _may_be_shown(leaf, name, raw) else STARS}"


def _may_be_shown(fact: Fact, name: str, value: Any) -> bool:
    """Whether a sentence may quote what a file says behind a key: as an excerpt of its line would."""
    if not isinstance(value, (str, list, dict)) or not isinstance(fact.origin, Explicit) or fact.name.startswith(_OURS):
        return True
    return bool(veil.stated_without_words(name, fact.origin.place.setting, value, None) == value)


_OURS = (
    "file.",
    "keys.program.",
)  # sentences of readers about a text as a whole, and the file of a program: not what stands behind a key
# The one value that is a sentence of stablint's own, made where nobody asks for a language.
_REASON = "file.problem_text"
_UNSAID = {"item.type": "another type"}  # the word where the library's class is not known to the letter
_LONGEST = 300  # characters of a value in a message


def value_text(value: Any) -> str:
    """A value as a message has it, cut where nobody would read on."""
    return cut(_text(value), _LONGEST)


def _text(value: Any) -> str:
    if isinstance(value, Secret):
        return "(not shown)"
    if is_unknown(value):
        return "unknown"
    if value is ABSENT:
        return "absent"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) >= 0.001 and abs(value) < 1e6 else f"{value:g}"
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value[:_LONGEST])
    return str(value)
